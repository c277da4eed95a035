// Refutation by execution on inputs that are constant on blocks of indices (block_modules.h).
//
// A training step returns a weight less a small part of its gradient, and what is wrong with a
// gradient is a small part of that: far above rounding, yet too faint beside the weight to count.
// Such differences say where to look: in further executions the inputs that an output adds up are
// 0, which may leave its gradient alone, or others are large, in which it may be linear.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/equality/decisions.h"
#include "engine/hlo/interpreter/block_modules.h"
#include "engine/hlo/interpreter/compared_elements.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/interpreter/execution_tensors.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/ranges.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {
namespace {

using interpreter::Algebra;
using interpreter::ComparedElement;
using interpreter::Draw;
using interpreter::Inputs;
using interpreter::Interpreter;
using interpreter::kDraws;
using interpreter::kFirstSeed;
using interpreter::kSecondSeed;
using interpreter::NumberRange;
using interpreter::OutputPairs;
using interpreter::Ranges;
using interpreter::Scalar;
using interpreter::Work;

/// Numbers are drawn as in the first kBlockDraws draws, and those of an input of which a dimension
/// has n elements, divided by about n to one of these powers.
constexpr std::size_t kBlockDraws = 3;
constexpr double kBlockScales[] = {0.5, 1, 0.75, 0, 1.5};
/// The same where indices beyond the first ones of an iota have small numbers. All are positive, so
/// that these stay small.
constexpr double kTailScales[] = {0.3125, 0.25, 0.125, 0.375};
constexpr Draw kPositiveDraw = kDraws[2];
/// A difference counts where disturbed operations change both values by no more than this part of
/// it.
constexpr double kDisturbance = 0.05;
constexpr double kLeastDifference = 1e-4;  ///< of numbers of few digits
/// Elements that are executed again, and how often: what is rounding alone may pass once by chance.
constexpr std::size_t kMaxTriedAgain = 64;
constexpr std::uint64_t kFurtherRuns = 3;
constexpr double kLeastSize = 1e-30;  ///< of a difference: less is zero in narrow types
constexpr std::size_t kMaxCandidates = 4096;
/// A range of numbers counts as one if it is so narrow, relative to them.
constexpr double kNarrowRange = 1e-7;
/// Executing modules on blocks takes about so many operations on elements at most.
constexpr double kMaxBlockOperations = 3e7;
/// The same of modules in which iotas have a block for every number, where ranges did not tell; of
/// these a few draws only.
constexpr double kMaxExactOperations = 1e9;
constexpr double kExactScales[] = {1, 0.75};
/// All draws together, and all that follow faint differences.
constexpr double kMaxBlockWork = 4e8;
/// Outputs that differ faintly in one execution and are looked at more closely.
constexpr std::size_t kMaxFaintOutputs = 3;
/// Inputs of a shape that so many have at most are made large one by one: those of a layer are not.
constexpr std::size_t kMaxAlike = 2;
/// An output's addends are looked for in so many instructions.
constexpr std::size_t kMaxAddendSteps = 256;
constexpr std::size_t kMaxInputsShown = 8;
/// Of inputs whose shape many have, so many at most are not 0 together: those of a few layers.
constexpr std::size_t kWindow = 128;
/// Inputs that are 0 leave numbers known if they leave this part of those that others do.
constexpr double kKnownPart = 0.5;

/// A power of 2, so that drawn numbers keep their digits.
double scale_of(const std::vector<std::int64_t>& sizes, double exponent) {
  if (sizes.size() < 2) return 1;
  const auto largest = static_cast<double>(*std::ranges::max_element(sizes));
  return largest <= 1 ? 1 : std::exp2(-std::round(exponent * std::log2(largest)));
}

/// How numbers are drawn for one execution on blocks.
struct BlockDraw {
  Draw draw = kDraws[0];
  double exponent = 0;
  std::uint64_t seed = kFirstSeed;
  std::set<std::size_t> zeros = {};  ///< inputs that are 0
  std::set<std::size_t> large = {};  ///< inputs that are kLargeScale times as large
  /// Numbers at all indices but the first ones of an iota are kTailScale times as large: a softmax
  /// over them, masked by the iota or not, hardly depends on them.
  bool has_small_tails = false;
};
constexpr double kTailScale = 0x1p-4;
constexpr double kLargeScale = 0x1p40;

/// The inputs of a module by use.
class InputUses {
 public:
  explicit InputUses(const Module& module) : entry_(module.entry_computation()) {
    std::size_t number = 0;
    for (const std::uint32_t parameter : entry_.parameters) {
      first_input_[parameter] = number;
      number += entry_.instructions[parameter].shape.arrays().size();
    }
  }

