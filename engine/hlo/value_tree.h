#pragma once

#include <memory>
#include <vector>

#include "engine/hlo/flow.h"

namespace p2::hlo {

/// What an instruction stands for: an array, or a tuple of such.
struct Tree {
  bool is_tuple = false;
  Ref ref = {};
  std::vector<std::shared_ptr<const Tree>> parts = {};
  bool started = false;  ///< the result of a start, which is one part of what a start has
};
using TreePointer = std::shared_ptr<const Tree>;

/// All arrays in it, from left to right.
void collect(const Tree& tree, std::vector<Ref>& refs);
bool matches(const Flow& flow, const Tree& tree, const Shape& shape);
/// The outputs of a node from `ref` on as a tree of `shape`; `ref` is then behind the last.
TreePointer tree_of_outputs(Ref& ref, const Shape& shape);
TreePointer started(const TreePointer& tree);

}  // namespace p2::hlo
