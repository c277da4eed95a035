#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "p2/error.h"

namespace p2 {

enum class JsonKind : std::uint8_t { Null, Boolean, Integer, Number, String, Array, Object, Key };

/// A value or a key. The value of a key is the node right after it. Node 0 is the root, so 0 stands
/// for "none" in `next` and for "empty" in the `content` of an array or object.
struct JsonNode {
  JsonKind kind;
  std::uint32_t offset;       ///< of its first byte in the text
  std::uint32_t next = 0;     ///< the next element of its array, or the next key of its object
  std::uint32_t content = 0;  ///< first element or key, or an index in `strings` or `integers`
};

/// What a JsonDocument keeps: every value and key of a text, in the order of the text.
struct JsonNodes {
  std::string source;
  std::string text;  ///< with one blank appended, so that every number has a byte after it
  std::vector<std::uint32_t> line_starts;
  std::vector<JsonNode> nodes;
  std::vector<std::string> strings;
  std::vector<std::int64_t> integers;

  /// Takes logarithmic time: callers may ask for the position of every value they read.
  SourcePosition position(std::size_t offset) const;
};

/// Throws InputError at the first mistake.
std::unique_ptr<const JsonNodes> read_json(std::string source, std::string text);

}  // namespace p2