  /// Arrays that are inputs, in the order in which instructions of the entry first use them.
  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> inputs;
    std::set<std::uint32_t> seen;
    for (const Instruction& each : entry_.instructions) {
      for (const std::uint32_t operand : each.operands) {
        const auto input = first_input_.find(operand);
        if (input == first_input_.end() || !seen.insert(operand).second) continue;
        if (!entry_.instructions[operand].shape.is_tuple) inputs.push_back(input->second);
      }
    }
    return inputs;
  }

  /// The inputs that an output adds up, as `w` of `w − r·g`.
  std::set<std::size_t> addends_of(std::size_t output) const {
    const Instruction& root = entry_.instructions[entry_.root];
    std::set<std::size_t> found;
    std::vector<std::uint32_t> open = {entry_.root};
    if (root.opcode == "tuple") {
      if (output >= root.operands.size()) return found;
      open = {root.operands[output]};
    } else if (output > 0) {
      return found;
    }
    std::set<std::uint32_t> seen;
    while (!open.empty() && seen.size() < kMaxAddendSteps) {
      const std::uint32_t at = open.back();
      open.pop_back();
      if (!seen.insert(at).second) continue;
      const Instruction& each = entry_.instructions[at];
      const auto input = first_input_.find(at);
      if (input != first_input_.end()) {
        if (!each.shape.is_tuple) found.insert(input->second);
        continue;
      }
      static const std::set<std::string_view> kLinear = {
          "add", "subtract", "negate", "convert", "copy", "bitcast", "reshape", "transpose"};
      if (!kLinear.contains(each.opcode)) continue;
      open.insert(open.end(), each.operands.rbegin(), each.operands.rend());
    }
    return found;
  }

 private:
  const Computation& entry_;
  std::map<std::uint32_t, std::size_t> first_input_;  ///< by parameter
};

/// One refutation on blocks.
class BlockExecution {
 public:
  BlockExecution(const BlockModules& blocks, const Limits& limits)
      : blocks_(blocks),
        limits_(limits),
        tolerance_(interpreter::tolerance_of(*blocks.before, *blocks.after)),
        uses_(is_global_first() ? *blocks.before : *blocks.after) {
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> by_shape;
    for (std::size_t k = 0; k < blocks.input_sizes.size(); ++k) {
      by_shape[blocks.input_sizes[k]].push_back(k);
    }
    for (const auto& [sizes, inputs] : by_shape) {
      if (inputs.size() <= kMaxAlike) rare_.insert(inputs.begin(), inputs.end());
    }
  }

  /// Refutes by an element that differs for two draws, by much more than disturbing every operation
  /// changes it, unless random interpretation finds the modules equal.
  ModuleDecision decide() {
    ModuleDecision decision;
    decision.outcome = Outcome::Undecided;
    decision.devices = blocks_.devices;
    decision.violation = difference();
    if (decision.violation) decision.outcome = Outcome::Refuted;
    decision.interpreter = decision.outcome;
    if (decision.outcome != Outcome::Refuted || blocks_.has_ranges) return decision;
    if (are_equal_by_interpretation(*blocks_.before, *blocks_.after, blocks_.devices,
                                    blocks_.relation, most(), limits_)) {
      contradict(decision, "random interpretation finds the modules equal");
    }
    return decision;
  }

 private:
  bool is_large() const { return blocks_.operations > kMaxBlockOperations; }

  std::uint64_t most() const {
    return static_cast<std::uint64_t>(20 * std::max(kMaxBlockOperations, blocks_.operations));
  }

  bool is_global_first() const {
    return blocks_.relation.before == Form::Global || !blocks_.relation.is_mixed();
  }

  /// Where only ranges of some elements are known, all inputs of one shape are 0 in turn: what is 0
  /// times a range is known, as where the attention adds nothing.
  std::vector<std::set<std::size_t>> zeros() const {
    std::vector<std::set<std::size_t>> all = {{}};
    if (!blocks_.has_ranges) return all;
    std::map<std::vector<std::int64_t>, std::set<std::size_t>> shapes;
    for (std::size_t k = 0; k < blocks_.input_sizes.size(); ++k) {
      if (blocks_.input_sizes[k].size() >= 2) shapes[blocks_.input_sizes[k]].insert(k);
    }
    for (auto& [sizes, inputs] : shapes) all.push_back(std::move(inputs));
    return all;
  }

