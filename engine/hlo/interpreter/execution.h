#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/equality/equivalence.h"

namespace p2::hlo {

/// How two modules are compared, and why not.
struct ModuleRelation {
  Form before = Form::Partitioned;
  Form after = Form::Partitioned;
  /// Of the global module's inputs and outputs: how devices hold them. Replicated where nothing is
  /// said. Empty if both modules have the same form.
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<Placement> placements = {};  ///< the same, for people
  /// The signatures do not fit in this relation.
  std::optional<std::string> mismatch = {};
  /// A mismatch of two modules that are both partitioned is a difference; any other may be a
  /// sharding that is not understood.
  bool mismatch_is_certain = false;

  /// Both modules may as well be partitioned: then inputs of different devices are independent.
  bool is_ambiguous = false;

  bool is_partitioned() const { return before == Form::Partitioned && after == before; }
};

/// Finds the relation from the shardings of the modules.
ModuleRelation relation_of(const Module& before, const Module& after, const Devices& devices);

/// Whether executing both modules is affordable: an estimate of the operations on elements.
double estimated_operations(const Module& module, const Devices& devices);

/// Compares two modules by executing them on all devices, in two ways: on numbers, which refutes,
/// and by random interpretation, which establishes (algebra.h). Undecided if neither succeeds, or
/// beyond `most` operations on elements. Precondition: `relation` has no mismatch.
ModuleDecision compare_by_execution(const Module& before, const Module& after,
                                    const Devices& devices, const ModuleRelation& relation,
                                    std::uint64_t most, const Limits& limits);

}  // namespace p2::hlo
