// Comparison of two modules by execution on all devices: on random numbers, and by random
// interpretation.

#include "engine/hlo/interpreter/execution.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/sharding.h"

namespace p2::hlo {
namespace {

using interpreter::Algebra;
using interpreter::Array;
using interpreter::ArrayTree;
using interpreter::Interpreter;
using interpreter::NotUnderstood;
using interpreter::Numbers;
using interpreter::Scalar;
using interpreter::Term;
using interpreter::Work;

/// Modules of more operations on elements are executed on one draw of numbers only.
constexpr double kLargeOperations = 3e7;
/// How often a wait looks whether it is cancelled.
constexpr std::chrono::milliseconds kCancellationInterval{20};
/// With more values, no instruction is named at which modules differ.
constexpr std::size_t kMaxKnownValues = 4'000'000;
constexpr std::uint64_t kFirstSeed = 0x5EED0001;
constexpr std::uint64_t kSecondSeed = 0x5EED0002;
/// Values differ beyond rounding: relative to themselves, and a tenth of it to the largest value of
/// the tensor.
constexpr double kTolerance = 3e-5;

/// The relative tolerance where constants are rounded to a narrow type.
constexpr double kNarrowTolerance = 2e-2;

/// How random numbers are drawn. Integers are small, so that they are legal indices; those of 8 and
/// 16 bits, which wrap around soonest, also of their whole range.
struct Draw {
  enum class Sign : std::uint8_t { Positive, Negative, Both };
  double low;  ///< magnitudes of floating-point numbers
  double high;
  Sign sign;
  std::int64_t first;  ///< integers
  std::int64_t last;
  bool narrow_range;  ///< integers of up to 16 bits of their whole range
  bool may_overflow;  ///< infinities and NaN are no differences
};
constexpr Draw kDraws[] = {{0.25, 1.5, Draw::Sign::Both, 0, 6, false, false},
                           {0.25, 1.5, Draw::Sign::Negative, 0, 6, false, false},
                           {0.5, 1.0, Draw::Sign::Positive, 0, 3, false, false},
                           {0.25, 1.5, Draw::Sign::Both, 0, 6, false, false},
                           {2.0, 12.0, Draw::Sign::Both, 0, 6, true, true},
                           {20.0, 100.0, Draw::Sign::Both, 0, 6, false, true}};

/// Whether a constant of a narrow floating-point type was rounded to it: then results differ by as
/// much as the type rounds.
bool has_rounded_constant(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (!instruction.literal) continue;
      const ElementType type = instruction.literal->shape.type;
      if (!type.is_float() || type.bits() > 16) continue;
      for (const LiteralElement& element : instruction.literal->elements) {
        const auto [p, q] = interpreter::fraction_of(interpreter::real_constant(element), type);
        int exponent = 0;
        if (std::frexp(q, &exponent) != 0.5) return true;
      }
    }
  }
  return false;
}

/// The sum, product or the like of two elements.
template <typename A>
typename A::Cell combined(A& arithmetic, Reducer reducer, ElementType type,
                          const typename A::Cell& a, const typename A::Cell& b) {
  const auto code = interpreter::element_of(to_string(reducer));
  const typename A::Cell operands[] = {a, b};
  return arithmetic.apply({code.value(), interpreter::Direction::Eq, type, type, {}}, operands);
}

/// The inputs of one comparison, in an arithmetic.
class Inputs {
 public:
  Inputs(const Devices& devices, const ModuleRelation& relation)
      : devices_(devices), relation_(relation) {
    for (const TensorRelation& each : relation.inputs) related_[each.number] = &each;
  }

