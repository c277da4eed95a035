#include "encodings/cnf/group_rules.h"

namespace p2::cnf {

GroupRules::GroupRules(Clauses& clauses, const States& before, const States& after,
                       const Group& group)
    : clauses_(clauses), before_(before), after_(after), group_(group) {}

Literal GroupRules::united(std::uint32_t r, std::uint32_t c) {
  if (united_.empty()) {
    std::vector<Literal> cells;
    for (std::uint32_t row = 0; row < before_.chunks(); ++row) {
      for (std::uint32_t contributor = 0; contributor < before_.devices(); ++contributor) {
        cells.clear();
        for (const std::uint32_t d : group_) cells.push_back(before_.cell(d, row, contributor));
        united_.push_back(clauses_.any_of(cells));
      }
    }
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
  std::vector<Literal> cells;
  for (std::uint32_t r = 0; r < before_.chunks(); ++r) {
    for (std::size_t i = 1; i < group_.size(); ++i) {
      clauses_.equal_if(guard, before_.row(group_[i - 1], r), before_.row(group_[i], r));
    }
    for (std::uint32_t c = 0; c < before_.devices(); ++c) {
      cells.clear();
      for (const std::uint32_t d : group_) cells.push_back(before_.cell(d, r, c));
      clauses_.at_most_one_if(guard, cells);
    }
  }
}

void GroupRules::becomes_union(Literal guard, std::uint32_t device) {
  for (std::uint32_t r = 0; r < before_.chunks(); ++r) {
    for (std::uint32_t c = 0; c < before_.devices(); ++c) {
      clauses_.equal_if(guard, after_.cell(device, r, c), united(r, c));
    }
  }
}

void GroupRules::becomes_empty(Literal guard, std::uint32_t device) {
  for (std::uint32_t r = 0; r < before_.chunks(); ++r) {
    for (std::uint32_t c = 0; c < before_.devices(); ++c) {
      clauses_.add({-guard, -after_.cell(device, r, c)});
    }
  }
}

void GroupRules::all_reduce(Literal guard) {
  addable(guard);
  for (const std::uint32_t d : group_) becomes_union(guard, d);
}

void GroupRules::reduce(Literal guard) {
  addable(guard);
  becomes_union(guard, group_[0]);
  for (std::size_t i = 1; i < group_.size(); ++i) becomes_empty(guard, group_[i]);
}

/// owner[r][i]: the i-th device of the group keeps chunk r. `counter` counts the chunks held.
void GroupRules::owners(Literal guard, const std::vector<std::vector<Literal>>& counter,
                        std::vector<std::vector<Literal>>& owner) {
  const auto chunks = before_.chunks();
  const auto n = static_cast<std::uint32_t>(group_.size());
  const std::vector<Literal>& total = counter[chunks];
  for (std::uint32_t held = 1; held <= chunks; ++held) {
    const Literal more = held < chunks ? total[held + 1] : -clauses_.truth();
    if (held % n != 0) {
      clauses_.add({-guard, -total[held], more});
      continue;
    }
    // Exactly `held` chunks are held: the chunk with `index` held before it goes to its block.
    for (std::uint32_t r = 0; r < chunks; ++r) {
      for (std::uint32_t index = 0; index < held && index <= r; ++index) {
        const Literal later = index < r ? counter[r][index + 1] : -clauses_.truth();
        for (std::uint32_t i = 0; i < n; ++i) {
          const Literal kept = index / (held / n) == i ? owner[r][i] : -owner[r][i];
          clauses_.add({-guard, -total[held], more, -counter[r][index], later, kept});
        }
      }
    }
  }
}

void GroupRules::reduce_scatter(Literal guard) {
  addable(guard);
  const auto chunks = before_.chunks();
  std::vector<Literal> held;
  for (std::uint32_t r = 0; r < chunks; ++r) held.push_back(before_.row(group_[0], r));
  std::vector<std::vector<Literal>> owner(chunks);
  for (auto& of_chunk : owner) of_chunk = clauses_.fresh(group_.size());
  owners(guard, clauses_.count(held), owner);
  for (std::size_t i = 0; i < group_.size(); ++i) {
    for (std::uint32_t r = 0; r < chunks; ++r) {
      for (std::uint32_t c = 0; c < before_.devices(); ++c) {
        const Literal kept = after_.cell(group_[i], r, c);
        clauses_.add({-guard, -kept, owner[r][i]});
        clauses_.add({-guard, -kept, united(r, c)});
        clauses_.add({-guard, -owner[r][i], -united(r, c), kept});
      }
    }
  }
}

void GroupRules::all_gather(Literal guard) {
  std::vector<Literal> rows;
  std::vector<std::vector<Literal>> totals;
  for (const std::uint32_t d : group_) {
    rows.clear();
    for (std::uint32_t r = 0; r < before_.chunks(); ++r) rows.push_back(before_.row(d, r));
    totals.push_back(clauses_.count(rows).back());
  }
  for (std::size_t i = 1; i < group_.size(); ++i) {
    for (std::size_t j = 1; j < totals[i].size(); ++j) {
      clauses_.equal_if(guard, totals[i - 1][j], totals[i][j]);
    }
  }
  for (std::uint32_t r = 0; r < before_.chunks(); ++r) {
    rows.clear();
    for (const std::uint32_t d : group_) rows.push_back(before_.row(d, r));
    clauses_.at_most_one_if(guard, rows);
  }
  for (const std::uint32_t d : group_) becomes_union(guard, d);
}

void GroupRules::broadcast(Literal guard) {
  const std::uint32_t root = group_[0];
  std::vector<Literal> learnt{-guard};
  for (const std::uint32_t d : group_) {
    for (std::uint32_t r = 0; r < before_.chunks(); ++r) {
      for (std::uint32_t c = 0; c < before_.devices(); ++c) {
        const Literal held = before_.cell(d, r, c);
        const Literal sent = before_.cell(root, r, c);
        clauses_.equal_if(guard, after_.cell(d, r, c), sent);
        if (d == root) continue;
        clauses_.add({-guard, -held, sent});
        const Literal news[] = {sent, -held};
        learnt.push_back(clauses_.all_of(news));
      }
    }
  }
  clauses_.add(learnt);
}

void GroupRules::keep(Literal guard) {
  for (const std::uint32_t d : group_) {
    for (std::uint32_t r = 0; r < before_.chunks(); ++r) {
      for (std::uint32_t c = 0; c < before_.devices(); ++c) {
        clauses_.equal_if(guard, after_.cell(d, r, c), before_.cell(d, r, c));
      }
    }
  }
}

}  // namespace p2::cnf
