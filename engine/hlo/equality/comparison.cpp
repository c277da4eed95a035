// Decides whether two flows have equal outputs on every device. A tensor is compared region by
// region: both sides are evaluated symbolically at an affine index, and a region without a uniform
// value is split. Operands of opaque operations are numbered so that tensors with the same number
// are equal, as in congruence closure. If two normal forms differ, concrete inputs decide
// (difference.h).

#include "engine/hlo/equality/comparison.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

namespace p2::hlo {
namespace {

constexpr std::size_t kMaxProofRegions = 4096;
/// Differing regions beyond this number are not searched for a difference.
constexpr std::size_t kMaxExaminedRegions = 256;
constexpr std::size_t kMaxCornerVariables = 5;

const ArrayShape& shape_of(const ComparisonContext& context, const Tensor& tensor) {
  return context.flows[tensor.flow]->shape(tensor.ref);
}

std::vector<std::int64_t> encode_shape(const ArrayShape& shape) {
  std::vector<std::int64_t> sequence = {shape.type.index()};
  sequence.insert(sequence.end(), shape.sizes.begin(), shape.sizes.end());
  return sequence;
}

void push(std::vector<Region>& worklist, std::vector<Region> parts) {
  worklist.insert(worklist.end(), std::make_move_iterator(parts.rbegin()),
                  std::make_move_iterator(parts.rend()));
}

/// Evaluates a whole tensor, in regions as large as have a uniform value.
class TensorWalk {
 public:
  TensorWalk(ComparisonContext& context, const Tensor& tensor);

  struct Piece {
    Region region;
    Value value;
  };
  /// Resumable: may be called again after ClassNeeded.
  void run();
  const std::vector<Piece>& pieces() const { return pieces_; }
  /// Equal for tensors with equal values on the same regions.
  std::vector<std::int64_t> signature() const;

 private:
  ComparisonContext& context_;
  Tensor tensor_;
  Space space_;
  Evaluation evaluation_;
  std::vector<Region> worklist_;
  std::vector<Piece> pieces_;
};

/// Numbers tensors such that tensors of one class are equal. The converse does not hold: tensors of
/// two classes may be equal too.
class TensorClasses {
 public:
  explicit TensorClasses(ComparisonContext& context) : context_(context) {}

  /// Assigns a class to `tensor`, after those that its opaque operations need.
  void classify(const Tensor& tensor);

 private:
  std::uint32_t class_of(const Tensor& tensor, const TensorWalk& walk);
  bool equal(const Tensor& a, const Tensor& b);

  ComparisonContext& context_;
  Interner signatures_;
  std::map<std::uint32_t, std::uint32_t> class_of_signature_;
  std::map<std::vector<std::int64_t>, std::vector<Tensor>> by_corners_;
  std::uint32_t classes_ = 0;
};

/// Compares all outputs of two flows.
class Comparison {
 public:
  explicit Comparison(ComparisonContext& context)
      : context_(context),
        classes_(context),
        space_(context.values.offsets()),
        before_(context, 0, space_),
        after_(context, 1, space_) {}

  /// Throws LimitReached.
  void run();

  OutputComparison result;

 private:
  struct Task {
    Region region;
    std::uint32_t device = 0;  ///< the next one
  };
  void compare_output(std::size_t output);
  bool compare_region(std::size_t output, Task& task);
  void examine(std::size_t output, const Task& task);
  bool examine_corner(std::size_t output, const Task& task, std::size_t corner);
  bool is_certain(Value before, Value after, ElementType type);
  void split(const Task& task, const Refinement& refinement);

