// What several programs say to each other: messages by channel and pair of devices, and collectives
// that span programs.

#include "proofs/kernel/xla/programs.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// What waits for other devices, or may: also what is not known of this kind.
bool may_communicate(const std::string& opcode) {
  for (const char* begin : {"all-gather", "all-reduce", "all-to-all", "async-", "collective-",
                            "ragged-all-to-all", "recv", "reduce-scatter", "send"}) {
    if (opcode.starts_with(begin)) return true;
  }
  return false;
}

bool is_collective(const std::string& opcode) {
  return is_one_of(opcode, {"all-gather", "all-gather-start", "all-reduce", "all-reduce-start",
                            "all-to-all", "collective-broadcast", "collective-permute",
                            "collective-permute-start", "reduce-scatter"});
}

/// The same elements in the same order in memory.
bool are_same(const Shape& a, const Shape& b) {
  const auto layout = [](const Shape& shape) {
    Index order = shape.layout;
    if (order.empty()) {
      order.resize(shape.sizes.size());
      std::iota(order.rbegin(), order.rend(), 0);
    }
    return order;
  };
  return !a.is_tuple && !b.is_tuple && a.type == b.type && a.sizes == b.sizes &&
         layout(a) == layout(b) && a.tiles == b.tiles;
}

/// The arrays that members of a collective have, and what is known of it but its groups.
std::map<std::string, std::string> description_of(const Instruction& instruction) {
  std::map<std::string, std::string> all(instruction.attributes.begin(),
                                         instruction.attributes.end());
  for (const char* key : {"replica_groups", "source_target_pairs", "to_apply"}) all.erase(key);
  all["opcode"] = instruction.opcode;
  return all;
}

/// Pairs of source and target, as the frontend_attributes of a send or recv say.
std::vector<std::pair<std::size_t, std::size_t>> pairs_in(std::string_view attributes,
                                                          std::size_t devices) {
  std::vector<Index> lists;
  for (const std::string_view each : split(stripped(attributes, '{', '}'))) {
    const std::size_t equals = std::min(each.find('='), each.size());
    const std::string key(trimmed(each.substr(0, equals)));
    if (key == "_xla_send_recv_pipeline") continue;
    if (key != "_xla_send_recv_source_target_pairs") not_covered("messages with " + printable(key));
    std::string_view list = trimmed(each.substr(std::min(equals + 1, each.size())));
    if (list.starts_with('"')) list = stripped(list, '"', '"');
    lists = id_lists(list);
  }
  if (lists.empty()) not_covered("messages without pairs of devices");
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const Index& each : lists) {
    if (each.size() != 2 || std::ranges::any_of(each, [&](std::int64_t id) {
          return id < 0 || static_cast<std::size_t>(id) >= devices;
        }))
      malformed("a pair of a message");
    pairs.emplace_back(each[0], each[1]);
  }
  return pairs;
}

}  // namespace

Program::Program(Module module_run, std::vector<std::size_t> devices_running, std::size_t all)
    : module(std::move(module_run)),
      devices(std::move(devices_running)),
      counts{module.replicas, module.partitions} {
  constexpr std::int64_t kMost = 1 << 20;
  if (counts.replicas < 1 || counts.partitions < 1 || counts.replicas > kMost ||
      counts.partitions > kMost)
    malformed("the number of devices of a program");
  is_alone = counts.count() == devices.size();
  if (!is_alone && counts.count() != all) malformed("a program for another number of devices");
}

Programs::Programs(std::vector<Program> programs, std::size_t devices, Budget& budget)
    : programs_(std::move(programs)), own_number_(devices, 0), steps_(programs_.size()) {
  constexpr std::size_t kNobody = SIZE_MAX;
  program_of_.assign(devices, kNobody);
  for (std::size_t k = 0; k < programs_.size(); ++k) {
    for (std::size_t own = 0; own < programs_[k].devices.size(); ++own) {
      const std::size_t device = programs_[k].devices[own];
      if (program_of_.at(device) != kNobody) reject("a device runs two programs");
      program_of_[device] = k;
      own_number_[device] = own;
    }
  }
  if (std::find(program_of_.begin(), program_of_.end(), kNobody) != program_of_.end())
    reject("a device runs no program");
  for (std::size_t k = 0; k < programs_.size(); ++k) read(k, budget);
  match_messages();
  match_collectives(budget);
  require_progress(budget);
}

