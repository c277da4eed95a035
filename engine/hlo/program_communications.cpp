// The messages and collectives of programs that run together: who runs what, which send belongs to
// which receive, and which collectives are one.

#include "engine/hlo/program_communications.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "engine/hlo/interpreter/array.h"

namespace p2::hlo {
namespace {

using interpreter::give_up;

[[noreturn]] void refuse_program(const char* rule, const Instruction& instruction,
                                 const std::string& why) {
  throw IllFormed({rule, fmt::format("{} {}: {}.", instruction.opcode, instruction.name, why),
                   instruction.position});
}

bool is_context(const Instruction& instruction) {
  return instruction.opcode == "send" || instruction.opcode == "recv";
}

std::string channel_text(const Instruction& instruction) {
  const std::int64_t channel = instruction.attributes.channel;
  return channel == 0 ? "without a channel" : fmt::format("channel {}", channel);
}

/// The value inside the context of a send or a receive.
const Shape& value_shape(const Instruction& context) {
  const Shape& shape = context.shape;
  if (!shape.is_tuple || shape.parts.size() != 3 || shape.parts[0].is_tuple) {
    give_up(context, "its shape is not an array, a context and a token");
  }
  return shape.parts[0];
}

bool is_same(const Shape& a, const Shape& b) {
  return !b.is_tuple && a.array.same_sizes(b.array) && a.array.type == b.array.type;
}

/// Gives up unless two arrays are in memory alike: what is sent is bytes.
void require_same_layout(const Shape& a, const Shape& b, const Instruction& instruction) {
  const bool alike = (a.array.row_major() && b.array.row_major()) ||
                     a.array.minor_to_major == b.array.minor_to_major;
  if (!alike) give_up(instruction, "its layout is not that of what is sent");
}

}  // namespace

std::vector<std::vector<std::uint32_t>> Members::sets() const {
  std::vector<std::vector<std::uint32_t>> all = groups;
  for (const auto& [source, target] : pairs) all.push_back({source, target});
  return all;
}

ProgramPlacement::ProgramPlacement(const std::vector<PlacedProgram>& programs,
                                   std::uint32_t devices)
    : programs_(programs), program_of_(devices, 0) {
  for (std::uint32_t k = 0; k < programs.size(); ++k) {
    const Module& module = *programs[k].module;
    for (const std::uint32_t device : programs[k].devices) program_of_[device] = k;
    counts_.push_back({module.replicas.value_or(1), module.partitions.value_or(1)});
    is_alone_.push_back(counts_[k].count() == programs[k].devices.size());
    if (!is_alone_[k] && counts_[k].count() != devices) {
      throw InputError(
          {module.file, 1, 1},
          fmt::format("the module is for {} devices, expected the {} that run it or all {}",
                      counts_[k].count(), programs[k].devices.size(), devices));
    }
  }
}

std::vector<LinkedProgram> ProgramPlacement::placed() const {
  std::vector<LinkedProgram> all;
  for (std::uint32_t k = 0; k < count(); ++k) {
    LinkedProgram program{devices(k), devices(k), counts_[k].partitions};
    for (std::uint32_t i = 0; is_alone_[k] && i < program.ids.size(); ++i) program.ids[i] = i;
    all.push_back(std::move(program));
  }
  return all;
}

Members ProgramPlacement::members(std::uint32_t program, const Instruction& collective) const {
  const Collective own = resolve(collective, module(program).language, counts_[program]);
  const auto device = [&](std::uint32_t id) {
    return is_alone_[program] ? devices(program)[id] : id;
  };
  const auto is_own = [&](std::uint32_t each) { return program_of_[each] == program; };
  Members members;
  for (const std::vector<std::uint32_t>& group : own.groups) {
    std::vector<std::uint32_t> named;
    named.reserve(group.size());
    for (const std::uint32_t id : group) named.push_back(device(id));
    if (std::ranges::any_of(named, is_own)) members.groups.push_back(std::move(named));
  }
  for (std::uint32_t id = 0; id < own.source.size(); ++id) {
    if (own.source[id] == kNone) continue;
    const DevicePair pair = {device(own.source[id]), device(id)};
    if (is_own(pair.first) || is_own(pair.second)) members.pairs.push_back(pair);
  }
  return members;
}

bool ProgramPlacement::spans(std::uint32_t program, const Members& members) const {
  return std::ranges::any_of(members.sets(), [&](const auto& set) {
    return std::ranges::any_of(set, [&](auto each) { return program_of_[each] != program; });
  });
}

std::vector<DevicePair> ProgramPlacement::pairs_of(const ProgramInstruction& place) const {
  const Instruction& instruction = at(place);
  const bool sends = instruction.opcode == "send";
  std::vector<DevicePair> pairs;
  std::set<std::uint32_t> seen;
  for (const auto& [from, to] : instruction.attributes.pairs) {
    if (static_cast<std::size_t>(std::max(from, to)) >= program_of_.size()) {
      refuse_program("pairs", instruction,
                     fmt::format("device {} does not exist, there are {}", std::max(from, to),
                                 program_of_.size()));
    }
    const DevicePair pair = {static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)};
    const std::uint32_t own = sends ? pair.first : pair.second;
    if (program_of_[own] != place.program) continue;
    if (!seen.insert(own).second) {
      refuse_program("pairs", instruction,
                     fmt::format("{} {} twice", sends ? "source" : "target", own));
    }
    pairs.push_back(pair);
  }
  if (pairs.empty() && !instruction.attributes.pairs.empty()) {
    throw InputError(
        instruction.position,
        fmt::format("no pair has a {} that runs this program, expected devices of the whole",
                    sends ? "source" : "target"));
  }
  return pairs;
}