  ComparisonContext& context_;
  TensorClasses classes_;
  Space space_;
  Evaluation before_;
  Evaluation after_;
  std::vector<Task> worklist_;
  std::size_t examined_ = 0;
};

TensorWalk::TensorWalk(ComparisonContext& context, const Tensor& tensor)
    : context_(context),
      tensor_(tensor),
      space_(context.values.offsets()),
      evaluation_(context, tensor.flow, space_) {
  const ArrayShape& shape = shape_of(context, tensor);
  if (shape.elements() > 0) worklist_.push_back(whole_region(space_, shape.sizes));
}

void TensorWalk::run() {
  while (!worklist_.empty()) {
    context_.spend(1);
    const Region region = worklist_.back();
    try {
      const Value value = evaluation_.evaluate(tensor_.ref, tensor_.device, region.map);
      worklist_.pop_back();
      pieces_.push_back({region, value});
    } catch (const Refinement& refinement) {
      worklist_.pop_back();
      push(worklist_, split_region(space_, region, refinement));
    }
    evaluation_.clear();
  }
}

std::vector<std::int64_t> TensorWalk::signature() const {
  std::vector<std::int64_t> sequence = encode_shape(shape_of(context_, tensor_));
  for (const Piece& piece : pieces_) {
    const std::vector<std::int64_t> map = encode(piece.region.map);
    sequence.push_back(-1);
    sequence.insert(sequence.end(), map.begin(), map.end());
    for (const Variable variable : piece.region.variables) {
      sequence.push_back(space_.extent(variable));
    }
    sequence.push_back(piece.value);
  }
  return sequence;
}

void TensorClasses::classify(const Tensor& tensor) {
  std::vector<std::pair<Tensor, std::unique_ptr<TensorWalk>>> open;
  const auto begin = [&](const Tensor& next) {
    open.emplace_back(next, std::make_unique<TensorWalk>(context_, next));
  };
  begin(tensor);
  while (!open.empty()) {
    try {
      open.back().second->run();
      const Tensor done = open.back().first;
      context_.classes.emplace(done, class_of(done, *open.back().second));
      open.pop_back();
    } catch (const ClassNeeded& needs) {
      begin(needs.tensor);
    }
  }
}

std::uint32_t TensorClasses::class_of(const Tensor& tensor, const TensorWalk& walk) {
  const std::uint32_t signature = signatures_.intern(walk.signature());
  const auto same = class_of_signature_.find(signature);
  if (same != class_of_signature_.end()) return same->second;
  const ArrayShape& shape = shape_of(context_, tensor);
  std::vector<std::int64_t> corners = encode_shape(shape);
  if (!walk.pieces().empty()) {
    Space space(context_.values.offsets());
    Evaluation evaluation(context_, tensor.flow, space);
    for (const bool last : {false, true}) {
      IndexMap map;
      for (const std::int64_t size : shape.sizes) map.push_back({last ? size - 1 : 0, {}});
      corners.push_back(evaluation.evaluate(tensor.ref, tensor.device, map));
    }
  }
  std::uint32_t number = classes_;
  std::vector<Tensor>& alike = by_corners_[corners];
  for (const Tensor& known : alike) {
    if (!equal(known, tensor)) continue;
    number = context_.classes.at(known);
    break;
  }
  if (number == classes_) {
    alike.push_back(tensor);
    ++classes_;
  }
  class_of_signature_.emplace(signature, number);
  return number;
}

bool TensorClasses::equal(const Tensor& a, const Tensor& b) {
  Space space(context_.values.offsets());
  Evaluation first(context_, a.flow, space);
  Evaluation second(context_, b.flow, space);
  std::vector<Region> worklist = {whole_region(space, shape_of(context_, a).sizes)};
  std::size_t regions = 0;
  while (!worklist.empty()) {
    if (++regions > kMaxProofRegions) return false;
    const Region region = worklist.back();
    worklist.pop_back();
    try {
      if (first.evaluate(a.ref, a.device, region.map) !=
          second.evaluate(b.ref, b.device, region.map)) {
        return false;
      }
    } catch (const Refinement& refinement) {
      push(worklist, split_region(space, region, refinement));
    }
    first.clear();
    second.clear();
  }
  return true;
}

IndexMap corner_of(const Space& space, const Region& region, std::size_t corner) {
  IndexMap map = region.map;
  for (std::size_t i = 0; i < region.variables.size(); ++i) {
    const bool last = i < kMaxCornerVariables && ((corner >> i) & 1U) != 0;
    map = substitute(map, region.variables[i],
                     {last ? space.extent(region.variables[i]) - 1 : 0, {}});
  }
  return map;
}

void Comparison::run() {
  for (std::size_t k = 0; k < context_.flows[0]->outputs.size() && !result.difference; ++k) {
    compare_output(k);
  }
}

void Comparison::compare_output(std::size_t output) {
  const ArrayShape& shape = context_.flows[0]->shape(context_.flows[0]->outputs[output]);
  if (shape.elements() == 0 || shape.type.is_token()) return;
  worklist_ = {{whole_region(space_, shape.sizes), 0}};
  before_.clear();
  after_.clear();
  while (!worklist_.empty() && !result.difference) {
    Task task = worklist_.back();
    try {
      if (compare_region(output, task)) {
        worklist_.pop_back();
        before_.clear();
        after_.clear();
      }
    } catch (const ClassNeeded& needs) {
      worklist_.back() = task;
      classes_.classify(needs.tensor);
    }
  }
}

/// Whether the region is done; otherwise it has been split.
bool Comparison::compare_region(std::size_t output, Task& task) {
  const Ref before = context_.flows[0]->outputs[output];
  const Ref after = context_.flows[1]->outputs[output];
  try {
    for (; task.device < context_.flows[0]->devices.count(); ++task.device) {
      context_.spend(1);
      const Value a = before_.evaluate(before, task.device, task.region.map);
      const Value b = after_.evaluate(after, task.device, task.region.map);
      if (a == b) continue;
      examine(output, task);
      if (result.difference || worklist_.empty() || worklist_.back().region.map != task.region.map)
        return false;
    }
    return true;
  } catch (const Refinement& refinement) {
    split(task, refinement);
    return false;
  }
}

/// Replaces the region by its parts.
void Comparison::split(const Task& task, const Refinement& refinement) {
  worklist_.pop_back();
  std::vector<Region> parts = split_region(space_, task.region, refinement);
  context_.spend(parts.size());
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    worklist_.push_back({std::move(*part), task.device});
  }
  before_.clear();
  after_.clear();
}

/// The normal forms differ on the region: searches its corners for an element that differs.
void Comparison::examine(std::size_t output, const Task& task) {
  if (++examined_ > kMaxExaminedRegions) return;
  const std::size_t variables = std::min(task.region.variables.size(), kMaxCornerVariables);
  bool differs = false;
  for (std::size_t corner = 0; corner < (std::size_t{1} << variables) && !result.difference;
       ++corner) {
    differs = examine_corner(output, task, corner) || differs;
  }
  if (differs || result.difference) return;
  // The corners are equal: the region has more elements, and some part differs.
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
  const Value a = before_.evaluate(ref, task.device, map);
  const Value b = after_.evaluate(context_.flows[1]->outputs[output], task.device, map);
  if (a == b) return false;
  Mismatch mismatch{task.device, output, {}, a, b};
  for (const Coordinate& coordinate : map) mismatch.index.push_back(coordinate.base);
  if (is_certain(a, b, context_.flows[0]->shape(ref).type)) {
    result.difference = mismatch;
  } else if (!result.undecided) {
    result.undecided = mismatch;
  }
  return true;
}

/// In an ordered comparison the sums are known to be equal: another order is a difference.
bool Comparison::is_certain(Value before, Value after, ElementType type) {
  if (context_.ordered) return same_uninterpreted_terms(context_, before, after);
  return are_distinguishable(context_, before, after, type);
}

IndexMap shifted(const IndexMap& map, const std::vector<std::int64_t>& by) {
  IndexMap result;
  for (std::size_t i = 0; i < map.size(); ++i) result.push_back(map[i].plus(by[i]));
  return result;
}

/// Compares the outputs of a module before partitioning with what devices hold of them.
class RelatedComparison {
 public:
  explicit RelatedComparison(ComparisonContext& context)
      : context_(context),
        relation_(*context.relation),
        classes_(context),
        space_(context.values.offsets()),
        whole_(context, 0, space_),
        device_(context, 1, space_) {}