  template <typename A>
  std::vector<typename Interpreter<A>::PerDevice> of(A& arithmetic, const Module& module, Form form,
                                                     const Draw& draw, std::uint64_t seed) const {
    std::vector<typename Interpreter<A>::PerDevice> all;
    const Computation& entry = module.entry_computation();
    std::uint32_t number = 0;
    for (const std::uint32_t index : entry.parameters) {
      const Shape& shape = entry.instructions[index].shape;
      typename Interpreter<A>::PerDevice values(devices_.count());
      const std::uint32_t first = number;
      std::map<std::vector<std::int64_t>, typename Interpreter<A>::Pointer> by_contents;
      for (std::uint32_t device = 0; device < devices_.count(); ++device) {
        number = first;
        auto& value = by_contents[contents(shape, first, device, form)];
        if (value) {
          number += static_cast<std::uint32_t>(shape.arrays().size());
        } else {
          value = std::make_shared<const ArrayTree<typename A::Cell>>(
              build(arithmetic, shape, number, device, form, draw, seed));
        }
        values[device] = value;
      }
      all.push_back(std::move(values));
    }
    return all;
  }

 private:
  /// Equal for devices that hold the same elements of an input.
  std::vector<std::int64_t> contents(const Shape& shape, std::uint32_t input, std::uint32_t device,
                                     Form form) const {
    if (form == Form::Global) return {};
    const std::vector<std::int64_t> own = {-1, device};
    if (!relation_.is_mixed() || shape.is_tuple) return own;
    const TensorRelation& relation = *related_.at(input);
    std::vector<std::int64_t> all = {relation.part_of(device)};
    std::int64_t covered = 0;
    for (const Piece& piece : relation.pieces[device]) {
      covered += volume(piece.sizes);
      for (const auto* list : {&piece.of, &piece.at, &piece.sizes}) {
        all.insert(all.end(), list->begin(), list->end());
      }
    }
    return covered == shape.array.elements() ? all : own;  // what is in no piece is its own
  }

  template <typename A>
  ArrayTree<typename A::Cell> build(A& arithmetic, const Shape& shape, std::uint32_t& number,
                                    std::uint32_t device, Form form, const Draw& draw,
                                    std::uint64_t seed) const {
    ArrayTree<typename A::Cell> tree;
    tree.is_tuple = shape.is_tuple;
    for (const Shape& part : shape.parts) {
      tree.parts.push_back(build(arithmetic, part, number, device, form, draw, seed));
    }
    if (shape.is_tuple) return tree;
    const std::uint32_t input = number++;
    const ElementType type = shape.array.type;
    std::vector<typename A::Cell> cells;
    const auto drawn = [&](const std::vector<std::uint64_t>& keys) {
      return value(arithmetic, keys, type, draw, seed);
    };
    /// Element of one of the tensors whose reduction an input is.
    const auto of_part = [&](std::uint64_t of, std::int64_t element, std::uint32_t part) {
      const auto at = static_cast<std::uint64_t>(element);
      return part == 0 ? drawn({of, at, kNone}) : drawn({of, at, kNone, part});
    };
    std::int64_t element = 0;
    interpreter::for_each_index(shape.array.sizes, [&](const std::vector<std::int64_t>& index) {
      if (form == Form::Global) {
        auto cell = of_part(input, element, 0);
        if (relation_.is_mixed()) {
          const TensorRelation& relation = relation_.inputs[input];
          for (std::uint32_t part = 1; part < relation.parts; ++part) {
            cell =
                combined(arithmetic, relation.reducer, type, cell, of_part(input, element, part));
          }
        }
        cells.push_back(std::move(cell));
      } else if (!relation_.is_mixed()) {
        cells.push_back(drawn({input, static_cast<std::uint64_t>(element), device}));
      } else {
        const TensorRelation& relation = *related_.at(input);
        const auto of = static_cast<std::uint64_t>(&relation - relation_.inputs.data());
        const auto found = relation.element_of(device, index);
        cells.push_back(found ? of_part(of, *found, relation.part_of(device))
                              : drawn({0xAD, input, cells.size(), device}));
      }
      ++element;
    });
    tree.array.shape = shape.array;
    tree.array.cells = std::make_shared<const std::vector<typename A::Cell>>(std::move(cells));
    return tree;
  }

  static Term value(Algebra& algebra, const std::vector<std::uint64_t>& keys, ElementType type,
                    const Draw& /*draw*/, std::uint64_t /*seed*/) {
    return algebra.input(keys, type);
  }

