#include "tests/hlo/symbolic_programs.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo::small {
namespace {

using interpreter::Element;
using interpreter::ElementOperation;
using interpreter::Expression;
using interpreter::Expressions;
using kernel::xla::Fact;
using kernel::xla::Op;
using kernel::xla::View;

constexpr std::uint64_t kMaxOperations = 100'000'000;

std::string type_of(const std::string& kind) { return kind == "float" ? "f32" : kind; }
ElementType element_type(const std::string& kind) {
  return ElementType::from_xla(type_of(kind)).value();
}

std::size_t offset_of(const Index& index, const Index& sizes) {
  std::size_t offset = 0;
  for (std::size_t k = 0; k < index.size(); ++k)
    offset = offset * static_cast<std::size_t>(sizes[k]) + static_cast<std::size_t>(index[k]);
  return offset;
}

std::string shape_text(const std::string& kind, const Index& sizes) {
  return fmt::format("{}[{}]", type_of(kind), fmt::join(sizes, ","));
}

/// `1.0/2.0` as a literal.
std::string literal(const std::string& word, const std::string& kind) {
  if (kind == "pred") return word == "0" || word == "false" ? "false" : "true";
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos) return word;
  return fmt::format("{}", std::stod(word) / std::stod(word.substr(slash + 1)));
}

/// Windows and labels, of the description of a function.
std::string attributes_written(const std::string& text) {
  const std::string labels = text_between(text + ",", ", dim_labels=", ',');
  return ", window={" + text_between(text, ", window={", '}') + "}" +
         (labels.empty() ? "" : ", dim_labels=" + labels.substr(0, labels.find(' ')));
}

/// A function that the engine executes, as it is written.
Form instruction_of(Form form) {
  for (const char* opcode : {"cholesky", "convolution", "reduce-window", "select-and-scatter"}) {
    if (form.text.starts_with(opcode)) form.opcode = opcode;
  }
  return form;
}

std::string attributes_of(const Form& form) {
  const auto& n = form.numbers;
  const std::string& opcode = form.opcode;
  if (opcode == "compare") {
    const std::size_t space = form.text.find(' ');
    return ", direction=" + form.text.substr(0, space) +
           (space == std::string::npos ? "" : ", type=" + form.text.substr(space + 1));
  }
  if (opcode == "iota") return fmt::format(", iota_dimension={}", n[0].at(0));
  if (opcode == "broadcast" || opcode == "transpose" || opcode == "reverse" ||
      opcode == "concatenate" || opcode == "reduce")
    return ", dimensions=" + listed(n[0]);
  if (opcode == "slice" || opcode == "pad") {
    std::string text;
    for (std::size_t k = 0; k < n[0].size(); ++k) {
      const std::string between = k == 0 ? "" : opcode == "slice" ? ", " : "x";
      text += opcode == "slice" ? fmt::format("{}[{}:{}:{}]", between, n[0][k], n[1][k], n[2][k])
                                : fmt::format("{}{}_{}_{}", between, n[0][k], n[1][k], n[2][k]);
    }
    return opcode == "slice" ? ", slice={" + text + "}" : ", padding=" + text;
  }
  if (opcode == "dot")
    return fmt::format(
        ", lhs_batch_dims={}, rhs_batch_dims={}, lhs_contracting_dims={}, rhs_contracting_dims={}",
        listed(n[0]), listed(n[1]), listed(n[2]), listed(n[3]));
  if (opcode == "gather")
    return fmt::format(
        ", offset_dims={}, collapsed_slice_dims={}, start_index_map={}, operand_batching_dims={}, "
        "start_indices_batching_dims={}, index_vector_dim={}, slice_sizes={}",
        listed(n[0]), listed(n[1]), listed(n[2]), listed(n[3]), listed(n[4]), n[5][0],
        listed(n[6]));
  if (opcode == "scatter")
    return fmt::format(
        ", update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, "
        "input_batching_dims={}, scatter_indices_batching_dims={}, index_vector_dim={}",
        listed(n[0]), listed(n[1]), listed(n[2]), listed(n[3]), listed(n[4]), n[5][0]);
  if (opcode == "dynamic-slice") return ", dynamic_slice_sizes=" + listed(n[0]);
  if (opcode == "cholesky") return ", lower=true";
  if (opcode == "reduce-window" || opcode == "convolution" || opcode == "select-and-scatter")
    return attributes_written(form.text);
  return "";
}

}  // namespace

