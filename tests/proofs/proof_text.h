#pragma once

#include <cstdint>
#include <vector>

#include "tests/proofs/certificates.h"

namespace p2::proofs {

/// One line of numbers, as written.
using Line = std::vector<std::int64_t>;

/// problem.cnf and proof.lrat as numbers, so that they can be forged.
struct ProofText {
  std::vector<Line> clauses;  ///< the header first, without its words; each clause with its 0
  std::vector<Line> steps;

  explicit ProofText(const CertificateFiles& files);
  void write(CertificateFiles& files) const;

  /// Drops one clause and counts on without it, in the header and in the proof: everything but what
  /// rests on the clause stays right. Clauses count from 1.
  void drop_clause(std::size_t at);
};

/// The end of a step's clause, where its hints begin. Throws std::length_error where there is none.
Line::iterator end_of_clause(Line& step);

}  // namespace p2::proofs
