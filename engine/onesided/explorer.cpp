#include "engine/onesided/judge.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

namespace p2::onesided {
namespace {

using OpKind = Operation::Kind;

/// Operations that an operation knows to be over, by number.
class View {
 public:
  void add(std::uint32_t step) {
    if (bits_.size() <= step / 64) bits_.resize(step / 64 + 1);
    bits_[step / 64] |= std::uint64_t{1} << (step % 64);
  }
  void join(const View& other) {
    if (bits_.size() < other.bits_.size()) bits_.resize(other.bits_.size());
    for (std::size_t i = 0; i < other.bits_.size(); ++i) bits_[i] |= other.bits_[i];
  }
  bool has(std::uint32_t step) const {
    return step / 64 < bits_.size() && ((bits_[step / 64] >> (step % 64)) & 1U) != 0;
  }
  std::uint64_t hash() const {
    std::uint64_t hash = 1469598103934665603U;
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      if (bits_[i] != 0) hash = (hash ^ (bits_[i] + i)) * 1099511628211U;
    }
    return hash;
  }

 private:
  std::vector<std::uint64_t> bits_;
};

/// A read or a write that has been executed. A user's access is of no block.
struct PastAccess {
  std::uint32_t step = 0;
  std::uint32_t block = kNone;
  std::uint32_t segment = 0;
  std::int32_t launch = 0;
  Cell start = 0;
  std::uint32_t element = 0;
  bool writes = false;
  bool packets = false;  ///< of the operand
  bool packet_op = false;
  bool polled = false;
  bool transfer = false;
  std::uint32_t read = kNone;  ///< its number among reads
};

/// What a cell holds.
struct Content {
  /// (launch, rank, input cell) → how often; nothing: made of memory that was never written.
  std::optional<std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>, std::uint32_t>>
      sum = {};
  std::int64_t packet = -1;            ///< the launch of the packet that begins here
  std::set<std::uint32_t> reads = {};  ///< that the value is made of
};

struct Pushed {
  const Operation* operation = nullptr;
  std::uint32_t block = 0;
  std::uint32_t segment = 0;
  std::uint32_t lane = 0;
  View view = {};
};

struct CounterState {
  std::uint64_t value = 0;
  std::uint64_t expected = 0;
  std::vector<View> begins = {};    ///< what the senders of each signal, in order, began with
  std::vector<View> releases = {};  ///< what each releases
};

struct BlockState {
  std::size_t next = 0;
  std::uint32_t launch = 0;
  bool runs = false;
  bool is_at_barrier = false;
  std::uint32_t segment = 0;
  std::optional<std::uint64_t> needs = {};  ///< of the wait that it is at
  View meet = {};
  View open = {};  ///< what the operations of the segment know and are
  std::map<std::uint32_t, View> lanes = {};
  View release_fence = {};
  View local_release_fence = {};
  bool has_fence = false;
  bool has_local_fence = false;
  View relaxed_waits = {};  ///< what an acquiring fence will make known
  View local_relaxed_waits = {};
};

struct RankState {
  std::uint32_t launch = 0;
  bool runs = false;
  View view = {};
};

struct State {
  std::vector<BlockState> blocks;
  std::vector<RankState> ranks;
  std::vector<std::vector<View>> begins;  ///< by rank and launch
  std::vector<CounterState> counters;
  std::vector<std::vector<Pushed>> pushed;    ///< by queue, not complete yet
  std::vector<std::vector<Pushed>> complete;  ///< by queue
  std::vector<Content> cells;
  std::vector<std::vector<PastAccess>> accesses;                             ///< by cell
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> proofs;  ///< by read: polls
  std::vector<std::vector<std::vector<Content>>> outputs;                    ///< by launch and rank
};

class Explorer {
 public:
  Explorer(const Unrolling& unrolling, const ExplorerOptions& options, LimitWatch& watch)
      : plan_(unrolling), options_(options), watch_(watch) {}

  UnrollingDecision run();

 private:
  /// A process that may take a step: a rank, a block or a queue.
  struct Process {
    enum class Of : std::uint8_t { Rank, Block, Queue };
    Of of;
    std::uint32_t number;
  };

