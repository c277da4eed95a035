#include "encodings/cnf/synthesis_clauses.h"

#include <algorithm>

#include "encodings/cnf/group_rules.h"

namespace p2::cnf {
namespace {

bool takes_part(const std::vector<Group>& groups, std::uint32_t device) {
  return std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
    return std::binary_search(group.begin(), group.end(), device);
  });
}

void keep(Clauses& clauses, Literal guard, std::uint32_t d, const States& before,
          const States& after) {
  for (std::uint32_t r = 0; r < before.chunks(); ++r) {
    for (std::uint32_t c = 0; c < before.devices(); ++c) {
      clauses.equal_if(guard, after.cell(d, r, c), before.cell(d, r, c));
    }
  }
}

}  // namespace

SynthesisClauses::SynthesisClauses(const Instance& instance, Dialect dialect, std::uint32_t size)
    : coordinates_(instance), shapes_(coordinates_.distinct_shapes()) {
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
    for (const Collective collective : kCollectives) {
      const bool only_all_reduce = dialect == Dialect::Published && shapes_[shape].master;
      if (only_all_reduce && collective != Collective::AllReduce) continue;
      choices_.push_back({shape, collective});
    }
  }
  for (std::uint32_t t = 0; t < size; ++t) picked_.push_back(clauses_.fresh(choices_.size()));
  std::vector<States> moments;
  for (std::uint32_t t = 0; t <= size; ++t) {
    moments.emplace_back(clauses_, coordinates_.devices(), coordinates_.chunks());
    done_.push_back(at_goal(moments.back()));
  }
  start(moments.front());
  for (std::uint32_t t = 0; t < size; ++t) {
    moments[t].count_chunks(clauses_);
    pick(t);
    step(t, moments[t], moments[t + 1]);
  }
  clauses_.add({done_.back()});
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
        wanted.push_back(coordinates_.same_class(d, c) ? cell : -cell);
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

void SynthesisClauses::step(std::size_t t, const States& before, const States& after) {
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape) apply(t, shape, before, after);
}

void SynthesisClauses::apply(std::size_t t, std::size_t shape, const States& before,
                             const States& after) {
  const auto some_of = [&](std::initializer_list<Collective> wanted) {
    std::vector<Literal> picks;
    for (std::size_t m = 0; m < choices_.size(); ++m) {
      const bool fits = std::count(wanted.begin(), wanted.end(), choices_[m].collective) > 0;
      if (choices_[m].shape == shape && fits) picks.push_back(picked_[t][m]);
    }
    return picks.size() == 1 ? picks[0] : clauses_.any_of(picks);
  };
  using enum Collective;
  const bool all = std::count_if(choices_.begin(), choices_.end(),
                                 [&](const Choice& m) { return m.shape == shape; }) > 1;
  const Literal used = some_of({AllReduce, ReduceScatter, AllGather, Reduce, Broadcast});
  const Literal adds = some_of({AllReduce, ReduceScatter, Reduce});
  const Literal unites = some_of({AllReduce, AllGather});
  for (const Group& group : shapes_[shape].groups) {
    GroupRules rules(clauses_, before, after, group);
    rules.not_empty(used);
    rules.addable(adds);
    rules.all_get_union(unites);
    if (!all) continue;
    rules.divisible(some_of({ReduceScatter}), 1);
    rules.each_gets_run(some_of({ReduceScatter}));
    rules.gatherable(some_of({AllGather}));
    rules.root_gets_union(some_of({Reduce}));
    rules.contained(some_of({Broadcast}));
    rules.all_get_root(some_of({Broadcast}));
  }
  for (std::uint32_t d = 0; d < before.devices(); ++d) {
    if (!takes_part(shapes_[shape].groups, d)) keep(clauses_, used, d, before, after);
  }
}

}  // namespace p2::cnf
