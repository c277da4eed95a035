#include "p2/bytes.h"

#include <array>

#include "engine/base/text_cursor.h"

namespace p2 {
namespace {

constexpr std::array<std::string_view, 5> kUnits{"", "K", "M", "G", "T"};
constexpr std::uint64_t kMost = std::uint64_t{1} << 60;

}  // namespace

std::uint64_t parse_bytes(std::string_view source, std::string_view text) {
  TextCursor cursor(source, text);
  const std::uint64_t count = cursor.integer("a number of bytes such as 4096, 64M or 2G", 1, kMost);
  unsigned shift = 0;
  for (unsigned unit = 1; unit < kUnits.size() && shift == 0; ++unit) {
    if (cursor.accept(kUnits[unit])) shift = 10 * unit;
  }
  expect_end(cursor, "the number of bytes");
  if (count > kMost >> shift) cursor.fail("too many bytes, expected at most 2^60");
  return count << shift;
}

std::string bytes_to_string(std::uint64_t bytes) {
  unsigned unit = 0;
  for (; unit + 1 < kUnits.size() && bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return std::to_string(bytes) + std::string(kUnits[unit]);
}

}  // namespace p2
