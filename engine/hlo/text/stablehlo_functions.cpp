// A recursive-descent parser of functions and regions in MLIR text.

#include "engine/hlo/text/stablehlo_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace p2::hlo {
namespace {

constexpr int kMaxRegionDepth = 64;

/// `[[@f, @f], [@g, @g]]`
std::vector<std::vector<std::string>> read_programs(const MlirAttribute& attribute) {
  TextReader reader(attribute.text, attribute.where);
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

std::uint32_t FunctionReader::function(const std::string& name) {
  const std::uint32_t number = symbols_.function(name, reader_.position());
  if (module_.computations[number].instructions.empty()) {
    throw InputError(symbols_.positions()[number],
                     fmt::format("no function '{}' with a body, expected one", name));
  }
  return number;
}

void FunctionReader::add_mesh(const std::string& name, std::string_view text,
                              const SourcePosition& where) {
  TextReader reader(text, where);
  reader.expect("<", "before the axes of a mesh");
  reader.expect("[", "before the axes of a mesh");
  Mesh mesh;
  while (!reader.accept("]")) {
    MeshAxis axis{std::string(reader.quoted())};
    reader.expect("=", "before the size of an axis");
    axis.size = reader.integer("the size of an axis", 1, kMaxDevices);
    mesh.axes.push_back(axis);
    if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("',' or ']'");
  }
  if (reader.accept(",")) {
    if (!reader.accept_word("device_ids")) reader.unexpected("device_ids");
    reader.expect("=", "before the ids of devices");
    for (const std::int64_t id : read_integers(reader).numbers) {
      if (id < 0 || id >= kMaxDevices) {
        reader.fail(fmt::format("id {}, expected one from 0 to {}", id, kMaxDevices - 1));
      }
      mesh.device_ids.push_back(id);
    }
  }
  reader.expect(">", "after the axes of a mesh");
  module_.meshes[name] = std::string(text);
  meshes_[name] = std::move(mesh);
}

void FunctionReader::read_mesh() {
  reader_.expect("@", "before the name of a mesh");
  const std::string name = read_mlir_name(reader_, "the name of a mesh");
  reader_.expect("=", "before a mesh");
  const SourcePosition where = reader_.position();
  if (!reader_.next_is("<")) reader_.unexpected("'<' before the axes of a mesh");
  add_mesh(name, read_value(reader_), where);
  if (reader_.next_is("{")) read_dictionary(reader_);
  skip_location(reader_);
}

void FunctionReader::read_alias() {
  const std::string name = read_mlir_name(reader_, "an alias");
  reader_.expect("=", "after the name of an attribute");
  const SourcePosition where = reader_.position();
  aliases_["#" + name] = {reader_.raw("", true, true), where};
}

MlirAttributes FunctionReader::read_attributes_in_braces() {
  MlirAttributes attributes = read_dictionary(reader_);
  for (auto& [name, value] : attributes) {
    const auto alias = aliases_.find(value.text);
    if (alias != aliases_.end()) value = alias->second;
  }
  return attributes;
}

void FunctionReader::read_function() {
  for (const char* word : {"private", "public", "nested"}) reader_.accept_word(word);
  const SourcePosition where = reader_.position();
  reader_.expect("@", "before the name of a function");
  const std::string name = read_mlir_name(reader_, "the name of a function");
  Scope scope;
  scope.computation.name = name;
  run_results_.clear();
  read_parameters(scope);
  std::vector<MlirAttributes> results;
  if (reader_.accept("->")) results = read_result_types();
  if (reader_.accept_word("attributes")) read_dictionary(reader_);
  if (!reader_.accept("{")) return skip_location(reader_);  // a declaration
  const std::uint32_t number = symbols_.function(name, where);
  if (!module_.computations[number].instructions.empty()) {
    throw InputError(where, fmt::format("a second function '{}', expected another name", name));
  }
  read_body(scope);
  skip_location(reader_);
  module_.computations[number] = OperationLowering::function_of(std::move(scope), results);
  functions_.push_back(name);
}

void FunctionReader::read_parameters(Scope& scope) {
  reader_.expect("(", "before parameters");
  while (!reader_.accept(")")) {
    const SourcePosition where = reader_.position();
    const bool named = reader_.accept("%");  // those of a declaration have no names
    const std::string name = named ? read_mlir_name(reader_, "a parameter") : std::string();
    if (named) reader_.expect(":", "before the type of a parameter");
    scope.append_parameter(name, read_mlir_type(reader_), where);
    if (reader_.next_is("{")) {
      MlirAttributes attributes = read_attributes_in_braces();
      read_sharding(attributes, scope.computation.instructions.back().attributes);
    }
    skip_location(reader_);
    if (!reader_.accept(",") && !reader_.next_is(")")) reader_.unexpected("',' or ')'");
  }
}

/// The attributes of each result.
std::vector<MlirAttributes> FunctionReader::read_result_types() {
  std::vector<MlirAttributes> attributes;
  if (!reader_.accept("(")) {
    read_mlir_type(reader_);
    return attributes;
  }
  while (!reader_.accept(")")) {
    read_mlir_type(reader_);
    attributes.push_back(reader_.next_is("{") ? read_attributes_in_braces() : MlirAttributes{});
    skip_location(reader_);
    if (!reader_.accept(",") && !reader_.next_is(")")) reader_.unexpected("',' or ')'");
  }
  return attributes;
}

/// `(%x: T, %y: T)`
std::vector<FunctionReader::Argument> FunctionReader::read_arguments() {
  std::vector<Argument> arguments;
  reader_.expect("(", "before arguments");
  while (!reader_.accept(")")) {
    reader_.expect("%", "before an argument");
    Argument argument{read_mlir_name(reader_, "an argument"), {}};
    reader_.expect(":", "before the type of an argument");
    argument.shape = read_mlir_type(reader_);
    skip_location(reader_);
    arguments.push_back(std::move(argument));
    if (!reader_.accept(",") && !reader_.next_is(")")) reader_.unexpected("',' or ')'");
  }
  return arguments;
}

/// The instruction of a name. A value of an outer scope becomes a parameter of the region; a
/// constant is copied.
std::uint32_t FunctionReader::value(Scope& scope, const std::string& name) {
  const auto found = scope.names.find(name);
  if (found != scope.names.end()) return found->second;
  if (scope.outer == nullptr) {
    reader_.fail(fmt::format("no value '%{}' before this one, expected one", name));
  }
  const std::uint32_t outer = value(*scope.outer, name);
  const Instruction& instruction = scope.outer->computation.instructions[outer];
  if (instruction.opcode == "constant") {
    const std::uint32_t copy = scope.append(instruction);
    scope.names[name] = copy;
    return copy;
  }
  scope.captured.push_back(outer);
  const Shape shape = instruction.shape;
  scope.append_parameter(name, shape, reader_.position());
  return scope.names.at(name);
}

/// Up to the `}` after the last operation.
void FunctionReader::read_body(Scope& scope) {
  if (scope.depth > kMaxRegionDepth) reader_.fail("regions nested too deeply, expected at most 64");
  if (reader_.accept("^")) {
    reader_.word("the name of a block");
    if (reader_.next_is("(")) {
      for (const Argument& argument : read_arguments()) {
        scope.append_parameter(argument.name, argument.shape, reader_.position());
      }
    }
    reader_.expect(":", "after the parameters of a block");
  }
  if (reader_.next_is("}")) reader_.fail("no operation, expected at least one");
  while (!reader_.accept("}")) read_operation(scope);
}

void FunctionReader::read_region(Scope& scope, MlirOperation& operation,
                                 const std::vector<Argument>& arguments) {
  Scope region;
  region.outer = &scope;
  region.depth = scope.depth + 1;
  for (const Argument& argument : arguments) {
    region.append_parameter(argument.name, argument.shape, reader_.position());
  }
  reader_.expect("{", "before a region");
  read_body(region);
  region.names.clear();
  operation.regions.push_back(std::move(region));
}

/// Handles the operations of a test; whether `operation` is one.
bool FunctionReader::finish_run(const Scope& scope, MlirOperation& operation) {
  const SourcePosition& where = operation.position;
  if (operation.name == "interpreter.run_parallel") {
    const auto programs = operation.take("programs");
    if (!programs) throw InputError(where, "no programs, expected at least one");
    ParallelRun run{read_programs(*programs), {}, {}};
    for (const std::uint32_t operand : operation.operands) {
      const auto& literal = scope.computation.instructions[operand].literal;
      if (!literal) {
        throw InputError(where, "found an operand that is not a constant, expected constants");
      }
      run.inputs.push_back(*literal);
    }
    run_ = std::move(run);
    for (std::size_t k = 0; k < operation.results.size(); ++k) {
      run_results_[operation.results[k]] = k;
    }
    return true;
  }
  if (!operation.name.starts_with("check.")) return false;
  const bool known =
      operation.name == "check.expect_eq_const" || operation.name == "check.expect_almost_eq_const";
  if (!known || !run_ || operation.run_results.size() != 1 || !operation.literal) {
    throw InputError(where,
                     "unknown check, expected check.expect_eq_const of a result of run_parallel");
  }
  run_->expected.push_back({operation.run_results[0], *operation.literal});
  return true;
}

void FunctionReader::finish(Scope& scope, MlirOperation& operation) {
  const std::size_t results = operation.results.size();
  if (results > operation.types.size()) {
    throw InputError(operation.position,
                     fmt::format("{} types for {} results of {}, expected one for each",
                                 operation.types.size(), results, operation.name));
  }
  if (finish_run(scope, operation)) return;
  if (operation.name.ends_with(".return")) {
    scope.returned = operation.operands;
    return;
  }
  if (operation.operand_types.empty() && results > 0) {
    // The types of the operands before those of the results.
    operation.types.erase(operation.types.begin(),
                          operation.types.end() - static_cast<std::ptrdiff_t>(results));
  }
  reader_.require_growth(scope.computation.instructions);
  lowering_.lower(scope, operation);
}

}  // namespace p2::hlo
