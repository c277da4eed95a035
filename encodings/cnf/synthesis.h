#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encodings/cnf/solver.h"
#include "engine/limits.h"
#include "engine/program/program.h"

namespace p2::cnf {

/// A program as steps without groups; its shapes are those that stand first for their groups.
using Steps = std::vector<Step>;

/// The valid programs of an instance as a SAT solver found them.
struct Enumerated {
  std::vector<Steps> programs;  ///< by increasing size; within one size in the order of discovery
  /// All programs of at most this many steps are here: the solver has refuted that there is
  /// another. Nothing when not even the empty program was settled.
  std::optional<std::uint32_t> settled;
  bool complete = false;  ///< settled is the size asked for
};

/// Enumerates all valid programs of at most `size` steps: per size, models until none is left.
Enumerated enumerate_programs(const Instance& instance, Dialect dialect, std::uint32_t size,
                              const Limits& limits = {});

/// A refutation that public checkers read, and what its variables mean (docs/certificates.md).
struct CompletenessProof {
  std::string cnf;     ///< DIMACS: the clauses that the refutation needs
  std::string varmap;
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
  Steps missing;
  CompletenessProof proof;
};

/// Asks for a valid program of at most `size` steps that is not among `programs`, whose steps have
/// shapes. That those are valid is not asked.
Completeness refute_others(const Instance& instance, Dialect dialect, std::uint32_t size,
                           const std::vector<Steps>& programs, const Limits& limits = {});

/// What a step may do, in the order in which clauses and certificates number it.
std::vector<Step> numbered_choices(const Instance& instance, Dialect dialect);

}  // namespace p2::cnf
