#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "p2/error.h"

namespace p2 {

struct JsonNodes;

/// One value inside a JsonDocument, which it must not outlive. Accessors say what they expected and
/// where: each throws InputError at the value's own line and column when the type is another one.
/// `what` names the value in that message (`"the size of a level"`).
class JsonValue {
 public:
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  const std::string& string(std::string_view what) const;
  bool boolean(std::string_view what) const;
  /// A whole number from `low` to `high`; 4.0, 1e3 and strings are refused.
  std::int64_t integer(std::string_view what, std::int64_t low, std::int64_t high) const;
  /// A number from `low` to `high`, rounded to a whole one, halves to the even one. A number with a
  /// fraction or an exponent is read as the nearest double first.
  std::int64_t rounded(std::string_view what, std::int64_t low, std::int64_t high) const;
  /// A whole number from 0 to 2^64 - 1, the latter being all that is larger than 2^63 - 1.
  std::uint64_t size(std::string_view what) const;
  std::vector<JsonValue> array(std::string_view what) const;
  /// The keys of an object and their values, in the order of the text.
  std::vector<std::pair<std::string, JsonValue>> members(std::string_view what) const;
  /// The member, or an error at the object's position that names the missing key. Here and below
  /// `what` names the object.
  JsonValue member(std::string_view key, std::string_view what) const;
  std::optional<JsonValue> find(std::string_view key) const;
  /// Refuses, at its position, the first key that is not in `known`.
  void only_keys(std::initializer_list<std::string_view> known, std::string_view what) const {
    only_keys(std::vector<std::string_view>(known), what);
  }
  void only_keys(const std::vector<std::string_view>& known, std::string_view what) const;

  SourcePosition position() const;
  [[noreturn]] void fail(std::string_view message) const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonNodes* nodes, std::uint32_t node) : nodes_(nodes), node_(node) {}
  void expect_object(std::string_view what) const;

  const JsonNodes* nodes_;
  std::uint32_t node_;
};

/// A JSON text, read once and kept with the position of every value and key (RFC 8259; a key twice
/// in one object, nesting deeper than 64, text after the value, and numbers beyond the range of a
/// double are errors). Reading takes time and memory proportional to the text.
class JsonDocument {
 public:
  /// Throws InputError at the first mistake.
  JsonDocument(std::string source, std::string text);
  ~JsonDocument();

  JsonValue root() const;

 private:
  std::unique_ptr<const JsonNodes> nodes_;
};

}  // namespace p2
