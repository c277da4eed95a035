#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encodings/z3/reading.h"
#include "engine/base/invariant.h"
#include "engine/collective/collective.h"
#include "engine/program/goal.h"
#include "engine/program/instruction.h"
#include "engine/program/program.h"

namespace p2::z3_encoding {

/// The rules of the definitions of a query.
class Rulebook {
 public:
  explicit Rulebook(Definitions definitions) {
    for (const language::Definition& definition : definitions) rules_.emplace_back(definition);
  }

  const std::vector<Rule>& rules() const { return rules_; }
  /// The rule of that name, which must be there.
  const Rule& called(std::string_view name) const {
    const auto found = std::find_if(rules_.begin(), rules_.end(),
                                    [&](const Rule& rule) { return rule.definition.name == name; });
    invariant(found != rules_.end(), "no definition has the name of a collective");
    return *found;
  }

 private:
  std::vector<Rule> rules_;
};

/// Dialect `published` has AllReduce only with Master: where a group exists at the first instance
/// of the levels below slice, and not everywhere.
inline bool dialect_allows(Dialect dialect, bool everyone_takes_part, std::string_view collective) {
  return dialect == Dialect::Printed || everyone_takes_part ||
         collective == to_string(Collective::AllReduce);
}

/// The symbolic states of all devices: for every device and chunk one row over the contributors.
class SystemRows {
 public:
  /// Every device holds its own contribution in every chunk; `contributors`, at least `devices`, is
  /// the width of a row. `meter` must outlive the states: it stops every pass over the rows, by
  /// LimitReached.
  static SystemRows initial(z3::context& context, std::uint32_t devices, std::uint32_t chunks,
                            std::uint32_t contributors, const Meter& meter);
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
  SystemRows(std::uint32_t devices, std::vector<z3::expr> rows, const Meter& meter)
      : devices_(devices), rows_(std::move(rows)), meter_(&meter) {}
  std::size_t place(std::uint32_t device, std::uint32_t chunk) const {
    return std::size_t{device} * chunks() + chunk;
  }

  std::uint32_t devices_;
  std::vector<z3::expr> rows_;
  const Meter* meter_;
};

/// That two states are equal; both have the same devices and chunks.
z3::expr equal(const SystemRows& a, const SystemRows& b);
/// That no device of the group holds anything.
z3::expr holds_nothing(const GroupRows& group);

/// Where programs begin and where they have to end, as constant rows.
struct EndRows {
  SystemRows begin;
  SystemRows goal;
};

/// The ends on `classes`, which partition some or all devices of a system, computed from the
/// definitions of the goal and of what prepares its beginning. A row is as wide as there are
/// `contributors`. Throws LimitReached.
EndRows end_rows(z3::context& context, const Goal& goal, Start start,
                 const std::vector<Group>& classes, std::uint32_t chunks,
                 std::uint32_t contributors, const Meter& meter);

}  // namespace p2::z3_encoding
