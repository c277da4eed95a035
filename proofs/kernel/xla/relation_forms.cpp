// What operations are beside their operands, and the sizes of their results.

#include <algorithm>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

std::size_t operands_of(const std::string& opcode) {
  if (is_one_of(opcode, {"clamp", "select"})) return 3;
  return is_one_of(opcode, {"add", "and", "atan2", "compare", "divide", "maximum", "minimum",
                            "multiply", "or", "power", "remainder", "shift-left",
                            "shift-right-arithmetic", "shift-right-logical", "subtract", "xor"})
             ? 2
             : 1;
}

bool may_be_scalar(const std::string& opcode, std::size_t operand) {
  return (opcode == "select" && operand == 0) || (opcode == "clamp" && operand != 1);
}

/// Whether these are different dimensions of a tensor of `rank`.
bool are_dimensions(const Index& list, std::size_t rank) {
  std::vector<bool> has(rank, false);
  for (const std::int64_t each : list) {
    if (each < 0 || each >= std::ssize(has) || has[static_cast<std::size_t>(each)]) return false;
    has[static_cast<std::size_t>(each)] = true;
  }
  return true;
}

std::optional<Index> sizes_of_dot(const Form& form, const Index& x, const Index& y) {
  const auto& [xb, yb, xc, yc] =
      std::tie(form.numbers.at(0), form.numbers.at(1), form.numbers.at(2), form.numbers.at(3));
  Index of_x = xb;
  Index of_y = yb;
  of_x.insert(of_x.end(), xc.begin(), xc.end());
  of_y.insert(of_y.end(), yc.begin(), yc.end());
  if (xb.size() != yb.size() || xc.size() != yc.size() || !are_dimensions(of_x, x.size()) ||
      !are_dimensions(of_y, y.size()))
    return std::nullopt;
  Index sizes;
  for (std::size_t k = 0; k < of_x.size(); ++k) {
    if (element_of(x, of_x[k]) != element_of(y, of_y[k])) return std::nullopt;
    if (k < xb.size()) sizes.push_back(element_of(x, of_x[k]));
  }
  for (const auto* side : {&x, &y}) {
    for (std::size_t i = 0; i < side->size(); ++i) {
      if (!contains(side == &x ? of_x : of_y, i)) sizes.push_back((*side)[i]);
    }
  }
  return sizes;
}

std::optional<Index> sizes_of_gather(const Form& form, const Index& x, const Index& indices) {
  const auto& [offset, collapsed, map, batching, of_indices, vector, slices] =
      std::tie(form.numbers.at(0), form.numbers.at(1), form.numbers.at(2), form.numbers.at(3),
               form.numbers.at(4), form.numbers.at(5), form.numbers.at(6));
  Index dropped = collapsed;
  dropped.insert(dropped.end(), batching.begin(), batching.end());
  const auto along = static_cast<std::size_t>(vector.at(0));
  const bool has_vector = along < indices.size();
  Index lists = of_indices;
  if (has_vector) lists.push_back(vector[0]);
  const std::size_t rank = indices.size() - (has_vector ? 1 : 0) + offset.size();
  if (slices.size() != x.size() || !are_dimensions(dropped, x.size()) ||
      !are_dimensions(map, x.size()) || !are_dimensions(lists, indices.size()) ||
      !are_dimensions(offset, rank) || offset.size() + dropped.size() != x.size() ||
      batching.size() != of_indices.size() || !std::is_sorted(offset.begin(), offset.end()) ||
      (has_vector ? indices[along] : 1) != std::ssize(map))
    return std::nullopt;
  Index kept;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (slices[i] < 0 || slices[i] > x[i]) return std::nullopt;
    if (!contains(dropped, i))
      kept.push_back(slices[i]);
    else if (slices[i] != 1)
      return std::nullopt;
  }
  for (std::size_t k = 0; k < batching.size(); ++k) {
    if (element_of(x, batching[k]) != element_of(indices, of_indices[k])) return std::nullopt;
  }
  Index sizes;
  for (std::size_t i = 0, slice = 0, other = 0; i < rank; ++i) {
    if (has_vector && other == along) ++other;
    sizes.push_back(contains(offset, i) ? kept.at(slice++) : indices.at(other++));
  }
  return sizes;
}

