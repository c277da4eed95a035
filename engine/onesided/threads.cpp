#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "engine/onesided/late_memory.h"
#include "p2/error.h"

namespace p2::onesided {
namespace {

using OpKind = Operation::Kind;
using Random = std::mt19937_64;
using AtomicMemory = LateMemory<std::atomic<std::uint64_t>, std::atomic<std::int64_t>>;

constexpr std::size_t kMaxThreads = 512;
/// A run in which no operation completes for so long has stopped.
constexpr auto kStallTimeout = std::chrono::seconds(4);

/// Ends a thread of a run that has stopped.
struct Stopped {};

class ThreadedRun {
 public:
  ThreadedRun(const Unrolling& unrolling, bool late, std::uint64_t seed, const Limits& limits);

  std::optional<RunFailure> run();

 private:
  /// What one thread of a block has done, in its own words.
  struct BlockThread {
    std::uint32_t number;
    Random random;
    std::vector<AtomicMemory::Progress> open = {};  ///< put off until the next meet
    AtomicMemory::Buffer buffer = {};               ///< stays empty where nothing is late
    std::map<std::uint32_t, std::uint64_t> passes = {};
  };
  struct Pushed {
    const Operation* operation;
    std::uint32_t block;
  };
  struct Queue {
    std::mutex mutex;
    std::deque<Pushed> items = {};
    std::map<std::uint32_t, std::size_t> of_block = {};  ///< neither complete nor begun
  };

  void run_rank(std::uint32_t rank);
  void run_block(std::uint32_t number);
  void run_proxy(std::uint32_t rank);
  void execute_all(const Operation& operation, AtomicMemory::Buffer* buffer) {
    AtomicMemory::Progress progress{&operation};
    do {
      wait_until([&] { return memory_.is_ready(progress); });
      ++progress_;
    } while (!memory_.execute(progress, late_ ? buffer : nullptr, [] {}));
  }
  bool execute_open(BlockThread& block, std::size_t index) {
    const bool ran = memory_.run_put_off(block.open, index, late_ ? &block.buffer : nullptr, [] {});
    progress_ += ran ? 1 : 0;
    return ran;
  }
  void step(const Operation& operation, BlockThread& block);
  void close_segment(BlockThread& block);
  void pass_barrier(const Operation& operation, BlockThread& block);
  void push(const Operation& operation, const BlockThread& block);
  void pause(Random& random) const;
  template <typename Condition>
  void wait_until(const Condition& condition) const;