ProgramCommunications::ProgramCommunications(const ProgramPlacement& placement)
    : placement_(placement) {
  for (std::uint32_t k = 0; k < placement_.count(); ++k) collect(k);
  match_messages();
  unite_collectives();
  require_no_deadlock(order());
}

const std::vector<ProgramInstruction>& ProgramCommunications::parts(
    const ProgramInstruction& place) const {
  static const std::vector<ProgramInstruction> kNoParts;
  const auto found = united_.find(place);
  return found == united_.end() ? kNoParts : parts_.at(found->second);
}

void ProgramCommunications::collect(std::uint32_t program) {
  const Computation& entry = placement_.entry(program);
  for (std::uint32_t i = 0; i < entry.instructions.size(); ++i) {
    const Instruction& each = entry.instructions[i];
    const ProgramInstruction place{program, i};
    if (is_context(each)) add_message(place);
    require_used_by_done(place);
    if (!is_collective(base_opcode(each.opcode))) continue;
    const Members& members =
        members_.emplace(place, placement_.members(program, each)).first->second;
    if (placement_.spans(program, members)) united_.emplace(place, place);
    by_channel_[{program, each.attributes.channel}].push_back(i);
  }
}

void ProgramCommunications::add_message(const ProgramInstruction& place) {
  const Instruction& instruction = placement_.at(place);
  const bool sends = instruction.opcode == "send";
  if (instruction.operands.size() != (sends ? 2 : 1)) {
    refuse_program("operands", instruction,
                   sends ? "a value and a token are expected" : "a token is expected");
  }
  std::vector<DevicePair> pairs = placement_.pairs_of(place);
  if (pairs.empty()) pairs = implied_pairs(place);
  for (const auto& [source, target] : pairs) {
    Message& message = messages_[{instruction.attributes.channel, source, target}];
    std::optional<std::uint32_t>& side = sends ? message.send : message.receive;
    if (side) {
      give_up(instruction, fmt::format("a second {} from device {} to {}, {}", instruction.opcode,
                                       source, target, channel_text(instruction)));
    }
    side = place.number;
  }
  pairs_[place] = std::move(pairs);
}