void Programs::read(std::size_t program, Budget& budget) {
  const Module& module = programs_[program].module;
  for (const auto& [name, computation] : module.computations) {
    if (name == module.entry) continue;
    for (const Instruction& each : computation.instructions) {
      if (may_communicate(each.opcode)) not_covered(each.opcode + " inside of a loop or a call");
    }
  }
  const auto arithmetic = make_numbers(0, 0);
  Interpreter interpreter(module, *arithmetic, programs_[program].counts, budget);
  Reading reading{interpreter};
  const auto& instructions = module.main().instructions;
  std::vector<bool> is_local;    // by kind of instruction: it neither waits for others nor says so
  std::vector<bool> is_message;  // by instruction
  std::set<std::string> before;  // names of instructions, as far as they were asked for
  std::size_t named = 0;
  std::map<std::size_t, std::size_t> steps;  // of starts of collectives
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& each = instructions[i];
    const Site site{program, i};
    budget.spend(16 + each.operands.size());
    is_message.push_back(each.opcode == "send" || each.opcode == "recv");
    // Only its end may use what a message is made or received with.
    for (const std::uint32_t operand : each.operands) {
      if (is_message.at(operand) && each.opcode != instructions[operand].opcode + "-done")
        malformed("only a " + instructions[operand].opcode + "-done may use a " +
                  instructions[operand].opcode);
    }
    if (each.kind < is_local.size() && is_local[each.kind]) continue;
    const bool communicates = may_communicate(each.opcode);
    const bool has_order = each.has("control-predecessors");
    if (each.kind != 0 && !communicates && !has_order) {
      is_local.resize(std::max<std::size_t>(is_local.size(), each.kind + 1));
      is_local[each.kind] = true;
    }
    if (has_order) {
      for (; named < i; ++named) before.insert(instructions[named].name);
      for (const std::string_view name :
           split(stripped(each.attribute("control-predecessors"), '{', '}'))) {
        const std::string_view plain = trimmed(name);
        if (!before.contains(std::string(plain.starts_with('%') ? plain.substr(1) : plain)))
          not_covered("a control dependency against the order of the text");
      }
    }
    if (!communicates) continue;
    budget.spend(8 * programs_[program].devices.size());
    if (each.opcode == "send" || each.opcode == "recv") {
      read_message(site);
    } else if (is_collective(each.opcode)) {
      if (each.opcode.ends_with("-start")) steps[i] = steps_[program].size();
      read_collective(site, reading);
    } else if (each.opcode.ends_with("-done")) {
      read_done(site, steps);
    } else {
      not_covered(each.opcode + " in one of several programs");
    }
  }
}

auto Programs::pairs_of(const Instruction& message) -> const Pairs& {
  for (const auto& [key, value] : message.attributes) {
    if (key == "is_host_transfer" && value == "true") not_covered("a transfer with the host");
    if (!is_one_of(key, {"backend_config", "channel_id", "control-predecessors",
                         "frontend_attributes", "is_host_transfer", "sharding"}))
      not_covered("a message with " + printable(key));
  }
  if (!message.has("frontend_attributes")) not_covered("messages without pairs of devices");
  const std::string& attributes = message.attribute("frontend_attributes");
  auto known = pairs_.find(attributes);
  if (known == pairs_.end())
    known = pairs_.emplace(attributes, pairs_in(attributes, device_count())).first;
  return known->second;
}

void Programs::read_message(const Site& site) {
  const Instruction& instruction = at(site);
  const bool sends = instruction.opcode == "send";
  const std::int64_t channel = instruction.number("channel_id", -1);
  const auto& parts = instruction.shape.parts;
  if (channel < 0) not_covered("a message without a channel");
  if (instruction.operands.size() != (sends ? 2U : 1U) || parts.size() != 3 || parts[0].is_tuple ||
      parts[1].type.name != "u32" || parts[2].type.name != "token")
    malformed("the operands or the shape of a " + instruction.opcode);
  Step step{sends ? Step::Kind::Send : Step::Kind::Receive,
            std::vector<std::uint32_t>(programs_[site.program].devices.size(), kNoNumber)};
  auto& endings = endings_[site];
  for (const auto& [source, target] : pairs_of(instruction)) {
    const std::size_t device = sends ? source : target;
    if (program_of_[device] != site.program) continue;
    const auto [key, is_new] = messages_.number({channel, source, target});
    const auto message = static_cast<std::uint32_t>(key);
    if (is_new) ends_.emplace_back();
    auto& side = sends ? ends_[message].send : ends_[message].receive;
    if (side) not_covered("two messages of one pair of devices on one channel");
    side = site;
    std::uint32_t& number = step.numbers[own_number_[device]];
    if (number != kNoNumber) reject("two messages of one device in one instruction");
    number = message;
    endings.push_back({message, source, target});
  }
  steps_[site.program].push_back(std::move(step));
}

