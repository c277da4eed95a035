#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/msccl/xml_elements.h"

namespace p2 {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::size_t depth = 0;
};

inline std::vector<Element> elements_of(const std::string& xml) {
  std::vector<Element> elements;
  msccl::read_xml("report.xml", xml, [&](const msccl::XmlElement& element) {
    Element copy{std::string(element.name), {}, element.depth};
    for (const auto& [name, value] : element.attributes) {
      copy.attributes[std::string(name)] = value;
    }
    elements.push_back(copy);
  });
  return elements;
}

inline std::size_t count(const std::vector<Element>& elements, const std::string& name) {
  std::size_t found = 0;
  for (const Element& element : elements) found += element.name == name ? 1 : 0;
  return found;
}

}  // namespace p2
