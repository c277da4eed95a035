// Execution of modules: computations, elementwise and opaque operations.

#include "proofs/kernel/xla/interpreter.h"

#include <algorithm>
#include <set>

#include "proofs/kernel/input.h"

namespace p2::kernel::xla {
namespace {

constexpr int kMaxDepth = 64;

}  // namespace

Direction direction_of(const Instruction& comparison) {
  static const std::map<std::string, Direction> kDirections = {
      {"EQ", Direction::Eq}, {"NE", Direction::Ne}, {"LT", Direction::Lt},
      {"LE", Direction::Le}, {"GT", Direction::Gt}, {"GE", Direction::Ge}};
  const std::string& name = comparison.attribute("direction");
  const auto found = kDirections.find(name);
  if (found == kDirections.end()) malformed("no direction of a comparison: " + printable(name));
  return found->second;
}

std::vector<std::string_view> elements_of(std::string_view text) {
  std::vector<std::string_view> all;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = text.find_first_not_of("{}, \t", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of("{}, \t", begin), text.size());
    all.push_back(text.substr(begin, at - begin));
  }
  return all;
}

bool returns_operand(const std::string& opcode) {
  static const std::set<std::string> kAll = {
      "add-dependency", "all-gather-done",     "all-reduce-done",
      "async-done",     "async-update",        "collective-permute-done",
      "copy",           "copy-done",           "copy-start",
      "opt-barrier",    "optimization-barrier"};
  return kAll.contains(opcode);
}

bool depends_on_device(const std::string& opcode) {
  static const std::set<std::string> kAll = {"async-start", "custom-call", "partition-id",
                                             "ragged-all-to-all", "replica-id"};
  return kAll.contains(opcode) || opcode.starts_with("all-") || opcode.starts_with("collective-") ||
         opcode.starts_with("reduce-scatter");
}

bool is_commutative(const std::string& opcode) {
  static const std::set<std::string> kAll = {"add",      "and", "maximum", "minimum",
                                             "multiply", "or",  "xor"};
  return kAll.contains(opcode);
}

std::optional<Op> commutative_op(const Computation& computation) {
  const Instruction& root = computation.instructions.at(computation.root);
  const auto& parameters = computation.parameters;
  if (parameters.size() != 2 || !std::ranges::is_permutation(root.operands, parameters))
    return std::nullopt;
  for (const std::uint32_t each : parameters) {
    if (!fit(computation.instructions[each].shape.type, root.shape.type)) return std::nullopt;
  }
  return is_commutative(root.opcode) ? op_called(root.opcode) : std::nullopt;
}

const Instruction* commutative_operation(const Computation& reducer, std::uint32_t result,
                                         const std::array<std::uint32_t, 2>& sides) {
  const auto keeps_number = [&](const Instruction& each) {
    if (each.operands.size() != 1 || each.shape.is_tuple) return false;
    const Shape& from = reducer.instructions.at(each.operands[0]).shape;
    if (from.is_tuple) return false;
    return each.opcode == "copy"
               ? each.shape.type == from.type
               : each.opcode == "convert" && each.shape.type.is_float() && from.type.is_float();
  };
  const auto kept = [&](std::uint32_t at) {
    while (keeps_number(reducer.instructions.at(at))) at = reducer.instructions[at].operands[0];
    return at;
  };
  const Instruction& operation = reducer.instructions.at(kept(result));
  std::vector<std::uint32_t> operands;
  for (const std::uint32_t each : operation.operands) {
    const Shape& from = reducer.instructions[each].shape;
    if (from.is_tuple || !fit(from.type, operation.shape.type)) return nullptr;
    operands.push_back(kept(each));
  }
  return is_commutative(operation.opcode) && std::ranges::is_permutation(operands, sides)
             ? &operation
             : nullptr;
}