  State initial();
  void number_steps();
  bool find_surplus();
  bool is_enabled(const State& state, Process process) const;
  bool commutes(const State& state, Process process) const;
  void take(State& state, Process process);
  void take_rank(State& state, std::uint32_t rank);
  void take_block(State& state, std::uint32_t block);
  void take_queue(State& state, std::uint32_t queue);
  void meet(BlockState& block, std::uint32_t step);
  void user_access(State& state, std::uint32_t rank, std::int32_t launch);
  void execute(State& state, const Operation& operation, std::uint32_t block, std::uint32_t segment,
               std::uint32_t step, View& view);
  void access(State& state, Cell cell, const PastAccess& now, const View& view,
              const std::set<std::uint32_t>& proved);
  void signal(State& state, const Operation& operation, std::uint32_t counter, const View& released,
              std::uint32_t rank);
  std::uint64_t hash(const State& state) const;
  void finish(const State& state);
  void refute(Rule rule, std::string reason);

  std::uint32_t user_step(std::uint32_t rank, std::int32_t launch) const {
    return rank * (plan_.launches + 1) + static_cast<std::uint32_t>(launch + 1);
  }
  std::uint32_t step_of(std::uint32_t block, std::size_t operation) const {
    return first_step_[block] + static_cast<std::uint32_t>(operation);
  }

  const Unrolling& plan_;
  const ExplorerOptions& options_;
  LimitWatch& watch_;
  std::vector<std::uint32_t> first_step_;  // by block
  std::uint32_t steps_ = 0;
  std::vector<bool> shared_;  // by counter
  std::optional<Violation> violation_;
  std::optional<OpenQuestion> open_;
};

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

bool Explorer::is_enabled(const State& state, Process process) const {
  if (process.of == Process::Of::Queue) return !state.pushed[process.number].empty();
  if (process.of == Process::Of::Rank) {
    const RankState& rank = state.ranks[process.number];
    if (rank.launch == plan_.launches) return false;
    if (!rank.runs) return true;
    for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b) {
      if (plan_.blocks[b].rank == process.number && state.blocks[b].runs) return false;
    }
    return true;
  }
  const BlockState& block = state.blocks[process.number];
  if (!block.runs || block.is_at_barrier) return false;
  const std::vector<Operation>& all = plan_.blocks[process.number].operations;
  if (block.next == all.size() || all[block.next].launch != block.launch) return true;  // its end
  const Operation& operation = all[block.next];
  switch (operation.kind) {
    case OpKind::Wait:
      return !block.needs || state.counters[operation.object].value >= *block.needs;
    case OpKind::Flush:
      return std::ranges::none_of(state.pushed[operation.object],
                                  [&](const Pushed& each) { return each.block == process.number; });
    case OpKind::Compute:
      for (const Statement& statement : operation.statements) {
        for (const Operand& source : statement.sources) {
          for (std::uint32_t k = 0; source.polled && k < source.count; ++k) {
            if (state.cells[source.cell(k)].packet != std::int64_t{operation.launch}) return false;
          }
        }
      }
      return true;
    default:
      return true;
  }
}

/// Whether the next step of an process commutes with those of all others, apart from races.
bool Explorer::commutes(const State& state, Process process) const {
  if (process.of == Process::Of::Rank) return true;
  const Operation* operation = nullptr;
  if (process.of == Process::Of::Queue) {
    operation = state.pushed[process.number].front().operation;
  } else {
    const std::vector<Operation>& all = plan_.blocks[process.number].operations;
    const std::size_t next = state.blocks[process.number].next;
    if (next == all.size()) return true;
    operation = &all[next];
  }
  if (operation->kind == OpKind::Wait || operation->kind == OpKind::Signal) {
    return !shared_[operation->object];
  }
  if (operation->kind == OpKind::PushSignal && process.of == Process::Of::Queue) {
    return !shared_[operation->counter];
  }
  return true;
}

void Explorer::take(State& state, Process process) {
  switch (process.of) {
    case Process::Of::Rank:
      return take_rank(state, process.number);
    case Process::Of::Block:
      return take_block(state, process.number);
    case Process::Of::Queue:
      return take_queue(state, process.number);
  }
}

void Explorer::take_rank(State& state, std::uint32_t number) {
  RankState& rank = state.ranks[number];
  if (!rank.runs) {
    rank.runs = true;
    state.begins[number].push_back(rank.view);
    for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b) {
      if (plan_.blocks[b].rank != number) continue;
      BlockState& block = state.blocks[b];
      block.runs = true;
      block.launch = rank.launch;
      block.meet = rank.view;
      block.open = rank.view;
      block.lanes.clear();
      ++block.segment;
    }
    return;
  }
  for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    if (plan_.blocks[b].rank == number) rank.view.join(state.blocks[b].open);
  }
  rank.runs = false;
  user_access(state, number, static_cast<std::int32_t>(rank.launch));
  ++rank.launch;
}

