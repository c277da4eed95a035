// Dimensions along which modules do the same at every index: which operations pass them on, that a
// reduced module computes what the module does at an index, and that verdicts do not change.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/random_program.h"
#include "tests/hlo/random_rewrites.h"

namespace p2::hlo {
namespace {

using interpreter::Numbers;
using interpreter::Scalar;
using List = std::vector<std::int64_t>;
using Tree = interpreter::ArrayTree<Scalar>;

constexpr std::uint64_t kWorkLimit = 100'000'000;

/// The sizes that are reduced in a module that is compared with itself.
List sizes_reduced(const std::string& entry, const std::string& computations = "",
                   FloatEquality equality = FloatEquality::Real) {
  const auto module = module_of(text_with(computations, entry));
  const auto reduced = reduce_dimensions(*module, *module, {}, equality);
  return reduced ? reduced->sizes : List{};
}

/// An index of a dimension of a size, where it is reduced.
std::int64_t index_in(std::int64_t size, std::int64_t i) { return (i * 7 + size) % size; }

/// The part of a tensor at the chosen indices of the dimensions that are reduced.
Tree part_of(const Tree& whole, const Shape& reduced, std::int64_t i) {
  Tree part;
  part.is_tuple = whole.is_tuple;
  for (std::size_t k = 0; k < whole.parts.size(); ++k) {
    part.parts.push_back(part_of(whole.parts[k], reduced.parts[k], i));
  }
  if (whole.is_tuple) return part;
  part.array.shape = reduced.array;
  part.array.unknown = whole.array.unknown;
  const List& sizes = whole.array.shape.sizes;
  std::vector<Scalar> cells;
  interpreter::for_each_index(reduced.array.sizes, [&](List index) {
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] != reduced.array.sizes[d]) index[d] = index_in(sizes[d], i);
    }
    cells.push_back(whole.array.at(interpreter::offset_of(index, interpreter::strides_of(sizes))));
  });
  part.array.cells = std::make_shared<const std::vector<Scalar>>(std::move(cells));
  return part;
}

bool are_equal(const Tree& a, const Tree& b) {
  for (std::size_t k = 0; k < a.parts.size(); ++k) {
    if (!are_equal(a.parts[k], b.parts.at(k))) return false;
  }
  if (a.is_tuple || a.array.unknown || b.array.unknown) return true;
  const auto close = [](const Scalar& x, const Scalar& y) {
    const double size = std::max({std::abs(x.real), std::abs(y.real), 1.0});
    const bool same = std::abs(x.real - y.real) <= 1e-9 * size ||
                      (std::isnan(x.real) && std::isnan(y.real)) || x.real == y.real;
    return same && x.integer == y.integer;
  };
  return std::ranges::equal(*a.array.cells, *b.array.cells, close);
}

using Values = std::vector<interpreter::Interpreter<Numbers>::PerDevice>;

interpreter::Interpreter<Numbers>::PerDevice result_of(const Module& module, const Devices& devices,
                                                       const Values& inputs) {
  Numbers numbers;
  const Limits limits;
  interpreter::Work work(limits, kWorkLimit);
  return interpreter::Interpreter<Numbers>(module, 1, devices, numbers, work).run(inputs);
}

Values random_inputs(const Module& module, const Devices& devices, std::mt19937& random) {
  Values all;
  const Computation& entry = module.entry_computation();
  for (const std::uint32_t parameter : entry.parameters) {
    const ArrayShape& shape = entry.instructions[parameter].shape.array;
    auto& values = all.emplace_back(devices.count());
    for (auto& value : values) {
      Tree tree;
      tree.array.shape = shape;
      std::vector<Scalar> cells;
      for (std::int64_t k = 0; k < shape.elements(); ++k) {
        const auto number = static_cast<std::int64_t>(random() % 7);
        cells.push_back(shape.type.is_float()
                            ? Scalar{static_cast<double>(random() % 4096) / 64.0 - 32, 0}
                            : Scalar{0, shape.type.bits() <= 8 ? number % 2 : number - 1});
      }
      tree.array.cells = std::make_shared<const std::vector<Scalar>>(std::move(cells));
      value = std::make_shared<const Tree>(std::move(tree));
    }
  }
  return all;
}