namespace {

/// Whether a reducer is commutative, of several arrays at once for each, rounded or not.
bool is_free_of_order(const Computation& reducer) {
  const std::size_t count = reducer.parameters.size() / 2;
  const Instruction& root = reducer.instructions.at(reducer.root);
  std::vector<std::uint32_t> roots = {reducer.root};
  if (root.opcode == "tuple") roots = root.operands;
  if (roots.size() != count || reducer.parameters.size() != 2 * count) return false;
  for (std::size_t k = 0; k < count; ++k) {
    if (commutative_operation(reducer, roots[k],
                              {reducer.parameters[k], reducer.parameters[count + k]}) == nullptr)
      return false;
  }
  return true;
}

/// Whether the order in which an instruction takes elements decides what it computes.
bool depends_on_order(const Module& module, const Computation& computation,
                      const Instruction& each) {
  const bool has_reducer = is_one_of(each.opcode, {"all-reduce", "all-reduce-start", "reduce",
                                                   "reduce-scatter", "reduce-window", "scatter"});
  if (!has_reducer || is_free_of_order(module.called(each.attribute("to_apply")))) return false;
  if (each.opcode != "scatter" || each.operands.empty()) return true;
  const Index windows = each.numbers("update_window_dims");
  const Index& updates = computation.instructions.at(each.operands.back()).shape.sizes;
  for (std::size_t k = 0; k < updates.size(); ++k) {
    if (!contains(windows, k) && updates[k] > 1) return true;
  }
  return false;
}

/// What the root of a computation uses, operands before their uses, in an order that is that of no
/// text.
std::vector<std::uint32_t> order_of_use(const Computation& computation) {
  std::vector<std::uint32_t> order;
  std::vector<bool> is_known(computation.instructions.size(), false);
  std::vector<std::pair<std::uint32_t, std::size_t>> open = {{computation.root, 0}};
  while (!open.empty()) {
    auto& [number, next] = open.back();
    const auto& operands = computation.instructions[number].operands;
    if (is_known[number] || next == operands.size()) {
      if (!is_known[number]) order.push_back(number);
      is_known[number] = true;
      open.pop_back();
    } else {
      open.emplace_back(operands[next++], 0);
    }
  }
  return order;
}

/// Where elements lie in memory: what a bitcast reads of it depends on that. One element lies at
/// the begin.
std::string layout_of(const Shape& shape) {
  if (!shape.is_tuple && shape.elements() == 1) return "";
  std::string text;
  const auto add = [&](const Index& list) {
    text += " {";
    for (const std::int64_t each : list) text += " " + std::to_string(each);
    text += "}";
  };
  const bool is_row_major = std::is_sorted(shape.layout.rbegin(), shape.layout.rend());
  if (!is_row_major) add(shape.layout);
  for (const Index& tile : shape.tiles) add(tile);
  for (const Shape& part : shape.parts) text += layout_of(part) + ",";
  return text;
}

}  // namespace

void require_no_new_order(const Module& before, const Module& after) {
  const auto has = [](const Module& module, const auto& is_so) {
    return std::ranges::any_of(module.computations, [&](const auto& named) {
      return std::ranges::any_of(named.second.instructions, [&](const Instruction& each) {
        return is_so(named.second, each);
      });
    });
  };
  const auto is_open = [](const Module& module) {
    return [&](const Computation& computation, const Instruction& each) {
      return depends_on_order(module, computation, each);
    };
  };
  if (!has(after, is_open(after)) || has(before, is_open(before))) return;
  const bool selects = has(before, [](const Computation& /*of*/, const Instruction& each) {
    return each.opcode == "select-and-scatter";
  });
  const auto is_new = [&](const Computation& computation, const Instruction& each) {
    const bool is_selection = selects && each.opcode == "reduce-window" &&
                              keeps_greatest(after.called(each.attribute("to_apply")));
    return !is_selection && depends_on_order(after, computation, each);
  };
  if (has(after, is_new)) not_covered("a reduction or scatter that may take elements in any order");
}

