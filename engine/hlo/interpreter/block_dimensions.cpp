// Blocks of indices on which tensors are constant, and modules on one element of each block.
//
// Let every dimension be cut into blocks of indices, such that the inputs are constant on products
// of blocks. Where the blocks of an operation's operands and results fit, its result is constant on
// products of blocks, too, and is computed from one element of each: elementwise operations block
// by block, moves of elements by where blocks begin, a sum with each block as often as it has
// elements, a maximum with each block once. By induction over the instructions a module M with
// inputs x that are constant on blocks computes M(x)[i] = M'(x')[block of i] on every device, where
// x' has one element of each block and M' is the module on these. So what two such modules M' and
// N' compute for some x' is what M and N compute for the x that repeats it, and a difference is one
// of M and N. That M' and N' are equal proves nothing.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/operations.h"

namespace p2::hlo::interpreter {
namespace {

/// More blocks in all are not looked for.
constexpr std::size_t kMaxCuts = 4'000'000;
/// No dimension of more indices is cut everywhere.
constexpr std::int64_t kMaxFixedSize = 1 << 20;
constexpr std::int64_t kMaxLiteralCuts = 1 << 16;

/// Ends close().
struct TooManyBlocks {};

}  // namespace

void DimensionBlocks::cut(std::uint32_t dimension, std::int64_t index) { insert(dimension, index); }

bool DimensionBlocks::insert(std::uint32_t dimension, std::int64_t index) {
  if (index <= 0 || index >= classes_.size(dimension) || is_fixed(dimension)) return false;
  if (repeated_.contains(classes_.root(dimension))) return false;  // its pattern is cut
  cuts_.resize(classes_.count());
  if (!cuts_[classes_.root(dimension)].insert(index).second) return false;
  ++total_;
  return true;
}

bool DimensionBlocks::fix(std::uint32_t dimension) {
  if (is_fixed(dimension)) return false;
  fixed_.insert(classes_.root(dimension));
  return true;
}

/// Whether something was cut.
bool DimensionBlocks::part(const BlockLink& link) {
  const std::int64_t first = std::max<std::int64_t>(0, link.offset);
  const std::int64_t last = std::min(classes_.size(link.a), link.offset + classes_.size(link.b));
  if (first >= last) return false;
  bool changed = false;
  const auto pass = [&](std::uint32_t from, std::uint32_t to, std::int64_t begin,
                        std::int64_t shift, std::int64_t end) {
    changed = insert(to, begin + shift) || changed;
    changed = insert(to, end + shift) || changed;
    if (is_fixed(to)) return;
    if (is_fixed(from)) {
      if (end - begin == classes_.size(to)) {
        changed = fix(to) || changed;
        return;
      }
      if (end - begin > kMaxFixedSize) throw TooManyBlocks();
      for (std::int64_t i = begin; i < end; ++i) changed = insert(to, i + shift) || changed;
      return;
    }
    const Cuts own = cuts_[classes_.root(from)];
    for (auto at = own.lower_bound(begin); at != own.end() && *at < end; ++at) {
      changed = insert(to, *at + shift) || changed;
    }
  };
  pass(link.a, link.b, first, -link.offset, last);
  pass(link.b, link.a, first - link.offset, link.offset, last - link.offset);
  return changed;
}

bool DimensionBlocks::product(const BlockLink& link) {
  const std::int64_t inner = classes_.size(link.c);
  const std::int64_t outer = classes_.size(link.b);
  if (inner == 0 || outer == 0) return false;
  bool changed = false;
  if (is_fixed(link.a)) {
    changed = (outer > 1 && fix(link.b)) || changed;
    return (inner > 1 && fix(link.c)) || changed;
  }
  const Cuts whole = cuts_[classes_.root(link.a)];
  for (const std::int64_t at : whole) {
    changed = insert(link.b, at / inner) || changed;
    if (at % inner == 0) continue;
    changed = insert(link.b, at / inner + 1) || changed;
    changed = insert(link.c, at % inner) || changed;
  }
  const bool inner_is_cut =
      inner > 1 && (is_fixed(link.c) || !cuts_[classes_.root(link.c)].empty());
  if (inner_is_cut && outer > 1) changed = fix(link.b) || changed;
  if (inner_is_cut && is_fixed(link.c)) return fix(link.a) || changed;
  const auto cut_at = [&](std::int64_t i) {
    changed = insert(link.a, i * inner) || changed;
    if (!inner_is_cut) return;
    const Cuts own = cuts_[classes_.root(link.c)];
    for (const std::int64_t at : own) changed = insert(link.a, i * inner + at) || changed;
  };
  if (outer > 1 && is_fixed(link.b)) {
    if (outer > kMaxFixedSize) throw TooManyBlocks();
    for (std::int64_t i = 0; i < outer; ++i) cut_at(i);
  } else {
    cut_at(0);
    const Cuts own = cuts_[classes_.root(link.b)];
    for (const std::int64_t i : own) cut_at(i);
  }
  return changed;
}

bool DimensionBlocks::apply(const BlockLink& link) {
  if (link.kind == BlockLink::Kind::Part) return part(link);
  if (link.kind == BlockLink::Kind::Product) return product(link);
  bool changed = false;
  for (const auto& [from, to] : {std::pair(link.a, link.b), {link.b, link.a}}) {
    if (is_fixed(from)) changed = fix(to) || changed;
    const Cuts own = cuts_[classes_.root(from)];
    for (const std::int64_t at : own) changed = insert(to, classes_.size(from) - at) || changed;
  }
  return changed;
}

bool DimensionBlocks::close(const Limits& limits) {
  cuts_.resize(classes_.count());
  std::set<BlockLink> all;
  for (BlockLink link : links_) {
    link.a = classes_.root(link.a);
    link.b = classes_.root(link.b);
    if (link.kind == BlockLink::Kind::Product) link.c = classes_.root(link.c);
    all.insert(link);
  }
  links_.assign(all.begin(), all.end());
  starts_.assign(classes_.count(), {});
  try {
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockLink& link : links_) {
        limits.require(0, "cutting tensors into blocks");
        changed = apply(link) || changed;
        if (total_ > kMaxCuts) return false;
      }
    }
  } catch (const TooManyBlocks&) {
    return false;
  }
  for (std::uint32_t each = 0; each < classes_.count(); ++each) {
    if (is_fixed(each) && classes_.size(each) > kMaxFixedSize) return false;
  }
  return true;
}

