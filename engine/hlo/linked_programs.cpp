// Links programs that run together to one module whose entry has the instructions of all of them:
// messages and collectives that span programs become edges of its data flow.

#include "engine/hlo/program_communications.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/module_relation.h"

namespace p2::hlo {
namespace {

using interpreter::give_up;

bool is_message(const Instruction& instruction) {
  const std::string& opcode = instruction.opcode;
  return opcode == "send" || opcode == "recv" || opcode == "send-done" || opcode == "recv-done";
}

/// Gives up on what linked programs may not have.
void require_understood(const Module& module) {
  for (const Computation& computation : module.computations) {
    const bool is_entry = &computation == &module.entry_computation();
    for (const Instruction& each : computation.instructions) {
      if (is_message(each)) {
        if (!is_entry) give_up(each, "it is inside a loop, a branch or a call");
        if (module.language != Language::Hlo) give_up(each, "it is not in XLA's text form");
        if (each.attributes.other("is_host_transfer") == "true") {
          give_up(each, "it is a transfer with the host");
        }
        if (each.attributes.other("_xla_send_recv_validation")) {
          give_up(each, "it is for some iterations of a loop only");
        }
      }
      if (each.literal && each.literal->elided) give_up(each, "its elements are not in the text");
      if (each.opcode != "custom-call") continue;
      const std::string target = interpreter::text_attribute(each, "custom_call_target");
      if (target.starts_with("SPMD") || target.starts_with("xla.sdy.")) {
        give_up(each, "the program is not partitioned yet");
      }
    }
  }
}

/// Appends the computations of all programs, and makes the entry.
class Linker {
 public:
  explicit Linker(const ProgramPlacement& placement)
      : placement_(placement), communications_(placement) {}

  Module link() {
    module_ = {"programs", placement_.module(0).file};
    module_.replicas = 1;
    module_.partitions = static_cast<std::int64_t>(placement_.program_of().size());
    module_.program_of = placement_.program_of();
    module_.programs = placement_.placed();
    entry_.name = "programs";
    for (std::uint32_t k = 0; k < placement_.count(); ++k) add_computations(k);
    for (std::uint32_t k = 0; k < placement_.count(); ++k) {
      for (std::uint32_t i = 0; i < placement_.entry(k).instructions.size(); ++i) emit({k, i});
    }
    add_root();
    number_parameters(entry_, {module_.file, 1, 1});
    module_.entry = static_cast<std::uint32_t>(module_.computations.size());
    module_.computations.push_back(std::move(entry_));
    return std::move(module_);
  }

 private:
  static constexpr std::uint32_t kOpen = UINT32_MAX - 1;

  /// All but the entry; and places for the instructions of the entry.
  void add_computations(std::uint32_t program) {
    const Module& module = placement_.module(program);
    std::vector<std::uint32_t>& numbers = computations_.emplace_back();
    for (const Computation& computation : module.computations) {
      numbers.push_back(static_cast<std::uint32_t>(module_.computations.size()));
      if (&computation == &module.entry_computation()) continue;
      Computation copy = computation;
      for (std::size_t i = 0; i < copy.instructions.size(); ++i) {
        const Instruction& of = computation.instructions[i];
        renumber_called(program, copy.instructions[i]);
        if (!is_collective(base_opcode(of.opcode))) continue;
        const Members members = placement_.members(program, of);
        if (placement_.spans(program, members)) {
          give_up(of, "it spans programs inside a loop or a call");
        }
        set_members(copy.instructions[i], members);
      }
      module_.computations.push_back(std::move(copy));
    }
    linked_.emplace_back(placement_.entry(program).instructions.size(), kNone);
    LinkedProgram& placed = module_.programs[program];
    const auto count = [](const std::vector<ArrayShape>& arrays) {
      return static_cast<std::uint32_t>(arrays.size());
    };
    placed.inputs = count(inputs_of(module));
    placed.outputs = count(outputs_of(module));
    if (program > 0) {
      const LinkedProgram& last = module_.programs[program - 1];
      placed.first_input = last.first_input + last.inputs;
      placed.first_output = last.first_output + last.outputs;
    }
    first_parameter_.push_back(parameters_);
    parameters_ += static_cast<std::int64_t>(placement_.entry(program).parameters.size());
  }