void Programs::read_done(const Site& site, std::map<std::size_t, std::size_t>& steps) {
  const Instruction& instruction = at(site);
  const std::string begun = instruction.opcode.substr(0, instruction.opcode.size() - 5);
  if (instruction.operands.size() != 1) malformed("the operands of " + instruction.opcode);
  const Site start{site.program, instruction.operands[0]};
  auto& own = steps_[site.program];
  if (begun != "send" && begun != "recv") {
    const auto found = steps.find(start.instruction);
    if (found == steps.end() || at(start).opcode != begun + "-start")
      malformed(instruction.opcode + " of another operation");
    own.push_back({Step::Kind::Done, own.at(found->second).numbers});
    return;
  }
  if (at(start).opcode != begun ||
      instruction.number("channel_id", -1) != at(start).number("channel_id", -1))
    malformed(instruction.opcode + " of another operation");
  if (begun == "send") return;
  dones_.emplace(site, start);
  if (!ended_.insert(start).second) malformed("two recv-dones of one recv");
  const auto& parts = instruction.shape.parts;
  if (parts.size() != 2 || !are_same(parts[0], at(start).shape.parts[0]) ||
      parts[1].type.name != "token")
    malformed("the shape of a recv-done");
  Step step{Step::Kind::ReceiveDone,
            std::vector<std::uint32_t>(programs_[site.program].devices.size(), kNoNumber)};
  for (const Ending& each : endings_.at(start))
    step.numbers[own_number_[each.target]] = each.message;
  own.push_back(std::move(step));
}

void Programs::match_messages() {
  // The first that is wrong is named, in the order of channels and devices.
  std::vector<std::size_t> wrong;
  const Ends* last = nullptr;  // messages of one pair of instructions follow each other, mostly
  for (std::size_t each = 0; each < messages_.size(); ++each) {
    const Ends& ends = ends_[each];
    const bool is_as_last =
        last != nullptr && last->send == ends.send && last->receive == ends.receive;
    if (!is_as_last && !has_counterpart(ends)) wrong.push_back(each);
    if (wrong.empty()) last = &ends;
  }
  if (!wrong.empty()) {
    const std::size_t first = *std::min_element(
        wrong.begin(), wrong.end(),
        [&](std::size_t a, std::size_t b) { return messages_.at(a) < messages_.at(b); });
    const Message& message = messages_.at(first);
    const bool has_both = ends_[first].send && ends_[first].receive;
    reject(has_both ? "what is received has another shape than what is sent"
                    : "device " + std::to_string(message.source) + " and device " +
                          std::to_string(message.target) + ": a message without its counterpart");
  }
  for (const auto& [site, start] : dones_) {
    Sources sources(programs_[site.program].devices.size());
    for (const Ending& each : endings_.at(start)) {
      const Site& send = ends_[each.message].send.value();
      const Site value{send.program, at(send).operands[0]};
      sources[own_number_[each.target]] = {value, own_number_[each.source]};
    }
    receives_.emplace(site, std::move(sources));
  }
}

bool Programs::has_counterpart(const Ends& ends) const {
  if (!ends.send || !ends.receive) return false;
  const Instruction& send = at(*ends.send);
  const Shape& value = at({ends.send->program, send.operands[0]}).shape;
  return are_same(value, send.shape.parts[0]) && are_same(value, at(*ends.receive).shape.parts[0]);
}

/// All that are connected wait for each other.
auto Programs::members_of_permute(const Program& program, const Instruction& instruction,
                                  Interpreter& interpreter) -> Members {
  Members members;
  const auto senders = interpreter.senders_of(program.module.main(), instruction);
  std::vector<std::size_t> root(senders.size());
  std::iota(root.begin(), root.end(), 0);
  const auto root_of = [&](std::size_t id) {
    while (root[id] != id) id = root[id];
    return id;
  };
  for (std::size_t id = 0; id < root.size(); ++id) {
    if (!senders[id]) continue;
    members.sources[program.device_of(id)] = program.device_of(*senders[id]);
    root[root_of(id)] = root_of(*senders[id]);
  }
  std::map<std::size_t, std::vector<std::size_t>> components;
  for (std::size_t id = 0; id < root.size(); ++id)
    components[root_of(id)].push_back(program.device_of(id));
  for (auto& [first, all] : components) members.groups.push_back(std::move(all));
  return members;
}

void Programs::keep_own(std::size_t program, Members& members) const {
  const auto is_own = [&](std::size_t device) { return program_of_.at(device) == program; };
  std::erase_if(members.groups,
                [&](const auto& group) { return std::ranges::none_of(group, is_own); });
  members.spans = !std::ranges::all_of(
      members.groups, [&](const auto& group) { return std::ranges::all_of(group, is_own); });
}

