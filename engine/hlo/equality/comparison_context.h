#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/hlo/equality/values.h"
#include "engine/hlo/fault.h"
#include "engine/hlo/flow.h"
#include "p2/limits.h"

namespace p2::hlo {

/// One array on one device of one of the flows that are compared.
struct Tensor {
  std::uint32_t flow = 0;
  Ref ref = {};
  std::uint32_t device = 0;

  auto operator<=>(const Tensor&) const = default;
};

/// Thrown where an operation that is not understood takes a tensor that has no class yet.
struct NeedsTensor {
  Tensor tensor;
};

/// A question to a flow: what an array holds on a device, at an index (Values::map).
struct Query {
  Ref ref = {};
  std::uint32_t device = 0;
  std::uint32_t map = 0;

  bool operator==(const Query&) const = default;
};
struct QueryHash {
  std::size_t operator()(const Query& query) const {
    std::uint64_t state = query.ref.node;
    for (const std::uint32_t part : {query.ref.output, query.device, query.map}) {
      state = (state ^ part) * 0x9E3779B97F4A7C15ULL;
      state ^= state >> 31U;
    }
    return state;
  }
};
using Answers = std::unordered_map<Query, Value, QueryHash>;

/// What all evaluations of one comparison share.
struct ComparisonContext {
  std::vector<const Flow*> flows;
  Fingerprints& fingerprints;
  const Limits& limits;
  bool ordered = false;  ///< sums of floating-point numbers keep their order

  Values values = {};
  std::vector<Answers> fixed = {};  ///< by flow: answers at indices without variables
  /// Tensors whose elements are all equal have the same class.
  std::map<Tensor, std::uint32_t> classes = {};
  Interner opaque = {};                      ///< results of operations that are not understood
  std::set<std::string> uninterpreted = {};  ///< their opcodes
  std::uint64_t work = 0;

  std::uint32_t class_of(const Tensor& tensor) const;
  /// Counts `units` of work. Throws OutOfReach where a limit is met.
  void spend(std::uint64_t units);
};

}  // namespace p2::hlo
