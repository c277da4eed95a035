#include "engine/base/json_document.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/base/json_nodes.h"

namespace p2 {
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
  constexpr std::size_t kLongest = 30;
  const std::size_t end = nodes.text.find_first_not_of("+-.0123456789eE", offset);
  const std::string number = nodes.text.substr(offset, std::min(end - offset, kLongest));
  return end - offset > kLongest ? number + " …" : number;
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

void JsonValue::only_keys(std::initializer_list<std::string_view> known,
                          std::string_view what) const {
  expect_object(what);
  for (std::uint32_t at = nodes_->nodes[node_].content; at != 0; at = nodes_->nodes[at].next) {
    const std::string& key = nodes_->strings[nodes_->nodes[at].content];
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    JsonValue(nodes_, at)
        .fail(fmt::format("unknown key \"{}\" in {}, expected one of {}", key, what,
                          fmt::join(known, ", ")));
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

}  // namespace p2