std::optional<Index> sizes_of_scatter(const Form& form, const Index& x, const Index& indices,
                                      const Index& updates) {
  Form gathering = form;
  Index slices(x.size(), 1);
  for (std::size_t i = 0, next = 0; i < x.size(); ++i) {
    if (contains(form.numbers.at(1), i) || contains(form.numbers.at(3), i)) continue;
    if (next == form.numbers[0].size()) return std::nullopt;
    slices[i] = element_of(updates, form.numbers[0][next++]);
  }
  gathering.numbers.push_back(std::move(slices));
  const auto windows = sizes_of_gather(gathering, x, indices);
  return windows == updates ? std::optional(x) : std::nullopt;
}

/// The one commutative operation that a reducer of scalars is, whatever real numbers are rounded
/// to; otherwise null.
const Instruction* operation_of(const Module& module, const Instruction& instruction) {
  const Computation& computation = module.called(instruction.attribute("to_apply"));
  for (const std::uint32_t each : computation.parameters) {
    const Shape& shape = computation.instructions.at(each).shape;
    if (shape.is_tuple || !shape.sizes.empty()) return nullptr;
    for (const Shape& made : arrays_of(instruction.shape)) {
      if (!fit(made.type, shape.type)) return nullptr;
    }
  }
  if (computation.parameters.size() != 2) return nullptr;
  return commutative_operation(computation, computation.root,
                               {computation.parameters[0], computation.parameters[1]});
}

}  // namespace

bool have_types(const std::string& opcode, const std::vector<Type>& operands,
                const std::vector<Shape>& results) {
  const auto all_fit = [&](std::size_t first, std::size_t end) {
    for (std::size_t k = first; k < end; ++k) {
      if (k >= operands.size() || !fit(operands[k], results.at(0).type)) return false;
    }
    return true;
  };
  if (is_one_of(opcode, {"reduce", "reduce-window", "sort"})) {
    if (results.empty()) return false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (!fit(operands[k], results.at(k % results.size()).type)) return false;
    }
    return true;
  }
  if (results.size() != 1) return true;
  const Type& result = results[0].type;
  if (is_one_of(opcode, {"partition-id", "replica-id"}))
    return result.is_integer() && result.bits >= 32;
  if (opcode == "is-finite") return result.is_boolean() && operands.at(0).is_float();
  if (opcode == "compare") return result.is_boolean() && fit(operands.at(0), operands.at(1));
  if (opcode == "select") return operands.at(0).is_boolean() && all_fit(1, 3);
  if (is_one_of(opcode, {"abs", "bitcast-convert", "convert"})) return true;
  if (op_called(opcode) || is_one_of(opcode, {"concatenate", "pad"}))
    return all_fit(0, operands.size());
  const bool is_update = opcode == "dynamic-update-slice";
  if (is_update || opcode == "dynamic-slice") {
    const std::size_t first = is_update ? 2 : 1;
    for (std::size_t k = first; k < operands.size(); ++k) {
      if (!operands[k].is_integer() || !(operands[k] == operands[first])) return false;
    }
    return all_fit(0, first);
  }
  if (opcode == "gather" && (operands.size() < 2 || !operands[1].is_integer())) return false;
  if (opcode == "scatter" && operands.size() == 3)
    return all_fit(0, 1) && operands[1].is_integer() && fit(operands[2], result);
  return !is_one_of(opcode, {"all-to-all", "broadcast", "collective-broadcast", "gather", "reshape",
                             "reverse", "slice", "transpose"}) ||
         all_fit(0, 1);
}

bool has_sizes(const std::string& opcode, std::size_t operands) {
  return (op_called(opcode) && opcode != "bitcast-convert") ||
         (opcode == "reduce" && operands == 2) || (opcode == "scatter" && operands == 3) ||
         is_one_of(opcode,
                   {"broadcast", "concatenate", "dot", "dynamic-slice", "dynamic-update-slice",
                    "gather", "iota", "pad", "reshape", "reverse", "slice", "transpose"});
}

std::string kind_of(const Type& type) { return std::string(type.is_float() ? "float" : type.name); }

std::optional<Op> reducer_of(const Module& module, const Instruction& instruction) {
  const Instruction* const operation = operation_of(module, instruction);
  return operation != nullptr ? op_called(operation->opcode) : std::nullopt;
}

