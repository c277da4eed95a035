// Inputs that are constant on blocks: modules on one element of each block compute what the modules
// compute, and what differs on blocks differs.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/interpreter/block_modules.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/interpreter/ranges.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/random_program.h"
#include "tests/hlo/random_rewrites.h"

namespace p2::hlo {
namespace {

using interpreter::Numbers;
using interpreter::Range;
using interpreter::Ranges;
using interpreter::Scalar;
using List = std::vector<std::int64_t>;
using Starts = std::vector<List>;
template <typename A>
using Run = interpreter::Interpreter<A>;
template <typename Cell>
using Tree = interpreter::ArrayTree<Cell>;

constexpr std::uint64_t kWorkLimit = 100'000'000;
constexpr double kMost = 1e7;

/// The number of the block that has an index.
std::int64_t block_of(const List& starts, std::int64_t index) {
  return std::upper_bound(starts.begin(), starts.end(), index) - starts.begin() - 1;
}

/// The array of whole size that has the elements of the blocks.
template <typename Cell>
Tree<Cell> spread(const Tree<Cell>& blocks, const ArrayShape& shape, const Starts& starts) {
  Tree<Cell> whole = blocks;
  whole.array.shape = shape;
  const List strides = interpreter::strides_of(blocks.array.shape.sizes);
  std::vector<Cell> cells;
  interpreter::for_each_index(shape.sizes, [&](List index) {
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = block_of(starts[i], index[i]);
    cells.push_back(blocks.array.at(interpreter::offset_of(index, strides)));
  });
  whole.array.cells = std::make_shared<const std::vector<Cell>>(std::move(cells));
  return whole;
}

template <typename A>
using Values = std::vector<typename Run<A>::PerDevice>;

template <typename A>
typename Run<A>::PerDevice result_of(const Module& module, const Devices& devices,
                                     const Values<A>& inputs) {
  A arithmetic;
  const Limits limits;
  interpreter::Work work(limits, kWorkLimit);
  return Run<A>(module, 1, devices, arithmetic, work).run(inputs);
}

/// Inputs of a module, one for each device.
template <typename A>
Values<A> random_inputs(const Module& module, const Devices& devices, std::mt19937& random) {
  Values<A> all;
  const Computation& entry = module.entry_computation();
  for (const std::uint32_t parameter : entry.parameters) {
    const ArrayShape& shape = entry.instructions[parameter].shape.array;
    auto& values = all.emplace_back(devices.count());
    for (auto& value : values) {
      Tree<typename A::Cell> tree;
      tree.array.shape = shape;
      std::vector<typename A::Cell> cells;
      for (std::int64_t k = 0; k < shape.elements(); ++k) {
        const auto number = static_cast<std::int64_t>(random() % 7);
        cells.push_back(shape.type.is_float()
                            ? Scalar{static_cast<double>(random() % 4096) / 1024.0 - 2, 0}
                            : Scalar{0, shape.type.bits() <= 8 ? number % 2 : number - 1});
      }
      tree.array.cells = std::make_shared<const std::vector<typename A::Cell>>(std::move(cells));
      value = std::make_shared<const Tree<typename A::Cell>>(std::move(tree));
    }
  }
  return all;
}

bool is_close(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::fabs(a - b) <= 1e-9 * std::max({std::fabs(a), std::fabs(b), 1.0});
}

/// Whether a number is what is known of it. Infinities and NaN are arbitrary in ranges.
bool is_in(const Scalar& number, const Range& range, ElementType type) {
  if (number.arbitrary || range.low.arbitrary || range.high.arbitrary) return true;
  if (range.is_point) {
    return is_close(number.real, range.low.real) && number.integer == range.low.integer;
  }
  if (!type.is_float()) {
    return number.integer >= range.low.integer && number.integer <= range.high.integer;
  }
  const double margin = 1e-9 * std::max(std::fabs(number.real), 1.0);
  return number.real >= range.low.real - margin && number.real <= range.high.real + margin;
}

struct Agreement {
  bool agrees = true;
  std::size_t elements = 0;  ///< of outputs, and how many of them are known as numbers
  std::size_t known = 0;
};

/// Executes a module on inputs that are constant on blocks, and on the blocks.
Agreement agreement(const Module& module, const Module& on_blocks, const BlockModules::Starts& in,
                    const BlockModules::Starts& out, const Devices& devices, std::uint32_t seed) {
  std::mt19937 random(seed);
  const Values<Ranges> blocks = random_inputs<Ranges>(on_blocks, devices, random);
  const Computation& entry = module.entry_computation();
  Values<Numbers> inputs;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    auto& values = inputs.emplace_back();
    for (const auto& value : blocks[k]) {
      Tree<Scalar> numbers;
      numbers.array.shape = value->array.shape;
      std::vector<Scalar> cells;
      for (const Range& each : *value->array.cells) cells.push_back(each.low);
      numbers.array.cells = std::make_shared<const std::vector<Scalar>>(std::move(cells));
      values.push_back(std::make_shared<const Tree<Scalar>>(
          spread(numbers, entry.instructions[entry.parameters[k]].shape.array, in[k])));
    }
  }
  const auto expected = result_of<Numbers>(module, devices, inputs);
  const auto found = result_of<Ranges>(on_blocks, devices, blocks);
  Agreement result;
  for (std::uint32_t device = 0; device < devices.count(); ++device) {
    const Tree<Scalar>& a = *expected[device];
    const Tree<Range>& b = *found[device];
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto& numbers = (a.is_tuple ? a.parts[k] : a).array;
      const Tree<Range> ranges = spread(b.is_tuple ? b.parts[k] : b, numbers.shape, out[k]);
      if (numbers.unknown || ranges.array.unknown) continue;
      for (std::size_t i = 0; i < numbers.cells->size(); ++i) {
        const Range& range = (*ranges.array.cells)[i];
        const bool agrees = is_in((*numbers.cells)[i], range, numbers.shape.type);
        result.agrees = result.agrees && agrees;
        ++result.elements;
        result.known += range.is_point && !range.low.arbitrary;
      }
    }
  }
  return result;
}