/// Executes a module, and its reduced form on parts of the inputs: the results are the parts.
bool computes_parts(const Module& module, const Module& reduced, std::uint32_t seed) {
  const Devices devices{1, 2};
  std::mt19937 random(seed);
  const Values inputs = random_inputs(module, devices, random);
  const auto whole = result_of(module, devices, inputs);
  const Computation& entry = reduced.entry_computation();
  for (std::int64_t i = 0; i < 4; ++i) {
    Values parts;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      auto& values = parts.emplace_back();
      for (const auto& value : inputs[k]) {
        values.push_back(std::make_shared<const Tree>(
            part_of(*value, entry.instructions[entry.parameters[k]].shape, i)));
      }
    }
    const auto found = result_of(reduced, devices, parts);
    for (std::uint32_t device = 0; device < devices.count(); ++device) {
      if (!are_equal(part_of(*whole[device], entry.instructions[entry.root].shape, i),
                     *found[device])) {
        return false;
      }
    }
  }
  return true;
}

struct Case {
  const char* name;
  const char* entry;
  List sizes;  ///< that are reduced
};

// Every size occurs once in a module, but for those that have to be equal.
const Case kCases[] = {
    {"elementwise", "x = f32[5,7] parameter(0)\n ROOT y = f32[5,7] exponential(x)\n", {7, 5}},
    {"elementwise, two operands",
     "x = f32[5,7] parameter(0)\n z = f32[5,7] parameter(1)\n ROOT y = f32[5,7] add(x, z)\n",
     {7, 5}},
    {"elementwise, a scalar predicate",
     "p = pred[] parameter(0)\n x = f32[5] parameter(1)\n z = f32[5] parameter(2)\n ROOT y = "
     "f32[5] "
     "select(p, x, z)\n",
     {5}},
    {"elementwise, of complex numbers",
     "x = c64[5] parameter(0)\n ROOT y = c64[5] multiply(x, x)\n",
     {}},
    {"bits of another width",
     "x = f32[5,2] parameter(0)\n ROOT y = f64[5] bitcast-convert(x)\n",
     {}},
    {"bits of the same width",
     "x = f32[5] parameter(0)\n ROOT y = s32[5] bitcast-convert(x)\n",
     {5}},
    {"broadcast",
     "x = f32[5] parameter(0)\n ROOT y = f32[5,7] broadcast(x), dimensions={0}\n",
     {7, 5}},
    {"broadcast, and one dimension as two",
     "x = f32[5] parameter(0)\n a = f32[5,5] broadcast(x), dimensions={0}\n b = f32[5,5] "
     "broadcast(x), dimensions={1}\n ROOT y = f32[5,5] add(a, b)\n",
     {}},
    {"transpose",
     "x = f32[5,7] parameter(0)\n ROOT y = f32[7,5] transpose(x), dimensions={1,0}\n",
     {7, 5}},
    {"transpose of a square, added to itself",
     "x = f32[5,5] parameter(0)\n t = f32[5,5] transpose(x), dimensions={1,0}\n ROOT y = f32[5,5] "
     "add(x, t)\n",
     {}},
    {"iota along another dimension",
     "x = f32[5,7] parameter(0)\n i = f32[5,7] iota(), iota_dimension=1\n ROOT y = f32[5,7] "
     "multiply(x, i)\n",
     {5}},
    {"iota",
     "x = f32[5] parameter(0)\n i = f32[5] iota(), iota_dimension=0\n ROOT y = f32[5] add(x, i)\n",
     {}},
    {"a constant that is the same everywhere",
     "x = f32[2,3] parameter(0)\n c = f32[2,3] constant({{1,1,1},{1,1,1}})\n ROOT y = f32[2,3] "
     "add(x, c)\n",
     {3, 2}},
    {"a constant that is the same along one dimension",
     "x = f32[2,3] parameter(0)\n c = f32[2,3] constant({{1,2,3},{1,2,3}})\n ROOT y = f32[2,3] "
     "add(x, c)\n",
     {2}},
    {"a constant that is the same along the other one",
     "x = f32[2,3] parameter(0)\n c = f32[2,3] constant({{1,1,1},{2,2,2}})\n ROOT y = f32[2,3] "
     "add(x, c)\n",
     {3}},
    {"a constant that differs in its last element",
     "x = f32[2,3] parameter(0)\n c = f32[2,3] constant({{1,1,1},{1,1,2}})\n ROOT y = f32[2,3] "
     "add(x, c)\n",
     {}},
    {"a constant without elements in the text",
     "x = f32[5] parameter(0)\n c = f32[5] constant({...})\n ROOT y = f32[5] add(x, c)\n",
     {}},
    {"slice",
     "x = f32[5,7] parameter(0)\n ROOT y = f32[5,6] slice(x), slice={[0:5], [1:7]}\n",
     {5}},
    {"slice of every second",
     "x = f32[2,7] parameter(0)\n a = f32[2,4] slice(x), slice={[0:2], [0:7:2]}\n ROOT y = "
     "f32[2,4] "
     "negate(a)\n",
     {2}},
    {"pad",
     "x = f32[5,7] parameter(0)\n c = f32[] constant(0)\n ROOT y = f32[5,8] pad(x, c), "
     "padding=0_0x1_0\n",
     {5}},
    {"pad that shifts",
     "x = f32[5,7] parameter(0)\n c = f32[] constant(0)\n ROOT y = f32[5,7] pad(x, c), "
     "padding=1_-1x0_0\n",
     {7}},
    {"reverse", "x = f32[5,7] parameter(0)\n ROOT y = f32[5,7] reverse(x), dimensions={0}\n", {7}},
    {"concatenate",
     "x = f32[5,7] parameter(0)\n z = f32[5,2] parameter(1)\n ROOT y = f32[5,9] concatenate(x, z), "
     "dimensions={1}\n",
     {5}},
    {"concatenate of equal parts",
     "x = f32[5,7] parameter(0)\n y = f32[10,7] concatenate(x, x), dimensions={0}\n ROOT z = "
     "f32[10,7] negate(y)\n",
     {7}},
    {"reshape that splits another dimension",
     "x = f32[5,6] parameter(0)\n ROOT y = f32[5,2,3] reshape(x)\n",
     {5}},
    {"reshape that joins the last ones",
     "x = f32[5,2,3] parameter(0)\n ROOT y = f32[5,6] reshape(x)\n",
     {5}},
    {"reshape that joins the first ones",
     "x = f32[2,3,5] parameter(0)\n ROOT y = f32[6,5] reshape(x)\n",
     {5}},
    {"reshape with dimensions of size 1",
     "x = f32[5,1,7] parameter(0)\n ROOT y = f32[1,5,7,1] reshape(x)\n",
     {7, 5}},
    {"reshape that mixes", "x = f32[2,3] parameter(0)\n ROOT y = f32[3,2] reshape(x)\n", {}},
    {"reshape with a size at another place",
     "x = f32[5,2,2] parameter(0)\n ROOT y = f32[2,5,2] reshape(x)\n",
     {2}},
    {"bitcast in the order of memory",
     "x = f32[5,6]{0,1} parameter(0)\n ROOT y = f32[2,3,5]{2,1,0} bitcast(x)\n",
     {5}},
    {"bitcast of another order of memory",
     "x = f32[5,7]{0,1} parameter(0)\n ROOT y = f32[7,5]{1,0} bitcast(x)\n",
     {7, 5}},
    {"bitcast that looks at memory",
     "x = f32[5,7]{0,1} parameter(0)\n ROOT y = f32[5,7]{1,0} bitcast(x)\n",
     {}},
    {"bitcast to another type", "x = f32[5] parameter(0)\n ROOT y = s32[5] bitcast(x)\n", {}},
    {"dot",
     "x = f32[2,5,6] parameter(0)\n w = f32[2,6,7] parameter(1)\n ROOT y = f32[2,5,7] dot(x, w), "
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
     {7, 5, 2}},
    {"dot of a matrix with itself",
     "x = f32[5,5] parameter(0)\n ROOT y = f32[5,5] dot(x, x), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}\n",
     {}},
    {"dot of rows with rows",
     "x = f32[5,7] parameter(0)\n ROOT y = f32[5,5] dot(x, x), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={1}\n",
     {}},
    {"convolution",
     "x = f32[5,9,2] parameter(0)\n w = f32[3,2,7] parameter(1)\n ROOT y = f32[5,11,7] "
     "convolution(x, w), window={size=3 pad=2_2}, dim_labels=b0f_0io->b0f\n",
     {7, 5}},
    {"convolution in groups of features",
     "x = f32[5,9,4] parameter(0)\n w = f32[3,2,6] parameter(1)\n ROOT y = f32[5,11,6] "
     "convolution(x, w), window={size=3 pad=2_2}, dim_labels=b0f_0io->b0f, "
     "feature_group_count=2\n",
     {5}},
    {"convolution in groups of the batch",
     "x = f32[10,9,4] parameter(0)\n w = f32[3,4,6] parameter(1)\n ROOT y = f32[5,11,6] "
     "convolution(x, w), window={size=3 pad=2_2}, dim_labels=b0f_0io->b0f, "
     "batch_group_count=2\n",
     {}},
    {"reduce",
     "x = f32[5,6,7] parameter(0)\n c = f32[] constant(0)\n ROOT y = f32[5,7] reduce(x, c), "
     "dimensions={1}, to_apply=add\n",
     {7, 5}},
    {"reduce of two tensors",
     "x = f32[5,7] parameter(0)\n z = f32[5,7] parameter(1)\n c = f32[] constant(0)\n ROOT y = "
     "(f32[5], f32[5]) reduce(x, z, c, c), dimensions={1}, to_apply=first_of_two\n",
     {5}},
    {"reduce-window",
     "x = f32[5,7] parameter(0)\n c = f32[] constant(0)\n ROOT y = f32[5,6] reduce-window(x, c), "
     "window={size=1x2}, to_apply=add\n",
     {5}},
    {"reduce-window that shifts",
     "x = f32[5,7] parameter(0)\n c = f32[] constant(0)\n ROOT y = f32[5,7] reduce-window(x, c), "
     "window={size=1x1 pad=1_-1x0_0}, to_apply=add\n",
     {7}},
    {"reduce-window over all",
     "x = f32[5,7] parameter(0)\n c = f32[] constant(0)\n ROOT y = f32[5,7] reduce-window(x, c), "
     "window={size=5x1 pad=4_0x0_0}, to_apply=add\n",
     {7}},
    {"map",
     "x = f32[5,7] parameter(0)\n ROOT y = f32[5,7] map(x, x), dimensions={0,1}, to_apply=add\n",
     {7, 5}},
    {"sort",
     "x = f32[5,7] parameter(0)\n ROOT y = f32[5,7] sort(x), dimensions={1}, to_apply=less\n",
     {5}},
    {"top k",
     "x = f32[5,7] parameter(0)\n ROOT y = (f32[5,3], s32[5,3]) topk(x), k=3, largest=true\n",
     {5}},
    {"top k as a call",
     "x = f32[5,7] parameter(0)\n ROOT y = (f32[5,3], s32[5,3]) custom-call(x), "
     "custom_call_target=\"TopK\"\n",
     {5}},
    {"top k of all",
     "x = f32[5,7] parameter(0)\n ROOT y = (f32[5,7], s32[5,7]) topk(x), k=7, largest=true\n",
     {5}},
    {"gather of rows",
     "t = f32[9,7] parameter(0)\n i = s32[5] parameter(1)\n ROOT y = f32[5,7] gather(t, i), "
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,7}\n",
     {7, 5}},
    {"gather of parts of rows",
     "t = f32[9,7] parameter(0)\n i = s32[5] parameter(1)\n ROOT y = f32[5,6] gather(t, i), "
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,6}\n",
     {5}},
    {"gather with vectors of indices",
     "t = f32[9,7] parameter(0)\n i = s32[5,2] parameter(1)\n ROOT y = f32[5] gather(t, i), "
     "offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={1,1}\n",
     {5}},
    {"gather at an index in the first dimension of the indices",
     "t = f32[9,7] parameter(0)\n i = s32[2,5] parameter(1)\n ROOT y = f32[5] gather(t, i), "
     "offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=0, "
     "slice_sizes={1,1}\n",
     {5}},
    {"gather in batches",
     "t = f32[5,9,7] parameter(0)\n i = s32[5,6] parameter(1)\n ROOT y = f32[5,6,7] gather(t, i), "
     "offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
     "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,7}\n",
     {7, 6, 5}},
    {"scatter",
     "t = f32[9,7] parameter(0)\n i = s32[5] parameter(1)\n u = f32[5,7] parameter(2)\n ROOT y = "
     "f32[9,7] scatter(t, i, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
     {7}},
    {"scatter of parts of rows",
     "t = f32[9,7] parameter(0)\n i = s32[5] parameter(1)\n u = f32[5,6] parameter(2)\n ROOT y = "
     "f32[9,7] scatter(t, i, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
     {}},
    {"scatter at an index along whole rows",
     "t = f32[9,7] parameter(0)\n i = s32[5] parameter(1)\n u = f32[5,7] parameter(2)\n ROOT y = "
     "f32[9,7] scatter(t, i, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=add\n",
     {}},
    {"scatter in batches",
     "t = f32[5,9,7] parameter(0)\n i = s32[5,6] parameter(1)\n u = f32[5,6,7] parameter(2)\n ROOT "
     "y "
     "= f32[5,9,7] scatter(t, i, u), update_window_dims={2}, inserted_window_dims={1}, "
     "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=add\n",
     {7, 5}},
    {"dynamic slice",
     "x = f32[5,7] parameter(0)\n i = s32[] parameter(1)\n ROOT y = f32[5,3] dynamic-slice(x, i, "
     "i), "
     "dynamic_slice_sizes={5,3}\n",
     {5}},
    {"dynamic update",
     "x = f32[5,7] parameter(0)\n u = f32[5,3] parameter(1)\n i = s32[] parameter(2)\n ROOT y = "
     "f32[5,7] dynamic-update-slice(x, u, i, i)\n",
     {5}},
    {"while",
     "x = f32[5,7] parameter(0)\n n = s32[] constant(3)\n t = (s32[], f32[5,7]) tuple(n, x)\n w = "
     "(s32[], f32[5,7]) while(t), condition=goes_on, body=step\n ROOT y = f32[5,7] "
     "get-tuple-element(w), index=1\n",
     {5}},
    {"while, of a matrix that is turned",
     "x = f32[5,5] parameter(0)\n n = s32[] constant(3)\n t = (s32[], f32[5,5]) tuple(n, x)\n w = "
     "(s32[], f32[5,5]) while(t), condition=turns_on, body=turn\n ROOT y = f32[5,5] "
     "get-tuple-element(w), index=1\n",
     {}},
    {"conditional",
     "x = f32[5,7] parameter(0)\n p = pred[] parameter(1)\n ROOT y = f32[5,7] conditional(p, x, "
     "x), "
     "true_computation=scan, false_computation=same\n",
     {5}},
    {"call", "x = f32[5,7] parameter(0)\n ROOT y = f32[5,7] call(x), to_apply=scan\n", {5}},
    {"started and ended",
     "x = f32[5,7] parameter(0)\n s = ((f32[5,7]), f32[5,7], s32[]) async-start(x), calls=scan\n "
     "ROOT y = f32[5,7] async-done(s)\n",
     {5}},
    {"all-reduce",
     "x = f32[5,7] parameter(0)\n ROOT y = f32[5,7] all-reduce(x), replica_groups={{0,1}}, "
     "channel_id=1, use_global_device_ids=true, to_apply=add\n",
     {7, 5}},
    {"all-reduce, started and ended",
     "x = f32[5,7] parameter(0)\n s = f32[5,7] all-reduce-start(x), replica_groups={{0,1}}, "
     "channel_id=1, use_global_device_ids=true, to_apply=add\n ROOT y = f32[5,7] "
     "all-reduce-done(s)\n",
     {7, 5}},
    {"all-gather",
     "x = f32[5,7] parameter(0)\n ROOT y = f32[5,14] all-gather(x), replica_groups={{0,1}}, "
     "channel_id=1, use_global_device_ids=true, dimensions={1}\n",
     {5}},
    {"all-gather, started and ended",
     "x = f32[5,7] parameter(0)\n s = (f32[5,7], f32[5,14]) all-gather-start(x), "
     "replica_groups={{0,1}}, channel_id=1, use_global_device_ids=true, dimensions={1}\n ROOT y = "
     "f32[5,14] all-gather-done(s)\n",
     {5}},
    {"reduce-scatter",
     "x = f32[5,14] parameter(0)\n ROOT y = f32[5,7] reduce-scatter(x), replica_groups={{0,1}}, "
     "channel_id=1, use_global_device_ids=true, dimensions={1}, to_apply=add\n",
     {5}},
    {"all-to-all",
     "x = f32[5,4] parameter(0)\n ROOT y = f32[5,4] all-to-all(x), replica_groups={{0,1}}, "
     "channel_id=1, dimensions={1}\n",
     {5}},
    {"all-to-all as a tuple",
     "x = f32[5] parameter(0)\n z = f32[5] parameter(1)\n ROOT y = (f32[5], f32[5]) all-to-all(x, "
     "z), replica_groups={{0,1}}, channel_id=1\n",
     {5}},
    {"collective-permute",
     "x = f32[5] parameter(0)\n ROOT y = f32[5] collective-permute(x), "
     "source_target_pairs={{0,1}}, channel_id=1\n",
     {5}},
    {"an operation that is not known",
     "x = f32[5] parameter(0)\n y = f32[5] negate(x)\n ROOT z = f32[5] custom-call(y), "
     "custom_call_target=\"f\"\n",
     {}},
    {"a call with a computation that is not known",
     "x = f32[5,7] parameter(0)\n a = f32[5,7] call(x), to_apply=scan\n ROOT z = f32[5,7] "
     "custom-call(a), custom_call_target=\"f\", called_computations={scan}\n",
     {}},
    {"a computation that only what is not known calls",
     "x = f32[3] parameter(0)\n s = f32[] parameter(1)\n a = f32[] custom-call(s), "
     "custom_call_target=\"f\", called_computations={scan}\n ROOT z = (f32[], f32[3]) tuple(a, "
     "x)\n",
     {3}},
    {"a matrix factorization",
     "x = f32[5,3,3] parameter(0)\n ROOT y = f32[5,3,3] cholesky(x), lower=true\n",
     {}},
    {"random numbers",
     "x = f32[5] parameter(0)\n a = f32[] constant(0)\n r = f32[5] rng(a, a), "
     "distribution=rng_uniform\n ROOT y = f32[5] add(x, r)\n",
     {}},
    {"sizes that are looked at",
     "x = f32[5] parameter(0)\n n = s32[] get-dimension-size(x), dimensions={0}\n ROOT y = "
     "(f32[5], "
     "s32[]) tuple(x, n)\n",
     {}},
    {"several inputs",
     "x = f32[5] parameter(0)\n z = f32[7] parameter(1)\n ROOT y = (f32[5], f32[7]) tuple(x, z)\n",
     {7, 5}},
};

