// Modules of StableHLO: files, headers, the order of computations, and tests of the interpreter.

#include "engine/hlo/text/hlo_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/text/stablehlo_reader.h"

namespace p2::hlo {
namespace {

/// Topological sort of the computations, callees first. Throws InputError for a cycle.
void sort_computations(Module& module, const std::vector<SourcePosition>& positions) {
  const std::size_t count = module.computations.size();
  enum class State : std::uint8_t { New, Open, Done };
  std::vector<State> state(count, State::New);
  std::vector<std::uint32_t> order;
  const auto callees = [&](std::uint32_t index) {
    std::vector<std::uint32_t> all;
    for (const Instruction& instruction : module.computations[index].instructions) {
      all.insert(all.end(), instruction.called.begin(), instruction.called.end());
    }
    return all;
  };
  for (std::uint32_t first = 0; first < count; ++first) {
    std::vector<std::uint32_t> open = {first};
    while (!open.empty()) {
      const std::uint32_t index = open.back();
      if (state[index] == State::Done) {
        open.pop_back();
        continue;
      }
      const bool again = state[index] == State::Open;
      state[index] = State::Open;
      for (const std::uint32_t callee : callees(index)) {
        if (state[callee] == State::Open) {
          throw InputError(positions[callee], fmt::format("'{}' calls itself, expected no cycle",
                                                          module.computations[callee].name));
        }
        if (state[callee] == State::New) open.push_back(callee);
      }
      if (!again && open.back() != index) continue;
      state[index] = State::Done;
      order.push_back(index);
      open.pop_back();
    }
  }
  std::vector<std::uint32_t> place(count);
  std::vector<Computation> sorted;
  for (std::uint32_t i = 0; i < count; ++i) place[order[i]] = i;
  for (const std::uint32_t index : order) sorted.push_back(std::move(module.computations[index]));
  for (Computation& computation : sorted) {
    for (Instruction& instruction : computation.instructions) {
      for (std::uint32_t& called : instruction.called) called = place[called];
    }
  }
  module.computations = std::move(sorted);
  module.entry = place[module.entry];
}

StableHloModule finished(FunctionReader& reader, TextReader& text) {
  const auto& functions = reader.functions();
  if (functions.empty()) text.unexpected("a function");
  std::string entry = functions.back();
  if (std::find(functions.begin(), functions.end(), "main") != functions.end()) entry = "main";
  Module& read = reader.module();
  const std::optional<ParallelRun>& run = reader.run();
  if (run) {
    entry = run->programs[0][0];
    read.replicas = static_cast<std::int64_t>(run->programs.size());
    read.partitions = static_cast<std::int64_t>(run->programs[0].size());
  }
  read.entry = reader.function(entry);
  read.language = Language::StableHlo;
  reader.symbols().require_bodies();
  StableHloModule result{std::move(read), run};
  sort_computations(result.module, reader.symbols().positions());
  return result;
}

/// The meshes that Shardy's export keeps as a string: `{mesh = #sdy.mesh<["d"=2, "m"=4]>}`.
void read_frontend_meshes(const MlirAttribute& frontend, FunctionReader& functions) {
  constexpr std::string_view kPrefix = "#sdy.mesh";
  const MlirAttributes attributes = entries_of(frontend);
  const auto found = attributes.find("xla.sdy.meshes");
  if (found == attributes.end()) return;
  const std::string text = unquoted(found->second.text);
  for (const auto& [name, mesh] : entries_of({text, found->second.where})) {
    if (mesh.text.starts_with(kPrefix)) {
      functions.add_mesh(name, mesh.text.substr(kPrefix.size()), mesh.where);
    }
  }
}

/// `module @name attributes {mhlo.num_partitions = 4 : i32} {`
void read_module_header(TextReader& reader, FunctionReader& functions) {
  Module& module = functions.module();
  if (reader.accept("@")) module.name = read_mlir_name(reader, "the name of a module");
  if (!reader.accept_word("attributes")) return;
  for (const auto& [name, value] : read_dictionary(reader)) {
    if (name == "mhlo.frontend_attributes") read_frontend_meshes(value, functions);
    std::optional<std::int64_t>* count = name == "mhlo.num_partitions" ? &module.partitions
                                         : name == "mhlo.num_replicas" ? &module.replicas
                                                                       : nullptr;
    if (count == nullptr) continue;
    TextReader number(value.text, value.where);
    *count = number.integer("a number", 1, kMaxDevices);
  }
}

/// Reads all definitions of a module.
void read_items(TextReader& reader, FunctionReader& functions) {
  while (!reader.at_end() && !reader.next_is("}") && !reader.next_is("{-#")) {
    if (reader.accept("#")) {
      functions.read_alias();
    } else if (reader.accept_word("func.func")) {
      functions.read_function();
    } else if (reader.accept_word("sdy.mesh")) {
      functions.read_mesh();
    } else {
      reader.unexpected("a function");
    }
  }
}

/// Skips `{-# … #-}`: the bytes of resources.
void skip_resources(TextReader& reader) {
  if (!reader.accept("{-#")) return;
  reader.raw("#", false, true);
  reader.expect("#-}", "after resources");
}

StableHloModule read_one(TextReader& reader, const std::string& source) {
  FunctionReader functions(reader);
  functions.module().file = source;
  while (reader.accept("#")) functions.read_alias();
  if (reader.accept_word("module") || reader.accept_word("builtin.module")) {
    read_module_header(reader, functions);
    reader.expect("{", "before the functions of a module");
    read_items(reader, functions);
    reader.expect("}", "after the functions of a module");
    skip_location(reader);
    while (reader.accept("#")) functions.read_alias();  // locations
  } else {
    read_items(reader, functions);
  }
  skip_resources(reader);
  if (!reader.at_end()) reader.unexpected("the end of the module");
  return finished(functions, reader);
}

/// Builds an entry computation in which every device selects its own constants.
class EntryBuilder {
 public:
  explicit EntryBuilder(std::int64_t partitions) {
    const ArrayShape scalar{*ElementType::from_xla("s64"), {}, {}};
    const std::uint32_t replica = add("replica-id", scalar, {});
    const std::uint32_t partition = add("partition-id", scalar, {});
    const std::uint32_t factor = constant({scalar, {{{partitions, 1}, {}}}});
    device_ = add("add", scalar, {add("multiply", scalar, {replica, factor}), partition});
    zero_ = constant({scalar, {{{0, 1}, {}}}});
  }

