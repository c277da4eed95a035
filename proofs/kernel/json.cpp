// JSON (RFC 8259), read and written. Most of it is the text of modules, of megabytes: what needs no
// escape is copied at once.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "proofs/kernel/input.h"

namespace p2::kernel {
namespace {

constexpr std::size_t kMaxNesting = 10;

/// Whether a character stands for itself in a string, and is ASCII.
constexpr auto kIsPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

/// How many characters at the begin of a text are plain. Eight at a time as long as all are.
std::size_t plain_characters(std::string_view text) {
  std::size_t count = 0;
  constexpr std::uint64_t kOnes = 0x0101010101010101U, kHighs = 0x80 * kOnes;
  for (std::uint64_t eight = 0; text.size() - count >= sizeof eight; count += sizeof eight) {
    std::memcpy(&eight, text.data() + count, sizeof eight);
    // The highest bit of some byte is set if and only if one is below 0x20, a quote, a backslash,
    // or not ASCII.
    const std::uint64_t below = (eight - 0x20 * kOnes) & ~eight;
    const std::uint64_t quote = eight ^ ('"' * kOnes), slash = eight ^ ('\\' * kOnes);
    const std::uint64_t others = ((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash);
    if (((eight | below | others) & kHighs) != 0) break;
  }
  while (count < text.size() && kIsPlain[static_cast<std::uint8_t>(text[count])]) ++count;
  return count;
}

/// Reads one value in one pass.
class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& name) : left_(text), name_(name) {}

  Json read() {
    Json root = value(0);
    skip_spaces();
    if (!left_.empty()) fail();
    return root;
  }

 private:
  [[noreturn]] void fail() const { malformed(name_ + " is not JSON"); }

  void skip_spaces() {
    left_.remove_prefix(std::min(left_.find_first_not_of(" \t\n\r"), left_.size()));
  }
  /// After spaces.
  bool accept(std::string_view token) {
    skip_spaces();
    if (!left_.starts_with(token)) return false;
    left_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail();
  }

  /// `depth`: how many lists and objects it stands in.
  Json value(std::size_t depth) {
    skip_spaces();
    const char first = left_.empty() ? '\0' : left_[0];
    if (first == '-' || ('0' <= first && first <= '9')) return number();
    if (accept("\"")) return string();
    if (accept("null")) return nullptr;
    if (accept("true")) return true;
    if (accept("false")) return false;
    const bool is_list = accept("[");
    if (!is_list && !accept("{")) fail();
    if (depth > kMaxNesting) malformed(name_ + ": nested too deeply");
    return is_list ? list(depth + 1) : object(depth + 1);
  }
  Json list(std::size_t depth) {
    Json all = Json::array();
    if (accept("]")) return all;
    do all.get_ref<List&>().push_back(value(depth));
    while (accept(","));
    expect("]");
    return all;
  }
  Json object(std::size_t depth) {
    Json all = Json::object();
    if (accept("}")) return all;
    do {
      expect("\"");
      const auto [entry, is_new] = all.get_ref<Json::object_t&>().emplace(string(), nullptr);
      if (!is_new) malformed(name_ + ": duplicate key");
      expect(":");
      entry->second = value(depth);
    } while (accept(","));
    expect("}");
    return all;
  }

  /// -?(0|[1-9]digits)(.digits)?([eE][+-]?digits)?
  Json number() {
    const std::string_view from = left_;
    const auto one_of = [&](std::string_view characters) {
      const bool is = !left_.empty() && characters.find(left_[0]) != std::string_view::npos;
      if (is) left_.remove_prefix(1);
      return is;
    };
    const auto digits = [&] {
      if (!one_of("0123456789")) fail();
      while (one_of("0123456789")) {
      }
    };
    const bool is_negative = one_of("-");
    if (!one_of("0")) digits();
    bool is_integer = true;
    if (one_of(".")) digits(), is_integer = false;
    if (one_of("eE")) one_of("+-"), digits(), is_integer = false;
    const std::string text(from.substr(0, from.size() - left_.size()));
    const auto is_whole = [&](auto& integer) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
      return is_integer && error == std::errc() && end == text.data() + text.size();
    };
    std::uint64_t natural = 0;
    std::int64_t integer = 0;
    if (!is_negative && is_whole(natural)) return natural;
    if (is_negative && is_whole(integer)) return integer;
    const double real = std::strtod(text.c_str(), nullptr);
    if (!std::isfinite(real)) fail();
    return real;
  }

