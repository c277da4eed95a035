// Text for people: printable characters, sizes in bytes, suggestions for misspelt names.

#include "p2/document.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/base/text_cursor.h"
#include "p2/bytes.h"
#include "p2/error.h"

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

namespace {

constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMinPrefix = 3;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& ch : lower) {
    if (ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
  }
  return lower;
}

/// The optimal string alignment distance: the Levenshtein distance with exchanges of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

/// The words of a list such as `a, b or c`.
std::vector<std::string_view> listed_words(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(", "), list.size());
    const std::string_view word = list.substr(0, end);
    if (!word.empty() && word != "or" && word != "one" && word != "of") words.push_back(word);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

}  // namespace

std::string suggestion(std::string_view word, std::string_view candidates) {
  if (word.empty() || word.size() > kMaxWord) return {};
  const std::string typed = lower_case(word);
  std::string_view nearest;
  std::size_t least = kMaxWord;
  for (const std::string_view candidate : listed_words(candidates)) {
    const std::string known = lower_case(candidate);
    const bool goes_on = typed.size() >= kMinPrefix && known.starts_with(typed);
    const std::size_t distance = goes_on ? 1 : edit_distance(typed, known);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(typed.size(), known.size()) / 3);
    if (candidate == word || distance > allowed || distance >= known.size() || distance >= least)
      continue;
    nearest = candidate;
    least = distance;
  }
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string unknown_name(std::string_view name, std::string_view candidates) {
  return fmt::format("unknown '{}', expected {}{}", name, candidates, suggestion(name, candidates));
}

void refuse_flags(const std::string& where, std::string_view why,
                  std::initializer_list<std::pair<std::string_view, bool>> flags) {
  for (const auto& [name, given] : flags) {
    if (given) throw InputError({where}, fmt::format("{}, expected no --{}", why, name));
  }
}

}  // namespace p2
