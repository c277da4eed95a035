#include "engine/onesided/late_memory.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

namespace p2::onesided {
namespace {

using OpKind = Operation::Kind;

}  // namespace

std::uint64_t input_number(std::uint32_t launch, std::uint32_t rank, std::uint32_t cell) {
  std::uint64_t x = (std::uint64_t{launch} << 48U) ^ (std::uint64_t{rank} << 32U) ^ cell;
  x += 0x9e3779b97f4a7c15U;  // splitmix64 (Steele, Lea and Flood, OOPSLA 2014)
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

std::optional<std::string> find_wrong_number(const Unrolling& plan, const Outputs& outputs) {
  const std::uint32_t ranks = plan.ranks;
  for (std::uint32_t launch = 0; launch < plan.launches; ++launch) {
    std::set<std::uint32_t> senders;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const std::vector<std::uint64_t>& output = outputs[launch][r];
      const auto cells = static_cast<std::uint32_t>(output.size());
      const std::uint32_t in = std::max(plan.users[r].input_cells, 1U);
      for (std::uint32_t k = 0; k < cells; ++k) {
        std::uint64_t wanted = 0;
        const auto add_all = [&](std::uint32_t cell) {
          for (std::uint32_t q = 0; q < ranks; ++q) wanted += input_number(launch, q, cell);
        };
        if (plan.goal) {
          const auto parts = plan.wanted(r, k);
          for (const auto& [from, at] : parts) wanted += input_number(launch, from, at);
          if (parts.empty()) wanted = output[k];
        } else if (plan.collective == "allreduce") {
          add_all(k);
        } else if (plan.collective == "reducescatter") {
          add_all(r * cells + k);
        } else if (plan.collective == "allgather") {
          wanted = input_number(launch, k / in, k % in);
        } else if (plan.collective == "alltoall") {
          const std::uint32_t part = cells / ranks;
          wanted = input_number(launch, k / part, r * part + k % part);
        } else if (plan.collective == "broadcast") {
          wanted = input_number(launch, 0, k);
        } else if (plan.collective == "sendrecv") {
          std::uint32_t sender = 0;
          while (sender < ranks && input_number(launch, sender, 0) != output[0]) ++sender;
          if (k == 0 && !senders.insert(sender).second) sender = ranks;
          wanted = sender < ranks ? input_number(launch, sender, k) : ~output[k];
        } else {
          return std::nullopt;
        }
        if (output[k] != wanted) {
          return fmt::format("{} after launch {} is wrong",
                             describe(plan, plan.users[r].output + k), launch);
        }
      }
    }
  }
  return std::nullopt;
}

namespace {

using PlainMemory = LateMemory<std::uint64_t, std::int64_t>;

class Simulation {
 public:
  Simulation(const Unrolling& unrolling, std::uint64_t seed, LimitWatch& watch)
      : plan_(unrolling),
        watch_(watch),
        seed_(seed),
        random_(seed),
        memory_(unrolling.cells),
        ranks_(unrolling.ranks),
        blocks_(unrolling.blocks.size()),
        counters_(unrolling.counters.size()),
        queues_(unrolling.queues.size()),
        outputs_(unrolling.launches, std::vector<std::vector<std::uint64_t>>(unrolling.ranks)) {
    for (std::size_t c = 0; c < counters_.size(); ++c) counters_[c] = unrolling.counters[c].initial;
    expected_.resize(counters_.size());
    for (const Block& block : unrolling.blocks) {
      for (const Operation& each : block.operations) {
        if (each.kind == OpKind::Barrier) members_[each.object].insert(block_number(block));
      }
    }
    for (std::uint32_t r = 0; r < unrolling.ranks; ++r) write_inputs(r, 0);
  }

  std::optional<RunFailure> run();

 private:
  struct RankState {
    std::uint32_t launch = 0;
    bool runs = false;
  };
  struct BlockState {
    std::size_t next = 0;
    bool runs = false;
    bool at_barrier = false;
    std::optional<std::uint64_t> needs = {};
    PlainMemory::Progress current = {};            ///< of a single thread that polls packets
    std::vector<PlainMemory::Progress> open = {};  ///< put off until the next meet
    PlainMemory::Buffer buffer = {};
  };
  struct Pushed {
    PlainMemory::Progress progress;
    std::uint32_t block;
  };

