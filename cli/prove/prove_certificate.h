#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "proofs/claims/written_certificate.h"

namespace p2 {

struct ResultCertification {
  claims::ResultCertificates written;
  bool difference = false;            ///< the clauses contradict a result
  std::optional<ExitCode> unwritten;  ///< why something could not be written
  /// What there is to say of both, in the order of the results.
  std::map<const claims::Result*, std::string> complaints;
};

struct CertificateOptions {
  std::string folder;
  std::uint64_t seed = 1;
  unsigned jobs = 0;  ///< threads; 0 = one per core
};

/// Writes into the folder
///  - for every result that holds of `synthesis-complete` and of claims that forbid moves
///    (`expressiveness`, corollary B.4, the lemmas, cases and witnesses about valid programs), the
///    refutation of a counterexample;
///  - for every result that holds of `mixing` and of lemma B.3 over any groups the refutation of a
///    program that mixes classes, of as many steps as there is none of;
///  - for every result that holds of `beyond-dsl`, `lattice-gain` and those on other networks, that
///    nothing is cheaper than the best programs over hierarchies, at any length; and for the
///    smallest and the shortest counterexample that nothing is cheaper than the best programs
///    found;
///  - for the smallest and the shortest counterexample of every other row of the summary that it is
///    a valid program and, where two hierarchies are compared, which step is no instruction of the
///    other. Counterexamples that are single instructions get none.
/// Other results have none; they are `solver-only`. `done` counts the results that were gone
/// through, for whoever watches it from another thread.
ResultCertification certify_results(const std::vector<claims::Result>& results,
                                    const claims::Bounds& bounds, const CertificateOptions& options,
                                    std::atomic<std::size_t>& done);

}  // namespace p2