const std::vector<std::int64_t>& DimensionBlocks::starts(std::uint32_t dimension) {
  const std::uint32_t root = classes_.root(dimension);
  const auto pattern = repeated_.find(root);
  if (pattern != repeated_.end()) return starts(pattern->second.first);
  std::vector<std::int64_t>& all = starts_[root];
  if (!all.empty()) return all;
  const std::int64_t size = classes_.size(dimension);
  if (is_fixed(dimension)) {
    for (std::int64_t i = 0; i <= size; ++i) all.push_back(i);
    return all;
  }
  all.push_back(0);
  all.insert(all.end(), cuts_[root].begin(), cuts_[root].end());
  if (size > 0) all.push_back(size);
  return all;
}

std::int64_t DimensionBlocks::block_at(std::uint32_t dimension, std::int64_t index) {
  const std::vector<std::int64_t>& all = starts(dimension);
  if (index == classes_.size(dimension)) return static_cast<std::int64_t>(all.size()) - 1;
  const auto found = std::lower_bound(all.begin(), all.end(), index);
  if (found == all.end() || *found != index) {
    throw LimitReached(LimitReached::Kind::Work, "no block begins there");
  }
  return found - all.begin();
}

std::pair<std::int64_t, std::int64_t> DimensionBlocks::blocks_of(std::uint32_t dimension,
                                                                 std::int64_t index,
                                                                 std::int64_t size) {
  const auto found = repeated_.find(classes_.root(dimension));
  if (found == repeated_.end()) {
    return {block_at(dimension, index), block_at(dimension, index + size)};
  }
  const std::uint32_t pattern = found->second.first;
  const std::int64_t period = classes_.size(pattern);
  if (index % period == 0 && size % period == 0 && size > 0) return {0, blocks(pattern)};
  const std::int64_t first = index % period;
  if (first + size > period) throw LimitReached(LimitReached::Kind::Work, "no block ends there");
  return {block_at(pattern, first), block_at(pattern, first + size)};
}

