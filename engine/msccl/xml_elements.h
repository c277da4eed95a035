#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/input/input_error.h"

namespace p2::msccl {

/// One element of an XML text; text between elements is not kept.
struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  SourcePosition position;  ///< of its `<`
  std::size_t depth = 0;    ///< the root has 0

  /// Each throws InputError at `position`: for an attribute that is missing, and for a value that
  /// is no whole number from `low` to `high`.
  const std::string& text(const std::string& attribute) const;
  std::int64_t integer(const std::string& attribute, std::int64_t low, std::int64_t high) const;
  /// The same, and `otherwise` where the attribute is missing.
  std::int64_t integer(const std::string& attribute, std::int64_t low, std::int64_t high,
                       std::int64_t otherwise) const;
  [[noreturn]] void fail(const std::string& message) const;
};

/// All elements in the order of the text. Throws InputError where the text is not well-formed, and
/// for a document type declaration: nothing here needs entities.
std::vector<XmlElement> read_xml(const std::string& source, const std::string& text);

}  // namespace p2::msccl
