#include "engine/base/json_mistake.h"

#include <fmt/format.h>
#include <algorithm>

namespace p2 {
namespace {

/// `first_bytes`: how the tokens start about whose inside only the library can tell.
struct Expectation {
  std::size_t offset;
  std::string_view what;
  std::string_view first_bytes;
};

constexpr std::string_view kKeyStarts = "\"";
constexpr std::string_view kValueStarts = "\"-0123456789";

Expectation expectation_after(const std::string& text, const JsonProgress& progress) {
  const std::size_t at = skip_json_blanks(text, progress.end);
  switch (progress.last) {
    case JsonToken::Nothing:
      return {at, "a value", kValueStarts};
    case JsonToken::Opening:
      if (progress.in_object) return {at, "a key in double quotes or '}'", kKeyStarts};
      return {at, "a value or ']'", kValueStarts};
    case JsonToken::Key:
      if (text[at] != ':') return {at, "':'", {}};
      return {skip_json_blanks(text, at + 1), "a value", kValueStarts};
    case JsonToken::Value:
      break;
  }
  if (!progress.nested) return {at, "the end of the text", {}};
  if (text[at] != ',') return {at, progress.in_object ? "',' or '}'" : "',' or ']'", {}};
  const std::size_t next = skip_json_blanks(text, at + 1);
  if (progress.in_object) return {next, "a key in double quotes", kKeyStarts};
  return {next, "a value", kValueStarts};
}

bool in_word(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');
}

std::string found(const std::string& text, std::size_t at) {
  constexpr std::size_t kLongestWord = 20;
  if (at == text.size()) return "the end of the text";
  std::size_t end = at;
  while (end - at < kLongestWord && in_word(text[end])) ++end;
  if (end > at) return text.substr(at, end - at);
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x20 || byte >= 0x7f) return fmt::format("byte 0x{:02x}", byte);
  return fmt::format("'{}'", text[at]);
}

/// The library's sentence without its preamble and postscript.
std::string inside_a_token(std::string_view complaint) {
  constexpr std::string_view kPreamble = " - ";
  const std::size_t start = complaint.find(kPreamble);
  const std::size_t end = complaint.find("; last read");
  if (start == std::string_view::npos || end == std::string_view::npos) {
    return "malformed string or number";
  }
  const std::size_t first = start + kPreamble.size();
  return std::string(complaint.substr(first, end - first));
}

}  // namespace

JsonMistake explain_json_mistake(const std::string& text, const JsonProgress& progress,
                                 const JsonComplaint& complaint) {
  const Expectation expected = expectation_after(text, progress);
  const std::size_t at = expected.offset;
  if (at == text.size() || expected.first_bytes.find(text[at]) == std::string_view::npos) {
    return {at, fmt::format("found {}, expected {}", found(text, at), expected.what)};
  }
  if (complaint.number_overflow) {
    return {at, "the number is too large, expected one in the range of a double"};
  }
  return {complaint.bytes_read - 1, inside_a_token(complaint.message)};
}

std::size_t skip_json_blanks(const std::string& text, std::size_t offset) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (offset == 0 && text.starts_with(kByteOrderMark)) offset = kByteOrderMark.size();
  return std::min(text.find_first_not_of(" \t\n\r", offset), text.size());
}

}  // namespace p2
