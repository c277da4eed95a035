#include "engine/onesided/explorer.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/base/hash.h"

namespace p2::onesided {
namespace exploration {

void Explorer::refute(Rule rule, std::string reason) {
  if (violation_) return;
  violation_ = Violation{};
  violation_->rule = rule;
  violation_->reason = std::move(reason);
}

void Explorer::number_steps() {
  std::uint32_t next = plan_.ranks * (plan_.launches + 1);
  for (const Block& block : plan_.blocks) {
    first_step_.push_back(next);
    next += static_cast<std::uint32_t>(block.operations.size());
  }
  steps_ = next;
}

/// Also notes which counters several blocks or threads share.
bool Explorer::find_surplus() {
  struct Use {
    std::set<std::pair<std::uint32_t, std::uint32_t>> signals;
    std::set<std::pair<std::uint32_t, std::uint32_t>> waits;
    std::vector<std::uint64_t> signalled;  // by launch
    std::vector<std::uint64_t> expected;
    std::uint64_t expectation = 0;
  };
  std::vector<Use> uses(plan_.counters.size());
  for (Use& use : uses) {
    use.signalled.resize(plan_.launches);
    use.expected.resize(plan_.launches);
  }
  for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    for (const Operation& each : plan_.blocks[b].operations) {
      const std::pair by{b, plan_.blocks[b].single_thread ? 0 : each.lane};
      if (each.kind == OpKind::Signal || each.kind == OpKind::PushSignal) {
        Use& use = uses[each.kind == OpKind::Signal ? each.object : each.counter];
        use.signals.insert({by.first, each.kind == OpKind::Signal ? by.second : by.second + 4096});
        ++use.signalled[each.launch];
      } else if (each.kind == OpKind::Wait) {
        Use& use = uses[each.object];
        use.waits.insert(by);
        if (each.threshold) {
          use.expected[each.launch] = std::max(use.expected[each.launch], *each.threshold);
        } else {
          use.expected[each.launch] += each.amount;
          use.expectation = 1;
        }
      }
    }
  }
  bool surplus = false;
  for (Use& use : uses) {
    shared_.push_back(use.signals.size() > 1 || use.waits.size() > 1);
    if (use.waits.empty() || plan_.launches < 2) continue;
    const std::uint64_t rise =
        use.expectation == 1 ? use.expected[1] : use.expected[1] - use.expected[0];
    surplus = surplus || use.signalled[1] != rise;
  }
  return surplus;
}

State Explorer::initial() {
  State state;
  state.blocks.resize(plan_.blocks.size());
  state.ranks.resize(plan_.ranks);
  state.begins.resize(plan_.ranks);
  state.counters.resize(plan_.counters.size());
  for (std::size_t c = 0; c < plan_.counters.size(); ++c) {
    state.counters[c].value = plan_.counters[c].initial;
  }
  state.pushed.resize(plan_.queues.size());
  state.complete.resize(plan_.queues.size());
  state.cells.resize(plan_.cells);
  state.accesses.resize(plan_.cells);
  state.outputs.resize(plan_.launches, std::vector<std::vector<Content>>(plan_.ranks));
  for (std::uint32_t r = 0; r < plan_.ranks; ++r) user_access(state, r, -1);
  return state;
}

/// The user reads the output of a launch and writes the input of the next one.
void Explorer::user_access(State& state, std::uint32_t rank, std::int32_t launch) {
  RankState& own = state.ranks[rank];
  const std::uint32_t step = user_step(rank, launch);
  own.view.add(step);
  const UserCells& user = plan_.users[rank];
  for (const Space& space : plan_.spaces) {
    if (!space.user || space.rank != rank) continue;
    for (Cell cell = space.first; cell < space.first + space.cells; ++cell) {
      PastAccess now;
      now.step = step;
      now.launch = launch;
      now.start = space.first;
      now.writes = true;
      access(state, cell, now, own.view, {});
      state.accesses[cell].push_back(now);
    }
  }
  if (launch >= 0) {
    for (std::uint32_t k = 0; k < user.output_cells; ++k) {
      state.outputs[static_cast<std::size_t>(launch)][rank].push_back(state.cells[user.output + k]);
    }
  }
  for (std::uint32_t k = 0; k < user.output_cells; ++k) state.cells[user.output + k] = {};
  for (std::uint32_t k = 0; k < user.input_cells; ++k) {
    Content& content = state.cells[user.input + k];
    content = {};
    content.sum.emplace();
    (*content.sum)[{launch + 1, rank, k}] = 1;
  }
}

/// Of everything that decides what can still happen, whatever the order in which accesses were
/// made.
std::uint64_t Explorer::hash(const State& state) const {
  std::uint64_t hash = 0;
  const auto add = [&](std::uint64_t value) { hash = mix(hash, value); };
  const auto mixed = [](auto... values) {
    std::uint64_t all = 0;
    ((all = mix(all, static_cast<std::uint64_t>(values))), ...);
    return all;
  };
  for (const BlockState& each : state.blocks) {
    add(each.next);
    add(mixed(each.launch, each.runs, each.is_at_barrier, each.segment));
    add(each.needs.value_or(~std::uint64_t{0}));
    for (const View* view : {&each.meet, &each.open}) add(view->hash());
    for (const auto& [lane, fences] : each.fences) {
      add(mixed(lane, fences.release.hash(), fences.local_release.hash(),
                fences.relaxed_waits.hash(), fences.local_relaxed_waits.hash()));
    }
    for (const auto& [lane, view] : each.lanes) add(mixed(lane, view.hash()));
  }
  for (const RankState& each : state.ranks) {
    add(mixed(each.launch, each.runs, each.view.hash()));
  }
  for (const std::vector<View>& views : state.begins) {
    for (const View& view : views) add(view.hash());
  }
  for (const CounterState& each : state.counters) {
    add(mixed(each.value, each.expected, each.begins.size()));
    for (const View& view : each.begins) add(view.hash());
    for (const View& view : each.releases) add(view.hash());
  }
  for (const auto* queues : {&state.pushed, &state.complete}) {
    for (const std::vector<Pushed>& queue : *queues) {
      add(queue.size());
      for (const Pushed& each : queue) {
        add(mixed(each.operation - plan_.blocks[each.block].operations.data(), each.block,
                  each.segment, each.lane, each.view.hash()));
      }
    }
  }
  // A read by what it read, not by its number.
  std::vector<std::uint64_t> reads(state.proofs.size());
  for (std::size_t cell = 0; cell < state.accesses.size(); ++cell) {
    std::uint64_t sum = 0;
    for (const PastAccess& each : state.accesses[cell]) {
      const std::uint64_t access = mixed(cell, each.step, each.element, each.writes);
      sum += access;
      if (each.read == kNone) continue;
      reads[each.read] += access;
      for (const auto& [step, k] : state.proofs[each.read]) sum += mixed(access, step, k);
    }
    add(sum);
  }
  const auto add_content = [&](const Content& content) {
    add(static_cast<std::uint64_t>(content.packet + 1));
    std::uint64_t sum = 0;
    for (const std::uint32_t read : content.reads) sum += mix(0, reads[read]);
    add(sum);
    add(content.sum ? content.sum->size() : ~std::uint64_t{0});
    if (!content.sum) return;
    for (const auto& [contribution, times] : *content.sum) {
      const auto& [launch, rank, input] = contribution;
      add(mixed(launch, rank, input, times));
    }
  };
  for (const Content& each : state.cells) add_content(each);
  for (const auto& launches : state.outputs) {
    for (const auto& output : launches) {
      add(output.size());
      for (const Content& each : output) add_content(each);
    }
  }
  return hash;
}

/// Compares the outputs of all launches with the collective's definition, by their own formulas.
void Explorer::finish(const State& state) {
  const std::uint32_t ranks = plan_.ranks;
  for (std::uint32_t launch = 0; launch < plan_.launches; ++launch) {
    std::set<std::uint32_t> senders;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const auto& output = state.outputs[launch][r];
      const auto n = static_cast<std::uint32_t>(output.size());
      for (std::uint32_t k = 0; k < n; ++k) {
        std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>, std::uint32_t> expected;
        const std::uint32_t in = plan_.users[r].input_cells;
        if (plan_.goal) {
          for (const auto& [from, at] : plan_.wanted(r, k)) expected[{launch, from, at}] = 1;
          if (expected.empty()) continue;
        } else if (plan_.collective == "allreduce") {
          for (std::uint32_t q = 0; q < ranks; ++q) expected[{launch, q, k}] = 1;
        } else if (plan_.collective == "reducescatter") {
          for (std::uint32_t q = 0; q < ranks; ++q) expected[{launch, q, r * n + k}] = 1;
        } else if (plan_.collective == "allgather") {
          expected[{launch, k / in, k % in}] = 1;
        } else if (plan_.collective == "alltoall") {
          const std::uint32_t part = n / ranks;
          expected[{launch, k / part, r * part + k % part}] = 1;
        } else if (plan_.collective == "broadcast") {
          expected[{launch, 0, k}] = 1;
        } else if (plan_.collective == "sendrecv") {
          const bool single = output[k].sum && output[0].sum && output[k].sum->size() == 1 &&
                              output[0].sum->size() == 1;
          if (single) expected[{launch, std::get<1>(output[0].sum->begin()->first), k}] = 1;
          if (single && k == 0 &&
              !senders.insert(std::get<1>(output[0].sum->begin()->first)).second) {
            refute(Rule::WrongResult, "two ranks hold one rank's input");
          }
        } else {
          open_ = OpenQuestion{"unknown-collective", "no result is known for " + plan_.collective};
          return;
        }
        if (output[k].sum != expected || expected.empty()) {
          refute(Rule::WrongResult,
                 fmt::format("output {} of rank {} after launch {}", k, r, launch));
        }
      }
    }
  }
}

