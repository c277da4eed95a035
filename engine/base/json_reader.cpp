#include "engine/base/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "p2/error.h"

namespace p2 {
namespace {

/// The last token of a JSON text that had a meaning: `,` and `:` do not count.
enum class JsonToken : std::uint8_t { Nothing, Opening, Key, Value };

/// How far a JSON text has been read without a mistake.
struct JsonProgress {
  std::size_t end = 0;  ///< the byte after `last`
  JsonToken last = JsonToken::Nothing;
  bool nested = false;     ///< inside an array or object
  bool in_object = false;  ///< the innermost of them is an object
};

/// What the JSON library says about a mistake.
struct JsonComplaint {
  std::size_t bytes_read = 0;
  std::string_view message = {};
  bool number_overflow = false;
};

struct JsonMistake {
  std::size_t offset;
  std::string message;
};

/// The first mistake after `progress`: its place, what was found and what was expected. The message
/// of the JSON library is used only for mistakes inside a string or number.
JsonMistake explain_json_mistake(const std::string& text, const JsonProgress& progress,
                                 const JsonComplaint& complaint);

/// The first byte from `offset` on that is no blank; a byte order mark counts as blank.
std::size_t skip_json_blanks(const std::string& text, std::size_t offset);

}  // namespace

enum class JsonKind : std::uint8_t { Null, Boolean, Integer, Number, String, Array, Object, Key };

/// A value or a key. The value of a key is the node right after it. Node 0 is the root, so 0 stands
/// for "none" in `next` and for "empty" in the `content` of an array or object.
struct JsonNode {
  JsonKind kind;
  std::uint32_t offset;       ///< of its first byte in the text
  std::uint32_t next = 0;     ///< the next element of its array, or the next key of its object
  std::uint32_t content = 0;  ///< first element or key, or an index in `strings` or `integers`
};

/// What a JsonDocument keeps: every value and key of a text, in the order of the text.
struct JsonNodes {
  std::string source;
  std::string text;  ///< with one blank appended, so that every number has a byte after it
  std::vector<std::uint32_t> line_starts;
  std::vector<JsonNode> nodes;
  std::vector<std::string> strings;
  std::vector<std::int64_t> integers;

