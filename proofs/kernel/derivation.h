#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proofs/kernel/problem.h"
#include "proofs/kernel/runs.h"

namespace p2::kernel {

/// Part of a device's state: every chunk of set number `chunks` holds exactly the contributions of
/// set number `contributors`.
struct Piece {
  std::uint32_t chunks = 0;
  std::uint32_t contributors = 0;

  auto operator<=>(const Piece&) const = default;
};
using State = std::vector<Piece>;

/// What a derivation is about: the whole system, or, where all classes look alike, the first class
/// alone. Then devices and contributors are positions in the class, chunks stay those of the
/// system, and one derivation stands for all classes, because nothing that the rules look at
/// changes when one class is renamed to another in device order.
struct Stage {
  Problem problem;   ///< its steps are those of the derivation
  Numbers part;      ///< of every device of the system: its class, or 0 for the whole system
  Numbers position;  ///< of every device of the system: its device on the stage
};

/// derivation.json: sets, states made of them, and the states of all devices before the first step
/// and after every one. Equal sets have equal numbers, and so have equal states.
class Derivation {
 public:
  Derivation(const Files& files, const Problem& problem, Budget& budget);

  const Stage& stage() const { return stage_; }
  std::size_t steps() const { return stage_.problem.steps.size(); }
  /// The number of every stage device's state after `step` steps.
  Numbers system(std::size_t step) const;

  const Runs& set(std::uint32_t number) const { return sets_[number]; }
  std::optional<std::uint32_t> number_of(const Runs& set) const;
  const State& state(std::uint32_t number) const { return states_[number]; }
  /// The chunks that are not empty: `rows` in the paper.
  const Runs& held(std::uint32_t state) const { return held_[state]; }
  /// The contributors of one chunk, or null when it is empty.
  const Runs* row(std::uint32_t state, std::uint32_t chunk) const;

 private:
  void read_states(const Json& list, Budget& budget);
  void read_systems(const Json& list);

  Stage stage_;
  std::vector<Runs> sets_;
  std::map<Runs, std::uint32_t> numbers_;
  std::vector<State> states_;
  std::vector<Runs> held_;
  std::vector<Numbers> systems_;  ///< state, count, state, count, …
};

/// What is wrong with a triple, and at which position of its group.
struct Fault {
  std::size_t position = 0;
  std::string what;
};

/// The rules of figure 8, as relations between recorded states: whether { before } collective
/// { after } is an instance of the rule, for the states of one group in device order.
std::optional<Fault> find_fault(const std::string& collective, const Numbers& before,
                                const Numbers& after, const Derivation& derivation, Budget& budget);

/// Objects unless the derivation starts in the initial state and all its triples are instances of
/// their rules and, for instructions, of the dialect's.
void check_steps(const Derivation& derivation, Budget& budget);
/// Objects unless the last state is the goal.
void check_goal(const Derivation& derivation);

/// Objects unless refutation.json shows that the program is not valid, given the derivation of the
/// steps before the one that breaks a rule (of all steps, when it is the goal that is missed).
/// Returns the refutation in words.
std::string check_refutation(const Files& files, const Problem& problem,
                             const Derivation& derivation);

}  // namespace p2::kernel
