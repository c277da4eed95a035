#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "p2/document.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2 {

/// How a verb of the library is to work, whatever it is asked.
struct Options {
  Limits limits = {};
  unsigned jobs = 0;  ///< threads; 0 = one per core. Answers do not depend on it.
  std::uint64_t seed = 1;
  Progress progress = {};
  /// Whether the JSON value of the document and the facts of counterexamples are made. Without them
  /// a campaign of thousands of questions that is read as text takes two thirds of the time.
  bool facts = true;
};

/// Something that kept part of an answer from being given; what was settled stays.
struct Diagnostic {
  enum class Kind : std::uint8_t {
    BadInput,     ///< a mistake in one of the inputs, or a path that cannot be written
    Undecided,    ///< a limit was reached
    ToolFailure,  ///< a tool or p2 itself failed
    Note,         ///< for information: the answer is whole
  };
  Kind kind = Kind::Note;
  std::string message;  ///< one line, with the position where there is one
};

/// What every verb of the library returns; a verb adds typed members of its own.
struct Answer {
  std::vector<Result> results;  ///< by subject, in the order of the request
  /// The worst of the results: Disagreement, Refuted, Undecided, Established.
  Outcome outcome = Outcome::Established;
  std::vector<Diagnostic> diagnostics;
  Document document;
};

/// The exit codes of the programs.
enum ExitCode : int {
  kEstablished = 0,   ///< everything asked for was established
  kRefuted = 1,       ///< a counterexample is in the output
  kBadInput = 2,      ///< usage error or bad input
  kUndecided = 3,     ///< a limit was reached first
  kDisagreement = 4,  ///< two engines disagree
  kToolFailure = 5    ///< the program itself, a library or the machine failed
};

/// The exit code of an answer: 4 for a disagreement, then 5 for a tool failure, 2 for bad input,
/// 1 refuted, 3 undecided, 0.
ExitCode exit_code_of(const Answer& answer);

/// The document as one self-contained page, light and dark, printable, with the verdict in a
/// sentence first; of an answer about files an index of them that can be sorted and filtered.
std::string write_page(const Answer& answer);

/// The worst of two outcomes: Disagreement, Refuted, Undecided, Established, in this order.
Outcome worst(Outcome a, Outcome b);

}  // namespace p2
