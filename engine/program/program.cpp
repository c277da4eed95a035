#include "engine/program/program.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/program/derivation.h"
#include "p2/error.h"

namespace p2 {

Step lower(const DeviceGrid& grid, const GroupShape& shape, Collective collective) {
  return {collective, grid.groups(shape.pattern.reduced, shape.pattern.pinned), shape};
}

void normalise_classes(std::vector<Group>& classes, std::uint32_t devices,
                       const SourcePosition& where) {
  std::vector<bool> seen(devices, false);
  for (Group& members : classes) {
    if (members.empty()) throw InputError(where, "an empty class, expected at least one device");
    for (const std::uint32_t device : members) {
      if (device >= devices) {
        throw InputError(
            where, fmt::format("a class holds device {}, expected devices from 0 to {}", device,
                               devices - 1));
      }
      if (seen[device]) {
        throw InputError(where, fmt::format("device {} is in the classes twice, expected every "
                                            "device in exactly one class",
                                            device));
      }
      seen[device] = true;
    }
    std::sort(members.begin(), members.end());
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing != seen.end()) {
    throw InputError(where,
                     fmt::format("device {} is in no class, expected every device in exactly "
                                 "one class",
                                 missing - seen.begin()));
  }
  std::sort(classes.begin(), classes.end());
}

void append_step(std::vector<Step>& steps, Step step, std::size_t& members,
                 const SourcePosition& where) {
  if (steps.size() == Program::kMaxSteps) {
    throw InputError(
        where, fmt::format("more than {} steps, expected a shorter program", Program::kMaxSteps));
  }
  for (const Group& group : step.groups) members += group.size();
  if (members > Program::kMaxMembers) {
    throw InputError(where,
                     fmt::format("more than {} devices in the groups of all steps, expected a "
                                 "shorter program",
                                 Program::kMaxMembers));
  }
  steps.push_back(std::move(step));
}

void normalise_groups(std::vector<Group>& groups, std::uint32_t devices,
                      const SourcePosition& where) {
  if (groups.empty()) throw InputError(where, "a step without groups, expected at least one");
  std::vector<std::uint32_t> all;
  for (Group& group : groups) {
    if (group.empty()) throw InputError(where, "an empty group, expected at least one device");
    std::sort(group.begin(), group.end());
    if (group.back() >= devices) {
      throw InputError(where, fmt::format("device {} does not exist, expected devices from 0 to {}",
                                          group.back(), devices - 1));
    }
    all.insert(all.end(), group.begin(), group.end());
  }
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice != all.end()) {
    throw InputError(where, fmt::format("device {} occurs twice in one step, expected disjoint "
                                        "groups",
                                        *twice));
  }
}

