// read_xml by the parser of Boost, which needs no library.

#include <fmt/format.h>
#include <boost/property_tree/detail/rapidxml.hpp>

#include "engine/base/xml_elements.h"

namespace p2 {
namespace {

namespace rapidxml = boost::property_tree::detail::rapidxml;

SourcePosition position_of(const std::string& source, const std::string& text, std::size_t offset) {
  SourcePosition position{source, 1, 1};
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    ++position.column;
    if (text[i] != '\n') continue;
    ++position.line;
    position.column = 1;
  }
  return position;
}

/// Shows elements to the visitor in the order of the text, and remembers where it stands there.
class Visit {
 public:
  Visit(const std::string& source, const std::string& text, const char* copy,
        const std::function<void(const XmlElement&)>& visit)
      : text_(text), copy_(copy), visit_(visit) {
    element_.source = source;
    element_.line = 1;
  }

  void show(const rapidxml::xml_node<>& node, std::size_t depth) {
    move_to(static_cast<std::size_t>(node.name() - copy_) - 1);
    element_.name = {node.name(), node.name_size()};
    element_.depth = depth;
    element_.attributes.clear();
    for (const auto* each = node.first_attribute(); each != nullptr;
         each = each->next_attribute()) {
      element_.attributes.emplace_back(std::string_view(each->name(), each->name_size()),
                                       std::string_view(each->value(), each->value_size()));
    }
    visit_(element_);
    for (const auto* each = node.first_node(); each != nullptr; each = each->next_sibling()) {
      if (each->type() == rapidxml::node_element) show(*each, depth + 1);
    }
  }

 private:
  void move_to(std::size_t offset) {
    for (; at_ < offset; ++at_) {
      if (text_[at_] != '\n') continue;
      ++element_.line;
      line_begin_ = at_ + 1;
    }
    element_.column = offset - line_begin_ + 1;
  }

  const std::string& text_;
  const char* copy_;
  const std::function<void(const XmlElement&)>& visit_;
  XmlElement element_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
};

}  // namespace

void read_xml(const std::string& source, const std::string& text, std::string_view root,
              const std::function<void(const XmlElement&)>& visit) {
  const std::size_t type = text.find("<!DOCTYPE");
  if (type != std::string::npos) {
    throw InputError(position_of(source, text, type),
                     fmt::format("a document type declaration, expected <{} …>", root));
  }
  std::vector<char> copy(text.begin(), text.end());
  copy.push_back('\0');
  rapidxml::xml_document<> document;
  try {
    document.parse<rapidxml::parse_validate_closing_tags>(copy.data());
  } catch (const rapidxml::parse_error& error) {
    const auto offset = static_cast<std::size_t>(error.where<char>() - copy.data());
    throw InputError(position_of(source, text, offset),
                     fmt::format("{}, expected well-formed XML", error.what()));
  }
  const rapidxml::xml_node<>* const first = document.first_node();
  if (first == nullptr || first->next_sibling() != nullptr) {
    throw InputError({source, 1, 1}, fmt::format("expected one element <{} …>", root));
  }
  Visit(source, text, copy.data(), visit).show(*first, 0);
}

}  // namespace p2
