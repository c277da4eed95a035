#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "p2/error.h"

namespace p2 {

/// One element of an XML text, while it is read; text between elements is not kept.
struct XmlElement {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> attributes;
  std::string_view source;
  std::size_t line = 0;  ///< of its `<`
  std::size_t column = 0;
  std::size_t depth = 0;  ///< the root has 0

  bool has(std::string_view attribute) const;
  /// Each throws InputError at the element: for an attribute that is missing, and for a value that
  /// is no whole number from `low` to `high`.
  std::string_view text(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t low, std::int64_t high) const;
  /// The same, and `otherwise` where the attribute is missing.
  std::int64_t integer(std::string_view attribute, std::int64_t low, std::int64_t high,
                       std::int64_t otherwise) const;
  [[noreturn]] void fail(std::string_view message) const;
};

/// Shows all elements to `visit`, in the order of the text, and keeps none. Throws what `visit`
/// throws, and InputError where the text is not well-formed, and for a document type declaration:
/// nothing here needs entities. `root` is the element that a message expects.
void read_xml(const std::string& source, const std::string& text, std::string_view root,
              const std::function<void(const XmlElement&)>& visit);

}  // namespace p2
