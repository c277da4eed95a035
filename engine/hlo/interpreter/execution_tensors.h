#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/interpreter/ranges.h"
#include "engine/hlo/module_relation.h"

/// The inputs of two modules that are executed to be compared, and the pairs of their outputs.
namespace p2::hlo::interpreter {

constexpr std::uint64_t kFirstSeed = 0x5EED0001;
constexpr std::uint64_t kSecondSeed = 0x5EED0002;

/// How random numbers are drawn. Floating-point numbers are multiples of 2^-16: sums of them, and
/// products of two, are exact in double precision, so that what is equal as real numbers seldom
/// compares as less or greater. Integers are small, so that they are legal indices; those of 8 and
/// 16 bits, which wrap around soonest, also of their whole range. Truth values are also drawn for
/// runs of elements, so that masks leave nothing of a row, or of what one device has of it.
struct Draw {
  enum class Sign : std::uint8_t { Positive, Negative, Both };
  double low;  ///< magnitudes of floating-point numbers
  double high;
  Sign sign;
  std::int64_t first;  ///< integers
  std::int64_t last;
  bool narrow_range;  ///< integers of up to 16 bits of their whole range
  bool may_overflow;  ///< infinities and NaN are no differences
  unsigned run = 0;   ///< 2^run elements beside each other have one truth value
  /// Integers of more than 16 bits of all magnitudes up to `last`, so that some are no indices.
  bool any_magnitude = false;
};
constexpr Draw kDraws[] = {{0.25, 1.5, Draw::Sign::Both, 0, 6, false, false},
                           {0.25, 1.5, Draw::Sign::Negative, 0, 6, false, false, 3},
                           {0.5, 1.0, Draw::Sign::Positive, 0, 3, false, false, 6},
                           {0.25, 1.5, Draw::Sign::Both, 0, 6, false, false, 3},
                           {2.0, 12.0, Draw::Sign::Both, 0, 6, true, true},
                           {20.0, 100.0, Draw::Sign::Both, 0, 6, false, true}};

/// For what is done at an index. What programs mark as no number, as look-ups of JAX do there, is
/// no difference.
constexpr Draw kFarDraw = {0.25, 1.5, Draw::Sign::Both, 0, (1 << 13) - 1, false, true, 3, true};

/// For what overflows on these.
constexpr Draw kSmallDraw = {0x1p-8, 0x1p-4, Draw::Sign::Both, 0, 6, false, false};

/// The sum, product or the like of two elements.
template <typename A>
typename A::Cell combined(A& arithmetic, Reducer reducer, ElementType type,
                          const typename A::Cell& a, const typename A::Cell& b) {
  const auto code = element_of(to_string(reducer));
  const typename A::Cell operands[] = {a, b};
  return arithmetic.apply({code.value(), Direction::Eq, type, type, {}}, operands);
}

/// The first key of what a device has in an input and no tensor's piece covers.
constexpr std::uint64_t kOwnElement = std::numeric_limits<std::uint64_t>::max();

/// What is added to the numbers of arrays in memory, which are no inputs.
constexpr std::uint64_t kMemory = std::uint64_t{1} << 32U;

/// Numbers of inputs, by their keys.
using GivenInputs = std::map<std::vector<std::uint64_t>, Scalar>;

/// The inputs of one comparison, in an arithmetic.
class Inputs {
 public:
  /// What a drawn number is multiplied by, by input and element.
  using Scale = std::function<double(std::uint64_t, std::uint64_t)>;

  /// `given`: numbers that are not drawn.
  Inputs(const Devices& devices, const ModuleRelation& relation, const GivenInputs* given = nullptr,
         Scale scale = {})
      : devices_(devices), relation_(relation), given_(given), scale_(std::move(scale)) {
    for (const TensorRelation& each : relation.inputs) {
      for (const std::uint32_t number : each.all_numbers()) related_[number].push_back(&each);
    }
  }