  /// After the quote that begins it.
  std::string string() {
    std::string text;
    text.reserve(size_of_string());
    while (true) {
      const std::size_t plain = plain_characters(left_);
      text += left_.substr(0, plain);
      left_.remove_prefix(plain);
      if (left_.empty()) fail();
      if (accept_next('"')) return text;
      if (accept_next('\\')) {
        escape(text);
        continue;
      }
      const auto [length, code] = decode_utf8(left_);
      if (length < 2 || is_surrogate(code)) fail();
      text += left_.substr(0, length);
      left_.remove_prefix(length);
    }
  }
  /// An upper bound of the length of the string, for its memory: to the next quote that follows no
  /// backslash.
  std::size_t size_of_string() const {
    std::size_t end = left_.find('"');
    while (end != std::string_view::npos && end > 0 && left_[end - 1] == '\\')
      end = left_.find('"', end + 1);
    return std::min(end, left_.size());
  }
  bool accept_next(char c) {
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  void escape(std::string& text) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    if (left_.empty()) fail();
    const std::size_t known = kNames.find(left_[0]);
    if (known != std::string_view::npos) {
      text += "\"\\/\b\f\n\r\t"[known];
      left_.remove_prefix(1);
      return;
    }
    std::uint32_t code = escaped_unit();
    if (is_surrogate(code)) {
      if (code >= 0xdc00 || !accept_next('\\')) fail();
      const std::uint32_t low = escaped_unit();
      if (low < 0xdc00 || low > 0xdfff) fail();
      code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
    }
    const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(kLead[more] | code >> 6 * more);
    for (unsigned k = more; k-- > 0;) text += static_cast<char>(0x80U | (code >> 6 * k & 0x3fU));
  }
  /// Of `u00e9`.
  std::uint32_t escaped_unit() {
    std::uint32_t code = 0;
    const char* const first = left_.data() + 1;
    if (left_.size() < 5 || left_[0] != 'u') fail();
    const auto [end, error] = std::from_chars(first, first + 4, code, 16);
    if (error != std::errc() || end != first + 4) fail();
    left_.remove_prefix(5);
    return code;
  }
  static bool is_surrogate(std::uint32_t code) { return 0xd800 <= code && code <= 0xdfff; }

  std::string_view left_;
  const std::string& name_;
};

void write_string(const std::string& value, std::string& text) {
  text += '"';
  for (std::string_view left = value; !left.empty();) {
    const std::size_t plain = plain_characters(left);
    text += left.substr(0, plain);
    left.remove_prefix(plain);
    if (left.empty()) break;
    const std::size_t known = std::string_view("\"\\\n").find(left[0]);
    if (known != std::string_view::npos) {
      text += '\\';
      text += "\"\\n"[known];
      left.remove_prefix(1);
      continue;
    }
    // All others as the library has them; a character of UTF-8 whole.
    const std::size_t length = std::max<std::size_t>(decode_utf8(left).first, 1);
    const std::string quoted = Json(left.substr(0, length)).dump();
    text += std::string_view(quoted).substr(1, quoted.size() - 2);
    left.remove_prefix(length);
  }
  text += '"';
}

void write(const Json& value, std::string& text) {
  if (value.is_string()) return write_string(value.get_ref<const std::string&>(), text);
  const char* separator = "";
  if (value.is_array()) {
    text += '[';
    for (const Json& item : value) {
      text += std::exchange(separator, ",");
      write(item, text);
    }
    text += ']';
  } else if (value.is_object()) {
    text += '{';
    for (const auto& [key, item] : value.get_ref<const Json::object_t&>()) {
      text += std::exchange(separator, ",");
      write_string(key, text);
      text += ':';
      write(item, text);
    }
    text += '}';
  } else {
    text += value.is_number_unsigned() ? std::to_string(value.get<std::uint64_t>()) : value.dump();
  }
}

}  // namespace

Json parse_json(const Files& files, const std::string& name) {
  const std::string& bytes = files.at(name);
  if (bytes.size() > kLargestJson) malformed(name + " is too large");
  return JsonReader(bytes, name).read();
}

std::string json_text(const Json& value, std::size_t size) {
  std::string text;
  text.reserve(size);
  write(value, text);
  return text;
}

}  // namespace p2::kernel