  static Scalar value(Numbers& numbers, const std::vector<std::uint64_t>& keys, ElementType type,
                      const Draw& draw, std::uint64_t seed) {
    std::uint64_t state = Algebra::hash(0xD, seed);
    for (const std::uint64_t key : keys) state = Algebra::hash(state, key);
    const double unit = static_cast<double>(state >> 11U) * 0x1p-53;
    if (type.is_float()) {
      const double size = draw.low + (draw.high - draw.low) * unit;
      const bool negative =
          draw.sign == Draw::Sign::Negative || (draw.sign == Draw::Sign::Both && (state & 1U) != 0);
      return {negative ? -size : size, 0};
    }
    if (type.kind() == ElementType::Kind::Boolean)
      return {0, static_cast<std::int64_t>(state & 1U)};
    if (draw.narrow_range && type.bits() <= 16) {
      return numbers.integer(static_cast<std::int64_t>(state >> 20U), type);
    }
    const auto count = static_cast<double>(draw.last - draw.first + 1);
    return numbers.integer(draw.first + static_cast<std::int64_t>(unit * count), type);
  }

  const Devices& devices_;
  const ModuleRelation& relation_;
  std::map<std::uint32_t, const TensorRelation*> related_;  ///< by input of the partitioned module
};

template <typename Cell>
void append_arrays(const ArrayTree<Cell>& tree, std::vector<const Array<Cell>*>& all) {
  if (!tree.is_tuple) all.push_back(&tree.array);
  for (const auto& part : tree.parts) append_arrays(part, all);
}

/// The pairs of outputs that must be equal: on every device, element by element. Where the whole is
/// a reduction of what devices hold, the reductions are compared.
template <typename A>
class OutputPairs {
 public:
  using Cell = typename A::Cell;

  OutputPairs(A& arithmetic, const Devices& devices, const ModuleRelation& relation)
      : arithmetic_(arithmetic), devices_(devices), relation_(relation) {}

  /// Calls `visit(before, after, type, device, output, index)` with the two elements, until it
  /// returns false. Elements of arrays without known numbers are left out.
  template <typename PerDevice, typename Visit>
  void visit(const PerDevice& before, const PerDevice& after, const Visit& visit) const {
    std::map<std::pair<const void*, const void*>, bool> seen;
    const bool both_global = !relation_.is_mixed() && relation_.before == Form::Global;
    for (std::uint32_t device = 0; device < devices_.count(); ++device) {
      if (both_global && device > 0) return;
      const std::vector<const Array<Cell>*> first = arrays_of(before, device);
      const std::vector<const Array<Cell>*> second = arrays_of(after, device);
      if (!relation_.is_mixed()) {
        if (!seen.emplace(std::pair(before[device].get(), after[device].get()), true).second) {
          continue;
        }
        for (std::size_t k = 0; k < first.size(); ++k) {
          if (!visit_alike(*first[k], *second[k], device, k, visit)) return;
        }
        continue;
      }
      const bool global_first = relation_.before == Form::Global;
      const auto& wholes = global_first ? first : second;
      const auto& shards = global_first ? second : first;
      for (std::size_t k = 0; k < relation_.outputs.size(); ++k) {
        const TensorRelation& relation = relation_.outputs[k];
        if (relation.parts > 1) continue;
        if (!visit_shard(relation, *wholes[k], *shards[relation.number], device, k, visit)) return;
      }
    }
    if (relation_.is_mixed()) visit_reductions(before, after, visit);
  }

 private:
  /// Terms are never left out.
  static bool is_unknown(const Array<Cell>& array) { return !A::kSymbolic && array.unknown; }

  template <typename PerDevice>
  static std::vector<const Array<Cell>*> arrays_of(const PerDevice& values, std::uint32_t device) {
    std::vector<const Array<Cell>*> all;
    append_arrays(*values[device], all);
    return all;
  }

  template <typename Visit>
  bool visit_alike(const Array<Cell>& a, const Array<Cell>& b, std::uint32_t device, std::size_t k,
                   const Visit& visit) const {
    if (a.shape.type.kind() == ElementType::Kind::Other || is_unknown(a) || is_unknown(b))
      return true;
    std::int64_t element = 0;
    bool go = true;
    interpreter::for_each_index(a.shape.sizes, [&](const auto& index) {
      if (go) go = visit(a.at(element), b.at(element), a, device, k, index);
      ++element;
    });
    return go;
  }

