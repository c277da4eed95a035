#include "encodings/cnf/synthesis.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "encodings/cnf/drat_to_lrat.h"
#include "encodings/cnf/group_rules.h"
#include "encodings/cnf/solver.h"
#include "encodings/cnf/stage.h"
#include "engine/base/invariant.h"
#include "engine/program/program.h"
#include "p2/limits.h"

namespace p2::cnf {

/// One thing a step may do.
struct Choice {
  std::size_t shape = 0;  ///< index into the stage's
  Collective collective = Collective::AllReduce;
};

/// The legal programs of at most `size` steps over a stage as clauses: a model picks one choice
/// per step until the goal is reached and none after it. Two models that pick the same choices
/// are the same program: everything else is determined by them. With the unit clause
/// done()[size] the programs are the valid ones. Their order and numbering are normative:
/// docs/certificates.md.
class SynthesisClauses {
 public:
  /// Throws LimitReached when refuting the clauses would need more memory than the limits allow, or
  /// than 8 GiB.
  SynthesisClauses(Stage stage, Dialect dialect, std::uint32_t size, const Limits& limits = {});

  /// More may be added: whatever else is asked of the programs.
  Clauses& clauses() { return clauses_; }
  const Clauses& clauses() const { return clauses_; }
  const Stage& stage() const { return stage_; }
  const std::vector<Choice>& choices() const { return choices_; }
  /// The state before the first step, after it, and so on.
  const std::vector<States>& moments() const { return moments_; }
  /// picked()[t][m]: step t (from 0) makes choice m.
  const std::vector<std::vector<Literal>>& picked() const { return picked_; }
  /// done()[t]: the goal is reached after at most t steps.
  const std::vector<Literal>& done() const { return done_; }

  /// Choice m as a step: by its shape, without groups, or by its groups where they have no name.
  Step step(std::size_t m) const;
  /// What a model picks, step by step.
  template <typename Model>
  std::vector<Literal> picks(const Model& model) const;
  std::vector<Step> program(const std::vector<Literal>& picks) const;

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 30U;
  /// What a refutation and its proof need for every byte of literals, as measured.
  static constexpr std::size_t kBytesInAll = 14;

  void start(const States& first);
  Literal at_goal(const States& moment);
  void pick(std::size_t t);
  void apply(std::size_t t, std::size_t shape);

