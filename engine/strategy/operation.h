#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/strategy/machine.h"

namespace p2::operations {

/// A dimension of an operation's iteration domain.
struct Dimension {
  std::string name;
  std::int64_t length = 1;
  bool splits = true;  ///< whether a configuration may split it
};

/// One axis of a tensor: as many parts as the dimension it follows, or always whole.
struct Axis {
  std::optional<std::size_t> dimension;
  std::int64_t length = 1;  ///< in an input of no meaning: there the producer decides
};
using Tensor = std::vector<Axis>;

/// An operation of a model in one step of training: forward, and backward for every input that
/// comes from another operation and for the weights.
struct Operation {
  std::string name;
  std::string kind;
  std::vector<Dimension> dimensions;
  std::vector<Tensor> inputs;
  std::vector<Tensor> weights;
  Tensor output;
  /// What parts that share the rest compute terms of, which are then added up: the output, or
  /// statistics.
  Tensor partial;
  Tensor work;                ///< of which each element costs `pointwise`
  std::int64_t multiply = 0;  ///< operations per point of the domain, of all passes
  std::int64_t pointwise = 0;
  /// The first input's elements go where the data says: any part needs any of them.
  bool scattered = false;
  std::optional<std::size_t> data;   ///< the dimension that data parallelism splits
  std::optional<std::size_t> model;  ///< the one that an expert splits besides
};

/// A tensor from one operation to another.
struct TensorEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::size_t input = 0;  ///< which of the inputs of `to`
};

struct OperationGraph {
  std::string model;
  Machine machine;
  std::vector<Operation> operations;
  std::vector<TensorEdge> tensors;
};

/// Into how many parts every dimension is split. Their product is the number of devices used.
using Configuration = std::vector<std::int64_t>;

std::int64_t product(const Configuration& configuration);
std::int64_t parts(const Axis& axis, const Configuration& configuration);
std::int64_t elements(const Tensor& tensor);
std::int64_t elements_of_part(const Tensor& tensor, const Configuration& configuration);

}  // namespace p2::operations
