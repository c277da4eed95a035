// Comparison of two modules by execution on all devices: on random numbers, and by random
// interpretation.

#include "engine/hlo/interpreter/execution.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <future>
#include <map>
#include <optional>
#include <set>

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

std::string target_of(const Instruction& instruction) {
  return interpreter::text_attribute(instruction, "custom_call_target");
}

bool is_partitioning_call(const Instruction& instruction) {
  if (instruction.opcode != "custom-call") return false;
  const std::string target = target_of(instruction);
  return target.starts_with("SPMD") || target.starts_with("xla.sdy.") || target == "Sharding";
}

/// What a module says about its form.
struct Signs {
  bool partitioning_calls = false;  ///< `Sharding`, `SPMDFullToShardShape`, `xla.sdy.…`
  bool tiled_shardings = false;     ///< of instructions other than parameters
  bool devices = false;             ///< collectives, partition-id
};

Signs signs_of(const Module& module) {
  Signs signs;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (is_partitioning_call(instruction)) signs.partitioning_calls = true;
      const std::string& opcode = instruction.opcode;
      if (opcode == "partition-id" || is_collective(base_opcode(opcode))) signs.devices = true;
      const bool tiled = instruction.attributes.sharding.find("devices=") != std::string::npos;
      if (opcode != "parameter" && tiled) signs.tiled_shardings = true;
    }
  }
  return signs;
}

/// Whether XLA's partitioner named the entry.
bool is_named_partitioned(const Module& module) {
  return module.entry_computation().name.find("_spmd") != std::string::npos;
}

/// Whether a module is not partitioned yet. Shardings may be left over in a partitioned one, which
/// then has collectives, or an entry that the partitioner named.
bool is_global(const Module& module, const Signs& signs) {
  if (signs.partitioning_calls) return true;
  return signs.tiled_shardings && !signs.devices && !is_named_partitioned(module);
}

std::vector<ArrayShape> inputs_of(const Module& module) {
  std::vector<ArrayShape> all;
  const Computation& entry = module.entry_computation();
  for (const std::uint32_t index : entry.parameters) {
    for (ArrayShape& shape : entry.instructions[index].shape.arrays()) all.push_back(shape);
  }
  return all;
}

std::vector<ArrayShape> outputs_of(const Module& module) {
  const Computation& entry = module.entry_computation();
  return entry.instructions[entry.root].shape.arrays();
}

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

/// The texts for `count` arrays: a list of as many, or one for all.
std::vector<std::string> spread(const std::string& text, std::size_t count) {
  if (text.empty()) return std::vector<std::string>(count);
  std::vector<std::string> all = sharding_list(text);
  if (all.size() == 1 && count != 1) all.assign(count, all[0]);
  return all;
}

std::string shardy_sharding(const Instruction& instruction) {
  const auto found = instruction.attributes.shardy.find("xla.sdy.sharding");
  return found == instruction.attributes.shardy.end() ? std::string() : found->second;
}

std::vector<std::string> input_shardings(const Module& global, const Module& partitioned) {
  std::vector<std::string> all;
  const Computation& entry = global.entry_computation();
  for (const std::uint32_t index : entry.parameters) {
    const Instruction& parameter = entry.instructions[index];
    const std::string text = !parameter.attributes.sharding.empty() ? parameter.attributes.sharding
                                                                    : shardy_sharding(parameter);
    for (std::string& each : spread(text, parameter.shape.arrays().size())) all.push_back(each);
  }
  if (std::all_of(all.begin(), all.end(), [](const std::string& text) { return text.empty(); }) &&
      !partitioned.parameter_shardings.empty()) {
    return spread(partitioned.parameter_shardings, all.size());
  }
  return all;
}

std::string result_sharding(const Instruction& instruction) {
  if (!instruction.attributes.sharding.empty()) return instruction.attributes.sharding;
  return target_of(instruction) == "xla.sdy.FuncResultSharding" ? shardy_sharding(instruction)
                                                                : std::string();
}

