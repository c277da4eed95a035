#include "p2/document.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace p2 {
namespace {

/// First and last of the characters that are escaped: controls; invisible and bidirectional format
/// characters; separators of lines and paragraphs; surrogates; tags.
constexpr std::uint32_t kEscaped[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},
                                         {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
                                         {0x2028, 0x202e}, {0x2060, 0x206f}, {0xd800, 0xdfff},
                                         {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

/// How many bytes the character at the begin of `text` has, and its number; none where the bytes
/// are no UTF-8 (RFC 3629: no longer than needed, below 0x110000).
std::pair<std::size_t, std::uint32_t> decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto ones = static_cast<std::size_t>(std::countl_one(byte(0)));
  if (ones == 0) return {1, byte(0)};
  if (ones == 1 || ones > 4 || ones > text.size()) return {0, 0};
  std::uint32_t code = byte(0) & (0x7fU >> ones);
  for (std::size_t i = 1; i < ones; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {0, 0};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kFirst[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < kFirst[ones] || code > 0x10ffff ? std::pair<std::size_t, std::uint32_t>{0, 0}
                                                : std::pair(ones, code);
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string line;
  while (!text.empty()) {
    const auto [length, code] = decode(text);
    const auto inside = [code = code](const auto& range) {
      return range[0] <= code && code <= range[1];
    };
    if (length == 0) {
      line += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]));
    } else if (std::ranges::any_of(kEscaped, inside) &&
               kept.find(text[0]) == std::string_view::npos) {
      line += fmt::format("\\u{{{:x}}}", code);
    } else {
      line += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, ""); }
std::string printable_lines(std::string_view text) { return escaped(text, "\n\t"); }

}  // namespace p2
