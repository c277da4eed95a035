// Devices and instructions that compute the same, and modules for one device of each class. By
// induction over the instructions all devices of a class have equal values: what is computed on a
// device alone is the same function of equal operands, and a collective combines as many values of
// each class for every device of a class.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/block_modules.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {
namespace {

using Group = std::vector<std::int64_t>;

/// Whether two executions may differ; a token has no value.
bool has_effects(const Instruction& instruction) {
  return is_impure(instruction) && instruction.opcode != "after-all";
}

/// Whether what an instruction computes may depend on the device's number, or on other devices in
/// ways that are not known.
bool may_tell_devices(const Instruction& instruction) {
  static const std::set<std::string_view> kTelling = {
      "partition-id", "replica-id",    "custom-call", "async-start",          "rng",
      "infeed",       "recv",          "send",        "collective-broadcast", "all-to-all",
      "all-gather",   "reduce-scatter"};
  return kTelling.contains(base_opcode(instruction.opcode)) || has_effects(instruction);
}

/// How many devices of each class a group has.
std::map<std::uint32_t, std::int64_t> counted(const Group& group, const DeviceClasses& classes) {
  std::map<std::uint32_t, std::int64_t> counts;
  for (const std::int64_t device : group) ++counts[classes.of[static_cast<std::size_t>(device)]];
  return counts;
}

using Counts = std::map<std::uint32_t, std::int64_t>;

/// By class, what its devices' groups have; nothing if that differs within a class.
std::optional<std::vector<Counts>> counts_by_class(const Instruction& instruction,
                                                   const DeviceClasses& classes) {
  std::vector<Counts> all(classes.first.size());
  for (const Group& group : instruction.attributes.groups.lists) {
    const Counts counts = counted(group, classes);
    for (const auto& [of, count] : counts) {
      if (all[of].empty()) all[of] = counts;
      if (all[of] != counts) return std::nullopt;
    }
  }
  return all;
}

bool is_permutation(const Instruction& instruction) {
  return base_opcode(instruction.opcode) == "collective-permute" ||
         instruction.opcode == kMatchedReceive;
}

/// By class, the class of its devices' sources, or kNone; nothing if that differs within a class.
std::optional<std::vector<std::uint32_t>> sources_by_class(const Instruction& instruction,
                                                           const Module& module,
                                                           const DeviceClasses& classes) {
  std::vector<std::uint32_t> source(classes.of.size(), kNone);
  for (const auto& [from, to] : instruction.attributes.pairs) {
    source[static_cast<std::size_t>(to)] = classes.of[static_cast<std::size_t>(from)];
  }
  std::vector<std::uint32_t> all(classes.first.size(), kNone);
  if (instruction.program == kEveryProgram) return std::nullopt;
  for (const std::uint32_t device : module.programs[instruction.program].devices) {
    const std::uint32_t of = classes.of[device];
    if (classes.first[of] == device) all[of] = source[device];
    if (all[of] != source[device]) return std::nullopt;
  }
  return all;
}

bool are_alike(const Instruction& instruction, const Module& module, const DeviceClasses& classes) {
  if (may_tell_devices(instruction)) return false;
  if (is_permutation(instruction)) {
    const auto sources = sources_by_class(instruction, module, classes);
    if (!sources) return false;
    std::set<std::uint32_t> known;  // a permutation has each once
    return std::ranges::all_of(*sources, [&](std::uint32_t source) {
      return source == kNone || known.insert(source).second;
    });
  }
  if (!is_collective(base_opcode(instruction.opcode))) return true;
  if (!instruction.attributes.is_linked || instruction.called.size() != 1) return false;
  const auto counts = counts_by_class(instruction, classes);
  if (!counts) return false;
  // All groups need the same counts, in the order of their classes.
  std::optional<std::vector<std::int64_t>> common;
  for (const Counts& each : *counts) {
    if (each.empty()) continue;
    std::vector<std::int64_t> list;
    for (const auto& [of, count] : each) list.push_back(count);
    if (common.value_or(list) != list) return false;
    common = list;
  }
  const Reducer reducer = reducer_of(module.computations[instruction.called[0]]);
  const bool repeats = common && std::ranges::any_of(*common, [](auto n) { return n > 1; });
  return !repeats || reducer == Reducer::Add || reducer == Reducer::Maximum ||
         reducer == Reducer::Minimum || reducer == Reducer::And || reducer == Reducer::Or;
}

/// What a device receives in an exchange, by device: equal for equal lists.
using Signs = std::map<std::uint32_t, std::vector<std::int64_t>>;

Signs signs_of(const Instruction& instruction, const Module& module, const DeviceClasses& classes) {
  Signs signs;
  if (is_permutation(instruction)) {
    for (const auto& [from, to] : instruction.attributes.pairs) {
      signs[static_cast<std::uint32_t>(to)] = {classes.of[static_cast<std::size_t>(from)]};
    }
    for (const std::uint32_t device : module.programs[instruction.program].devices) {
      signs.try_emplace(device);
    }
    return signs;
  }
  for (const Group& group : instruction.attributes.groups.lists) {
    std::vector<std::int64_t> sign;
    for (const auto& [of, count] : counted(group, classes)) {
      sign.insert(sign.end(), {of, count});
    }
    for (const std::int64_t device : group) signs[static_cast<std::uint32_t>(device)] = sign;
  }
  return signs;
}

/// Whether a class was split.
bool split(DeviceClasses& classes, const Signs& signs) {
  std::map<std::uint32_t, const std::vector<std::int64_t>*> first;
  std::map<std::pair<std::uint32_t, std::vector<std::int64_t>>, std::uint32_t> others;
  for (const auto& [device, sign] : signs) {
    std::uint32_t& of = classes.of[device];
    const auto* known = first.emplace(of, &sign).first->second;
    if (*known == sign) continue;
    const auto next = static_cast<std::uint32_t>(classes.first.size());
    const auto [found, added] = others.emplace(std::pair(of, sign), next);
    if (added) classes.first.push_back(device);
    of = found->second;
  }
  return !others.empty();
}

/// Numbers classes in the order of their first devices.
void renumber(DeviceClasses& classes) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  classes.first.clear();
  for (std::uint32_t device = 0; device < classes.of.size(); ++device) {
    const auto next = static_cast<std::uint32_t>(classes.first.size());
    const auto [found, added] = numbers.emplace(classes.of[device], next);
    if (added) classes.first.push_back(device);
    classes.of[device] = found->second;
  }
}

}  // namespace