  Clauses clauses_;
  Stage stage_;
  std::vector<Choice> choices_;
  std::vector<std::size_t> first_choice_;  ///< of every shape, and the end
  std::vector<std::vector<Literal>> picked_;
  std::vector<States> moments_;
  std::vector<Literal> done_;
};

namespace {

/// The devices that take part in no group.
Group bystanders(const std::vector<Group>& groups, std::uint32_t devices) {
  std::vector<bool> takes_part(devices, false);
  for (const Group& group : groups) {
    for (const std::uint32_t d : group) takes_part[d] = true;
  }
  Group rest;
  for (std::uint32_t d = 0; d < devices; ++d) {
    if (!takes_part[d]) rest.push_back(d);
  }
  return rest;
}

}  // namespace

SynthesisClauses::SynthesisClauses(Stage stage, Dialect dialect, std::uint32_t size,
                                   const Limits& limits)
    : clauses_(limits), stage_(std::move(stage)) {
  for (std::size_t shape = 0; shape < stage_.shapes.size(); ++shape) {
    first_choice_.push_back(choices_.size());
    for (const Collective collective : kCollectives) {
      const bool only_all_reduce = dialect == Dialect::Published && stage_.shapes[shape].master;
      if (only_all_reduce && collective != Collective::AllReduce) continue;
      choices_.push_back({shape, collective});
    }
  }
  first_choice_.push_back(choices_.size());
  for (std::uint32_t t = 0; t < size; ++t) picked_.push_back(clauses_.fresh(choices_.size()));
  for (std::uint32_t t = 0; t <= size; ++t) {
    moments_.emplace_back(clauses_, stage_.devices(), stage_.chunks);
    done_.push_back(at_goal(moments_.back()));
  }
  start(moments_.front());
  for (std::uint32_t t = 0; t < size; ++t) {
    moments_[t].count_chunks(clauses_);
    pick(t);
    for (std::size_t shape = 0; shape < stage_.shapes.size(); ++shape) {
      const std::size_t bytes = clauses_.bytes() * kBytesInAll;
      limits.require(bytes, "building the clauses of a synthesis");
      if (bytes > kMaxBytes) {
        throw LimitReached(LimitReached::Kind::Memory,
                           "refuting the clauses would take more than 8 GiB");
      }
      apply(t, shape);
    }
  }
}

Step SynthesisClauses::step(std::size_t m) const {
  const auto& [name, groups, master] = stage_.shapes[choices_[m].shape];
  return {choices_[m].collective, name ? std::vector<Group>() : groups, name};
}

template <typename Model>
std::vector<Literal> SynthesisClauses::picks(const Model& model) const {
  std::vector<Literal> picks;
  for (const std::vector<Literal>& choices : picked_) {
    for (const Literal choice : choices) {
      if (model.holds(choice)) picks.push_back(choice);
    }
  }
  return picks;
}

std::vector<Step> SynthesisClauses::program(const std::vector<Literal>& picks) const {
  std::vector<Step> steps;
  for (std::size_t t = 0; t < picks.size(); ++t) {
    steps.push_back(step(static_cast<std::size_t>(picks[t] - picked_[t][0])));
  }
  return steps;
}

void SynthesisClauses::start(const States& first) {
  for (std::uint32_t d = 0; d < first.devices(); ++d) {
    for (std::uint32_t r = 0; r < first.chunks(); ++r) {
      for (std::uint32_t c = 0; c < first.devices(); ++c) {
        clauses_.add({d == c ? first.cell(d, r, c) : -first.cell(d, r, c)});
      }
    }
  }
}

Literal SynthesisClauses::at_goal(const States& moment) {
  std::vector<Literal> wanted;
  for (std::uint32_t d = 0; d < moment.devices(); ++d) {
    for (std::uint32_t r = 0; r < moment.chunks(); ++r) {
      for (std::uint32_t c = 0; c < moment.devices(); ++c) {
        const Literal cell = moment.cell(d, r, c);
        wanted.push_back(stage_.class_of[d] == stage_.class_of[c] ? cell : -cell);
      }
    }
  }
  return clauses_.all_of(wanted);
}

void SynthesisClauses::pick(std::size_t t) {
  std::vector<Literal> options = picked_[t];
  options.push_back(done_[t]);
  clauses_.add(options);
  clauses_.at_most_one_if(clauses_.truth(), options);
  clauses_.add({-done_[t], done_[t + 1]});
}

/// What the choices of one shape ask of the moments before and after step t. Where only AllReduce
/// is allowed it guards everything; otherwise what several collectives share is guarded by a
/// literal that says that one of them was picked.
void SynthesisClauses::apply(std::size_t t, std::size_t shape) {
  const std::span picks =
      std::span(picked_[t])
          .subspan(first_choice_[shape], first_choice_[shape + 1] - first_choice_[shape]);
  const bool all = picks.size() > 1;
  const auto picked = [&](Collective which) { return picks[static_cast<std::size_t>(which)]; };
  using enum Collective;
  Literal used = picks[0];
  Literal adds = picks[0];
  Literal unites = picks[0];
  if (all) {
    used = clauses_.any_of(picks);
    adds = clauses_.any_of(std::vector{picked(AllReduce), picked(ReduceScatter), picked(Reduce)});
    unites = clauses_.any_of(std::vector{picked(AllReduce), picked(AllGather)});
  }
  const States& before = moments_[t];
  const States& after = moments_[t + 1];
  for (const Group& group : stage_.shapes[shape].groups) {
    GroupRules rules(clauses_, before, after, group);
    rules.not_empty(used);
    rules.addable(adds);
    rules.all_get_union(unites);
    if (!all) continue;
    rules.each_gets_run(picked(ReduceScatter));
    rules.gatherable(picked(AllGather));
    rules.root_gets_union(picked(Reduce));
    rules.contained(picked(Broadcast));
    rules.all_get_root(picked(Broadcast));
  }
  const Group rest = bystanders(stage_.shapes[shape].groups, before.devices());
  GroupRules(clauses_, before, after, rest).keep(used);
}

Enumerated enumerate_programs(const Instance& instance, Dialect dialect, std::uint32_t size,
                              const Limits& limits) {
  Enumerated found;
  try {
    const SynthesisClauses problem(Coordinates(instance).stage(), dialect, size, limits);
    Solver solver(limits);
    solver.add(problem.clauses().literals());
    for (std::uint32_t steps = 0; steps <= size; ++steps) {
      while (solver.possible(problem.done()[steps])) {
        const std::vector<Literal> picks = problem.picks(solver);
        found.programs.push_back(problem.program(picks));
        solver.exclude(picks);
      }
      found.settled = steps;
    }
    found.complete = true;
  } catch (const LimitReached&) {
  }
  return found;
}

namespace {

/// Finds the choice that a step of the engine is.
class ChoiceNumbers {
 public:
  ChoiceNumbers(const Coordinates& coordinates, const SynthesisClauses& problem)
      : coordinates_(coordinates) {
    for (std::uint32_t m = 0; m < problem.choices().size(); ++m) {
      const Choice& choice = problem.choices()[m];
      numbers_[{problem.stage().shapes[choice.shape].groups, choice.collective}] = m;
    }
  }

  std::uint32_t of(const Step& step) {
    const GroupShape& shape = *step.shape;
    auto& groups = groups_[{shape.slice, shape.form, shape.ancestor}];
    if (groups.empty()) groups = coordinates_.groups(shape);
    const auto found = numbers_.find({groups, step.collective});
    invariant(found != numbers_.end(), "a listed program makes a choice that there is not");
    return found->second;
  }

