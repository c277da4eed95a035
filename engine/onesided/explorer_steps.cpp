#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/onesided/explorer.h"

namespace p2::onesided::exploration {

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

/// In a state in which no operation can be executed as a whole: whether one can after others have
/// forwarded the packets of those elements that they have polled.
bool Explorer::some_element_goes_on(State state) const {
  std::set<std::pair<const Statement*, std::uint32_t>> forwarded;
  for (bool changed = true; changed;) {
    watch_.step();
    changed = false;
    for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b) {
      const BlockState& block = state.blocks[b];
      const std::vector<Operation>& all = plan_.blocks[b].operations;
      if (!block.runs || block.is_at_barrier || block.next == all.size()) continue;
      const Operation& operation = all[block.next];
      const std::int64_t flag{operation.launch};
      if (operation.kind != OpKind::Compute || operation.launch != block.launch) continue;
      if (is_enabled(state, {Process::Of::Block, b})) return true;
      for (const Statement& statement : operation.statements) {
        for (std::uint32_t k = 0; k < statement.sources.front().count; ++k) {
          const bool has_polled = std::ranges::all_of(statement.sources, [&](const Operand& each) {
            return !each.polled || state.cells[each.cell(k)].packet == flag;
          });
          if (!has_polled || !forwarded.emplace(&statement, k).second) continue;
          changed = true;
          for (const Operand& target : statement.targets) {
            if (target.packets) state.cells[target.cell(k)].packet = flag;
          }
        }
      }
    }
  }
  return false;
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
        const BlockState::Fences& own = block.fences[operation.lane];
        released = operation.local ? own.local_release : own.release;
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
        BlockState::Fences& own = block.fences[operation.lane];
        own.relaxed_waits.join(released);
        if (operation.local) own.local_relaxed_waits.join(released);
      }
      return finish_lane(view);
    }
    case OpKind::Fence: {
      BlockState::Fences& own = block.fences[operation.lane];
      if (acquires(operation.order)) {
        view.join(operation.local ? own.local_relaxed_waits : own.relaxed_waits);
      }
      if (releases(operation.order)) {
        own.local_release = view;
        if (!operation.local) own.release = view;
      }
      return finish_lane(view);
    }
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
    const bool same_element = before.start == now.start && before.element == now.element;
    if (before.step == now.step && same_element) continue;
    const bool threads = !before.transfer && !now.transfer && before.block != kNone &&
                         before.block == now.block && before.segment == now.segment;
    if (threads && same_element && before.packet_op == now.packet_op) continue;
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
  // A poll proves that the writer of its packet has begun that launch: to the element that polls,
  // and after the operation to all.
  const View before = view;
  for (const Statement& statement : operation.statements) {
    const std::uint32_t count = statement.sources.front().count;
    for (std::uint32_t k = 0; k < count; ++k) {
      watch_.step();
      now.element = k;
      Content result;
      result.sum.emplace();
      std::int64_t flag = operation.launch;
      std::set<std::uint32_t> proved;
      View own = before;
      for (const Operand& source : statement.sources) {
        for (const PastAccess& each : state.accesses[source.cell(k)]) {
          if (source.polled && each.writes && !each.packets) {
            refute(Rule::PacketOverwritten, "no packet in " + describe(plan_, source.cell(k)));
          }
          if (source.polled && each.writes && each.packets && each.block != kNone &&
              each.launch == now.launch) {
            own.join(state.begins[plan_.blocks[each.block].rank][operation.launch]);
          }
        }
      }
      view.join(own);
      for (const Operand& source : statement.sources) {
        const Cell cell = source.cell(k);
        const Content& held = state.cells[cell];
        if (source.packets && !source.polled) flag = held.packet;
        if (source.polled) {
          if (held.packet != std::int64_t{operation.launch}) {
            refute(Rule::Deadlock, "a transfer finds a different packet from the one it polled");
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
          access(state, cell + half, now, own, {});
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
          access(state, cell + half, now, own, proved);
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

}  // namespace p2::onesided::exploration