void Explorer::meet(BlockState& block, std::uint32_t step) {
  block.open.add(step);
  block.meet = block.open;
  block.lanes.clear();
  ++block.segment;
}

void Explorer::signal(State& state, const Operation& operation, std::uint32_t counter,
                      const View& released, std::uint32_t rank) {
  CounterState& own = state.counters[counter];
  ++own.value;
  own.begins.push_back(operation.order == Order::None ? View{}
                                                      : state.begins[rank][operation.launch]);
  own.releases.push_back(released);
}

void Explorer::take_block(State& state, std::uint32_t number) {
  BlockState& block = state.blocks[number];
  const Block& code = plan_.blocks[number];
  if (block.next == code.operations.size() || code.operations[block.next].launch != block.launch) {
    block.runs = false;
    return;
  }
  const Operation& operation = code.operations[block.next];
  const std::uint32_t step = step_of(number, block.next);
  const auto finish_lane = [&](const View& view) {
    View own = view;
    own.add(step);
    block.open.join(own);
    if (code.single_thread) {
      block.meet = block.open;
    } else {
      block.lanes[operation.lane] = std::move(own);
    }
    ++block.next;
  };
  View view = block.meet;
  if (operation.kind >= OpKind::Signal) {
    if (const auto lane = block.lanes.find(operation.lane); lane != block.lanes.end()) {
      view.join(lane->second);
    }
  }
  switch (operation.kind) {
    case OpKind::Meet:
      meet(block, step);
      ++block.next;
      return;
    case OpKind::Barrier: {
      block.is_at_barrier = true;
      block.open.add(step);
      // The k-th time that all its blocks are there, they go on.
      std::vector<std::uint32_t> members;
      for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b) {
        const bool takes_part =
            std::ranges::any_of(plan_.blocks[b].operations, [&](const Operation& each) {
              return each.kind == OpKind::Barrier && each.object == operation.object;
            });
        if (!takes_part) continue;
        const BlockState& other = state.blocks[b];
        if (!other.is_at_barrier ||
            plan_.blocks[b].operations[other.next].object != operation.object) {
          return;
        }
        members.push_back(b);
      }
      View all;
      for (const std::uint32_t b : members) all.join(state.blocks[b].open);
      for (const std::uint32_t b : members) {
        BlockState& other = state.blocks[b];
        other.open.join(all);
        other.is_at_barrier = false;
        meet(other, step_of(b, other.next));
        ++other.next;
      }
      return;
    }
    case OpKind::Compute:
      execute(state, operation, number, block.segment, step, view);
      block.open.join(view);
      block.open.add(step);
      if (code.single_thread) {
        block.meet = block.open;
        ++block.segment;
      }
      ++block.next;
      return;
    case OpKind::Signal: {
      View released;
      if (releases(operation.order)) released = view;
      if (operation.order == Order::Relaxed) {
        if (operation.local ? block.has_local_fence : block.has_fence) {
          released = operation.local ? block.local_release_fence : block.release_fence;
        }
      }
      signal(state, operation, operation.object, released, code.rank);
      return finish_lane(view);
    }
    case OpKind::Wait: {
      CounterState& counter = state.counters[operation.object];
      if (!block.needs) {
        counter.expected =
            operation.threshold ? *operation.threshold : counter.expected + operation.amount;
        block.needs = counter.expected;
        if (counter.value < *block.needs) return;
      }
      const std::uint64_t initial = plan_.counters[operation.object].initial;
      const std::uint64_t number_of_signals = *block.needs > initial ? *block.needs - initial : 0;
      View released;
      View begun;
      for (std::uint64_t k = 0; k < number_of_signals; ++k) {
        released.join(counter.releases[k]);
        begun.join(counter.begins[k]);
      }
      block.needs.reset();
      if (operation.order != Order::None) view.join(begun);
      if (acquires(operation.order)) view.join(released);
      if (operation.order == Order::Relaxed) {
        block.relaxed_waits.join(released);
        if (operation.local) block.local_relaxed_waits.join(released);
      }
      return finish_lane(view);
    }
    case OpKind::Fence:
      if (acquires(operation.order)) {
        view.join(operation.local ? block.local_relaxed_waits : block.relaxed_waits);
      }
      if (releases(operation.order)) {
        block.local_release_fence = view;
        block.has_local_fence = true;
        if (!operation.local) {
          block.release_fence = view;
          block.has_fence = true;
        }
      }
      return finish_lane(view);
    case OpKind::Push:
    case OpKind::PushSignal:
      state.pushed[operation.object].push_back(
          {&operation, number, block.segment, operation.lane, view});
      return finish_lane(view);
    case OpKind::Flush:
      for (const Pushed& each : state.complete[operation.object]) {
        if (each.block == number &&
            (code.single_thread || each.segment != block.segment || each.lane == operation.lane)) {
          view.join(each.view);
        }
      }
      return finish_lane(view);
  }
}

