#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace p2 {

/// The last token of a JSON text that had a meaning: `,` and `:` do not count.
enum class JsonToken : std::uint8_t { Nothing, Opening, Key, Value };

/// How far a JSON text has been read without a mistake.
struct JsonProgress {
  std::size_t end = 0;  ///< the byte after `last`
  JsonToken last = JsonToken::Nothing;
  bool nested = false;     ///< inside an array or object
  bool in_object = false;  ///< the innermost of them is an object
};

/// What the JSON library says about a mistake.
struct JsonComplaint {
  std::size_t bytes_read = 0;
  std::string_view message = {};
  bool number_overflow = false;
};

struct JsonMistake {
  std::size_t offset;
  std::string message;
};

/// Where the text first goes wrong after `progress`, what stands there and what was expected. The
/// library is quoted only about the inside of a string or number.
JsonMistake explain_json_mistake(const std::string& text, const JsonProgress& progress,
                                 const JsonComplaint& complaint);

/// The first byte from `offset` on that is no blank; a byte order mark counts as blank.
std::size_t skip_json_blanks(const std::string& text, std::size_t offset);

}  // namespace p2
