#include "proofs/claims/arbitrary_groups.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/program/notation.h"
#include "proofs/claims/disjoint_groups.h"
#include "proofs/claims/frontier.h"
#include "proofs/claims/machine.h"
#include "proofs/claims/recoverable.h"

namespace p2::claims {
namespace {

constexpr std::uint32_t kFewestSteps = 4;

/// Breadth-first; a node is a state and, last, whether a step was mixed.
class MixingSearch {
 public:
  MixingSearch(std::uint32_t devices, const std::vector<Group>& classes)
      : machine_(devices, classes),
        recoverable_(machine_.states(), classes),
        moves_(all_bare_moves(devices)),
        frontier_(key(machine_.initial(), false)) {
    for (const BareMove& move : moves_) mixes_.push_back(mixes(move.groups, classes));
  }

  Answer operator()(const Bounds& bounds) {
    for (std::size_t node = 0; node < frontier_.nodes(); ++node) {
      if (frontier_.depth(node) == bounds.size) return {Outcome::Holds, bounds.size, {}, 0, {}};
      if (bounds.limits.exceeded(frontier_.bytes())) {
        return {Outcome::Undecided, frontier_.depth(node), {}, 0, {}};
      }
      if (const auto program = expand(node)) {
        const auto steps = static_cast<std::uint32_t>(program->size());
        return {Outcome::Refuted, steps, to_string(moves_, *program), steps,
                "a group has devices of several reduction classes"};
      }
    }
    return {Outcome::Holds, bounds.size, {}, 0, "no program of any length"};
  }

 private:
  static Frontier::Key key(const SystemState& state, bool mixed) {
    Frontier::Key key = state;
    key.push_back(mixed ? 1 : 0);
    return key;
  }

  /// Tries all moves; the program if one of them reaches the goal and a step has mixed. No program
  /// goes on from the goal.
  std::optional<std::vector<std::uint32_t>> expand(std::size_t node) {
    const SystemState state(frontier_.key(node).begin(), frontier_.key(node).end() - 1);
    const bool mixed = frontier_.key(node).back() != 0;
    for (std::uint32_t move = 0; move < moves_.size(); ++move) {
      SystemState after = state;
      if (!machine_.run(moves_[move].collective, moves_[move].groups, after)) continue;
      if (after == machine_.goal()) {
        if (!mixed && !mixes_[move]) continue;
        std::vector<std::uint32_t> program = frontier_.way(node);
        program.push_back(move);
        return program;
      }
      if (recoverable_(after)) frontier_.reach(node, move, key(after, mixed || mixes_[move]));
    }
    return std::nullopt;
  }

  Machine machine_;
  Recoverable recoverable_;
  std::vector<BareMove> moves_;
  std::vector<bool> mixes_;  ///< by move
  Frontier frontier_;
};

Answer up_to_six_devices(const Subject& subject, const Bounds& bounds) {
  const std::vector<Group> classes = subject.from.classes();
  const std::uint32_t devices = subject.from.grid.devices();
  if (classes.size() == 1) return {Outcome::Holds, bounds.size, {}, 0, {}};
  if (devices > kMostDevicesOfAnyGroups) {
    return {
        Outcome::Undecided,
        0,
        {},
        0,
        fmt::format("arbitrary groups are tried on at most {} devices", kMostDevicesOfAnyGroups)};
  }
  return smallest_mixing_program(devices, classes, bounds);
}

}  // namespace

Answer smallest_mixing_program(std::uint32_t devices, const std::vector<Group>& classes,
                               const Bounds& bounds) {
  return MixingSearch(devices, classes)(bounds);
}

Answer groups_stay_in_classes(const Subject& subject, const Bounds& bounds) {
  return up_to_six_devices(subject, bounds);
}

Answer mixing_takes_four_steps(const Subject& subject, const Bounds& bounds) {
  Bounds shorter = bounds;
  shorter.size = std::min(bounds.size, kFewestSteps - 1);
  Answer answer = up_to_six_devices(subject, shorter);
  if (answer.verdict == Outcome::Holds) answer.settled = bounds.size;
  return answer;
}

std::string devices_and_classes(const Subject& subject) {
  return fmt::format("{} {}", subject.from.grid.devices(), p2::to_string(subject.from.classes()));
}

}  // namespace p2::claims
