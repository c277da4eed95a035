#include "proofs/kernel/encoder.h"

#include <algorithm>

namespace p2::kernel {
namespace {

constexpr std::int32_t kTrue = 1;

}  // namespace

Encoder::Encoder(const Stage& stage, std::uint32_t chunks, std::uint32_t size, Sink sink)
    : stage_(stage), chunks_(chunks), size_(size), sink_(std::move(sink)) {}

std::int32_t Encoder::fresh(std::size_t count) {
  const std::int32_t first = last_ + 1;
  if (count > static_cast<std::size_t>(INT32_MAX - first)) reject("the claim has no such clauses");
  last_ += static_cast<std::int32_t>(count);
  return first;
}

std::int32_t Encoder::any_of(const Clause& literals) {
  const std::int32_t any = fresh();
  for (const std::int32_t literal : literals) sink_({any, -literal});
  Clause some = {-any};
  some.insert(some.end(), literals.begin(), literals.end());
  sink_(some);
  return any;
}

std::int32_t Encoder::all_of(Clause literals) {
  const std::int32_t all = fresh();
  for (std::int32_t& literal : literals) {
    sink_({-all, literal});
    literal = -literal;
  }
  literals.insert(literals.begin(), all);
  sink_(literals);
  return all;
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

std::int32_t Encoder::cell(const Moment& at, std::uint32_t d, std::uint32_t r,
                           std::uint32_t c) const {
  return at.cells + static_cast<std::int32_t>((d * chunks_ + r) * stage_.devices + c);
}

std::int32_t Encoder::row(const Moment& at, std::uint32_t d, std::uint32_t r) const {
  return at.rows + static_cast<std::int32_t>(d * chunks_ + r);
}

void Encoder::encode() {
  sink_({fresh()});
  for (std::uint32_t t = 0; t < size_; ++t) picked_.push_back(fresh(stage_.steps.size()));
  for (std::uint32_t t = 0; t <= size_; ++t) add_moment(t);
  for (std::uint32_t d = 0; d < stage_.devices; ++d) {
    for_each_cell([&](auto r, auto c) {
      const std::int32_t initial = cell(moments_[0], d, r, c);
      sink_({d == c ? initial : -initial});
    });
  }
  for (std::uint32_t t = 0; t < size_; ++t) take_step(t);
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
  const std::uint32_t n = stage_.devices;
  Moment& at = moments_.emplace_back();
  at.cells = fresh(std::size_t{n} * chunks_ * n);
  at.rows = last_ + 1;
  Clause literals;
  for (std::uint32_t d = 0; d < n; ++d) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      literals.clear();
      for (std::uint32_t c = 0; c < n; ++c) literals.push_back(cell(at, d, r, c));
      any_of(literals);
    }
  }
  std::vector<std::uint32_t> class_of(n);
  for (std::uint32_t i = 0; i < stage_.classes.size(); ++i) {
    for (const std::uint32_t device : stage_.classes[i]) class_of[device] = i;
  }
  literals.clear();
  for (std::uint32_t d = 0; d < n; ++d) {
    for_each_cell([&](auto r, auto c) {
      literals.push_back(class_of[d] == class_of[c] ? cell(at, d, r, c) : -cell(at, d, r, c));
    });
  }
  at.done = all_of(literals);
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
      for (std::uint32_t j = 1; j <= r + 1; ++j) {
        const std::int32_t enough = j <= r ? counts[r][j] : -kTrue;
        now.push_back(any_of({enough, all_of({counts[r][j - 1], row(at, d, r)})}));
      }
      counts.push_back(now);
    }
    const Clause& total = counts[chunks_];
    Clause& exact = at.exactly.emplace_back();
    for (std::uint32_t j = 1; j < chunks_; ++j) exact.push_back(all_of({total[j], -total[j + 1]}));
    exact.push_back(total[chunks_]);
  }
}

void Encoder::take_step(std::size_t t) {
  count_chunks(moments_[t]);
  Clause options;
  for (std::size_t m = 0; m < stage_.steps.size(); ++m) {
    options.push_back(picked_[t] + static_cast<std::int32_t>(m));
  }
  options.push_back(moments_[t].done);
  sink_(options);
  at_most_one_if(kTrue, options);
  sink_({-moments_[t].done, moments_[t + 1].done});
  for (std::size_t first = 0, end = 0; first < stage_.steps.size(); first = end) {
    for (end = first + 1; end < stage_.steps.size(); ++end) {
      if (stage_.steps[end].collective == "AllReduce") break;
    }
    use_groups(t, first, end);
  }
}

