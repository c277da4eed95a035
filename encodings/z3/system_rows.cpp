#include "encodings/z3/system_rows.h"

#include <memory>
#include <set>
#include <utility>

#include "encodings/z3/reading.h"
#include "engine/collective/language/definition.h"

namespace p2::z3_encoding {
namespace {

z3::expr row_of(z3::context& context, const Group& contributors, std::uint32_t width) {
  const auto bits = std::make_unique<bool[]>(width);
  for (const std::uint32_t c : contributors) bits[c] = true;
  return context.bv_val(width, bits.get());
}

}  // namespace

SystemRows SystemRows::initial(z3::context& context, std::uint32_t devices, std::uint32_t chunks,
                               std::uint32_t contributors, const Meter& meter) {
  std::vector<z3::expr> rows;
  rows.reserve(std::size_t{devices} * chunks);
  for (std::uint32_t d = 0; d < devices; ++d) {
    meter.checkpoint();
    rows.insert(rows.end(), chunks, row_of(context, {d}, contributors));
  }
  return {devices, std::move(rows), meter};
}

SystemRows SystemRows::with_sums(const std::vector<Group>& classes) const {
  SystemRows goal = *this;
  for (const Group& members : classes) {
    const z3::expr& like = row(0, 0);
    const z3::expr sum = row_of(like.ctx(), members, like.get_sort().bv_size());
    for (const std::uint32_t d : members) {
      meter_->checkpoint();
      for (std::uint32_t r = 0; r < chunks(); ++r) goal.set(d, r, sum);
    }
  }
  return goal;
}

void SystemRows::take(const Group& group, Reading& reading) {
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    meter_->checkpoint();
    for (std::uint32_t r = 0; r < chunks(); ++r) set(group[i], r, reading.row_after(i, r));
  }
}

GroupRows SystemRows::of(const Group& group) const {
  meter_->require_room(double(sizeof(z3::expr)) * static_cast<double>(group.size()) * chunks());
  std::vector<z3::expr> rows;
  rows.reserve(group.size() * chunks());
  for (const std::uint32_t d : group) {
    meter_->checkpoint();
    for (std::uint32_t r = 0; r < chunks(); ++r) rows.push_back(row(d, r));
  }
  return {std::move(rows), static_cast<std::uint32_t>(group.size())};
}

z3::expr equal(const SystemRows& a, const SystemRows& b) {
  z3::expr_vector all(a.row(0, 0).ctx());
  std::set<std::pair<unsigned, unsigned>> seen;
  for (std::uint32_t d = 0; d < a.devices(); ++d) {
    for (std::uint32_t r = 0; r < a.chunks(); ++r) {
      const z3::expr& left = a.row(d, r);
      const z3::expr& right = b.row(d, r);
      if (seen.emplace(left.id(), right.id()).second) all.push_back(left == right);
    }
  }
  return z3::mk_and(all);
}

z3::expr holds_nothing(const GroupRows& group) {
  z3::expr_vector all(group.row(0, 0).ctx());
  for (std::uint32_t i = 0; i < group.positions(); ++i) {
    for (const GroupRows::Class& alike : group.classes()) {
      const z3::expr& row = group.row(i, alike.first);
      all.push_back(row == row.ctx().bv_val(0, group.contributors()));
    }
  }
  return z3::mk_and(all);
}

namespace {

/// The rows after one step of a definition on every class of more than one device.
SystemRows after(const language::Definition& definition, const std::vector<Group>& classes,
                 SystemRows rows, const Meter& meter) {
  const Rule rule(definition);
  for (const Group& members : classes) {
    if (members.size() < 2) continue;
    const GroupRows before = rows.of(members);
    Reading reading(rows.row(0, 0).ctx(), rule, before, &meter);
    rows.take(members, reading);
  }
  return rows;
}

}  // namespace

EndRows end_rows(z3::context& context, const Goal& goal, Start start,
                 const std::vector<Group>& classes, std::uint32_t chunks,
                 std::uint32_t contributors, const Meter& meter) {
  std::uint32_t devices = 0;
  for (const Group& members : classes) devices += static_cast<std::uint32_t>(members.size());
  meter.require_room(2.0 * sizeof(z3::expr) * devices * chunks);
  SystemRows begin = SystemRows::initial(context, devices, chunks, contributors, meter);
  if (goal.is_allreduce()) return {begin, begin.with_sums(classes)};
  if (const std::optional<Collective> prepared = preparation(start)) {
    begin = after(language::built_in(to_string(*prepared)), classes, std::move(begin), meter);
  }
  return {begin, after(goal.definition(), classes, begin, meter)};
}

}  // namespace p2::z3_encoding