  template <typename Visit>
  bool visit_shard(const TensorRelation& relation, const Array<Cell>& whole,
                   const Array<Cell>& shard, std::uint32_t device, std::size_t k,
                   const Visit& visit) const {
    if (whole.shape.type.kind() == ElementType::Kind::Other) return true;
    if (is_unknown(whole) || is_unknown(shard)) return true;
    const bool global_first = relation_.before == Form::Global;
    std::int64_t local = 0;
    bool go = true;
    interpreter::for_each_index(shard.shape.sizes, [&](const std::vector<std::int64_t>& index) {
      const Cell& own = shard.at(local++);
      const auto element = go ? relation.element_of(device, index) : std::nullopt;
      if (!element) return;
      const Cell& all = whole.at(*element);
      go = global_first ? visit(all, own, whole, device, k, index)
                        : visit(own, all, whole, device, k, index);
    });
    return go;
  }

  /// Outputs of which devices hold parts of a reduction: for every element, the parts are combined.
  template <typename PerDevice, typename Visit>
  void visit_reductions(const PerDevice& before, const PerDevice& after, const Visit& visit) const {
    const bool global_first = relation_.before == Form::Global;
    for (std::size_t k = 0; k < relation_.outputs.size(); ++k) {
      const TensorRelation& relation = relation_.outputs[k];
      if (relation.parts == 1) continue;
      const Array<Cell>& whole = *arrays_of(global_first ? before : after, 0)[k];
      const ElementType type = whole.shape.type;
      // By element and part: the first device that holds it; copies are compared with it.
      std::vector<std::vector<std::pair<const Cell*, std::uint32_t>>> held(
          static_cast<std::size_t>(whole.shape.elements()),
          std::vector<std::pair<const Cell*, std::uint32_t>>(relation.parts));
      bool go = !is_unknown(whole);
      for (std::uint32_t device = 0; device < devices_.count() && go; ++device) {
        const Array<Cell>& shard =
            *arrays_of(global_first ? after : before, device)[relation.number];
        if (is_unknown(shard)) go = false;
        std::int64_t local = 0;
        interpreter::for_each_index(shard.shape.sizes, [&](const std::vector<std::int64_t>& index) {
          const Cell& own = shard.at(local++);
          const auto element = go ? relation.element_of(device, index) : std::nullopt;
          if (!element) return;
          auto& first = held[static_cast<std::size_t>(*element)][relation.part_of(device)];
          if (first.first == nullptr) {
            first = {&own, device};
          } else {
            go = visit(*first.first, own, whole, device, k, index);
          }
        });
      }
      std::int64_t number = 0;
      interpreter::for_each_index(whole.shape.sizes, [&](const std::vector<std::int64_t>& index) {
        const auto& parts = held[static_cast<std::size_t>(number)];
        const Cell& all = whole.at(number++);
        if (!go) return;
        Cell total = *parts[0].first;
        for (std::uint32_t part = 1; part < relation.parts; ++part) {
          total = combined(arithmetic_, relation.reducer, type, total, *parts[part].first);
        }
        go = global_first ? visit(all, total, whole, parts[0].second, k, index)
                          : visit(total, all, whole, parts[0].second, k, index);
      });
      if (!go) return;
    }
  }

  A& arithmetic_;
  const Devices& devices_;
  const ModuleRelation& relation_;
};

/// An instruction of the module before, or of the one after.
using ModuleInstruction = std::pair<bool, const Instruction*>;
using OpaqueInstructions = std::set<ModuleInstruction>;

/// One comparison by execution.
class ExecutionComparison {
 public:
  ExecutionComparison(const Module& before, const Module& after, const Devices& devices,
                      const ModuleRelation& relation, std::uint64_t most, const Limits& limits)
      : before_(before),
        after_(after),
        devices_(devices),
        relation_(relation),
        most_(most),
        limits_(limits) {
    decision_.devices = devices;
    if (has_rounded_constant(before) || has_rounded_constant(after)) tolerance_ = kNarrowTolerance;
  }

