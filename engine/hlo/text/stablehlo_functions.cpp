// A recursive-descent parser of functions, regions and operations in MLIR text.

#include "engine/hlo/text/stablehlo_functions.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/text/mlir_syntax.h"

namespace p2::hlo {
namespace {

constexpr int kMaxRegionDepth = 64;

/// `[[@f, @f], [@g, @g]]`
std::vector<std::vector<std::string>> read_programs(std::string_view text,
                                                    const SourcePosition& where) {
  TextReader reader(text, where);
  std::vector<std::vector<std::string>> programs;
  reader.expect("[", "before programs");
  while (!reader.accept("]")) {
    auto& row = programs.emplace_back();
    reader.expect("[", "before the programs of a replica");
    while (!reader.accept("]")) {
      reader.expect("@", "before a program");
      row.push_back(read_mlir_name(reader, "a program"));
      if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("',' or ']'");
    }
    if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("',' or ']'");
    if (row.empty() || row.size() != programs[0].size() || row != programs[0]) {
      reader.fail("programs that differ, expected the same for all replicas and partitions");
    }
  }
  if (programs.empty()) reader.fail("no programs, expected at least one");
  for (const std::string& program : programs[0]) {
    if (program != programs[0][0]) {
      reader.fail("programs that differ, expected the same for all replicas and partitions");
    }
  }
  return programs;
}

}  // namespace

std::uint32_t FunctionReader::reserve(const std::string& name) {
  const auto number = static_cast<std::uint32_t>(module_.computations.size());
  const auto [known, added] = numbers_.emplace(name, number);
  if (added) {
    module_.computations.push_back({name});
    positions_.push_back(reader_.position());
  }
  return known->second;
}

std::uint32_t FunctionReader::function(const std::string& name) {
  const std::uint32_t number = reserve(name);
  if (module_.computations[number].instructions.empty()) {
    throw InputError(positions_[number],
                     fmt::format("no function '{}' with a body, expected one", name));
  }
  return number;
}

void FunctionReader::read_mesh() {
  reader_.expect("@", "before the name of a mesh");
  const std::string name = read_mlir_name(reader_, "the name of a mesh");
  reader_.expect("=", "before a mesh");
  reader_.expect("<", "before the axes of a mesh");
  reader_.expect("[", "before the axes of a mesh");
  std::vector<MeshAxis>& axes = meshes_[name];
  while (!reader_.accept("]")) {
    MeshAxis axis{std::string(reader_.quoted())};
    reader_.expect("=", "before the size of an axis");
    axis.size = reader_.integer("the size of an axis", 1, kMaxDevices);
    axes.push_back(axis);
    if (!reader_.accept(",") && !reader_.next_is("]")) reader_.unexpected("',' or ']'");
  }
  reader_.expect(">", "after the axes of a mesh");
}

void FunctionReader::read_function() {
  for (const char* word : {"private", "public", "nested"}) reader_.accept_word(word);
  const SourcePosition where = reader_.position();
  reader_.expect("@", "before the name of a function");
  const std::string name = read_mlir_name(reader_, "the name of a function");
  const std::uint32_t number = reserve(name);
  if (!module_.computations[number].instructions.empty()) {
    throw InputError(where, fmt::format("a second function '{}', expected another name", name));
  }
  Scope scope{{name}, {}};
  constants_.clear();
  reader_.expect("(", "before parameters");
  read_parameters(scope, ")");
  if (reader_.accept("->")) read_mlir_types(reader_);
  if (reader_.accept_word("attributes")) reader_.raw("\n", false, true);
  if (!reader_.next_is("{")) return;  // a declaration
  reader_.expect("{", "before the body of a function");
  read_body(scope);
  module_.computations[number] = std::move(scope.computation);
  functions_.push_back(name);
}

void FunctionReader::read_parameters(Scope& scope, const char* close) {
  while (!reader_.accept(close)) {
    if (!reader_.accept("%")) {  // the parameters of a declaration have no names
      read_mlir_type(reader_);
      reader_.raw(",)", false, true);
    } else {
      const std::string name = read_mlir_name(reader_, "a parameter");
      reader_.expect(":", "before the type of a parameter");
      add_parameter(scope, name, read_mlir_type(reader_));
      if (reader_.next_is("{") || reader_.accept_word("loc")) reader_.raw(",)", false, true);
    }
    if (!reader_.accept(",") && !reader_.next_is(close)) reader_.unexpected("',' or the end");
  }
}

void FunctionReader::add_parameter(Scope& scope, const std::string& name, const Shape& shape) {
  Instruction instruction{name, "parameter"};
  instruction.shape = shape;
  instruction.position = reader_.position();
  instruction.attributes.index = static_cast<std::int64_t>(scope.computation.parameters.size());
  const auto number = static_cast<std::uint32_t>(scope.computation.instructions.size());
  scope.computation.parameters.push_back(number);
  scope.computation.instructions.push_back(std::move(instruction));
  if (!name.empty()) scope.names[name] = number;
}

/// The instruction of a name; a value of an outer scope becomes a parameter of the region.
std::uint32_t FunctionReader::value(Scope& scope, const std::string& name) {
  const auto found = scope.names.find(name);
  if (found != scope.names.end()) return found->second;
  if (scope.outer == nullptr) {
    reader_.fail(fmt::format("no value '%{}' before this one, expected one", name));
  }
  const std::uint32_t outer = value(*scope.outer, name);
  scope.captured.push_back(outer);
  add_parameter(scope, name, scope.outer->computation.instructions[outer].shape);
  return scope.names.at(name);
}

void FunctionReader::read_body(Scope& scope) {
  if (scope.depth > kMaxRegionDepth) reader_.fail("regions nested too deeply, expected at most 64");
  if (reader_.accept("^")) {
    reader_.word("the name of a block");
    if (reader_.accept("(")) read_parameters(scope, ")");
    reader_.expect(":", "after the parameters of a block");
  }
  while (!reader_.accept("}")) read_operation(scope);
  if (scope.computation.instructions.empty()) reader_.fail("no operation, expected at least one");
}

std::vector<std::string> FunctionReader::read_results() {
  std::vector<std::string> results;
  while (reader_.accept("%")) {
    const std::string name = read_mlir_name(reader_, "a result");
    results.push_back(name);
    if (reader_.accept(":")) {
      const std::int64_t count = reader_.integer("how many results", 1, 1 << 16);
      results.back() = name + "#0";
      for (std::int64_t i = 1; i < count; ++i) results.push_back(fmt::format("{}#{}", name, i));
    }
    if (!reader_.accept(",")) break;
  }
  if (!results.empty()) reader_.expect("=", "after results");
  return results;
}

void FunctionReader::read_operation(Scope& scope) {
  Operation operation;
  operation.results = read_results();
  operation.instruction.position = reader_.position();
  const bool generic = reader_.next_is("\"");
  const std::string name(generic ? reader_.quoted() : reader_.word("an operation"));
  operation.instruction.opcode = xla_opcode(name);
  operation.instruction.name = operation.results.empty() ? name : "%" + operation.results.front();
  if (generic) {
    read_generic(scope, operation);
  } else {
    read_pretty(scope, operation);
  }
  if (reader_.accept_word("loc")) {
    reader_.expect("(", "before a location");
    reader_.raw(")", false, true);
    reader_.expect(")", "after a location");
  }
  finish(scope, operation);
}

void FunctionReader::read_region(Scope& scope, Operation& operation) {
  const std::uint32_t number = reserve(fmt::format("region {}", module_.computations.size()));
  Scope region{{module_.computations[number].name}, {}, &scope, {}, scope.depth + 1};
  reader_.expect("{", "before a region");
  read_body(region);
  module_.computations[number] = std::move(region.computation);
  operation.instruction.called.push_back(number);
  operation.instruction.operands.insert(operation.instruction.operands.end(),
                                        region.captured.begin(), region.captured.end());
}

void FunctionReader::read_operand(Scope& scope, Operation& operation) {
  reader_.expect("%", "before an operand");
  std::string name = read_mlir_name(reader_, "an operand");
  if (reader_.touches('#')) {
    reader_.accept("#");
    name += fmt::format("#{}", reader_.integer("the number of a result", 0, 1 << 16));
  }
  if (!run_results_.empty() && name.rfind(run_results_, 0) == 0) {
    operation.symbols.push_back(name);
    return;
  }
  const auto constant = constants_.find(name);
  if (constant != constants_.end()) operation.symbols.push_back(name);
  operation.instruction.operands.push_back(value(scope, name));
}

void FunctionReader::read_attribute_value(Operation& operation, const std::string& name) {
  const SourcePosition where = reader_.position();
  const std::string_view text = reader_.raw(",}", false, true);
  if (name == "programs") {
    operation.instruction.attributes.others = text;
    return;
  }
  if (name == "callee") {
    TextReader symbol(text, where);
    symbol.expect("@", "before the name of a function");
    operation.symbols.push_back(read_mlir_name(symbol, "a function"));
    return;
  }
  read_mlir_attribute(name, text, where, meshes_, operation.instruction);
}

void FunctionReader::read_dictionary(Operation& operation) {
  reader_.expect("{", "before attributes");
  while (!reader_.accept("}")) {
    const std::string name = read_mlir_name(reader_, "an attribute");
    if (reader_.accept("=")) {
      read_attribute_value(operation, name);
    } else {
      read_mlir_attribute(name, {}, reader_.position(), meshes_, operation.instruction);
    }
    if (!reader_.accept(",") && !reader_.next_is("}")) reader_.unexpected("',' or '}'");
  }
}

/// `"op"(%a, %b) <{…}> ({region}, …) {…} : (types) -> types`
void FunctionReader::read_generic(Scope& scope, Operation& operation) {
  reader_.expect("(", "before operands");
  while (!reader_.accept(")")) {
    read_operand(scope, operation);
    if (!reader_.accept(",") && !reader_.next_is(")")) reader_.unexpected("',' or ')'");
  }
  if (reader_.accept("<")) {
    read_dictionary(operation);
    reader_.expect(">", "after properties");
  }
  if (reader_.accept("(")) {
    do {
      read_region(scope, operation);
    } while (reader_.accept(","));
    reader_.expect(")", "after regions");
  }
  if (reader_.next_is("{")) read_dictionary(operation);
  read_signature(operation);
}

void FunctionReader::read_signature(Operation& operation) {
  if (!reader_.accept(":")) return;
  operation.types = {};
  const bool list = reader_.next_is("(");
  do {
    for (Shape& shape : read_mlir_types(reader_)) operation.types.push_back(std::move(shape));
  } while (!list && reader_.accept(","));
  if (!reader_.accept("->")) return;
  operation.operand_types = std::move(operation.types);
  operation.types = read_mlir_types(reader_);
}

/// `[0:2, 1:3:2]` of a slice, or `[0]` of a tuple.
void FunctionReader::read_ranges(Operation& operation) {
  Attributes& attributes = operation.instruction.attributes;
  reader_.expect("[", "before ranges");
  while (!reader_.accept("]")) {
    const std::int64_t start = reader_.integer("where a range starts", 0, kMaxElements);
    if (operation.instruction.opcode == "get-tuple-element") {
      attributes.index = start;
    } else {
      attributes.starts.push_back(start);
      reader_.expect(":", "inside a range");
      attributes.limits.push_back(reader_.integer("where a range ends", 0, kMaxElements));
      const bool strided = reader_.accept(":");
      attributes.strides.push_back(strided ? reader_.integer("a stride", 1, kMaxElements) : 1);
    }
    if (!reader_.accept(",") && !reader_.next_is("]")) reader_.unexpected("',' or ']'");
  }
}

/// `applies stablehlo.add across dimensions = [0]`: the reducer is one operation.
void FunctionReader::read_applied(Operation& operation) {
  const std::string opcode = xla_opcode(reader_.word("an operation"));
  const std::uint32_t number = reserve(fmt::format("reducer {}", module_.computations.size()));
  operation.instruction.called.push_back(number);
  Computation& reducer = module_.computations[number];
  reducer.instructions = {{"a", "parameter"}, {"b", "parameter"}, {"c", opcode}};
  reducer.instructions[1].attributes.index = 1;
  reducer.instructions[2].operands = {0, 1};
  reducer.parameters = {0, 1};
  reducer.root = 2;  // the types follow with the signature
}

/// Reads one part of an operation in pretty form; false at its end.
bool FunctionReader::read_pretty_part(Scope& scope, Operation& operation) {
  const std::string& opcode = operation.instruction.opcode;
  if (reader_.next_is("%")) {
    read_operand(scope, operation);
  } else if (reader_.next_is("[") && (opcode == "slice" || opcode == "get-tuple-element")) {
    read_ranges(operation);
  } else if (reader_.next_is("dense")) {
    const Literal literal = read_dense(reader_);
    operation.instruction.literal = std::make_shared<const Literal>(literal);
    operation.types = {{false, literal.shape, {}}};
    return false;
  } else if (reader_.accept("@")) {
    operation.symbols.push_back(read_mlir_name(reader_, "a symbol"));
  } else if (reader_.next_is("{")) {
    read_dictionary(operation);
  } else if (reader_.next_is(":")) {
    read_signature(operation);
    return false;
  } else if (!reader_.accept(",") && !reader_.accept("(") && !reader_.accept(")")) {
    if (reader_.next_is("}") || reader_.at_end()) return false;
    const std::string word(reader_.word("a part of an operation"));
    if (word == "applies") {
      read_applied(operation);
    } else if (reader_.accept("=")) {
      const SourcePosition where = reader_.position();
      read_mlir_attribute(word, reader_.raw(",:\n", false, true), where, meshes_,
                          operation.instruction);
    } else if (opcode == "compare" && operation.instruction.attributes.direction.empty()) {
      operation.instruction.attributes.direction = word;
    } else if (word != "across" && word != "init" && opcode != "compare") {
      reader_.fail(
          fmt::format("'{}' in {}, expected an operand, an attribute or a type", word, opcode));
    } else {
      reader_.accept(":");  // of `init:`
    }
  }
  return true;
}

void FunctionReader::read_pretty(Scope& scope, Operation& operation) {
  if (operation.instruction.opcode == "return") {
    // Operands and a type: any other token starts the next operation.
    while (reader_.next_is("%")) {
      read_operand(scope, operation);
      reader_.accept(",");
    }
    return read_signature(operation);
  }
  while (read_pretty_part(scope, operation)) {
  }
  if (!reader_.accept_word("reducer")) return;
  // `reducer(%a: T, %b: T) { … }`: the region of a reduction in pretty form.
  const std::uint32_t number = reserve(fmt::format("region {}", module_.computations.size()));
  Scope region{{module_.computations[number].name}, {}, &scope, {}, scope.depth + 1};
  reader_.expect("(", "before the parameters of a reducer");
  read_parameters(region, ")");
  reader_.expect("{", "before a reducer");
  read_body(region);
  module_.computations[number] = std::move(region.computation);
  operation.instruction.called.push_back(number);
}

/// Handles the operations of a test; whether `operation` is one.
bool FunctionReader::finish_run(const Operation& operation, const std::string& opcode) {
  const SourcePosition& where = operation.instruction.position;
  if (opcode == "interpreter.run-parallel") {
    ParallelRun run{read_programs(operation.instruction.attributes.others, where), {}, {}};
    for (const std::string& name : operation.symbols) run.inputs.push_back(constants_.at(name));
    if (run.inputs.size() != operation.instruction.operands.size()) {
      throw InputError(where, "found an operand that is no constant, expected constants");
    }
    run_ = std::move(run);
    if (operation.results.empty()) return true;
    const std::string& first = operation.results[0];
    run_results_ = first.substr(0, first.find('#'));
    return true;
  }
  if (opcode.rfind("check.", 0) != 0) return false;
  const bool known = opcode == "check.expect-eq-const" || opcode == "check.expect-almost-eq-const";
  if (!known || !run_ || operation.symbols.size() != 1 || !operation.instruction.literal) {
    throw InputError(where,
                     "unknown check, expected check.expect_eq_const of a result of run_parallel");
  }
  const std::string& name = operation.symbols[0];
  TextReader number(std::string_view(name).substr(std::min(name.size(), run_results_.size() + 1)),
                    where);
  const bool single = name == run_results_;
  run_->expected.push_back(
      {single ? 0 : static_cast<std::size_t>(number.integer("a result", 0, 1 << 16)),
       *operation.instruction.literal});
  return true;
}

void FunctionReader::finish_return(Scope& scope, const Operation& operation) {
  const auto& operands = operation.instruction.operands;
  if (operands.size() == 1) {
    scope.computation.root = operands[0];
    return;
  }
  Instruction root{"return", "tuple"};
  root.position = operation.instruction.position;
  root.shape.is_tuple = true;
  root.operands = operands;
  for (const std::uint32_t operand : operands) {
    root.shape.parts.push_back(scope.computation.instructions[operand].shape);
  }
  scope.computation.root = static_cast<std::uint32_t>(scope.computation.instructions.size());
  scope.computation.instructions.push_back(std::move(root));
}

/// Adds the instruction and, for several results, a get-tuple-element for each.
void FunctionReader::add_results(Scope& scope, Operation& operation) {
  auto& instructions = scope.computation.instructions;
  const std::size_t count = operation.results.size();
  Instruction& instruction = operation.instruction;
  if (instruction.opcode == "all-to-all" && count > 1 && instruction.operands.size() == count) {
    for (std::size_t k = 0; k < count; ++k) {  // one each: XLA's tuple form has another meaning
      Instruction one = instruction;
      one.operands = {instruction.operands[k]};
      one.shape = operation.types[k];
      scope.names[operation.results[k]] = static_cast<std::uint32_t>(instructions.size());
      instructions.push_back(std::move(one));
    }
    return;
  }
  if (count <= 1) {
    instruction.shape = operation.types.empty() ? Shape{true, {}, {}} : operation.types.back();
    if (count == 1)
      scope.names[operation.results[0]] = static_cast<std::uint32_t>(instructions.size());
    instructions.push_back(std::move(instruction));
    return;
  }
  instruction.shape = {true, {}, operation.types};
  const auto whole = static_cast<std::uint32_t>(instructions.size());
  const SourcePosition position = instruction.position;
  instructions.push_back(std::move(instruction));
  for (std::size_t k = 0; k < count; ++k) {
    Instruction element{"%" + operation.results[k], "get-tuple-element"};
    element.position = position;
    element.operands = {whole};
    element.shape = operation.types[k];
    element.attributes.index = static_cast<std::int64_t>(k);
    scope.names[operation.results[k]] = static_cast<std::uint32_t>(instructions.size());
    instructions.push_back(std::move(element));
  }
}

void FunctionReader::finish(Scope& scope, Operation& operation) {
  Instruction& instruction = operation.instruction;
  const std::string opcode = instruction.opcode;
  if (finish_run(operation, opcode)) return;
  if (opcode == "return") return finish_return(scope, operation);
  const std::size_t results = operation.results.size();
  if (operation.types.size() < results) {
    // One type for all operands and results.
    if (operation.types.empty()) reader_.unexpected("the types of the results");
    operation.types.resize(results, operation.types.back());
  } else if (operation.operand_types.empty() && results > 0) {
    operation.types.erase(operation.types.begin(),
                          operation.types.end() - static_cast<std::ptrdiff_t>(results));
  }
  if (opcode == "call") {
    if (operation.symbols.empty()) reader_.unexpected("the name of a function");
    instruction.called = {reserve(operation.symbols.back())};
  } else if (opcode == "custom-call" && !operation.symbols.empty()) {
    instruction.attributes.others += "call_target_name=" + operation.symbols.back() + ";";
  } else if (opcode == "constant" && results == 1 && instruction.literal) {
    constants_[operation.results[0]] = *instruction.literal;
  } else if (opcode == "reduce" && instruction.called.size() == 1) {
    for (Instruction& part : module_.computations[instruction.called[0]].instructions) {
      const bool typed = part.shape.is_tuple || part.shape.array.type != ElementType();
      if (!typed) part.shape.array.type = operation.types[0].array.type;
    }
  }
  add_results(scope, operation);
}

}  // namespace p2::hlo
