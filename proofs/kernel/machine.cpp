// The claims about all sizes, by the machine of theorem T7 (docs/theorem.md): in dialect published
// the valid programs are the runs that it accepts, whatever the sizes. proofs/theory has the proof,
// checked by Coq: `machine_equivalence`, `size_independence`, `complete_list`, and for which
// choices form the same groups `shape_determined`.
#include <algorithm>
#include <compare>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/machine.h"

namespace p2::kernel {
namespace {

struct Machine {
  Digits scattered = 0, reduced = 0, summed = 0;
  std::map<Digits, Digits> pending;  ///< of pinned AllReduces: varied → still pinned

  auto operator<=>(const Machine&) const = default;
  Digits merged() const {
    Digits all = summed;
    for (const auto& [varied, pinned] : pending) all |= varied;
    return all;
  }
  bool accepts(Digits goal) const {
    return scattered == 0 && reduced == 0 && pending.empty() && summed == goal;
  }
  /// At least so many steps are left: of merging, of AllGather, of Broadcast.
  std::size_t left(Digits goal) const {
    return std::size_t{merged() != goal} + std::size_t{scattered != 0} +
           std::size_t{reduced != 0 || !pending.empty()};
  }

  /// False if the step is refused; the state is unspecified then.
  bool take(const Choice& step) {
    if (step.collective == "AllGather") {
      if (reduced != 0 || !within(step.varied, scattered)) return false;
      scattered &= ~step.varied;
      return true;
    }
    if (step.collective == "Broadcast") return broadcast(step.varied);
    const Digits all = merged();
    if ((step.varied & all) != 0 || !within(reduced, step.pinned)) return false;
    if (!within(step.pinned, all & ~scattered)) return false;
    if (reduced == step.pinned)
      summed |= step.varied;
    else
      pending[step.varied] = step.pinned;
    if (step.collective == "ReduceScatter") scattered |= step.varied;
    if (step.collective == "Reduce") reduced = step.varied;
    return true;
  }

  bool broadcast(Digits varied) {
    bool informative = reduced != 0;
    Digits known = summed;
    std::map<Digits, Digits> waiting;
    for (const auto& [over, pinned] : pending) {
      if (within(pinned, varied))
        known |= over;
      else
        waiting[over] = pinned & ~varied;
    }
    informative = informative || waiting.size() < pending.size();
    if (!informative || !within(reduced, varied) || (varied & scattered) != 0) return false;
    if (!within(varied & ~reduced, known)) return false;
    reduced = 0;
    summed = known;
    pending = std::move(waiting);
    return true;
  }
};

std::string judge_valid(const Json& root, Budget& budget) {
  const Sizes sizes(root, {"steps"}, budget);
  if (as_list(root["steps"]).size() > kMaxSteps) malformed("too many steps");
  Machine machine;
  std::string text;
  std::size_t number = 0;
  for (const Json& step : root["steps"]) {
    const Choice choice = sizes.choice(step, budget);
    const std::string name = "step " + std::to_string(++number) + " (" + choice.collective + ")";
    if (!machine.take(choice)) reject(name + " is refused");
    text += (number == 1 ? ": " : "; ") + choice.collective + Sizes::names(step);
  }
  if (!machine.accepts(sizes.goal)) reject("the goal is not reached");
  return "the program is valid " + sizes.words() + "; " +
         shortened(counted(number, "step") + text) + ")";
}

std::string judge_complete(const Json& root, Budget& budget) {
  const Sizes sizes(root, {"size", "choices", "programs"}, budget);
  const std::size_t size = as_number(root["size"], 65);
  const std::vector<Choice> choices = sizes.choices(root["choices"], budget);
  // No step is legal at the goal: in lexicographic order each program is met when it is complete.
  const List& listed = as_list(root["programs"]);
  std::size_t met = 0;
  Numbers program;
  const std::function<void(const Machine&)> extend = [&](const Machine& from) {
    if (from.accepts(sizes.goal)) {
      if (met == listed.size() || as_numbers(listed[met], choices.size()) != program) {
        reject("program " + std::to_string(met) + " is another, or is missing");
      }
      ++met;
    }
    for (std::uint32_t i = 0; i < choices.size() && program.size() < size; ++i) {
      budget.spend(8 + from.pending.size());
      Machine next = from;
      if (!next.take(choices[i]) || !within(next.merged(), sizes.goal)) continue;
      if (program.size() + 1 + next.left(sizes.goal) > size) continue;
      program.push_back(i);
      extend(next);
      program.pop_back();
    }
  };
  extend({});
  if (met != listed.size()) reject("programs has one that is not valid");
  return "there are " + counted(met, "valid program") + " of at most " + counted(size, "step") +
         " " + sizes.words() + ")";
}

/// Rejects if a valid program of at most `size` steps makes one of the choices `uses`:
/// breadth-first search over the machine's states, each with whether the program has made one.
void refute_use(const Sizes& sizes, const Choices& uses, std::size_t size, Budget& budget) {
  using Reached = std::set<std::pair<Machine, bool>>;
  const Choices choices = sizes.all();
  Reached seen = {{Machine{}, false}};
  Reached last = seen;
  for (std::size_t steps = 1; steps <= size && !last.empty(); ++steps) {
    Reached next;
    for (const auto& [from, used] : last) {
      for (const Choice& choice : choices) {
        budget.spend(8 + from.pending.size());
        Machine after = from;
        if (!after.take(choice) || !within(after.merged(), sizes.goal)) continue;
        if (steps + after.left(sizes.goal) > size) continue;
        const bool uses_one = used || uses.contains(choice);
        if (uses_one && after.accepts(sizes.goal)) {
          reject("a valid program of " + counted(steps, "step") + " makes one of the choices");
        }
        if (!seen.emplace(after, uses_one).second) continue;
        budget.spend(64);  // bounds the memory
        next.emplace(std::move(after), uses_one);
      }
    }
    last = std::move(next);
  }
}

std::string judge_unused(const Json& root, bool compares, Budget& budget) {
  const std::string key = compares ? "to" : "uses";
  const Sizes sizes(root, {"size", key}, budget);
  const std::size_t size = as_number(root["size"], 65);
  Choices uses;
  std::string words;
  std::string named;
  if (compares) {
    Json other = root;
    other["synthesis_hierarchy"] = root["to"];
    const Choices known = Sizes(other, {"size", key}, budget).all();
    std::ranges::set_difference(sizes.all(), known, std::inserter(uses, uses.end()));
    words = "instructions over " + as_text(root["to"]) + " express all valid programs";
  } else {
    for (const Json& value : as_list(root["uses"])) {
      if (!uses.insert(sizes.choice(value, budget)).second) reject("uses has one twice");
      named += (named.empty() ? ": " : "; ") + as_text(value["collective"]) + Sizes::names(value);
    }
    words = "none of " + counted(uses.size(), "choice") + " is in valid programs";
  }
  if (!uses.empty()) refute_use(sizes, uses, size, budget);
  return words + " of at most " + counted(size, "step") + " over " + sizes.instance->kind + " " +
         sizes.words() + shortened(named) + ")";
}

}  // namespace

std::string judge_all_sizes(const std::string& claim, const Json& statement,
                            const Files& /*files*/) {
  Budget budget;
  const Json& root = statement["problem.json"];
  if (claim == "program-valid-all-sizes") return judge_valid(root, budget);
  if (claim == "synthesis-complete-all-sizes") return judge_complete(root, budget);
  return judge_unused(root, claim == "expressible-all-sizes", budget);
}

}  // namespace p2::kernel