  bool differ_on_numbers() {
    execute_on_numbers(kDraws[0], kFirstSeed);
    return decision_.outcome == Outcome::Refuted;
  }

  /// Numbers refute in this thread while another one interprets.
  ModuleDecision decide(std::size_t draws) {
    std::atomic<bool> cancelled = false;
    Limits limits = limits_;
    limits.cancelled = &cancelled;
    auto first = std::async(std::launch::async,
                            [&] { return interpret(kFirstSeed, FloatEquality::Real, limits); });
    const auto finish = [&] {
      while (first.wait_for(kCancellationInterval) != std::future_status::ready) {
        if (limits_.cancelled != nullptr && *limits_.cancelled) cancelled = true;
      }
      return first.get();
    };
    try {
      for (std::size_t k = 0; k < draws && decision_.outcome != Outcome::Refuted; ++k) {
        execute_on_numbers(kDraws[k], kFirstSeed + k);
      }
    } catch (...) {  // the other thread refers to this frame
      cancelled = true;
      finish();
      throw;
    }
    std::optional<Interpretation> second;
    if (decision_.outcome != Outcome::Refuted)
      second = interpret(kSecondSeed, FloatEquality::Real, limits_);
    const Interpretation found = finish();
    decision_.uninterpreted = found.uninterpreted;
    decision_.interpreter =
        decision_.outcome == Outcome::Refuted ? Outcome::Refuted : Outcome::Undecided;
    const bool is_equal = found.is_equal && (!second || second->is_equal);
    decision_.symbolic = is_equal ? Outcome::Established : Outcome::Undecided;
    if (decision_.outcome == Outcome::Refuted) {
      if (!found.is_equal) return decision_;
      if (not_finite_) {  // as real numbers they are equal: infinities and NaN are left out
        decision_.violation.reset();
        decision_.outcome = Outcome::Undecided;
        decision_.reason =
            "Equal as functions of real numbers, but one of them is infinite or not a number where "
            "the other one is not.";
        return decision_;
      }
      decision_.outcome = Outcome::Disagreement;
      decision_.reason =
          decision_.violation->explanation + " But random interpretation finds the modules equal.";
      return decision_;
    }
    const Interpretation* const both[] = {&found, &*second};
    for (const Interpretation* each : both) {
      if (each->failure) std::rethrow_exception(each->failure);
      if (each->is_equal) continue;
      decision_.outcome = Outcome::Undecided;
      decision_.reason = each->difference;
      decision_.unknown = each->unknown;
    }
    return decision_;
  }

  /// By random interpretation in a stricter sense.
  ModuleDecision decide_rounded(FloatEquality equality) {
    for (const std::uint64_t seed : {kFirstSeed, kSecondSeed}) {
      const Interpretation found = interpret(seed, equality, limits_);
      if (found.failure) std::rethrow_exception(found.failure);
      decision_.uninterpreted = found.uninterpreted;
      if (found.is_equal) continue;
      decision_.outcome = Outcome::Undecided;
      decision_.reason = found.difference + first_new_value(seed, equality);
      decision_.unknown = found.unknown;
      return decision_;
    }
    return decision_;
  }

 private:
  /// What random interpretation finds.
  struct Interpretation {
    bool is_equal = false;
    std::string difference = {};  ///< one sentence
    std::vector<std::string> uninterpreted = {};
    std::vector<UnknownOperation> unknown = {};  ///< on which the difference depends
    std::optional<std::size_t> output = {};      ///< that differs
    std::exception_ptr failure = {};             ///< NotUnderstood, LimitReached
  };

  template <typename A>
  auto outputs(A& arithmetic, const Module& module, Form form, const Draw& draw, std::uint64_t seed,
               Work& work, OpaqueInstructions& opaque,
               const typename Interpreter<A>::Observer& observer = {}) const {
    const bool is_before = &module == &before_;
    const Inputs inputs(devices_, relation_);
    Interpreter<A> run(module, is_before ? 1 : 2, devices_, arithmetic, work);
    run.observe(observer);
    auto values = run.run(inputs.of(arithmetic, module, form, draw, seed));
    for (const Instruction* each : run.opaque_instructions()) opaque.insert({is_before, each});
    return values;
  }