  /// Throws LimitReached.
  void run() {
    if (context_.names_tensors) whole_.name_tensors();
    for (std::size_t k = 0; k < relation_.outputs.size() && !result.undecided; ++k) {
      const TensorRelation& relation = relation_.outputs[k];
      if (relation.whole.type.is_token() || relation.whole.elements() == 0) continue;
      if (relation.parts == 1) {
        for (const HeldBoxes& boxes : held_boxes(relation)) compare(k, boxes);
        continue;
      }
      for (const HeldBox& box : reduced_boxes(relation)) {
        compare({{}, box.sizes},
                [&](const Region& region) { return are_parts_equal(k, box, region); });
      }
    }
  }

  OutputComparison result;

 private:
  /// Regions of the values of variables, then of a box of these sizes.
  using Extents = std::pair<std::vector<HeldBoxes::Variable>, std::vector<std::int64_t>>;

  void compare(std::size_t output, const HeldBoxes& boxes) {
    if (result.undecided) return;
    compare({boxes.variables, boxes.sizes},
            [&](const Region& region) { return are_equal(output, boxes, region); });
  }

  /// Regions whose questions have a uniform answer are asked for at once the next time.
  template <typename AreEqual>
  void compare(const Extents& extents, const AreEqual& are_equal) {
    if (result.undecided) return;
    const auto [known, added] = regions_.try_emplace(extents);
    if (added) known->second = {whole(extents)};
    std::vector<Region> worklist(known->second.rbegin(), known->second.rend());
    std::vector<Region> done;
    while (!worklist.empty()) {
      context_.spend(1);
      const Region region = worklist.back();
      try {
        if (!are_equal(region)) return;
        worklist.pop_back();
        done.push_back(region);
      } catch (const Refinement& refinement) {
        worklist.pop_back();
        std::vector<Region> parts = split_region(space_, region, refinement);
        for (Region& part : parts) part = space_.with_reused(part);
        push(worklist, std::move(parts));
      } catch (const ClassNeeded& needs) {
        classes_.classify(needs.tensor);
      }
    }
    known->second = std::move(done);
  }