  const Unrolling& plan_;
  bool late_;
  std::uint64_t seed_;
  const Limits& limits_;
  AtomicMemory memory_;
  std::vector<std::atomic<std::uint64_t>> counters_;
  std::vector<std::atomic<std::uint64_t>> expected_;
  std::vector<Queue> queues_;
  std::vector<std::atomic<std::uint64_t>> arrivals_;  ///< by barrier
  std::vector<std::uint64_t> members_;                ///< of a barrier
  std::vector<std::atomic<std::uint32_t>> begun_;     ///< launches, by rank
  std::vector<std::atomic<std::uint64_t>> ended_;     ///< launches of blocks, by rank
  std::vector<std::uint64_t> blocks_of_;              ///< by rank
  std::vector<std::atomic<std::size_t>> at_;          ///< by block: the operation it is at
  std::atomic<std::uint32_t> ranks_left_;
  std::atomic<std::uint64_t> progress_ = 0;
  std::atomic<bool> stopped_ = false;
  Outputs outputs_;
};

ThreadedRun::ThreadedRun(const Unrolling& unrolling, bool late, std::uint64_t seed,
                         const Limits& limits)
    : plan_(unrolling),
      late_(late),
      seed_(seed),
      limits_(limits),
      memory_(unrolling.cells),
      counters_(unrolling.counters.size()),
      expected_(unrolling.counters.size()),
      queues_(unrolling.queues.size()),
      arrivals_(unrolling.barriers),
      members_(unrolling.barriers),
      begun_(unrolling.ranks),
      ended_(unrolling.ranks),
      blocks_of_(unrolling.ranks),
      at_(unrolling.blocks.size()),
      ranks_left_(unrolling.ranks),
      outputs_(unrolling.launches, std::vector<std::vector<std::uint64_t>>(unrolling.ranks)) {
  for (std::size_t c = 0; c < counters_.size(); ++c) counters_[c] = unrolling.counters[c].initial;
  for (const Block& block : unrolling.blocks) {
    ++blocks_of_[block.rank];
    std::set<std::uint32_t> barriers;
    for (const Operation& each : block.operations) {
      if (each.kind == OpKind::Barrier) barriers.insert(each.object);
    }
    for (const std::uint32_t barrier : barriers) ++members_[barrier];
  }
}

void ThreadedRun::pause(Random& random) const {
  if (random() % 8 == 0) std::this_thread::yield();
  if (late_ && random() % 64 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
  }
}

template <typename Condition>
void ThreadedRun::wait_until(const Condition& condition) const {
  for (std::uint32_t turn = 0; !condition(); ++turn) {
    if (stopped_) throw Stopped{};
    if (turn < 64) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

/// Runs what was put off, in a random order.
void ThreadedRun::close_segment(BlockThread& block) {
  while (!block.open.empty()) {
    wait_until([&] { return execute_open(block, block.random() % block.open.size()); });
  }
}

void ThreadedRun::pass_barrier(const Operation& operation, BlockThread& block) {
  close_segment(block);
  memory_.drain(block.buffer);
  const std::uint64_t members = members_[operation.object];
  const std::uint64_t pass = ++block.passes[operation.object];
  ++arrivals_[operation.object];
  wait_until([&] { return arrivals_[operation.object] >= pass * members; });
}

void ThreadedRun::push(const Operation& operation, const BlockThread& block) {
  Queue& queue = queues_[operation.object];
  const std::scoped_lock lock(queue.mutex);
  queue.items.push_back({&operation, block.number});
  ++queue.of_block[block.number];
}

void ThreadedRun::step(const Operation& operation, BlockThread& block) {
  switch (operation.kind) {
    case OpKind::Meet:
      close_segment(block);
      break;
    case OpKind::Barrier:
      pass_barrier(operation, block);
      break;
    case OpKind::Compute:
      if (late_ && !plan_.blocks[block.number].single_thread) {
        block.open.push_back({&operation});
      } else {
        execute_all(operation, &block.buffer);
      }
      break;
    case OpKind::Signal:
      if (releases(operation.order)) memory_.drain(block.buffer);
      ++counters_[operation.object];
      break;
    case OpKind::Wait: {
      auto& expected = expected_[operation.object];
      std::uint64_t needs = 0;
      if (operation.threshold) {
        expected = needs = *operation.threshold;
      } else {
        needs = expected.fetch_add(operation.amount) + operation.amount;
      }
      wait_until([&] { return counters_[operation.object] >= needs; });
      break;
    }
    case OpKind::Fence:
      if (releases(operation.order)) memory_.drain(block.buffer);
      break;
    case OpKind::Push:
    case OpKind::PushSignal:
      memory_.drain(block.buffer);  // pushing is a release
      push(operation, block);
      break;
    case OpKind::Flush:
      wait_until([&] {
        Queue& queue = queues_[operation.object];
        const std::scoped_lock lock(queue.mutex);
        return queue.of_block[block.number] == 0;
      });
      break;
  }
  ++progress_;
}

void ThreadedRun::run_block(std::uint32_t number) {
  const Block& code = plan_.blocks[number];
  BlockThread block{number, Random(seed_ * 1'000'003 + number)};
  std::size_t next = 0;
  for (std::uint32_t launch = 0; launch < plan_.launches; ++launch) {
    wait_until([&] { return begun_[code.rank] > launch; });
    for (; next < code.operations.size() && code.operations[next].launch == launch; ++next) {
      at_[number] = next;
      pause(block.random);
      memory_.drain_some(block.buffer, block.random);
      if (!block.open.empty() && block.random() % 3 == 0) {
        execute_open(block, block.random() % block.open.size());
      }
      step(code.operations[next], block);
    }
    close_segment(block);
    memory_.drain(block.buffer);
    ++ended_[code.rank];
  }
}

/// The user of a rank, who launches.
void ThreadedRun::run_rank(std::uint32_t rank) {
  const UserCells& user = plan_.users[rank];
  Random random(seed_ * 1'000'003 + plan_.blocks.size() + rank);
  memory_.write_inputs(user, 0, rank, random);
  for (std::uint32_t launch = 0; launch < plan_.launches; ++launch) {
    pause(random);
    begun_[rank] = launch + 1;
    wait_until([&] { return ended_[rank] == blocks_of_[rank] * (launch + 1); });
    for (std::uint32_t k = 0; k < user.output_cells; ++k) {
      outputs_[launch][rank].push_back(memory_[user.output + k]);
    }
    memory_.write_inputs(user, launch + 1, rank, random);
    ++progress_;
  }
  --ranks_left_;
}

/// Executes what the blocks of a rank push, each queue in order.
void ThreadedRun::run_proxy(std::uint32_t rank) {
  Random random(seed_ * 1'000'003 + plan_.blocks.size() + plan_.ranks + rank);
  std::vector<std::uint32_t> own;
  for (std::uint32_t q = 0; q < plan_.queues.size(); ++q) {
    if (plan_.queues[q].rank == rank) own.push_back(q);
  }
  while (!own.empty()) {
    bool moved = false;
    std::shuffle(own.begin(), own.end(), random);
    for (const std::uint32_t q : own) {
      if (late_ && random() % 4 != 0) continue;
      Queue& queue = queues_[q];
      std::optional<Pushed> item;
      {
        const std::scoped_lock lock(queue.mutex);
        if (!queue.items.empty()) {
          item = queue.items.front();
          queue.items.pop_front();
        }
      }
      if (!item) continue;
      moved = true;
      pause(random);
      if (item->operation->kind == OpKind::Push) {
        execute_all(*item->operation, nullptr);
      } else {
        ++counters_[item->operation->counter];
      }
      const std::scoped_lock lock(queue.mutex);
      --queue.of_block[item->block];
    }
    if (moved) continue;
    if (stopped_ || ranks_left_ == 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

std::optional<RunFailure> ThreadedRun::run() {
  std::vector<std::jthread> threads;
  const auto start = [&](auto member, std::uint32_t number) {
    threads.emplace_back([this, member, number] {
      try {
        (this->*member)(number);
      } catch (const Stopped&) {  // run() says why
      }
    });
  };
  for (std::uint32_t r = 0; r < plan_.ranks; ++r) {
    start(&ThreadedRun::run_rank, r);
    start(&ThreadedRun::run_proxy, r);
  }
  for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b) start(&ThreadedRun::run_block, b);
  auto last_change = std::chrono::steady_clock::now();
  std::uint64_t seen = 0;
  bool stalled = false;
  while (ranks_left_ > 0 && !stopped_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto now = std::chrono::steady_clock::now();
    if (progress_ != seen) {
      seen = progress_;
      last_change = now;
    }
    stalled = now - last_change > kStallTimeout;
    if (stalled || (limits_.deadline && now > *limits_.deadline)) stopped_ = true;
  }
  threads.clear();
  if (stalled) {
    for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b) {
      const Block& code = plan_.blocks[b];
      if (ended_[code.rank] == blocks_of_[code.rank] * plan_.launches) continue;
      if (at_[b] < code.operations.size() &&
          code.operations[at_[b]].launch + 1 == begun_[code.rank]) {
        return RunFailure{seed_, describe(plan_, code.operations[at_[b]]) + " never ends"};
      }
    }
    return RunFailure{seed_, "a launch never ends"};
  }
  if (stopped_) throw LimitReached(LimitReached::Kind::Time, "the time limit of a run was reached");
  if (auto wrong = find_wrong_number(plan_, outputs_)) return RunFailure{seed_, std::move(*wrong)};
  return std::nullopt;
}

}  // namespace

std::optional<RunFailure> run_with_threads(const Unrolling& unrolling, bool late,
                                           std::uint64_t seed, const Limits& limits) {
  const std::size_t threads = unrolling.blocks.size() + 2 * std::size_t{unrolling.ranks};
  if (threads > kMaxThreads) {
    throw LimitReached(
        LimitReached::Kind::Size,
        fmt::format("a run would take {} threads, at most {} are started", threads, kMaxThreads));
  }
  return ThreadedRun(unrolling, late, seed, limits).run();
}

}  // namespace p2::onesided
