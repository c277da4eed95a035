#include "engine/program/instance.h"

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/program/instruction.h"
#include "p2/error.h"

namespace p2 {
namespace {

constexpr std::string_view kNoSystem = "no system, expected --hierarchy or --system";

}  // namespace

std::optional<Instance> GivenInstance::resolve(const SourcePosition& where) const {
  if (!hierarchy || !axes || !reduction) return std::nullopt;
  for (const std::uint32_t axis : *reduction) {
    if (axis >= axes->count()) {
      throw InputError(where, "a reduction axis does not exist, expected an index into the axes");
    }
  }
  if (placement) {
    check_placement(*placement, *hierarchy, *axes, where);
    return Instance(DeviceGrid(*hierarchy, *axes, *placement), *reduction, kind);
  }
  const std::vector<Placement> all = first_placements(*hierarchy, *axes, where, 2);
  if (all.size() != 1) {
    throw InputError(where, "several placements are possible, expected a placement to be given");
  }
  return Instance(DeviceGrid(*hierarchy, *axes, all[0]), *reduction, kind);
}

GivenInstance GivenInstance::without_system() const {
  GivenInstance rest;
  rest.kind = kind;
  rest.dialect = dialect;
  rest.dialect_overrides_file = dialect_overrides_file;
  rest.terms = terms;
  rest.goal_overrides_file = goal_overrides_file;
  return rest;
}

System system_of(const InstanceSpec& spec) {
  if (spec.hierarchy && spec.system) {
    throw InputError({"command line"}, "both --hierarchy and --system, expected one of the two");
  }
  if (spec.hierarchy) return {"", parse_hierarchy("--hierarchy", *spec.hierarchy), {}};
  if (!spec.system) throw InputError({"command line"}, kNoSystem);
  return parse_system(*spec.system, read_file(*spec.system));
}

GivenInstance given_instance(const InstanceSpec& spec) {
  GivenInstance given;
  if (spec.hierarchy || spec.system) given.hierarchy = system_of(spec).hierarchy;
  if (spec.axes) given.axes = parse_axes("--axes", *spec.axes);
  if (spec.reduce) {
    if (!given.axes) throw InputError({"--reduce"}, "given without axes, expected --axes as well");
    given.reduction = parse_reduction("--reduce", *spec.reduce, *given.axes);
  }
  if (spec.placement) {
    if (!given.hierarchy || !given.axes) {
      throw InputError(
          {"--placement"},
          "given without a system and axes, expected --hierarchy or --system and --axes");
    }
    given.placement =
        parse_placement("--placement", *spec.placement, *given.hierarchy, *given.axes);
  }
  if (spec.synthesis_hierarchy) {
    const auto kind = find_hierarchy_kind(*spec.synthesis_hierarchy);
    if (!kind) {
      throw InputError({"--synthesis-hierarchy"},
                       unknown_name(*spec.synthesis_hierarchy, kHierarchyKindNames));
    }
    given.kind = *kind;
  }
  if (spec.dialect) {
    const auto dialect = find_dialect(*spec.dialect);
    if (!dialect) {
      throw InputError({"--dialect"}, unknown_name(*spec.dialect, "printed or published"));
    }
    given.dialect = *dialect;
    given.dialect_overrides_file = true;
  }
  return given;
}

void require_system(const GivenInstance& given, bool with_reduction) {
  if (!given.hierarchy) throw InputError({"command line"}, kNoSystem);
  if (!given.axes) throw InputError({"command line"}, "no parallelism axes, expected --axes");
  if (with_reduction && !given.reduction) {
    throw InputError({"command line"}, "no reduction axes, expected --reduce");
  }
}

std::vector<Placement> placements_of(const GivenInstance& given, std::size_t max_count) {
  if (given.placement) return {*given.placement};
  return enumerate_placements(*given.hierarchy, *given.axes, {"--axes"}, max_count);
}

}  // namespace p2