/// Without pairs, the only peer on the channel, if both are programs of one device.
std::vector<DevicePair> ProgramCommunications::implied_pairs(
    const ProgramInstruction& place) const {
  const Instruction& instruction = placement_.at(place);
  const bool sends = instruction.opcode == "send";
  std::optional<std::uint32_t> peer;
  bool is_clear = placement_.devices(place.program).size() == 1;
  for (std::uint32_t k = 0; k < placement_.count(); ++k) {
    for (const Instruction& each : placement_.entry(k).instructions) {
      if (!is_context(each) || &each == &instruction ||
          each.attributes.channel != instruction.attributes.channel) {
        continue;
      }
      is_clear = is_clear && !peer && each.opcode != instruction.opcode && k != place.program &&
                 each.attributes.pairs.empty() && placement_.devices(k).size() == 1;
      peer = k;
    }
  }
  if (!peer || !is_clear) give_up(instruction, "it has no source-target pairs");
  const std::uint32_t own = placement_.devices(place.program)[0];
  const std::uint32_t other = placement_.devices(*peer)[0];
  return {sends ? DevicePair{own, other} : DevicePair{other, own}};
}

void ProgramCommunications::match_messages() {
  for (const auto& [key, message] : messages_) {
    const auto& [channel, source, target] = key;
    const ProgramInstruction send{placement_.program_of(source), message.send.value_or(0)};
    const ProgramInstruction receive{placement_.program_of(target), message.receive.value_or(0)};
    if (!message.receive) {
      refuse_program("unmatched", placement_.at(send),
                     fmt::format("device {} sends to device {}, {}, which does not receive it",
                                 source, target, channel_text(placement_.at(send))));
    }
    if (!message.send) {
      refuse_program("unmatched", placement_.at(receive),
                     fmt::format("device {} receives from device {}, {}, which does not send it",
                                 target, source, channel_text(placement_.at(receive))));
    }
    require_same_shape(send, receive);
  }
  for (const auto& [done, context] : dones_) {
    if (placement_.at(done).opcode != "recv-done") continue;
    std::vector<Source>& sources = sources_[done];
    for (const DevicePair& pair : pairs_.at(context)) {
      const Message& message =
          messages_.at({placement_.at(context).attributes.channel, pair.first, pair.second});
      sources.push_back({{placement_.program_of(pair.first), *message.send}, pair});
    }
  }
}

void ProgramCommunications::require_same_shape(const ProgramInstruction& send,
                                               const ProgramInstruction& receive) const {
  const Instruction& sent = placement_.at(send);
  const Instruction& received = placement_.at(receive);
  const Shape& value = placement_.entry(send.program).instructions[sent.operands[0]].shape;
  if (value.is_tuple) give_up(sent, "it sends a tuple");
  for (const Instruction* each : {&sent, &received}) {
    if (is_same(value, value_shape(*each))) continue;
    refuse_program("shapes", *each,
                   fmt::format("its shape is {}, what is sent is {}", to_string(value_shape(*each)),
                               to_string(value)));
  }
  require_same_layout(value, value_shape(sent), sent);
  require_same_layout(value, value_shape(received), received);
}

/// A context may only be used by its done, and by one.
void ProgramCommunications::require_used_by_done(const ProgramInstruction& place) {
  const Instruction& user = placement_.at(place);
  for (const std::uint32_t operand : user.operands) {
    const ProgramInstruction used{place.program, operand};
    const Instruction& context = placement_.at(used);
    if (!is_context(context)) continue;
    if (user.opcode != context.opcode + "-done" || user.operands.size() != 1) {
      refuse_program("operands", user,
                     fmt::format("only a {}-done may use {}", context.opcode, context.name));
    }
    if (user.attributes.channel != context.attributes.channel) {
      refuse_program("operands", user, fmt::format("{} is on another channel", context.name));
    }
    const bool again =
        std::ranges::any_of(dones_, [&](const auto& each) { return each.second == used; });
    if (again) refuse_program("operands", user, fmt::format("a second done of {}", context.name));
    dones_[place] = used;
  }
  if (user.opcode != "send-done" && user.opcode != "recv-done") return;
  if (!dones_.contains(place))
    refuse_program("operands", user, "its operand is not the matching start");
  if (user.opcode == "send-done") return;
  const Shape& value = value_shape(placement_.at(dones_[place]));
  if (!user.shape.is_tuple || user.shape.parts.size() != 2 ||
      !is_same(value, user.shape.parts[0])) {
    refuse_program("shapes", user, fmt::format("({}, token) is expected", to_string(value)));
  }
  require_same_layout(value, user.shape.parts[0], user);
}

