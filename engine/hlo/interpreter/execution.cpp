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
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/equality/decisions.h"
#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/compared_elements.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/execution_tensors.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/operations.h"
#include "engine/hlo/sharding.h"

namespace p2::hlo {
namespace {

using interpreter::Algebra;
using interpreter::Array;
using interpreter::ComparedElement;
using interpreter::Draw;
using interpreter::Inputs;
using interpreter::Interpreter;
using interpreter::kDraws;
using interpreter::kFirstSeed;
using interpreter::kSecondSeed;
using interpreter::NotUnderstood;
using interpreter::Numbers;
using interpreter::OutputPairs;
using interpreter::Scalar;
using interpreter::Term;
using interpreter::unless_not_understood;
using interpreter::Work;

/// Modules of more operations on elements are executed on one draw of numbers only.
constexpr double kLargeOperations = 3e7;
/// Where modules of more operations differ on numbers by more than rounding, they are not also
/// interpreted.
constexpr double kMaxInterpretedAgain = 1e7;
/// How often a wait looks whether it is cancelled.
constexpr std::chrono::milliseconds kCancellationInterval{20};
/// With more values, no instruction is named at which modules differ.
constexpr std::size_t kMaxKnownValues = 4'000'000;
/// Errors are known to first order; what differs by as many of them is beyond rounding, also where
/// all of a tensor cancels.
constexpr double kRoundingMargin = 4;

/// Numbers that a solver names are executed in multiples of kGivenStep.
constexpr double kGivenStep = 0x1p-8;
constexpr double kLargestGiven = 10000;
constexpr double kLargestGivenInteger = 6;

/// How often modules are executed on numbers: more often where one index stands for many.
constexpr std::size_t kReducedRounds = 4;
std::size_t draws_of(const ModuleRelation& relation) {
  return std::size(kDraws) * (relation.drawn_sizes.empty() ? 1 : kReducedRounds);
}

/// How often with integers that are no indices.
constexpr std::size_t kFarDraws = 3;

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
        limits_(limits),
        tolerance_(interpreter::tolerance_of(before, after)),
        draws_memory_(!allocates_memory(before) && allocates_memory(after)) {
    decision_.devices = devices;
  }

  bool differ_on_numbers() {
    execute_on_numbers(kDraws[0], kFirstSeed);
    return decision_.outcome == Outcome::Refuted;
  }