std::string description_of(const Module& module, const Instruction& instruction, int depth) {
  if (depth > 16) not_covered("calls nested deeper than 16");
  if (instruction.opcode == "constant" && instruction.text.find("...") != std::string::npos)
    not_covered("a constant without its elements");
  // What a function calls is one, too, whatever the device.
  if (depth > 0 && depends_on_device(instruction.opcode))
    not_covered(instruction.opcode + " in a function");
  std::string text = instruction.opcode + instruction.text;
  for (const auto& [key, value] : instruction.attributes) {
    const bool is_hint = key == "frontend_attributes" || key == "sharding" ||
                         key == "backend_config" || key == "control-predecessors";
    if (is_hint && instruction.opcode != "custom-call") continue;
    // Nor is a value that looks like several attributes.
    const std::size_t next = value.find(", ");
    if (!is_hint && next != std::string::npos && value.find('=', next) != std::string::npos)
      not_covered("several attributes under " + key);
    text += ", " + key + "=";
    const bool is_list = value.starts_with('{');
    if (!names_computations(key)) {
      // A name says nothing of the computation that it stands for.
      if (value.find('%') != std::string::npos || module.computations.contains(value))
        not_covered("a computation under " + key);
      text += value;
      continue;
    }
    for (const auto name : split(is_list ? stripped(value, '{', '}') : value)) {
      const Computation& computation = module.called(std::string(trimmed(name)));
      text += "{root";
      const std::vector<std::uint32_t> order = order_of_use(computation);
      std::vector<std::size_t> numbers(computation.instructions.size());
      for (std::size_t k = 0; k < order.size(); ++k) {
        const Instruction& each = computation.instructions[order[k]];
        numbers[order[k]] = k;
        (text += "; ") += each.shape.type.name;
        for (const std::int64_t size : each.shape.sizes) text += " " + std::to_string(size);
        text += layout_of(each.shape);
        text += " " + description_of(module, each, depth + 1);
        for (const std::uint32_t operand : each.operands)
          text += " %" + std::to_string(numbers[operand]);
      }
      text += "}";
    }
  }
  return text;
}

Index strides_of(const Index& sizes) {
  Index strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

std::size_t place_of(const Index& sizes, const Index& index) {
  if (index.size() != sizes.size()) malformed("an index of other dimensions");
  std::int64_t place = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= sizes[i]) malformed("an index beyond its tensor");
    place = place * sizes[i] + index[i];
  }
  return static_cast<std::size_t>(place);
}

const Cell& element(const Tensor& tensor, const Index& index) {
  return tensor.cells.at(place_of(tensor.sizes, index));
}

bool contains(const Index& list, std::size_t number) {
  return std::find(list.begin(), list.end(), static_cast<std::int64_t>(number)) != list.end();
}

