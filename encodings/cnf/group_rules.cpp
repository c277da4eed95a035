#include "encodings/cnf/group_rules.h"

#include "engine/base/invariant.h"

namespace p2::cnf {

States::States(Clauses& clauses, std::uint32_t devices, std::uint32_t chunks)
    : devices_(devices),
      chunks_(chunks),
      cells_(clauses.fresh(std::size_t{devices} * chunks * devices)) {
  rows_.reserve(std::size_t{devices} * chunks);
  for (std::size_t row = 0; row < std::size_t{devices} * chunks; ++row) {
    rows_.push_back(clauses.any_of(std::span(cells_).subspan(row * devices, devices)));
  }
}

void States::count_chunks(Clauses& clauses) {
  for (std::uint32_t d = 0; d < devices_; ++d) {
    counters_.push_back(clauses.count(std::span(rows_).subspan(std::size_t{d} * chunks_, chunks_)));
    const std::vector<Literal>& total = counters_.back()[chunks_];
    std::vector<Literal>& exact = exactly_.emplace_back();
    for (std::uint32_t j = 1; j < chunks_; ++j) {
      const Literal between[] = {total[j], -total[j + 1]};
      exact.push_back(clauses.all_of(between));
    }
    exact.push_back(total[chunks_]);
  }
}

GroupRules::GroupRules(Clauses& clauses, const States& before, const States& after,
                       const Group& group)
    : clauses_(clauses), before_(before), after_(after), group_(group) {}

template <typename Do>
void GroupRules::for_each_cell(Do&& visit) const {
  for (std::uint32_t r = 0; r < before_.chunks(); ++r) {
    for (std::uint32_t c = 0; c < before_.devices(); ++c) visit(r, c);
  }
}

/// Some device of the group holds the cell; defined for all cells when it is first asked for one.
Literal GroupRules::united(std::uint32_t r, std::uint32_t c) {
  if (united_.empty()) {
    std::vector<Literal> cells;
    for_each_cell([&](std::uint32_t row, std::uint32_t contributor) {
      cells.clear();
      for (const std::uint32_t d : group_) cells.push_back(before_.cell(d, row, contributor));
      united_.push_back(clauses_.any_of(cells));
    });
  }
  return united_[std::size_t{r} * before_.devices() + c];
}

void GroupRules::not_empty(Literal guard) {
  std::vector<Literal> some{-guard};
  for (const std::uint32_t d : group_) {
    for (std::uint32_t r = 0; r < before_.chunks(); ++r) some.push_back(before_.row(d, r));
  }
  clauses_.add(some);
}

void GroupRules::addable(Literal guard) {
  for (std::uint32_t r = 0; r < before_.chunks(); ++r) {
    for (std::size_t i = 1; i < group_.size(); ++i) {
      clauses_.equal_if(guard, before_.row(group_[i - 1], r), before_.row(group_[i], r));
    }
  }
  std::vector<Literal> cells;
  for_each_cell([&](std::uint32_t r, std::uint32_t c) {
    cells.clear();
    for (const std::uint32_t d : group_) cells.push_back(before_.cell(d, r, c));
    clauses_.at_most_one_if(guard, cells);
  });
}

void GroupRules::gatherable(Literal guard) {
  std::vector<Literal> rows;
  for (std::uint32_t r = 0; r < before_.chunks(); ++r) {
    rows.clear();
    for (const std::uint32_t d : group_) rows.push_back(before_.row(d, r));
    clauses_.at_most_one_if(guard, rows);
  }
  for (std::size_t i = 1; i < group_.size(); ++i) {
    for (std::uint32_t j = 1; j <= before_.chunks(); ++j) {
      clauses_.equal_if(guard, before_.exactly(group_[i - 1], j), before_.exactly(group_[i], j));
    }
  }
}

void GroupRules::contained(Literal guard) {
  std::vector<Literal> learnt{-guard};
  for (std::size_t i = 1; i < group_.size(); ++i) {
    for_each_cell([&](std::uint32_t r, std::uint32_t c) {
      const Literal sent = before_.cell(group_[0], r, c);
      const Literal held = before_.cell(group_[i], r, c);
      clauses_.add({-guard, -held, sent});
      const Literal news[] = {sent, -held};
      learnt.push_back(clauses_.all_of(news));
    });
  }
  clauses_.add(learnt);
}

void GroupRules::all_get_union(Literal guard) {
  for (const std::uint32_t d : group_) {
    for_each_cell([&](std::uint32_t r, std::uint32_t c) {
      clauses_.equal_if(guard, after_.cell(d, r, c), united(r, c));
    });
  }
}

void GroupRules::root_gets_union(Literal guard) {
  for (const std::uint32_t d : group_) {
    for_each_cell([&](std::uint32_t r, std::uint32_t c) {
      if (d == group_[0]) {
        clauses_.equal_if(guard, after_.cell(d, r, c), united(r, c));
      } else {
        clauses_.add({-guard, -after_.cell(d, r, c)});
      }
    });
  }
}

void GroupRules::each_gets_run(Literal guard) {
  const auto n = static_cast<std::uint32_t>(group_.size());
  const std::uint32_t chunks = before_.chunks();
  // from[i][r]: chunk r does not lie before the i-th run.
  std::vector<std::vector<Literal>> from(n + 1);
  from[0].assign(chunks, clauses_.truth());
  from[n].assign(chunks, -clauses_.truth());
  for (std::uint32_t i = 1; i < n; ++i) from[i] = clauses_.fresh(chunks);
  for (std::uint32_t held = 1; held <= chunks; ++held) {
    const Literal so_many = before_.exactly(group_[0], held);
    if (held % n != 0) clauses_.add({-guard, -so_many});
    for (std::uint32_t i = 1; held % n == 0 && i < n; ++i) {
      const std::uint32_t first = i * (held / n);
      for (std::uint32_t r = 0; r < chunks; ++r) {
        const Literal reached =
            first <= r ? before_.at_least(group_[0], r, first) : -clauses_.truth();
        clauses_.add({-guard, -so_many, -from[i][r], reached});
        clauses_.add({-guard, -so_many, from[i][r], -reached});
      }
    }
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    for_each_cell([&](std::uint32_t r, std::uint32_t c) {
      const Literal kept = after_.cell(group_[i], r, c);
      clauses_.add({-guard, -kept, from[i][r]});
      clauses_.add({-guard, -kept, -from[i + 1][r]});
      clauses_.add({-guard, -kept, united(r, c)});
      clauses_.add({-guard, -from[i][r], from[i + 1][r], -united(r, c), kept});
    });
  }
}

void GroupRules::all_get_root(Literal guard) {
  for (const std::uint32_t d : group_) {
    for_each_cell([&](std::uint32_t r, std::uint32_t c) {
      clauses_.equal_if(guard, after_.cell(d, r, c), before_.cell(group_[0], r, c));
    });
  }
}

void GroupRules::keep(Literal guard) {
  for (const std::uint32_t d : group_) {
    for_each_cell([&](std::uint32_t r, std::uint32_t c) {
      clauses_.equal_if(guard, after_.cell(d, r, c), before_.cell(d, r, c));
    });
  }
}

namespace {

Literal and_of(Clauses& clauses, Literal a, Literal b) {
  const Literal both[] = {a, b};
  return clauses.all_of(both);
}

Literal or_of(Clauses& clauses, Literal a, Literal b) {
  const Literal either[] = {a, b};
  return clauses.any_of(either);
}

/// At most one of `literals` holds: a chain that remembers whether one has been met.
Literal at_most_one(Clauses& clauses, const std::vector<Literal>& literals) {
  std::vector<Literal> not_twice;
  Literal met = -clauses.truth();
  for (const Literal literal : literals) {
    not_twice.push_back(-and_of(clauses, met, literal));
    met = or_of(clauses, met, literal);
  }
  return clauses.all_of(not_twice);
}

class Premises {
 public:
  Premises(Clauses& clauses, const States& before, const Group& group)
      : clauses_(clauses), before_(before), group_(group) {}

