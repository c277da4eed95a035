#include "p2/json.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

// Levels of arrays of objects that have a line per element in a document.
constexpr int kBrokenLevels = 2;

Json converted(const nlohmann::ordered_json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::object: {
      Json object = Json::object();
      for (const auto& [key, member] : value.items()) object.add(key, converted(member));
      return object;
    }
    case nlohmann::json::value_t::array:
      return Json::array_of(value, [](const auto& each) { return converted(each); });
    case nlohmann::json::value_t::string:
      return value.get<std::string>();
    case nlohmann::json::value_t::boolean:
      return value.get<bool>();
    case nlohmann::json::value_t::null:
      return {};
    default:
      return Json::number(value.dump());
  }
}

/// Whether a JSON literal shows the character as it is.
bool is_plain(char ch) { return ch >= ' ' && ch <= '~' && ch != '"' && ch != '\\'; }

void write_string(std::string& out, std::string_view text) {
  if (std::ranges::all_of(text, is_plain)) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

template <std::integral Number>
void write_number(std::string& out, Number number) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}

}  // namespace

Json Json::number(std::string literal) {
  Json json;
  json.value_ = Literal{std::move(literal)};
  return json;
}

Json Json::naturals(std::vector<std::uint32_t> numbers) {
  Json json;
  json.value_ = std::move(numbers);
  return json;
}

Json Json::object(std::initializer_list<Given> members) {
  Object object;
  object.reserve(members.size());
  for (const Given& each : members) object.emplace_back(each.key, std::move(each.value));
  return object;
}

Json Json::parse(const std::string& text) { return converted(nlohmann::ordered_json::parse(text)); }

Json& Json::add(std::string key, Json value) & {
  if (is_null()) value_ = Object{};
  auto* members = std::get_if<Object>(&value_);
  invariant(members != nullptr, "a member is added to a JSON value that is not an object");
  members->emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push_back(Json value) {
  if (is_null()) value_ = Array{};
  auto* elements = std::get_if<Array>(&value_);
  invariant(elements != nullptr, "an element is added to a JSON value that is not an array");
  elements->push_back(std::move(value));
  return *this;
}

const Json* Json::find(std::string_view key) const {
  const Object* members = if_object();
  if (members == nullptr) return nullptr;
  for (const auto& [name, value] : *members) {
    if (name == key) return &value;
  }
  return nullptr;
}

bool Json::is_structure() const {
  return std::holds_alternative<Naturals>(value_) || if_array() != nullptr ||
         if_object() != nullptr;
}

void Json::write(std::string& out, int broken_levels) const {
  if (const auto* flag = std::get_if<bool>(&value_)) {
    out += *flag ? "true" : "false";
  } else if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
    write_number(out, *whole);
  } else if (const auto* natural = std::get_if<std::uint64_t>(&value_)) {
    write_number(out, *natural);
  } else if (const auto* real = std::get_if<double>(&value_)) {
    out += std::isfinite(*real) ? fmt::format("{}", *real) : "null";
  } else if (const auto* literal = std::get_if<Literal>(&value_)) {
    out += literal->text;
  } else if (const std::string* text = if_string()) {
    write_string(out, *text);
  } else if (const Naturals* numbers = std::get_if<Naturals>(&value_)) {
    out += '[';
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      if (i != 0) out += ',';
      write_number(out, (*numbers)[i]);
    }
    out += ']';
  } else if (const Array* elements = if_array()) {
    const bool broken = broken_levels > 0 && !elements->empty() && elements->front().is_structure();
    out += '[';
    const char* separator = broken ? "\n" : "";
    for (const Json& element : *elements) {
      out += separator;
      element.write(out, broken_levels - 1);
      separator = broken ? ",\n" : ",";
    }
    out += broken ? "\n]" : "]";
  } else if (const Object* members = if_object()) {
    out += '{';
    const char* separator = "";
    for (const auto& [key, value] : *members) {
      out += separator;
      write_string(out, key);
      out += ':';
      value.write(out, broken_levels);
      separator = ",";
    }
    out += '}';
  } else {
    out += "null";
  }
}

std::string Json::dump() const {
  std::string out;
  write(out, 0);
  return out;
}

std::string Json::document() const {
  std::string out;
  write(out, kBrokenLevels);
  out += '\n';
  return out;
}

std::string json_string(std::string_view text) {
  std::string out;
  write_string(out, text);
  return out;
}

}  // namespace p2