  void execute_on_numbers(const Draw& draw, std::uint64_t seed) {
    Numbers numbers;
    Work work(limits_, most_);
    OpaqueInstructions opaque;
    const auto first = outputs(numbers, before_, relation_.before, draw, seed, work, opaque);
    const auto second = outputs(numbers, after_, relation_.after, draw, seed, work, opaque);
    const OutputPairs pairs(numbers, devices_, relation_);
    double largest = 0;
    std::size_t of_output = SIZE_MAX;
    pairs.visit(
        first, second,
        [&](const Scalar& a, const Scalar& b, const Array<Scalar>& array, std::uint32_t device,
            std::size_t output, const std::vector<std::int64_t>& index) {
          const ElementType type = array.shape.type;
          if (output != of_output) {
            of_output = output;
            largest = 0;
            for (const Scalar& each : *array.cells) {
              if (std::isfinite(each.real)) {
                largest = std::max(largest, std::fabs(each.real));
              }
            }
          }
          if (!differ(a, b, type, largest, draw)) return true;
          not_finite_ = type.is_float() && !(std::isfinite(a.real) && std::isfinite(b.real));
          refute(device, output, index, a, b, type, draw, seed);
          return false;
        });
  }

  bool differ(const Scalar& a, const Scalar& b, ElementType type, double largest,
              const Draw& draw) const {
    if (a.arbitrary || b.arbitrary) return false;
    if (!type.is_float()) return a.integer != b.integer;
    if (a.real == b.real) return false;
    if (!std::isfinite(a.real) || !std::isfinite(b.real)) {
      return !draw.may_overflow &&
             (std::isnan(a.real) != std::isnan(b.real) || std::isinf(a.real) != std::isinf(b.real));
    }
    const double size = std::max(std::fabs(a.real), std::fabs(b.real));
    return std::fabs(a.real - b.real) > tolerance_ * size + tolerance_ / 10 * largest;
  }

  void refute(std::uint32_t device, std::size_t output, const std::vector<std::int64_t>& index,
              const Scalar& a, const Scalar& b, ElementType type, const Draw& draw,
              std::uint64_t seed) {
    const auto text = [&](const Scalar& value) {
      return type.is_float() ? fmt::format("{:.7g}", value.real) : fmt::format("{}", value.integer);
    };
    Difference difference{"value", {}};
    difference.element = DifferingElement{
        device, device / devices_.partitions, device % devices_.partitions, output, index, text(a),
        text(b)};
    difference.explanation = fmt::format(
        "On device {} (replica {}, partition {}), element [{}] of output {} is {} before, and {} "
        "after, for inputs drawn with seed {:#x}: numbers of magnitude {} to {}{}, integers {} to "
        "{}.",
        device, device / devices_.partitions, device % devices_.partitions, fmt::join(index, ","),
        output, text(a), text(b), seed, draw.low, draw.high,
        draw.sign == Draw::Sign::Both       ? " of both signs"
        : draw.sign == Draw::Sign::Negative ? ", negative"
                                            : "",
        draw.first, draw.last);
    decision_.outcome = Outcome::Refuted;
    decision_.violation = std::move(difference);
  }