/// The product of dimensions, as one.
std::uint32_t LinkedDimensions::flattened(const std::vector<std::uint32_t>& dimensions) {
  std::uint32_t all = dimensions.back();
  for (std::size_t i = dimensions.size() - 1; i-- > 0;) {
    const std::uint32_t whole = classes_.add(classes_.size(dimensions[i]) * classes_.size(all));
    link({BlockLink::Kind::Product, whole, dimensions[i], 0, all});
    all = whole;
  }
  return all;
}

/// The dimensions of both arrays in the smallest groups with equal products.
void LinkedDimensions::relate_reshape(const Arrays& arrays, Marks& marked) {
  const std::vector<std::uint32_t>& from = arrays[0]->numbers;
  const std::vector<std::uint32_t>& to = arrays[1]->numbers;
  if (arrays[0]->shape->elements() == 0) return;
  if (arrays[0]->shape->elements() != arrays[1]->shape->elements()) return;
  for (auto& each : marked) each.assign(each.size(), true);
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < from.size() || k < to.size()) {
    std::vector<std::uint32_t> left;
    std::vector<std::uint32_t> right;
    std::int64_t before = 1;
    std::int64_t after = 1;
    const auto take = [&](const auto& list, std::size_t& at, auto& taken, std::int64_t& size) {
      taken.push_back(list[at]);
      size *= classes_.size(list[at++]);
    };
    if (i < from.size()) take(from, i, left, before);
    if (k < to.size()) take(to, k, right, after);
    while (before != after) {
      if (before < after && i < from.size()) {
        take(from, i, left, before);
      } else if (before > after && k < to.size()) {
        take(to, k, right, after);
      } else {
        break;
      }
    }
    if (left.empty() || right.empty()) continue;  // dimensions of size 1 are left
    const std::uint32_t a = flattened(left);
    const std::uint32_t b = flattened(right);
    classes_.tie(a, b);
  }
}

void LinkedDimensions::relate_constant(const Instruction& instruction, const ValueDimensions& array,
                                       Marks& marked) {
  const Literal* const literal = instruction.literal.get();
  if (literal == nullptr || literal->elided) return;
  const std::vector<std::int64_t>& sizes = array.shape->sizes;
  const std::vector<std::int64_t> strides = strides_of(sizes);
  const auto count = static_cast<std::int64_t>(literal->elements.size());
  if (count != 1 && count != array.shape->elements()) return;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    marked[0][i] = true;
    if (count == 1 || sizes[i] > kMaxLiteralCuts) {
      marked[0][i] = count == 1;
      continue;
    }
    std::set<std::int64_t> changes;
    for (std::int64_t at = 0; at < count; ++at) {
      const std::int64_t index = at / strides[i] % sizes[i];
      if (index > 0 && !(literal->at(at) == literal->at(at - strides[i]))) changes.insert(index);
    }
    for (const std::int64_t each : changes) changes_.emplace_back(array.numbers[i], each);
  }
}