/// Choices `first` to `end`, which form the same groups: all collectives, or AllReduce alone.
void Encoder::use_groups(std::size_t t, std::size_t first, std::size_t end) {
  const Moment& at = moments_[t];
  const Moment& next = moments_[t + 1];
  const std::int32_t all_reduce = picked_[t] + static_cast<std::int32_t>(first);
  const std::int32_t reduce_scatter = all_reduce + 1, all_gather = all_reduce + 2,
                     reduce = all_reduce + 3, broadcast_ = all_reduce + 4;
  const bool all = end > first + 1;
  const std::int32_t used =
      all ? any_of({all_reduce, reduce_scatter, all_gather, reduce, broadcast_}) : all_reduce;
  const std::int32_t adds = all ? any_of({all_reduce, reduce_scatter, reduce}) : all_reduce;
  const std::int32_t unites = all ? any_of({all_reduce, all_gather}) : all_reduce;
  std::vector<bool> idle(stage_.devices, true);
  for (const Numbers& group : stage_.steps[first].groups) {
    Clause some = {-used};
    for (const std::uint32_t d : group) {
      idle[d] = false;
      for (std::uint32_t r = 0; r < chunks_; ++r) some.push_back(row(at, d, r));
    }
    sink_(some);
    add_premises(at, group, adds);
    Clause united, held;
    for_each_cell([&](auto r, auto c) {
      held.clear();
      for (const std::uint32_t d : group) held.push_back(cell(at, d, r, c));
      united.push_back(any_of(held));
    });
    const auto unite = [&](std::int32_t guard, std::uint32_t d) {
      std::size_t i = 0;
      for_each_cell([&](auto r, auto c) { equal_if(guard, cell(next, d, r, c), united[i++]); });
    };
    for (const std::uint32_t d : group) unite(unites, d);
    if (!all) continue;
    scatter(at, next, group, united, reduce_scatter);
    gather_premises(at, group, all_gather);
    for (const std::uint32_t d : group) {
      if (d == group[0]) {
        unite(reduce, d);
      } else {
        for_each_cell([&](auto r, auto c) { sink_({-reduce, -cell(next, d, r, c)}); });
      }
    }
    broadcast(at, next, group, broadcast_);
  }
  for (std::uint32_t d = 0; d < stage_.devices; ++d) {
    if (!idle[d]) continue;
    for_each_cell(
        [&](auto r, auto c) { equal_if(used, cell(next, d, r, c), cell(at, d, r, c)); });
  }
}

void Encoder::add_premises(const Moment& at, const Numbers& group, std::int32_t adds) {
  for (std::uint32_t r = 0; r < chunks_; ++r) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      equal_if(adds, row(at, group[i - 1], r), row(at, group[i], r));
    }
  }
  Clause held;
  for_each_cell([&](auto r, auto c) {
    held.clear();
    for (const std::uint32_t d : group) held.push_back(cell(at, d, r, c));
    at_most_one_if(adds, held);
  });
}

void Encoder::scatter(const Moment& at, const Moment& next, const Numbers& group,
                      const Clause& united, std::int32_t guard) {
  const auto n = static_cast<std::uint32_t>(group.size());
  const Clause& exactly = at.exactly[group[0]];
  for (std::uint32_t held = 1; held <= chunks_; ++held) {
    if (held % n != 0) sink_({-guard, -exactly[held - 1]});
  }
  // from[i][r]: chunk r does not lie before the i-th run.
  std::vector<Clause> from(n + 1, Clause(chunks_, kTrue));
  for (std::uint32_t i = 1; i < n; ++i) {
    for (std::int32_t& literal : from[i]) literal = fresh();
  }
  from[n].assign(chunks_, -kTrue);
  for (std::uint32_t held = n; held <= chunks_; held += n) {
    for (std::uint32_t i = 1; i < n; ++i) {
      const std::uint32_t before = held / n * i;
      for (std::uint32_t r = 0; r < chunks_; ++r) {
        const std::int32_t reached = before <= r ? at.at_least[group[0]][r][before] : -kTrue;
        sink_({-guard, -exactly[held - 1], -from[i][r], reached});
        sink_({-guard, -exactly[held - 1], from[i][r], -reached});
      }
    }
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    for_each_cell([&](auto r, auto c) {
      const std::int32_t kept = cell(next, group[i], r, c);
      const std::int32_t sum = united[r * stage_.devices + c];
      sink_({-guard, -kept, from[i][r]});
      sink_({-guard, -kept, -from[i + 1][r]});
      sink_({-guard, -kept, sum});
      sink_({-guard, -from[i][r], from[i + 1][r], -sum, kept});
    });
  }
}

void Encoder::gather_premises(const Moment& at, const Numbers& group, std::int32_t guard) {
  for (std::uint32_t r = 0; r < chunks_; ++r) {
    Clause rows;
    for (const std::uint32_t d : group) rows.push_back(row(at, d, r));
    at_most_one_if(guard, rows);
  }
  for (std::size_t i = 1; i < group.size(); ++i) {
    for (std::uint32_t j = 0; j < chunks_; ++j) {
      equal_if(guard, at.exactly[group[i - 1]][j], at.exactly[group[i]][j]);
    }
  }
}

void Encoder::broadcast(const Moment& at, const Moment& next, const Numbers& group,
                        std::int32_t guard) {
  Clause learnt = {-guard};
  for (std::size_t i = 1; i < group.size(); ++i) {
    for_each_cell([&](auto r, auto c) {
      const std::int32_t sent = cell(at, group[0], r, c);
      const std::int32_t held = cell(at, group[i], r, c);
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