std::vector<std::string> output_shardings(const Module& global, const Module& partitioned) {
  const Computation& entry = global.entry_computation();
  const Instruction& root = entry.instructions[entry.root];
  const std::size_t count = root.shape.arrays().size();
  if (const std::string own = result_sharding(root); !own.empty()) return spread(own, count);
  std::vector<std::string> all;
  bool any = false;
  if (root.opcode == "tuple") {
    for (const std::uint32_t operand : root.operands) {
      const Instruction& part = entry.instructions[operand];
      for (std::string& each : spread(result_sharding(part), part.shape.arrays().size())) {
        any = any || !each.empty();
        all.push_back(each);
      }
    }
  }
  if (any) return all;
  if (!partitioned.output_sharding.empty()) return spread(partitioned.output_sharding, count);
  return std::vector<std::string>(count);
}

/// The sharding of one array: replicated where nothing is said. A list of one is its part.
std::optional<Sharding> sharding_of(const std::string& text, const ArrayShape& shape,
                                    const Devices& devices, const Module& global) {
  if (text.empty()) return Sharding{};
  const std::vector<std::string> one = sharding_list(text);
  if (one.size() != 1) return std::nullopt;
  const auto sharding =
      read_sharding(one[0], shape.sizes.size(), devices.partitions, global.meshes);
  if (sharding && sharding->kind != Sharding::Kind::Tiled) return std::nullopt;
  return sharding;
}

bool same_shapes(const std::vector<ArrayShape>& a, const std::vector<ArrayShape>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ArrayShape& x, const ArrayShape& y) {
                      return x.type == y.type && x.sizes == y.sizes;
                    });
}

std::string shapes_text(const std::vector<ArrayShape>& shapes) {
  std::string text;
  for (const ArrayShape& shape : shapes) text += (text.empty() ? "" : ", ") + to_string(shape);
  return "(" + text + ")";
}

/// Why the arrays of a partitioned module are not the shards of those of a global one.
std::optional<std::string> shard_mismatch(const char* what, const std::vector<ArrayShape>& global,
                                          const std::vector<ArrayShape>& shards,
                                          const std::vector<std::string>& texts,
                                          const Devices& devices, const Module& module) {
  if (global.size() != shards.size() || texts.size() != global.size()) {
    return fmt::format("The unpartitioned module has {} {}, the partitioned one {}.", global.size(),
                       what, shards.size());
  }
  for (std::size_t i = 0; i < global.size(); ++i) {
    const auto sharding = sharding_of(texts[i], global[i], devices, module);
    if (!sharding) return fmt::format("The sharding {} is not understood.", texts[i]);
    if (sharding->tile_sizes(global[i].sizes) != shards[i].sizes ||
        global[i].type != shards[i].type) {
      return fmt::format(
          "{} {} is {} before partitioning, {} on every device, and its sharding is {}.", what, i,
          to_string(global[i]), to_string(shards[i]), texts[i].empty() ? "not given" : texts[i]);
    }
  }
  return std::nullopt;
}

/// The inputs of one comparison, in an arithmetic.
class Inputs {
 public:
  Inputs(const Devices& devices, const ModuleRelation& relation, const Module& global)
      : devices_(devices), relation_(relation), global_(global) {}