void for_each_index(const Index& sizes, const std::function<void(const Index&)>& visit) {
  Index index(sizes.size(), 0);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  for (;;) {
    visit(index);
    std::size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

Tensor Interpreter::filled(const Shape& shape, const std::function<Cell(const Index&)>& cell) {
  Tensor result{shape.type, shape.sizes, {}};
  const auto count = static_cast<std::size_t>(shape.elements());
  budget_.spend(24 * count + 1);
  result.cells.reserve(count);
  for_each_index(shape.sizes, [&](const Index& index) { result.cells.push_back(cell(index)); });
  return result;
}

Value Interpreter::everywhere(const Operands& operands, const Local& local, bool differs) {
  Value result;
  std::map<std::vector<const Tensor*>, TensorPtr> known;
  Tensors tensors, last;
  for (std::size_t device = 0; device < devices_.count(); ++device) {
    std::swap(tensors, last);
    tensors.clear();
    for (const Value* operand : operands) {
      if (operand->devices.empty()) not_covered("an operation on a tuple");
      tensors.push_back(operand->devices[device].get());
    }
    if (device > 0 && tensors == last && !differs) {
      result.devices.push_back(result.devices.back());
      continue;
    }
    TensorPtr made;
    if (const auto found = known.find(tensors); found != known.end() && !differs) {
      made = found->second;
    } else {
      made = std::make_shared<const Tensor>(local(device, tensors));
      known[tensors] = made;
    }
    result.devices.push_back(std::move(made));
  }
  return result;
}

Value Interpreter::every_result(const Instruction& instruction, const Operands& operands,
                                const LocalResult& local, bool differs) {
  const std::size_t results = instruction.shape.is_tuple ? instruction.shape.parts.size() : 1;
  Value all;
  for (std::size_t number = 0; number < results; ++number) {
    all.parts.push_back(everywhere(
        operands,
        [&](std::size_t device, const Tensors& tensors) { return local(number, device, tensors); },
        differs));
  }
  return instruction.shape.is_tuple ? all : std::move(all.parts.at(0));
}

namespace {

void require_shape(const Value& value, const Shape& shape, const Instruction& instruction) {
  if (shape.is_tuple) {
    if (value.parts.size() != shape.parts.size() || !value.devices.empty())
      malformed("the shape of " + printable(instruction.name));
    for (std::size_t k = 0; k < value.parts.size(); ++k)
      require_shape(value.parts[k], shape.parts[k], instruction);
    return;
  }
  if (shape.type.name == "token") return;
  if (value.devices.empty()) malformed("the shape of " + printable(instruction.name));
  for (const TensorPtr& tensor : value.devices) {
    if (!(tensor->type == shape.type) || tensor->sizes != shape.sizes)
      malformed("the shape of " + printable(instruction.name));
  }
}

}  // namespace

Value Interpreter::evaluate(const Computation& computation, const std::vector<Value>& arguments) {
  if (arguments.size() != computation.parameters.size())
    malformed("a computation is called with another number of operands");
  if (++depth_ > kMaxDepth) not_covered("calls nested deeper than 64");
  const auto& instructions = computation.instructions;
  std::vector<std::size_t> last(instructions.size(), 0);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    for (const std::uint32_t operand : instructions[i].operands) last[operand] = i;
  }
  last[computation.root] = instructions.size();
  std::vector<Value> values(instructions.size());
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const Instruction& parameter = instructions[computation.parameters[k]];
    require_shape(arguments[k], parameter.shape, parameter);
    values[computation.parameters[k]] = arguments[k];
  }
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    if (instruction.opcode == "parameter") continue;
    Operands operands;
    for (const std::uint32_t operand : instruction.operands) operands.push_back(&values[operand]);
    budget_.spend(devices_.count());
    values[i] = result(computation, instruction, operands);
    // The shape of a start also has its operands, and a buffer for what is under way.
    if (!instruction.opcode.ends_with("-start") && instruction.opcode != "async-update")
      require_shape(values[i], instruction.shape, instruction);
    for (const std::uint32_t operand : instruction.operands) {
      if (last[operand] == i) values[operand] = {};
    }
  }
  --depth_;
  return std::move(values[computation.root]);
}