  std::uint32_t block_number(const Block& block) const {
    return static_cast<std::uint32_t>(&block - plan_.blocks.data());
  }
  bool step_rank(std::uint32_t number);
  bool step_block(std::uint32_t number);
  bool step_queue(std::uint32_t number);
  bool execute(PlainMemory::Progress& progress, PlainMemory::Buffer* buffer) {
    return memory_.execute(progress, buffer, [this] { watch_.step(); });
  }
  bool execute_open(BlockState& block, std::size_t index) {
    return memory_.run_put_off(block.open, index, &block.buffer, [this] { watch_.step(); });
  }
  bool close_segment(BlockState& block);
  void write_inputs(std::uint32_t rank, std::uint32_t launch) {
    memory_.write_inputs(plan_.users[rank], launch, rank, random_);
  }

  const Unrolling& plan_;
  LimitWatch& watch_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
  PlainMemory memory_;
  std::vector<RankState> ranks_;
  std::vector<BlockState> blocks_;
  std::vector<std::uint64_t> counters_;
  std::vector<std::uint64_t> expected_;
  std::vector<std::vector<Pushed>> queues_;
  std::map<std::uint32_t, std::set<std::uint32_t>> members_;
  Outputs outputs_;
};

bool Simulation::step_rank(std::uint32_t number) {
  RankState& rank = ranks_[number];
  if (rank.launch == plan_.launches) return false;
  if (!rank.runs) {
    rank.runs = true;
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      if (plan_.blocks[b].rank == number) blocks_[b].runs = true;
    }
    return true;
  }
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    if (plan_.blocks[b].rank == number && blocks_[b].runs) return false;
  }
  rank.runs = false;
  const UserCells& user = plan_.users[number];
  for (std::uint32_t k = 0; k < user.output_cells; ++k) {
    outputs_[rank.launch][number].push_back(memory_[user.output + k]);
  }
  ++rank.launch;
  write_inputs(number, rank.launch);
  return true;
}

/// Runs what was put off, as far as its packets are there; whether anything was.
bool Simulation::close_segment(BlockState& block) {
  bool stepped = false;
  for (std::size_t next = 0; next < block.open.size();) {
    const bool goes_on = execute_open(block, next);
    stepped = stepped || goes_on;
    next = goes_on ? 0 : next + 1;
  }
  return stepped;
}

bool Simulation::step_block(std::uint32_t number) {
  BlockState& block = blocks_[number];
  const Block& code = plan_.blocks[number];
  if (!block.runs || block.at_barrier) return false;
  memory_.drain_some(block.buffer, random_);
  const std::uint32_t launch = ranks_[code.rank].launch;
  const bool at_end =
      block.next == code.operations.size() || code.operations[block.next].launch != launch;
  if (!block.open.empty() && random_() % 3 == 0) {  // one of those put off
    const std::size_t pick = random_() % block.open.size();
    if (execute_open(block, pick)) return true;
  }
  if (at_end) {
    const bool stepped = close_segment(block);
    if (!block.open.empty()) return stepped;
    memory_.drain(block.buffer);
    block.runs = false;
    return true;
  }
  const Operation& operation = code.operations[block.next];
  switch (operation.kind) {
    case OpKind::Meet:
      if (const bool stepped = close_segment(block); !block.open.empty()) return stepped;
      ++block.next;
      return true;
    case OpKind::Barrier: {
      if (const bool stepped = close_segment(block); !block.open.empty()) return stepped;
      block.at_barrier = true;
      const std::set<std::uint32_t>& members = members_.at(operation.object);
      const bool all = std::ranges::all_of(members, [&](std::uint32_t b) {
        return blocks_[b].at_barrier &&
               plan_.blocks[b].operations[blocks_[b].next].object == operation.object;
      });
      if (!all) return true;
      for (const std::uint32_t b : members) {
        memory_.drain(blocks_[b].buffer);
        blocks_[b].at_barrier = false;
        ++blocks_[b].next;
      }
      return true;
    }
    case OpKind::Compute:
      if (code.single_thread) {
        if (block.current.operation != &operation) block.current = {&operation};
        if (!memory_.is_ready(block.current)) return false;
        if (!execute(block.current, &block.buffer)) return true;
      } else {
        block.open.push_back({&operation});
      }
      ++block.next;
      return true;
    case OpKind::Signal:
      if (releases(operation.order)) memory_.drain(block.buffer);
      ++counters_[operation.object];
      ++block.next;
      return true;
    case OpKind::Wait:
      if (!block.needs) {
        std::uint64_t& expectation = expected_[operation.object];
        expectation = operation.threshold ? *operation.threshold : expectation + operation.amount;
        block.needs = expectation;
        return true;
      }
      if (counters_[operation.object] < *block.needs) return false;
      block.needs.reset();
      ++block.next;
      return true;
    case OpKind::Fence:
      if (releases(operation.order)) memory_.drain(block.buffer);
      ++block.next;
      return true;
    case OpKind::Push:
    case OpKind::PushSignal:
      memory_.drain(block.buffer);  // pushing is a release
      queues_[operation.object].push_back({{&operation}, number});
      ++block.next;
      return true;
    case OpKind::Flush:
      if (std::ranges::any_of(queues_[operation.object],
                              [&](const Pushed& each) { return each.block == number; })) {
        return false;
      }
      ++block.next;
      return true;
  }
  return false;
}

