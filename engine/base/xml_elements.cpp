#include "engine/base/xml_elements.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace p2 {

bool XmlElement::has(std::string_view attribute) const {
  return std::any_of(attributes.begin(), attributes.end(),
                     [&](const auto& each) { return each.first == attribute; });
}

std::string_view XmlElement::text(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& each) { return each.first == attribute; });
  if (found == attributes.end()) {
    fail(fmt::format("<{}> without {}, expected {}=\"…\"", name, attribute, attribute));
  }
  return found->second;
}

std::int64_t XmlElement::integer(std::string_view attribute, std::int64_t low,
                                 std::int64_t high) const {
  const std::string_view digits = text(attribute);
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stopped != end || value < low || value > high) {
    fail(fmt::format("{}=\"{}\" of <{}>, expected a whole number from {} to {}", attribute, digits,
                     name, low, high));
  }
  return value;
}

std::int64_t XmlElement::integer(std::string_view attribute, std::int64_t low, std::int64_t high,
                                 std::int64_t otherwise) const {
  return has(attribute) ? integer(attribute, low, high) : otherwise;
}

void XmlElement::fail(std::string_view message) const {
  throw InputError({std::string(source), line, column}, message);
}

}  // namespace p2
