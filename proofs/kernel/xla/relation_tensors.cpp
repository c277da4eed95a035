// Modules without calls and tuples, the operations of whole tensors, and what is equal by form.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

Index numbers_under(const Instruction& instruction, const char* key) {
  return instruction.numbers(key);
}

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
  const std::set<std::int64_t> all(list.begin(), list.end());
  return all.size() == list.size() &&
         (all.empty() || (*all.begin() >= 0 && *all.rbegin() < static_cast<std::int64_t>(rank)));
}

std::int64_t get(const Index& index, std::int64_t at) {
  return index.at(static_cast<std::size_t>(at));
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
    if (get(x, of_x[k]) != get(y, of_y[k])) return std::nullopt;
    if (k < xb.size()) sizes.push_back(get(x, of_x[k]));
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
    if (get(x, batching[k]) != get(indices, of_indices[k])) return std::nullopt;
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
    slices[i] = get(updates, form.numbers[0][next++]);
  }
  gathering.numbers.push_back(std::move(slices));
  const auto windows = sizes_of_gather(gathering, x, indices);
  return windows == updates ? std::optional(x) : std::nullopt;
}

}  // namespace

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string kind_of(const Type& type) { return type.is_float() ? "float" : type.name; }

std::optional<Op> reducer_of(const Module& module, const Instruction& instruction) {
  const Computation& computation = module.called(instruction.attribute("to_apply"));
  for (const std::uint32_t each : computation.parameters) {
    const Shape& shape = computation.instructions.at(each).shape;
    if (shape.is_tuple || !shape.sizes.empty()) return std::nullopt;
  }
  return commutative_op(computation);
}