UnrollingDecision Explorer::run() {
  number_steps();
  if (find_surplus()) {
    return {{}, OpenQuestion{"surplus", "signals are left over, or lacking, in every launch"}};
  }
  std::vector<Process> processes;
  for (std::uint32_t r = 0; r < plan_.ranks; ++r) processes.push_back({Process::Of::Rank, r});
  for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b)
    processes.push_back({Process::Of::Block, b});
  for (std::uint32_t q = 0; q < plan_.queues.size(); ++q)
    processes.push_back({Process::Of::Queue, q});
  std::unordered_set<std::uint64_t> seen;
  std::vector<State> open;
  open.push_back(initial());
  std::uint64_t states = 0;
  while (!open.empty() && !violation_) {
    State state = std::move(open.back());
    open.pop_back();
    while (!violation_) {
      watch_.step();
      std::vector<Process> enabled;
      for (const Process process : processes) {
        if (is_enabled(state, process)) enabled.push_back(process);
      }
      if (enabled.empty()) {
        const bool ended = std::ranges::all_of(
            state.ranks, [&](const RankState& each) { return each.launch == plan_.launches; });
        if (ended) {
          finish(state);
        } else if (some_element_goes_on(state)) {
          return {{}, OpenQuestion{"forwarded-packets", "no operation can be executed as a whole"}};
        } else {
          refute(Rule::Deadlock, "no step can be taken");
        }
        break;
      }
      if (!options_.all_interleavings) {
        const auto free = std::ranges::find_if(
            enabled, [&](const Process process) { return commutes(state, process); });
        if (free != enabled.end()) enabled = {*free};
      }
      if (enabled.size() > 1 || options_.all_interleavings) {
        if (!seen.insert(hash(state)).second) break;
        if (++states > options_.max_states) {
          return {{}, OpenQuestion{"limit", "too many states"}};
        }
      }
      for (std::size_t i = 1; i < enabled.size(); ++i) {
        open.push_back(state);
        take(open.back(), enabled[i]);
        if (violation_) break;
      }
      if (!violation_) take(state, enabled.front());
    }
  }
  return {violation_, open_};
}

}  // namespace exploration

UnrollingDecision explore(const Unrolling& unrolling, const ExplorerOptions& options,
                          LimitWatch& watch) {
  return exploration::Explorer(unrolling, options, watch).run();
}

}  // namespace p2::onesided
