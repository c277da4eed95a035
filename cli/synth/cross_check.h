#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proofs/api/engines.h"
#include "encodings/z3/synthesis.h"
#include "engine/program/synthesis.h"

namespace p2 {

/// How the list of one placement stands up to the solvers.
struct Comparison {
  std::string engine;
  bool complete = false;  ///< the solver has refuted that there are other programs
  /// Up to this size at least; nothing if not even the empty program was settled.
  std::optional<std::uint32_t> settled;
  std::uint64_t found = 0;           ///< programs that the solver found
  std::vector<std::string> missing;  ///< found by the solver and not in the list
  std::vector<std::string> extra;    ///< settled, in the list and not found by the solver
  /// What the reference run says of the first programs that only one of the two has.
  std::map<std::string, Finding> reference;

  bool differs() const { return !missing.empty() || !extra.empty(); }
};

/// One line or, where they differ, a line per program that only one of the two has.
std::string to_text(const Comparison& comparison, std::uint64_t count);
std::string to_json(const Comparison& comparison);

/// Enumerates the programs of a placement once more with each of the solvers asked for and compares
/// the sets of programs, as lowered steps. Programs that only one of the two has are run again by
/// the reference, so that it can be seen who is wrong.
std::vector<Comparison> compare_with_solvers(const PlacementPrograms& found,
                                             const SynthesisOptions& options,
                                             const Engines& engines);

/// The question of a placement to Z3; `found` and `engines` must outlive it.
z3_encoding::SynthesisQuery query_of(const PlacementPrograms& found,
                                     const SynthesisOptions& options, const Engines& engines);

/// How the list stands up to one program, its steps with shapes and without groups, that the
/// clauses say is valid and not in it.
Comparison contradiction(const PlacementPrograms& found, const SynthesisOptions& options,
                         std::vector<Step> missing);

}  // namespace p2