  /// In a deep module, what one layer changes drowns in what rounding may do in all: of inputs
  /// whose shape many have, all are 0 but those of a few layers. Large modules are not executed so
  /// often.
  std::vector<std::set<std::size_t>> windows() const {
    if (is_large()) return {};
    std::vector<std::size_t> alike;  // in the order in which they are used
    for (const std::size_t input : uses_.in_order()) {
      if (blocks_.input_sizes[input].size() >= 2 && !rare_.contains(input)) alike.push_back(input);
    }
    const std::size_t layer = period_of(alike);
    const std::size_t step = std::max<std::size_t>(1, kWindow / layer) * layer;
    std::vector<std::set<std::size_t>> all;
    for (std::size_t from = 0; from < alike.size() && alike.size() > step; from += step) {
      std::set<std::size_t> zero(alike.begin(), alike.end());
      for (std::size_t k = from; k < std::min(from + step, alike.size()); ++k) zero.erase(alike[k]);
      all.push_back(std::move(zero));
    }
    return all;
  }

  /// After how many inputs their shapes repeat.
  std::size_t period_of(const std::vector<std::size_t>& inputs) const {
    for (std::size_t period = 1; period < inputs.size(); ++period) {
      bool repeats = true;
      for (std::size_t k = period; k < inputs.size() && repeats; ++k)
        repeats = blocks_.input_sizes[inputs[k]] == blocks_.input_sizes[inputs[k - period]];
      if (repeats) return period;
    }
    return 1;
  }

  std::optional<Difference> difference() {
    double work = 0;
    std::size_t number = 0;
    std::optional<Difference> found;
    /// Executes with one draw: how many elements are known; nothing where a difference is found or
    /// the work is done.
    const auto attempt = [&](BlockDraw draw) -> std::optional<std::size_t> {
      if (work > 0 && work + blocks_.operations > kMaxBlockWork && !is_large()) return std::nullopt;
      work += blocks_.operations;
      draw.draw.may_overflow = true;
      draw.seed = kFirstSeed + number++;
      const Execution first = execute(draw);
      found = confirmed(draw, first);
      if (!found) found = closer(draw, first.faint);
      return found ? std::nullopt : std::optional(first.known);
    };
    if (blocks_.has_ranges) {
      for (const double exponent : kTailScales) {
        if (!attempt({kPositiveDraw, exponent, 0, {}, {}, true})) return found;
      }
    }
    for (const std::set<std::size_t>& zero : windows()) {
      if (!attempt({kPositiveDraw, kTailScales[0], 0, zero, {}, blocks_.has_ranges})) return found;
    }
    std::vector<std::set<std::size_t>> open = zeros();
    for (const double exponent :
         is_large() ? std::span<const double>(kExactScales) : kBlockScales) {
      std::vector<std::size_t> known;
      for (const std::set<std::size_t>& zero : open) {
        const auto elements = attempt({kDraws[number % kBlockDraws], exponent, 0, zero});
        if (!elements) return found;
        known.push_back(*elements);
      }
      const auto most_known = static_cast<double>(*std::ranges::max_element(known));
      std::vector<std::set<std::size_t>> kept;
      for (std::size_t k = 0; k < open.size(); ++k) {
        const bool is_known = static_cast<double>(known[k]) >= kKnownPart * most_known;
        if (is_known) kept.push_back(std::move(open[k]));
      }
      open = std::move(kept);
    }
    return std::nullopt;
  }

  /// Looks closer at outputs that differ faintly.
  std::optional<Difference> closer(const BlockDraw& draw,
                                   const std::map<std::size_t, double>& faint) {
    std::vector<std::pair<double, std::size_t>> outputs;
    for (const auto& [output, part] : faint) outputs.emplace_back(part, output);
    std::ranges::sort(outputs, std::greater());
    outputs.resize(std::min(outputs.size(), kMaxFaintOutputs));
    std::vector<BlockDraw> all;
    for (auto input = rare_.rbegin(); input != rare_.rend() && !faint.empty(); ++input) {
      BlockDraw next = draw;
      next.large = {*input};
      all.push_back(std::move(next));
    }
    for (const auto& [part, output] : outputs) {
      BlockDraw next = draw;
      next.zeros.merge(uses_.addends_of(output));
      all.push_back(std::move(next));
    }
    for (const BlockDraw& next : all) {
      if (closer_work_ + blocks_.operations > kMaxBlockWork) break;
      closer_work_ += blocks_.operations;
      if (auto found = confirmed(next, execute(next))) return found;
    }
    return std::nullopt;
  }