Form form_of(const Module& module, const Node& node, const std::vector<Index>& operands) {
  const Instruction& instruction = *node.instruction;
  const std::string& opcode = instruction.opcode;
  const auto list = [&](const char* key) { return instruction.numbers(key); };
  const auto reducer = [&] {
    const Instruction* const operation = operation_of(module, instruction);
    return operation != nullptr ? operation->opcode : description_of(module, instruction);
  };
  // A convolution is the same sums of products in all types of real numbers.
  const auto types = [&] {
    const auto name = [&](const Type& type) {
      return " " + (opcode == "convolution" ? kind_of(type) : std::string(type.name));
    };
    std::string text = name(node.shape.type);
    for (const std::uint32_t each : instruction.operands)
      text += name(node.computation->instructions.at(each).shape.type);
    return text;
  };
  Form form{opcode, "", {}};
  if (op_called(opcode)) {
    if (opcode == "compare")
      form.text = instruction.attribute("direction") +
                  (instruction.has("type") ? " " + instruction.attribute("type") : "");
    if (opcode == "bitcast-convert") form.text = types();
    if (opcode == "reduce-precision") form.text = description_of(module, instruction);
  } else if (opcode == "iota") {
    form.numbers = {{instruction.number("iota_dimension", 0)}, node.shape.sizes};
  } else if (opcode == "broadcast") {
    form.numbers = {list("dimensions"), node.shape.sizes};
  } else if (opcode == "reshape") {
    form.numbers = {node.shape.sizes};
  } else if (opcode == "transpose" || opcode == "reverse" || opcode == "concatenate") {
    form.numbers = {list("dimensions")};
  } else if (opcode == "slice" || opcode == "pad") {
    form.numbers.resize(3);
    const auto rows = opcode == "slice" ? ranges_of(instruction.attribute("slice"))
                                        : edges_of(instruction.attribute("padding"));
    for (const Index& row : rows) {
      for (std::size_t k = 0; k < 3; ++k) form.numbers[k].push_back(row.at(k));
    }
  } else if (opcode == "dot" && !instruction.has("sparsity")) {
    form.numbers = {list("lhs_batch_dims"), list("rhs_batch_dims"), list("lhs_contracting_dims"),
                    list("rhs_contracting_dims")};
  } else if (opcode == "reduce" && operands.size() == 2) {
    form.text = reducer();
    form.numbers = {list("dimensions")};
  } else if (opcode == "gather") {
    form.numbers = {list("offset_dims"),
                    list("collapsed_slice_dims"),
                    list("start_index_map"),
                    list("operand_batching_dims"),
                    list("start_indices_batching_dims"),
                    {instruction.number("index_vector_dim", 0)},
                    list("slice_sizes")};
  } else if (opcode == "scatter" && operands.size() == 3) {
    form.text = reducer();
    form.numbers = {list("update_window_dims"),
                    list("inserted_window_dims"),
                    list("scatter_dims_to_operand_dims"),
                    list("input_batching_dims"),
                    list("scatter_indices_batching_dims"),
                    {instruction.number("index_vector_dim", 0)}};
  } else if (opcode == "dynamic-slice") {
    form.numbers = {list("dynamic_slice_sizes")};
  } else if (opcode != "dynamic-update-slice") {
    form.opcode = "function";
    form.text = description_of(module, instruction) + types() + " " + std::to_string(node.part);
    for (const Index& sizes : operands) form.numbers.push_back(sizes);
    form.numbers.push_back(node.shape.sizes);
  }
  return form;
}

void require_form(const Module& module, const Computation& computation,
                  const Instruction& instruction) {
  std::vector<Index> sizes;
  bool fits = instruction.opcode == "dot";
  for (const std::uint32_t each : instruction.operands) {
    const Shape& shape = computation.instructions.at(each).shape;
    if (shape.is_tuple) malformed("operands that are tuples: " + printable(instruction.name));
    if (sizes.empty()) fits = fits || fit(shape.type, instruction.shape.type);
    sizes.push_back(shape.sizes);
  }
  const Node node{&computation, &instruction, {}, instruction.shape};
  if (instruction.shape.is_tuple) return;
  const Form form = form_of(module, node, sizes);
  if (form.opcode == "function") return;
  if (!fits || sizes_of(form, sizes) != instruction.shape.sizes)
    malformed("no " + instruction.opcode + " of its operands: " + printable(instruction.name));
}