std::string TensorText::add(const Form& form, const std::string& kind, const Index& sizes,
                            const std::string& operands) {
  last_ = fmt::format("t{}", count_++);
  std::string attributes = attributes_of(form);
  if (form.opcode == "reduce-window") {
    const bool is_maximum = form.text.find("maximum %0 %1") != std::string::npos;
    reducers_.insert({is_maximum ? "maximum" : "add", type_of(kind)});
    attributes += fmt::format(", to_apply={}_{}", is_maximum ? "maximum" : "add", type_of(kind));
  }
  if (form.opcode == "select-and-scatter") {
    for (const char* reducer : {"ge", "add"}) reducers_.insert({reducer, type_of(kind)});
    attributes += fmt::format(", select=ge_{0}, scatter=add_{0}", type_of(kind));
  }
  if (form.opcode == "reduce" || form.opcode == "scatter") {
    // A reducer that is no operation of two scalars is printed with its computation.
    const bool is_difference = form.text.find("subtract %0 %1") != std::string::npos;
    const std::string reducer = is_difference ? "subtract" : form.text;
    reducers_.insert({reducer, type_of(kind)});
    attributes += fmt::format(", to_apply={}_{}", reducer, type_of(kind));
  }
  lines_ += fmt::format("  {} = {} {}({}){}\n", last_, shape_text(kind, sizes), form.opcode,
                        operands, attributes);
  return last_;
}

bool TensorText::has_summand(std::size_t tensor) const {
  const auto& known = tensors_.at(tensor);
  return known.form.opcode == "summand" ||
         std::any_of(known.operands.begin(), known.operands.end(),
                     [&](std::size_t each) { return has_summand(each); });
}

std::string TensorText::name_of(std::size_t tensor, const std::optional<Index>& of_summand) {
  const auto summand = has_summand(tensor) ? of_summand : std::nullopt;
  const std::pair key(tensor, summand);
  const auto found = names_.find(key);
  if (found != names_.end()) return found->second;
  const auto& known = tensors_.at(tensor);
  Form form = known.form;
  if (form.opcode == "input") {
    const std::string number = fmt::format("{}", form.numbers.at(0).at(0));
    return names_[key] = add({"parameter", "", {}}, known.kind, known.sizes, number);
  }
  if (form.opcode == "constant") {
    std::string list;
    for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
      end = form.text.find(' ', at);
      const std::string word = form.text.substr(at, end - at);
      if (!word.empty()) list += (list.empty() ? "" : ", ") + literal(word, known.kind);
    }
    if (!known.sizes.empty()) list = "{" + list + "}";
    return names_[key] = add({"constant", "", {}}, known.kind, known.sizes, list);
  }
  if (form.opcode == "function") form = instruction_of(form);
  if (form.opcode == "function" || form.opcode == "unknown" || form.opcode == "shard" ||
      form.opcode == "whole" || form.opcode == "collective" || form.opcode == "variable" ||
      form.opcode == "loop")
    throw std::out_of_range("no instruction for " + form.opcode);
  std::optional<Summand> one;
  if (form.opcode == "summand") {
    one.emplace(form);
    form = one->form;
  }
  std::string operands;
  for (std::size_t k = 0; k < known.operands.size(); ++k) {
    const auto& operand = tensors_.at(known.operands[k]);
    std::string name = name_of(known.operands[k], summand);
    if (one && !operand.sizes.empty()) {
      const Form slice = one->slice_of(k, operand.sizes, summand.value());
      Index sizes;
      for (std::size_t i = 0; i < operand.sizes.size(); ++i)
        sizes.push_back(slice.numbers[1][i] - slice.numbers[0][i]);
      name = add(slice, operand.kind, sizes, name);
    }
    operands += (k == 0 ? "" : ", ") + name;
  }
  return names_[key] = add(form, known.kind, known.sizes, operands);
}

std::string TensorText::module_text() const {
  std::string text = "HloModule whole\n\n";
  for (const auto& [opcode, type] : reducers_) text += reducer_text(opcode, type);
  text += "ENTRY main {\n" + lines_;
  return text.insert(text.rfind("  " + last_ + " = ") + 2, "ROOT ") + "}\n";
}