/// On f32[5,7]: the dimension of size 7 is one along which elements are summed up.
const char* const kScan = R"(
scan {
  x = f32[5,7] parameter(0)
  c = f32[] constant(0)
  ROOT y = f32[5,7] reduce-window(x, c), window={size=1x7 pad=0_0x6_0}, to_apply=add
}
same {
  ROOT x = f32[5,7] parameter(0)
}
goes_on {
  t = (s32[], f32[5,7]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  z = s32[] constant(0)
  ROOT p = pred[] compare(n, z), direction=GT
}
step {
  t = (s32[], f32[5,7]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  x = f32[5,7] get-tuple-element(t), index=1
  o = s32[] constant(1)
  m = s32[] subtract(n, o)
  y = f32[5,7] call(x), to_apply=scan
  ROOT u = (s32[], f32[5,7]) tuple(m, y)
}
turns_on {
  t = (s32[], f32[5,5]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  z = s32[] constant(0)
  ROOT p = pred[] compare(n, z), direction=GT
}
turn {
  t = (s32[], f32[5,5]) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  x = f32[5,5] get-tuple-element(t), index=1
  o = s32[] constant(1)
  m = s32[] subtract(n, o)
  y = f32[5,5] transpose(x), dimensions={1,0}
  ROOT u = (s32[], f32[5,5]) tuple(m, y)
}
)";

TEST_CASE("every operation passes on the dimensions along which it does the same") {
  for (const Case& each : kCases) {
    const std::string name = each.name;
    CAPTURE(name);
    const std::string text = text_with(kScan, each.entry);
    CHECK(fmt::format("{}", fmt::join(sizes_reduced(each.entry, kScan), " ")) ==
          fmt::format("{}", fmt::join(each.sizes, " ")));
    const auto module = module_of(text);
    const auto reduced = reduce_dimensions(*module, *module, {}, FloatEquality::Real);
    if (reduced) CHECK(computes_parts(*module, *reduced->before, 1));
  }
}

TEST_CASE("where numbers are rounded, an operation on several types is not known") {
  const char* const entry =
      "x = f32[5] parameter(0)\n z = bf16[5] parameter(1)\n ROOT y = f32[5] add(x, z)\n";
  CHECK(sizes_reduced(entry) == List{5});
  CHECK(sizes_reduced(entry, "", FloatEquality::Bitwise).empty());
  CHECK(sizes_reduced(entry, "", FloatEquality::Reassociated).empty());
}

std::uint32_t how_many(std::uint32_t normally) {
  const char* const more = std::getenv("P2_REDUCED");
  return more != nullptr ? static_cast<std::uint32_t>(std::stoul(more)) : normally;
}

ModuleDecision verdict_of(const Module& before, const Module& after,
                          const ModuleRelation& relation) {
  return compare_by_execution(before, after, {1, 2}, relation, 1e6, kWorkLimit, {});
}

/// Counts of what is decided with and without reduced dimensions.
struct Tally {
  int reduced = 0;
  int valid = 0;
  int invalid = 0;

  void add(const ModuleDecision& whole, const ModuleDecision& part) {
    CAPTURE(whole.reason);
    CAPTURE(part.reason);
    ++reduced;
    REQUIRE(whole.outcome != Outcome::Disagreement);
    REQUIRE(part.outcome != Outcome::Disagreement);
    if (whole.outcome == Outcome::Undecided || part.outcome == Outcome::Undecided) return;
    REQUIRE(whole.outcome == part.outcome);
    ++(whole.outcome == Outcome::Established ? valid : invalid);
  }
};

TEST_CASE("reduced modules compute what the modules do at an index, with the same verdict") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < how_many(3000); ++seed) {
    const RandomPair pair(seed, seed % 3 == 0 ? 0 : 20);
    const std::string before_text = pair.before();
    const std::string after_text = pair.after();
    CAPTURE(seed);
    CAPTURE(before_text);
    CAPTURE(after_text);
    const auto before = module_of(before_text);
    const auto after = module_of(after_text);
    const auto reduced = reduce_dimensions(*before, *after, {}, FloatEquality::Real);
    if (!reduced) continue;
    REQUIRE(computes_parts(*before, *reduced->before, seed));
    REQUIRE(computes_parts(*after, *reduced->after, seed));
    const ModuleDecision whole = verdict_of(*before, *after, {});
    if (!pair.has_mistake()) REQUIRE(whole.outcome != Outcome::Refuted);
    tally.add(whole, verdict_of(*reduced->before, *reduced->after, reduced->relation));
  }
  MESSAGE(tally.reduced, " reduced, ", tally.valid, " valid, ", tally.invalid, " invalid");
  CHECK(tally.valid > 300);
  CHECK(tally.invalid > 300);
}