  Literal same_chunks() {
    return for_all_chunks([&](std::uint32_t r) {
      const std::vector<Literal> rows = rows_of(r);
      return or_of(clauses_, clauses_.all_of(rows), -clauses_.any_of(rows));
    });
  }

  Literal disjoint_chunks() {
    return for_all_chunks([&](std::uint32_t r) { return at_most_one(clauses_, rows_of(r)); });
  }

  Literal disjoint() {
    return for_all_cells(
        [&](std::uint32_t r, std::uint32_t c) { return at_most_one(clauses_, cells_of(r, c)); });
  }

  /// Of a group whose devices hold the same chunks.
  Literal divisible() {
    const std::vector<Literal> at_least = counter(group_[0]);
    std::vector<Literal> multiples;
    for (std::size_t held = 0; held < at_least.size(); held += group_.size()) {
      const Literal more = held + 1 < at_least.size() ? at_least[held + 1] : -clauses_.truth();
      multiples.push_back(and_of(clauses_, at_least[held], -more));
    }
    return clauses_.any_of(multiples);
  }

  Literal equal_count() {
    const std::vector<Literal> first = counter(group_[0]);
    std::vector<Literal> equal;
    for (std::size_t i = 1; i < group_.size(); ++i) {
      const std::vector<Literal> other = counter(group_[i]);
      for (std::size_t j = 0; j < first.size(); ++j) {
        equal.push_back(or_of(clauses_, -first[j], other[j]));
        equal.push_back(or_of(clauses_, first[j], -other[j]));
      }
    }
    return clauses_.all_of(equal);
  }