  /// What one execution shows.
  struct Execution {
    std::vector<ComparedElement> different = {};  ///< at most kMaxCandidates
    std::map<std::size_t, double> faint = {};     ///< by output: the largest part of the numbers
    std::size_t known = 0;                        ///< elements
  };

  Execution execute(const BlockDraw& draw) const {
    Execution result;
    Ranges ranges(draw.seed);
    visit(ranges, draw, [&](const ComparedElement& element) {
      const auto part = difference_of(element);
      if (!part) return true;
      ++result.known;
      if (*part > kLeastDifference) result.different.push_back(element);
      if (*part > 0) {
        double& most = result.faint[element.output];
        most = std::max(most, *part);
      }
      return result.different.size() < kMaxCandidates;
    });
    return result;
  }

  /// The first element that differs in four runs that are disturbed otherwise, for each of two
  /// draws.
  std::optional<Difference> confirmed(const BlockDraw& draw, const Execution& first) const {
    const auto found = again(draw, first);
    if (!found) return std::nullopt;
    BlockDraw other = draw;
    other.seed ^= kFirstSeed ^ kSecondSeed;
    if (!again(other, execute(other))) return std::nullopt;
    ComparedElement element = *found;
    element.index = index_of(element);
    const bool is_class = !blocks_.first_devices.empty();
    if (is_class) element.device = blocks_.first_devices[element.device];
    return interpreter::difference_of(
        element, is_class ? std::int64_t{element.device} + 1 : blocks_.devices.partitions,
        draw.draw, draw.seed, words(draw));
  }

  std::optional<ComparedElement> again(const BlockDraw& draw, const Execution& first) const {
    std::vector<ComparedElement> left = first.different;
    if (left.size() > kMaxTriedAgain) left.resize(kMaxTriedAgain);
    for (std::uint64_t run = 1; run <= kFurtherRuns && !left.empty(); ++run) {
      std::vector<ComparedElement> kept;
      std::size_t next = 0;
      Ranges ranges(Algebra::hash(draw.seed, run));
      visit(ranges, draw, [&](const ComparedElement& element) {
        if (!element.is_at(left[next])) return true;
        if (difference_of(element).value_or(0) > kLeastDifference) kept.push_back(element);
        return ++next < left.size();
      });
      left = std::move(kept);
    }
    return left.empty() ? std::nullopt : std::optional(left.front());
  }

  /// Executes both modules and calls `visit(element)` for the elements of their outputs, until it
  /// returns false.
  template <typename Visit>
  void visit(Ranges& ranges, const BlockDraw& draw, const Visit& visit_element) const {
    std::vector<double> scales;
    for (std::size_t k = 0; k < blocks_.input_sizes.size(); ++k) {
      const double scale = scale_of(blocks_.input_sizes[k], draw.exponent);
      scales.push_back(draw.zeros.contains(k)   ? 0
                       : draw.large.contains(k) ? kLargeScale * scale
                                                : scale);
    }
    Work work(limits_, most());
    const Inputs inputs(blocks_.devices, blocks_.relation, nullptr,
                        [&](std::uint64_t input, std::uint64_t element) {
                          const bool is_small = draw.has_small_tails && is_in_tail(input, element);
                          return scales.at(input) * (is_small ? kTailScale : 1);
                        });
    const auto run = [&](const Module& module, std::uint64_t number, Form form) {
      Interpreter<Ranges> interpreter(module, number, blocks_.devices, ranges, work);
      return interpreter.run(inputs.of(ranges, module, form, draw.draw, draw.seed, work));
    };
    const auto first = run(*blocks_.before, 1, blocks_.relation.before);
    const auto second = run(*blocks_.after, 2, blocks_.relation.after);
    const OutputPairs pairs(ranges, blocks_.devices, blocks_.relation);
    pairs.visit(
        first, second,
        [&](const NumberRange& a, const NumberRange& b, const auto& array, std::uint32_t device,
            std::size_t output, const std::vector<std::int64_t>& index) {
          return visit_element(
              ComparedElement{device, output, index, number_of(a), number_of(b), array.shape.type});
        });
  }

  /// Whether an element of an input is at an index beyond the first ones of an iota.
  bool is_in_tail(std::size_t input, std::uint64_t element) const {
    const auto& starts = (is_global_first() ? blocks_.inputs_before : blocks_.inputs_after)[input];
    const std::vector<std::uint32_t>& tails = blocks_.input_tails[input];
    for (std::size_t i = starts.size(); i-- > 0;) {
      const std::uint64_t size = starts[i].size() - 1;
      if (tails[i] != kNone && element % size >= tails[i]) return true;
      element /= size;
    }
    return false;
  }

