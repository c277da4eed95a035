#include "proofs/claims/forms.h"

#include "engine/base/invariant.h"

namespace p2::claims {

std::vector<GroupShape> named_shapes(const SynthesisHierarchy& hierarchy) {
  invariant(!hierarchy.is_lattice(), "a lattice has no slices and ancestors");
  const auto levels = static_cast<std::uint32_t>(hierarchy.levels().size());
  std::vector<GroupShape> shapes;
  const auto add = [&](GroupShape shape) {
    if (shape.pattern.reduced != 0) shapes.push_back(std::move(shape));
  };
  for (std::uint32_t slice = 0; slice < levels; ++slice) {
    add(linear_shape(hierarchy, slice, Form::InsideGroup, 0));
  }
  for (const Form form : {Form::Parallel, Form::Master}) {
    for (std::uint32_t slice = 0; slice < levels; ++slice) {
      for (std::uint32_t ancestor = 0; ancestor < slice; ++ancestor) {
        add(linear_shape(hierarchy, slice, form, ancestor));
      }
    }
  }
  return shapes;
}

}  // namespace p2::claims
