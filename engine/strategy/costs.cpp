#include "engine/strategy/costs.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2::operations {
namespace {

/// The input's axes with the lengths of what comes in.
Tensor shaped(const Tensor& input, const Tensor& source) {
  Tensor tensor = input;
  for (std::size_t a = 0; a < tensor.size(); ++a) tensor[a].length = source[a].length;
  return tensor;
}

}  // namespace

OperationCost::OperationCost(const OperationGraph& graph, std::uint32_t operation)
    : operation_(graph.operations[operation]), machine_(graph.machine) {
  summed_.push_back({"output", operation_.partial});
  for (const TensorEdge& edge : graph.tensors) {
    if (edge.to != operation || (operation_.scattered && edge.input == 0)) continue;
    const Tensor& input = operation_.inputs[edge.input];
    summed_.push_back({fmt::format("gradient of input {}", edge.input),
                       shaped(input, graph.operations[edge.from].output)});
  }
  for (std::size_t w = 0; w < operation_.weights.size(); ++w) {
    summed_.push_back({fmt::format("gradient of weights {}", w), operation_.weights[w]});
  }
}

Wide OperationCost::computation(const Configuration& configuration) const {
  Wide points = 1;
  for (std::size_t d = 0; d < configuration.size(); ++d) {
    points *= operation_.dimensions[d].length / configuration[d];
  }
  return points * operation_.multiply +
         Wide{elements_of_part(operation_.work, configuration)} * operation_.pointwise;
}

std::vector<AllReduce> OperationCost::all_reduces(const Configuration& configuration) const {
  std::vector<AllReduce> found;
  for (const Summed& summed : summed_) {
    AllReduce sum{summed.name, elements_of_part(summed.tensor, configuration), {}, 1};
    for (std::size_t d = 0; d < configuration.size(); ++d) {
      const bool has = std::ranges::count(summed.tensor, d, &Axis::dimension) > 0;
      if (has || configuration[d] == 1) continue;
      sum.over.push_back(d);
      sum.group *= configuration[d];
    }
    if (sum.group > 1) found.push_back(std::move(sum));
  }
  return found;
}

Wide OperationCost::communication(const Configuration& configuration) const {
  Wide cost = 0;
  for (const AllReduce& sum : all_reduces(configuration)) {
    cost += machine_.cost_of_words(Wide{2} * (sum.group - 1) * sum.words, sum.group, sum.group);
  }
  return cost;
}

Wide OperationCost::memory(const Configuration& configuration) const {
  Wide words = elements_of_part(operation_.output, configuration);
  for (const Tensor& weights : operation_.weights) {
    words += Wide{4} * elements_of_part(weights, configuration);
  }
  return words * machine_.word_bytes;
}

TensorCost::TensorCost(const OperationGraph& graph, const TensorEdge& edge)
    : machine_(graph.machine),
      target_(graph.operations[edge.to]),
      scattered_(target_.scattered && edge.input == 0),
      source_axes_(graph.operations[edge.from].output),
      target_axes_(shaped(target_.inputs[edge.input], source_axes_)) {}

Wide TensorCost::cost(const Configuration& from, const Configuration& to) const {
  Wide needed = 1;
  Wide held = 1;
  Wide shares = 1;  // both are divided by it
  std::int64_t source_parts = 1;
  std::int64_t target_parts = 1;
  for (std::size_t a = 0; a < target_axes_.size(); ++a) {
    const Axis& axis = target_axes_[a];
    const std::int64_t own = parts(axis, to);
    const std::int64_t theirs = parts(source_axes_[a], from);
    source_parts *= theirs;
    target_parts *= own;
    needed *= axis.length / own;
    held *= axis.length / std::max(own, theirs);
  }
  if (scattered_) {
    for (std::size_t d = 0; d < to.size(); ++d) {
      if (std::ranges::count(target_axes_, d, &Axis::dimension) == 0) shares *= to[d];
    }
    target_parts *= static_cast<std::int64_t>(shares);
  }
  if (source_parts < target_parts) held = 0;
  return machine_.cost_of_words(2 * (needed - held), shares, std::max(product(from), product(to)));
}

}  // namespace p2::operations