void LinkedDimensions::relate_collective(const Instruction& instruction, const Arrays& arrays,
                                         Marks& marked) {
  const std::string_view opcode = base_opcode(instruction.opcode);
  const Attributes& attributes = instruction.attributes;
  if (attributes.dimensions.size() != 1) return;
  const auto along = static_cast<std::size_t>(attributes.dimensions[0]);
  const std::size_t pairs = arrays.size() / 2;
  const auto parts = [&](std::size_t whole, std::size_t w, std::size_t part, std::size_t p) {
    if (w >= arrays[whole]->numbers.size() || p >= arrays[part]->numbers.size()) return;
    const std::uint32_t a = arrays[whole]->numbers[w];
    const std::uint32_t b = arrays[part]->numbers[p];
    const std::int64_t size = classes_.size(b);
    if (size == 0 || classes_.size(a) % size != 0) return;
    for (std::int64_t at = 0; at < classes_.size(a); at += size) {
      link({BlockLink::Kind::Part, a, b, at});
    }
    marked[whole][w] = marked[part][p] = true;
  };
  if (opcode == "all-gather" || opcode == "reduce-scatter") {
    for (std::size_t k = 0; k < pairs; ++k) {
      const bool gathers = opcode == "all-gather";
      parts(gathers ? pairs + k : k, along, gathers ? k : pairs + k, along);
    }
  } else if (opcode == "all-to-all" && arrays.size() == 2) {
    const auto to = static_cast<std::size_t>(
        attributes.concat_dimension.value_or(static_cast<std::int64_t>(along)));
    if (to != along) {
      parts(0, along, 1, along);
      parts(1, to, 0, to);
      return;
    }
    const std::size_t members = resolve(instruction, module_.language, devices_).group_size();
    const auto size = classes_.size(arrays[0]->numbers.at(along));
    if (members == 0 || size % static_cast<std::int64_t>(members) != 0) return;
    const std::uint32_t part = classes_.add(size / static_cast<std::int64_t>(members));
    for (std::size_t a = 0; a < 2; ++a) {
      for (std::int64_t at = 0; at < size; at += classes_.size(part)) {
        link({BlockLink::Kind::Part, arrays[a]->numbers.at(along), part, at});
      }
      marked[a][along] = true;
    }
  }
}

void LinkedDimensions::relate_dynamic(const Instruction& instruction, const Arrays& arrays,
                                      Marks& marked) {
  const auto known = known_starts_.find(&instruction);
  if (known == known_starts_.end()) return;
  const bool updates = instruction.opcode == "dynamic-update-slice";
  const std::size_t result = arrays.size() - 1;
  const std::size_t part = updates ? 1 : result;
  const std::size_t rank = arrays[0]->numbers.size();
  if (arrays[part]->numbers.size() != rank || known->second.size() != rank) return;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint32_t whole = arrays[0]->numbers[i];
    if (known->second[i].empty()) continue;
    for (const std::int64_t start : known->second[i]) {
      link({BlockLink::Kind::Part, whole, arrays[part]->numbers[i], start});
    }
    if (updates) classes_.tie(whole, arrays[result]->numbers[i]);
    marked[0][i] = marked[part][i] = marked[result][i] = true;
  }
}

void LinkedDimensions::relate_moved(const Instruction& instruction, const Arrays& arrays,
                                    Marks& marked) {
  const Attributes& attributes = instruction.attributes;
  const std::size_t result = arrays.size() - 1;
  const std::vector<std::uint32_t>& to = arrays[result]->numbers;
  const std::vector<std::uint32_t>& from = arrays[0]->numbers;
  if (from.size() != to.size()) return;
  if (instruction.opcode == "concatenate" && attributes.dimensions.size() == 1) {
    const auto along = static_cast<std::size_t>(attributes.dimensions[0]);
    if (along >= to.size()) return;
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < result; ++a) {
      if (along >= arrays[a]->numbers.size()) return;
      link({BlockLink::Kind::Part, to[along], arrays[a]->numbers[along], offset});
      offset += classes_.size(arrays[a]->numbers[along]);
      marked[a][along] = true;
    }
    marked[result][along] = true;
    return;
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (instruction.opcode == "reverse") {
      if (!contains(attributes.dimensions, i)) continue;
      link({BlockLink::Kind::Mirror, from[i], to[i]});
    } else {
      if (i >= attributes.starts.size() || i >= attributes.strides.size()) return;
      const bool is_slice = instruction.opcode == "slice";
      if (attributes.strides[i] != (is_slice ? 1 : 0)) continue;
      const BlockLink part{BlockLink::Kind::Part, from[i], to[i],
                           is_slice ? attributes.starts[i] : -attributes.starts[i]};
      if (part.offset == 0 && classes_.size(from[i]) == classes_.size(to[i])) {
        classes_.tie(from[i], to[i]);
      } else if (is_slice) {
        links_.insert(part);
      } else {
        link(part);
      }
    }
    marked[0][i] = marked[result][i] = true;
  }
}

