// Pairs with arrays in other layouts, dimensions that are put together, and operations that a
// compiler expands or joins.

#include <fmt/format.h>

#include "tests/hlo/related_pairs.h"

namespace p2::hlo {

std::vector<Pair> moved_pairs() {
  const std::string x = "  x = f32[4,8] parameter(0)\n";
  const std::string rows = "  x = f32[2,8] parameter(0)\n";
  const std::string zero = "  z = f32[] constant(0)\n";
  return {
      // another order in memory is a transpose
      {x + "  t = f32[8,4] transpose(x), dimensions={1,0}\n  ROOT y = f32[8,4] negate(t)\n",
       rows + "  t = f32[8,2]{0,1} bitcast(x)\n  ROOT y = f32[8,2] negate(t)\n", "a. -> .a"},
      // a function of what is transposed, transposed back
      {x + "  w = f32[4,8] parameter(1)\n  ROOT y = f32[4,8] subtract(x, w)\n",
       rows + "  w = f32[2,8] parameter(1)\n  t = f32[8,2] transpose(x), dimensions={1,0}\n"
              "  v = f32[8,2]{0,1} bitcast(w)\n  s = f32[8,2] subtract(t, v)\n"
              "  ROOT y = f32[2,8] transpose(s), dimensions={1,0}\n",
       "a. a. -> a."},
      // a dimension that is cut within another
      {x + "  ROOT y = f32[4,8] negate(x)\n",
       "  x = f32[4,4] parameter(0)\n  r = f32[16] reshape(x)\n  n = f32[16] negate(r)\n"
       "  ROOT y = f32[4,4] reshape(n)\n",
       ".b -> .b"},
      // dimensions of a dot as one
      {"  x = f32[4,2,8] parameter(0)\n  w = f32[8,4] parameter(1)\n"
       "  ROOT y = f32[4,2,4] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n",
       "  x = f32[2,2,8] parameter(0)\n  w = f32[8,4] parameter(1)\n  m = f32[4,8] reshape(x)\n"
       "  e = f32[4,4] dot(w, m), lhs_contracting_dims={0}, rhs_contracting_dims={1}\n"
       "  t = f32[4,4] transpose(e), dimensions={1,0}\n  ROOT y = f32[2,2,4] reshape(t)\n",
       "a.. .. -> a.."},
      // a contraction as a sum of batches
      {x + "  w = f32[8,4] parameter(1)\n"
           "  ROOT y = f32[4,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       rows + "  w = f32[8,4] parameter(1)\n" + zero +
           "  p = f32[2,2,4] reshape(x)\n  q = f32[2,4,4] reshape(w)\n"
           "  d = f32[2,2,4] dot(p, q), lhs_batch_dims={1}, lhs_contracting_dims={2}, "
           "rhs_batch_dims={0}, rhs_contracting_dims={1}\n"
           "  ROOT y = f32[2,4] reduce(d, z), dimensions={0}, to_apply=add\n",
       "a. .. -> a."},
      // two dots as one
      {x + "  w = f32[8,4] parameter(1)\n  v = f32[8,4] parameter(2)\n"
           "  p = f32[4,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
           "  q = f32[4,4] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
           "  ROOT y = f32[4,4] subtract(p, q)\n",
       x + "  w = f32[8,2] parameter(1)\n  v = f32[8,2] parameter(2)\n"
           "  c = f32[8,4] concatenate(w, v), dimensions={1}\n"
           "  d = f32[4,4] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
           "  p = f32[4,2] slice(d), slice={[0:4], [0:2]}\n"
           "  q = f32[4,2] slice(d), slice={[0:4], [2:4]}\n"
           "  ROOT y = f32[4,2] subtract(p, q)\n",
       ".. .a .a -> .a"},
      // a sum in two steps
      {x + zero + "  ROOT y = f32[] reduce(x, z), dimensions={0,1}, to_apply=add\n",
       rows + zero +
           "  t = f32[8,2] transpose(x), dimensions={1,0}\n"
           "  r = f32[2] reduce(t, z), dimensions={0}, to_apply=add\n"
           "  s = f32[] reduce(r, z), dimensions={0}, to_apply=add\n"
           "  ROOT y = f32[] all-reduce(s), " +
           kAlongA + ", to_apply=add\n",
       "a. -> _"},
      // a gather and a scatter of batches, at vectors of indices
      {"  x = f32[4,6] parameter(0)\n  i = s32[4] parameter(1)\n  r = s32[4,1] reshape(i)\n"
       "  ROOT y = f32[4] gather(x, r), offset_dims={}, collapsed_slice_dims={1}, "
       "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
       "index_vector_dim=1, slice_sizes={1,1}\n",
       "  x = f32[2,6] parameter(0)\n  i = s32[2] parameter(1)\n  r = s32[2,1] reshape(i)\n"
       "  o = s32[2,1] iota(), iota_dimension=0\n"
       "  c = s32[2,2] concatenate(o, r), dimensions={1}\n"
       "  g = f32[2,1,1] gather(x, c), offset_dims={1,2}, collapsed_slice_dims={}, "
       "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}\n"
       "  ROOT y = f32[2] reshape(g)\n",
       "a. a -> a"},
      {"  x = f32[4,6] parameter(0)\n  i = s32[4] parameter(1)\n  u = f32[4] parameter(2)\n"
       "  r = s32[4,1] reshape(i)\n"
       "  ROOT y = f32[4,6] scatter(x, r, u), update_window_dims={}, inserted_window_dims={1}, "
       "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
       "scatter_indices_batching_dims={0}, index_vector_dim=1, to_apply=add\n",
       "  x = f32[2,6] parameter(0)\n  i = s32[2] parameter(1)\n  u = f32[2] parameter(2)\n"
       "  r = s32[2,1] reshape(i)\n  o = s32[2,1] iota(), iota_dimension=0\n"
       "  c = s32[2,2] concatenate(o, r), dimensions={1}\n  v = f32[2,1,1] reshape(u)\n"
       "  ROOT y = f32[2,6] scatter(x, c, v), update_window_dims={1,2}, inserted_window_dims={}, "
       "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add\n",
       "a. a a -> a."},
      // at vectors of data and 0, and of two numbers that are data
      {"  x = f32[6,1] parameter(0)\n  i = s32[4] parameter(1)\n  u = f32[4] parameter(2)\n"
       "  r = s32[4,1] reshape(i)\n  z = s32[] constant(0)\n"
       "  o = s32[4,1] broadcast(z), dimensions={}\n"
       "  c = s32[4,2] concatenate(r, o), dimensions={1}\n"
       "  ROOT y = f32[6,1] scatter(x, c, u), update_window_dims={}, "
       "inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, "
       "to_apply=add\n",
       "  x = f32[6,1] parameter(0)\n  i = s32[4] parameter(1)\n  u = f32[4] parameter(2)\n"
       "  r = s32[4,1] reshape(i)\n  z = s32[] constant(0)\n"
       "  c = s32[4,2] pad(r, z), padding=0_0x0_1\n  v = f32[4,1,1] reshape(u)\n"
       "  ROOT y = f32[6,1] scatter(x, c, v), update_window_dims={1,2}, inserted_window_dims={}, "
       "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add\n",
       ".. . . -> .."},
      {"  x = f32[6,2] parameter(0)\n  i = s32[4,2] parameter(1)\n"
       "  ROOT y = f32[4] gather(x, i), offset_dims={}, collapsed_slice_dims={0,1}, "
       "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}\n",
       "  x = f32[6,2] parameter(0)\n  i = s32[2,2] parameter(1)\n"
       "  g = f32[2,1,1] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, "
       "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}\n"
       "  ROOT y = f32[2] reshape(g)\n",
       ".. a. -> a"},
      {"  x = f32[4,6,3] parameter(0)\n  i = s32[4] parameter(1)\n  r = s32[4,1] reshape(i)\n"
       "  ROOT y = f32[4,3] gather(x, r), offset_dims={1}, collapsed_slice_dims={1}, "
       "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
       "index_vector_dim=1, slice_sizes={1,1,3}\n",
       "  x = f32[2,6,3] parameter(0)\n  i = s32[2] parameter(1)\n  r = s32[2,1] reshape(i)\n"
       "  o = s32[2,1] iota(), iota_dimension=0\n  z = s32[] constant(0)\n"
       "  n = s32[2,1] broadcast(z), dimensions={}\n"
       "  c = s32[2,3] concatenate(o, r, n), dimensions={1}\n"
       "  g = f32[2,1,1,3] gather(x, c), offset_dims={1,2,3}, collapsed_slice_dims={}, "
       "start_index_map={0,1,2}, index_vector_dim=1, slice_sizes={1,1,3}\n"
       "  ROOT y = f32[2,3] reshape(g)\n",
       "a.. a -> a."},
  };
}

}  // namespace p2::hlo
