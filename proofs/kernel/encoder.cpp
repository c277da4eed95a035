#include "proofs/kernel/encoder.h"

#include <algorithm>
#include <numeric>

namespace p2::kernel {
namespace {

constexpr std::int32_t kTrue = 1;

template <typename Literal>
Clause for_each(const Numbers& group, Literal&& literal) {
  Clause literals;
  for (const std::uint32_t device : group) literals.push_back(literal(device));
  return literals;
}

}  // namespace

std::int32_t Encoder::fresh(std::size_t count) {
  const std::int32_t first = last_ + 1;
  if (count > static_cast<std::size_t>(INT32_MAX - first)) reject("there are too many variables");
  last_ += static_cast<std::int32_t>(count);
  return first;
}

std::int32_t Encoder::any_of(const Clause& literals) {
  Clause some = {-fresh()};
  for (const std::int32_t literal : literals) {
    sink_({-some[0], -literal});
    some.push_back(literal);
  }
  sink_(some);
  return -some[0];
}

std::int32_t Encoder::all_of(const Clause& literals) {
  Clause all = {fresh()};
  for (const std::int32_t literal : literals) {
    sink_({-all[0], literal});
    all.push_back(-literal);
  }
  sink_(all);
  return all[0];
}

void Encoder::equal_if(std::int32_t guard, std::int32_t a, std::int32_t b) {
  sink_({-guard, -a, b});
  sink_({-guard, a, -b});
}

void Encoder::at_most_one_if(std::int32_t guard, const Clause& literals) {
  for (std::size_t i = 0; i < literals.size(); ++i) {
    for (std::size_t j = i + 1; j < literals.size(); ++j) {
      sink_({-guard, -literals[i], -literals[j]});
    }
  }
}

void Encoder::for_each_cell(const std::function<void(std::uint32_t, std::uint32_t)>& visit) const {
  for (std::uint32_t r = 0; r < chunks_; ++r) {
    for (std::uint32_t c = 0; c < stage_.devices; ++c) visit(r, c);
  }
}

void Encoder::encode() {
  sink_({fresh()});
  for (std::uint32_t t = 0; t < size_; ++t) picked_.push_back(fresh(stage_.steps.size()));
  for (std::uint32_t t = 0; t <= size_; ++t) add_moment(t);
  for (std::uint32_t d = 0; d < stage_.devices; ++d) {
    for_each_cell([&](auto r, auto c) { sink_({(d == c ? 1 : -1) * cell(moments_[0], d, r, c)}); });
  }
  for (std::uint32_t t = 0; t < size_; ++t) {
    count_chunks(moments_[t]);
    pick_one(t);
    for (std::size_t first = 0, end = 0; first < stage_.steps.size(); first = end) {
      end = first + 1;
      while (end < stage_.steps.size() && stage_.steps[end].collective != kCollectives[0]) ++end;
      use_groups(t, first, end);
    }
  }
  sink_({moments_.back().done});
}

void Encoder::exclude(const Numbers& program) {
  Clause other;
  for (std::size_t t = 0; t < program.size(); ++t) {
    other.push_back(-(picked_[t] + static_cast<std::int32_t>(program[t])));
  }
  sink_(other);
}

void Encoder::add_moment(std::size_t t) {
  Moment& at = moments_.emplace_back();
  Numbers all(stage_.devices);
  std::iota(all.begin(), all.end(), 0U);
  at.cells = fresh(all.size() * chunks_ * all.size());
  at.rows = last_ + 1;
  Clause goal;
  for (const std::uint32_t d : all) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      any_of(for_each(all, [&](auto c) { return cell(at, d, r, c); }));
    }
    const Numbers& wanted = stage_.class_of(d);
    for_each_cell([&](auto r, auto c) {
      const bool in_class = std::binary_search(wanted.begin(), wanted.end(), c);
      goal.push_back((in_class ? 1 : -1) * cell(at, d, r, c));
    });
  }
  at.done = all_of(goal);
  const auto line = [&](const char* what, std::int32_t variable) {
    varmap_ += what + std::to_string(t) + " " + std::to_string(variable) + "\n";
  };
  if (t == 0) varmap_ = "true 1\n";
  if (t < size_ && !stage_.steps.empty()) line("picked ", picked_[t]);
  line("cells ", at.cells);
  line("done ", at.done);
}

void Encoder::count_chunks(Moment& at) {
  for (std::uint32_t d = 0; d < stage_.devices; ++d) {
    auto& counts = at.at_least.emplace_back(1, Clause{kTrue});
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      Clause now = {kTrue};
      counts[r].push_back(-kTrue);
      for (std::uint32_t j = 1; j <= r + 1; ++j) {
        now.push_back(any_of({counts[r][j], all_of({counts[r][j - 1], row(at, d, r)})}));
      }
      counts.push_back(now);
    }
    const Clause& total = counts[chunks_];
    Clause& exactly = at.exactly.emplace_back(1, 0);
    for (std::uint32_t j = 1; j < chunks_; ++j)
      exactly.push_back(all_of({total[j], -total[j + 1]}));
    exactly.push_back(total[chunks_]);
  }
}

void Encoder::pick_one(std::size_t t) {
  Clause options;
  for (std::size_t m = 0; m < stage_.steps.size(); ++m) {
    options.push_back(picked_[t] + static_cast<std::int32_t>(m));
  }
  options.push_back(moments_[t].done);
  sink_(options);
  at_most_one_if(kTrue, options);
  sink_({-moments_[t].done, moments_[t + 1].done});
}

