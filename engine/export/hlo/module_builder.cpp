#include "engine/export/hlo/module_builder.h"

#include <string>
#include <utility>

namespace p2::hlo {
namespace {

ArrayShape shape_of(const char* type, std::vector<std::int64_t> sizes) {
  return {*ElementType::called(type), std::move(sizes), {}};
}

Instruction made(const char* opcode, ArrayShape shape, std::vector<std::uint32_t> operands = {}) {
  Instruction instruction{"", opcode};
  instruction.shape.array = std::move(shape);
  instruction.operands = std::move(operands);
  return instruction;
}

Instruction constant(ArrayShape shape, const std::vector<std::int64_t>& numbers) {
  Literal literal{shape, {}};
  for (const std::int64_t number : numbers) literal.elements.push_back({Number{number, 1}});
  Instruction instruction = made("constant", std::move(shape));
  instruction.literal = std::make_shared<const Literal>(std::move(literal));
  return instruction;
}

Computation adder() {
  Computation computation{"add"};
  const ArrayShape scalar = shape_of("f32", {});
  computation.instructions = {made("parameter", scalar), made("parameter", scalar),
                              made("add", scalar, {0, 1})};
  const char* const names[] = {"a", "b", "sum"};
  for (std::size_t i = 0; i < 3; ++i) computation.instructions[i].name = names[i];
  computation.instructions[1].attributes.index = 1;
  computation.parameters = {0, 1};
  computation.root = 2;
  return computation;
}

}  // namespace

ModuleBuilder::ModuleBuilder(std::uint32_t devices, std::int64_t rows) : entry_{"main"} {
  module_.name = "program";
  module_.replicas = 1;
  module_.partitions = devices;
  module_.computations.push_back(adder());
  add(made("parameter", shape_of("f32", {rows})));
  entry_.parameters = {0};
}

std::int64_t ModuleBuilder::rows(Value value) const {
  return entry_.instructions[value].shape.array.sizes.at(0);
}

ModuleBuilder::Value ModuleBuilder::add(Instruction instruction) {
  const auto value = static_cast<Value>(entry_.instructions.size());
  instruction.name = (instruction.opcode == "parameter" ? "x" : "v") + std::to_string(value);
  entry_.instructions.push_back(std::move(instruction));
  return value;
}

ModuleBuilder::Value ModuleBuilder::zeros(std::int64_t rows) {
  const Value zero = add(constant(shape_of("f32", {}), {0}));
  return add(made("broadcast", shape_of("f32", {rows}), {zero}));
}

ModuleBuilder::Value ModuleBuilder::concatenated(const std::vector<Value>& parts) {
  if (parts.size() == 1) return parts[0];
  std::int64_t sum = 0;
  for (const Value part : parts) sum += rows(part);
  Instruction instruction = made("concatenate", shape_of("f32", {sum}), parts);
  instruction.attributes.dimensions = {0};
  return add(std::move(instruction));
}

ModuleBuilder::Value ModuleBuilder::slice(Value from, std::int64_t start, std::int64_t rows) {
  if (start == 0 && rows == this->rows(from)) return from;
  Instruction instruction = made("slice", shape_of("f32", {rows}), {from});
  instruction.attributes.starts = {start};
  instruction.attributes.limits = {start + rows};
  instruction.attributes.strides = {1};
  return add(std::move(instruction));
}

ModuleBuilder::Value ModuleBuilder::slice(Value from, const std::vector<std::int64_t>& starts,
                                          std::int64_t rows) {
  Instruction instruction =
      made("dynamic-slice", shape_of("f32", {rows}), {from, by_partition(starts)});
  instruction.attributes.slice_sizes = {rows};
  return add(std::move(instruction));
}

ModuleBuilder::Value ModuleBuilder::updated(Value all, Value part,
                                            const std::vector<std::int64_t>& starts) {
  return add(made("dynamic-update-slice", shape_of("f32", {rows(all)}),
                  {all, part, by_partition(starts)}));
}

ModuleBuilder::Value ModuleBuilder::by_partition(const std::vector<std::int64_t>& numbers) {
  const auto known = scalars_.find(numbers);
  if (known != scalars_.end()) return known->second;
  if (partition_ < 0) partition_ = add(made("partition-id", shape_of("u32", {})));
  const auto size = static_cast<std::int64_t>(numbers.size());
  const Value table = add(constant(shape_of("s32", {size}), numbers));
  Instruction entry =
      made("dynamic-slice", shape_of("s32", {1}), {table, static_cast<Value>(partition_)});
  entry.attributes.slice_sizes = {1};
  const Value scalar = add(made("reshape", shape_of("s32", {}), {add(std::move(entry))}));
  scalars_[numbers] = scalar;
  return scalar;
}

ModuleBuilder::Value ModuleBuilder::collective(const char* opcode, Value of, const IdGroups& groups,
                                               std::int64_t rows) {
  Instruction instruction = made(opcode, shape_of("f32", {rows}), {of});
  instruction.attributes.groups = {false, groups};
  instruction.attributes.has_channel = true;
  const std::string& name = instruction.opcode;
  // Of a broadcast ids are partitions anyway.
  if (name != "collective-broadcast") instruction.attributes.global_ids = true;
  if (name == "all-reduce" || name == "reduce-scatter") instruction.called = {0};
  if (name == "all-gather" || name == "reduce-scatter") instruction.attributes.dimensions = {0};
  return add(std::move(instruction));
}

Module ModuleBuilder::finished(Value root) && {
  entry_.root = root;
  module_.entry = 1;
  module_.computations.push_back(std::move(entry_));
  return std::move(module_);
}

}  // namespace p2::hlo