 private:
  const Coordinates& coordinates_;
  std::map<std::pair<std::vector<Group>, Collective>, std::uint32_t> numbers_;
  std::map<std::tuple<std::vector<std::uint32_t>, Form, std::vector<std::uint32_t>>,
           std::vector<Group>>
      groups_;
};

using Numbered = std::vector<std::vector<std::uint32_t>>;

Numbered in_numbers(const std::vector<std::vector<Step>>& programs, ChoiceNumbers numbers) {
  Numbered numbered;
  for (const std::vector<Step>& program : programs) {
    auto& choices = numbered.emplace_back();
    for (const Step& step : program) choices.push_back(numbers.of(step));
  }
  std::sort(numbered.begin(), numbered.end());
  return numbered;
}

/// Adds that the goal is reached by a program that is searched for, and returns the choices of
/// which it makes one.
std::vector<std::uint32_t> require(SynthesisClauses& problem,
                                   const std::function<bool(const Step&)>& uses,
                                   const Numbered& known) {
  problem.clauses().add({problem.done().back()});
  std::vector<std::uint32_t> wanted;
  if (uses) {
    for (std::uint32_t m = 0; m < problem.choices().size(); ++m) {
      if (uses(problem.step(m))) wanted.push_back(m);
    }
    std::vector<Literal> used;
    for (const std::vector<Literal>& picks : problem.picked()) {
      for (const std::uint32_t m : wanted) used.push_back(picks[m]);
    }
    problem.clauses().add(used);
  }
  for (const auto& program : known) {
    std::vector<Literal> other;
    other.reserve(program.size());
    for (const std::uint32_t choice : program) {
      other.push_back(-problem.picked()[other.size()][choice]);
    }
    problem.clauses().add(other);
  }
  return wanted;
}

std::string varmap(const SynthesisClauses& problem) {
  std::string text = "true 1\n";
  for (std::size_t t = 0; t < problem.moments().size(); ++t) {
    if (t < problem.picked().size() && !problem.choices().empty()) {
      text += fmt::format("picked {} {}\n", t, problem.picked()[t][0]);
    }
    text += fmt::format("cells {} {}\ndone {} {}\n", t, problem.moments()[t].cell(0, 0, 0), t,
                        problem.done()[t]);
  }
  return text;
}

/// A cube for each first step.
std::span<const Literal> cubes_of(const SynthesisClauses& problem) {
  if (problem.picked().empty() || problem.picked().front().empty()) {
    throw InputError({"--cubes"},
                     "splits by the first step and there is none, expected --size 1 or "
                     "more and more than one device to reduce over");
  }
  return problem.picked().front();
}

/// Throws LimitReached.
Absence settle(const SynthesisClauses& problem, Numbered known, std::vector<std::uint32_t> uses,
               const Search& search, const Limits& limits) {
  Absence answer;
  std::span<const Literal> cubes;
  if (search.refuted_in) {
    cubes = cubes_of(problem);
  } else if (!problem.picked().empty()) {
    cubes = problem.picked().front();
  }
  Decided decided = decide(problem.clauses(), cubes, search.parts, search.refuted_in, limits);
  if (const auto* const model = std::get_if<Model>(&decided)) {
    answer.found = problem.program(problem.picks(*model));
    answer.kind = Absence::Kind::Found;
    return answer;
  }
  AbsenceProof& proof = answer.proof;
  for (std::size_t m = 0; m < problem.choices().size(); ++m) {
    proof.choices.push_back(problem.step(m));
  }
  proof.programs = std::move(known);
  proof.uses = std::move(uses);
  proof.clauses = std::get<ClauseProof>(std::move(decided));
  proof.varmap = varmap(problem);
  answer.kind = Absence::Kind::Absent;
  return answer;
}

}  // namespace

Absence refute(const Instance& instance, Dialect dialect, std::uint32_t size, const Search& search,
               const Limits& limits) try {
  const Coordinates coordinates(instance);
  SynthesisClauses problem(coordinates.stage(), dialect, size, limits);
  Numbered known = in_numbers(search.known, ChoiceNumbers(coordinates, problem));
  std::vector<std::uint32_t> uses = require(problem, search.uses, known);
  return settle(problem, std::move(known), std::move(uses), search, limits);
} catch (const LimitReached&) {
  return {};
}

Absence refute(Stage stage, std::uint32_t size, const std::function<bool(const Step& step)>& uses,
               const Limits& limits) try {
  SynthesisClauses problem(std::move(stage), Dialect::Published, size, limits);
  return settle(problem, {}, require(problem, uses, {}), {}, limits);
} catch (const LimitReached&) {
  return {};
}

std::size_t write_cubes(const Instance& instance, Dialect dialect, std::uint32_t size,
                        const Search& search, const std::string& folder, const Limits& limits) {
  const Coordinates coordinates(instance);
  SynthesisClauses problem(coordinates.stage(), dialect, size, limits);
  require(problem, search.uses, in_numbers(search.known, ChoiceNumbers(coordinates, problem)));
  const std::span<const Literal> cubes = cubes_of(problem);
  write_cubes(folder, problem.clauses(), cubes);
  return cubes.size();
}

}  // namespace p2::cnf
