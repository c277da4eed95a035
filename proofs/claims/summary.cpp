#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proofs/claims/campaign.h"

namespace p2::claims {
namespace {

bool same_row(const Summary& row, const SettledQuestion& result) {
  const Question& a = row.question;
  const Question& b = result.question;
  return a.claim == b.claim && a.dialect == b.dialect && a.from == b.from && a.to == b.to &&
         row.several_axes == b.system->several_axes();
}

std::uint32_t devices(const SettledQuestion& result) {
  return result.question.system->grid.devices();
}

void count_refuted(const SettledQuestion& result, Summary& row) {
  row.refuted += result.systems;
  const auto by_devices = [](const SettledQuestion& each) {
    return std::pair(devices(each), each.answer.steps);
  };
  const auto by_steps = [](const SettledQuestion& each) {
    return std::pair(each.answer.steps, devices(each));
  };
  if (row.smallest == nullptr || by_devices(result) < by_devices(*row.smallest)) {
    row.smallest = &result;
  }
  if (row.shortest == nullptr || by_steps(result) < by_steps(*row.shortest)) {
    row.shortest = &result;
  }
}

void count(const SettledQuestion& result, Summary& row) {
  row.systems += result.systems;
  if (result.answer.outcome == Outcome::Undecided) row.undecided += result.systems;
  if (result.answer.outcome == Outcome::Refuted) count_refuted(result, row);
  const std::optional<RowOrder> order = row_order(result.question);
  if (!order) return;
  auto place = std::lower_bound(
      row.orders.begin(), row.orders.end(), *order,
      [](const OrderSummary& each, RowOrder wanted) { return each.order < wanted; });
  if (place == row.orders.end() || place->order != *order) {
    place = row.orders.insert(place, {*order, 0, 0, 0});
  }
  place->systems += result.systems;
  if (result.answer.outcome == Outcome::Undecided) place->undecided += result.systems;
  if (result.answer.outcome == Outcome::Refuted) place->refuted += result.systems;
}

}  // namespace

std::string by_order(const Summary& row) {
  std::string text;
  for (const auto& [order, systems, refuted, undecided] : row.orders) {
    if (!text.empty()) text += "; ";
    text += order == RowOrder::All ? "all rows: " : fmt::format("rows {}: ", to_string(order));
    text += refuted > 0     ? fmt::format("refuted on {} of {}", refuted, systems)
            : undecided > 0 ? fmt::format("undecided on {} of {}", undecided, systems)
                            : fmt::format("holds on {}", systems);
  }
  return text;
}

Outcome Summary::outcome() const {
  if (refuted > 0) return Outcome::Refuted;
  return undecided > 0 ? Outcome::Undecided : Outcome::Established;
}

std::vector<Summary> summarize(const std::vector<SettledQuestion>& results) {
  std::vector<Summary> rows;
  for (const SettledQuestion& result : results) {
    // The rows of one claim and pair are adjacent, at most two of them: the last two.
    auto row =
        std::find_if(rows.rbegin(), rows.rbegin() + std::min<std::ptrdiff_t>(2, std::ssize(rows)),
                     [&](const Summary& each) { return same_row(each, result); });
    const bool known = row != rows.rend() && same_row(*row, result);
    if (!known) {
      rows.emplace_back();
      rows.back().question = result.question;
      rows.back().several_axes = result.question.system->several_axes();
    }
    Summary& entry = known ? *row : rows.back();
    count(result, entry);
  }
  return rows;
}

bool in_paper(const Question& question) {
  if (question.claim->section.empty()) return false;
  return !question.to || question.claim->to.size() == 1 ||
         (question.from < *question.to && *question.to <= HierarchyKind::Reduction);
}

Outcome outcome_of(const std::vector<SettledQuestion>& results) {
  Outcome all = Outcome::Established;
  for (const SettledQuestion& result : results) all = worst(all, result.answer.outcome);
  return all;
}

Program counterexample(const SettledQuestion& result) {
  const Instance instance = result.question.system->over(result.question.from);
  const std::uint32_t devices = instance.grid.devices();
  TextCursor cursor("counterexample", result.answer.program);
  return {devices, instance.classes(), parse_steps(cursor, devices, &instance)};
}

}  // namespace p2::claims
