#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// Puts together a module of one function, on vectors of f32, one row an element. Values are
/// numbers of instructions.
class ModuleBuilder {
 public:
  using Value = std::uint32_t;

  /// Every device is a partition and has a vector of `rows`.
  ModuleBuilder(std::uint32_t devices, std::int64_t rows);

  Value parameter() const { return 0; }
  std::int64_t rows(Value value) const;

  Value zeros(std::int64_t rows);
  Value concatenated(const std::vector<Value>& parts);
  Value slice(Value from, std::int64_t start, std::int64_t rows);
  /// `starts` has the first row for every device.
  Value slice(Value from, const std::vector<std::int64_t>& starts, std::int64_t rows);
  Value updated(Value all, Value part, const std::vector<std::int64_t>& starts);
  /// `opcode` as in XLA, with the groups as devices.
  Value collective(const char* opcode, Value of, const IdGroups& groups, std::int64_t rows);

  Module finished(Value root) &&;

 private:
  Value add(Instruction instruction);
  /// A scalar with this number on every device, from a table by partition.
  Value by_partition(const std::vector<std::int64_t>& numbers);

  Module module_;
  Computation entry_;
  std::map<std::vector<std::int64_t>, Value> scalars_;
  std::int64_t partition_ = -1;  ///< the value of partition-id, where it is there
};

}  // namespace p2::hlo