void Programs::read_collective(const Site& site, Reading& reading) {
  const Instruction& instruction = at(site);
  const Program& program = programs_[site.program];
  Members permuted;
  const Members* members = &permuted;
  if (instruction.opcode.starts_with("collective-permute")) {
    permuted = members_of_permute(program, instruction, reading.interpreter);
    keep_own(site.program, permuted);
  } else {
    const bool reduces = !instruction.opcode.starts_with("all-to-all") &&
                         instruction.opcode != "collective-broadcast";
    const Groups& groups = reading.interpreter.groups_of(instruction, reduces);
    const auto [known, is_new] = reading.members.try_emplace(&groups);
    if (is_new) {
      known->second.groups = groups;
      for (auto& group : known->second.groups) {
        for (std::size_t& each : group) each = program.device_of(each);
      }
      keep_own(site.program, known->second);
    }
    members = &known->second;
  }
  const std::int64_t channel = instruction.number("channel_id", 0);
  by_channel_[{site.program, channel}].push_back(site);
  std::vector<Step>& steps = steps_[site.program];
  const bool is_start = instruction.opcode.ends_with("-start");
  // Members of one meeting that come to the next one together wait for nobody else there.
  if (!is_start && members == reading.last && steps.size() == reading.steps) return;
  Step step{is_start ? Step::Kind::Start : Step::Kind::Collective,
            std::vector<std::uint32_t>(program.devices.size(), kNoNumber)};
  for (const auto& group : members->groups) {
    const bool is_wide = members->spans && std::ranges::any_of(group, [&](std::size_t each) {
                           return program_of_[each] != site.program;
                         });
    auto number = static_cast<std::uint32_t>(meetings_.size());
    if (is_wide) {
      if (channel <= 0) not_covered("a collective that spans programs, without a channel");
      number = spanning_meetings_.emplace(std::pair(channel, group), number).first->second;
    }
    if (number == meetings_.size()) meetings_.push_back(group.size());
    for (const std::size_t each : group) {
      if (program_of_[each] == site.program) step.numbers[own_number_[each]] = number;
    }
  }
  steps.push_back(std::move(step));
  const bool may_repeat = !is_start && !members->spans && members != &permuted;
  reading.last = may_repeat ? members : nullptr;
  reading.steps = steps.size();
  if (!members->spans) return;
  groups_[site] = members->groups;
  permutes_[site] = members->sources;
}

void Programs::match_collectives(Budget& budget) {
  for (const auto& [first, own_groups] : groups_) {
    const std::int64_t channel = at(first).number("channel_id", 0);
    std::set<Site> all = {first};
    std::vector<Site> open = {first};
    while (!open.empty()) {
      const Site site = open.back();
      open.pop_back();
      for (const auto& group : groups_.at(site)) {
        budget.spend(16 * group.size());
        for (const std::size_t device : group) {
          const auto found = by_channel_.find({program_of_[device], channel});
          if (found == by_channel_.end()) reject("a collective without its counterpart");
          if (found->second.size() != 1) not_covered("several collectives of one channel");
          const Site other = found->second[0];
          const auto known = groups_.find(other);
          if (known == groups_.end() ||
              std::find(known->second.begin(), known->second.end(), group) == known->second.end())
            reject("programs have a group of a collective differently");
          const auto source_by = [&](const Site& each) {
            const auto& sources = permutes_.at(each);
            const auto source = sources.find(device);
            return source == sources.end() ? device_count() : source->second;
          };
          if (source_by(site) != source_by(other))
            reject("programs have the pairs of a collective differently");
          if (!all.insert(other).second) continue;
          require_same_operation(first, other);
          open.push_back(other);
        }
      }
    }
    spanning_[first].assign(all.begin(), all.end());
  }
}

void Programs::require_same_operation(const Site& a, const Site& b) const {
  const auto shapes = [&](const Site& site) {
    std::vector<Shape> all = arrays_of(at(site).shape);
    for (const std::uint32_t operand : at(site).operands) {
      for (Shape& shape : arrays_of(at({site.program, operand}).shape))
        all.push_back(std::move(shape));
    }
    return all;
  };
  const auto a_shapes = shapes(a);
  const auto b_shapes = shapes(b);
  const bool has_reducer = at(a).has("to_apply");
  const auto reducer = [&](const Site& site) {
    return reducer_of(programs_[site.program].module, at(site));
  };
  if (description_of(at(a)) != description_of(at(b)) || has_reducer != at(b).has("to_apply") ||
      !std::equal(a_shapes.begin(), a_shapes.end(), b_shapes.begin(), b_shapes.end(), are_same))
    reject("a collective that programs have differently");
  if (has_reducer && (!reducer(a) || reducer(a) != reducer(b)))
    not_covered("a reducer of a collective that spans programs");
}

}  // namespace p2::kernel::xla
