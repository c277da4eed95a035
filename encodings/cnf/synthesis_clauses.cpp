#include "encodings/cnf/synthesis_clauses.h"

#include "encodings/cnf/group_rules.h"
#include "engine/invariant.h"

namespace p2::cnf {
namespace {

void apply(Collective collective, GroupRules& rules, Literal guard) {
  rules.not_empty(guard);
  switch (collective) {
    case Collective::AllReduce:
      return rules.all_reduce(guard);
    case Collective::ReduceScatter:
      return rules.reduce_scatter(guard);
    case Collective::AllGather:
      return rules.all_gather(guard);
    case Collective::Reduce:
      return rules.reduce(guard);
    case Collective::Broadcast:
      return rules.broadcast(guard);
  }
  invariant(false, "an unknown collective");
}

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

SynthesisClauses::SynthesisClauses(const Instance& instance, Dialect dialect, std::uint32_t size)
    : coordinates_(instance), shapes_(coordinates_.distinct_shapes()) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    for (const Collective collective : kCollectives) {
      const bool only_all_reduce = dialect == Dialect::Published && shapes_[i].master;
      if (only_all_reduce && collective != Collective::AllReduce) continue;
      choices_.push_back({shapes_[i].shape, collective});
      shape_of_.push_back(i);
    }
  }
  for (std::uint32_t t = 0; t < size; ++t) picked_.push_back(clauses_.fresh(choices_.size()));
  std::vector<States> moments;
  for (std::uint32_t t = 0; t <= size; ++t) {
    moments.emplace_back(clauses_, coordinates_.devices(), coordinates_.chunks());
  }
  start(moments.front());
  for (std::uint32_t t = 0; t < size; ++t) step(t, moments[t], moments[t + 1]);
  finish(moments);
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

void SynthesisClauses::finish(const std::vector<States>& moments) {
  for (std::size_t t = 0; t + 1 < moments.size(); ++t) clauses_.add({-at_goal(moments[t])});
  clauses_.add({at_goal(moments.back())});
}

void SynthesisClauses::step(std::size_t t, const States& before, const States& after) {
  clauses_.add(picked_[t]);
  clauses_.at_most_one_if(clauses_.truth(), picked_[t]);
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    for (const Group& group : shapes_[i].groups) {
      GroupRules rules(clauses_, before, after, group);
      for (std::size_t m = 0; m < choices_.size(); ++m) {
        if (shape_of_[m] == i) apply(choices_[m].collective, rules, picked_[t][m]);
      }
    }
    const Group rest = bystanders(shapes_[i].groups, before.devices());
    GroupRules bystanding(clauses_, before, after, rest);
    for (std::size_t m = 0; m < choices_.size(); ++m) {
      if (shape_of_[m] == i) bystanding.keep(picked_[t][m]);
    }
  }
}

}  // namespace p2::cnf