  template <typename A>
  std::vector<typename Interpreter<A>::PerDevice> of(A& arithmetic, const Module& module, Form form,
                                                     const Draw& draw, std::uint64_t seed,
                                                     Work& work) const {
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
        if (!runs(module, entry.instructions[index], device)) {
          number += static_cast<std::uint32_t>(shape.arrays().size());
          continue;
        }
        auto& value = by_contents[contents(shape, first, device, form)];
        if (value) {
          number += static_cast<std::uint32_t>(shape.arrays().size());
        } else {
          value = std::make_shared<const ArrayTree<typename A::Cell>>(
              build(arithmetic, shape, number, device, form, draw, seed, work));
        }
        values[device] = value;
      }
      all.push_back(std::move(values));
    }
    return all;
  }

  /// What memory contains that nobody has written to, as an input that every device has for itself.
  template <typename A>
  typename Interpreter<A>::Memory memory(A& arithmetic, Form form, const Draw& draw,
                                         std::uint64_t seed) const {
    return [&arithmetic, form, draw, seed, this](std::uint64_t array, std::uint64_t element,
                                                 std::uint32_t device, ElementType type) {
      const std::uint64_t holder = form == Form::Global ? kNone : device;
      return value(arithmetic, {kOwnElement, kMemory + array, element, holder}, type, draw, seed);
    };
  }

 private:
  static bool runs(const Module& module, const Instruction& parameter, std::uint32_t device) {
    return module.programs.empty() || module.program_of[device] == parameter.program;
  }

  /// The number of an element of an input before dimensions were reduced.
  std::uint64_t drawn_element(std::uint64_t input, const std::vector<std::int64_t>& sizes,
                              std::int64_t element) const {
    if (relation_.drawn_sizes.empty()) return static_cast<std::uint64_t>(element);
    const std::vector<std::int64_t> strides = strides_of(relation_.drawn_sizes[input]);
    std::int64_t result = 0;
    for (std::size_t i = sizes.size(); i-- > 0; element /= sizes[i]) {
      result += element % sizes[i] * strides[i];
    }
    return static_cast<std::uint64_t>(result);
  }

  /// Of two partitioned modules: the first device that holds the same in an input.
  std::uint32_t holder_of(std::uint64_t input, std::uint32_t device) const {
    if (relation_.replication.empty()) return device;
    return relation_.replication.at(input).first_holder(device, devices_);
  }

  /// The input of the global module of which a device holds something in its input `number`.
  const TensorRelation& related(std::uint32_t number, std::uint32_t device) const {
    const std::vector<const TensorRelation*>& all = related_.at(number);
    return **std::ranges::find_if(
        all, [&](const TensorRelation* each) { return each->number_on(device) == number; });
  }

  /// Equal for devices that hold the same elements of an input.
  std::vector<std::int64_t> contents(const Shape& shape, std::uint32_t input, std::uint32_t device,
                                     Form form) const {
    if (form == Form::Global) return {};
    std::vector<std::int64_t> own;
    if (!relation_.is_mixed()) {
      for (std::size_t k = 0; k < shape.arrays().size(); ++k)
        own.push_back(holder_of(input + k, device));
      return own;
    }
    own = {-1, device};
    if (shape.is_tuple) return own;
    const TensorRelation& relation = related(input, device);
    std::vector<std::int64_t> all = {&relation - relation_.inputs.data(), relation.part_of(device)};
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
                                    std::uint64_t seed, Work& work) const {
    ArrayTree<typename A::Cell> tree;
    tree.is_tuple = shape.is_tuple;
    for (const Shape& part : shape.parts) {
      tree.parts.push_back(build(arithmetic, part, number, device, form, draw, seed, work));
    }
    if (shape.is_tuple) return tree;
    const std::uint32_t input = number++;
    const ElementType type = shape.array.type;
    const auto elements = static_cast<std::uint64_t>(shape.array.elements());
    work.spend(elements, elements * sizeof(typename A::Cell));
    std::vector<typename A::Cell> cells;
    const auto drawn = [&](const std::vector<std::uint64_t>& keys) {
      return value(arithmetic, keys, type, draw, seed);
    };
    /// Element of one of the tensors whose reduction an input is.
    const auto of_part = [&](std::uint64_t of, std::int64_t element, std::uint32_t part) {
      const ArrayShape& whole = relation_.is_mixed() ? relation_.inputs[of].whole : shape.array;
      const std::uint64_t at = drawn_element(of, whole.sizes, element);
      return part == 0 ? drawn({of, at, kNone}) : drawn({of, at, kNone, part});
    };
    std::int64_t element = 0;
    for_each_index(shape.array.sizes, [&](const std::vector<std::int64_t>& index) {
      if (form == Form::Global) {
        if (!relation_.is_mixed() || relation_.inputs[input].parts == 1) {
          cells.push_back(of_part(input, element, 0));
        } else {
          const TensorRelation& relation = relation_.inputs[input];
          const std::vector<std::uint32_t> parts = relation.parts_of(index);
          auto cell = of_part(input, element, parts[0]);
          for (std::size_t k = 1; k < parts.size(); ++k) {
            cell = combined(arithmetic, relation.reducer, type, cell,
                            of_part(input, element, parts[k]));
          }
          cells.push_back(std::move(cell));
        }
      } else if (!relation_.is_mixed()) {
        cells.push_back(drawn(
            {input, drawn_element(input, shape.array.sizes, element), holder_of(input, device)}));
      } else {
        const TensorRelation& relation = related(input, device);
        const auto of = static_cast<std::uint64_t>(&relation - relation_.inputs.data());
        const auto found = relation.element_of(device, index);
        cells.push_back(found ? of_part(of, *found, relation.part_of(device))
                              : drawn({kOwnElement, input, cells.size(), device}));
      }
      ++element;
    });
    tree.array.shape = shape.array;
    tree.array.cells = std::make_shared<const std::vector<typename A::Cell>>(std::move(cells));
    return tree;
  }

  template <typename A>
  requires A::kSymbolic static typename A::Cell value(A& arithmetic,
                                                      const std::vector<std::uint64_t>& keys,
                                                      ElementType type, const Draw& /*draw*/,
                                                      std::uint64_t /*seed*/) {
    return arithmetic.input(keys, type);
  }

  NumberRange value(Ranges& /*ranges*/, const std::vector<std::uint64_t>& keys, ElementType type,
                    const Draw& draw, std::uint64_t seed) const {
    Numbers numbers;
    return value(numbers, keys, type, draw, seed);
  }

  Scalar value(Numbers& numbers, const std::vector<std::uint64_t>& keys, ElementType type,
               const Draw& draw, std::uint64_t seed) const {
    if (given_ != nullptr) {
      const auto found = given_->find(keys);
      if (found != given_->end()) return found->second;
    }
    const bool is_boolean = type.kind() == ElementType::Kind::Boolean;
    const std::size_t element = keys[0] == kOwnElement ? 2 : 1;
    std::uint64_t state = Algebra::hash(0xD, seed);
    for (std::size_t k = 0; k < keys.size(); ++k)
      state = Algebra::hash(state, is_boolean && k == element ? keys[k] >> draw.run : keys[k]);
    const double unit = static_cast<double>(state >> 11U) * 0x1p-53;
    if (type.is_float()) {
      double size = std::floor((draw.low + (draw.high - draw.low) * unit) * 0x1p16) * 0x1p-16;
      if (scale_ && keys[0] != kOwnElement) size *= scale_(keys[0], keys[1]);
      const bool negative =
          draw.sign == Draw::Sign::Negative || (draw.sign == Draw::Sign::Both && (state & 1U) != 0);
      return {(negative ? -size : size) + 0.0, 0};  // zeros have no sign
    }
    if (is_boolean) return {0, static_cast<std::int64_t>(state & 1U)};
    if (draw.narrow_range && type.bits() <= 16) {
      return numbers.integer(static_cast<std::int64_t>(state >> 20U), type);
    }
    if (draw.any_magnitude && type.bits() > 16) {
      const std::uint64_t most = static_cast<std::uint64_t>(draw.last) >>
                                 state % std::bit_width(static_cast<std::uint64_t>(draw.last));
      return numbers.integer(static_cast<std::int64_t>((state >> 20U) & most), type);
    }
    const auto count = static_cast<double>(draw.last - draw.first + 1);
    return numbers.integer(draw.first + static_cast<std::int64_t>(unit * count), type);
  }

  const Devices& devices_;
  const ModuleRelation& relation_;
  const GivenInputs* given_;
  Scale scale_;
  /// By input of the partitioned module: of linked programs, there may be several.
  std::map<std::uint32_t, std::vector<const TensorRelation*>> related_;
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
        const std::uint32_t number = relation.number_on(device);
        if (relation.parts > 1 || number == kNone) continue;
        if (!visit_shard(relation, *wholes[k], *shards[number], device, k, visit)) return;
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
    if (a.shape.type.is_token() || is_unknown(a) || is_unknown(b)) return true;
    std::int64_t element = 0;
    bool go = true;
    for_each_index(a.shape.sizes, [&](const auto& index) {
      if (go) go = visit(a.at(element), b.at(element), a, device, k, index);
      ++element;
    });
    return go;
  }

  template <typename Visit>
  bool visit_shard(const TensorRelation& relation, const Array<Cell>& whole,
                   const Array<Cell>& shard, std::uint32_t device, std::size_t k,
                   const Visit& visit) const {
    if (whole.shape.type.is_token()) return true;
    if (is_unknown(whole) || is_unknown(shard)) return true;
    const bool global_first = relation_.before == Form::Global;
    std::int64_t local = 0;
    bool go = true;
    for_each_index(shard.shape.sizes, [&](const std::vector<std::int64_t>& index) {
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
        const std::uint32_t output = relation.number_on(device);
        if (output == kNone) continue;
        const Array<Cell>& shard = *arrays_of(global_first ? after : before, device)[output];
        if (is_unknown(shard)) go = false;
        std::int64_t local = 0;
        for_each_index(shard.shape.sizes, [&](const std::vector<std::int64_t>& index) {
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
      for_each_index(whole.shape.sizes, [&](const std::vector<std::int64_t>& index) {
        const auto& parts = held[static_cast<std::size_t>(number)];
        const Cell& all = whole.at(number++);
        if (!go) return;
        const std::vector<std::uint32_t> numbers = relation.parts_of(index);
        const std::uint32_t device = parts[numbers[0]].second;
        Cell total = *parts[numbers[0]].first;
        for (std::size_t i = 1; i < numbers.size(); ++i) {
          total = combined(arithmetic_, relation.reducer, type, total, *parts[numbers[i]].first);
        }
        go = global_first ? visit(all, total, whole, device, k, index)
                          : visit(total, all, whole, device, k, index);
      });
      if (!go) return;
    }
  }

  A& arithmetic_;
  const Devices& devices_;
  const ModuleRelation& relation_;
};

}  // namespace p2::hlo::interpreter
