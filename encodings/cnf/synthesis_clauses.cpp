#include "encodings/cnf/synthesis_clauses.h"

#include <utility>

#include "encodings/cnf/group_rules.h"

namespace p2::cnf {
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
    : stage_(std::move(stage)) {
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
      if (limits.exceeded(bytes) || bytes > kMostBytes) throw LimitMet{};
      apply(t, shape);
    }
  }
}

Step SynthesisClauses::step(std::size_t m) const {
  const auto& [name, groups, master] = stage_.shapes[choices_[m].shape];
  return {choices_[m].collective, name ? std::vector<Group>() : groups, name};
}

std::vector<Literal> SynthesisClauses::picks(const Solver& solver) const {
  std::vector<Literal> picks;
  for (const std::vector<Literal>& choices : picked_) {
    for (const Literal choice : choices) {
      if (solver.holds(choice)) picks.push_back(choice);
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

}  // namespace p2::cnf