  void renumber_called(std::uint32_t program, Instruction& instruction) const {
    for (std::uint32_t& called : instruction.called) called = computations_[program][called];
  }

  static void set_members(Instruction& instruction, const Members& members) {
    Attributes& attributes = instruction.attributes;
    attributes.has_channel = true;
    attributes.global_ids = true;
    attributes.is_linked = true;
    attributes.groups = {false, {}};
    for (const auto& group : members.groups) {
      attributes.groups.lists.emplace_back(group.begin(), group.end());
    }
    attributes.pairs.assign(members.pairs.begin(), members.pairs.end());
  }

  /// Emits an instruction after all that it needs; depth-first, without recursion.
  void emit(const ProgramInstruction& place) {
    std::vector<ProgramInstruction> path = {place};
    while (!path.empty()) {
      const ProgramInstruction next = path.back();
      std::uint32_t& linked = linked_[next.program][next.number];
      if (linked != kNone && linked != kOpen) {
        path.pop_back();
        continue;
      }
      const std::vector<ProgramInstruction> needed = needs_of(next);
      const auto missing = std::ranges::find_if(needed, [&](const ProgramInstruction& each) {
        const std::uint32_t number = linked_[each.program][each.number];
        return number == kNone || number == kOpen;
      });
      if (missing == needed.end()) {
        emit_now(next);
        path.pop_back();
        continue;
      }
      linked = kOpen;
      if (linked_[missing->program][missing->number] == kOpen) {
        give_up(placement_.at(next), "devices of one program wait for each other's values");
      }
      path.push_back(*missing);
    }
  }

  /// What must be emitted before.
  std::vector<ProgramInstruction> needs_of(const ProgramInstruction& place) const {
    const Instruction& instruction = placement_.at(place);
    std::vector<ProgramInstruction> needed;
    if (instruction.opcode == "recv-done") {
      for (const auto& [send, pair] : communications_.sources(place)) {
        needed.push_back({send.program, placement_.at(send).operands[0]});
      }
    }
    if (is_message(instruction)) return needed;
    std::vector<ProgramInstruction> parts = communications_.parts(place);
    if (parts.empty()) parts = {place};
    for (const ProgramInstruction& part : parts) {
      for (const std::uint32_t operand : placement_.at(part).operands) {
        needed.push_back({part.program, operand});
      }
    }
    return needed;
  }

  void emit_now(const ProgramInstruction& place) {
    const Instruction& instruction = placement_.at(place);
    std::uint32_t& linked = linked_[place.program][place.number];
    if (instruction.opcode == "recv-done") {
      linked = emit_receive(place);
    } else if (is_message(instruction)) {
      linked = add_token(place);
    } else if (const auto& parts = communications_.parts(place); !parts.empty()) {
      emit_spanning(parts);
    } else {
      Instruction copy = instruction;
      copy.program = place.program;
      renumber_called(place.program, copy);
      for (std::uint32_t& operand : copy.operands) operand = linked_[place.program][operand];
      if (is_collective(base_opcode(copy.opcode))) {
        set_members(copy, communications_.members(place));
      }
      if (copy.opcode == "parameter") copy.attributes.index += first_parameter_[place.program];
      linked = add(std::move(copy));
    }
  }

  std::uint32_t add(Instruction instruction) {
    entry_.instructions.push_back(std::move(instruction));
    return static_cast<std::uint32_t>(entry_.instructions.size() - 1);
  }

  std::uint32_t add_token(const ProgramInstruction& place) {
    const Instruction& of = placement_.at(place);
    Instruction token{of.name, "after-all"};
    token.position = of.position;
    token.program = place.program;
    return add(std::move(token));
  }

