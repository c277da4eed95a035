#pragma once

#include <cstdint>
#include <vector>

#include <z3++.h>

#include "encodings/z3/reading.h"
#include "engine/program/program.h"

namespace p2::z3_encoding {

/// The symbolic states of all devices: for every device and chunk one row over the contributors.
class SystemRows {
 public:
  /// Every device holds its own contribution in every chunk; `contributors`, at least `devices`, is
  /// the width of a row.
  static SystemRows initial(z3::context& context, std::uint32_t devices, std::uint32_t chunks,
                            std::uint32_t contributors);
  /// Every device holds the sum over its class in every chunk; the classes partition the devices.
  SystemRows with_sums(const std::vector<Group>& classes) const;

  std::uint32_t devices() const { return devices_; }
  std::uint32_t chunks() const { return static_cast<std::uint32_t>(rows_.size() / devices_); }
  const z3::expr& row(std::uint32_t device, std::uint32_t chunk) const {
    return rows_[place(device, chunk)];
  }
  void set(std::uint32_t device, std::uint32_t chunk, const z3::expr& row) {
    rows_[place(device, chunk)] = row;
  }
  GroupRows of(const Group& group) const;
  /// Gives the devices of the group the rows that `reading`, of their rows, says they have after
  /// the step.
  void take(const Group& group, Reading& reading);

 private:
  SystemRows(std::uint32_t devices, std::vector<z3::expr> rows)
      : devices_(devices), rows_(std::move(rows)) {}
  std::size_t place(std::uint32_t device, std::uint32_t chunk) const {
    return std::size_t{device} * chunks() + chunk;
  }

  std::uint32_t devices_;
  std::vector<z3::expr> rows_;
};

/// That two states are equal; both have the same devices and chunks.
z3::expr equal(const SystemRows& a, const SystemRows& b);
/// That no device of the group holds anything.
z3::expr holds_nothing(const GroupRows& group);

}  // namespace p2::z3_encoding