  template <typename A>
  std::vector<typename Interpreter<A>::PerDevice> of(A& arithmetic, const Module& module, Form form,
                                                     const Module& other, const Draw& draw,
                                                     std::uint64_t seed) const {
    std::vector<typename Interpreter<A>::PerDevice> all;
    const Computation& entry = module.entry_computation();
    const bool mixed = relation_.before != relation_.after;
    const std::vector<ArrayShape> wholes =
        inputs_of(mixed && form == Form::Partitioned ? other : module);
    std::size_t number = 0;
    for (const std::uint32_t index : entry.parameters) {
      const Shape& shape = entry.instructions[index].shape;
      typename Interpreter<A>::PerDevice values(devices_.count());
      const std::size_t first = number;
      std::map<std::vector<std::int64_t>, typename Interpreter<A>::Pointer> by_tile;
      for (std::uint32_t device = 0; device < devices_.count(); ++device) {
        number = first;
        auto& value = by_tile[tile_of(shape, first, wholes, device, form, mixed)];
        if (value) {
          number += shape.arrays().size();
        } else {
          value = std::make_shared<const ArrayTree<typename A::Cell>>(
              build(arithmetic, shape, number, wholes, form == Form::Global ? kNone : device,
                    mixed && form == Form::Partitioned, draw, seed));
        }
        values[device] = value;
      }
      all.push_back(std::move(values));
    }
    return all;
  }

 private:
  /// Equal for devices that hold the same elements of an input.
  std::vector<std::int64_t> tile_of(const Shape& shape, std::size_t input,
                                    const std::vector<ArrayShape>& wholes, std::uint32_t device,
                                    Form form, bool mixed) const {
    if (form == Form::Global) return {};
    const std::vector<std::int64_t> own = {-1, device};
    if (!mixed || shape.is_tuple) return own;
    const auto sharding = *sharding_of(relation_.inputs[input], wholes[input], devices_, global_);
    const auto start = sharding.tile_start(wholes[input].sizes,
                                           static_cast<std::int64_t>(device) % devices_.partitions);
    for (std::size_t i = 0; i < start.size(); ++i) {  // what pads a short tile is the device's own
      if (start[i] + shape.array.sizes[i] > wholes[input].sizes[i]) return own;
    }
    return start;
  }

