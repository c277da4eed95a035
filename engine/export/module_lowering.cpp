// Lowers a program of collectives to a module of XLA: one collective per step, with slices and
// concatenations that arrange the rows of every device.

#include "engine/export/module_lowering.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/execution/plan.h"
#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/module.h"
#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo {
namespace {

/// Builds a module of one function on vectors of f32, whose elements are called rows. Values are
/// numbers of instructions.
class ModuleBuilder {
 public:
  using Value = std::uint32_t;

  /// The parameter is a vector of `rows`; every device is a partition.
  ModuleBuilder(std::uint32_t devices, std::int64_t rows);

  Value parameter() const { return 0; }
  std::int64_t rows(Value value) const;

  Value zeros(std::int64_t rows);
  Value concatenated(const std::vector<Value>& parts);
  Value slice(Value from, std::int64_t start, std::int64_t rows);
  /// `starts`: the first row, by device.
  Value slice(Value from, const std::vector<std::int64_t>& starts, std::int64_t rows);
  Value updated(Value all, Value part, const std::vector<std::int64_t>& starts);
  /// The elements of an array of these sizes, transposed, as a vector again.
  Value transposed(Value of, const std::vector<std::int64_t>& sizes,
                   const std::vector<std::int64_t>& permutation);
  /// `opcode` as in XLA; groups of devices.
  Value collective(const char* opcode, Value of, const IdGroups& groups, std::int64_t rows);

  Module finished(Value root) &&;

 private:
  Value add(Instruction instruction);
  /// The scalar numbers[d] on device d: an entry of a constant table at partition-id.
  Value by_partition(const std::vector<std::int64_t>& numbers);

  Module module_;
  Computation entry_;
  std::map<std::vector<std::int64_t>, Value> scalars_;
  std::int64_t partition_ = -1;  ///< the value of partition-id; -1 before its first use
};

/// For every device and row of a new vector, the row of the old vector to copy; kAnyRow if any will
/// do. All devices have the same number of rows.
using RowTable = std::vector<std::vector<std::int64_t>>;
constexpr std::int64_t kAnyRow = -1;

/// A concatenation of as few slices as possible: a slice ends where the rows of a device are not
/// consecutive, and is dynamic only if the devices differ.
ModuleBuilder::Value gather_rows(ModuleBuilder& builder, ModuleBuilder::Value from,
                                 const RowTable& table);

ArrayShape shape_of(const char* type, std::vector<std::int64_t> sizes) {
  return {*ElementType::from_xla(type), std::move(sizes), {}};
}

Instruction make_instruction(const char* opcode, ArrayShape shape,
                             std::vector<std::uint32_t> operands = {}) {
  Instruction instruction{"", opcode};
  instruction.shape.array = std::move(shape);
  instruction.operands = std::move(operands);
  return instruction;
}

Instruction constant(ArrayShape shape, const std::vector<std::int64_t>& numbers) {
  Literal literal{shape, {}};
  for (const std::int64_t number : numbers) literal.elements.push_back({Number{number, 1}});
  Instruction instruction = make_instruction("constant", std::move(shape));
  instruction.literal = std::make_shared<const Literal>(std::move(literal));
  return instruction;
}

Computation adder() {
  Computation computation{"add"};
  const ArrayShape scalar = shape_of("f32", {});
  computation.instructions = {make_instruction("parameter", scalar),
                              make_instruction("parameter", scalar),
                              make_instruction("add", scalar, {0, 1})};
  const char* const names[] = {"a", "b", "sum"};
  for (std::size_t i = 0; i < 3; ++i) computation.instructions[i].name = names[i];
  computation.instructions[1].attributes.index = 1;
  computation.parameters = {0, 1};
  computation.root = 2;
  return computation;
}

/// Rows that are consecutive on every device.
struct Run {
  std::vector<std::int64_t> starts;  ///< by device; kAnyRow if all of its rows are
  std::int64_t length = 0;