namespace {

std::uint32_t parse_level(TextCursor& cursor, const SynthesisHierarchy& hierarchy) {
  const SourcePosition where = cursor.position();
  const std::string name = cursor.name("a level of the synthesis hierarchy");
  const std::optional<std::uint32_t> level = hierarchy.find_level(name);
  if (!level || (hierarchy.is_lattice() && *level == 0)) {
    std::string names;
    for (const SynthesisLevel& each : hierarchy.levels()) names += each.name + ", ";
    throw InputError(where, fmt::format("no level is called '{}', expected one of {}{}", name,
                                        to_string(hierarchy), suggestion(name, names)));
  }
  return *level;
}

std::vector<std::uint32_t> parse_level_set(TextCursor& cursor,
                                           const SynthesisHierarchy& hierarchy) {
  cursor.expect("{", "before a set of factors");
  std::vector<std::uint32_t> levels;
  do {
    const SourcePosition where = cursor.position();
    levels.push_back(parse_level(cursor, hierarchy));
    if (std::count(levels.begin(), levels.end(), levels.back()) > 1) {
      throw InputError(where, fmt::format("factor {} occurs twice, expected each factor once",
                                          hierarchy.levels()[levels.back()].name));
    }
  } while (cursor.accept(","));
  cursor.expect("}", "after a set of factors");
  std::sort(levels.begin(), levels.end());
  return levels;
}

Form parse_form_word(TextCursor& cursor) {
  const SourcePosition where = cursor.position();
  const std::string word = cursor.name("InsideGroup, Parallel or Master");
  if (word == "InsideGroup") return Form::InsideGroup;
  if (word == "Parallel") return Form::Parallel;
  if (word == "Master") return Form::Master;
  constexpr std::string_view kForms = "InsideGroup, Parallel or Master";
  throw InputError(where, fmt::format("no form is called '{}', expected {}{}", word, kForms,
                                      suggestion(word, kForms)));
}

GroupShape parse_lattice_form(TextCursor& cursor, std::vector<std::uint32_t> reduced,
                              const SynthesisHierarchy& hierarchy) {
  const SourcePosition where = cursor.position();
  const Form form = parse_form_word(cursor);
  if (form == Form::InsideGroup) {
    throw InputError(where, "InsideGroup over the lattice, expected Parallel or Master");
  }
  std::vector<std::uint32_t> pinned;
  if (form == Form::Master) {
    cursor.expect("(", "before the pinned factors of Master");
    pinned = parse_level_set(cursor, hierarchy);
    cursor.expect(")", "after the pinned factors of Master");
  }
  for (const std::uint32_t level : pinned) {
    if (std::count(reduced.begin(), reduced.end(), level) == 0) continue;
    throw InputError(where, fmt::format("factor {} is both reduced and pinned, expected one of the "
                                        "two",
                                        hierarchy.levels()[level].name));
  }
  return lattice_shape(hierarchy, std::move(reduced), std::move(pinned));
}

GroupShape parse_linear_form(TextCursor& cursor, std::uint32_t slice,
                             const SynthesisHierarchy& hierarchy) {
  const Form form = parse_form_word(cursor);
  if (form == Form::InsideGroup) return linear_shape(hierarchy, slice, form, 0);
  cursor.expect("(", "before the level of the form");
  const SourcePosition where = cursor.position();
  const std::uint32_t ancestor = parse_level(cursor, hierarchy);
  if (ancestor >= slice) {
    throw InputError(
        where, fmt::format("level {} is not an ancestor of {}, expected a level above it",
                           hierarchy.levels()[ancestor].name, hierarchy.levels()[slice].name));
  }
  cursor.expect(")", "after the level of the form");
  return linear_shape(hierarchy, slice, form, ancestor);
}

Step parse_instruction(TextCursor& cursor, Collective collective, const Instance* instance,
                       bool lowers) {
  const SourcePosition where = cursor.position();
  cursor.expect("(", "or '{' after a collective");
  if (instance == nullptr) {
    throw InputError(where,
                     "an instruction without an instance, expected hierarchy, axes and "
                     "reduce to be given, or bare groups like {0,1},{2,3}");
  }
  GroupShape shape;
  const SynthesisHierarchy& hierarchy = instance->hierarchy;
  if (hierarchy.is_lattice()) {
    std::vector<std::uint32_t> reduced = parse_level_set(cursor, hierarchy);
    cursor.expect(",", "between slice and form");
    shape = parse_lattice_form(cursor, std::move(reduced), hierarchy);
  } else {
    const std::uint32_t slice = parse_level(cursor, hierarchy);
    cursor.expect(",", "between slice and form");
    shape = parse_linear_form(cursor, slice, hierarchy);
  }
  cursor.expect(")", "after the form");
  if (shape.pattern.reduced == 0) {
    throw InputError(where,
                     fmt::format("({}) forms only groups of one device, expected groups of at "
                                 "least two",
                                 to_string(shape, hierarchy)));
  }
  return lowers ? lower(instance->grid, shape, collective) : Step{collective, {}, shape};
}

}  // namespace

std::string to_string(const Group& group, std::size_t most) {
  if (most == 0 || group.size() <= most) return fmt::format("{{{}}}", fmt::join(group, ","));
  const Group shown(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(most));
  return fmt::format("{{{},…}}", fmt::join(shown, ","));
}

std::string to_string(const std::vector<Group>& groups) {
  std::string text;
  for (const Group& group : groups) text += (text.empty() ? "" : ",") + to_string(group);
  return text;
}

std::string to_string(const Step& step, const Instance* instance,
                      const CollectiveSet& collectives) {
  const std::string name(collectives.name_of(step.collective));
  if (!step.shape || instance == nullptr) return name + to_string(step.groups);
  return fmt::format("{}({})", name, to_string(*step.shape, instance->hierarchy));
}

std::string to_string(const std::vector<Step>& steps, const Instance* instance,
                      const CollectiveSet& collectives) {
  if (steps.empty()) return "skip";
  std::string text;
  for (const Step& step : steps) {
    text += (text.empty() ? "" : "; ") + to_string(step, instance, collectives);
  }
  return text;
}

namespace {

/// `positions`, if given, receives the position of each group.
std::vector<Group> parse_groups_at(TextCursor& cursor, std::vector<SourcePosition>* positions) {
  std::vector<Group> groups;
  do {
    if (positions != nullptr) positions->push_back(cursor.position());
    cursor.expect("{", "before the devices of a group");
    Group& group = groups.emplace_back();
    if (cursor.accept("}")) continue;
    do {
      group.push_back(
          static_cast<std::uint32_t>(cursor.integer("a device", 0, Hierarchy::kMaxDevices - 1)));
    } while (cursor.accept(","));
    cursor.expect("}", "after the devices of a group");
  } while (cursor.accept(","));
  return groups;
}

}  // namespace

std::vector<Group> parse_groups(TextCursor& cursor) { return parse_groups_at(cursor, nullptr); }