void ProgramCommunications::unite_collectives() {
  const std::map<ProgramInstruction, ProgramInstruction> spanning = united_;
  for (const auto& [place, itself] : spanning) {
    const Instruction& instruction = placement_.at(place);
    if (instruction.attributes.channel == 0) {
      give_up(instruction, "it spans programs and has no channel");
    }
    for (const auto& set : members_.at(place).sets()) {
      for (const std::uint32_t device : set) join(place, device, set);
    }
  }
  for (auto& [place, root] : united_) {
    root = root_of(place);
    parts_[root].push_back(place);
  }
}

ProgramInstruction ProgramCommunications::root_of(ProgramInstruction place) const {
  while (united_.at(place) != place) place = united_.at(place);
  return place;
}

/// `device`, of another program, takes part in `set` of the collective at `place`.
void ProgramCommunications::join(const ProgramInstruction& place, std::uint32_t device,
                                 const std::vector<std::uint32_t>& set) {
  const std::uint32_t program = placement_.program_of(device);
  if (program == place.program) return;
  const Instruction& instruction = placement_.at(place);
  const auto found = by_channel_.find({program, instruction.attributes.channel});
  if (found == by_channel_.end()) {
    refuse_program("unmatched", instruction,
                   fmt::format("device {}, which runs {}, has no collective of {}", device,
                               placement_.module(program).file, channel_text(instruction)));
  }
  if (found->second.size() > 1) {
    give_up(instruction, fmt::format("several collectives of {} on device {}",
                                     channel_text(instruction), device));
  }
  const ProgramInstruction other{program, found->second[0]};
  const std::vector<std::vector<std::uint32_t>> sets = members_.at(other).sets();
  if (std::ranges::find(sets, set) == sets.end()) {
    const Instruction& peer = placement_.at(other);
    refuse_program("groups", instruction,
                   fmt::format("{} ({}:{}) has other groups", peer.name, peer.position.source,
                               peer.position.line));
  }
  require_same_operation(place, other);
  united_.at(root_of(other)) = root_of(place);
}

void ProgramCommunications::require_same_operation(const ProgramInstruction& place,
                                                   const ProgramInstruction& other) const {
  const Instruction& instruction = placement_.at(place);
  const Instruction& peer = placement_.at(other);
  const auto text_of = [&](const ProgramInstruction& of) {
    const Instruction& each = placement_.at(of);
    std::string text = each.opcode;
    for (const std::uint32_t operand : each.operands) {
      text += " " + to_string(placement_.entry(of.program).instructions[operand].shape);
    }
    return fmt::format("{} to {} {}", text, to_string(each.shape), each.attributes.others);
  };
  const Attributes& a = instruction.attributes;
  const Attributes& b = peer.attributes;
  if (text_of(place) != text_of(other) || a.dimensions != b.dimensions ||
      a.concat_dimension != b.concat_dimension || reducer(place) != reducer(other)) {
    refuse_program("operands", instruction,
                   fmt::format("{} ({}:{}), of the same channel, is another operation", peer.name,
                               peer.position.source, peer.position.line));
  }
  if (!instruction.called.empty() && reducer(place) == Reducer::Unknown) {
    give_up(instruction, "it spans programs, and its reducer is not known");
  }
}

Reducer ProgramCommunications::reducer(const ProgramInstruction& place) const {
  const Instruction& instruction = placement_.at(place);
  if (instruction.called.size() != 1) return Reducer::Unknown;
  return reducer_of(placement_.module(place.program).computations[instruction.called[0]]);
}

