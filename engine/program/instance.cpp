#include "engine/program/instance.h"

namespace p2 {

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
  rest.dialect_goes_first = dialect_goes_first;
  rest.terms = terms;
  rest.goal_goes_first = goal_goes_first;
  return rest;
}

}  // namespace p2