TEST_CASE(
    "under a relation, dimensions that devices hold whole are reduced with the same verdict") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < how_many(1500); ++seed) {
    const RandomProgram program(seed, 2, seed % 3 == 0 ? 0 : 15);
    const auto before = module_of(program.before());
    const auto after = module_of(program.after());
    CAPTURE(program.before());
    CAPTURE(program.after());
    const ModuleRelation relation =
        read_relation("relation.json", program.relation_text(), *before, *after, {1, 2});
    const auto reduced = reduce_dimensions(*before, *after, relation, FloatEquality::Real);
    if (!reduced) continue;
    tally.add(verdict_of(*before, *after, relation),
              verdict_of(*reduced->before, *reduced->after, reduced->relation));
  }
  MESSAGE(tally.reduced, " reduced, ", tally.valid, " valid, ", tally.invalid, " invalid");
  CHECK(tally.valid > 50);
  CHECK(tally.invalid > 20);
}

TEST_CASE("shapes that do not fit are not reduced") {
  CHECK(sizes_reduced("x = f32[5] parameter(0)\n z = f32[7] parameter(1)\n ROOT y = f32[5] add(x, "
                      "z)\n")
            .empty());
}

TEST_CASE("inputs and outputs of two modules are reduced together") {
  const auto sizes = [](const std::string& before, const std::string& after) {
    const auto reduced =
        reduce_dimensions(*module_of(module_text(before, 2)), *module_of(module_text(after, 2)), {},
                          FloatEquality::Real);
    return reduced ? reduced->sizes : List{};
  };
  const std::string copy = "x = f32[5] parameter(0)\n ROOT y = f32[5] negate(x)\n";
  CHECK(sizes(copy, copy) == List{5});
  // At index 0 these are the same.
  CHECK(sizes(copy,
              "x = f32[5] parameter(0)\n a = f32[1] slice(x), slice={[0:1]}\n b = f32[] "
              "reshape(a)\n c = f32[5] broadcast(b), dimensions={}\n ROOT y = f32[5] negate(c)\n")
            .empty());
  CHECK(sizes("x = f32[5] parameter(0)\n c = f32[] constant(0)\n ROOT y = f32[5] broadcast(c), "
              "dimensions={}\n",
              "x = f32[5] parameter(0)\n ROOT y = f32[5] iota(), iota_dimension=0\n") == List{5});
  CHECK(sizes("c = f32[] constant(0)\n ROOT y = f32[5] broadcast(c), dimensions={}\n",
              "ROOT y = f32[5] iota(), iota_dimension=0\n")
            .empty());
}