SymbolicProgram::SymbolicProgram(const SmallProgram& program, DerivedFacts& derived,
                                 const std::vector<Fact>& facts, Expressions& expressions)
    : program_(program),
      derived_(derived),
      expressions_(expressions),
      text_(derived.modules.tensors()) {
  const std::size_t devices = program.devices();
  std::vector<std::vector<Cells>> local, whole;
  // Parameters of the whole module, in their order.
  for (std::size_t k = 0; k < program.count(); ++k) {
    const Step& step = program.at(k);
    if (step.opcode != "parameter") continue;
    const std::size_t number = local.size();
    const auto& relation = program.relations().at(number);
    const ElementType type = element_type(step.type);
    Index sizes;
    for (const Axis& each : step.axes) sizes.push_back(each.whole);
    const auto symbol = [&](std::uint64_t kind, std::uint64_t of, std::uint64_t element) {
      // Numbers that are far from where the type overflows: sums and products are real numbers.
      const ElementType from = type.is_float() ? element_type("f16") : type;
      const std::uint64_t keys[] = {kind, number, of, element, type.index()};
      const Expression operand[] = {expressions.input(keys, from)};
      if (from == type) return operand[0];
      return expressions.apply({Element::Convert, interpreter::Direction::Eq, from, type}, operand);
    };
    Cells& all = whole.emplace_back().emplace_back();
    for (const Index& index : indices_of(sizes)) {
      Cells parts;
      for (std::uint32_t part = 0; part < relation.parts; ++part)
        parts.push_back(symbol(0, part, offset_of(index, sizes)));
      all.push_back(parts.size() == 1 ? parts[0] : reduced(*step.reducer, parts, type));
    }
    auto& arrays = local.emplace_back(devices);
    for (std::size_t device = 0; device < devices; ++device) {
      for (const Index& index : indices_of(step.sizes))
        arrays[device].push_back(symbol(1, device, offset_of(index, step.sizes)));
    }
    for (const auto& piece : relation.pieces) {
      for (const Index& offset : indices_of(piece.sizes)) {
        Index own = piece.at, of = piece.of;
        for (std::size_t i = 0; i < offset.size(); ++i) {
          own[i] += offset[i];
          of[i] += offset[i];
        }
        arrays[piece.device][offset_of(own, step.sizes)] =
            symbol(0, piece.part, offset_of(of, sizes));
      }
    }
  }
  local_ = executed(program.local_text(), devices, local);
  // Parameters are numbered as inputs are: all of them, so that none is missing.
  for (std::size_t tensor = 0; tensor < derived.modules.tensors().count(); ++tensor) {
    if (derived.modules.tensors().at(tensor).form.opcode == "input") text_.name_of(tensor);
  }
  for (const Fact& fact : facts) {
    text_.name_of(fact.tensor);
    if (fact.view && fact.view->kind == View::Kind::Where) text_.name_of(fact.view->of);
    if (!fact.share) continue;
    for (const Index& each : summands_of(derived.modules, fact, {}))
      text_.name_of(fact.share->summand, each);
  }
  if (!facts.empty()) whole_ = executed(text_.module_text(), 1, whole);
}

SymbolicArrays SymbolicProgram::executed(const std::string& text, std::size_t devices,
                                         const std::vector<std::vector<Cells>>& parameters) {
  using Run = interpreter::Interpreter<Expressions>;
  const Module module = read_hlo("small.hlo", text);
  const Limits limits;
  interpreter::Work work(limits, kMaxOperations);
  Run run(module, 0, {1, static_cast<std::int64_t>(devices)}, expressions_, work);
  std::vector<Run::PerDevice> values;
  const auto& entry = module.computations[module.entry];
  for (const std::uint32_t index : entry.parameters) {
    const auto& instruction = entry.instructions[index];
    const auto& given = parameters.at(values.size());
    Run::PerDevice& all = values.emplace_back();
    for (const Cells& cells : given) {
      Run::Tree tree;
      tree.array.shape = instruction.shape.array;
      tree.array.cells = std::make_shared<const Cells>(cells);
      all.push_back(std::make_shared<const Run::Tree>(std::move(tree)));
    }
  }
  SymbolicArrays arrays;
  run.observe(
      [&](const Instruction& instruction, const Run::Operands&, const Run::PerDevice& results) {
        auto& all = arrays[instruction.name];
        all.clear();
        for (const auto& each : results) all.push_back(*each->array.cells);
      });
  run.run(values);
  if (!run.opaque_instructions().empty()) {
    for (const Instruction* each : run.opaque_instructions()) {
      if (each->opcode != "cholesky") throw NotExecuted(each->opcode);
    }
  }
  return arrays;
}