void LinkedDimensions::relate(const Instruction& instruction, const Arrays& arrays, Marks& marked) {
  const std::string_view opcode = instruction.opcode;
  const Dimensions& along = instruction.attributes.dimensions;
  if (opcode == "constant") {
    relate_constant(instruction, *arrays[0], marked);
  } else if (opcode == "iota" && along.size() == 1 &&
             static_cast<std::size_t>(along[0]) < arrays[0]->numbers.size()) {
    counted_.push_back(arrays[0]->numbers[static_cast<std::size_t>(along[0])]);
    marked[0][static_cast<std::size_t>(along[0])] = true;
  } else if (is_collective(base_opcode(opcode))) {
    relate_collective(instruction, arrays, marked);
  } else if (opcode == "slice" || opcode == "pad" || opcode == "concatenate" ||
             opcode == "reverse") {
    relate_moved(instruction, arrays, marked);
  } else if (opcode == "dynamic-slice" || opcode == "dynamic-update-slice") {
    relate_dynamic(instruction, arrays, marked);
  } else if (arrays.size() == 2 &&
             (opcode == "reshape" || (opcode == "bitcast" && arrays[0]->shape->row_major() &&
                                      arrays[1]->shape->row_major() &&
                                      arrays[0]->shape->type == arrays[1]->shape->type))) {
    relate_reshape(arrays, marked);
  } else if (opcode == "reduce" && arrays.size() == 3 && instruction.called.size() == 1) {
    const Reducer reducer = reducer_of(module_.computations[instruction.called[0]]);
    const ElementType type = arrays[0]->shape->type;
    const bool adds = reducer == Reducer::Add && (type.is_float() || type.is_integer());
    const bool repeats = reducer == Reducer::Maximum || reducer == Reducer::Minimum ||
                         reducer == Reducer::And || reducer == Reducer::Or;
    if (!adds && !repeats) return;
    for (std::size_t i = 0; i < arrays[0]->numbers.size(); ++i) {
      if (contains(along, i)) marked[0][i] = true;
    }
  } else if (opcode == "dot" && arrays.size() == 3) {
    const ElementType type = arrays[2]->shape->type;
    if (!type.is_float() && !type.is_integer()) return;
    const DotDimensions numbers = dot_dimensions(instruction);
    if (numbers.lhs_contracting.size() != numbers.rhs_contracting.size()) return;
    for (std::size_t k = 0; k < numbers.lhs_contracting.size(); ++k) {
      const auto left = static_cast<std::size_t>(numbers.lhs_contracting[k]);
      const auto right = static_cast<std::size_t>(numbers.rhs_contracting[k]);
      // Execution says what is wrong with it.
      if (left >= arrays[0]->numbers.size() || right >= arrays[1]->numbers.size()) return;
      classes_.tie(arrays[0]->numbers.at(left), arrays[1]->numbers.at(right));
      marked[0][left] = marked[1][right] = true;
    }
  }
}

Shape LinkedDimensions::restricted(const ValueDimensions& value, DimensionBlocks& blocks) const {
  Shape shape;
  shape.is_tuple = value.shape == nullptr;
  for (const ValueDimensions& part : value.parts) shape.parts.push_back(restricted(part, blocks));
  if (shape.is_tuple) return shape;
  shape.array = *value.shape;
  for (std::size_t i = 0; i < value.numbers.size(); ++i) {
    shape.array.sizes[i] = blocks.blocks(value.numbers[i]);
  }
  return shape;
}