TEST_CASE("what devices hold in another order is not reduced") {
  const char* const body = "x = f32[4,3] parameter(0)\n ROOT y = f32[4,3] negate(x)\n";
  const auto before = module_of(before_text(body));
  const auto after = module_of(after_text(body));
  ModuleRelation relation = read_relation(
      "relation.json",
      R"({"format":"p2-relation/1","devices":2,"mesh":{"d":2},"inputs":{"0":{"after":0,)"
      R"("relation":"replicated"}},"outputs":{"0":{"after":0,"relation":"replicated"}}})",
      *before, *after, {1, 2});
  const auto sizes = [&] {
    const auto reduced = reduce_dimensions(*before, *after, relation, FloatEquality::Real);
    return reduced ? reduced->sizes : List{};
  };
  CHECK(sizes() == List{4, 3});
  const std::vector<Piece> turned = {{{0, 0}, {2, 0}, {2, 3}}, {{2, 0}, {0, 0}, {2, 3}}};
  relation.inputs[0].pieces[1] = turned;
  CHECK(sizes() == List{3});
  relation.inputs[0].pieces[1] = {turned[0]};  // the rest is arbitrary
  CHECK(sizes().empty());
}

TEST_CASE("a difference of reduced modules is one of the modules, with the same numbers") {
  const std::string before = module_text(
      "x = f32[7,5] parameter(0)\n z = f32[] constant(0)\n r = f32[5] reduce(x, z), "
      "dimensions={0}, "
      "to_apply=add\n ROOT y = f32[5,3] broadcast(r), dimensions={0}\n",
      2);
  const auto first = module_of(before);
  const auto second = module_of(replaced(before, "to_apply=add", "to_apply=maximum"));
  const auto reduced = reduce_dimensions(*first, *second, {}, FloatEquality::Real);
  REQUIRE(reduced);
  CHECK(reduced->sizes == List{5, 3});
  const ModuleDecision whole = verdict_of(*first, *second, {});
  const ModuleDecision part = verdict_of(*reduced->before, *reduced->after, reduced->relation);
  REQUIRE(whole.violation);
  REQUIRE(part.violation);
  CHECK(whole.violation->explanation == part.violation->explanation);
}