Form form_of(const Module& module, const Node& node, const std::vector<Index>& operands) {
  const Instruction& instruction = *node.instruction;
  const std::string& opcode = instruction.opcode;
  const auto list = [&](const char* key) { return numbers_under(instruction, key); };
  const auto reducer = [&]() -> std::string {
    const auto op = reducer_of(module, instruction);
    return op ? module.called(instruction.attribute("to_apply"))
                    .instructions[module.called(instruction.attribute("to_apply")).root]
                    .opcode
              : description_of(module, instruction);
  };
  const auto types = [&] {
    std::string text = " " + node.shape.type.name;
    for (const std::uint32_t each : instruction.operands)
      text += " " + node.computation->instructions.at(each).shape.type.name;
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
  } else if (opcode == "reshape" || opcode == "bitcast") {
    form.opcode = "reshape";
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
  const Index list = form.numbers.empty() ? Index{} : form.numbers[0];
  if (opcode == "broadcast") {
    const Index& sizes = form.numbers[1];
    if (!are_dimensions(list, sizes.size()) || list.size() != x.size()) return std::nullopt;
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (get(sizes, list[k]) != x[k]) return std::nullopt;
    }
    return sizes;
  }
  if (opcode == "transpose") {
    if (!are_dimensions(list, x.size()) || list.size() != x.size()) return std::nullopt;
    Index sizes;
    for (const std::int64_t each : list) sizes.push_back(get(x, each));
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

std::size_t Tensors::intern(Tensor tensor) {
  const auto [found, is_new] = numbers_.emplace(std::move(tensor), tensors_.size());
  if (!is_new) return found->second;
  for (const std::size_t each : found->first.operands) {
    const auto own = alike_.find(each);
    if (own == alike_.end()) continue;
    const auto [all, is_first] = alike_.emplace(found->second, own->second);
    if (!is_first) all->second = Places::common(all->second, own->second);
  }
  tensors_.push_back(found->first);
  may_be_infinite_.push_back(false);
  may_be_zero_.push_back(false);
  update(found->second);
  return found->second;
}

/// What elements may be, by what those of operands may be; whether that is more than was known.
bool Tensors::update(std::size_t number) {
  const Tensor& known = at(number);
  const std::string& opcode = known.form.opcode;
  const std::string& text = known.form.text;
  bool may_be_infinite = opcode == "unknown";
  if (opcode == "constant")
    may_be_infinite = text.starts_with("of the name ") || text.find("inf") != std::string::npos ||
                      text.find("nan") != std::string::npos;
  // Not by a reduction's initial value, to which something is added.
  const bool keeps_zero = is_one_of(opcode, {"abs",
                                             "broadcast",
                                             "cbrt",
                                             "ceil",
                                             "concatenate",
                                             "convert",
                                             "divide",
                                             "dot",
                                             "dynamic-slice",
                                             "dynamic-update-slice",
                                             "erf",
                                             "exponential-minus-one",
                                             "floor",
                                             "gather",
                                             "log-plus-one",
                                             "loop",
                                             "multiply",
                                             "negate",
                                             "pad",
                                             "power",
                                             "remainder",
                                             "reshape",
                                             "reverse",
                                             "round-nearest-afz",
                                             "round-nearest-even",
                                             "select",
                                             "shard",
                                             "sign",
                                             "sine",
                                             "slice",
                                             "sqrt",
                                             "tan",
                                             "tanh",
                                             "transpose",
                                             "whole"});
  const std::string words = " " + text;
  bool may_be_zero =
      known.kind == "pred" ||
      is_one_of(opcode, {"collective", "iota", "partition-id", "replica-id"}) ||
      (opcode == "constant" && (words.find(" 0.0/1.0") != std::string::npos ||
                                (" " + words + " ").find(" 0 ") != std::string::npos));
  for (std::size_t k = 0; k < known.operands.size(); ++k) {
    const std::size_t each = known.operands[k];
    const bool is_zero = may_be_zero_[each];
    const bool is_read = opcode == "select"                 ? k > 0
                         : opcode == "dynamic-update-slice" ? k < 2
                                                            : k == 0;
    may_be_infinite = may_be_infinite || may_be_infinite_[each] ||
                      (is_zero && k == (opcode == "divide" ? 1 : 0) &&
                       is_one_of(opcode, {"atanh", "divide", "log", "power", "rsqrt"}));
    may_be_zero =
        may_be_zero || (is_zero && keeps_zero &&
                        (is_read || is_one_of(opcode, {"concatenate", "dot", "multiply", "pad"})));
  }
  if (is_one_of(opcode, {"add", "subtract", "maximum", "minimum"})) {
    const auto& sides = known.operands;
    may_be_zero = (may_be_zero_[sides[0]] && may_be_zero_[sides[1]]) ||
                  (opcode == "subtract" && sides[0] == sides[1]);
  }
  return add_to(number, may_be_infinite, may_be_zero);
}

bool Tensors::add_to(std::size_t number, bool may_be_infinite, bool may_be_zero) {
  const bool is_more =
      (may_be_infinite && !may_be_infinite_[number]) || (may_be_zero && !may_be_zero_[number]);
  may_be_infinite_[number] = may_be_infinite_[number] || may_be_infinite;
  may_be_zero_[number] = may_be_zero_[number] || may_be_zero;
  return is_more;
}

bool Tensors::is_zero(std::size_t number) const {
  const Tensor& known = at(number);
  if (known.form.opcode == "broadcast") return is_zero(known.operands[0]);
  return is_scalar(number, "0.0/1.0") || is_scalar(number, "0");
}

std::size_t Tensors::family(Form form, std::vector<std::size_t> operands, const std::string& kind,
                            Index sizes, Numbering alike) {
  const std::size_t number = intern({std::move(form), std::move(operands), kind, std::move(sizes)});
  vary(number, std::move(alike));
  return number;
}

void Tensors::vary(std::size_t number, Numbering alike) {
  const bool is_same =
      std::all_of(alike.begin(), alike.end(), [](std::uint32_t device) { return device == 0; });
  if (is_same)
    alike_.erase(number);
  else
    alike_[number] = std::move(alike);
}

Numbering Tensors::alike(std::size_t number, std::size_t devices) const {
  const auto found = alike_.find(number);
  return found == alike_.end() ? Numbering(devices, 0) : found->second;
}

std::size_t Tensors::variable(std::size_t number, std::size_t first, const Shape& shape) {
  const std::size_t variable = intern({{"variable", "", {{static_cast<std::int64_t>(number)}}},
                                       {},
                                       kind_of(shape.type),
                                       shape.sizes});
  add_to(variable, may_be_infinite_[first], may_be_zero_[first]);
  return variable;
}

std::size_t Tensors::result(std::size_t variable) {
  const Tensor known = at(variable);
  return intern({{"loop", "", {}}, {variable}, known.kind, known.sizes});
}

void Tensors::spread(const std::vector<std::pair<std::size_t, std::size_t>>& variables) {
  for (bool is_more = !variables.empty(); is_more;) {
    is_more = false;
    for (const auto& [variable, next] : variables)
      is_more = add_to(variable, may_be_infinite_[next], may_be_zero_[next]) || is_more;
    for (std::size_t k = 0; k < tensors_.size(); ++k) is_more = update(k) || is_more;
  }
}

std::size_t Tensors::input(std::size_t number, const Shape& shape) {
  return intern(
      {{"input", "", {{static_cast<std::int64_t>(number)}}}, {}, kind_of(shape.type), shape.sizes});
}

std::size_t Tensors::summand(const Form& form, std::vector<std::size_t> operands, std::size_t sum) {
  const Tensor whole = at(sum);
  return intern({{"summand", form.opcode + " " + form.text, form.numbers},
                 std::move(operands),
                 whole.kind,
                 whole.sizes});
}

std::size_t Tensors::unknown(const Shape& shape) {
  return intern({{"unknown", "", {{static_cast<std::int64_t>(tensors_.size())}}},
                 {},
                 kind_of(shape.type),
                 shape.sizes});
}

std::size_t Tensors::scalar(std::string_view literal, const Type& type) {
  std::string text;
  if (type.is_float()) {
    const Fraction fraction = fraction_of(real_literal(literal, type), type);
    text = Json(fraction.numerator + 0.0).dump() + "/" + Json(fraction.denominator).dump();
    if (std::isnan(fraction.numerator)) text = "nan";
    if (std::isinf(fraction.numerator)) text = fraction.numerator > 0 ? "inf" : "-inf";
  } else {
    const auto numbers = make_numbers(0, 0);
    const auto value = numbers->known(numbers->literal(literal, type), type);
    if (!value) not_covered("a constant of type " + type.name);
    text = std::to_string(*value);
  }
  return intern({{"constant", text, {}}, {}, kind_of(type), {}});
}

std::optional<std::size_t> Tensors::constant(const Instruction& instruction) {
  const auto elements = elements_of(instruction.text);
  const Shape& shape = instruction.shape;
  if (instruction.text.find("...") != std::string::npos) {
    if (!equal_.contains(instruction.name)) return std::nullopt;
    return intern({{"constant", "of the name " + instruction.name, {}},
                   {},
                   kind_of(shape.type),
                   shape.sizes});
  }
  if (elements.empty() || std::ssize(elements) != shape.elements()) return std::nullopt;
  std::string all;
  bool is_same = true;
  std::size_t first = 0;
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const std::size_t number = scalar(elements[k], shape.type);
    if (k == 0) first = number;
    is_same = is_same && number == first;
    all += tensors_[number].form.text + " ";
  }
  if (shape.sizes.empty()) return first;
  if (is_same) return make({"broadcast", "", {{}, shape.sizes}}, {first}, kind_of(shape.type));
  return intern({{"constant", all, {}}, {}, kind_of(shape.type), shape.sizes});
}

bool Tensors::is_scalar(std::size_t number, const std::string& value) const {
  const Tensor& tensor = at(number);
  return tensor.form.opcode == "constant" && tensor.sizes.empty() && tensor.form.text == value;
}

std::optional<std::int64_t> Tensors::integer(std::size_t number) const {
  const Tensor& tensor = at(number);
  if (tensor.form.opcode == "broadcast") return integer(tensor.operands[0]);
  if (tensor.form.opcode != "constant" || !tensor.sizes.empty() || tensor.kind == "float" ||
      tensor.form.text.starts_with("of the name "))
    return std::nullopt;
  return integers_in(tensor.form.text).at(0);
}

std::optional<std::size_t> Tensors::make(Form form, std::vector<std::size_t> operands,
                                         const std::string& kind) {
  std::vector<Index> all;
  for (const std::size_t each : operands) all.push_back(at(each).sizes);
  auto sizes = sizes_of(form, all);
  if (!sizes) return std::nullopt;
  const std::string& opcode = form.opcode;
  const auto has = [&](std::size_t k, const std::string& other) {
    return at(operands[k]).kind == other;
  };
  if (op_called(opcode)) {
    const bool is_select = opcode == "select";
    if (is_select && !has(0, "pred")) return std::nullopt;
    for (std::size_t k = is_select ? 1 : 0; k < operands.size(); ++k) {
      if (!has(k, at(operands.back()).kind)) return std::nullopt;
      if (all[k] != *sizes) {
        const auto wide =
            make({"broadcast", "", {{}, *sizes}}, {operands[k]}, at(operands[k]).kind);
        if (!wide) return std::nullopt;
        operands[k] = *wide;
      }
    }
    if (is_select && all[0] != *sizes) {
      const auto wide = make({"broadcast", "", {{}, *sizes}}, {operands[0]}, "pred");
      if (!wide) return std::nullopt;
      operands[0] = *wide;
    }
    const bool changes = is_one_of(opcode, {"convert", "bitcast-convert", "compare", "is-finite"});
    if (!changes && !has(operands.size() - 1, kind)) return std::nullopt;
    if (is_one_of(opcode, {"compare", "is-finite"}) && kind != "pred") return std::nullopt;
    // The order of what is added, multiplied or compared does not matter.
    if (is_one_of(opcode, {"add", "and", "maximum", "minimum", "multiply", "or", "xor"}))
      std::sort(operands.begin(), operands.end());
  } else if (opcode == "dot") {
    if (has(0, "float") != (kind == "float") || has(1, "float") != (kind == "float"))
      return std::nullopt;
  } else if (opcode != "iota" && opcode != "function") {
    const bool has_indices =
        is_one_of(opcode, {"gather", "dynamic-slice", "dynamic-update-slice", "scatter"});
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool is_index =
          has_indices && !(k == 0 || (k == 1 && opcode == "dynamic-update-slice") ||
                           (k == 2 && opcode == "scatter"));
      if (!is_index && !has(k, kind)) return std::nullopt;
    }
  }
  if (const auto simple = simplified(form, operands, kind)) return simple;
  return intern({std::move(form), std::move(operands), kind, std::move(*sizes)});
}