void require_root_first(Collective collective, const Group& group, const SourcePosition& where) {
  const bool has_root = collective == Collective::Reduce || collective == Collective::Broadcast;
  if (!has_root || std::is_sorted(group.begin(), group.end())) return;
  Group sorted = group;
  std::sort(sorted.begin(), sorted.end());
  throw InputError(where,
                   fmt::format("the group {} of {} is not in ascending order, expected {}: the "
                               "root is the device with the smallest id",
                               to_string(group), to_string(collective), to_string(sorted)));
}

std::vector<Step> parse_steps(TextCursor& cursor, std::uint32_t devices, const Instance* instance,
                              const CollectiveSet& collectives,
                              std::vector<SourcePosition>* positions, bool lowers) {
  std::vector<Step> steps;
  if (cursor.peek_name() == "skip") {
    cursor.name("skip");
    expect_end(cursor, "the program");
    return steps;
  }
  std::size_t members = 0;
  do {
    const SourcePosition where = cursor.position();
    if (positions != nullptr) positions->push_back(where);
    const std::string name = cursor.name("a collective");
    const std::optional<Collective> collective = collectives.called(name);
    if (!collective) {
      const std::string names = collectives.names();
      throw InputError(where,
                       fmt::format("no collective is called '{}', expected {}, or one that a "
                                   "file of --collectives defines{}",
                                   name, names, suggestion(name, names)));
    }
    if (cursor.peek() == '{') {
      std::vector<SourcePosition> group_positions;
      Step step{*collective, parse_groups_at(cursor, &group_positions), std::nullopt};
      for (std::size_t i = 0; i < step.groups.size(); ++i) {
        require_root_first(*collective, step.groups[i], group_positions[i]);
      }
      normalise_groups(step.groups, devices, where);
      append_step(steps, std::move(step), members, where);
    } else {
      append_step(steps, parse_instruction(cursor, *collective, instance, lowers), members, where);
    }
  } while (cursor.accept(";") && !cursor.at_end());
  expect_end(cursor, "the program");
  return steps;
}

GroupShape parse_shape(TextCursor& slice, TextCursor& form, const Instance& instance) {
  const SynthesisHierarchy& hierarchy = instance.hierarchy;
  GroupShape shape;
  if (hierarchy.is_lattice()) {
    std::vector<std::uint32_t> reduced = parse_level_set(slice, hierarchy);
    shape = parse_lattice_form(form, std::move(reduced), hierarchy);
  } else {
    shape = parse_linear_form(form, parse_level(slice, hierarchy), hierarchy);
  }
  expect_end(slice, "the slice");
  expect_end(form, "the form");
  return shape;
}

namespace {

constexpr std::size_t kMaxSequence = 3;

/// The shortest sequence of built-in collectives on the groups of `step` that leads from `before`
/// to `after`: breadth first, each state once.
std::optional<std::vector<Step>> sequence(const Step& step, const SystemState& before,
                                          const SystemState& after, StateTable& states,
                                          Kernels& kernels) {
  struct Reached {
    SystemState state;
    std::vector<Step> steps;
  };
  std::set<SystemState> known = {before};
  std::vector<Reached> layer = {{before, {}}};
  for (std::size_t length = 0; length < kMaxSequence; ++length) {
    std::vector<Reached> next;
    for (const Reached& from : layer) {
      for (const Collective collective : kCollectives) {
        Step taken{collective, step.groups, step.shape};
        if (taken.shape && !allows(Dialect::Published, taken.shape->pattern, collective)) {
          taken.shape.reset();
        }
        Reached to = from;
        if (run_step(taken, Dialect::Printed, to.state, states, kernels)) continue;
        if (!known.insert(to.state).second) continue;
        to.steps.push_back(taken);
        if (to.state == after) return to.steps;
        next.push_back(std::move(to));
      }
    }
    layer = std::move(next);
  }
  return std::nullopt;
}

}  // namespace

BuiltInProgram built_in_program(const Program& program, bool keep_traffic) {
  BuiltInProgram found{program, {}};
  if (!program.terms.collectives.extended()) return found;
  found.program.steps.clear();
  StateTable states(program.chunks());
  Kernels kernels(states, program.terms.collectives, program.devices);
  SystemState state =
      ends_of(program.terms.goal, program.beginning, program.classes, program.devices, states)
          .begin;
  bool legal = true;
  bool kept = false;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const SystemState before = state;
    legal = legal && !run_step(step, Dialect::Printed, state, states, kernels);
    std::vector<Step> steps = {step};
    if (keep_traffic && program.terms.collectives.definition_of(step.collective).traffic) {
      kept = true;
    } else if (!is_built_in(step.collective)) {
      auto stand_in = legal ? sequence(step, before, state, states, kernels) : std::nullopt;
      if (stand_in) steps = std::move(*stand_in);
      if (!stand_in && !found.missing) found.missing = i;
    }
    found.program.steps.insert(found.program.steps.end(), steps.begin(), steps.end());
  }
  if (!found.missing && !kept) found.program.terms.collectives = {};
  return found;
}

}  // namespace p2