Value Interpreter::result(const Computation& computation, const Instruction& instruction,
                          const Operands& operands) {
  const std::string& opcode = instruction.opcode;
  const auto all = [&] {
    std::vector<Value> arguments;
    for (const Value* operand : operands) arguments.push_back(*operand);
    return arguments;
  };
  if (opcode == "tuple") return {{}, all()};
  if (auto value = generated(instruction)) return std::move(*value);
  if (operands.empty() && opcode != "custom-call" && opcode != "call" && opcode != "fusion")
    not_covered(printable(opcode));
  if (opcode == "get-tuple-element") {
    const std::string& from = computation.instructions[instruction.operands[0]].opcode;
    if (from.ends_with("-start")) not_covered("an element of " + from);
    const auto index = static_cast<std::size_t>(instruction.number("index", -1));
    if (index >= operands[0]->parts.size()) malformed("no such element of a tuple");
    return operands[0]->parts[index];
  }
  if (returns_operand(opcode)) return *operands[0];
  if (opcode == "call" || opcode == "fusion" || opcode == "async-start") {
    const char* key = opcode == "call" ? "to_apply" : "calls";
    return evaluate(module_.called(instruction.attribute(key)), all());
  }
  if (opcode == "while") return loop(instruction, *operands[0]);
  if (opcode == "conditional") return branch(instruction, operands);
  if (opcode == "custom-call") return custom(computation, instruction, operands);
  if (auto value = collective(instruction, operands)) return std::move(*value);
  if (opcode == "reduce") {
    require_form(module_, computation, instruction);
    return reduce(instruction, operands);
  }
  if (opcode == "reduce-window") return reduce_window(instruction, operands);
  if (opcode == "sort") return sort(instruction, operands);
  if (opcode == "map") {
    const Scalar function = scalar_function(instruction.attribute("to_apply"));
    return everywhere(operands, [&](std::size_t, const Tensors& tensors) {
      std::size_t at = 0;
      return filled(instruction.shape, [&](const Index&) {
        std::vector<Cell> arguments;
        std::vector<Type> types;
        for (const Tensor* tensor : tensors) {
          arguments.push_back(tensor->cells.at(at));
          types.push_back(tensor->type);
        }
        ++at;
        return call(function, types, arguments).at(0);
      });
    });
  }
  const auto op = op_called(opcode);
  static const std::map<std::string, Tensor (Interpreter::*)(const Instruction&, const Tensors&)>
      kLocal = {{"dot", &Interpreter::dot},
                {"convolution", &Interpreter::convolution},
                {"gather", &Interpreter::gather},
                {"scatter", &Interpreter::scatter},
                {"dynamic-slice", &Interpreter::dynamic_slice},
                {"dynamic-update-slice", &Interpreter::dynamic_update_slice},
                {"reshape", &Interpreter::moved},
                {"transpose", &Interpreter::moved},
                {"broadcast", &Interpreter::moved},
                {"slice", &Interpreter::moved},
                {"concatenate", &Interpreter::moved},
                {"pad", &Interpreter::moved},
                {"reverse", &Interpreter::moved}};
  const auto local = kLocal.find(opcode);
  if (!op && local == kLocal.end() && opcode != "bitcast") {
    // Functions of their operands on one device.
    static const char* const kOpaque[] = {"batch-norm-grad",
                                          "batch-norm-inference",
                                          "batch-norm-training",
                                          "cholesky",
                                          "complex",
                                          "fft",
                                          "imag",
                                          "mulhi",
                                          "real",
                                          "rng-bit-generator",
                                          "select-and-scatter",
                                          "stochastic-convert",
                                          "topk",
                                          "triangular-solve"};
    if (std::find(std::begin(kOpaque), std::end(kOpaque), opcode) == std::end(kOpaque))
      not_covered(printable(opcode));
    return opaque(instruction, operands);
  }
  if (local != kLocal.end()) require_form(module_, computation, instruction);
  return everywhere(operands, [&](std::size_t, const Tensors& tensors) {
    if (op) return elementwise(instruction, *op, tensors);
    if (local != kLocal.end()) return (this->*local->second)(instruction, tensors);
    return bitcast(computation, instruction, *tensors[0]);
  });
}

