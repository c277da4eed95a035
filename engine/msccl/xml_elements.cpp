#include "engine/msccl/xml_elements.h"

#include <charconv>
#include <limits>
#include <memory>

#include <expat.h>
#include <fmt/format.h>

namespace p2::msccl {
namespace {

/// What the callbacks of the parser write to. No exception may cross the parser, which is in C.
struct Reading {
  XML_Parser parser;
  const std::string& source;
  std::vector<XmlElement> elements;
  std::size_t depth = 0;
  bool document_type = false;

  SourcePosition position() const {
    return {source, XML_GetCurrentLineNumber(parser), XML_GetCurrentColumnNumber(parser) + 1};
  }
};

void open_element(void* data, const char* name, const char** attributes) {
  Reading& reading = *static_cast<Reading*>(data);
  XmlElement element{name, {}, reading.position(), reading.depth++};
  for (; *attributes != nullptr; attributes += 2) element.attributes[attributes[0]] = attributes[1];
  reading.elements.push_back(std::move(element));
}

void close_element(void* data, const char*) { --static_cast<Reading*>(data)->depth; }

void refuse_document_type(void* data, const char*, const char*, const char*, int) {
  Reading& reading = *static_cast<Reading*>(data);
  reading.document_type = true;
  XML_StopParser(reading.parser, XML_FALSE);
}

}  // namespace

const std::string& XmlElement::text(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) {
    fail(fmt::format("<{}> without {}, expected {}=\"…\"", name, attribute, attribute));
  }
  return found->second;
}

std::int64_t XmlElement::integer(const std::string& attribute, std::int64_t low,
                                 std::int64_t high) const {
  const std::string& digits = text(attribute);
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stopped != end || value < low || value > high) {
    fail(fmt::format("{}=\"{}\" of <{}>, expected a whole number from {} to {}", attribute, digits,
                     name, low, high));
  }
  return value;
}

std::int64_t XmlElement::integer(const std::string& attribute, std::int64_t low, std::int64_t high,
                                 std::int64_t otherwise) const {
  return attributes.contains(attribute) ? integer(attribute, low, high) : otherwise;
}

void XmlElement::fail(const std::string& message) const { throw InputError(position, message); }

std::vector<XmlElement> read_xml(const std::string& source, const std::string& text) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw InputError({source}, "more than 2 GiB of XML, expected less");
  }
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(
      XML_ParserCreate(nullptr), &XML_ParserFree);
  Reading reading{parser.get(), source, {}, 0, {}};
  XML_SetUserData(parser.get(), &reading);
  XML_SetElementHandler(parser.get(), open_element, close_element);
  XML_SetStartDoctypeDeclHandler(parser.get(), refuse_document_type);
  const bool whole = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()),
                               XML_TRUE) == XML_STATUS_OK;
  if (reading.document_type) {
    throw InputError(position_at(source, text, text.find("<!DOCTYPE")),
                     "a document type declaration, expected <algo …>");
  }
  if (!whole) {
    throw InputError(reading.position(),
                     fmt::format("{}, expected well-formed XML",
                                 XML_ErrorString(XML_GetErrorCode(parser.get()))));
  }
  return std::move(reading.elements);
}

}  // namespace p2::msccl