TEST_CASE("modules that are too large to be executed are decided with reduced dimensions") {
  const auto text = [](const char* last) {
    return module_text(
        fmt::format("x = f32[65536,64] parameter(0)\n w = f32[64,64] parameter(1)\n h = "
                    "f32[65536,64] dot(x, w), lhs_contracting_dims={{1}}, "
                    "rhs_contracting_dims={{0}}\n a = f32[65536,64] tanh(h)\n b = f32[65536,64] "
                    "{}\n ROOT y = f32[65536,64] dot(b, w), lhs_contracting_dims={{1}}, "
                    "rhs_contracting_dims={{0}}\n",
                    last),
        2);
  };
  ComparisonOptions options;
  options.engine = ModuleEngine::Interpreter;
  const ModuleDecision equal = compared(text("multiply(a, h)"), text("multiply(h, a)"), options);
  CHECK(summary(equal) == "valid");
  CHECK(equal.reduced == List{65536});
  CHECK(summary(compared(text("multiply(a, h)"), text("multiply(h, h)"), options)) ==
        "invalid value");
  options.equality = FloatEquality::Bitwise;
  CHECK(summary(compared(text("multiply(a, h)"), text("multiply(h, a)"), options)) == "valid");
}

TEST_CASE("what is computed from an overflow is no difference") {
  const auto softmax = [](const std::string& shift) {
    return module_text(
        "x = f32[1,128] parameter(0)\n k = f32[] constant(100)\n kk = f32[1,128] "
        "broadcast(k), dimensions={}\n h = f32[1,128] multiply(x, kk)\n z = f32[] "
        "constant(0)\n low = f32[] constant(-inf)\n m = f32[1] reduce(h, low), "
        "dimensions={1}, to_apply=maximum\n b = f32[1,128] broadcast(m), "
        "dimensions={0}\n c = f32[1,128] subtract(h, b)\n e = f32[1,128] "
        "exponential(" +
            shift +
            ")\n s = f32[1] reduce(e, z), dimensions={1}, to_apply=add\n d = "
            "f32[1,128] broadcast(s), dimensions={0}\n ROOT p = f32[1,128] "
            "divide(e, d)\n",
        2);
  };
  ComparisonOptions options;
  options.engine = ModuleEngine::Interpreter;
  CHECK(summary(compared(softmax("h"), softmax("c"), options)) == "valid");
}

}  // namespace
}  // namespace p2::hlo
