#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/limits.h"
#include "engine/program/program.h"

namespace p2::cnf {

/// That a list of programs is complete, in the words of docs/certificates.md.
struct CompletenessProof {
  std::vector<Step> choices;                         ///< what a step may do, without groups
  std::vector<std::vector<std::uint32_t>> programs;  ///< as numbers of choices, in order
  std::string cnf;     ///< DIMACS: the clauses that the refutation of others needs
  std::string varmap;  ///< what the variables stand for
  std::string lrat;
};

/// What the clauses say of a list of programs.
struct Completeness {
  enum class Kind : std::uint8_t {
    Complete,  ///< there is no other valid program; proved
    Missing,   ///< there is another
    Unknown,   ///< a limit was met
  };
  Kind kind = Kind::Unknown;
  std::vector<Step> missing;  ///< without groups
  CompletenessProof proof;
};

/// Asks a SAT solver for a valid program of at most `size` steps that is not among `programs`,
/// whose steps have shapes, and turns its refutation into LRAT. That the listed ones are valid is
/// not asked. Throws std::runtime_error when the solver's refutation is none.
Completeness refute_others(const Instance& instance, Dialect dialect, std::uint32_t size,
                           const std::vector<std::vector<Step>>& programs,
                           const Limits& limits = {});

}  // namespace p2::cnf