  template <typename A>
  ArrayTree<typename A::Cell> build(A& arithmetic, const Shape& shape, std::size_t& number,
                                    const std::vector<ArrayShape>& wholes, std::uint32_t device,
                                    bool cut, const Draw& draw, std::uint64_t seed) const {
    ArrayTree<typename A::Cell> tree;
    tree.is_tuple = shape.is_tuple;
    for (const Shape& part : shape.parts) {
      tree.parts.push_back(build(arithmetic, part, number, wholes, device, cut, draw, seed));
    }
    if (shape.is_tuple) return tree;
    const std::size_t input = number++;
    std::vector<typename A::Cell> cells;
    Sharding sharding;
    std::vector<std::int64_t> start(shape.array.sizes.size(), 0);
    const ArrayShape& whole = cut ? wholes[input] : shape.array;
    if (cut) {
      sharding = *sharding_of(relation_.inputs[input], whole, devices_, global_);
      start =
          sharding.tile_start(whole.sizes, static_cast<std::int64_t>(device) % devices_.partitions);
    }
    const auto strides = interpreter::strides_of(whole.sizes);
    interpreter::for_each_index(shape.array.sizes, [&](const std::vector<std::int64_t>& index) {
      std::int64_t element = 0;
      bool inside = true;
      for (std::size_t i = 0; i < index.size(); ++i) {
        inside = inside && start[i] + index[i] < whole.sizes[i];
        element += (start[i] + index[i]) * strides[i];
      }
      const std::uint64_t owner = cut ? kNone : device;
      if (inside) {
        cells.push_back(value(arithmetic, {input, static_cast<std::uint64_t>(element), owner},
                              shape.array.type, draw, seed));
      } else {  // any number pads a short tile
        cells.push_back(
            value(arithmetic, {0xAD, input, cells.size(), device}, shape.array.type, draw, seed));
      }
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
  const Module& global_;
};

template <typename Cell>
void append_arrays(const ArrayTree<Cell>& tree, std::vector<const Array<Cell>*>& all) {
  if (!tree.is_tuple) all.push_back(&tree.array);
  for (const auto& part : tree.parts) append_arrays(part, all);
}

/// The pairs of outputs that must be equal: on every device, element by element.
class OutputPairs {
 public:
  OutputPairs(const Devices& devices, const ModuleRelation& relation, const Module& global)
      : devices_(devices), relation_(relation), global_(global) {}

  /// Calls `visit(before, after, device, output, index)`, with the two arrays and row-major numbers
  /// of their elements, until it returns false.
  template <typename PerDevice, typename Visit>
  void visit(const PerDevice& before, const PerDevice& after, const Visit& visit) const {
    using Cell = std::decay_t<decltype((*before[0]->array.cells)[0])>;
    const bool mixed = relation_.before != relation_.after;
    const bool both_global = !mixed && relation_.before == Form::Global;
    std::map<std::pair<const void*, const void*>, bool> seen;
    for (std::uint32_t device = 0; device < devices_.count(); ++device) {
      if (both_global && device > 0) return;
      if (!mixed &&
          !seen.emplace(std::pair(before[device].get(), after[device].get()), true).second) {
        continue;
      }
      std::vector<const Array<Cell>*> first;
      std::vector<const Array<Cell>*> second;
      append_arrays(*before[device], first);
      append_arrays(*after[device], second);
      for (std::size_t k = 0; k < first.size(); ++k) {
        if (first[k]->shape.type.kind() == ElementType::Kind::Other) continue;
        if (!mixed) {
          std::int64_t element = 0;
          bool go = true;
          interpreter::for_each_index(first[k]->shape.sizes, [&](const auto& index) {
            if (go) go = visit(*first[k], *second[k], device, k, index, element, element);
            ++element;
          });
          if (!go) return;
          continue;
        }
        const bool global_first = relation_.before == Form::Global;
        const Array<Cell>& whole = global_first ? *first[k] : *second[k];
        const Array<Cell>& shard = global_first ? *second[k] : *first[k];
        const auto sharding = *sharding_of(relation_.outputs[k], whole.shape, devices_, global_);
        const auto start = sharding.tile_start(
            whole.shape.sizes, static_cast<std::int64_t>(device) % devices_.partitions);
        const auto strides = interpreter::strides_of(whole.shape.sizes);
        std::int64_t local = 0;
        bool go = true;
        interpreter::for_each_index(shard.shape.sizes, [&](const std::vector<std::int64_t>& index) {
          const std::int64_t own = local++;
          std::int64_t element = 0;
          for (std::size_t i = 0; i < index.size(); ++i) {
            if (start[i] + index[i] >= whole.shape.sizes[i]) return;
            element += (start[i] + index[i]) * strides[i];
          }
          if (go) {
            go = global_first ? visit(whole, shard, device, k, index, element, own)
                              : visit(shard, whole, device, k, index, own, element);
          }
        });
        if (!go) return;
      }
    }
  }

 private:
  const Devices& devices_;
  const ModuleRelation& relation_;
  const Module& global_;
};

/// One comparison by execution.
class ExecutionComparison {
 public:
  ExecutionComparison(const Module& before, const Module& after, const Devices& devices,
                      const ModuleRelation& relation, std::uint64_t most, const Limits& limits)
      : before_(before),
        after_(after),
        devices_(devices),
        relation_(relation),
        global_(relation.before == Form::Global ? before : after),
        most_(most),
        limits_(limits) {
    decision_.devices = devices;
    if (has_rounded_constant(before) || has_rounded_constant(after)) tolerance_ = kNarrowTolerance;
  }

  /// Numbers refute in this thread while another one interprets.
  ModuleDecision decide(std::size_t draws) {
    std::atomic<bool> cancelled = false;
    Limits limits = limits_;
    limits.cancelled = &cancelled;
    auto first = std::async(std::launch::async, [&] { return interpret(kFirstSeed, limits); });
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
    if (decision_.outcome != Outcome::Refuted) second = interpret(kSecondSeed, limits_);
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
    }
    return decision_;
  }

 private:
  /// What random interpretation finds.
  struct Interpretation {
    bool is_equal = false;
    std::string difference = {};  ///< one sentence
    std::vector<std::string> uninterpreted = {};
    std::exception_ptr failure = {};  ///< NotUnderstood, LimitReached
  };

  template <typename A>
  auto outputs(A& arithmetic, const Module& module, Form form, const Draw& draw, std::uint64_t seed,
               Work& work, std::set<std::string>& opaque) const {
    const bool is_before = &module == &before_;
    const Inputs inputs(devices_, relation_, global_);
    Interpreter<A> run(module, is_before ? 1 : 2, devices_, arithmetic, work);
    auto values =
        run.run(inputs.of(arithmetic, module, form, is_before ? after_ : before_, draw, seed));
    for (const auto& [name, count] : run.opaque_operations()) opaque.insert(name);
    return values;
  }

  void execute_on_numbers(const Draw& draw, std::uint64_t seed) {
    Numbers numbers;
    Work work(limits_, most_);
    std::set<std::string> opaque;
    const auto first = outputs(numbers, before_, relation_.before, draw, seed, work, opaque);
    const auto second = outputs(numbers, after_, relation_.after, draw, seed, work, opaque);
    const OutputPairs pairs(devices_, relation_, global_);
    double largest = 0;
    std::size_t of_output = SIZE_MAX;
    pairs.visit(first, second,
                [&](const Array<Scalar>& a, const Array<Scalar>& b, std::uint32_t device,
                    std::size_t output, const std::vector<std::int64_t>& index, std::int64_t i,
                    std::int64_t k) {
                  if (a.unknown || b.unknown) return true;
                  if (output != of_output) {
                    of_output = output;
                    largest = 0;
                    for (const Scalar& each : *a.cells) {
                      if (std::isfinite(each.real))
                        largest = std::max(largest, std::fabs(each.real));
                    }
                  }
                  if (!differ(a.at(i), b.at(k), a.shape.type, largest, draw)) return true;
                  not_finite_ = a.shape.type.is_float() &&
                                !(std::isfinite(a.at(i).real) && std::isfinite(b.at(k).real));
                  refute(device, output, index, a.at(i), b.at(k), a.shape.type, draw, seed);
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

  Interpretation interpret(std::uint64_t seed, const Limits& limits) const {
    Interpretation found;
    std::set<std::string> opaque;
    try {
      Algebra algebra(seed);
      Work work(limits, most_);
      const auto first = outputs(algebra, before_, relation_.before, kDraws[0], seed, work, opaque);
      const auto second = outputs(algebra, after_, relation_.after, kDraws[0], seed, work, opaque);
      const OutputPairs pairs(devices_, relation_, global_);
      found.is_equal = true;
      pairs.visit(
          first, second,
          [&](const Array<Term>& a, const Array<Term>& b, std::uint32_t device, std::size_t output,
              const std::vector<std::int64_t>& index, std::int64_t i, std::int64_t k) {
            found.is_equal = algebra.equal(a.at(i), b.at(k), a.shape.type);
            if (!found.is_equal) {
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
    found.uninterpreted.assign(opaque.begin(), opaque.end());
    return found;
  }

  const Module& before_;
  const Module& after_;
  Devices devices_;
  const ModuleRelation& relation_;
  const Module& global_;
  std::uint64_t most_;
  const Limits& limits_;
  double tolerance_ = kTolerance;
  bool not_finite_ = false;  ///< where the outputs differ, one is infinite or NaN
  ModuleDecision decision_;
};

/// `replicated`, or the number of parts along every dimension: `2×1`.
std::string tiles_text(const std::string& text, const ArrayShape& shape, const Devices& devices,
                       const Module& global) {
  const auto sharding = sharding_of(text, shape, devices, global);
  if (!sharding || sharding->is_replicated()) return "replicated";
  return fmt::format("{}", fmt::join(sharding->tiles, "×"));
}

void describe(ModuleRelation& relation, const Module& global, const Devices& devices) {
  const std::vector<ArrayShape> inputs = inputs_of(global);
  const std::vector<ArrayShape> outputs = outputs_of(global);
  const Computation& entry = global.entry_computation();
  std::size_t number = 0;
  for (const std::uint32_t index : entry.parameters) {
    const Instruction& parameter = entry.instructions[index];
    for (std::size_t k = 0; k < parameter.shape.arrays().size(); ++k, ++number) {
      relation.placements.push_back(
          {parameter.name, tiles_text(relation.inputs[number], inputs[number], devices, global)});
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    relation.placements.push_back({fmt::format("output {}", k),
                                   tiles_text(relation.outputs[k], outputs[k], devices, global)});
  }
}

}  // namespace

ModuleRelation relation_of(const Module& before, const Module& after, const Devices& devices) {
  ModuleRelation relation;
  const Signs signs_before = signs_of(before);
  const Signs signs_after = signs_of(after);
  const bool global_before = is_global(before, signs_before);
  const bool global_after = is_global(after, signs_after);
  const bool same = same_shapes(inputs_of(before), inputs_of(after)) &&
                    same_shapes(outputs_of(before), outputs_of(after));
  if (global_before == global_after && same && (!global_before || devices.replicas == 1)) {
    relation.before = relation.after = global_before ? Form::Global : Form::Partitioned;
    return relation;
  }
  if ((global_before || global_after) && devices.replicas > 1) {
    relation.before = Form::Global;
    relation.mismatch = "Unpartitioned modules with several replicas are not understood.";
    return relation;
  }
  // One of them is partitioned: the other one's shardings say how.
  const bool single = before.partitions.value_or(1) == 1;
  const bool first = global_before != global_after
                         ? global_before
                         : global_before || single || after.partitions.value_or(1) != 1;
  const Module& global = first ? before : after;
  const Module& partitioned = first ? after : before;
  relation.before = first ? Form::Global : Form::Partitioned;
  relation.after = first ? Form::Partitioned : Form::Global;
  relation.inputs = input_shardings(global, partitioned);
  relation.outputs = output_shardings(global, partitioned);
  relation.mismatch = shard_mismatch("inputs", inputs_of(global), inputs_of(partitioned),
                                     relation.inputs, devices, global);
  if (!relation.mismatch) {
    relation.mismatch = shard_mismatch("outputs", outputs_of(global), outputs_of(partitioned),
                                       relation.outputs, devices, global);
  }
  if (!relation.mismatch) {
    // With the same shapes and no manual parts, both may be partitioned.
    relation.is_ambiguous = same && !signs_before.partitioning_calls &&
                            !signs_after.partitioning_calls &&
                            is_named_partitioned(before) == is_named_partitioned(after);
    describe(relation, global, devices);
    return relation;
  }
  if (same) return ModuleRelation{};  // shardings that are left over
  if (global_before != global_after) return relation;
  relation.mismatch_is_certain =
      !global_before && before.partitions.value_or(2) > 1 && after.partitions.value_or(2) > 1;
  if (relation.mismatch_is_certain) {
    relation.before = relation.after = Form::Partitioned;
    const bool inputs = !same_shapes(inputs_of(before), inputs_of(after));
    relation.mismatch =
        fmt::format("The {} are {} before and {} after.", inputs ? "inputs" : "outputs",
                    shapes_text(inputs ? inputs_of(before) : outputs_of(before)),
                    shapes_text(inputs ? inputs_of(after) : outputs_of(after)));
  }
  return relation;
}

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
                                    std::uint64_t most, const Limits& limits) {
  try {
    const double operations =
        estimated_operations(before, devices) + estimated_operations(after, devices);
    return ExecutionComparison(before, after, devices, relation, most, limits)
        .decide(operations > kLargeOperations ? 1 : std::size(kDraws));
  } catch (const NotUnderstood& error) {
    ModuleDecision decision;
    decision.outcome = Outcome::Undecided;
    decision.devices = devices;
    decision.reason = fmt::format("Not understood: {} ({}:{}).", error.what(),
                                  error.position.source, error.position.line);
    return decision;
  }
}

}  // namespace p2::hlo
