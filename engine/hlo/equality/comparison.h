#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {

/// An element whose values differ.
struct Mismatch {
  std::uint32_t device = 0;
  std::size_t output = 0;
  std::vector<std::int64_t> index;
  Value before = 0;
  Value after = 0;
};

struct OutputComparison {
  std::optional<Mismatch> difference;  ///< the first element that is proved to differ
  /// The first element whose values have different normal forms and may still be equal.
  std::optional<Mismatch> undecided;
  std::optional<std::string> limit;  ///< that ended the comparison
};

/// Compares the outputs of the first two flows of a context on all devices, up to the first
/// difference. The flows must have the same inputs and outputs.
OutputComparison compare_outputs(ComparisonContext& context);

/// Compares the outputs of a module before partitioning, flow 0, with those of a partitioned one,
/// flow 1, under `context.relation`. It finds no difference: what is not equal is undecided, for
/// inputs may be arbitrary where shards are padded.
OutputComparison compare_related(ComparisonContext& context);

/// A value in words, shortened: `1/4·x[2,0] of devices 0–3 + …`. Inputs are named as in `flow`.
std::string text_of(const ComparisonContext& context, const Flow& flow, Value value);

/// Whether all outputs are the same operations on the same operands, so that they have the same
/// bits. Names, calls, tuples and the order of instructions do not matter.
bool are_identical(const Flow& before, const Flow& after, Fingerprints& fingerprints);

/// Whether two values of `type` are proved to differ: on some concrete inputs their numbers differ
/// by more than rounding. False if an uninterpreted function occurs in the difference, and if the
/// search finds no such inputs. Precondition: the values are at fixed indices.
bool are_distinguishable(ComparisonContext& context, Value before, Value after, ElementType type);

/// Whether both values have the same uninterpreted subterms.
bool same_uninterpreted_terms(const ComparisonContext& context, Value a, Value b);

}  // namespace p2::hlo
