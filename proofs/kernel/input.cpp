#include "proofs/kernel/input.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>

namespace p2::kernel {
namespace {

[[noreturn]] void unexpected(const Json& value, const std::string& expected) {
  malformed(value.dump(-1, ' ', true).substr(0, 60) + " is not " + expected);
}

}  // namespace

void expect_keys(const Json& value, const std::vector<std::string>& keys) {
  const auto has = [&](const std::string& key) { return value.contains(key); };
  if (value.is_object() && value.size() == keys.size() && std::ranges::all_of(keys, has)) return;
  unexpected(value, "an object with the keys " + Json(keys).dump());
}

const List& as_list(const Json& value) {
  if (!value.is_array()) unexpected(value, "a list");
  return value.get_ref<const List&>();
}

const std::string& as_text(const Json& value) {
  if (!value.is_string()) unexpected(value, "a text");
  return value.get_ref<const std::string&>();
}

std::uint32_t as_number(const Json& value, std::uint64_t end) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= end) {
    unexpected(value, "a number below " + std::to_string(end));
  }
  return value.get<std::uint32_t>();
}

Numbers as_numbers(const Json& value, std::uint64_t end) {
  Numbers all;
  for (const Json& item : as_list(value)) all.push_back(as_number(item, end));
  return all;
}

Numbers as_ascending(const Json& value, std::uint64_t end) {
  Numbers all = as_numbers(value, end);
  if (all.empty() || !std::ranges::is_sorted(all, std::less_equal<>())) {
    unexpected(value, "an ascending list of numbers");
  }
  return all;
}

namespace {

constexpr std::size_t kLongestPart = 400;

/// First and last of the characters that are escaped: controls; invisible and bidirectional format
/// characters; separators of lines and paragraphs; surrogates; tags.
constexpr std::uint32_t kEscaped[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},
                                         {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
                                         {0x2028, 0x202e}, {0x2060, 0x206f}, {0xd800, 0xdfff},
                                         {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

std::string hexadecimal(std::uint32_t number) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[number & 15U]);
    number >>= 4U;
  } while (number > 0);
  return digits;
}

}  // namespace

std::pair<std::size_t, std::uint32_t> decode_utf8(std::string_view text) {
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

std::string printable(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const auto [length, code] = decode_utf8(text);
    const auto inside = [code = code](const auto& range) {
      return range[0] <= code && code <= range[1];
    };
    if (length == 0) {
      line += "\\x" + hexadecimal(static_cast<std::uint8_t>(text[0]));
    } else if (std::ranges::any_of(kEscaped, inside)) {
      line += "\\u{" + hexadecimal(code) + "}";
    } else if (text[0] == '\\') {
      line += "\\\\";
    } else {
      line += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

std::string counted(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string shortened(const std::string& text) {
  return text.size() <= kLongestPart ? text : text.substr(0, kLongestPart) + "…";
}

}  // namespace p2::kernel
