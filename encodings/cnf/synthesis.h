#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "encodings/cnf/drat_to_lrat.h"
#include "encodings/cnf/solver.h"
#include "encodings/cnf/stage.h"
#include "engine/program/program.h"
#include "p2/limits.h"

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

/// Which valid programs are searched for.
struct Search {
  /// Not these, whose steps have shapes. That they are valid is not asked.
  std::vector<std::vector<Step>> known = {};
  /// With such a step, given as found ones are; all programs if empty.
  std::function<bool(const Step& step)> uses = {};
  /// Cube and conquer (drat_to_lrat.h) with a cube for every first step, in so many parts.
  unsigned parts = 1;
  /// A folder of write_cubes with proofs, from which the refutation is made instead.
  std::optional<std::string> refuted_in = {};
};

/// That there is no program of a kind, in the words of docs/certificates.md. Steps have a shape and
/// no groups, or, where shapes have no name, groups.
struct AbsenceProof {
  std::vector<Step> choices;  ///< what a step may do
  std::vector<std::vector<std::uint32_t>>
      programs;                     ///< those known, as numbers of choices, in order
  std::vector<std::uint32_t> uses;  ///< the choices of which one was searched for, in order
  ClauseProof clauses;              ///< the refutation, and the clauses that it needs
  std::string varmap;               ///< what the variables stand for
};

struct Absence {
  enum class Kind : std::uint8_t {
    Absent,   ///< there is no such program; proved
    Found,    ///< there is one
    Unknown,  ///< a limit was met
  };
  Kind kind = Kind::Unknown;
  std::vector<Step> found;
  AbsenceProof proof;
};

/// Asks a SAT solver for a valid program of at most `size` steps and turns its refutation into
/// LRAT. Throws ToolError when the solver's proof is wrong, and InputError for proofs in
/// `search.refuted_in` that are missing or wrong.
Absence refute(const Instance& instance, Dialect dialect, std::uint32_t size, const Search& search,
               const Limits& limits = {});
/// The same over a stage whose shapes have no names: no dialect tells them apart. No programs are
/// known.
Absence refute(Stage stage, std::uint32_t size, const std::function<bool(const Step& step)>& uses,
               const Limits& limits = {});

/// Writes that question to a folder, split by its first step: how many
/// cubes there are. Throws InputError where the folder cannot be written or there is no step, and
/// LimitReached.
std::size_t write_cubes(const Instance& instance, Dialect dialect, std::uint32_t size,
                        const Search& search, const std::string& folder, const Limits& limits = {});

}  // namespace p2::cnf
