#include "encodings/cnf/group_rules.h"

namespace p2::cnf {

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

}  // namespace p2::cnf