void Explorer::take_queue(State& state, std::uint32_t number) {
  Pushed item = state.pushed[number].front();
  state.pushed[number].erase(state.pushed[number].begin());
  for (const Pushed& each : state.complete[number]) {
    if (each.block == item.block && (plan_.blocks[item.block].single_thread ||
                                     each.segment != item.segment || each.lane == item.lane)) {
      item.view.join(each.view);
    }
  }
  const std::vector<Operation>& all = plan_.blocks[item.block].operations;
  // Pushing it and its completion are two steps.
  const std::uint32_t step =
      steps_ + step_of(item.block, static_cast<std::size_t>(item.operation - all.data()));
  if (item.operation->kind == OpKind::Push) {
    execute(state, *item.operation, item.block, item.segment, step, item.view);
    item.view.add(step);
  } else {
    signal(state, *item.operation, item.operation->counter,
           releases(item.operation->order) ? item.view : View{}, plan_.blocks[item.block].rank);
  }
  state.complete[number].push_back(std::move(item));
}

/// Compares an access with all that were executed before.
void Explorer::access(State& state, Cell cell, const PastAccess& now, const View& view,
                      const std::set<std::uint32_t>& proved) {
  for (const PastAccess& before : state.accesses[cell]) {
    if ((!before.writes && !now.writes) || view.has(before.step)) continue;
    if (before.step == now.step && before.start == now.start) continue;
    const bool threads = !before.transfer && !now.transfer && before.block != kNone &&
                         before.block == now.block && before.segment == now.segment;
    if (threads && before.start == now.start && before.packet_op == now.packet_op) continue;
    // A poll and the packets of its launch or of earlier ones.
    if (before.polled && now.writes && now.packets && now.block != kNone &&
        now.launch <= before.launch) {
      continue;
    }
    if (now.polled && before.writes && before.packets && before.block != kNone &&
        before.launch <= now.launch) {
      continue;
    }
    if (!before.writes) {
      if (proved.contains(before.read)) continue;
      const auto& polls = state.proofs[before.read];
      if (std::ranges::any_of(polls, [&](const auto& poll) { return view.has(poll.first); })) {
        continue;
      }
    }
    refute(Rule::DataRace, fmt::format("{}: unordered accesses of steps {} and {}",
                                       describe(plan_, cell), before.step, now.step));
  }
}

