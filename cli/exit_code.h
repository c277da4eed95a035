#pragma once

namespace p2 {

/// The exit codes of the command-line contract.
enum ExitCode : int {
  kEstablished = 0,   ///< everything asked for was established
  kRefuted = 1,       ///< a counterexample is in the output
  kBadInput = 2,      ///< usage error or bad input
  kUndecided = 3,     ///< a limit was met first
  kDisagreement = 4,  ///< two engines disagree
  kToolFailure = 5    ///< the program itself, a library or the machine failed; nothing was settled
};

}  // namespace p2
