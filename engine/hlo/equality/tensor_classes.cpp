#include "engine/hlo/equality/tensor_classes.h"

#include <algorithm>

namespace p2::hlo {
namespace {

constexpr std::size_t kMostRegionsOfProof = 4096;

const ArrayShape& shape_of(const ComparisonContext& context, const Tensor& tensor) {
  return context.flows[tensor.flow]->shape(tensor.ref);
}

std::vector<std::int64_t> described(const ArrayShape& shape) {
  std::vector<std::int64_t> sequence = {shape.type.index()};
  sequence.insert(sequence.end(), shape.sizes.begin(), shape.sizes.end());
  return sequence;
}

void push(std::vector<Region>& open, std::vector<Region> parts) {
  open.insert(open.end(), std::make_move_iterator(parts.rbegin()),
              std::make_move_iterator(parts.rend()));
}

}  // namespace

TensorWalk::TensorWalk(ComparisonContext& context, const Tensor& tensor)
    : context_(context),
      tensor_(tensor),
      space_(context.values.offsets()),
      evaluation_(context, tensor.flow, space_) {
  const ArrayShape& shape = shape_of(context, tensor);
  if (shape.elements() > 0) open_.push_back(whole(space_, shape.sizes));
}

void TensorWalk::run() {
  while (!open_.empty()) {
    context_.spend(1);
    const Region region = open_.back();
    try {
      const Value value = evaluation_.at(tensor_.ref, tensor_.device, region.map);
      open_.pop_back();
      pieces_.push_back({region, value});
    } catch (const Refinement& refinement) {
      open_.pop_back();
      push(open_, refined(space_, region, refinement));
    }
    evaluation_.forget();
  }
}

std::vector<std::int64_t> TensorWalk::signature() const {
  std::vector<std::int64_t> sequence = described(shape_of(context_, tensor_));
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

void TensorClasses::settle(const Tensor& tensor) {
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
    } catch (const NeedsTensor& needs) {
      begin(needs.tensor);
    }
  }
}

std::uint32_t TensorClasses::class_of(const Tensor& tensor, const TensorWalk& walk) {
  const std::uint32_t signature = signatures_.of(walk.signature());
  const auto same = class_of_signature_.find(signature);
  if (same != class_of_signature_.end()) return same->second;
  const ArrayShape& shape = shape_of(context_, tensor);
  std::vector<std::int64_t> corners = described(shape);
  if (!walk.pieces().empty()) {
    Space space(context_.values.offsets());
    Evaluation evaluation(context_, tensor.flow, space);
    for (const bool last : {false, true}) {
      IndexMap map;
      for (const std::int64_t size : shape.sizes) map.push_back({last ? size - 1 : 0, {}});
      corners.push_back(evaluation.at(tensor.ref, tensor.device, map));
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
  std::vector<Region> open = {whole(space, shape_of(context_, a).sizes)};
  std::size_t regions = 0;
  while (!open.empty()) {
    if (++regions > kMostRegionsOfProof) return false;
    const Region region = open.back();
    open.pop_back();
    try {
      if (first.at(a.ref, a.device, region.map) != second.at(b.ref, b.device, region.map)) {
        return false;
      }
    } catch (const Refinement& refinement) {
      push(open, refined(space, region, refinement));
    }
    first.forget();
    second.forget();
  }
  return true;
}

}  // namespace p2::hlo