bool split_classes(const Module& linked, DeviceClasses& classes) {
  std::vector<const Instruction*> exchanges;
  for (const Computation& computation : linked.computations) {
    const bool is_entry = &computation == &linked.entry_computation();
    for (const Instruction& each : computation.instructions) {
      if (may_tell_devices(each)) return false;
      const bool exchanges_values = is_permutation(each) || is_collective(base_opcode(each.opcode));
      if (!exchanges_values) continue;
      if (!is_entry || !each.attributes.is_linked || each.program == kEveryProgram) return false;
      exchanges.push_back(&each);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction* each : exchanges) {
      changed = split(classes, signs_of(*each, linked, classes)) || changed;
    }
  }
  renumber(classes);
  return std::ranges::all_of(
      exchanges, [&](const Instruction* each) { return are_alike(*each, linked, classes); });
}

Module module_of_classes(const Module& linked, const DeviceClasses& classes) {
  Module result = linked;
  for (LinkedProgram& program : result.programs) {
    LinkedProgram kept = program;
    kept.devices.clear();
    kept.ids.clear();
    for (std::size_t i = 0; i < program.devices.size(); ++i) {
      const std::uint32_t device = program.devices[i];
      if (classes.first[classes.of[device]] != device) continue;
      kept.devices.push_back(classes.of[device]);
      kept.ids.push_back(program.ids[i]);
    }
    program = std::move(kept);
  }
  result.program_of.clear();
  for (const std::uint32_t device : classes.first) {
    result.program_of.push_back(linked.program_of[device]);
  }
  for (Instruction& each : result.computations[result.entry].instructions) {
    if (is_permutation(each)) {
      const auto sources = sources_by_class(each, linked, classes);
      each.attributes.pairs.clear();
      for (std::uint32_t of = 0; of < sources->size(); ++of) {
        if ((*sources)[of] != kNone) each.attributes.pairs.emplace_back((*sources)[of], of);
      }
    } else if (is_collective(base_opcode(each.opcode))) {
      const auto counts = counts_by_class(each, classes);
      std::set<Group> groups;
      std::vector<std::int64_t> times;
      for (const Counts& own : *counts) {
        if (own.empty()) continue;
        Group group;
        times.clear();
        for (const auto& [of, count] : own) {
          group.push_back(of);
          times.push_back(count);
        }
        groups.insert(std::move(group));
      }
      each.attributes.groups.lists.assign(groups.begin(), groups.end());
      if (std::ranges::any_of(times, [](std::int64_t n) { return n > 1; })) {
        each.attributes.others +=
            fmt::format("{}={{{}}};", interpreter::kBlockSizes, fmt::join(times, ","));
      }
    }
  }
  return result;
}