  /// Whether row `at` of the table continues the run.
  bool can_append(const RowTable& table, std::size_t at, std::int64_t rows) const {
    if (length == rows) return false;
    for (std::size_t device = 0; device < table.size(); ++device) {
      const std::int64_t row = table[device][at];
      const std::int64_t start = starts[device];
      if (row != kAnyRow && row < length) return false;
      if (row != kAnyRow && start != kAnyRow && start + length != row) return false;
      if (start != kAnyRow && start + length >= rows) return false;
    }
    return true;
  }

  void append(const RowTable& table, std::size_t at) {
    for (std::size_t device = 0; device < table.size(); ++device) {
      const std::int64_t row = table[device][at];
      if (row != kAnyRow) starts[device] = row - length;
    }
    ++length;
  }
};

ModuleBuilder::Value slice_of(ModuleBuilder& builder, ModuleBuilder::Value from, Run run) {
  std::int64_t start = kAnyRow;
  bool same = true;
  for (const std::int64_t each : run.starts) {
    if (each == kAnyRow) continue;
    same = same && (start == kAnyRow || start == each);
    start = each;
  }
  if (same) return builder.slice(from, std::max<std::int64_t>(start, 0), run.length);
  for (std::int64_t& each : run.starts) each = std::max<std::int64_t>(each, 0);
  return builder.slice(from, run.starts, run.length);
}

ModuleBuilder::ModuleBuilder(std::uint32_t devices, std::int64_t rows) : entry_{"main"} {
  module_.name = "program";
  module_.replicas = 1;
  module_.partitions = devices;
  module_.computations.push_back(adder());
  add(make_instruction("parameter", shape_of("f32", {rows})));
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
  return add(make_instruction("broadcast", shape_of("f32", {rows}), {zero}));
}

ModuleBuilder::Value ModuleBuilder::concatenated(const std::vector<Value>& parts) {
  if (parts.size() == 1) return parts[0];
  std::int64_t sum = 0;
  for (const Value part : parts) sum += rows(part);
  Instruction instruction = make_instruction("concatenate", shape_of("f32", {sum}), parts);
  instruction.attributes.dimensions = {0};
  return add(std::move(instruction));
}

ModuleBuilder::Value ModuleBuilder::slice(Value from, std::int64_t start, std::int64_t rows) {
  if (start == 0 && rows == this->rows(from)) return from;
  Instruction instruction = make_instruction("slice", shape_of("f32", {rows}), {from});
  instruction.attributes.starts = {start};
  instruction.attributes.limits = {start + rows};
  instruction.attributes.strides = {1};
  return add(std::move(instruction));
}

ModuleBuilder::Value ModuleBuilder::slice(Value from, const std::vector<std::int64_t>& starts,
                                          std::int64_t rows) {
  Instruction instruction =
      make_instruction("dynamic-slice", shape_of("f32", {rows}), {from, by_partition(starts)});
  instruction.attributes.slice_sizes = {rows};
  return add(std::move(instruction));
}

ModuleBuilder::Value ModuleBuilder::updated(Value all, Value part,
                                            const std::vector<std::int64_t>& starts) {
  return add(make_instruction("dynamic-update-slice", shape_of("f32", {rows(all)}),
                              {all, part, by_partition(starts)}));
}

ModuleBuilder::Value ModuleBuilder::transposed(Value of, const std::vector<std::int64_t>& sizes,
                                               const std::vector<std::int64_t>& permutation) {
  const Value array = add(make_instruction("reshape", shape_of("f32", sizes), {of}));
  std::vector<std::int64_t> transposed;
  for (const std::int64_t each : permutation) {
    transposed.push_back(sizes[static_cast<std::size_t>(each)]);
  }
  Instruction instruction =
      make_instruction("transpose", shape_of("f32", std::move(transposed)), {array});
  instruction.attributes.dimensions = permutation;
  return add(
      make_instruction("reshape", shape_of("f32", {rows(of)}), {add(std::move(instruction))}));
}

ModuleBuilder::Value ModuleBuilder::by_partition(const std::vector<std::int64_t>& numbers) {
  const auto known = scalars_.find(numbers);
  if (known != scalars_.end()) return known->second;
  if (partition_ < 0) partition_ = add(make_instruction("partition-id", shape_of("u32", {})));
  const auto size = static_cast<std::int64_t>(numbers.size());
  const Value table = add(constant(shape_of("s32", {size}), numbers));
  Instruction entry = make_instruction("dynamic-slice", shape_of("s32", {1}),
                                       {table, static_cast<Value>(partition_)});
  entry.attributes.slice_sizes = {1};
  const Value scalar =
      add(make_instruction("reshape", shape_of("s32", {}), {add(std::move(entry))}));
  scalars_[numbers] = scalar;
  return scalar;
}

ModuleBuilder::Value ModuleBuilder::collective(const char* opcode, Value of, const IdGroups& groups,
                                               std::int64_t rows) {
  Instruction instruction = make_instruction(opcode, shape_of("f32", {rows}), {of});
  instruction.attributes.groups = {false, groups};
  instruction.attributes.has_channel = true;
  const std::string& name = instruction.opcode;
  // The ids of a broadcast are partitions in any mode.
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

ModuleBuilder::Value gather_rows(ModuleBuilder& builder, ModuleBuilder::Value from,
                                 const RowTable& table) {
  std::vector<ModuleBuilder::Value> parts;
  const Run empty{std::vector<std::int64_t>(table.size(), kAnyRow)};
  Run run = empty;
  for (std::size_t at = 0; at < table[0].size(); ++at) {
    if (!run.can_append(table, at, builder.rows(from))) {
      parts.push_back(slice_of(builder, from, std::move(run)));
      run = empty;
    }
    run.append(table, at);
  }
  parts.push_back(slice_of(builder, from, std::move(run)));
  return builder.concatenated(parts);
}

/// Lowers one step of an execution plan to instructions.
class StepLowering {
 public:
  /// `buffer`: the rows that the devices hold before the step.
  StepLowering(ModuleBuilder& builder, ModuleBuilder::Value buffer, const execution::Plan& plan,
               std::size_t step);

  /// The rows that the devices hold after the step.
  ModuleBuilder::Value lowered();

 private:
  void collect_groups();
  ModuleBuilder::Value collective();
  ModuleBuilder::Value gathered_by_sum(ModuleBuilder::Value packed);
  ModuleBuilder::Value broadcast_by_sum();
  RowTable packing() const;
  /// The rows after the step: rows of the buffer, then rows of the result of the collective.
  RowTable unpacking() const;
  /// A row in blocks of `call.rows`, as a row in blocks of rows_.
  std::int64_t spread(const execution::Call& call, std::int64_t row) const;
  /// Whether XLA or StableHLO require groups of equal size for the collective.
  bool requires_equal_groups() const {
    return collective_ != p2::Collective::AllReduce && collective_ != p2::Collective::Reduce;
  }

  ModuleBuilder& builder_;
  ModuleBuilder::Value buffer_;
  const execution::Plan& plan_;
  const std::vector<execution::RankStep>& ranks_;
  p2::Collective collective_ = p2::Collective::AllReduce;
  IdGroups groups_;        ///< of all devices
  std::int64_t rows_ = 0;  ///< the largest number of rows of a device's call; 0 if there is no call
  std::int64_t size_ = 0;  ///< of the largest group
  bool equal_groups_ = true;  ///< all groups can have the same size
};

using execution::Call;
using execution::RankStep;
using execution::Rows;

std::int64_t row_in(const std::optional<Rows>& arrangement, std::size_t at) {
  if (!arrangement) return static_cast<std::int64_t>(at);
  const std::uint32_t row = (*arrangement)[at];
  return row == execution::kZeros ? kAnyRow : static_cast<std::int64_t>(row);
}

void require_exportable(const Program& program, const SourcePosition& where) {
  if (program.terms.goal.name != "allreduce") {
    throw InputError(where,
                     fmt::format("has the goal {}, expected allreduce", program.terms.goal.name));
  }
  if (program.beginning != Beginning{}) {
    throw InputError(
        where,
        "has another initial state, expected a contribution of every device in each of as "
        "many chunks as there are devices");
  }
  for (const Step& step : program.steps) {
    if (is_built_in(step.collective)) continue;
    throw InputError(where, fmt::format("uses {}, expected the five collectives",
                                        program.terms.collectives.name_of(step.collective)));
  }
}

StepLowering::StepLowering(ModuleBuilder& builder, ModuleBuilder::Value buffer,
                           const execution::Plan& plan, std::size_t step)
    : builder_(builder), buffer_(buffer), plan_(plan), ranks_(plan.steps[step]) {
  collect_groups();
}

void StepLowering::collect_groups() {
  std::vector<std::int64_t> idle;
  bool equal = true;
  for (std::size_t device = 0; device < ranks_.size(); ++device) {
    if (!ranks_[device].call) {
      idle.push_back(static_cast<std::int64_t>(device));
      continue;
    }
    const Call& call = *ranks_[device].call;
    collective_ = call.collective;
    rows_ = std::max<std::int64_t>(rows_, call.rows);
    equal = equal && (size_ == 0 || size_ == call.size);
    size_ = std::max<std::int64_t>(size_, call.size);
    const Group& group = plan_.partitions[call.partition][call.group];
    if (call.position == 0) groups_.emplace_back(group.begin(), group.end());
  }
  equal_groups_ = equal && size_ > 0 && static_cast<std::int64_t>(idle.size()) % size_ == 0;
  const std::size_t width =
      requires_equal_groups() && equal_groups_ ? static_cast<std::size_t>(size_) : 1;
  for (std::size_t i = 0; i < idle.size(); i += width) {
    groups_.emplace_back(idle.begin() + static_cast<std::ptrdiff_t>(i),
                         idle.begin() + static_cast<std::ptrdiff_t>(i + width));
  }
}

std::int64_t StepLowering::spread(const Call& call, std::int64_t row) const {
  return row / call.rows * rows_ + row % call.rows;
}

RowTable StepLowering::packing() const {
  const std::int64_t rows = collective_ == p2::Collective::ReduceScatter ? size_ * rows_ : rows_;
  RowTable table(ranks_.size(), std::vector<std::int64_t>(static_cast<std::size_t>(rows), kAnyRow));
  for (std::size_t device = 0; device < ranks_.size(); ++device) {
    const RankStep& rank = ranks_[device];
    if (!rank.call) continue;
    const Call& call = *rank.call;
    // Only the root's operand of a broadcast matters.
    if (collective_ == p2::Collective::Broadcast && call.position > 0) continue;
    const bool scatters = collective_ == p2::Collective::ReduceScatter;
    const std::size_t needed = std::size_t{call.rows} * (scatters ? call.size : 1);
    for (std::size_t i = 0; i < needed; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      table[device][static_cast<std::size_t>(scatters ? spread(call, at) : at)] =
          row_in(rank.pack, i);
    }
  }
  return table;
}

RowTable StepLowering::unpacking() const {
  std::size_t row_count = 1;
  for (const RankStep& rank : ranks_) row_count = std::max(row_count, rank.held.size());
  RowTable table(ranks_.size(), std::vector<std::int64_t>(row_count, kAnyRow));
  const std::int64_t old = builder_.rows(buffer_);
  for (std::size_t device = 0; device < ranks_.size(); ++device) {
    const RankStep& rank = ranks_[device];
    for (std::size_t i = 0; i < rank.held.size(); ++i) {
      std::int64_t row = row_in(rank.unpack, i);
      if (rank.call && row != kAnyRow) {
        const Call& call = *rank.call;
        if (collective_ == p2::Collective::AllGather) row = spread(call, row);
        if (collective_ == p2::Collective::ReduceScatter && !equal_groups_)
          row += call.position * rows_;
        row += old;
      }
      table[device][i] = row;
    }
  }
  return table;
}

/// An all-gather as a sum of the rows of each device, padded with zeros.
ModuleBuilder::Value StepLowering::gathered_by_sum(ModuleBuilder::Value packed) {
  std::vector<std::int64_t> starts;
  for (const RankStep& rank : ranks_) starts.push_back(rank.call ? rank.call->position * rows_ : 0);
  const ModuleBuilder::Value zeros = builder_.zeros(size_ * rows_);
  return builder_.collective("all-reduce", builder_.updated(zeros, packed, starts), groups_,
                             size_ * rows_);
}

/// A broadcast as a sum of the root's rows and zeros.
ModuleBuilder::Value StepLowering::broadcast_by_sum() {
  RowTable table = packing();
  for (std::size_t device = 0; device < ranks_.size(); ++device) {
    if (!ranks_[device].call || ranks_[device].call->position == 0) continue;
    std::iota(table[device].begin(), table[device].end(), builder_.rows(buffer_));
  }
  const ModuleBuilder::Value with_zeros = builder_.concatenated({buffer_, builder_.zeros(rows_)});
  return builder_.collective("all-reduce", gather_rows(builder_, with_zeros, table), groups_,
                             rows_);
}

ModuleBuilder::Value StepLowering::collective() {
  if (collective_ == p2::Collective::Broadcast && !equal_groups_) return broadcast_by_sum();
  const ModuleBuilder::Value packed = gather_rows(builder_, buffer_, packing());
  switch (collective_) {
    case p2::Collective::ReduceScatter:
      if (equal_groups_) return builder_.collective("reduce-scatter", packed, groups_, rows_);
      break;
    case p2::Collective::AllGather:
      if (!equal_groups_) return gathered_by_sum(packed);
      return builder_.collective("all-gather", packed, groups_, size_ * rows_);
    case p2::Collective::Broadcast:
      return builder_.collective("collective-broadcast", packed, groups_, rows_);
    case p2::Collective::AllReduce:
    case p2::Collective::Reduce:
      break;
  }
  return builder_.collective("all-reduce", packed, groups_, builder_.rows(packed));
}

ModuleBuilder::Value StepLowering::lowered() {
  if (rows_ == 0) return buffer_;
  const ModuleBuilder::Value result = collective();
  RowTable table = unpacking();
  const std::int64_t old = builder_.rows(buffer_);
  bool keeps = false;
  bool receives = false;
  for (const auto& rows : table) {
    for (const std::int64_t row : rows) {
      keeps = keeps || (row != kAnyRow && row < old);
      receives = receives || row >= old;
    }
  }
  if (!receives) return gather_rows(builder_, buffer_, table);
  if (keeps) return gather_rows(builder_, builder_.concatenated({buffer_, result}), table);
  for (auto& rows : table) {
    for (std::int64_t& row : rows) row = row == kAnyRow ? row : row - old;
  }
  return gather_rows(builder_, result, table);
}

}  // namespace

Module lower_to_module(const Program& program, const SourcePosition& where) {
  require_exportable(program, where);
  const std::optional<std::vector<ChainStep>> chain = chain_of(program);
  if (!chain) return lower_by_rows(program, where);
  ModuleBuilder builder(program.devices, program.chunks());
  ModuleBuilder::Value buffer = builder.parameter();
  for (const ChainStep& step : *chain) {
    if (!step.sizes.empty()) buffer = builder.transposed(buffer, step.sizes, step.permutation);
    if (*step.opcode == 0) continue;
    buffer = builder.collective(step.opcode, buffer, step.groups, step.rows);
  }
  return std::move(builder).finished(buffer);
}

Module lower_by_rows(const Program& program, const SourcePosition& where) {
  require_exportable(program, where);
  const execution::Plan plan = execution::plan_of(program);
  ModuleBuilder builder(program.devices, program.chunks());
  ModuleBuilder::Value buffer = builder.parameter();
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    buffer = StepLowering(builder, buffer, plan, step).lowered();
  }
  return std::move(builder).finished(buffer);
}

ModuleDecision check_all_reduce(const std::string& source, const std::string& text,
                                const std::vector<std::vector<std::uint32_t>>& classes,
                                const Limits& limits) {
  const auto module = std::make_shared<const Module>(
      is_hlo(text) ? read_hlo(source, text) : std::move(read_stablehlo(source, text).at(0).module));
  return compare(goal_module(*module, Goal::AllReduce, classes), module, {}, limits);
}

}  // namespace p2::hlo
