#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/strategy/graph.h"
#include "p2/error.h"
#include "p2/json.h"

namespace p2::operations {

using strategy::Wide;  // products of the numbers of a machine and an operation do not overflow it

/// The nearest integer, halves to even. `denominator` > 0, `numerator` ≥ 0.
Wide rounded(Wide numerator, Wide denominator);

/// One level of a machine, such as the devices of a node or the nodes of a rack.
struct Level {
  std::string name;
  std::int64_t size = 1;       ///< instances of the next inner level
  std::int64_t bandwidth = 1;  ///< bytes per second and device, to others in the same instance
};

/// Devices and their interconnect. Levels are innermost first.
struct Machine {
  std::int64_t flops = 1;  ///< operations per second and device
  std::int64_t word_bytes = 8;
  std::vector<Level> levels;

  std::int64_t devices() const;
  /// The time of sending or receiving `words`/`parts` words within a group of `group` consecutive
  /// devices, at the bandwidth of the slowest level that the group spans; in operations of a
  /// device.
  Wide cost_of_words(Wide words, Wide parts, std::int64_t group) const;
};

/// A dimension of an operation's iteration domain.
struct Dimension {
  std::string name;
  std::int64_t length = 1;
  bool splits = true;  ///< a configuration may split it
};

/// An axis of a tensor: split like the dimension that it follows, or never split.
struct Axis {
  std::optional<std::size_t> dimension;
  std::int64_t length = 1;  ///< meaningless in an input: the producer determines it
};
using Tensor = std::vector<Axis>;

/// An operation of a model in one training step: forward, and backward for the weights and every
/// input that another operation produces.
struct Operation {
  std::string name;
  std::string kind;
  std::vector<Dimension> dimensions;
  std::vector<Tensor> inputs;
  std::vector<Tensor> weights;
  Tensor output;
  /// The tensor of partial sums where a dimension that it lacks is split: the output, or
  /// statistics.
  Tensor partial;
  Tensor work;                ///< every element costs `pointwise` operations
  std::int64_t multiply = 0;  ///< operations per point of the domain, all passes
  std::int64_t pointwise = 0;
  /// The first input is routed by data: any part may need any element.
  bool scattered = false;
  std::optional<std::size_t> data;   ///< the dimension that data parallelism splits
  std::optional<std::size_t> model;  ///< the dimension that expert strategies also split
};

/// A tensor from one operation to another.
struct TensorEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::size_t input = 0;  ///< number of the input of `to`
};

struct OperationGraph {
  std::string model;
  Machine machine;
  std::vector<Operation> operations;
  std::vector<TensorEdge> tensors;
};

/// The number of parts of every dimension. Their product is the number of devices used.
using Configuration = std::vector<std::int64_t>;

std::int64_t product(const Configuration& configuration);
std::int64_t parts(const Axis& axis, const Configuration& configuration);
std::int64_t elements(const Tensor& tensor);
std::int64_t elements_of_part(const Tensor& tensor, const Configuration& configuration);

/// An operation as in a file, before its kind is applied.
struct OperationSketch {
  std::string name;
  std::string kind;
  std::vector<std::pair<std::string, std::int64_t>> dimensions;
  std::optional<std::int64_t> pointwise;  ///< overrides the kind's
  std::string data;                       ///< empty: the kind's
  std::string model;
  // For the kind einsum only: dimension names separated by blanks.
  std::vector<std::string> inputs = {};
  std::vector<std::string> weights = {};
  std::string output = {};
};

/// A tensor by the names of its producer and consumer.
struct TensorSketch {
  std::string from;
  std::string to;
  std::size_t input = 0;
};

/// An operation graph as in a file.
struct GraphSketch {
  std::string model;
  std::int64_t batch = 1;
  std::vector<OperationSketch> operations;
  std::vector<TensorSketch> tensors;
};

/// A kind of operation. Tensors are names of dimensions and constant lengths separated by blanks;
/// `c.h.w` is one axis with the product of their lengths, split like the first; `*` stands for all
/// dimensions. Optional dimensions that an operation omits are dropped.
struct Kind {
  std::string name = {};
  std::string dimensions = {};  ///< `*`: any
  std::string optional = {};    ///< dimensions that may be omitted
  std::string whole = {};       ///< dimensions that no configuration splits
  std::vector<std::string> inputs = {};
  std::vector<std::string> weights = {};
  std::string output = {};
  std::string partial = {};  ///< empty: the output
  std::string work = {};     ///< empty: the output
  std::int64_t multiply = 0;
  std::int64_t pointwise = 0;
  std::string model = {};    ///< the dimension that an expert splits; empty: none
  bool many_inputs = false;  ///< any number of inputs like the first
  bool scattered = false;
};

const std::vector<Kind>& kinds();

/// A mistake in an operation or a graph of operations, without a position: its reader adds one.
class SketchError : public Error {
 public:
  using Error::Error;
};

/// Throws SketchError with the reason.
Operation make_operation(const OperationSketch& sketch);

/// Reads a file of the format `operation-graph/1` (docs/strategy.md). Throws InputError at the
/// first violation: an unknown kind, a dimension that is missing or not positive, a tensor between
/// shapes that do not match, an input with two producers, a cycle.
OperationGraph read_operations(const std::string& source, std::string text);

/// Whether the text of a file claims to be such a graph.
bool is_operation_graph(const std::string& text);

/// The value of such a file. Reading it gives the graph of the sketch on this machine.
Json operation_graph_json(const GraphSketch& sketch, const Machine& machine);
/// The same as text.
std::string write_operations(const GraphSketch& sketch, const Machine& machine);

}  // namespace p2::operations