namespace {

std::string attribute_text(std::string_view name, const std::vector<std::int64_t>& list) {
  return fmt::format("{}={{{}}};", name, fmt::join(list, ","));
}

/// How many elements the blocks of some dimensions have, in row-major order; empty if all have one.
std::vector<std::int64_t> block_sizes(const std::vector<std::uint32_t>& dimensions,
                                      DimensionBlocks& blocks) {
  std::vector<std::int64_t> all = {1};
  for (const std::uint32_t each : dimensions) {
    const std::vector<std::int64_t>& starts = blocks.starts(each);
    std::vector<std::int64_t> longer;
    for (const std::int64_t size : all) {
      for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        longer.push_back(size * (starts[i + 1] - starts[i]) * blocks.times(each));
      }
    }
    all = std::move(longer);
  }
  const bool are_single = std::ranges::all_of(all, [](std::int64_t size) { return size == 1; });
  return are_single ? std::vector<std::int64_t>() : all;
}

}  // namespace

void LinkedDimensions::restrict_attributes(const Instruction& old, Instruction& made,
                                           const ValueDimensions& value, const Values& values,
                                           DimensionBlocks& blocks) const {
  const std::string_view opcode = old.opcode;
  Attributes& attributes = made.attributes;
  const auto operand = [&](std::size_t k) -> const std::vector<std::uint32_t>& {
    return values[old.operands.at(k)].numbers;
  };
  if (opcode == "constant" && old.literal && !made.shape.is_tuple &&
      !made.shape.array.same_sizes(old.literal->shape)) {
    Literal literal{made.shape.array, {}, old.literal->elided};
    if (old.literal->elements.size() == 1) {
      literal.elements = old.literal->elements;
    } else {
      const std::vector<std::int64_t> strides = strides_of(old.literal->shape.sizes);
      for_each_index(made.shape.array.sizes, [&](const std::vector<std::int64_t>& index) {
        std::int64_t at = 0;
        for (std::size_t i = 0; i < index.size(); ++i) {
          at += blocks.starts(value.numbers[i])[static_cast<std::size_t>(index[i])] * strides[i];
        }
        literal.elements.push_back(old.literal->at(at));
      });
    }
    made.literal = std::make_shared<const Literal>(std::move(literal));
  } else if (opcode == "iota" && old.attributes.dimensions.size() == 1) {
    const auto along = static_cast<std::size_t>(old.attributes.dimensions[0]);
    const std::vector<std::int64_t>& starts = blocks.starts(value.numbers.at(along));
    std::vector<std::int64_t> first(starts.begin(), starts.end() - (starts.size() > 1 ? 1 : 0));
    if (static_cast<std::int64_t>(first.size()) == classes_.size(value.numbers[along])) return;
    std::vector<std::int64_t> last;
    for (std::size_t i = 1; i < starts.size(); ++i) last.push_back(starts[i] - 1);
    attributes.others += attribute_text(kFirstNumbers, first) + attribute_text(kLastNumbers, last);
  } else if (opcode == "slice") {
    for (std::size_t i = 0; i < attributes.starts.size(); ++i) {
      if (old.attributes.strides[i] != 1) continue;
      std::tie(attributes.starts[i], attributes.limits[i]) =
          blocks.blocks_of(operand(0)[i], old.attributes.starts[i],
                           old.attributes.limits[i] - old.attributes.starts[i]);
    }
  } else if (opcode == "pad") {
    for (std::size_t i = 0; i < attributes.starts.size(); ++i) {
      if (old.attributes.strides[i] != 0) continue;
      const std::int64_t low = old.attributes.starts[i];
      attributes.starts[i] =
          low >= 0 ? blocks.block_at(value.numbers[i], low) : -blocks.block_at(operand(0)[i], -low);
      attributes.limits[i] =
          blocks.blocks(value.numbers[i]) - attributes.starts[i] - blocks.blocks(operand(0)[i]);
    }
  } else if (opcode == "dynamic-slice" || opcode == "dynamic-update-slice") {
    if (opcode == "dynamic-slice") attributes.slice_sizes = made.shape.array.sizes;
    const auto known = known_starts_.find(&old);
    if (known == known_starts_.end()) return;
    std::vector<std::int64_t> sizes;
    const bool updates = opcode == "dynamic-update-slice";
    for (std::size_t i = 0; i < value.numbers.size(); ++i) {
      std::vector<std::int64_t> pairs;
      for (const std::int64_t start : known->second[i]) {
        pairs.insert(pairs.end(), {start, blocks.block_at(operand(0)[i], start)});
      }
      if (!pairs.empty()) {
        attributes.others += attribute_text(fmt::format("{}_{}", kBlockStarts, i), pairs);
      }
      const std::int64_t window = classes_.size(updates ? operand(1).at(i) : value.numbers[i]);
      sizes.push_back(classes_.size(operand(0)[i]) - window);
    }
    attributes.others += attribute_text(kStartSizes, sizes);
  } else if (opcode == "reduce" && old.operands.size() == 2 && old.called.size() == 1) {
    if (reducer_of(module_.computations[old.called[0]]) != Reducer::Add) return;
    std::vector<std::uint32_t> over;
    for (std::size_t i = 0; i < operand(0).size(); ++i) {
      if (contains(old.attributes.dimensions, i)) over.push_back(operand(0)[i]);
    }
    const auto sizes = block_sizes(over, blocks);
    if (!sizes.empty()) attributes.others += attribute_text(kBlockSizes, sizes);
  } else if (opcode == "dot") {
    std::vector<std::uint32_t> over;
    for (const std::int64_t i : dot_dimensions(old).lhs_contracting) {
      over.push_back(operand(0).at(static_cast<std::size_t>(i)));
    }
    const auto sizes = block_sizes(over, blocks);
    if (!sizes.empty()) attributes.others += attribute_text(kBlockSizes, sizes);
  } else if (opcode == "gather" && !old.operands.empty()) {
    const auto text = attributes.other("slice_sizes");
    if (!text) return;
    Dimensions sizes = list_attribute(old, "slice_sizes");
    for (std::size_t i = 0; i < sizes.size() && i < operand(0).size(); ++i) {
      if (sizes[i] == classes_.size(operand(0)[i])) sizes[i] = blocks.blocks(operand(0)[i]);
    }
    const auto at = static_cast<std::size_t>(text->data() - attributes.others.data());
    attributes.others.replace(at, text->size(), fmt::format("{{{}}}", fmt::join(sizes, ",")));
  }
}

