#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace p2 {

/// Where something stands in a text the user gave us. `source` is a file path or, for text given on
/// the command line, the option's name (`--axes`). Lines and columns count from 1, columns in
/// bytes; line 0 means the whole source.
struct SourcePosition {
  std::string source;
  std::size_t line = 0;
  std::size_t column = 0;

  bool operator==(const SourcePosition&) const = default;
};

/// The position of byte `offset` in `text` (an offset past the end means the end).
SourcePosition position_at(std::string_view source, std::string_view text, std::size_t offset);

/// A mistake in the user's input: exit code 2 and one line on stderr. `what()` reads
/// `FILE:LINE:COL: what, and what was expected`; control characters in it are escaped, so that it
/// stays one line whatever the input held.
class InputError : public std::runtime_error {
 public:
  InputError(const SourcePosition& where, std::string_view message);

  const SourcePosition& where() const { return *where_; }
  /// `what()` without the position.
  const std::string& message() const { return *message_; }

 private:
  std::shared_ptr<const SourcePosition> where_;  // exceptions have to be copied without throwing
  std::shared_ptr<const std::string> message_;
};

}  // namespace p2