  /// The value that devices of several programs have computed.
  std::uint32_t add_choice(const Instruction& of,
                           const std::map<std::uint32_t, std::uint32_t>& by_program) {
    if (by_program.size() == 1) return by_program.begin()->second;
    Instruction choice{of.name, std::string(kOfOwnProgram)};
    choice.position = of.position;
    choice.program = kEveryProgram;
    for (const auto& [program, value] : by_program) {
      choice.attributes.dimensions.push_back(program);
      choice.operands.push_back(value);
    }
    choice.shape = entry_.instructions[choice.operands[0]].shape;
    return add(std::move(choice));
  }

  std::uint32_t emit_receive(const ProgramInstruction& place) {
    const Instruction& done = placement_.at(place);
    Instruction receive{done.name, std::string(kMatchedReceive), done.shape.parts[0]};
    receive.position = done.position;
    receive.program = place.program;
    receive.attributes.channel = done.attributes.channel;
    Members members;
    std::map<std::uint32_t, std::uint32_t> sent;  // by program
    for (const auto& [send, pair] : communications_.sources(place)) {
      const std::uint32_t value = linked_[send.program][placement_.at(send).operands[0]];
      if (sent.emplace(send.program, value).first->second != value) {
        give_up(done, "devices of one program send it from several instructions");
      }
      members.pairs.push_back(pair);
    }
    set_members(receive, members);
    receive.operands = {add_choice(done, sent)};
    Instruction result{done.name, "tuple", done.shape};
    result.position = done.position;
    result.program = place.program;
    const std::uint32_t value = add(std::move(receive));
    result.operands = {value, add_token(place)};
    return add(std::move(result));
  }

  void emit_spanning(const std::vector<ProgramInstruction>& parts) {
    const Instruction& instruction = placement_.at(parts[0]);
    Instruction copy = instruction;
    copy.program = kEveryProgram;
    renumber_called(parts[0].program, copy);
    for (std::size_t k = 0; k < copy.operands.size(); ++k) {
      std::map<std::uint32_t, std::uint32_t> by_program;
      for (const ProgramInstruction& part : parts) {
        by_program[part.program] = linked_[part.program][placement_.at(part).operands[k]];
      }
      copy.operands[k] = add_choice(instruction, by_program);
    }
    Members members;
    for (const ProgramInstruction& part : parts) {
      const Members& own = communications_.members(part);
      for (const auto& group : own.groups) {
        if (std::ranges::find(members.groups, group) == members.groups.end()) {
          members.groups.push_back(group);
        }
      }
      for (const DevicePair& pair : own.pairs) {
        if (std::ranges::find(members.pairs, pair) == members.pairs.end()) {
          members.pairs.push_back(pair);
        }
      }
    }
    set_members(copy, members);
    const std::uint32_t linked = add(std::move(copy));
    for (const ProgramInstruction& part : parts) linked_[part.program][part.number] = linked;
  }

  void add_root() {
    Instruction root{"outputs", "tuple"};
    root.position = placement_.at({0, placement_.entry(0).root}).position;
    root.program = kEveryProgram;
    root.shape.is_tuple = true;
    for (std::uint32_t k = 0; k < placement_.count(); ++k) {
      root.operands.push_back(linked_[k][placement_.entry(k).root]);
      root.shape.parts.push_back(placement_.at({k, placement_.entry(k).root}).shape);
    }
    entry_.root = add(std::move(root));
  }

  const ProgramPlacement& placement_;
  ProgramCommunications communications_;
  Module module_;
  Computation entry_;
  /// By program: of its computations, and of the instructions of its entry.
  std::vector<std::vector<std::uint32_t>> computations_;
  std::vector<std::vector<std::uint32_t>> linked_;
  std::vector<std::int64_t> first_parameter_;
  std::int64_t parameters_ = 0;
};

}  // namespace

std::shared_ptr<const Module> link_programs(const std::vector<PlacedProgram>& programs,
                                            std::uint32_t devices) {
  for (const PlacedProgram& program : programs) require_understood(*program.module);
  const ProgramPlacement placement(programs, devices);
  return std::make_shared<const Module>(Linker(placement).link());
}

}  // namespace p2::hlo