  /// An index of a box, and what the variables add to its first index in the whole, on the device,
  /// and to the device.
  Region whole(const Extents& extents) {
    const auto& [variables, sizes] = extents;
    std::vector<std::int64_t> all;
    for (const HeldBoxes::Variable& each : variables) all.push_back(each.extent);
    for (const std::int64_t size : sizes) {
      if (size != 1) all.push_back(size);
    }
    Region region{{}, space_.reuse(all, {})};
    auto next = region.variables.begin() + static_cast<std::ptrdiff_t>(variables.size());
    for (const std::int64_t size : sizes) {
      region.map.push_back(size == 1 ? Coordinate{} : Coordinate{0, {{*next++, 1}}});
    }
    for (std::size_t i = 0; i < 2 * sizes.size() + 1; ++i) {
      Coordinate& moved = region.map.emplace_back();
      for (std::size_t k = 0; k < variables.size(); ++k) {
        if (variables[k].strides[i] == 0) continue;
        moved = moved + Coordinate{0, {{region.variables[k], variables[k].strides[i]}}};
      }
    }
    return region;
  }

  bool are_equal(std::size_t output, const HeldBoxes& boxes, const Region& region) {
    const std::size_t rank = boxes.sizes.size();
    IndexMap of;
    IndexMap at;
    for (std::size_t i = 0; i < rank; ++i) {
      of.push_back((region.map[i] + region.map[rank + i]).plus(boxes.first[i]));
      at.push_back((region.map[i] + region.map[2 * rank + i]).plus(boxes.first[rank + i]));
    }
    const Coordinate device = region.map[3 * rank].plus(boxes.first[2 * rank]);
    const Value before = whole_.evaluate(context_.flows[0]->outputs[output], 0, of);
    const Value after =
        device_.evaluate(context_.flows[1]->outputs[boxes.number], context_.place_of(device), at);
    if (before == after) return true;
    // One device after the other.
    if (!device.is_fixed()) throw space_.singles(device.terms[0].variable);
    return differ(output, static_cast<std::uint32_t>(device.base),
                  corner_of(space_, {of, region.variables}, 0), before, after);
  }

  bool are_parts_equal(std::size_t output, const HeldBox& box, const Region& region) {
    const TensorRelation& relation = relation_.outputs[output];
    const IndexMap index(region.map.begin(),
                         region.map.begin() + static_cast<std::ptrdiff_t>(box.sizes.size()));
    const IndexMap of = shifted(index, box.of);
    const Value whole = whole_.evaluate(context_.flows[0]->outputs[output], 0, of);
    const auto differs = [&](std::uint32_t device, Value before, Value after) {
      return differ(output, device, corner_of(space_, {of, region.variables}, 0), before, after);
    };
    std::vector<std::optional<Value>> parts(relation.parts);
    for (const HeldBox::Place& place : box.places) {
      const Value value =
          device_.evaluate(context_.flows[1]->outputs[relation.number_on(place.device)],
                           place.device, shifted(index, place.at));
      std::optional<Value>& part = parts[relation.part_of(place.device)];
      if (part && *part != value) return differs(place.device, *part, value);
      part = value;
    }
    std::vector<Value> members;
    for (const std::optional<Value>& part : parts) {
      if (part) members.push_back(*part);
    }
    const std::size_t expected = relation.parts_are_devices ? box.places.size() : parts.size();
    const auto total = members.size() == expected
                           ? context_.values.combine(relation.reducer, members, relation.whole.type)
                           : std::nullopt;
    const Value after = total ? context_.values.folded(*total, relation.whole.type) : members[0];
    return (total && after == whole) || differs(box.places[0].device, whole, after);
  }

  bool differ(std::size_t output, std::uint32_t device, const IndexMap& at, Value before,
              Value after) {
    Mismatch mismatch{device, output, {}, before, after};
    for (const Coordinate& coordinate : at) mismatch.index.push_back(coordinate.base);
    result.undecided = std::move(mismatch);
    return false;
  }

  ComparisonContext& context_;
  const ModuleRelation& relation_;
  TensorClasses classes_;
  Space space_;
  Evaluation whole_;
  Evaluation device_;
  std::map<Extents, std::vector<Region>> regions_;
};

/// What is found up to a limit.
template <typename Comparing>
OutputComparison run_within_limits(ComparisonContext& context) {
  context.fixed.resize(context.flows.size());
  for (std::size_t flow = 0; flow < context.flows.size(); ++flow) {
    context.alike.emplace_back(*context.flows[flow], flow == 0 ? nullptr : context.relation,
                               context.replication);
  }
  Comparing comparison(context);
  try {
    comparison.run();
  } catch (const LimitReached& limit) {
    comparison.result.limit = limit.what();
  }
  return comparison.result;
}

}  // namespace

OutputComparison compare_related(ComparisonContext& context) {
  return run_within_limits<RelatedComparison>(context);
}

OutputComparison compare_outputs(ComparisonContext& context) {
  return run_within_limits<Comparison>(context);
}

}  // namespace p2::hlo
