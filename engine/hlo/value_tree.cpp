#include "engine/hlo/value_tree.h"

namespace p2::hlo {

void collect(const Tree& tree, std::vector<Ref>& refs) {
  if (!tree.is_tuple) refs.push_back(tree.ref);
  for (const TreePointer& part : tree.parts) collect(*part, refs);
}

bool matches(const Flow& flow, const Tree& tree, const Shape& shape) {
  if (tree.is_tuple != shape.is_tuple || tree.parts.size() != shape.parts.size()) return false;
  for (std::size_t i = 0; i < tree.parts.size(); ++i) {
    if (!matches(flow, *tree.parts[i], shape.parts[i])) return false;
  }
  return tree.is_tuple || (flow.shape(tree.ref).same_sizes(shape.array) &&
                           flow.shape(tree.ref).type == shape.array.type);
}

TreePointer tree_of_outputs(Ref& ref, const Shape& shape) {
  auto tree = std::make_shared<Tree>();
  tree->is_tuple = shape.is_tuple;
  for (const Shape& part : shape.parts) tree->parts.push_back(tree_of_outputs(ref, part));
  if (!shape.is_tuple) {
    tree->ref = ref;
    ++ref.output;
  }
  return tree;
}

TreePointer started(const TreePointer& tree) {
  auto result = std::make_shared<Tree>(*tree);
  result->started = true;
  return result;
}

}  // namespace p2::hlo
