#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/equality/equivalence.h"
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

/// Compares two modules that are chains of collectives on one vector, in time and memory of
/// devices: all-reduces (sums), reduce-scatters, all-gathers and collective-broadcasts in which all
/// devices take part, reshapes and transpositions. Each is executed by its groups: of every device
/// the elements that it holds, in an order that all share, and the devices whose inputs they are
/// summed over. Where these differ, or an operation leaves something else, single elements are
/// followed back to the input. Nothing for other modules, and where neither decides. Both have the
/// same devices, inputs and outputs. Throws LimitReached.
std::optional<ModuleDecision> compare_chains(const Flow& before, const Flow& after,
                                             const Limits& limits);

/// `devices 0–3, 8`, of ascending numbers.
std::string devices_in_words(const std::vector<std::uint32_t>& ascending);

/// A value in words, shortened: `1/4·x[2,0] of devices 0–3 + …`. Inputs are named as in `flow`.
std::string text_of(const ComparisonContext& context, const Flow& flow, Value value);

// Senses stricter than that of real numbers (effects_and_senses.cpp).

/// Modules that take more operations on elements are evaluated symbolically before they are
/// executed, and executed with reduced dimensions.
inline constexpr double kExecutedFirst = 3e7;
/// Modules that take more operations on elements are left to the evaluation of regions.
inline constexpr double kMaxOperations = 2e8;
/// Modules whose estimate is larger are not executed at all: they would fill the memory first.
inline constexpr double kMaxAttempted = 2e10;

/// At most half of the memory.
Limits within_memory(Limits limits);

/// Whether all outputs are the same operations on the same operands, so that they have the same
/// bits. Names, calls, tuples and the order of instructions do not matter. Throws LimitReached.
bool are_identical(const std::shared_ptr<const Module>& before,
                   const std::shared_ptr<const Module>& after, const Devices& devices,
                   const ModuleRelation& relation, const Limits& limits);

/// Constants that were folded in their type differ by rounding from what real numbers give: modules
/// that are refuted as real numbers are established if they are equal bit for bit.
void accept_if_bitwise_equal(ModuleDecision& decision, const Module& before, const Module& after,
                             const ModuleRelation& relation, const Limits& limits);

/// Makes undecided what is established as real numbers and not shown equal in the sense asked for.
void require_stricter_equality(ModuleDecision& decision, const Module& before, const Module& after,
                               const ModuleRelation& relation, FloatEquality asked,
                               const Limits& limits);

/// Whether two values of `type` are proved to differ: on some concrete inputs their numbers differ
/// by more than rounding. False if an uninterpreted function occurs in the difference, and if the
/// search finds no such inputs. Precondition: the values are at fixed indices.
bool are_distinguishable(ComparisonContext& context, Value before, Value after, ElementType type);

/// Whether both values have the same uninterpreted subterms.
bool same_uninterpreted_terms(const ComparisonContext& context, Value a, Value b);

/// What two modules do beside their outputs: infeeds, outfeeds, messages, custom calls with side
/// effects.
struct EffectComparison {
  const Instruction* first = nullptr;  ///< one such operation of one of the modules
  /// If they are the same operations in the same order: the modules with all that these are given
  /// as further outputs. Else null, as where one is in a computation that the entry calls.
  std::shared_ptr<const Module> before = {};
  std::shared_ptr<const Module> after = {};
};

/// Nothing where neither has effects.
std::optional<EffectComparison> compare_effects(const Module& before, const Module& after);

/// Of `after`, what leaves open more than anything in `before`, or nothing: a reduction, or a
/// scatter of several updates, that depends on the order in which it takes elements, which XLA
/// leaves open. Of either, a window that is padded with what is not known to be
/// neutral.
struct Openness {
  const Instruction* instruction = nullptr;
  std::string reason;  ///< what it does, one clause
};
std::optional<Openness> new_openness(const Module& before, const Module& after);

/// A gather or scatter that promises `indices_are_sorted` or `unique_indices` of more than one
/// vector of indices for every batch. It computes nothing that is defined if they are not so.
std::optional<Openness> promise_in(const Module& after);

}  // namespace p2::hlo
