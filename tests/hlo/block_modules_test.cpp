// Inputs that are constant on blocks: modules on one element of each block compute what the modules
// compute, and what differs on blocks differs.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <variant>
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

namespace p2::hlo::on_blocks {
namespace {

using interpreter::NumberRange;
using interpreter::Numbers;
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
    for (std::size_t i = 0; i < index.size(); ++i) {
      index[i] = block_of(starts[i], index[i] % starts[i].back());  // repeated, if that is less
    }
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
bool is_in(const Scalar& number, const NumberRange& range, ElementType type) {
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

/// A number of an input of floating-point type, by input and element, for the one that was drawn.
using ChangedNumber = std::function<double(std::size_t, std::int64_t, double)>;

/// Executes a module on inputs that are constant on blocks, and on the blocks.
Agreement agreement(const Module& module, const Module& on_blocks, const BlockModules::Starts& in,
                    const BlockModules::Starts& out, const Devices& devices, std::uint32_t seed,
                    const ChangedNumber& changed = {}) {
  std::mt19937 random(seed);
  Values<Ranges> blocks = random_inputs<Ranges>(on_blocks, devices, random);
  for (std::size_t k = 0; k < blocks.size() && changed; ++k) {
    for (auto& value : blocks[k]) {
      Tree<NumberRange> tree = *value;
      std::vector<NumberRange> cells = *tree.array.cells;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        cells[i] = Scalar{changed(k, static_cast<std::int64_t>(i), cells[i].low.real)};
      }
      tree.array.cells = std::make_shared<const std::vector<NumberRange>>(std::move(cells));
      value = std::make_shared<const Tree<NumberRange>>(std::move(tree));
    }
  }
  const Computation& entry = module.entry_computation();
  Values<Numbers> inputs;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    auto& values = inputs.emplace_back();
    for (const auto& value : blocks[k]) {
      Tree<Scalar> numbers;
      numbers.array.shape = value->array.shape;
      std::vector<Scalar> cells;
      for (const NumberRange& each : *value->array.cells) cells.push_back(each.low);
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
    const Tree<NumberRange>& b = *found[device];
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto& numbers = (a.is_tuple ? a.parts[k] : a).array;
      const Tree<NumberRange> ranges = spread(b.is_tuple ? b.parts[k] : b, numbers.shape, out[k]);
      if (numbers.unknown || ranges.array.unknown) continue;
      for (std::size_t i = 0; i < numbers.cells->size(); ++i) {
        const NumberRange& range = (*ranges.array.cells)[i];
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

struct Case {
  const char* name;
  const char* entry;
  const char* blocks;  ///< of the inputs, as in BlockModules::words
};

// Where an operation needs no cut, there is none.
const Case kCases[] = {
    {"elementwise", "x = f32[12] parameter(0)\n ROOT y = f32[12] exponential(x)\n", "12 in 1"},
    {"a slice", "x = f32[12] parameter(0)\n ROOT y = f32[5] slice(x), slice={[3:8]}\n", "12 in 3"},
    {"a slice with gaps", "x = f32[12] parameter(0)\n ROOT y = f32[4] slice(x), slice={[3:11:2]}\n",
     ""},
    {"a concatenation",
     "x = f32[5] parameter(0)\n z = f32[7] parameter(1)\n ROOT y = f32[12] concatenate(x, z), "
     "dimensions={0}\n",
     "7 in 1, 5 in 1"},
    {"a slice across a concatenation",
     "x = f32[5] parameter(0)\n z = f32[7] parameter(1)\n c = f32[12] concatenate(x, z), "
     "dimensions={0}\n ROOT y = f32[5] slice(c), slice={[4:9]}\n",
     "7 in 2, 5 in 2"},
    {"a sum of shifted slices",
     "x = f32[6] parameter(0)\n a = f32[5] slice(x), slice={[0:5]}\n b = f32[5] slice(x), "
     "slice={[1:6]}\n ROOT y = f32[5] add(a, b)\n",
     ""},
    {"a slice of a reversed array",
     "x = f32[12] parameter(0)\n r = f32[12] reverse(x), dimensions={0}\n ROOT y = f32[5] "
     "slice(r), "
     "slice={[0:5]}\n",
     "12 in 2"},
    {"a slice of a padded array",
     "x = f32[7] parameter(0)\n v = f32[] parameter(1)\n p = f32[12] pad(x, v), padding=2_3\n ROOT "
     "y = f32[8] slice(p), slice={[4:12]}\n",
     "7 in 2"},
    {"negative padding",
     "x = f32[7] parameter(0)\n v = f32[] parameter(1)\n ROOT p = f32[8] pad(x, v), padding=-2_3\n",
     "7 in 2"},
    {"interior padding",
     "x = f32[4] parameter(0)\n v = f32[] parameter(1)\n ROOT p = f32[7] pad(x, v), "
     "padding=0_0_1\n",
     ""},
    {"a reshape cut between rows",
     "x = f32[6,4] parameter(0)\n r = f32[24] reshape(x)\n ROOT y = f32[12] slice(r), "
     "slice={[0:12]}\n",
     "6 in 2, 4 in 1"},
    {"a reshape cut within a row",
     "x = f32[6,4] parameter(0)\n r = f32[24] reshape(x)\n ROOT y = f32[10] slice(r), "
     "slice={[0:10]}\n",
     "4 in 2"},
    {"a reshape to other rows",
     "x = f32[6,4] parameter(0)\n r = f32[3,8] reshape(x)\n ROOT y = f32[3,4] slice(r), "
     "slice={[0:3], [0:4]}\n",
     "4 in 1"},
    {"a dot",
     "x = f32[3,12] parameter(0)\n z = f32[12,5] parameter(1)\n ROOT y = f32[3,5] dot(x, z), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     "12 in 1, 5 in 1, 3 in 1"},
    {"a dot over two dimensions, one of them cut",
     "x = f32[3,12,4] parameter(0)\n z = f32[4,12] parameter(1)\n s = f32[4,7] slice(z), "
     "slice={[0:4], [5:12]}\n d = f32[3] dot(x, z), lhs_contracting_dims={2,1}, "
     "rhs_contracting_dims={0,1}\n ROOT y = (f32[3], f32[4,7]) tuple(d, s)\n",
     "12 in 2, 4 in 1, 3 in 1"},
    {"a dot of integers that wrap around",
     "x = s8[12] parameter(0)\n z = s8[12] parameter(1)\n ROOT y = s8[] dot(x, z), "
     "lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
     "12 in 1"},
    {"a sum",
     "x = f32[4,12] parameter(0)\n v = f32[] parameter(1)\n ROOT y = f32[4] reduce(x, v), "
     "dimensions={1}, to_apply=add\n",
     "12 in 1, 4 in 1"},
    {"a sum over two dimensions, both cut",
     "x = f32[4,12] parameter(0)\n v = f32[] parameter(1)\n s = f32[3,5] slice(x), slice={[0:3], "
     "[2:7]}\n r = f32[] reduce(x, v), dimensions={0,1}, to_apply=add\n ROOT y = (f32[], f32[3,5]) "
     "tuple(r, s)\n",
     "12 in 3, 4 in 2"},
    {"a maximum",
     "x = f32[4,12] parameter(0)\n v = f32[] parameter(1)\n ROOT y = f32[4] reduce(x, v), "
     "dimensions={1}, to_apply=maximum\n",
     "12 in 1, 4 in 1"},
    {"a product",
     "x = f32[4,12] parameter(0)\n v = f32[] parameter(1)\n ROOT y = f32[4] reduce(x, v), "
     "dimensions={1}, to_apply=multiply\n",
     "4 in 1"},
    {"an iota",
     "x = f32[7] parameter(0)\n i = f32[7] iota(), iota_dimension=0\n ROOT y = f32[7] add(x, i)\n",
     ""},
    {"a constant",
     "x = f32[5] parameter(0)\n c = f32[5] constant({1,1,2,2,2})\n ROOT y = f32[5] add(x, c)\n",
     "5 in 2"},
    {"an all-gather",
     "x = f32[6] parameter(0)\n g = f32[12] all-gather(x), channel_id=1, replica_groups={{0,1}}, "
     "use_global_device_ids=true, dimensions={0}\n ROOT y = f32[4] slice(g), slice={[0:4]}\n",
     "6 in 2"},
    {"a reduce-scatter",
     "x = f32[12] parameter(0)\n g = f32[6] reduce-scatter(x), channel_id=1, "
     "replica_groups={{0,1}}, use_global_device_ids=true, dimensions={0}, to_apply=add\n ROOT y = "
     "f32[2] slice(g), slice={[0:2]}\n",
     "12 in 4"},
    {"an all-to-all along one dimension",
     "x = f32[12] parameter(0)\n g = f32[12] all-to-all(x), channel_id=1, replica_groups={{0,1}}, "
     "dimensions={0}\n ROOT y = f32[2] slice(g), slice={[0:2]}\n",
     "12 in 4"},
    {"a dynamic slice by the device",
     "x = f32[12] parameter(0)\n i = u32[] partition-id()\n n = u32[] constant(5)\n s = u32[] "
     "multiply(i, n)\n ROOT y = f32[3] dynamic-slice(x, s), dynamic_slice_sizes={3}\n",
     "12 in 4"},
    {"a dynamic slice by the device, moved to where it fits",
     "x = f32[12] parameter(0)\n i = u32[] partition-id()\n n = u32[] constant(50)\n s = u32[] "
     "multiply(i, n)\n ROOT y = f32[3] dynamic-slice(x, s), dynamic_slice_sizes={3}\n",
     "12 in 3"},
    {"a dynamic slice by an input",
     "x = f32[12] parameter(0)\n s = s32[] parameter(1)\n ROOT y = f32[3] dynamic-slice(x, s), "
     "dynamic_slice_sizes={3}\n",
     ""},
    {"an update at a constant place",
     "x = f32[12] parameter(0)\n u = f32[4] parameter(1)\n s = s32[] constant(3)\n ROOT y = "
     "f32[12] "
     "dynamic-update-slice(x, u, s)\n",
     "12 in 3, 4 in 1"},
    {"a custom call",
     "x = f32[12] parameter(0)\n ROOT y = f32[12] custom-call(x), custom_call_target=\"f\"\n", ""},
    {"a cumulative sum",
     "x = f32[8,3] parameter(0)\n v = f32[] constant(0)\n ROOT y = f32[8,3] reduce-window(x, v), "
     "window={size=8x1 pad=7_0x0_0}, to_apply=add\n",
     "3 in 1"},
};

TEST_CASE("every operation is cut where it needs to be, and computes the same") {
  const Devices devices{1, 2};
  for (const Case& each : kCases) {
    CAPTURE(each.name);
    const auto module = module_of(text_with("", each.entry));
    const auto blocks = cut(*module, *module, devices, {}, {});
    REQUIRE(blocks);
    CHECK(blocks->words == each.blocks);
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      const Agreement found = agreement(*module, *blocks->before, blocks->inputs_before,
                                        blocks->outputs_before, devices, seed);
      CHECK(found.agrees);
      CHECK(found.known == found.elements);
    }
  }
}

TEST_CASE("of an iota that is not cut everywhere ranges are known") {
  const Devices devices{1, 2};
  const auto module = module_of(text_with("", R"(
  x = f32[20,20] parameter(0)
  v = f32[20] parameter(1)
  rows = s32[20,20] iota(), iota_dimension=0
  columns = s32[20,20] iota(), iota_dimension=1
  mask = pred[20,20] compare(rows, columns), direction=GE
  none = f32[] constant(0)
  zeros = f32[20,20] broadcast(none), dimensions={}
  masked = f32[20,20] select(mask, x, zeros)
  sum = f32[20] reduce(masked, none), dimensions={1}, to_apply=add
  total = f32[] dot(sum, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  nothing = f32[20] broadcast(none), dimensions={}
  zero = f32[] dot(sum, nothing), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  ROOT all = (f32[20], f32[], f32[]) tuple(sum, total, zero)
)"));
  const auto blocks = cut(*module, *module, devices, {}, {{}, true});
  REQUIRE(blocks);
  CHECK(blocks->words == "20 in 5");
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const Agreement found = agreement(*module, *blocks->before, blocks->inputs_before,
                                      blocks->outputs_before, devices, seed);
    CHECK(found.agrees);
    CHECK(found.known == 2 * (4 + 1));  // the first rows of `sum`, and `zero`
  }
}

/// A pipeline of two stages, each data parallel over 16 ranks, of which every one has two rows in
/// two microbatches, on blocks and on one device of each class: what execution says, and the number
/// of classes. `reduced`: what the ranks do with their sums; `pairs`: what rank k sends to.
std::string verdict_on_classes(const std::string& reduced, int shift = 0,
                               Repetition repetition = Repetition::Parts) {
  const auto text = [](const std::string& entry) {
    return "HloModule stage, num_partitions=16, is_scheduled=true\n"
           "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, "
           "b)\n}\n"
           "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, "
           "b)\n}\nENTRY main {\n  token = token[] after-all()\n" +
           entry + "}\n";
  };
  const auto message = [&](int channel) {
    std::string pairs;
    for (int k = 0; k < 16; ++k) {
      pairs += fmt::format("{}{{{},{}}}", k == 0 ? "" : ",", k, 16 + (k + shift) % 16);
    }
    return fmt::format(
        "channel_id={}, frontend_attributes={{_xla_send_recv_source_target_pairs={{{}}}}}", channel,
        pairs);
  };
  std::string first = "  x = f32[2,4] parameter(0)\n  w = f32[4,6] parameter(1)\n";
  std::string second = "  v = f32[6] parameter(0)\n  zero = f32[] constant(0)\n";
  for (int k = 0; k < 2; ++k) {
    first += fmt::format(
        "  x{0} = f32[1,4] slice(x), slice={{[{0}:{1}], [0:4]}}\n  y{0} = f32[1,6] dot(x{0}, w), "
        "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  s{0} = (f32[1,6], u32[], "
        "token[]) "
        "send(y{0}, token), {2}\n  t{0} = token[] send-done(s{0}), channel_id={1}\n",
        k, k + 1, message(k + 1));
    second += fmt::format(
        "  r{0} = (f32[1,6], u32[], token[]) recv(token), {2}\n  d{0} = (f32[1,6], token[]) "
        "recv-done(r{0}), channel_id={1}\n  y{0} = f32[1,6] get-tuple-element(d{0}), index=0\n  "
        "e{0} = "
        "f32[1,6] exponential(y{0})\n  p{0} = f32[6] reduce(e{0}, zero), dimensions={{0}}, "
        "to_apply=add\n",
        k, k + 1, message(k + 1));
  }
  first += "  ROOT done = f32[4,6] copy(w)\n";
  second += "  part = f32[6] add(p0, p1)\n" + reduced + "  ROOT out = f32[6] multiply(all, v)\n";
  const std::string relation =
      "{\"format\":\"p2-relation/1\",\"devices\":32,\"mesh\":{\"stage\":2,\"d\":16},"
      "\"modules\":{\"0-15\":\"0.hlo\",\"16-31\":\"1.hlo\"},\"inputs\":{"
      "\"0\":{\"after\":{\"0-15\":0},\"relation\":{\"dims\":[[\"d\"],[]]}},"
      "\"1\":{\"after\":{\"0-15\":1},\"relation\":\"replicated\"},"
      "\"2\":{\"after\":{\"16-31\":0},\"relation\":\"replicated\"}},\"outputs\":{"
      "\"0\":{\"after\":{\"0-15\":0},\"relation\":\"replicated\"},"
      "\"1\":{\"after\":{\"16-31\":0},\"relation\":\"replicated\"}}}";
  const Devices devices{1, 32};
  const auto range = [](std::uint32_t begin) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t k = 0; k < 16; ++k) all.push_back(begin + k);
    return all;
  };
  const auto programs =
      linked({{range(0), module_of(text(first))}, {range(16), module_of(text(second))}}, {1, 32});
  const auto after = std::get<std::shared_ptr<const Module>>(programs);
  const auto before = module_of(
      "HloModule single\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = "
      "f32[] "
      "add(a, b)\n}\nENTRY main {\n  x = f32[32,4] parameter(0)\n  w = f32[4,6] parameter(1)\n  v "
      "= "
      "f32[6] parameter(2)\n  y = f32[32,6] dot(x, w), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}\n  e = f32[32,6] exponential(y)\n  zero = f32[] constant(0)\n  all "
      "= "
      "f32[6] reduce(e, zero), dimensions={0}, to_apply=add\n  out = f32[6] multiply(all, v)\n  "
      "ROOT t "
      "= (f32[4,6], f32[6]) tuple(w, out)\n}\n");
  const ModuleRelation by = read_relation("relation.json", relation, *before, *after, devices);
  const auto blocks = cut(*before, *after, devices, by, {{1}, false, repetition});
  REQUIRE(blocks);
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const Agreement found = agreement(*before, *blocks->before, blocks->inputs_before,
                                      blocks->outputs_before, {1, 1}, seed);
    CHECK(found.agrees);
    CHECK(found.known == found.elements);
  }
  const ModuleDecision decision = compare_by_execution(
      *blocks->before, *blocks->after, blocks->devices, blocks->relation, 1, kWorkLimit, {});
  return fmt::format("{} on {}", summary(decision), blocks->first_devices.size());
}

TEST_CASE("of data-parallel ranks that have equal rows one is executed") {
  const std::string groups =
      ", channel_id=7, replica_groups={{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}}, "
      "use_global_device_ids=true";
  CHECK(verdict_on_classes("  all = f32[6] all-reduce(part)" + groups + ", to_apply=add\n") ==
        "valid on 4");
  CHECK(verdict_on_classes("  all = f32[6] all-reduce(part)" + groups + ", to_apply=max\n") ==
        "invalid value on 4");
  CHECK(verdict_on_classes("  all = f32[6] copy(part)\n") == "invalid value on 4");
  // Over half of the ranks.
  CHECK(verdict_on_classes("  all = f32[6] all-reduce(part), channel_id=7, "
                           "replica_groups={{0,1,2,3,4,5,6,7},{8,9,10,11,12,13,14,15}}, "
                           "use_global_device_ids=true, to_apply=add\n") == "invalid value on 4");
  // Messages to the next rank go to one of another class: the sum is the same.
  CHECK(verdict_on_classes("  all = f32[6] all-reduce(part)" + groups + ", to_apply=add\n", 1) ==
        "valid on 4");
  // Groups that classes do not share are executed on all devices.
  CHECK(verdict_on_classes("  all = f32[6] all-reduce(part), channel_id=7, "
                           "replica_groups={{0,1,2,3,4,5,6,8},{7,9,10,11,12,13,14,15}}, "
                           "use_global_device_ids=true, to_apply=add\n") == "invalid value on 0");
  CHECK(verdict_on_classes("  gathered = f32[96] all-gather(part)" + groups +
                           ", dimensions={0}\n  rows = f32[16,6] reshape(gathered)\n  all = f32[6] "
                           "reduce(rows, zero), dimensions={0}, to_apply=add\n") == "valid on 0");
}

TEST_CASE("of microbatches with equal rows one is executed") {
  const std::string groups =
      ", channel_id=7, replica_groups={{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}}, "
      "use_global_device_ids=true";
  const std::string added = "  all = f32[6] all-reduce(part)" + groups + ", to_apply=add\n";
  for (const Repetition each : {Repetition::TwoRows, Repetition::OneRow}) {
    CHECK(verdict_on_classes(added, 0, each) == "valid on 2");
    CHECK(verdict_on_classes(added, 1, each) == "valid on 2");
    CHECK(verdict_on_classes("  all = f32[6] copy(part)\n", 0, each) == "invalid value on 2");
    // A microbatch is lost, or taken twice.
    CHECK(verdict_on_classes("  all = f32[6] all-reduce(p0)" + groups + ", to_apply=add\n", 0,
                             each) == "invalid value on 2");
    CHECK(verdict_on_classes("  twice = f32[6] add(part, p0)\n  all = f32[6] all-reduce(twice)" +
                                 groups + ", to_apply=add\n",
                             0, each) == "invalid value on 2");
  }
  // The first one twice instead of the second one: seen where they differ.
  const std::string first = "  twice = f32[6] add(p0, p0)\n  all = f32[6] all-reduce(twice)" +
                            groups + ", to_apply=add\n";
  CHECK(verdict_on_classes(first, 0, Repetition::TwoRows) == "invalid value on 2");
  CHECK(verdict_on_classes(first, 0, Repetition::OneRow) == "valid on 2");
}

TEST_CASE("an attention with a causal mask is known where later tokens have small keys") {
  const Devices devices{1, 1};
  constexpr int kTokens = 40;
  const auto module = module_of(
      text_with("", attention(kTokens, "GE", scores_of(kTokens), normalized_first(kTokens))));
  const auto blocks = cut(*module, *module, devices, {}, {{}, true});
  REQUIRE(blocks);
  std::size_t known = 0;
  std::size_t elements = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    // The larger the scores, the less later tokens have of a sum: from much to nothing.
    const double size = std::exp2(static_cast<double>(seed % 8) - 6);
    const Agreement found =
        agreement(*module, *blocks->before, blocks->inputs_before, blocks->outputs_before, devices,
                  seed, [&](std::size_t input, std::int64_t element, double number) {
                    const bool is_late = input == 3 && element >= 4;
                    return (std::fabs(number) + 0.5) * (is_late ? 0.0625 : input == 0 ? 1 : size);
                  });
    CAPTURE(seed);
    CHECK(found.agrees);
    known += found.known;
    elements += found.elements;
  }
  CHECK(known * 10 >= elements * 2);
  CHECK(known < elements);
}

TEST_CASE("modules on blocks compute what partitioned programs do") {
  std::size_t tried = 0;
  std::size_t known = 0;
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
    // What overflows, and what is rounding alone, is not.
    if (before.known * 100 >= before.elements * 95) ++known;
    elements += before.elements + after.elements;
    ++tried;
  }
  CHECK(tried >= 990);
  CHECK(known >= 980);
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
    } catch (const LimitReached&) {  // an index of a block whose numbers differ, or rounding's
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
}  // namespace p2::hlo::on_blocks