  std::uint32_t add(const char* opcode, const ArrayShape& shape,
                    const std::vector<std::uint32_t>& operands) {
    Instruction instruction{fmt::format("{}.{}", opcode, entry_.instructions.size()), opcode};
    instruction.shape.array = shape;
    instruction.operands = operands;
    entry_.instructions.push_back(std::move(instruction));
    return static_cast<std::uint32_t>(entry_.instructions.size() - 1);
  }

  /// `all[device]` on every device. Precondition: the shapes are equal.
  std::uint32_t select(const std::vector<Literal>& all) {
    const ArrayShape& shape = all[0].shape;
    Literal table{shape, {}, all[0].elided};
    table.shape.sizes.insert(table.shape.sizes.begin(), static_cast<std::int64_t>(all.size()));
    for (const Literal& literal : all) {
      table.elided = table.elided || literal.elided;
      for (std::int64_t i = 0; i < shape.elements() && !table.elided; ++i) {
        table.elements.push_back(literal.at(i));
      }
    }
    ArrayShape row = table.shape;
    row.sizes[0] = 1;
    std::vector<std::uint32_t> operands = {constant(table), device_};
    operands.resize(2 + shape.sizes.size(), zero_);
    const std::uint32_t slice = add("dynamic-slice", row, operands);
    entry_.instructions[slice].attributes.slice_sizes = row.sizes;
    return add("reshape", shape, {slice});
  }

  Computation finish(std::uint32_t root) {
    entry_.root = root;
    return std::move(entry_);
  }
  Instruction& instruction(std::uint32_t number) { return entry_.instructions[number]; }

 private:
  std::uint32_t constant(const Literal& literal) {
    const std::uint32_t number = add("constant", literal.shape, {});
    entry_.instructions[number].literal = std::make_shared<const Literal>(literal);
    return number;
  }