  Literal contained() {
    return for_all_cells([&](std::uint32_t r, std::uint32_t c) {
      const std::vector<Literal> cells = cells_of(r, c);
      return or_of(clauses_, cells[0], -clauses_.any_of(cells));
    });
  }

  Literal informative() {
    return -for_all_cells([&](std::uint32_t r, std::uint32_t c) {
      const std::vector<Literal> cells = cells_of(r, c);
      return or_of(clauses_, -cells[0], clauses_.all_of(cells));
    });
  }

 private:
  std::vector<Literal> rows_of(std::uint32_t r) const {
    std::vector<Literal> rows;
    for (const std::uint32_t d : group_) rows.push_back(before_.row(d, r));
    return rows;
  }

  std::vector<Literal> cells_of(std::uint32_t r, std::uint32_t c) const {
    std::vector<Literal> cells;
    for (const std::uint32_t d : group_) cells.push_back(before_.cell(d, r, c));
    return cells;
  }

  /// [j]: the device holds at least j chunks.
  std::vector<Literal> counter(std::uint32_t device) {
    std::vector<Literal> rows;
    for (std::uint32_t r = 0; r < before_.chunks(); ++r) rows.push_back(before_.row(device, r));
    return clauses_.count(rows).back();
  }

  template <typename Holds>
  Literal for_all_chunks(Holds holds) {
    std::vector<Literal> all;
    for (std::uint32_t r = 0; r < before_.chunks(); ++r) all.push_back(holds(r));
    return clauses_.all_of(all);
  }

  template <typename Holds>
  Literal for_all_cells(Holds holds) {
    return for_all_chunks([&](std::uint32_t r) {
      std::vector<Literal> all;
      for (std::uint32_t c = 0; c < before_.devices(); ++c) all.push_back(holds(r, c));
      return clauses_.all_of(all);
    });
  }

  Clauses& clauses_;
  const States& before_;
  const Group& group_;
};

}  // namespace

std::vector<NamedPremise> premises(Clauses& clauses, const States& before, const Group& group,
                                   Collective collective) {
  Premises of(clauses, before, group);
  switch (collective) {
    case Collective::AllReduce:
    case Collective::Reduce:
      return {{"same-chunks", of.same_chunks()}, {"disjoint", of.disjoint()}};
    case Collective::ReduceScatter:
      return {{"same-chunks", of.same_chunks()},
              {"disjoint", of.disjoint()},
              {"divisible", of.divisible()}};
    case Collective::AllGather:
      return {{"disjoint-chunks", of.disjoint_chunks()}, {"equal-count", of.equal_count()}};
    case Collective::Broadcast:
      return {{"contained", of.contained()}, {"informative", of.informative()}};
  }
  invariant(false, "an unknown collective");
  return {};
}

Literal holds_something(Clauses& clauses, const States& before, const Group& group) {
  std::vector<Literal> rows;
  for (const std::uint32_t d : group) {
    for (std::uint32_t r = 0; r < before.chunks(); ++r) rows.push_back(before.row(d, r));
  }
  return clauses.any_of(rows);
}

}  // namespace p2::cnf
