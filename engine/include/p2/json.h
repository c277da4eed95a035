#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace p2 {

/// A JSON value that keeps the order of its members. For output: the reader of input, which knows
/// the position of every value, is engine/base/json_reader.h.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;
  struct Given;

  Json() = default;  // null
  Json(std::nullptr_t) {
  }  // NOLINT(google-explicit-constructor): literals are values, here and below
  Json(bool value) : value_(value) {}  // NOLINT
  template <std::signed_integral T>
  Json(T value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value)
      : value_(static_cast<std::uint64_t>(value)) {}            // NOLINT
  Json(double value) : value_(value) {}                         // NOLINT
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT
  Json(Array value) : value_(std::move(value)) {}               // NOLINT
  Json(Object value) : value_(std::move(value)) {}              // NOLINT

  /// A number written exactly as `literal`, which must be a JSON number: rounded or exact decimals.
  static Json number(std::string literal);
  static Json object(Object members = {}) { return Json(std::move(members)); }
  /// Moves the values of a list in braces, which a vector could only copy.
  static Json object(std::initializer_list<Given> members);
  /// An array of naturals, kept in a tenth of the space. It has no elements that are values:
  /// `if_array` is null.
  static Json naturals(std::vector<std::uint32_t> numbers);
  static Json array(Array elements = {}) { return Json(std::move(elements)); }
  /// `each(element)` for every element of a range.
  template <typename Range, typename Each>
  static Json array_of(const Range& range, Each each) {
    Array elements;
    if constexpr (requires { range.size(); }) elements.reserve(range.size());
    for (const auto& element : range) elements.push_back(Json(each(element)));
    return elements;
  }
  /// The elements of a range as they are.
  template <typename Range>
  static Json array_of(const Range& range) {
    return array_of(range, [](const auto& element) { return Json(element); });
  }

  /// The value of a JSON text, its numbers as they are written. The text must be JSON.
  static Json parse(const std::string& text);

  /// Appends a member to an object (a null value becomes an object) or an element to an array.
  Json& add(std::string key, Json value) &;
  Json&& add(std::string key, Json value) && {
    return std::move(add(std::move(key), std::move(value)));
  }
  Json& push_back(Json value);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  const Array* if_array() const { return std::get_if<Array>(&value_); }
  const Object* if_object() const { return std::get_if<Object>(&value_); }
  const std::string* if_string() const { return std::get_if<std::string>(&value_); }
  /// The member of an object; null if this is no object or has no such member.
  const Json* find(std::string_view key) const;

  /// On one line, without spaces.
  std::string dump() const;
  /// For files and pipes: arrays of objects down to the second level have a line per element. Ends
  /// with a newline.
  std::string document() const;

 private:
  struct Literal {
    std::string text;
  };

  bool is_structure() const;
  void write(std::string& out, int broken_levels) const;

  using Naturals = std::vector<std::uint32_t>;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, Literal, std::string,
               Naturals, Array, Object>
      value_;
};

/// A member of a list in braces.
struct Json::Given {
  std::string key;
  mutable Json value;
};

/// `"…"`: a string as a JSON literal; bytes that are not UTF-8 are replaced by U+FFFD.
std::string json_string(std::string_view text);

}  // namespace p2