  Interpretation interpret(std::uint64_t seed, FloatEquality equality, const Limits& limits) const {
    Interpretation found;
    OpaqueInstructions opaque;
    try {
      Algebra algebra(seed, equality);
      Work work(limits, most_);
      const auto first = outputs(algebra, before_, relation_.before, kDraws[0], seed, work, opaque);
      const auto second = outputs(algebra, after_, relation_.after, kDraws[0], seed, work, opaque);
      const OutputPairs pairs(algebra, devices_, relation_);
      found.is_equal = true;
      pairs.visit(first, second,
                  [&](const Term& a, const Term& b, const Array<Term>& array, std::uint32_t device,
                      std::size_t output, const std::vector<std::int64_t>& index) {
                    found.is_equal = algebra.equal(a, b, array.shape.type);
                    if (!found.is_equal) found.output = output;
                    if (!found.is_equal && equality != FloatEquality::Real) {
                      found.difference = fmt::format(
                          "element [{}] of output {} on device {} is another sequence "
                          "of operations.",
                          fmt::join(index, ","), output, device);
                    } else if (!found.is_equal) {
                      found.difference = fmt::format(
                          "Whether element [{}] of output {} is equal on device {} is open: no "
                          "execution on numbers showed a difference, and the values are not equal "
                          "as fractions of the inputs and of functions of them.",
                          fmt::join(index, ","), output, device);
                    }
                    return found.is_equal;
                  });
    } catch (const NotUnderstood&) {
      found.failure = std::current_exception();
    } catch (const LimitReached&) {
      found.failure = std::current_exception();
    }
    if (found.failure) found.is_equal = false;
    add_uninterpreted(opaque, found);
    return found;
  }

  /// Names what was uninterpreted, and of it that on which the output that differs depends.
  void add_uninterpreted(const OpaqueInstructions& opaque, Interpretation& found) const {
    std::set<std::string> names;
    std::vector<std::pair<bool, UnknownOperation>> all;
    for (const auto& [is_before, instruction] : opaque) {
      const Module& module = is_before ? before_ : after_;
      all.emplace_back(!is_before, unknown_operation(module, *instruction));
      names.insert(all.back().second.opcode);
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      const auto place = [](const auto& each) {
        const SourcePosition& where = each.second.position;
        return std::tuple(each.first, where.line, where.column, each.second.name);
      };
      return place(a) < place(b);
    });
    for (auto& [is_after, each] : all) {
      const Form form = is_after ? relation_.after : relation_.before;
      const bool renumbered = found.output && relation_.is_mixed() && form != Form::Global;
      const std::size_t output =
          renumbered ? relation_.outputs[*found.output].number : found.output.value_or(0);
      if (found.output && std::ranges::find(each.outputs, output) != each.outputs.end()) {
        found.unknown.push_back(std::move(each));
      }
    }
    found.uninterpreted.assign(names.begin(), names.end());
  }

  /// The first instruction of `after` with a value that no instruction of `before` has, as a
  /// sentence; empty if there is none, or too many values.
  std::string first_new_value(std::uint64_t seed, FloatEquality equality) const {
    Algebra algebra(seed, equality);
    Work work(limits_, most_);
    OpaqueInstructions opaque;
    std::unordered_set<std::uint64_t> known;
    using PerDevice = Interpreter<Algebra>::PerDevice;
    using Operands = Interpreter<Algebra>::Operands;
    const auto visit = [](const PerDevice& values, const auto& each) {
      for (const auto& value : values) {
        if (!value || value->is_tuple || !value->array.cells) continue;
        for (const Term& cell : *value->array.cells) each(cell, value->array.shape.type);
        if (value == values.back()) return;  // devices share it
      }
    };
    outputs<Algebra>(algebra, before_, relation_.before, kDraws[0], seed, work, opaque,
                     [&](const Instruction&, const Operands&, const PerDevice& values) {
                       visit(values, [&](const Term& cell, ElementType) {
                         if (known.size() < kMaxKnownValues) known.insert(cell.value);
                       });
                     });
    const Instruction* first = nullptr;
    outputs<Algebra>(algebra, after_, relation_.after, kDraws[0], seed, work, opaque,
                     [&](const Instruction& instruction, const Operands&, const PerDevice& values) {
                       const bool given =
                           instruction.opcode == "constant" || instruction.opcode == "parameter";
                       if (first != nullptr || given) return;
                       visit(values, [&](const Term& cell, ElementType type) {
                         if (algebra.rounds(type) && !known.contains(cell.value))
                           first = &instruction;
                       });
                     });
    if (first == nullptr || known.size() >= kMaxKnownValues) return "";
    return fmt::format(
        " The first instruction after with a value that none before has is {} {} "
        "({}:{}).",
        first->opcode, first->name, first->position.source, first->position.line);
  }

  const Module& before_;
  const Module& after_;
  Devices devices_;
  const ModuleRelation& relation_;
  std::uint64_t most_;
  const Limits& limits_;
  double tolerance_ = kTolerance;
  bool not_finite_ = false;  ///< where the outputs differ, one is infinite or NaN
  ModuleDecision decision_;
};