std::optional<Index> sizes_of(const Form& form, const std::vector<Index>& operands) {
  const std::string& opcode = form.opcode;
  if (opcode == "function") {
    return std::equal(operands.begin(), operands.end(), form.numbers.begin(),
                      form.numbers.end() - 1)
               ? std::optional(form.numbers.back())
               : std::nullopt;
  }
  if (opcode == "iota") {
    const bool is_inside =
        form.numbers[0][0] >= 0 && form.numbers[0][0] < std::ssize(form.numbers[1]);
    return is_inside && operands.empty() ? std::optional(form.numbers[1]) : std::nullopt;
  }
  if (operands.empty()) return std::nullopt;
  const Index& x = operands[0];
  if (op_called(opcode)) {
    if (operands.size() != operands_of(opcode)) return std::nullopt;
    const Index& sizes = operands.size() > 1 ? operands[1] : x;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (operands[k] != sizes && !(may_be_scalar(opcode, k) && operands[k].empty()))
        return std::nullopt;
    }
    return sizes;
  }
  const bool is_single =
      is_one_of(opcode, {"broadcast", "reshape", "transpose", "reverse", "slice"});
  if (is_single && operands.size() != 1) return std::nullopt;
  const auto product = [](const Index& sizes) {
    double all = 1;
    for (const std::int64_t size : sizes) all *= static_cast<double>(size);
    return all;
  };
  if (opcode == "reshape") {
    const Index& sizes = form.numbers[0];
    const bool is_small = product(x) < 9e15;
    return is_small && product(x) == product(sizes) ? std::optional(sizes) : std::nullopt;
  }
  static const Index kNone;
  const Index& list = form.numbers.empty() ? kNone : form.numbers[0];
  if (opcode == "broadcast") {
    const Index& sizes = form.numbers[1];
    if (!are_dimensions(list, sizes.size()) || list.size() != x.size()) return std::nullopt;
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (element_of(sizes, list[k]) != x[k]) return std::nullopt;
    }
    return sizes;
  }
  if (opcode == "transpose") {
    if (!are_dimensions(list, x.size()) || list.size() != x.size()) return std::nullopt;
    Index sizes;
    for (const std::int64_t each : list) sizes.push_back(element_of(x, each));
    return sizes;
  }
  if (opcode == "reverse") return are_dimensions(list, x.size()) ? std::optional(x) : std::nullopt;
  if (opcode == "slice" || opcode == "pad") {
    const auto& [first, second, third] =
        std::tie(form.numbers[0], form.numbers[1], form.numbers[2]);
    if (first.size() != x.size() || operands.size() != (opcode == "pad" ? 2 : 1) ||
        (opcode == "pad" && !operands[1].empty()))
      return std::nullopt;
    Index sizes;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (opcode == "pad") {
        sizes.push_back(x[i] + first[i] + second[i] +
                        std::max<std::int64_t>(x[i] - 1, 0) * third[i]);
        if (third[i] < 0 || sizes.back() < 0) return std::nullopt;
        continue;
      }
      if (first[i] < 0 || second[i] < first[i] || second[i] > x[i] || third[i] < 1)
        return std::nullopt;
      sizes.push_back((second[i] - first[i] + third[i] - 1) / third[i]);
    }
    return sizes;
  }
  if (opcode == "concatenate") {
    if (list.size() != 1 || !are_dimensions(list, x.size())) return std::nullopt;
    const auto along = static_cast<std::size_t>(list[0]);
    Index sizes = x;
    sizes[along] = 0;
    for (Index other : operands) {
      if (other.size() != x.size()) return std::nullopt;
      sizes[along] += other[along];
      other[along] = sizes[along];
      if (other != sizes) return std::nullopt;
    }
    return sizes;
  }
  if (opcode == "dot")
    return operands.size() == 2 ? sizes_of_dot(form, x, operands[1]) : std::nullopt;
  if (opcode == "reduce") {
    if (operands.size() != 2 || !operands[1].empty() || !are_dimensions(list, x.size()))
      return std::nullopt;
    Index sizes;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!contains(list, i)) sizes.push_back(x[i]);
    }
    return sizes;
  }
  if (opcode == "gather")
    return operands.size() == 2 ? sizes_of_gather(form, x, operands[1]) : std::nullopt;
  if (opcode == "scatter")
    return operands.size() == 3 ? sizes_of_scatter(form, x, operands[1], operands[2])
                                : std::nullopt;
  const bool is_update = opcode == "dynamic-update-slice";
  if (!is_update && opcode != "dynamic-slice") return std::nullopt;
  const Index sizes = is_update ? operands.at(1) : list;
  const std::size_t first = is_update ? 2 : 1;
  if (sizes.size() != x.size() || operands.size() != x.size() + first) return std::nullopt;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > x[i] || !operands[first + i].empty()) return std::nullopt;
  }
  return is_update ? x : sizes;
}

}  // namespace p2::kernel::xla