CommunicationOrder ProgramCommunications::order() const {
  using Step = CommunicationOrder::Step;
  CommunicationOrder order{{}, placement_.program_of(), {}};
  std::map<ProgramInstruction, std::uint32_t> numbers;
  for (std::uint32_t k = 0; k < placement_.count(); ++k) {
    order.programs.push_back(&placement_.module(k));
    std::vector<Communication>& own = order.communications.emplace_back();
    for (std::uint32_t i = 0; i < placement_.entry(k).instructions.size(); ++i) {
      const ProgramInstruction place{k, i};
      const bool inside = has_collectives_inside(place);
      if (!inside && !pairs_.contains(place) && !dones_.contains(place) &&
          !members_.contains(place) && !start_of(place)) {
        continue;
      }
      numbers[place] = static_cast<std::uint32_t>(own.size());
      own.push_back({i, !inside});
    }
  }
  const auto step = [&](std::uint32_t device, std::uint32_t instruction) -> Step {
    return {device, numbers.at({placement_.program_of(device), instruction})};
  };
  // Recv before Send before RecvDone and SendDone.
  for (const auto& [key, message] : messages_) {
    const auto& [channel, source, target] = key;
    order.waits.push_back({step(source, *message.send), step(target, *message.receive)});
  }
  for (const auto& [done, sources] : sources_) {
    for (const Source& each : sources) {
      order.waits.push_back(
          {step(each.pair.second, done.number), step(each.pair.first, each.send.number)});
    }
  }
  for (const auto& [place, number] : numbers) {
    if (has_collectives_inside(place)) {
      CommunicationOrder::Rendezvous all;
      for (const std::uint32_t device : placement_.devices(place.program)) {
        all.members.push_back(step(device, place.number));
      }
      all.waiting = all.members;
      order.rendezvous.push_back(std::move(all));
      continue;
    }
    const auto start = start_of(place);
    const bool starts = placement_.at(place).opcode.ends_with("-start");
    if (starts || (!start && !members_.contains(place))) continue;
    const ProgramInstruction collective = start.value_or(place);
    for (const auto& set : waiting_sets(collective)) {
      CommunicationOrder::Rendezvous each{{}, {}, start.has_value()};
      for (const std::uint32_t device : set) {
        const std::uint32_t program = placement_.program_of(device);
        each.members.push_back(step(device, counterpart(collective, program).number));
        if (program == place.program) each.waiting.push_back(step(device, place.number));
      }
      order.rendezvous.push_back(std::move(each));
    }
  }
  return order;
}

/// The devices that wait for each other: groups, and all that pairs connect, those of the other
/// programs that are one with it among them; as far as devices of its program are in them.
std::vector<std::vector<std::uint32_t>> ProgramCommunications::waiting_sets(
    const ProgramInstruction& collective) const {
  std::vector<std::vector<std::uint32_t>> sets = members_.at(collective).groups;
  std::map<std::uint32_t, std::uint32_t> next;  // towards the device that names those connected
  const auto name_of = [&](std::uint32_t device) {
    next.try_emplace(device, device);
    while (next.at(device) != device) device = next.at(device);
    return device;
  };
  const auto connect = [&](const ProgramInstruction& part) {
    for (const auto& [source, target] : members_.at(part).pairs)
      next[name_of(source)] = name_of(target);
  };
  connect(collective);
  for (const ProgramInstruction& part : parts(collective)) connect(part);
  std::map<std::uint32_t, std::vector<std::uint32_t>> connected;
  for (const auto& [device, towards] : next) connected[name_of(device)].push_back(device);
  for (auto& [name, devices] : connected) {
    const bool has_own = std::ranges::any_of(devices, [&](std::uint32_t device) {
      return placement_.program_of(device) == collective.program;
    });
    if (has_own) sets.push_back(std::move(devices));
  }
  return sets;
}

bool ProgramCommunications::has_collectives_inside(const ProgramInstruction& place) const {
  return std::ranges::any_of(placement_.at(place).called, [&](std::uint32_t called) {
    return has_collective(placement_.module(place.program), called);
  });
}

/// The asynchronous collective that an instruction is the done of.
std::optional<ProgramInstruction> ProgramCommunications::start_of(
    const ProgramInstruction& place) const {
  const Instruction& instruction = placement_.at(place);
  if (!instruction.opcode.ends_with("-done") || instruction.operands.size() != 1) return {};
  const ProgramInstruction start{place.program, instruction.operands[0]};
  if (!members_.contains(start) || !placement_.at(start).opcode.ends_with("-start")) return {};
  return start;
}

/// The instruction of another program that is the same collective.
ProgramInstruction ProgramCommunications::counterpart(const ProgramInstruction& place,
                                                      std::uint32_t program) const {
  if (program == place.program) return place;
  return {program, by_channel_.at({program, placement_.at(place).attributes.channel})[0]};
}

}  // namespace p2::hlo