/// The value of an instruction without operands.
std::optional<Value> Interpreter::generated(const Instruction& instruction) {
  const std::string& opcode = instruction.opcode;
  const Shape& shape = instruction.shape;
  if (opcode == "after-all") return Value{};
  if (opcode == "constant") {
    const auto elements = elements_of(instruction.text);
    if (std::ssize(elements) != shape.elements()) not_covered("a constant without its elements");
    std::size_t next = 0;
    return everywhere({}, [&](std::size_t, const Tensors&) {
      return filled(shape, [&](const Index&) {
        return arithmetic_.literal(elements[next++], instruction.literal_type());
      });
    });
  }
  if (opcode == "iota") {
    const auto dimension = static_cast<std::size_t>(instruction.number("iota_dimension", 0));
    return everywhere({}, [&](std::size_t, const Tensors&) {
      return filled(shape, [&](const Index& index) {
        return arithmetic_.integer(index.at(dimension), shape.type);
      });
    });
  }
  if (opcode != "partition-id" && opcode != "replica-id") return std::nullopt;
  return everywhere(
      {},
      [&](std::size_t device, const Tensors&) {
        const auto id = static_cast<std::int64_t>(device);
        const std::int64_t own =
            opcode == "partition-id" ? id % devices_.partitions : id / devices_.partitions;
        return Tensor{shape.type, {}, {arithmetic_.integer(own, shape.type)}};
      },
      true);
}

Tensor Interpreter::elementwise(const Instruction& instruction, Op op, const Tensors& operands) {
  static const std::map<Op, std::size_t> kOperands = [] {
    std::map<Op, std::size_t> counts = {{Op::Clamp, 3}, {Op::Select, 3}};
    for (const Op each :
         {Op::Add, Op::And, Op::Atan2, Op::Compare, Op::Divide, Op::Maximum, Op::Minimum,
          Op::Multiply, Op::Or, Op::Power, Op::Remainder, Op::ShiftLeft, Op::ShiftRightArithmetic,
          Op::ShiftRightLogical, Op::Subtract, Op::Xor})
      counts[each] = 2;
    return counts;
  }();
  const auto count = kOperands.find(op);
  if (operands.size() != (count == kOperands.end() ? 1 : count->second))
    malformed(instruction.opcode + " has another number of operands");
  Elementwise operation{op, operands.back()->type, instruction.shape.type};
  const bool makes_another_type =
      op == Op::Convert || op == Op::BitcastConvert || op == Op::Compare || op == Op::IsFinite;
  const bool is_select = op == Op::Select;
  if (is_select && !operands[0]->type.is_boolean()) malformed("a select by no truth value");
  for (std::size_t k = is_select ? 1 : 0; k < operands.size(); ++k) {
    if (!fit(operands[k]->type, makes_another_type ? operation.from : operation.to))
      malformed("operands of other types: " + printable(instruction.name));
  }
  bool is_total = false;
  if (op == Op::Compare) {
    operation.direction = direction_of(instruction);
    const Type& of = operation.from;
    const std::string as = instruction.has("type") ? instruction.attribute("type") : "";
    const bool is_its = of.is_float()                   ? as == "FLOAT" || as == "TOTALORDER"
                        : of.kind == Type::Kind::Signed ? as == "SIGNED"
                                                        : as == "UNSIGNED";
    is_total = as == "TOTALORDER";
    if (!as.empty() && !is_its && of.kind != Type::Kind::Other)
      malformed("a comparison of another type: " + printable(instruction.name));
  }
  Tensor result{instruction.shape.type, instruction.shape.sizes, {}};
  const auto elements = static_cast<std::size_t>(instruction.shape.elements());
  budget_.spend(24 * elements + 1);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool may_be_scalar = (is_select && k == 0) || (op == Op::Clamp && k != 1);
    const Index& sizes = operands[k]->sizes;
    if (sizes != instruction.shape.sizes && !(may_be_scalar && sizes.empty()))
      malformed("operands of other sizes: " + printable(instruction.name));
  }
  result.cells.reserve(elements);
  Cell cells[3];
  for (std::size_t i = 0; i < elements; ++i) {
    for (std::size_t k = 0; k < operands.size(); ++k)
      cells[k] = operands[k]->cells[operands[k]->cells.size() == 1 ? 0 : i];
    // In the total order NaN is larger or smaller than everything, and equal to itself.
    const auto may_be_nan = [](const Cell& cell) { return cell.is_unreal || std::isnan(cell.low); };
    const bool is_open = is_total && (may_be_nan(cells[0]) || may_be_nan(cells[1]));
    result.cells.push_back(is_open ? arithmetic_.arbitrary(operation.to)
                                   : arithmetic_.apply(operation, {cells, operands.size()}));
  }
  return result;
}

