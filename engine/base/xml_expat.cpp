// read_xml by the parser expat.

#include <exception>
#include <limits>
#include <memory>

#include <expat.h>
#include <fmt/format.h>

#include "engine/base/xml_elements.h"

namespace p2 {
namespace {

/// What the callbacks of the parser write to. No exception may cross the parser, which is in C.
struct Reading {
  XML_Parser parser;
  const std::string& source;
  const std::function<void(const XmlElement&)>& visit;
  XmlElement element = {};
  std::size_t depth = 0;
  bool document_type = false;
  std::exception_ptr thrown = {};
};

void open_element(void* data, const char* name, const char** attributes) {
  Reading& reading = *static_cast<Reading*>(data);
  if (reading.thrown) return;
  try {
    XmlElement& element = reading.element;
    element.name = name;
    element.attributes.clear();
    for (; *attributes != nullptr; attributes += 2) {
      element.attributes.emplace_back(attributes[0], attributes[1]);
    }
    element.line = XML_GetCurrentLineNumber(reading.parser);
    element.column = XML_GetCurrentColumnNumber(reading.parser) + 1;
    element.depth = reading.depth++;
    reading.visit(element);
  } catch (...) {
    reading.thrown = std::current_exception();
    XML_StopParser(reading.parser, XML_FALSE);
  }
}

void close_element(void* data, const char*) { --static_cast<Reading*>(data)->depth; }

void refuse_document_type(void* data, const char*, const char*, const char*, int) {
  Reading& reading = *static_cast<Reading*>(data);
  reading.document_type = true;
  XML_StopParser(reading.parser, XML_FALSE);
}

}  // namespace

void read_xml(const std::string& source, const std::string& text, std::string_view root,
              const std::function<void(const XmlElement&)>& visit) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw InputError({source}, "more than 2 GiB of XML, expected less");
  }
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(
      XML_ParserCreate(nullptr), &XML_ParserFree);
  Reading reading{parser.get(), source, visit};
  reading.element.source = source;
  XML_SetUserData(parser.get(), &reading);
  XML_SetElementHandler(parser.get(), open_element, close_element);
  XML_SetStartDoctypeDeclHandler(parser.get(), refuse_document_type);
  const bool whole = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()),
                               XML_TRUE) == XML_STATUS_OK;
  if (reading.thrown) std::rethrow_exception(reading.thrown);
  if (reading.document_type) {
    throw InputError(position_at(source, text, text.find("<!DOCTYPE")),
                     fmt::format("a document type declaration, expected <{} …>", root));
  }
  if (!whole) {
    throw InputError({source, XML_GetCurrentLineNumber(parser.get()),
                      XML_GetCurrentColumnNumber(parser.get()) + 1},
                     fmt::format("{}, expected well-formed XML",
                                 XML_ErrorString(XML_GetErrorCode(parser.get()))));
  }
}

}  // namespace p2
