#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/stablehlo/stablehlo_functions.h"
#include "engine/hlo/stablehlo/stablehlo_types.h"

namespace p2::hlo {
namespace {

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

/// What a test of the interpreter says. True where the operation was such.
bool FunctionReader::finish_run(const Operation& operation, const std::string& opcode) {
  const SourcePosition& where = operation.instruction.position;
  if (opcode == "interpreter.run-parallel") {
    ParallelRun run{read_programs(operation.instruction.attributes.others, where), {}, {}};
    for (const std::string& name : operation.symbols) run.inputs.push_back(constants_.at(name));
    if (run.inputs.size() != operation.instruction.operands.size()) {
      throw InputError(where, "an operand that is no constant, expected constants");
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
                     "a check that is not known, expected check.expect_eq_const of a result "
                     "of run_parallel");
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

/// Adds the instruction, and an element of its tuple for each of several results.
void FunctionReader::add_results(Scope& scope, Operation& operation) {
  auto& instructions = scope.computation.instructions;
  const std::size_t count = operation.results.size();
  Instruction& instruction = operation.instruction;
  if (instruction.opcode == "all-to-all" && count > 1 && instruction.operands.size() == count) {
    for (std::size_t k = 0; k < count; ++k) {  // each on its own: XLA's tuple form is another
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
    // One type stands for all: that of the operands too.
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
