#include "engine/hlo/stablehlo/stablehlo_functions.h"

#include <fmt/format.h>

#include "engine/hlo/stablehlo/stablehlo_types.h"

namespace p2::hlo {
namespace {

constexpr int kDeepestRegion = 64;

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
    axis.size = reader_.integer("the size of an axis", 1, kMostDevices);
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

/// A value of the scope; one of an outer scope becomes a parameter of the region.
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
  if (scope.depth > kDeepestRegion) reader_.fail("regions nested too deeply, expected at most 64");
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

}  // namespace p2::hlo
