#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/fingerprint.h"
#include "engine/hlo/module.h"
#include "engine/hlo/reducer.h"

namespace p2::hlo {

/// The operations that are understood; all others are Opaque, or Elementwise where the element at
/// an index is a function of the operands' elements at that index.
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
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  CollectiveBroadcast,
  CollectivePermute,
  Opaque
};

/// One array that a node computes.
struct Ref {
  std::uint32_t node = 0;
  std::uint32_t output = 0;

  auto operator<=>(const Ref&) const = default;
};

/// One operation. Tuples, calls, fusions and start/done pairs are gone.
struct Node {
  Op op = Op::Opaque;
  const Instruction* instruction = nullptr;
  std::vector<ArrayShape> outputs = {};
  std::vector<Ref> operands = {};
  Reducer reducer = Reducer::Unknown;  ///< of its computation, or of a binary operation
  std::uint32_t collective = kNone;    ///< in Flow::collectives
  std::uint32_t fingerprint = 0;       ///< what it is, but for its operands
  std::uint32_t called = kNone;        ///< the fingerprint of its reducer
  std::uint32_t parameter = 0;         ///< which array of the inputs
  bool asks_devices = false;           ///< opaque, and may depend on all devices
  bool impure = false;                 ///< opaque, and may give another result each time
};

/// The most nodes of a flow: calls are put in place, and could double at every level.
constexpr std::size_t kMostNodes = 1U << 21U;

/// The data flow of a module: arrays computed from arrays, each node after its operands.
struct Flow {
  std::shared_ptr<const Module> module;
  Devices devices;
  std::vector<Node> nodes;
  std::vector<Ref> outputs;  ///< the arrays of the root, from left to right
  std::vector<ArrayShape> inputs;
  std::vector<Collective> collectives;

  const Node& node(Ref ref) const { return nodes[ref.node]; }
  const ArrayShape& shape(Ref ref) const { return nodes[ref.node].outputs[ref.output]; }
};

/// Puts the calls of a module in place and checks that shapes and groups fit together. Throws
/// IllFormed where they do not, and InputError past kMostNodes.
Flow flow_of(std::shared_ptr<const Module> module, const Devices& devices,
             Fingerprints& fingerprints);

}  // namespace p2::hlo
