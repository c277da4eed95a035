#include "engine/hlo/equality/comparison.h"

#include <algorithm>

#include "engine/hlo/equality/difference.h"

namespace p2::hlo {
namespace {

/// Of more differing regions the elements are not looked at.
constexpr std::size_t kMostExamined = 256;
constexpr std::size_t kMostCornerVariables = 5;

IndexMap corner_of(const Space& space, const Region& region, std::size_t corner) {
  IndexMap map = region.map;
  for (std::size_t i = 0; i < region.variables.size(); ++i) {
    const bool last = i < kMostCornerVariables && ((corner >> i) & 1U) != 0;
    map = substitute(map, region.variables[i],
                     {last ? space.extent(region.variables[i]) - 1 : 0, {}});
  }
  return map;
}

}  // namespace

void Comparison::run() {
  for (std::size_t k = 0; k < context_.flows[0]->outputs.size() && !difference_; ++k) {
    compare_output(k);
  }
}

void Comparison::compare_output(std::size_t output) {
  const ArrayShape& shape = context_.flows[0]->shape(context_.flows[0]->outputs[output]);
  if (shape.elements() == 0 || shape.type.kind() == ElementType::Kind::Other) return;
  open_ = {{whole(space_, shape.sizes), 0}};
  before_.forget();
  after_.forget();
  while (!open_.empty() && !difference_) {
    Task task = open_.back();
    try {
      if (compare_region(output, task)) {
        open_.pop_back();
        before_.forget();
        after_.forget();
      }
    } catch (const NeedsTensor& needs) {
      open_.back() = task;
      classes_.settle(needs.tensor);
    }
  }
}

/// True when the region needs no more looking at as it is.
bool Comparison::compare_region(std::size_t output, Task& task) {
  const Ref before = context_.flows[0]->outputs[output];
  const Ref after = context_.flows[1]->outputs[output];
  try {
    for (; task.device < context_.flows[0]->devices.count(); ++task.device) {
      context_.spend(1);
      const Value a = before_.at(before, task.device, task.region.map);
      const Value b = after_.at(after, task.device, task.region.map);
      if (a == b) continue;
      examine(output, task);
      if (difference_ || open_.empty() || open_.back().region.map != task.region.map) return false;
    }
    return true;
  } catch (const Refinement& refinement) {
    split(task, refinement);
    return false;
  }
}

/// Puts the parts of a region in its place.
void Comparison::split(const Task& task, const Refinement& refinement) {
  open_.pop_back();
  std::vector<Region> parts = refined(space_, task.region, refinement);
  context_.spend(parts.size());
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    open_.push_back({std::move(*part), task.device});
  }
  before_.forget();
  after_.forget();
}

/// Two answers that are not the same function: looks for an element where they differ for certain.
void Comparison::examine(std::size_t output, const Task& task) {
  if (++examined_ > kMostExamined) return;
  const std::size_t variables = std::min(task.region.variables.size(), kMostCornerVariables);
  bool differs = false;
  for (std::size_t corner = 0; corner < (std::size_t{1} << variables) && !difference_; ++corner) {
    differs = examine_corner(output, task, corner) || differs;
  }
  if (differs || difference_) return;
  // The corners are equal, so the region is larger than one element, and some part differs.
  Refinement halves;
  for (const Variable variable : task.region.variables) {
    if (halves.cuts.empty() || space_.extent(variable) > space_.extent(halves.variable)) {
      halves = {variable, {space_.extent(variable) / 2}, 0};
    }
  }
  --examined_;
  split(task, halves);
}

bool Comparison::examine_corner(std::size_t output, const Task& task, std::size_t corner) {
  const IndexMap map = corner_of(space_, task.region, corner);
  const Ref ref = context_.flows[0]->outputs[output];
  const Value a = before_.at(ref, task.device, map);
  const Value b = after_.at(context_.flows[1]->outputs[output], task.device, map);
  if (a == b) return false;
  Mismatch mismatch{task.device, output, {}, a, b};
  for (const Coordinate& coordinate : map) mismatch.index.push_back(coordinate.base);
  if (is_certain(a, b, context_.flows[0]->shape(ref).type)) {
    difference_ = mismatch;
  } else if (!open_question_) {
    open_question_ = mismatch;
  }
  return true;
}

/// Where orders are compared the sums are known to be equal, and another order is a difference.
bool Comparison::is_certain(Value before, Value after, ElementType type) {
  if (context_.ordered) return same_unknowns(context_, before, after);
  return certainly_different(context_, before, after, type);
}

}  // namespace p2::hlo
