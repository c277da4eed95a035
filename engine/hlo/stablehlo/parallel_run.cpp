#include "engine/hlo/stablehlo/parallel_run.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2::hlo {
namespace {

/// Builds the entry of a module in which every device picks its own of some constants.
class EntryBuilder {
 public:
  explicit EntryBuilder(std::int64_t partitions) {
    const ArrayShape scalar{*ElementType::called("s64"), {}, {}};
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

  /// The `all[device]` on every device. Precondition: all have the same shape.
  std::uint32_t pick(const std::vector<Literal>& all) {
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

/// Of `all`, which has `each` for every device, those with number `k`.
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

RunModules modules_of(const StableHloModule& given) {
  const Module& module = given.module;
  const Computation& program = module.entry_computation();
  const auto devices = static_cast<std::size_t>(*module.replicas * *module.partitions);
  const std::vector<ArrayShape> results = program.instructions[program.root].shape.arrays();
  const std::size_t parameters = program.parameters.size();
  std::vector<Literal> expected(devices * results.size());
  std::vector<bool> said(expected.size());
  for (const auto& expectation : given.run->expected) {
    if (expectation.result >= expected.size()) break;
    expected[expectation.result] = expectation.value;
    said[expectation.result] = true;
  }
  const bool all_said = std::find(said.begin(), said.end(), false) == said.end();
  if (!all_said || given.run->inputs.size() != devices * parameters || results.empty()) {
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
    parts.push_back(wanted.pick(column(expected, results.size(), k, results[k], module.file)));
    tuple.parts[k].array = results[k];
  }
  const std::uint32_t root = wanted.add("tuple", {}, parts);
  wanted.instruction(root).shape = tuple;
  EntryBuilder actual(*module.partitions);
  std::vector<std::uint32_t> arguments;
  for (std::size_t k = 0; k < parameters; ++k) {
    const ArrayShape& type = program.instructions[program.parameters[k]].shape.array;
    arguments.push_back(actual.pick(column(given.run->inputs, parameters, k, type, module.file)));
  }
  const std::uint32_t call = actual.add("call", {}, arguments);
  actual.instruction(call).shape = program.instructions[program.root].shape;
  actual.instruction(call).called = {module.entry};
  return {with_entry(wanted, root), with_entry(actual, call)};
}

}  // namespace p2::hlo