/// `decide()`, or Undecided where something is not understood.
template <typename Decide>
ModuleDecision unless_not_understood(const Module& before, const Module& after,
                                     const Devices& devices, const Decide& decide) {
  try {
    return decide();
  } catch (const NotUnderstood& error) {
    ModuleDecision decision;
    decision.outcome = Outcome::Undecided;
    decision.devices = devices;
    const SourcePosition& where = error.instruction->position;
    decision.reason =
        fmt::format("Not understood: {} ({}:{}).", error.what(), where.source, where.line);
    const bool is_before = has_instruction(before, error.instruction);
    decision.unknown = {
        unknown_operation(is_before ? before : after, *error.instruction, error.why)};
    return decision;
  }
}

}  // namespace

double estimated_operations(const Module& module, const Devices& devices) {
  double all = 0;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      for (const ArrayShape& shape : instruction.shape.arrays()) {
        all += static_cast<double>(shape.elements());
      }
      if (instruction.opcode != "dot" || instruction.operands.size() != 2) continue;
      double product = static_cast<double>(instruction.shape.array.elements());
      for (const std::uint32_t operand : instruction.operands) {
        product *= static_cast<double>(computation.instructions[operand].shape.array.elements());
      }
      all += std::sqrt(product);
    }
  }
  return all * devices.count();
}

ModuleDecision compare_by_execution(const Module& before, const Module& after,
                                    const Devices& devices, const ModuleRelation& relation,
                                    double operations, std::uint64_t most, const Limits& limits) {
  return unless_not_understood(before, after, devices, [&] {
    return ExecutionComparison(before, after, devices, relation, most, limits)
        .decide(operations > kLargeOperations ? 1 : std::size(kDraws));
  });
}

ModuleDecision compare_rounded(const Module& before, const Module& after, const Devices& devices,
                               const ModuleRelation& relation, FloatEquality equality,
                               std::uint64_t most, const Limits& limits) {
  for (const auto* tensors : {&relation.inputs, &relation.outputs}) {
    for (const TensorRelation& tensor : *tensors) {
      if (tensor.parts == 1 || equality != FloatEquality::Bitwise) continue;
      ModuleDecision decision;
      decision.outcome = Outcome::Undecided;
      decision.devices = devices;
      decision.reason = "the relation adds up what devices hold, in no order that it names.";
      return decision;
    }
  }
  return unless_not_understood(before, after, devices, [&] {
    return ExecutionComparison(before, after, devices, relation, most, limits)
        .decide_rounded(equality);
  });
}

bool differ_on_numbers(const Module& before, const Module& after, const Devices& devices,
                       const ModuleRelation& relation, std::uint64_t most, const Limits& limits) {
  return ExecutionComparison(before, after, devices, relation, most, limits).differ_on_numbers();
}

RandomInterpretation::RandomInterpretation(const Devices& devices, const ModuleRelation& relation,
                                           std::uint64_t most, const Limits& limits)
    : devices_(devices), relation_(relation), algebra_(kFirstSeed), work_(limits, most) {}

auto RandomInterpretation::run(const Module& module, Form form, bool is_before,
                               const Run::Observer& observer) -> PerDevice {
  Run run(module, is_before ? 1 : 2, devices_, algebra_, work_);
  run.observe(observer);
  return run.run(Inputs(devices_, relation_).of(algebra_, module, form, kDraws[0], kFirstSeed));
}

Term RandomInterpretation::combine(Reducer reducer, ElementType type, const Term& a,
                                   const Term& b) {
  return algebra_.exact(combined(algebra_, reducer, type, a, b), type);
}

Term RandomInterpretation::scaled(const Term& a, Number factor, ElementType type) {
  return combine(Reducer::Multiply, type, algebra_.constant({factor, {}}, type), a);
}

}  // namespace p2::hlo
