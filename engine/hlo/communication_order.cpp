// Whether the devices of several programs wait for each other in a cycle: a depth-first search of
// what must have been executed before what.

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/program_communications.h"

namespace p2::hlo {
namespace {

using Vertex = std::uint32_t;
using Step = CommunicationOrder::Step;

/// By instruction of an entry: the nearest communications that it is computed from, or that control
/// dependencies put before it, by number.
using Sources = std::vector<std::vector<std::uint32_t>>;

Sources sources_of(const Computation& entry, const std::vector<Communication>& communications) {
  Sources sources(entry.instructions.size());
  std::vector<std::optional<std::uint32_t>> number(entry.instructions.size());
  for (std::uint32_t k = 0; k < communications.size(); ++k) {
    number[communications[k].instruction] = k;
  }
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < entry.instructions.size(); ++i) {
    const Instruction& instruction = entry.instructions[i];
    std::vector<std::uint32_t>& all = sources[i];
    const auto follow = [&](std::size_t earlier) {
      if (number[earlier]) {
        all.push_back(*number[earlier]);
      } else {
        all.insert(all.end(), sources[earlier].begin(), sources[earlier].end());
      }
    };
    std::ranges::for_each(instruction.operands, follow);
    for (const std::string& each : instruction.control_predecessors) {
      const auto earlier = by_name.find(each);
      if (earlier != by_name.end()) follow(earlier->second);
    }
    by_name.insert_or_assign(instruction.name, i);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  return sources;
}

/// A node for every step of a device and for every rendezvous; its edges lead to what must have
/// been executed before.
class WaitGraph {
 public:
  /// With `as_computed`, programs that are not scheduled execute a communication after those only
  /// that it is computed from.
  WaitGraph(const CommunicationOrder& order, bool as_computed) : order_(order) {
    for (std::size_t k = 0; k < order.programs.size(); ++k) {
      const bool computed = as_computed && !order.programs[k]->is_scheduled;
      sources_.emplace_back();
      if (computed) {
        sources_.back() =
            sources_of(order.programs[k]->entry_computation(), order.communications[k]);
      }
    }
    for (const std::uint32_t program : order.program_of) {
      first_.push_back(static_cast<Vertex>(edges_.size()));
      edges_.resize(edges_.size() + order.communications[program].size());
    }
    steps_ = static_cast<Vertex>(edges_.size());
    for (std::uint32_t device = 0; device < first_.size(); ++device) {
      for (std::uint32_t number = 0; number < count_of(device); ++number) {
        edges_[node_of({device, number})] = before({device, number});
      }
    }
    for (const CommunicationOrder::Wait& wait : order.waits) {
      edges_[node_of(wait.later)].push_back(node_of(wait.earlier));
    }
    for (const CommunicationOrder::Rendezvous& each : order.rendezvous) {
      std::vector<Vertex> members;
      for (const Step& member : each.members) {
        const std::vector<Vertex> earlier =
            each.members_are_starts ? std::vector{node_of(member)} : before(member);
        members.insert(members.end(), earlier.begin(), earlier.end());
      }
      for (const Step& waiting : each.waiting) {
        edges_[node_of(waiting)].push_back(static_cast<Vertex>(edges_.size()));
      }
      edges_.push_back(std::move(members));
    }
  }

  /// Steps of which each waits for the next one, and the last one for the first; empty if there are
  /// none.
  std::vector<Step> find_cycle() const {
    enum class State : std::uint8_t { New, Open, Done };
    std::vector<State> states(edges_.size(), State::New);
    std::vector<std::pair<Vertex, std::size_t>> path;  // with the next edge
    for (Vertex start = 0; start < edges_.size(); ++start) {
      if (states[start] != State::New) continue;
      path.emplace_back(start, 0);
      states[start] = State::Open;
      while (!path.empty()) {
        auto& [node, next] = path.back();
        if (next == edges_[node].size()) {
          states[node] = State::Done;
          path.pop_back();
          continue;
        }
        const Vertex to = edges_[node][next++];
        if (states[to] == State::Open) return steps_from(path, to);
        if (states[to] == State::Done) continue;
        states[to] = State::Open;
        path.emplace_back(to, 0);
      }
    }
    return {};
  }