  /// Takes logarithmic time: callers may ask for the position of every value they read.
  SourcePosition position(std::size_t offset) const;
};

/// Throws InputError at the first mistake.
std::unique_ptr<const JsonNodes> read_json(std::string source, std::string text);

namespace {

std::string_view kind_in_words(JsonKind kind) {
  switch (kind) {
    case JsonKind::Null:
      return "null";
    case JsonKind::Boolean:
      return "true or false";
    case JsonKind::Integer:
    case JsonKind::Number:
      return "a number";
    case JsonKind::Array:
      return "an array";
    case JsonKind::Object:
      return "an object";
    case JsonKind::String:
    case JsonKind::Key:
      return "a string";
  }
  return {};
}

/// A number as the text writes it, shortened where it is long.
std::string number_as_written(const JsonNodes& nodes, std::size_t offset) {
  constexpr std::size_t kMaxDigits = 30;
  const std::size_t end = nodes.text.find_first_not_of("+-.0123456789eE", offset);
  const std::string number = nodes.text.substr(offset, std::min(end - offset, kMaxDigits));
  return end - offset > kMaxDigits ? number + " …" : number;
}

}  // namespace

bool JsonValue::is_string() const { return nodes_->nodes[node_].kind == JsonKind::String; }
bool JsonValue::is_array() const { return nodes_->nodes[node_].kind == JsonKind::Array; }
bool JsonValue::is_object() const { return nodes_->nodes[node_].kind == JsonKind::Object; }

const std::string& JsonValue::string(std::string_view what) const {
  const JsonNode& node = nodes_->nodes[node_];
  if (!is_string())
    fail(fmt::format("{} is {}, expected a string", what, kind_in_words(node.kind)));
  return nodes_->strings[node.content];
}

bool JsonValue::boolean(std::string_view what) const {
  const JsonNode& node = nodes_->nodes[node_];
  if (node.kind != JsonKind::Boolean) {
    fail(fmt::format("{} is {}, expected true or false", what, kind_in_words(node.kind)));
  }
  return node.content == 1;
}

std::int64_t JsonValue::integer(std::string_view what, std::int64_t low, std::int64_t high) const {
  const JsonNode& node = nodes_->nodes[node_];
  const bool number = node.kind == JsonKind::Integer || node.kind == JsonKind::Number;
  if (node.kind == JsonKind::Integer) {
    const std::int64_t value = nodes_->integers[node.content];
    if (low <= value && value <= high) return value;
  }
  fail(fmt::format(
      "{} is {}, expected a whole number from {} to {}", what,
      number ? number_as_written(*nodes_, node.offset) : std::string(kind_in_words(node.kind)), low,
      high));
}

std::int64_t JsonValue::rounded(std::string_view what, std::int64_t low, std::int64_t high) const {
  const JsonNode& node = nodes_->nodes[node_];
  if (node.kind != JsonKind::Number) return integer(what, low, high);
  double value = 0;
  const char* const begin = nodes_->text.data();
  std::from_chars(begin + node.offset, begin + nodes_->text.size(), value);
  const double whole = value - std::remainder(value, 1.0);
  const bool fits = value >= static_cast<double>(low) && whole < 0x1p63;
  if (fits && static_cast<std::int64_t>(whole) <= high) return static_cast<std::int64_t>(whole);
  fail(fmt::format("{} is {}, expected a number from {} to {}", what,
                   number_as_written(*nodes_, node.offset), low, high));
}

std::uint64_t JsonValue::size(std::string_view what) const {
  const JsonNode& node = nodes_->nodes[node_];
  if (node.kind == JsonKind::Number) {
    const std::size_t end = nodes_->text.find_first_not_of("0123456789", node.offset);
    // Digits alone are a whole number; it is beyond 2^63 - 1, or it would be an Integer.
    const std::string_view after = std::string_view(nodes_->text).substr(end, 1);
    if (end > node.offset && after != "." && after != "e" && after != "E") {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return static_cast<std::uint64_t>(integer(what, 0, std::numeric_limits<std::int64_t>::max()));
}

std::vector<JsonValue> JsonValue::array(std::string_view what) const {
  const JsonNode& node = nodes_->nodes[node_];
  if (!is_array()) fail(fmt::format("{} is {}, expected an array", what, kind_in_words(node.kind)));
  std::vector<JsonValue> elements;
  for (std::uint32_t at = node.content; at != 0; at = nodes_->nodes[at].next) {
    elements.push_back({nodes_, at});
  }
  return elements;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members(std::string_view what) const {
  expect_object(what);
  std::vector<std::pair<std::string, JsonValue>> found;
  for (std::uint32_t at = nodes_->nodes[node_].content; at != 0; at = nodes_->nodes[at].next) {
    found.emplace_back(nodes_->strings[nodes_->nodes[at].content], JsonValue(nodes_, at + 1));
  }
  return found;
}

JsonValue JsonValue::member(std::string_view key, std::string_view what) const {
  expect_object(what);
  if (const auto value = find(key)) return *value;
  fail(fmt::format("{} lacks the key \"{}\"", what, key));
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  expect_object("the value");
  for (std::uint32_t at = nodes_->nodes[node_].content; at != 0; at = nodes_->nodes[at].next) {
    if (nodes_->strings[nodes_->nodes[at].content] == key) return JsonValue(nodes_, at + 1);
  }
  return std::nullopt;
}

void JsonValue::only_keys(const std::vector<std::string_view>& known, std::string_view what) const {
  expect_object(what);
  for (std::uint32_t at = nodes_->nodes[node_].content; at != 0; at = nodes_->nodes[at].next) {
    const std::string& key = nodes_->strings[nodes_->nodes[at].content];
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string list = fmt::format("{}", fmt::join(known, ", "));
    JsonValue(nodes_, at)
        .fail(fmt::format("unknown key \"{}\" in {}, expected one of {}{}", key, what, list,
                          suggestion(key, list)));
  }
}

SourcePosition JsonValue::position() const { return nodes_->position(nodes_->nodes[node_].offset); }

void JsonValue::fail(std::string_view message) const { throw InputError(position(), message); }

void JsonValue::expect_object(std::string_view what) const {
  if (is_object()) return;
  fail(fmt::format("{} is {}, expected an object", what, kind_in_words(nodes_->nodes[node_].kind)));
}

JsonDocument::JsonDocument(std::string source, std::string text)
    : nodes_(read_json(std::move(source), std::move(text))) {}
JsonDocument::~JsonDocument() = default;

JsonValue JsonDocument::root() const { return {nodes_.get(), 0}; }

namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr int kNumberOverflow = 406;  // the JSON library's identifier of that exception

/// Tells how far the JSON library has read, which its events do not.
class WatchedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  WatchedIterator(pointer at, pointer* furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  WatchedIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  bool operator==(const WatchedIterator& other) const { return at_ == other.at_; }

 private:
  pointer at_;
  pointer* furthest_;
};

class JsonReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonReader(JsonNodes& out) : out_(out), furthest_(out.text.data()) {}

  void read() {
    const char* const begin = out_.text.data();
    nlohmann::json::sax_parse(WatchedIterator(begin, &furthest_),
                              WatchedIterator(begin + out_.text.size(), &furthest_), this);
    // The library takes a zero byte for the end of the text.
    if (skip_json_blanks(out_.text, end_) != out_.text.size()) {
      const auto mistake = explain_json_mistake(out_.text, progress(), {});
      fail(mistake.offset, mistake.message);
    }
  }

  bool null() override { return value(JsonKind::Null, 0); }
  bool boolean(bool holds) override { return value(JsonKind::Boolean, holds ? 1 : 0); }
  bool number_integer(std::int64_t number) override {
    out_.integers.push_back(number);
    return number_read(JsonKind::Integer, index_of_last(out_.integers));
  }
  bool number_unsigned(std::uint64_t number) override {
    if (!std::in_range<std::int64_t>(number)) return number_read(JsonKind::Number, 0);
    return number_integer(static_cast<std::int64_t>(number));
  }
  bool number_float(double, const std::string&) override {
    return number_read(JsonKind::Number, 0);
  }
  bool string(std::string& text) override {
    out_.strings.push_back(std::move(text));
    return value(JsonKind::String, index_of_last(out_.strings));
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_array(std::size_t) override { return open(JsonKind::Array); }
  bool end_array() override { return close(); }
  bool start_object(std::size_t) override { return open(JsonKind::Object); }
  bool end_object() override { return close(); }

  bool key(std::string& text) override {
    if (!open_.back().keys.insert(text).second) {
      fail(next_token(), fmt::format("duplicate key \"{}\" in an object", text));
    }
    out_.strings.push_back(std::move(text));
    append(JsonKind::Key, index_of_last(out_.strings));
    return token_read(JsonToken::Key, 0);
  }

  bool parse_error(std::size_t bytes_read, const std::string&,
                   const nlohmann::json::exception& complaint) override {
    const auto mistake = explain_json_mistake(
        out_.text, progress(), {bytes_read, complaint.what(), complaint.id == kNumberOverflow});
    fail(mistake.offset, mistake.message);
  }

 private:
  struct Open {
    std::uint32_t node;
    std::uint32_t last_child = 0;
    std::set<std::string> keys = {};
  };
  template <typename Table>
  static std::uint32_t index_of_last(const Table& table) {
    return static_cast<std::uint32_t>(table.size() - 1);
  }

  std::size_t next_token() const {
    std::size_t offset = skip_json_blanks(out_.text, end_);
    while (out_.text[offset] == ',' || out_.text[offset] == ':')
      offset = skip_json_blanks(out_.text, offset + 1);
    return offset;
  }

  std::uint32_t append(JsonKind kind, std::uint32_t content) {
    const auto node = static_cast<std::uint32_t>(out_.nodes.size());
    out_.nodes.push_back({kind, static_cast<std::uint32_t>(next_token()), 0, content});
    if (last_ != JsonToken::Key && !open_.empty()) {
      Open& parent = open_.back();
      (parent.last_child == 0 ? out_.nodes[parent.node].content
                              : out_.nodes[parent.last_child].next) = node;
      parent.last_child = node;
    }
    return node;
  }

  bool token_read(JsonToken last, std::size_t bytes_ahead) {
    last_ = last;
    end_ = static_cast<std::size_t>(furthest_ - out_.text.data()) - bytes_ahead;
    return true;
  }

  bool value(JsonKind kind, std::uint32_t content) {
    append(kind, content);
    return token_read(JsonToken::Value, 0);
  }

  bool number_read(JsonKind kind, std::uint32_t content) {
    append(kind, content);
    return token_read(JsonToken::Value, 1);
  }

  bool open(JsonKind kind) {
    if (open_.size() == kMaxDepth) {
      fail(next_token(), fmt::format("nested too deeply, expected at most {} levels", kMaxDepth));
    }
    open_.push_back({append(kind, 0)});
    return token_read(JsonToken::Opening, 0);
  }

  bool close() {
    open_.pop_back();
    return token_read(JsonToken::Value, 0);
  }

  JsonProgress progress() const {
    const bool in_object = !open_.empty() && out_.nodes[open_.back().node].kind == JsonKind::Object;
    return {end_, last_, !open_.empty(), in_object};
  }

  [[noreturn]] void fail(std::size_t offset, std::string_view message) const {
    throw InputError(out_.position(offset), message);
  }

  JsonNodes& out_;
  const char* furthest_;
  std::size_t end_ = 0;  // of the last token that was a value, a key, or a bracket
  JsonToken last_ = JsonToken::Nothing;
  std::vector<Open> open_;
};

std::vector<std::uint32_t> line_starts_of(const std::string& text) {
  std::vector<std::uint32_t> starts{0};
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    starts.push_back(static_cast<std::uint32_t>(at + 1));
  }
  return starts;
}

}  // namespace

SourcePosition JsonNodes::position(std::size_t offset) const {
  offset = std::min(offset, text.size() - 1);
  const auto next_line = std::upper_bound(line_starts.begin(), line_starts.end(), offset);
  const auto line = static_cast<std::size_t>(next_line - line_starts.begin());
  return {source, line, offset - line_starts[line - 1] + 1};
}

std::unique_ptr<const JsonNodes> read_json(std::string source, std::string text) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw InputError({source}, "the text is too long, expected less than 4 GiB");
  }
  auto nodes = std::make_unique<JsonNodes>();
  nodes->source = std::move(source);
  nodes->text = std::move(text);
  nodes->text += ' ';
  nodes->line_starts = line_starts_of(nodes->text);
  JsonReader(*nodes).read();
  return nodes;
}

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
  constexpr std::size_t kMaxDigitsWord = 20;
  if (at == text.size()) return "the end of the text";
  std::size_t end = at;
  while (end - at < kMaxDigitsWord && in_word(text[end])) ++end;
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

}  // namespace

}  // namespace p2