namespace {

/// Whether equal operands make equal results.
bool is_function(const Instruction& instruction) {
  static const std::set<std::string_view> kOthers = {"parameter", "custom-call", "call",
                                                     "while",     "conditional", "async-start",
                                                     "fusion",    "constant"};
  return !kOthers.contains(base_opcode(instruction.opcode)) && !has_effects(instruction);
}

/// Equal for instructions that are the same function of operands, seldom for others.
std::size_t hash_of(const Instruction& instruction) {
  std::size_t hash = std::hash<std::string>()(instruction.opcode);
  const auto add = [&](std::int64_t number) {
    hash = (hash ^ static_cast<std::size_t>(number)) * 0x9E3779B97F4A7C15U;
  };
  add(instruction.program);
  add(instruction.attributes.index);
  for (const std::uint32_t operand : instruction.operands) add(operand);
  for (const std::int64_t start : instruction.attributes.starts) add(start);
  return hash;
}

/// Whether instructions with the same operands have the same result. A channel only says which
/// collectives belong together.
bool are_same(const Instruction& a, const Instruction& b) {
  const auto attributes = [](const Attributes& x) {
    return std::tie(x.dimensions, x.starts, x.limits, x.strides, x.slice_sizes, x.groups.all_in_one,
                    x.groups.lists, x.has_channel, x.global_ids, x.pairs, x.is_linked,
                    x.concat_dimension, x.index, x.direction, x.sharding, x.shardy, x.others,
                    x.accuracy);
  };
  const std::vector<ArrayShape> left = a.shape.arrays();
  const std::vector<ArrayShape> right = b.shape.arrays();
  const bool have_same_shapes =
      a.shape.is_tuple == b.shape.is_tuple &&
      std::ranges::equal(left, right, [](const ArrayShape& x, const ArrayShape& y) {
        return x.type == y.type && x.same_sizes(y);
      });
  return a.opcode == b.opcode && a.operands == b.operands && a.program == b.program &&
         a.called == b.called && a.literal == b.literal && have_same_shapes &&
         attributes(a.attributes) == attributes(b.attributes);
}

}  // namespace

Module without_repetitions(const Module& module) {
  const Computation& entry = module.entry_computation();
  Module result = module;
  Computation& kept = result.computations[result.entry];
  kept.instructions.clear();
  std::vector<std::uint32_t> numbers;  // of instructions, in what is kept
  std::unordered_multimap<std::size_t, std::uint32_t> known;
  for (const Instruction& instruction : entry.instructions) {
    Instruction copy = instruction;
    for (std::uint32_t& operand : copy.operands) operand = numbers[operand];
    const bool may_repeat = is_function(copy);
    const std::size_t hash = may_repeat ? hash_of(copy) : 0;
    const auto [first, last] = known.equal_range(hash);
    const auto same = std::find_if(first, last, [&](const auto& each) {
      return are_same(kept.instructions[each.second], copy);
    });
    if (may_repeat && same != last) {
      numbers.push_back(same->second);
      continue;
    }
    numbers.push_back(static_cast<std::uint32_t>(kept.instructions.size()));
    if (may_repeat) known.emplace(hash, numbers.back());
    kept.instructions.push_back(std::move(copy));
  }
  kept.root = numbers[entry.root];
  for (std::uint32_t& parameter : kept.parameters) parameter = numbers[parameter];
  return result;
}

}  // namespace p2::hlo