 private:
  std::size_t count_of(std::uint32_t device) const {
    return order_.communications[order_.program_of[device]].size();
  }
  Vertex node_of(const Step& step) const { return first_[step.device] + step.number; }

  /// What a device has executed before it comes to a step.
  std::vector<Vertex> before(const Step& step) const {
    const std::uint32_t program = order_.program_of[step.device];
    if (sources_[program].empty()) {
      return step.number == 0 ? std::vector<Vertex>{} : std::vector{node_of(step) - 1};
    }
    std::vector<Vertex> all;
    const std::uint32_t at = order_.communications[program][step.number].instruction;
    for (const std::uint32_t number : sources_[program][at]) {
      all.push_back(node_of({step.device, number}));
    }
    return all;
  }

  std::vector<Step> steps_from(const std::vector<std::pair<Vertex, std::size_t>>& path,
                               Vertex first) const {
    std::vector<Step> steps;
    bool inside = false;
    for (const auto& [node, next] : path) {
      inside = inside || node == first;
      if (!inside || node >= steps_) continue;
      const auto after = std::upper_bound(first_.begin(), first_.end(), node);
      // Devices without communications have the same first node as the next one.
      const auto device = static_cast<std::uint32_t>(after - first_.begin()) - 1;
      steps.push_back({device, node - first_[device]});
    }
    return steps;
  }

  const CommunicationOrder& order_;
  std::vector<Sources> sources_;  ///< by program; empty for one in the order of its text
  std::vector<Vertex> first_;     ///< by device
  Vertex steps_ = 0;              ///< rendezvous come after
  std::vector<std::vector<Vertex>> edges_;
};

const Instruction& instruction_of(const CommunicationOrder& order, const Step& step) {
  const std::uint32_t program = order.program_of[step.device];
  return order.programs[program]
      ->entry_computation()
      .instructions[order.communications[program][step.number].instruction];
}

/// `send s of device 0 (a.hlo:3) waits for recv r of device 4 (b.hlo:7), which …`. Of steps of one
/// device in a row, the first.
std::string text_of(const CommunicationOrder& order, const std::vector<Step>& cycle) {
  constexpr std::size_t kMaxShown = 8;
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const bool same = cycle[i].device == cycle[(i + cycle.size() - 1) % cycle.size()].device;
    if (same && cycle.size() > 1 && i > 0) continue;
    if (shown++ == kMaxShown) return text + ", …";
    const Instruction& instruction = instruction_of(order, cycle[i]);
    text += fmt::format("{}{} {} of device {} ({}:{})",
                        shown == 1   ? ""
                        : shown == 2 ? " waits for "
                                     : ", which waits for ",
                        instruction.opcode, instruction.name, cycle[i].device,
                        instruction.position.source, instruction.position.line);
  }
  return text + (shown > 1 ? ", which" : "") + " waits for the first";
}

}  // namespace

void require_no_deadlock(const CommunicationOrder& order) {
  std::vector<Step> cycle = WaitGraph(order, false).find_cycle();
  if (cycle.empty()) return;
  const auto certain = [&] {
    return std::ranges::all_of(cycle, [&](const Step& step) {
      return order.communications[order.program_of[step.device]][step.number].is_exact;
    });
  };
  const bool scheduled = std::ranges::all_of(cycle, [&](const Step& step) {
    return order.programs[order.program_of[step.device]]->is_scheduled;
  });
  if (!scheduled) {
    const std::vector<Step> always = WaitGraph(order, true).find_cycle();
    if (always.empty()) {
      interpreter::give_up(
          instruction_of(order, cycle[0]),
          fmt::format("in the order of the text, {}; without is_scheduled=true another order "
                      "may be meant",
                      text_of(order, cycle)));
    }
    cycle = always;
  }
  const Instruction& first = instruction_of(order, cycle[0]);
  if (!certain()) {
    interpreter::give_up(first,
                         fmt::format("{}; inside a loop or a call, devices may wait otherwise",
                                     text_of(order, cycle)));
  }
  throw IllFormed({"deadlock",
                   fmt::format("Devices wait for each other: {}.", text_of(order, cycle)),
                   first.position});
}

}  // namespace p2::hlo