Expression SymbolicProgram::reduced(Op op, const Cells& parts, ElementType type) {
  const Element code = interpreter::element_of(small::name_of(op)).value();
  Expression total = parts.at(0);
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const Expression both[] = {total, parts[k]};
    total = expressions_.apply({code, interpreter::Direction::Eq, type, type}, both);
  }
  return total;
}

Expression SymbolicProgram::whole_element(std::size_t tensor, const Index& index,
                                          const std::optional<Index>& summand) {
  const Index& sizes = derived_.modules.tensors().at(tensor).sizes;
  return whole_.at(text_.name_of(tensor, summand)).at(0).at(offset_of(index, sizes));
}

/// What a device has to have by a view; where that says nothing, what it has.
Expression SymbolicProgram::seen(const Fact& fact, std::size_t device, const Index& index,
                                 const Expression& found) {
  const Expression whole = whole_element(fact.tensor, index);
  if (!fact.view) return whole;
  const View& view = *fact.view;
  const auto& tensors = derived_.modules.tensors();
  const ElementType type = element_type(tensors.at(fact.tensor).kind);
  const ElementType boolean = element_type("pred");
  const std::int64_t from = view.from.at(device);
  const auto truth = [&](Element code, const Expression& a, const Expression& b) {
    const Expression both[] = {a, b};
    return expressions_.apply({code, interpreter::Direction::Eq, boolean, boolean}, both);
  };
  const auto within = [&](const Expression& element, ElementType of) {
    Expression result = expressions_.integer(1, boolean);
    if (from != -kernel::xla::kNoBound) {
      const Expression both[] = {element, expressions_.integer(from, of)};
      result =
          expressions_.apply({Element::Compare, interpreter::Direction::Ge, of, boolean}, both);
    }
    if (view.to.at(device) == kernel::xla::kNoBound) return result;
    const Expression both[] = {element, expressions_.integer(view.to[device], of)};
    return truth(
        Element::And, result,
        expressions_.apply({Element::Compare, interpreter::Direction::Lt, of, boolean}, both));
  };
  switch (view.kind) {
    case View::Kind::Minus: {
      const Expression both[] = {whole, expressions_.integer(from, type)};
      return expressions_.apply({Element::Subtract, interpreter::Direction::Eq, type, type}, both);
    }
    case View::Kind::Within: {
      const Expression inside = within(whole, type);
      return view.is_not ? truth(Element::Xor, inside, expressions_.integer(1, boolean)) : inside;
    }
    case View::Kind::Where: {
      const ElementType of = element_type(tensors.at(view.of).kind);
      const Expression parts[] = {within(whole_element(view.of, index), of), whole, found};
      return expressions_.apply({Element::Select, interpreter::Direction::Eq, type, type}, parts);
    }
    case View::Kind::Only:
      break;
  }
  return from == 0 ? expressions_.integer(0, type) : whole;
}

std::string SymbolicProgram::add(std::size_t step, const Fact& fact,
                                 std::vector<interpreter::OutputElement>& elements) {
  const Index& own = program_.at(step).sizes;
  const auto& tensor = derived_.modules.tensors().at(fact.tensor);
  const Claims claims = claims_of(derived_.modules, fact, own, tensor.sizes);
  if (!claims.contradiction.empty()) return claims.contradiction;
  const bool is_condition = fact.view && fact.view->kind == View::Kind::Within;
  const ElementType type = element_type(is_condition ? "pred" : tensor.kind);
  const auto& arrays = local_.at(fmt::format("v{}", step));
  for (const Claim& claim : claims.all) {
    Cells found;
    for (const std::size_t device : claim.devices)
      found.push_back(arrays.at(device).at(offset_of(claim.own, own)));
    if (claim.are_copies) {
      elements.push_back({found[0], found[1], type});
      continue;
    }
    Expression expected;
    if (fact.share) {
      Cells all = {expressions_.integer(0, type)};
      for (const Index& each : summands_of(derived_.modules, fact, claim.devices))
        all.push_back(whole_element(fact.share->summand, claim.whole, each));
      expected = reduced(Op::Add, all, type);
      if (found.empty()) found = {whole_element(fact.tensor, claim.whole)};
    } else {
      expected = seen(fact, claim.devices[0], claim.whole, found[0]);
    }
    const Op op = fact.partial ? derived_.modules.places().partial_at(*fact.partial).op : Op::Add;
    elements.push_back({reduced(op, found, type), expected, type});
  }
  return "";
}

}  // namespace p2::hlo::small