  Computation entry_{"run"};
  std::uint32_t device_ = 0;
  std::uint32_t zero_ = 0;
};

/// The k-th of `each` constants of every device.
std::vector<Literal> column(const std::vector<Literal>& all, std::size_t each, std::size_t k,
                            const ArrayShape& shape, const std::string& file) {
  std::vector<Literal> column;
  for (std::size_t i = k; i < all.size(); i += each) {
    column.push_back(all[i]);
    if (to_string(all[i].shape) != to_string(shape)) {
      throw InputError({file}, fmt::format("a constant {} where the program has {}, expected the "
                                           "same",
                                           to_string(all[i].shape), to_string(shape)));
    }
  }
  return column;
}

}  // namespace

bool is_stablehlo(std::string_view text) {
  TextReader reader("", text);
  try {
    while (reader.accept("#")) reader.raw("", true, true);
    const std::string_view word = reader.peek_word();
    return word == "module" || word == "builtin.module" || word == "func.func" ||
           word == "sdy.mesh";
  } catch (const InputError&) {
    return false;
  }
}

std::vector<StableHloModule> read_stablehlo(const std::string& source, const std::string& text,
                                            const Limits& limits) {
  constexpr std::string_view kBetween = "\n// -----";
  std::vector<StableHloModule> modules;
  std::size_t line = 1;
  const std::string_view all(text);
  for (std::size_t start = 0; start <= all.size();) {
    const std::size_t end = std::min(all.find(kBetween, start), all.size());
    const std::string_view part = all.substr(start, end - start);
    const SourcePosition where{source, line, 1};
    TextReader reader(part, where);
    reader.obey(limits);
    modules.push_back(read_one(reader, source));
    line += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n')) + 1;
    start = end + 1;
    if (end == all.size()) break;
  }
  return modules;
}

RunModules modules_of(const StableHloModule& given) {
  const Module& module = given.module;
  const Computation& program = module.entry_computation();
  const auto devices = static_cast<std::size_t>(*module.replicas * *module.partitions);
  const std::vector<ArrayShape> results = program.instructions[program.root].shape.arrays();
  const std::size_t parameters = program.parameters.size();
  std::vector<Literal> expected(devices * results.size());
  std::vector<bool> has_expectation(expected.size());
  for (const auto& expectation : given.run->expected) {
    if (expectation.result >= expected.size()) break;
    expected[expectation.result] = expectation.value;
    has_expectation[expectation.result] = true;
  }
  const bool complete =
      std::find(has_expectation.begin(), has_expectation.end(), false) == has_expectation.end();
  if (!complete || given.run->inputs.size() != devices * parameters || results.empty()) {
    throw InputError(
        {module.file},
        fmt::format("{} inputs and {} expected results for {} devices, expected {} and "
                    "{}, each once",
                    given.run->inputs.size(), given.run->expected.size(), devices,
                    devices * parameters, expected.size()));
  }
  const Shape shape{true, {}, std::vector<Shape>(results.size())};
  const auto with_entry = [&](EntryBuilder& builder, std::uint32_t root) {
    auto copy = std::make_shared<Module>(module);
    copy->entry = static_cast<std::uint32_t>(copy->computations.size());
    copy->computations.push_back(builder.finish(root));
    return copy;
  };
  EntryBuilder wanted(*module.partitions);
  std::vector<std::uint32_t> parts;
  Shape tuple = shape;
  for (std::size_t k = 0; k < results.size(); ++k) {
    parts.push_back(wanted.select(column(expected, results.size(), k, results[k], module.file)));
    tuple.parts[k].array = results[k];
  }
  const std::uint32_t root = wanted.add("tuple", {}, parts);
  wanted.instruction(root).shape = tuple;
  EntryBuilder actual(*module.partitions);
  std::vector<std::uint32_t> arguments;
  for (std::size_t k = 0; k < parameters; ++k) {
    const ArrayShape& type = program.instructions[program.parameters[k]].shape.array;
    arguments.push_back(actual.select(column(given.run->inputs, parameters, k, type, module.file)));
  }
  const std::uint32_t call = actual.add("call", {}, arguments);
  actual.instruction(call).shape = program.instructions[program.root].shape;
  actual.instruction(call).called = {module.entry};
  return {with_entry(wanted, root), with_entry(actual, call)};
}

}  // namespace p2::hlo