/// Choices `first` to `end`, which form the same groups: all collectives, or AllReduce alone.
void Encoder::use_groups(std::size_t t, std::size_t first, std::size_t end) {
  const Moment& at = moments_[t];
  const Moment& next = moments_[t + 1];
  const std::int32_t p = picked_[t] + static_cast<std::int32_t>(first);  // p + i: kCollectives[i]
  const bool all = end > first + 1;
  const std::int32_t used = all ? any_of({p, p + 1, p + 2, p + 3, p + 4}) : p;
  const std::int32_t adds = all ? any_of({p, p + 1, p + 3}) : p;
  const std::int32_t unites = all ? any_of({p, p + 2}) : p;
  std::vector<bool> idle(stage_.devices, true);
  for (const Numbers& group : stage_.steps[first].groups) {
    Clause some = {-used};
    for (const std::uint32_t d : group) {
      idle[d] = false;
      for (std::uint32_t r = 0; r < chunks_; ++r) some.push_back(row(at, d, r));
    }
    sink_(some);
    add(at, group, adds);
    Clause united;
    for_each_cell([&](auto r, auto c) {
      united.push_back(any_of(for_each(group, [&](auto d) { return cell(at, d, r, c); })));
    });
    const auto becomes_union = [&](std::int32_t guard, std::uint32_t d) {
      std::size_t i = 0;
      for_each_cell([&](auto r, auto c) { equal_if(guard, cell(next, d, r, c), united[i++]); });
    };
    for (const std::uint32_t d : group) becomes_union(unites, d);
    if (!all) continue;
    scatter(at, next, group, united, p + 1);
    gather(at, group, p + 2);
    becomes_union(p + 3, group[0]);
    for (std::size_t i = 1; i < group.size(); ++i) {
      for_each_cell([&](auto r, auto c) { sink_({-(p + 3), -cell(next, group[i], r, c)}); });
    }
    broadcast(at, next, group, p + 4);
  }
  for (std::uint32_t d = 0; d < stage_.devices; ++d) {
    if (!idle[d]) continue;
    for_each_cell([&](auto r, auto c) { equal_if(used, cell(next, d, r, c), cell(at, d, r, c)); });
  }
}

void Encoder::add(const Moment& at, const Numbers& group, std::int32_t guard) {
  for (std::uint32_t r = 0; r < chunks_; ++r) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      equal_if(guard, row(at, group[i - 1], r), row(at, group[i], r));
    }
  }
  for_each_cell([&](auto r, auto c) {
    at_most_one_if(guard, for_each(group, [&](auto d) { return cell(at, d, r, c); }));
  });
}

void Encoder::scatter(const Moment& at, const Moment& next, const Numbers& group,
                      const Clause& united, std::int32_t guard) {
  const auto n = static_cast<std::uint32_t>(group.size());
  const Clause& exactly = at.exactly[group[0]];
  // from[i][r]: chunk r does not lie before the i-th run.
  std::vector<Clause> from(n + 1, Clause(chunks_, kTrue));
  from[n].assign(chunks_, -kTrue);
  for (std::uint32_t i = 1; i < n; ++i) {
    for (std::int32_t& literal : from[i]) literal = fresh();
  }
  for (std::uint32_t held = 1; held <= chunks_; ++held) {
    if (held % n != 0) sink_({-guard, -exactly[held]});
    for (std::uint32_t i = 1; held % n == 0 && i < n; ++i) {
      for (std::uint32_t r = 0; r < chunks_; ++r) {
        const std::uint32_t before = held / n * i;
        const std::int32_t reached = before <= r ? at.at_least[group[0]][r][before] : -kTrue;
        sink_({-guard, -exactly[held], -from[i][r], reached});
        sink_({-guard, -exactly[held], from[i][r], -reached});
      }
    }
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    std::size_t sum = 0;
    for_each_cell([&](auto r, auto c) {
      const std::int32_t kept = cell(next, group[i], r, c);
      sink_({-guard, -kept, from[i][r]});
      sink_({-guard, -kept, -from[i + 1][r]});
      sink_({-guard, -kept, united[sum]});
      sink_({-guard, -from[i][r], from[i + 1][r], -united[sum++], kept});
    });
  }
}

void Encoder::gather(const Moment& at, const Numbers& group, std::int32_t guard) {
  for (std::uint32_t r = 0; r < chunks_; ++r) {
    at_most_one_if(guard, for_each(group, [&](auto d) { return row(at, d, r); }));
  }
  for (std::size_t i = 1; i < group.size(); ++i) {
    for (std::uint32_t j = 1; j <= chunks_; ++j) {
      equal_if(guard, at.exactly[group[i - 1]][j], at.exactly[group[i]][j]);
    }
  }
}

void Encoder::broadcast(const Moment& at, const Moment& next, const Numbers& group,
                        std::int32_t guard) {
  Clause learnt = {-guard};
  for (std::size_t i = 1; i < group.size(); ++i) {
    for_each_cell([&](auto r, auto c) {
      const std::int32_t sent = cell(at, group[0], r, c), held = cell(at, group[i], r, c);
      sink_({-guard, -held, sent});
      learnt.push_back(all_of({sent, -held}));
    });
  }
  sink_(learnt);
  for (const std::uint32_t d : group) {
    for_each_cell(
        [&](auto r, auto c) { equal_if(guard, cell(next, d, r, c), cell(at, group[0], r, c)); });
  }
}

}  // namespace p2::kernel