bool Simulation::step_queue(std::uint32_t number) {
  std::vector<Pushed>& queue = queues_[number];
  if (queue.empty()) return false;
  const Operation& operation = *queue.front().progress.operation;
  if (operation.kind == OpKind::Push) {
    if (!memory_.is_ready(queue.front().progress)) return false;
    if (!execute(queue.front().progress, nullptr)) return true;
  } else {
    ++counters_[operation.counter];
  }
  queue.erase(queue.begin());
  return true;
}

std::optional<RunFailure> Simulation::run() {
  const auto ranks = static_cast<std::uint32_t>(ranks_.size());
  const auto blocks = static_cast<std::uint32_t>(blocks_.size());
  const auto queues = static_cast<std::uint32_t>(queues_.size());
  const std::uint32_t processes = ranks + blocks + queues;
  // Some run far ahead of others; the proxy may be slow.
  std::vector<std::uint32_t> weight(processes);
  for (std::uint32_t& each : weight) each = 1U << (random_() % 5);
  std::vector<std::uint32_t> order(processes);
  for (std::uint32_t a = 0; a < processes; ++a) order[a] = a;
  while (true) {
    watch_.step();
    bool stepped = false;
    for (std::uint32_t i = processes; i-- > 1;) std::swap(order[i], order[random_() % (i + 1)]);
    for (const std::uint32_t a : order) {
      // Passed over, unless nothing else can go on.
      if (random_() % 16 >= weight[a]) continue;
      stepped = (a < ranks            ? step_rank(a)
                 : a < ranks + blocks ? step_block(a - ranks)
                                      : step_queue(a - ranks - blocks)) ||
                stepped;
    }
    if (stepped) continue;
    for (const std::uint32_t a : order) {
      stepped = a < ranks            ? step_rank(a)
                : a < ranks + blocks ? step_block(a - ranks)
                                     : step_queue(a - ranks - blocks);
      if (stepped) break;
    }
    if (!stepped) break;
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (ranks_[r].launch < plan_.launches) {
      for (std::uint32_t b = 0; b < blocks; ++b) {
        const Block& code = plan_.blocks[b];
        if (code.rank == r && blocks_[b].runs && blocks_[b].next < code.operations.size()) {
          return RunFailure{seed_,
                            describe(plan_, code.operations[blocks_[b].next]) + " never ends"};
        }
      }
      return RunFailure{seed_, "a launch never ends"};
    }
  }
  auto wrong = find_wrong_number(plan_, outputs_);
  if (!wrong) return std::nullopt;
  return RunFailure{seed_, std::move(*wrong)};
}

}  // namespace

std::optional<RunFailure> simulate(const Unrolling& unrolling, std::uint64_t seed,
                                   LimitWatch& watch) {
  return Simulation(unrolling, seed, watch).run();
}

std::optional<RunFailure> find_failing_run(const Unrolling& unrolling, std::uint64_t runs,
                                           LimitWatch& watch) {
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    if (auto failure = simulate(unrolling, seed, watch)) return failure;
  }
  return std::nullopt;
}

}  // namespace p2::onesided