std::optional<BlockModules> cut(const Module& before, const Module& after, const Devices& devices,
                                const ModuleRelation& relation, const BlockCuts& cuts) {
  return block_modules_cut(before, after, devices, relation, cuts, kMost, Limits{});
}

/// The text of a program with all sizes of arrays times `factor`.
std::string enlarged(const std::string& text, std::int64_t factor) {
  static const std::regex numbers(
      R"((\[|dynamic_slice_sizes=\{|u32\[\] constant\()(\d+)(,\d+)?(\]|\}|\)))");
  std::string result;
  auto last = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), numbers), end; at != end; ++at) {
    const std::smatch& match = *at;
    result.append(last, match[0].first);
    result += match[1].str() + std::to_string(std::stoll(match[2]) * factor);
    if (match[3].matched) {
      result += "," + std::to_string(std::stoll(match[3].str().substr(1)) * factor);
    }
    result += match[4];
    last = match[0].second;
  }
  result.append(last, text.cend());
  return result;
}

struct RelatedModules {
  std::shared_ptr<const Module> before;
  std::shared_ptr<const Module> after;
  Devices devices;
  ModuleRelation relation;
};

RelatedModules enlarged_program(const RandomProgram& program, int devices, std::int64_t factor) {
  RelatedModules all{module_of(enlarged(program.before(), factor)),
                     module_of(enlarged(program.after(), factor)),
                     {1, devices},
                     {}};
  all.relation =
      read_relation("relation", program.relation_text(), *all.before, *all.after, all.devices);
  return all;
}

TEST_CASE("modules on blocks compute what partitioned programs do") {
  std::size_t tried = 0;
  std::size_t elements = 0;
  for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
    const int devices = seed % 2 == 0 ? 2 : 4;
    const RandomProgram program(seed, devices, 10);
    const RelatedModules all = enlarged_program(program, devices, 6);
    const BlockCuts cuts{seed % 3 == 0 ? List{} : seed % 3 == 1 ? List{1} : List{1, 3}};
    const auto blocks = cut(*all.before, *all.after, all.devices, all.relation, cuts);
    CAPTURE(seed);
    if (!blocks) continue;
    const Agreement before = agreement(*all.before, *blocks->before, blocks->inputs_before,
                                       blocks->outputs_before, all.devices, seed);
    const Agreement after = agreement(*all.after, *blocks->after, blocks->inputs_after,
                                      blocks->outputs_after, all.devices, seed);
    CHECK(before.agrees);
    CHECK(after.agrees);
    CHECK(before.known == before.elements);
    elements += before.elements + after.elements;
    ++tried;
  }
  CHECK(tried >= 990);
  CHECK(elements > 1'000'000);
}

TEST_CASE("modules on blocks compute what programs of all operations do") {
  std::size_t tried = 0;
  std::size_t smaller = 0;
  std::size_t known = 0;
  for (std::uint32_t seed = 1; seed <= 1500; ++seed) {
    const RandomPair program(seed, 10);
    const auto before = module_of(program.before());
    const auto after = module_of(program.after());
    const Devices devices{1, 2};
    const BlockCuts cuts{seed % 2 == 0 ? List{} : List{1}, seed % 4 >= 2};
    const auto blocks = cut(*before, *after, devices, {}, cuts);
    CAPTURE(seed);
    if (!blocks) continue;
    ++tried;
    if (!blocks->words.empty()) ++smaller;
    try {
      const Agreement first = agreement(*before, *blocks->before, blocks->inputs_before,
                                        blocks->outputs_before, devices, seed);
      const Agreement second = agreement(*after, *blocks->after, blocks->inputs_after,
                                         blocks->outputs_after, devices, seed);
      CHECK(first.agrees);
      CHECK(second.agrees);
      known += first.known > 0;
    } catch (const LimitReached&) {  // an index of a block whose numbers differ
      CHECK(cuts.has_ranges);
    } catch (const interpreter::NotUnderstood&) {
    }
  }
  CHECK(tried >= 1400);
  CHECK(smaller >= 300);
  CHECK(known >= 1000);
}

TEST_CASE("programs that are equal are not refuted on blocks, those that differ are") {
  std::size_t equal = 0;
  std::size_t wrong = 0;
  std::size_t refuted = 0;
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    const int devices = seed % 2 == 0 ? 2 : 4;
    const RandomProgram program(seed, devices, seed % 3 == 0 ? 0 : 40);
    const RelatedModules all = enlarged_program(program, devices, 2);
    const ModuleDecision truth =
        compare_by_execution(*all.before, *all.after, all.devices, all.relation, 1, kWorkLimit, {});
    const ModuleDecision found =
        refute_on_blocks(*all.before, *all.after, all.devices, all.relation, {});
    CAPTURE(seed);
    CHECK(found.outcome != Outcome::Established);
    if (truth.outcome == Outcome::Established) {
      CHECK(found.outcome == Outcome::Undecided);
      ++equal;
    }
    if (truth.outcome != Outcome::Refuted) continue;
    ++wrong;
    refuted += found.outcome == Outcome::Refuted;
  }
  MESSAGE(refuted << " of " << wrong << " refuted, " << equal << " equal");
  CHECK(equal > 500);
  CHECK(wrong > 200);
  CHECK(refuted * 100 >= wrong * 95);
}

}  // namespace
}  // namespace p2::hlo