void Explorer::execute(State& state, const Operation& operation, std::uint32_t block,
                       std::uint32_t segment, std::uint32_t step, View& view) {
  PastAccess now;
  now.step = step;
  now.block = block;
  now.segment = segment;
  now.launch = static_cast<std::int32_t>(operation.launch);
  now.packet_op = operation.packets;
  now.transfer = operation.kind == OpKind::Push;
  // A poll proves that the writer of its packet has begun that launch.
  for (const Statement& statement : operation.statements) {
    for (const Operand& source : statement.sources) {
      for (std::uint32_t k = 0; source.polled && k < source.count; ++k) {
        for (const PastAccess& each : state.accesses[source.cell(k)]) {
          if (each.writes && each.packets && each.block != kNone && each.launch == now.launch) {
            view.join(state.begins[plan_.blocks[each.block].rank][operation.launch]);
          }
        }
      }
    }
  }
  for (const Statement& statement : operation.statements) {
    const std::uint32_t count = statement.sources.front().count;
    for (std::uint32_t k = 0; k < count; ++k) {
      watch_.step();
      now.element = k;
      Content result;
      result.sum.emplace();
      std::int64_t flag = operation.launch;
      std::set<std::uint32_t> proved;
      for (const Operand& source : statement.sources) {
        const Cell cell = source.cell(k);
        const Content& held = state.cells[cell];
        if (source.packets && !source.polled) flag = held.packet;
        if (source.polled) {
          if (held.packet != std::int64_t{operation.launch}) {
            refute(Rule::Deadlock, "a transfer finds another packet than it polled");
          }
          proved.insert(held.reads.begin(), held.reads.end());
          for (const std::uint32_t read : held.reads) state.proofs[read].emplace_back(step, k);
        }
        if (!held.sum) {
          result.sum.reset();
        } else if (result.sum) {
          for (const auto& [contribution, times] : *held.sum) (*result.sum)[contribution] += times;
        }
        result.reads.insert(held.reads.begin(), held.reads.end());
        for (std::uint32_t half = 0; half < (source.packets ? 2U : 1U); ++half) {
          now.start = source.first;
          now.writes = false;
          now.packets = source.packets;
          now.polled = source.polled;
          now.read = static_cast<std::uint32_t>(state.proofs.size());
          state.proofs.emplace_back();
          access(state, cell + half, now, view, {});
          state.accesses[cell + half].push_back(now);
          result.reads.insert(now.read);
        }
      }
      now.read = kNone;
      for (const Operand& target : statement.targets) {
        const Cell cell = target.cell(k);
        now.start = target.first;
        now.writes = true;
        now.packets = target.packets;
        now.polled = false;
        const bool writes_back = !statement.sources.empty() && statement.sources.front().polled &&
                                 statement.sources.front().first == target.first;
        if (target.packets && !writes_back &&
            state.cells[cell].packet == std::int64_t{operation.launch}) {
          refute(Rule::PacketOverwritten, "two packets of one launch in " + describe(plan_, cell));
        }
        for (std::uint32_t half = 0; half < (target.packets ? 2U : 1U); ++half) {
          access(state, cell + half, now, view, proved);
          state.accesses[cell + half].push_back(now);
          state.cells[cell + half] = result;
          state.cells[cell + half].packet = -1;
        }
        if (target.packets) {
          state.cells[cell].packet = flag;
        } else if ((cell - plan_.space_of(cell).first) % 2 == 1) {
          state.cells[cell - 1].packet = -1;
        }
      }
    }
  }
}

std::uint64_t Explorer::hash(const State& state) const {
  std::uint64_t hash = 1469598103934665603U;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211U + 7; };
  for (const BlockState& each : state.blocks) {
    add(each.next);
    add(each.launch * 4 + (each.runs ? 2 : 0) + (each.is_at_barrier ? 1 : 0));
    add(each.needs.value_or(~std::uint64_t{0}));
    add(each.meet.hash());
    add(each.open.hash());
    for (const auto& [lane, view] : each.lanes) add(view.hash() + lane);
  }
  for (const RankState& each : state.ranks) {
    add(each.launch * 2 + (each.runs ? 1 : 0));
    add(each.view.hash());
  }
  for (const CounterState& each : state.counters) {
    add(each.value);
    add(each.expected);
    for (const View& view : each.begins) add(view.hash());
    for (const View& view : each.releases) add(view.hash());
  }
  for (std::size_t q = 0; q < state.pushed.size(); ++q) {
    add(state.pushed[q].size());
    for (const Pushed& each : state.complete[q]) add(each.view.hash());
  }
  for (const Content& each : state.cells) {
    add(static_cast<std::uint64_t>(each.packet + 1));
    if (!each.sum) continue;
    for (const auto& [contribution, times] : *each.sum) {
      add(static_cast<std::uint64_t>(std::get<0>(contribution)) * 65536 +
          std::get<1>(contribution) * 256 + std::get<2>(contribution) + times * 77777);
    }
  }
  for (const auto& cell : state.accesses) {
    std::uint64_t sum = 0;  // whatever their order
    for (const PastAccess& each : cell) {
      sum += (each.step * 2654435761U + each.element * 40503U + (each.writes ? 3 : 1)) * 977;
    }
    add(sum);
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
        if (plan_.collective == "allreduce") {
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

}  // namespace

UnrollingDecision explore(const Unrolling& unrolling, const ExplorerOptions& options,
                          LimitWatch& watch) {
  return Explorer(unrolling, options, watch).run();
}

}  // namespace p2::onesided