  /// Numbers refute in this thread while another one interprets: to its end, if the modules take no
  /// more than kMaxInterpretedAgain operations or what numbers show may be an effect of rounding.
  ModuleDecision decide(std::size_t draws, double operations) {
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
    std::exception_ptr given_up;  // rounding may decide how often a loop runs, for some draws
    const auto attempt = [&](const Draw& draw, std::uint64_t seed) {
      try {
        execute_on_numbers(draw, seed);
      } catch (const interpreter::NotUnderstood&) {
        given_up = std::current_exception();
      }
    };
    try {
      for (std::size_t k = 0; k < draws && decision_.outcome != Outcome::Refuted; ++k) {
        attempt(kDraws[k % std::size(kDraws)], kFirstSeed + k);
      }
      for (std::size_t k = 0; k < kFarDraws && decision_.outcome != Outcome::Refuted; ++k)
        attempt_far(kFirstSeed + draws + k);
      if (decision_.outcome != Outcome::Refuted && met_infinite_errors_)
        attempt(interpreter::kSmallDraw, kFirstSeed + draws);
    } catch (...) {  // the other thread refers to this frame
      cancelled = true;
      finish();
      throw;
    }
    const bool is_settled = decision_.outcome == Outcome::Refuted &&
                            !decision_.violation->of_infinities &&
                            operations > kMaxInterpretedAgain;
    if (is_settled) cancelled = true;
    if (decision_.outcome != Outcome::Refuted && rounded_difference_) {
      decision_.outcome = Outcome::Refuted;
      decision_.violation = rounded_difference_;
    }
    std::optional<Interpretation> second;
    if (decision_.outcome != Outcome::Refuted)
      second = interpret(kSecondSeed, FloatEquality::Real, limits_);
    Interpretation found = finish();
    if (is_settled) {  // however far it came
      found = {};
      add_uninterpreted(opaque_, found);
    }
    decision_.uninterpreted = found.uninterpreted;
    const bool is_certain = decision_.outcome == Outcome::Refuted && !rounded_difference_;
    decision_.interpreter = is_certain ? Outcome::Refuted : Outcome::Undecided;
    const bool is_equal = found.is_equal && (!second || second->is_equal);
    if (decision_.outcome != Outcome::Refuted && !is_equal && given_up)
      std::rethrow_exception(given_up);
    decision_.symbolic = is_equal ? Outcome::Established : Outcome::Undecided;
    if (decision_.outcome == Outcome::Refuted) {
      if (!found.is_equal) return decision_;
      contradict(decision_, "random interpretation finds the modules equal");
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

  bool are_equal_by_interpretation() const {
    return interpret(kFirstSeed, FloatEquality::Real, limits_).is_equal;
  }

  /// By a solver, and on numbers where that finds a candidate.
  ModuleDecision decide_by_solver(const ElementSolver& solver) {
    interpreter::OutputExpressions all;
    Interpretation found;
    const SolverAnswer answer = [&] {
      OpaqueInstructions opaque;
      Work work(limits_, most_);
      interpreter::Expressions& expressions = all.expressions;
      const auto first =
          outputs(expressions, before_, relation_.before, kDraws[0], 0, work, opaque);
      const auto second = outputs(expressions, after_, relation_.after, kDraws[0], 0, work, opaque);
      const OutputPairs pairs(expressions, devices_, relation_);
      pairs.visit(first, second,
                  [&](const interpreter::Expression& a, const interpreter::Expression& b,
                      const Array<interpreter::Expression>& array, std::uint32_t device,
                      std::size_t output, const std::vector<std::int64_t>& index) {
                    all.elements.push_back({a, b, array.shape.type, device, output, index});
                    return true;
                  });
      SolverAnswer of_all = solver(all, limits_);
      if (of_all.outcome != Outcome::Established && of_all.reason.empty()) {
        found.output = all.elements.at(of_all.element).output;
        found.device = all.elements[of_all.element].device;
      }
      add_uninterpreted(opaque, found);
      return of_all;
    }();
    decision_.uninterpreted = found.uninterpreted;
    decision_.solver = answer.outcome;
    if (answer.outcome == Outcome::Established) return decision_;
    if (answer.outcome == Outcome::Refuted) confirm(all, answer);
    if (decision_.outcome == Outcome::Refuted) {
      const bool of_infinities = decision_.violation->of_infinities;
      if (of_infinities && interpret(kFirstSeed, FloatEquality::Real, limits_).is_equal) {
        contradict(decision_, "random interpretation finds the modules equal");
        decision_.solver = Outcome::Undecided;
      }
      return decision_;
    }
    decision_.outcome = Outcome::Undecided;
    decision_.solver = Outcome::Undecided;
    decision_.unknown = found.unknown;
    decision_.reason = fmt::format("Undecided: {}.", answer.reason);
    if (!answer.reason.empty()) return decision_;
    const interpreter::OutputElement& element = all.elements[answer.element];
    decision_.reason = fmt::format(
        "Whether element [{}] of output {} is equal on device {} is open: {}.",
        fmt::join(element.index, ","), element.output, element.device,
        answer.outcome == Outcome::Refuted
            ? "the solver finds it different for some numbers and some functions, but no "
              "execution on numbers showed a difference"
            : "the solver does not decide it");
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
    std::uint32_t device = 0;                    ///< on which it does
    bool met_selections = false;                 ///< of what may be infinite
    std::exception_ptr failure = {};             ///< NotUnderstood, LimitReached
  };

  template <typename A>
  typename Interpreter<A>::PerDevice outputs(
      A& arithmetic, const Module& module, Form form, const Draw& draw, std::uint64_t seed,
      Work& work, OpaqueInstructions& opaque,
      const typename Interpreter<A>::Observer& observer = {}) const {
    const bool is_before = &module == &before_;
    const Inputs inputs(devices_, relation_, given_);
    Interpreter<A> run(module, is_before ? 1 : 2, devices_, arithmetic, work);
    run.observe(observer);
    if (A::kSymbolic || (!is_before && draws_memory_))
      run.fill_memory(inputs.memory(arithmetic, form, draw, seed));
    auto values = run.run(inputs.of(arithmetic, module, form, draw, seed, work));
    for (const Instruction* each : run.opaque_instructions()) opaque.insert({is_before, each});
    return values;
  }

  /// Refutes by execution on drawn numbers, and on numbers near those of a solver.
  void confirm(const interpreter::OutputExpressions& all, const SolverAnswer& candidate) {
    interpreter::GivenInputs given;
    for (const auto& [input, number] : candidate.inputs) {
      // As drawn numbers are: few digits, and integers that are legal indices.
      const double size = std::min(std::fabs(number), kLargestGiven);
      const double real = std::copysign(std::round(size / kGivenStep) * kGivenStep, number);
      const double whole = std::clamp(std::round(number), 0.0, kLargestGivenInteger);
      given[all.expressions.input_keys(input)] = {real, static_cast<std::int64_t>(whole)};
    }
    const std::size_t draws = draws_of(relation_);
    for (std::size_t k = 0; k < draws && decision_.outcome != Outcome::Refuted; ++k) {
      execute_on_numbers(kDraws[k % std::size(kDraws)], kFirstSeed + k);
    }
    if (decision_.outcome == Outcome::Refuted) return;
    Draw near = kDraws[0];
    near.may_overflow = true;  // they may be zeros that something is divided by
    given_ = &given;
    execute_on_numbers(near, kFirstSeed);
    given_ = nullptr;
  }

  /// Integers that are no indices, where there are any. What takes too long then, as a loop that
  /// counts to one, is not looked at.
  void attempt_far(std::uint64_t seed) {
    const std::vector<ArrayShape> shapes = inputs_of(before_);
    const bool has_integers = std::any_of(shapes.begin(), shapes.end(), [](const ArrayShape& each) {
      return each.type.is_integer() && each.type.bits() > 16;
    });
    if (!has_integers) return;
    try {
      execute_on_numbers(interpreter::kFarDraw, seed);
    } catch (const interpreter::NotUnderstood&) {
      return;
    } catch (const LimitReached& limit) {
      if (limit.kind() != LimitReached::Kind::Work) throw;
    }
  }

  void execute_on_numbers(const Draw& draw, std::uint64_t seed) {
    Numbers numbers;
    const std::string others =
        draws_memory_ ? "; memory that nobody has written to contains such numbers, too" : "";
    visit_numbers(numbers, draw, seed, [&](const ComparedElement& element, double largest) {
      const bool is_infinite = std::isinf(element.before.error) || std::isinf(element.after.error);
      met_infinite_errors_ = met_infinite_errors_ || is_infinite;
      if (!differ(element.before, element.after, element.type, largest, draw)) return true;
      if (is_infinite && rounded_difference_) return true;
      Difference difference = interpreter::difference_of(element, devices_.partitions, draw, seed,
                                                         interpreter::given_text(given_) + others);
      if (is_infinite) {
        difference.may_be_rounding = true;
        rounded_difference_ = std::move(difference);
        return true;
      }
      decision_.outcome = Outcome::Refuted;
      decision_.violation = std::move(difference);
      rounded_difference_.reset();
      return false;
    });
  }

  /// Executes both modules and calls `visit(element, largest)` for the elements of their outputs,
  /// until it returns false; `largest`: the largest number of the array before.
  template <typename A, typename Visit>
  void visit_numbers(A& arithmetic, const Draw& draw, std::uint64_t seed, const Visit& visit) {
    Work work(limits_, draw.any_magnitude ? most_ / 16 : most_);
    const auto first = outputs(arithmetic, before_, relation_.before, draw, seed, work, opaque_);
    const auto second = outputs(arithmetic, after_, relation_.after, draw, seed, work, opaque_);
    const OutputPairs pairs(arithmetic, devices_, relation_);
    double largest = 0;
    std::size_t of_output = SIZE_MAX;
    pairs.visit(
        first, second,
        [&](const auto& a, const auto& b, const auto& array, std::uint32_t device,
            std::size_t output, const std::vector<std::int64_t>& index) {
          if (output != of_output) {
            of_output = output;
            largest = 0;
            for (const auto& cell : *array.cells) {
              const Scalar& each = cell;
              if (std::isfinite(each.real)) {
                largest = std::max(largest, std::fabs(each.real));
              }
            }
          }
          return visit(ComparedElement{device, output, index, a, b, array.shape.type}, largest);
        });
  }

  bool differ(const Scalar& a, const Scalar& b, ElementType type, double largest,
              const Draw& draw) const {
    if (a.arbitrary || b.arbitrary) return false;
    if (!type.is_float()) return a.integer != b.integer;
    if (a.real == b.real) return false;
    if (!std::isfinite(a.real) || !std::isfinite(b.real)) {
      // One is computed by what overflows, the other nearly does.
      const double finite = std::fabs(std::isfinite(a.real) ? a.real : b.real);
      if (std::isfinite(finite) && finite > interpreter::kOverflowing) return false;
      return !draw.may_overflow &&
             (std::isnan(a.real) != std::isnan(b.real) || std::isinf(a.real) != std::isinf(b.real));
    }
    const double size = std::max(std::fabs(a.real), std::fabs(b.real));
    const double rounding = kRoundingMargin * (double{a.error} + b.error);
    return std::fabs(a.real - b.real) >
           std::max(tolerance_ * size + tolerance_ / 10 * largest, rounding);
  }

  /// Both kinds of selections are right, and each shows what the other one does not.
  Interpretation interpret(std::uint64_t seed, FloatEquality equality, const Limits& limits) const {
    Interpretation found = interpret(seed, equality, Algebra::Selections::Uninterpreted, limits);
    if (found.is_equal || found.failure || !found.met_selections) return found;
    Interpretation other = interpret(seed, equality, Algebra::Selections::Linear, limits);
    return other.is_equal ? other : found;
  }

  Interpretation interpret(std::uint64_t seed, FloatEquality equality,
                           Algebra::Selections selections, const Limits& limits) const {
    Interpretation found;
    OpaqueInstructions opaque;
    try {
      Algebra algebra(seed, equality, selections);
      Work work(limits, most_);
      const auto first = outputs(algebra, before_, relation_.before, kDraws[0], seed, work, opaque);
      const auto second = outputs(algebra, after_, relation_.after, kDraws[0], seed, work, opaque);
      const OutputPairs pairs(algebra, devices_, relation_);
      found.is_equal = true;
      pairs.visit(first, second,
                  [&](const Term& a, const Term& b, const Array<Term>& array, std::uint32_t device,
                      std::size_t output, const std::vector<std::int64_t>& index) {
                    found.is_equal = algebra.equal(a, b, array.shape.type);
                    if (!found.is_equal) {
                      found.output = output;
                      found.device = device;
                    }
                    if (!found.is_equal && equality != FloatEquality::Real) {
                      found.difference = fmt::format(
                          "element [{}] of output {} on device {} is computed by a different "
                          "sequence of floating-point operations.",
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
      found.met_selections = algebra.met_selections();
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
      const std::size_t output = renumbered
                                     ? relation_.outputs[*found.output].number_on(found.device)
                                     : found.output.value_or(0);
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
    using Run = Interpreter<Algebra>;
    const auto visit = [](const Run::PerDevice& values, const auto& each) {
      for (const auto& value : values) {
        if (!value || value->is_tuple || !value->array.cells) continue;
        for (const Term& cell : *value->array.cells) each(cell, value->array.shape.type);
        if (value == values.back()) return;  // devices share it
      }
    };
    outputs<Algebra>(algebra, before_, relation_.before, kDraws[0], seed, work, opaque,
                     [&](const Instruction&, const Run::Operands&, const Run::PerDevice& values) {
                       visit(values, [&](const Term& cell, ElementType) {
                         if (known.size() < kMaxKnownValues) known.insert(cell.value);
                       });
                     });
    const Instruction* first = nullptr;
    outputs<Algebra>(
        algebra, after_, relation_.after, kDraws[0], seed, work, opaque,
        [&](const Instruction& instruction, const Run::Operands&, const Run::PerDevice& values) {
          const bool given = instruction.opcode == "constant" || instruction.opcode == "parameter";
          if (first != nullptr || given) return;
          visit(values, [&](const Term& cell, ElementType type) {
            if (algebra.rounds(type) && !known.contains(cell.value)) first = &instruction;
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
  double tolerance_;
  /// Whether numbers are drawn for what memory contains that nobody has written to: where the
  /// module before may depend on it, another result refutes nothing.
  bool draws_memory_;
  const interpreter::GivenInputs* given_ = nullptr;  ///< for the execution that runs
  ModuleDecision decision_;
  OpaqueInstructions opaque_ = {};  ///< met by executions on numbers
  bool met_infinite_errors_ = false;
  std::optional<Difference> rounded_difference_ = {};  ///< that may_be_rounding, if no other is met
};

}  // namespace

double elements_per_result(const Computation& computation, const Instruction& instruction) {
  const bool slides =
      instruction.opcode == "reduce-window" || instruction.opcode == "select-and-scatter";
  if (!slides && instruction.opcode != "convolution") return 0;
  if (instruction.shape.is_tuple) return 0;
  const auto product = [](double all, std::int64_t size) {
    return all * static_cast<double>(size);
  };
  std::vector<std::int64_t> sizes;
  try {
    if (slides) {
      const std::size_t rank = instruction.shape.array.sizes.size();
      for (const auto& each : interpreter::window_of(instruction, rank)) sizes.push_back(each.size);
    } else if (instruction.operands.size() == 2) {
      sizes = computation.instructions[instruction.operands[1]].shape.array.sizes;
      const auto numbers = interpreter::convolution_dimensions(instruction);
      const auto outputs = static_cast<std::size_t>(numbers.kernel_output);
      if (outputs < sizes.size()) sizes[outputs] = 1;
    }
  } catch (const InputError&) {  // execution says what is not understood
    return 0;
  }
  return std::accumulate(sizes.begin(), sizes.end(), 1.0, product);
}

double estimated_operations(const Module& module, const Devices& devices) {
  double all = 0;
  for (const Computation& computation : module.computations) {
    all += estimated_operations(module, computation, devices, [&](std::uint32_t i) {
      double elements = 0;
      for (const ArrayShape& shape : computation.instructions[i].shape.arrays())
        elements += static_cast<double>(shape.elements());
      return elements;
    });
  }
  return all;
}

ModuleDecision compare_by_execution(const Module& before, const Module& after,
                                    const Devices& devices, const ModuleRelation& relation,
                                    double operations, std::uint64_t most, const Limits& limits) {
  return unless_not_understood(before, after, devices, [&] {
    return ExecutionComparison(before, after, devices, relation, most, limits)
        .decide(operations > kLargeOperations ? 1 : draws_of(relation), operations);
  });
}

ModuleDecision compare_by_solver(const Module& before, const Module& after, const Devices& devices,
                                 const ModuleRelation& relation, std::uint64_t most,
                                 const ElementSolver& solver, const Limits& limits) {
  return unless_not_understood(before, after, devices, [&] {
    return ExecutionComparison(before, after, devices, relation, most, limits)
        .decide_by_solver(solver);
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

bool are_equal_by_interpretation(const Module& before, const Module& after, const Devices& devices,
                                 const ModuleRelation& relation, std::uint64_t most,
                                 const Limits& limits) {
  return ExecutionComparison(before, after, devices, relation, most, limits)
      .are_equal_by_interpretation();
}

bool differ_on_numbers(const Module& before, const Module& after, const Devices& devices,
                       const ModuleRelation& relation, std::uint64_t most, const Limits& limits) {
  return ExecutionComparison(before, after, devices, relation, most, limits).differ_on_numbers();
}

}  // namespace p2::hlo
