#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace p2 {

/// A position in text from the user. `source` is a file path or, for text on the command line, the
/// option's name (`--axes`). Lines and columns count from 1, columns in bytes; line 0 means the
/// whole source.
struct SourcePosition {
  std::string source;
  std::size_t line = 0;
  std::size_t column = 0;

  bool operator==(const SourcePosition&) const = default;
};

/// The position of byte `offset` in `text` (an offset past the end means the end).
SourcePosition position_at(std::string_view source, std::string_view text, std::size_t offset);

/// The base of everything that the library throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A mistake in the user's input (exit code 2). `what()` reads `FILE:LINE:COL: what, and what was
/// expected` on one line; control characters are escaped.
class InputError : public Error {
 public:
  InputError(const SourcePosition& where, std::string_view message);

  const SourcePosition& where() const { return *where_; }
  /// `what()` without the position.
  const std::string& message() const { return *message_; }

 private:
  std::shared_ptr<const SourcePosition> where_;  // exceptions have to be copied without throwing
  std::shared_ptr<const std::string> message_;
};

/// A limit was reached before the question was decided (exit code 3): one of p2::Limits, a
/// cancellation, or a bound of the implementation that the message names.
class LimitReached : public Error {
 public:
  enum class Kind : std::uint8_t {
    Time,
    Memory,
    Work,       ///< deterministic units of a solver
    Size,       ///< a bound of the implementation, e.g. 2^32 ids
    Cancelled,  ///< the caller's flag was set
  };

  LimitReached(Kind kind, const std::string& message) : Error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// A program, library or device that p2 uses failed (exit code 5): a solver, MPI, NCCL, the disk.
class ToolError : public Error {
 public:
  using Error::Error;
};

/// A broken invariant, i.e. a bug in p2 (exit code 5). No result computed after it can be trusted.
class InternalError : public Error {
 public:
  using Error::Error;
};

/// `; did you mean 'check'?` for the one of `candidates` that is nearest to the mistyped `word`;
/// empty where none is near. `candidates` are separated as messages list them: `printed, published
/// or both`. Near is what a third of the letters changes at most (optimal string alignment:
/// insertions, deletions, substitutions, exchanges of neighbours; case does not count), or what
/// goes on after `word`.
std::string suggestion(std::string_view word, std::string_view candidates);

/// `unknown 'NAME', expected CANDIDATES`, with a suggestion.
std::string unknown_name(std::string_view name, std::string_view candidates);

/// Throws InputError at `where` for the first of `flags` that is given, by its name: `WHY, expected
/// no --NAME`.
void refuse_flags(const std::string& where, std::string_view why,
                  std::initializer_list<std::pair<std::string_view, bool>> flags);

}  // namespace p2
