#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "encodings/cnf/stage.h"
#include "p2/limits.h"
#include "engine/program/program.h"

namespace p2::cnf {

/// Which valid programs are searched for.
struct Search {
  /// Not these, whose steps have shapes. That they are valid is not asked.
  std::vector<std::vector<Step>> known = {};
  /// With such a step, given as found ones are; all programs if empty.
  std::function<bool(const Step& step)> uses = {};
};

/// That there is no program of a kind, in the words of docs/certificates.md. Steps have a shape and
/// no groups, or, where shapes have no name, groups.
struct AbsenceProof {
  std::vector<Step> choices;  ///< what a step may do
  std::vector<std::vector<std::uint32_t>>
      programs;                     ///< those known, as numbers of choices, in order
  std::vector<std::uint32_t> uses;  ///< the choices of which one was searched for, in order
  std::string cnf;                  ///< DIMACS: the clauses that the refutation needs
  std::string varmap;               ///< what the variables stand for
  std::string lrat;
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
/// LRAT. Throws std::runtime_error when the solver's refutation is none.
Absence refute(const Instance& instance, Dialect dialect, std::uint32_t size, const Search& search,
               const Limits& limits = {});
/// The same over a stage whose shapes have no names: no dialect tells them apart. No programs are
/// known.
Absence refute(Stage stage, std::uint32_t size, const std::function<bool(const Step& step)>& uses,
               const Limits& limits = {});

}  // namespace p2::cnf