/// Laws of single operations, by which equal tensors are made the same way.
std::optional<std::size_t> Tensors::simplified(const Form& form,
                                               const std::vector<std::size_t>& operands,
                                               const std::string& kind) {
  const std::string& opcode = form.opcode;
  if (opcode == "gather" && form.numbers[2].size() == 1) {
    // A gather clamps its indices by itself.
    const Tensor indices = at(operands[1]);
    const std::int64_t most =
        get(at(operands[0]).sizes, form.numbers[2][0]) - get(form.numbers[6], form.numbers[2][0]);
    if (indices.form.opcode == "clamp" && integer(indices.operands[0]) == 0 &&
        integer(indices.operands[2]) == most)
      return make(form, {operands[0], indices.operands[1]}, kind);
  }
  if (opcode == "iota" && form.numbers[1].size() > 1) {
    const Index size = {get(form.numbers[1], form.numbers[0][0])};
    const auto line = make({"iota", "", {{0}, size}}, {}, kind);
    return line ? make({"broadcast", "", {form.numbers[0], form.numbers[1]}}, {*line}, kind)
                : std::nullopt;
  }
  if (operands.size() != 1) return std::nullopt;
  const Tensor x = at(operands[0]);
  if (opcode == "convert") return x.kind == kind ? std::optional(operands[0]) : std::nullopt;
  const bool is_broadcast = x.form.opcode == "broadcast";
  if (opcode == "reshape") {
    if (form.numbers[0] == x.sizes) return operands[0];
    if (x.form.opcode == "reshape") return make(form, x.operands, kind);
    if (is_broadcast && x.form.numbers[0].empty())
      return make({"broadcast", "", {{}, form.numbers[0]}}, x.operands, kind);
  }
  if (opcode == "transpose") {
    const Index& order = form.numbers[0];
    if (std::is_sorted(order.begin(), order.end())) return operands[0];
    if (x.form.opcode == "transpose") {
      Index both;
      for (const std::int64_t each : order) both.push_back(get(x.form.numbers[0], each));
      return make({"transpose", "", {both}}, x.operands, kind);
    }
    if (is_broadcast) {
      Index dimensions;
      Index sizes;
      for (const std::int64_t each : order) sizes.push_back(get(x.sizes, each));
      for (const std::int64_t each : x.form.numbers[0])
        dimensions.push_back(std::find(order.begin(), order.end(), each) - order.begin());
      return make({"broadcast", "", {dimensions, sizes}}, x.operands, kind);
    }
  }
  if (opcode == "broadcast") {
    const Index& order = form.numbers[0];
    if (form.numbers[1] == x.sizes && std::is_sorted(order.begin(), order.end()))
      return operands[0];
    // Only dimensions of one index are new.
    const auto elements = [](const Index& sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), 1.0, [](double all, std::int64_t size) {
        return all * static_cast<double>(size);
      });
    };
    if (!order.empty() && std::is_sorted(order.begin(), order.end()) &&
        elements(form.numbers[1]) == elements(x.sizes)) {
      if (const auto same = make({"reshape", "", {form.numbers[1]}}, operands, kind)) return same;
    }
    if (is_broadcast) {
      Index both;
      for (const std::int64_t each : x.form.numbers[0]) both.push_back(get(order, each));
      return make({"broadcast", "", {both, form.numbers[1]}}, x.operands, kind);
    }
  }
  if (opcode == "slice" && sizes_of(form, {x.sizes}) == x.sizes) return operands[0];
  return std::nullopt;
}

}  // namespace p2::kernel::xla
