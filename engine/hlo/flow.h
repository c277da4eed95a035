#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/module.h"
#include "p2/limits.h"

namespace p2::hlo {

/// The operations with a semantics here. Elementwise: element i of the result is a function of the
/// elements i of the operands. Opaque: uninterpreted.
enum class Op : std::uint8_t {
  Parameter,
  Constant,
  Iota,
  PartitionId,
  ReplicaId,
  Slice,
  DynamicSlice,
  DynamicUpdateSlice,
  Reshape,  ///< also a bitcast, in the order of memory
  Transpose,
  Broadcast,
  Concatenate,
  Pad,
  Reverse,
  Elementwise,
  Reduce,
  Dot,
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  CollectiveBroadcast,
  CollectivePermute,
  Receive,       ///< of linked programs: as a permutation, but arbitrary without a source
  OfOwnProgram,  ///< of linked programs
  Opaque
};

/// One array that a node computes.
struct Ref {
  std::uint32_t node = 0;
  std::uint32_t output = 0;

  auto operator<=>(const Ref&) const = default;
};

/// Interns texts: equal texts have equal numbers. Flows that are compared share one table.
class Fingerprints {
 public:
  std::uint32_t intern(const std::string& text);
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

/// One operation on arrays.
struct Node {
  Op op = Op::Opaque;
  const Instruction* instruction = nullptr;
  std::vector<ArrayShape> outputs = {};
  std::vector<Ref> operands = {};
  Reducer reducer = Reducer::Unknown;  ///< of its computation, or of a binary operation
  std::uint32_t collective = kNone;    ///< in Flow::collectives
  std::uint32_t fingerprint = 0;       ///< of everything but the operands
  std::uint32_t called = kNone;        ///< the fingerprint of its reducer
  std::uint32_t parameter = 0;         ///< of a Parameter: in Flow::inputs
  bool depends_on_devices = false;     ///< opaque, and may depend on the values of all devices
  bool impure = false;                 ///< opaque, and two executions may differ
};

/// The largest number of nodes: inlining may double it at every level of calls.
constexpr std::size_t kMaxNodes = 1U << 21U;

/// The data-flow graph of a module: calls, fusions, tuples and start/done pairs are inlined.
struct Flow {
  std::shared_ptr<const Module> module;
  Devices devices;
  std::vector<Node> nodes;   ///< in topological order
  std::vector<Ref> outputs;  ///< the arrays of the root, from left to right
  std::vector<ArrayShape> inputs;
  std::vector<Collective> collectives;

  const Node& node(Ref ref) const { return nodes[ref.node]; }
  const ArrayShape& shape(Ref ref) const { return nodes[ref.node].outputs[ref.output]; }
};

/// Builds the data-flow graph and checks groups. Throws IllFormed for a module without meaning,
/// InputError beyond kMaxNodes. Precondition: check_shapes() has found nothing (shape_inference.h).
Flow flow_of(std::shared_ptr<const Module> module, const Devices& devices,
             Fingerprints& fingerprints, const Limits& limits);

}  // namespace p2::hlo