double LinkedDimensions::largest(DimensionBlocks& blocks) const {
  double most = 0;
  std::vector<const ValueDimensions*> arrays;
  for (const Values& values : values_) {
    for (const ValueDimensions& value : values) append_arrays(value, arrays);
  }
  for (const ValueDimensions* each : arrays) {
    double size = 1;
    for (const std::uint32_t dimension : each->numbers) {
      size *= static_cast<double>(blocks.blocks(dimension));
    }
    most = std::max(most, size);
  }
  return most;
}

double LinkedDimensions::operations(DimensionBlocks& blocks) const {
  const auto elements = [&](const ValueDimensions& value) {
    std::vector<const ValueDimensions*> arrays;
    append_arrays(value, arrays);
    double all = 0;
    for (const ValueDimensions* each : arrays) {
      double size = 1;
      for (const std::uint32_t dimension : each->numbers) {
        size *= static_cast<double>(blocks.blocks(dimension));
      }
      all += size;
    }
    return all;
  };
  const Values& values = values_[module_.entry];
  return estimated_operations(module_, module_.entry_computation(), devices_,
                              [&](std::uint32_t i) { return elements(values[i]); });
}

std::shared_ptr<const Module> LinkedDimensions::restricted(DimensionBlocks& blocks) const {
  auto result = std::make_shared<Module>(module_);
  for (std::size_t c = 0; c < values_.size(); ++c) {
    const Computation& computation = module_.computations[c];
    for (std::size_t i = 0; i < values_[c].size(); ++i) {
      Instruction& made = result->computations[c].instructions[i];
      made.shape = restricted(values_[c][i], blocks);
      restrict_attributes(computation.instructions[i], made, values_[c][i], values_[c], blocks);
    }
  }
  return result;
}

}  // namespace p2::hlo::interpreter
