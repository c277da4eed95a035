#include <algorithm>

#include <fmt/format.h>

#include "engine/base/json_reader.h"
#include "engine/program/instruction.h"
#include "engine/program/program.h"
#include "engine/program/program_file.h"
#include "p2/error.h"

namespace p2 {
namespace {

constexpr std::int64_t kMaxDevices = Hierarchy::kMaxDevices;

std::uint32_t read_size(const JsonValue& value, std::string_view what) {
  return static_cast<std::uint32_t>(value.integer(what, 1, kMaxDevices));
}

/// `[4, 16]` or `[{"name": "node", "size": 4}, …]`; parts without a name are called `prefix`0,
/// `prefix`1, …
template <typename Part>
std::vector<Part> read_parts(const JsonValue& list, std::string_view what,
                             std::string_view prefix) {
  std::vector<Part> parts;
  for (const JsonValue& item : list.array(what)) {
    if (item.is_object()) {
      item.only_keys({"name", "size"}, what);
      parts.push_back({item.member("name", what).string("a name"),
                       read_size(item.member("size", what), "a size")});
    } else {
      parts.push_back({fmt::format("{}{}", prefix, parts.size()), read_size(item, "a size")});
    }
  }
  return parts;
}

ReductionAxes read_reduction(const JsonValue& list, const Axes& axes) {
  std::string text;
  for (const JsonValue& item : list.array("the reduction axes")) {
    text += text.empty() ? "" : ",";
    if (item.is_string()) {
      const std::string& name = item.string("an axis");
      text += std::to_string(axis_index(axes, name, item.position()));
    } else {
      text += std::to_string(item.integer("the index of a reduction axis", 0,
                                          static_cast<std::int64_t>(axes.count()) - 1));
    }
  }
  if (text.empty()) list.fail("no reduction axis, expected at least one");
  try {
    return parse_reduction("reduce", text, axes);
  } catch (const InputError&) {
    list.fail("a reduction axis is listed twice, expected each axis once");
  }
}

Placement read_placement(const JsonValue& matrix) {
  Placement placement;
  for (const JsonValue& row : matrix.array("the rows of a placement")) {
    auto& factors = placement.factors.emplace_back();
    for (const JsonValue& factor : row.array("a row of a placement")) {
      factors.push_back(read_size(factor, "a parallelism factor"));
    }
  }
  return placement;
}

GivenInstance read_instance(const JsonValue& root, GivenInstance given) {
  if (const auto list = root.find("hierarchy")) {
    given.hierarchy = Hierarchy(read_parts<Level>(*list, "the hierarchy", "l"), list->position());
  }
  if (const auto list = root.find("axes")) {
    given.axes = Axes(read_parts<Axis>(*list, "the axes", "a"), list->position());
  }
  if (const auto list = root.find("reduce")) {
    if (!given.axes) list->fail("missing axes, expected a key or flag that gives them");
    given.reduction = read_reduction(*list, *given.axes);
  }
  if (const auto matrix = root.find("placement")) {
    if (!given.hierarchy || !given.axes) {
      matrix->fail("missing hierarchy and axes, expected keys or flags that give them");
    }
    given.placement = read_placement(*matrix);
    check_placement(*given.placement, *given.hierarchy, *given.axes, matrix->position());
  }
  if (const auto name = root.find("synthesis_hierarchy")) {
    const auto kind = find_hierarchy_kind(name->string("a synthesis hierarchy"));
    if (!kind) name->fail(fmt::format("unknown hierarchy, expected {}", kHierarchyKindNames));
    given.kind = *kind;
  }
  if (const auto name = root.find("dialect")) {
    const auto dialect = find_dialect(name->string("a dialect"));
    if (!dialect) name->fail("unknown dialect, expected printed or published");
    if (!given.dialect_overrides_file) given.dialect = *dialect;
  }
  if (const auto name = root.find("goal"); name && !given.goal_overrides_file) {
    const auto goal = goal_called(name->string("a goal"));
    if (!goal) name->fail(fmt::format("unknown goal, expected {}, or --goal", kGoals));
    given.terms.goal = *goal;
  }
  return given;
}

/// Throws InputError unless `groups`, read from `list`, begin with their roots.
void require_roots_first(Collective collective, const JsonValue& list,
                         const std::vector<Group>& groups) {
  std::size_t index = 0;
  for (const JsonValue& item : list.array("the groups of a step")) {
    require_root_first(collective, groups[index++], item.position());
  }
}

std::vector<Group> read_groups(const JsonValue& list, std::string_view what) {
  std::vector<Group> groups;
  for (const JsonValue& item : list.array(what)) {
    Group& group = groups.emplace_back();
    for (const JsonValue& device : item.array("the devices of a group")) {
      group.push_back(static_cast<std::uint32_t>(device.integer("a device", 0, kMaxDevices - 1)));
    }
  }
  return groups;
}

/// A step with slice and form; groups, if given, must be those that they form.
Step read_instruction(const JsonValue& value, Collective collective, const Instance* instance,
                      bool lowers) {
  const JsonValue slice = value.member("slice", "a step with a form");
  const JsonValue form = value.member("form", "a step with a slice");
  if (instance == nullptr) {
    slice.fail("a slice without an instance, expected hierarchy, axes and reduce in the file");
  }
  const std::string& slice_text = slice.string("a slice");
  const std::string& form_text = form.string("a form");
  TextCursor slice_cursor("slice", slice_text);
  TextCursor form_cursor("form", form_text);
  Step step;
  try {
    const GroupShape shape = parse_shape(slice_cursor, form_cursor, *instance);
    step = lowers ? lower(instance->grid, shape, collective) : Step{collective, {}, shape};
  } catch (const InputError& error) {
    (std::string_view(error.what()).starts_with("form") ? form : slice).fail(error.what());
  }
  if (step.shape->pattern.reduced == 0) {
    slice.fail("slice and form make only groups of one device, expected groups of at least two");
  }
  return step;
}

Step read_step(const JsonValue& value, const Program& program, const Instance* instance,
               bool lowers) {
  value.only_keys({"collective", "groups", "slice", "form"}, "a step");
  const JsonValue name = value.member("collective", "a step");
  const CollectiveSet& collectives = program.terms.collectives;
  const std::string& word = name.string("a collective");
  const auto collective = collectives.called(word);
  if (!collective) name.fail(unknown_name(word, collectives.names()));
  std::optional<Step> instruction;
  if (value.find("slice") || value.find("form")) {
    instruction = read_instruction(value, *collective, instance, lowers);
  }
  const auto list = value.find("groups");
  if (!list && instruction) return *instruction;
  if (!lowers) value.fail("groups, expected an instruction alone");
  Step step{*collective, read_groups(value.member("groups", "a step"), "the groups of a step"), {}};
  const SourcePosition where = value.member("groups", "a step").position();
  if (!instruction) {
    require_roots_first(*collective, value.member("groups", "a step"), step.groups);
  }
  normalise_groups(step.groups, program.devices, where);
  if (!instruction) return step;
  std::vector<Group> sorted = step.groups;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != instruction->groups) {
    throw InputError(where, fmt::format("the groups are not those of {}, expected {}",
                                        to_string(*instruction, instance, collectives),
                                        to_string(instruction->groups)));
  }
  return *instruction;
}

void read_devices(const JsonValue& root, bool lowers, ProgramFile& file) {
  Program& program = file.program;
  if (file.instance) {
    program.devices = file.instance->grid.devices();
    if (lowers) program.classes = file.instance->classes();
  }
  if (const auto devices = root.find("devices"); devices || !file.instance) {
    const JsonValue count = root.member("devices", "a program");
    const std::uint32_t said = read_size(count, "the number of devices");
    if (file.instance && said != program.devices) {
      count.fail(
          fmt::format("{} devices, expected {}: those of the hierarchy", said, program.devices));
    }
    program.devices = said;
  }
  if (const auto list = root.find("classes"); list || !file.instance) {
    const JsonValue value = root.member("classes", "a program");
    if (!lowers) value.fail("classes, expected an instance alone");
    std::vector<Group> classes = read_groups(value, "the classes");
    normalise_classes(classes, program.devices, value.position());
    if (file.instance && classes != program.classes) {
      value.fail("the classes are not those of the placement, expected none or the same ones");
    }
    program.classes = std::move(classes);
  }
}

}  // namespace

ProgramFile read_program_json(const std::string& source, const std::string& text,
                              const GivenInstance& given, bool lowers) {
  const JsonDocument document(source, text);
  const JsonValue root = document.root();
  root.only_keys({"devices", "classes", "steps", "hierarchy", "axes", "reduce", "placement",
                  "synthesis_hierarchy", "dialect", "goal", "text"},
                 "a program");
  // A file with devices of its own does not use the instance of the command line.
  const bool bare = root.find("devices") && !root.find("hierarchy");
  const GivenInstance said = read_instance(root, bare ? given.without_system() : given);
  ProgramFile file;
  file.dialect = said.dialect;
  file.program.terms = said.terms;
  file.instance = said.resolve(root.position());
  if (!file.instance && said.names_system()) {
    root.fail("an incomplete instance, expected hierarchy, axes and reduce, or none of them");
  }
  read_devices(root, lowers, file);
  std::size_t members = 0;
  for (const JsonValue& item : root.member("steps", "a program").array("the steps of a program")) {
    append_step(file.program.steps,
                read_step(item, file.program, file.instance ? &*file.instance : nullptr, lowers),
                members, item.position());
    file.step_positions.push_back(item.position());
  }
  return file;
}

}  // namespace p2
