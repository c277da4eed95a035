#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "encodings/z3/queries.h"
#include "engine/program/instance.h"
#include "engine/program/program.h"
#include "p2/result.h"

namespace p2::z3_encoding {

/// One thing that a program may do in a step.
struct Instruction {
  GroupShape shape;  ///< the first of the names that form these groups
  std::uint32_t rule = 0;
  std::vector<Group> groups;
};

/// What may be asked of a program beyond being valid: that it uses, or does not use, some of the
/// instructions.
struct Property {
  std::function<bool(const Instruction& instruction, const language::Definition& rule)> speaks_of;
  bool used = true;
};

/// The queries `synthesis` (all valid programs) and, with a property, `existence` (is there a valid
/// program that has it?).
struct SynthesisQuery {
  const Instance* instance = nullptr;
  Dialect dialect = Dialect::Published;
  std::uint32_t size = 5;                                      ///< most steps of a program
  Definitions definitions = language::built_in_definitions();  ///< in the order of Collective
  Goal goal = {};
  Beginning beginning = {};  ///< the goal's on the classes of the instance
  std::optional<Property> property = {};
  /// Programs that are not asked for: steps with the groups of the instance's devices. One that is
  /// longer, or has a step that is no instruction of the query, could not be found anyway.
  std::vector<std::vector<Step>> known = {};
  Limits limits = {};

  const char* name() const { return property ? "existence" : "synthesis"; }
};

/// A program as indices into a list of instructions.
using Choices = std::vector<std::uint32_t>;

struct SynthesisAnswer {
  std::vector<Instruction> instructions;
  std::vector<Choices> programs;  ///< by increasing size
  /// Whether the solver has refuted that there are others: all sizes up to the query's.
  bool complete = false;
  /// Programs of at most so many steps are all here; nothing if not even the empty one was settled.
  std::optional<std::uint32_t> settled;
};

/// Enumerates all programs that the query asks for: every model of the choices is one, it is
/// excluded, and the last answer for every length is unsat.
SynthesisAnswer enumerate(const SynthesisQuery& query);

struct ExistenceAnswer {
  Outcome outcome = Outcome::Undecided;  ///< Established: a program exists
  std::vector<Instruction> instructions;
  Choices witness;  ///< a shortest program, where one exists
  /// No program of at most so many steps exists; nothing if not even the empty one was settled.
  std::optional<std::uint32_t> settled;
};

/// Stops at the first program.
ExistenceAnswer find_one(const SynthesisQuery& query);

/// The query as SMT-LIB 2, for programs of exactly `length` steps, at least 1: unsat = there are
/// none. Throws LimitReached.
std::string smt_lib(const SynthesisQuery& query, std::uint32_t length);

/// A price that is linear in the chunks that the first device of a group holds before the step.
struct GroupPrice {
  std::uint64_t base = 0;
  std::uint64_t per_chunk = 0;
};

/// A step costs the price of its most expensive group, a program the sum of its steps.
struct PriceLimit {
  std::function<GroupPrice(Collective collective, std::size_t size)> price;
  std::uint64_t below = 0;  ///< only programs that cost less
};

/// The query `free-groups`: is there a valid program whose steps are a collective on any disjoint
/// groups of at least two devices? A group in which nobody holds anything is not legal.
struct FreeGroupsQuery {
  std::uint32_t devices = 0;  ///< at most 8: every subset of the devices is a symbol in every step
  std::vector<Group> classes;
  std::uint32_t size = 3;  ///< most steps
  bool mixing = false;     ///< some group is to have devices of several classes
  std::optional<PriceLimit> limit = {};
  Definitions definitions = language::built_in_definitions();
  Limits limits = {};
};

struct FreeGroupsAnswer {
  Outcome outcome = Outcome::Undecided;  ///< Established: a program exists
  std::vector<Step> witness;             ///< a shortest program, where one exists
  std::uint32_t settled = 0;             ///< no program of at most so many steps exists
};

FreeGroupsAnswer find_one(const FreeGroupsQuery& query);

}  // namespace p2::z3_encoding