/// with other devices, of the operands of all devices and of the device.
Value Interpreter::opaque(const Instruction& instruction, const Operands& operands) {
  const std::string name = description_of(module_, instruction);
  const bool differs = instruction.opcode == "custom-call";
  if (differs && !active_.empty()) not_covered("a custom-call that some devices do not execute");
  const std::vector<Shape> shapes = arrays_of(instruction.shape);
  if (instruction.shape.is_tuple && shapes.size() != instruction.shape.parts.size())
    not_covered(instruction.opcode + " with nested results");
  const auto unwrapped = [&](const Cell& cell, const Type& type) {
    // Integers as they are after they wrap around.
    const Cell both[] = {cell, cell};
    return type.is_integer() ? arithmetic_.apply({Op::Maximum, type, type}, both) : cell;
  };
  std::vector<Cell> exchanged;
  for (std::size_t k = 0; differs && k < operands.size(); ++k) {
    for (const TensorPtr& tensor : operands[k]->devices) {
      budget_.spend(8 * tensor->cells.size());
      for (const Cell& cell : tensor->cells) exchanged.push_back(unwrapped(cell, tensor->type));
    }
  }
  exchanged = {arithmetic_.function("exchanged", exchanged, type_called("f32"))};
  const auto local = [&](std::size_t k, std::size_t device, const Tensors& tensors) {
    std::vector<Cell> cells = exchanged;
    std::string key = name + " " + std::to_string(k) + std::string(shapes[k].type.name);
    for (const std::int64_t size : shapes[k].sizes) key += " " + std::to_string(size);
    if (differs) key += " on " + std::to_string(device);
    for (const Tensor* tensor : tensors) {
      key +=
          " " + std::string(tensor->type.name) + "[" + std::to_string(tensor->cells.size()) + "]";
      for (const std::int64_t size : tensor->sizes) key += " " + std::to_string(size);
      budget_.spend(8 * tensor->cells.size());
      for (const Cell& cell : tensor->cells) cells.push_back(unwrapped(cell, tensor->type));
    }
    const Cell digest = arithmetic_.function(key, cells, type_called("f32"));
    std::int64_t next = 0;
    return filled(shapes[k], [&](const Index&) {
      const Cell arguments[] = {digest, arithmetic_.integer(next++, type_called("s32"))};
      return arithmetic_.function("element", arguments, shapes[k].type);
    });
  };
  return every_result(instruction, operands, local, differs);
}

Value Interpreter::custom(const Computation& computation, const Instruction& instruction,
                          const Operands& operands) {
  const std::string target(stripped(instruction.attribute("custom_call_target"), '"', '"'));
  if (target == "Sharding" || target == "xla.sdy.FuncResultSharding") return *operands.at(0);
  // Parts that are written for one device, between global tensors.
  const bool is_cut = target == "SPMDFullToShardShape" || target == "xla.sdy.GlobalToLocalShape";
  const bool is_joined = target == "SPMDShardToFullShape" || target == "xla.sdy.LocalToGlobalShape";
  if (is_cut || is_joined) return manual(computation, instruction, operands, is_cut);
  if (instruction.allocates_memory() && !instruction.shape.is_tuple) {
    return everywhere(
        {},
        [&](std::size_t, const Tensors&) {
          return filled(instruction.shape, [&](const Index&) {
            return arithmetic_.unwritten(instruction.shape.type);
          });
        },
        true);
  }
  if (instruction.attributes.contains("custom_call_has_side_effect") || operands.empty() ||
      target.starts_with("xla.sdy."))
    not_covered("custom-call " + printable(target));
  return opaque(instruction, operands);
}

}  // namespace p2::kernel::xla