  /// A narrow range as a number; what is not known well is arbitrary.
  Scalar number_of(const NumberRange& cell) const {
    if (cell.is_point) {
      Scalar point = cell.low;
      point.error = static_cast<float>(std::fabs(cell.shadow - cell.low.real));
      return point;
    }
    Scalar number = cell.low;
    const double width = cell.high.real - cell.low.real;
    number.real += width / 2;
    number.error = static_cast<float>(width + kDisturbance * tolerance_ * std::fabs(number.real));
    const bool is_narrow =
        cell.low.integer == cell.high.integer && width <= kNarrowRange * std::fabs(number.real);
    number.arbitrary = cell.low.arbitrary || cell.high.arbitrary || !is_narrow;
    return number;
  }

  /// How far an element differs, as part of its values: 0 where disturbed operations change them by
  /// as much; nothing where they are not known.
  static std::optional<double> difference_of(const ComparedElement& element) {
    const Scalar& a = element.before;
    const Scalar& b = element.after;
    if (a.arbitrary || b.arbitrary) return std::nullopt;
    if (!element.type.is_float()) return a.integer != b.integer ? 1 : 0;
    const double error = double{a.error} + b.error;
    if (!std::isfinite(a.real) || !std::isfinite(b.real) || !std::isfinite(error))
      return std::nullopt;
    const double difference = std::fabs(a.real - b.real);
    if (!(difference > std::max(kLeastSize, error / kDisturbance))) return 0;
    return difference / std::max(std::fabs(a.real), std::fabs(b.real));
  }

  /// The index in the modules of an element of these on blocks.
  std::vector<std::int64_t> index_of(const ComparedElement& element) const {
    const ModuleRelation& relation = blocks_.relation;
    const bool is_shard = relation.is_mixed() && relation.outputs[element.output].parts == 1;
    const bool is_second = is_shard && relation.before == Form::Global;
    const std::size_t number =
        is_shard ? relation.outputs[element.output].number_on(element.device) : element.output;
    const auto& starts = (is_second ? blocks_.outputs_after : blocks_.outputs_before)[number];
    std::vector<std::int64_t> index = element.index;
    for (std::size_t i = 0; i < index.size(); ++i) {
      index[i] = starts[i][static_cast<std::size_t>(index[i])];
    }
    return index;
  }

  /// What a refutation says of its inputs.
  std::string words(const BlockDraw& draw) const {
    std::string text;
    if (draw.exponent != 0) {
      text =
          fmt::format(", those with several dimensions times 2^-round({} log2 n) for the largest n",
                      draw.exponent);
    }
    std::vector<std::size_t> shown(draw.zeros.begin(), draw.zeros.end());
    const std::size_t more = shown.size() - std::min(shown.size(), kMaxInputsShown);
    shown.resize(shown.size() - more);
    if (!shown.empty()) {
      text +=
          fmt::format(", input{} {}{} 0", shown.size() + more > 1 ? "s" : "",
                      fmt::join(shown, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
    }
    for (const std::size_t input : draw.large) text += fmt::format(", input {} times 2^40", input);
    if (draw.has_small_tails) {
      text += ", at indices other than the first of an iota times 2^-4";
    }
    if (blocks_.words.empty()) return text;  // every index is a block of its own
    return text + fmt::format(", all alike in blocks of indices (dimensions of size {} blocks)",
                              blocks_.words);
  }

  const BlockModules& blocks_;
  const Limits& limits_;
  double tolerance_;
  InputUses uses_;
  /// Inputs of a shape that few have; those of the loss are last.
  std::set<std::size_t> rare_;
  double closer_work_ = 0;
};

}  // namespace

ModuleDecision refute_on_blocks(const Module& before, const Module& after, const Devices& devices,
                                const ModuleRelation& relation, const Limits& limits,
                                bool every_number) {
  ModuleDecision open;
  open.outcome = Outcome::Undecided;
  open.devices = devices;
  auto blocks = block_modules(before, after, devices, relation, kMaxBlockOperations, limits);
  if (every_number) {
    if (!blocks || !blocks->has_ranges) return open;
    blocks = block_modules_cut(before, after, devices, relation, {}, kMaxExactOperations, limits);
  }
  if (!blocks) return open;
  ModuleDecision decision =
      interpreter::unless_not_understood(*blocks->before, *blocks->after, devices,
                                         [&] { return BlockExecution(*blocks, limits).decide(); });
  decision.devices = devices;
  return decision;
}

}  // namespace p2::hlo
