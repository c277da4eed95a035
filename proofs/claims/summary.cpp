#include "proofs/claims/summary.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/program/notation.h"

namespace p2::claims {
namespace {

bool same_row(const Summary& row, const Result& result) {
  const Question& a = row.question;
  const Question& b = result.question;
  return a.claim == b.claim && a.dialect == b.dialect && a.from == b.from && a.to == b.to &&
         row.several_axes == b.system->several_axes();
}

std::uint32_t devices(const Result& result) { return result.question.system->grid.devices(); }

void note_refuted(const Result& result, Summary& row) {
  row.refuted += result.systems;
  const auto by_devices = [](const Result& each) {
    return std::pair(devices(each), each.answer.steps);
  };
  const auto by_steps = [](const Result& each) {
    return std::pair(each.answer.steps, devices(each));
  };
  if (row.smallest == nullptr || by_devices(result) < by_devices(*row.smallest)) {
    row.smallest = &result;
  }
  if (row.shortest == nullptr || by_steps(result) < by_steps(*row.shortest)) {
    row.shortest = &result;
  }
}

void count(const Result& result, Summary& row) {
  row.systems += result.systems;
  if (result.answer.verdict == Outcome::Undecided) row.undecided += result.systems;
  if (result.answer.verdict == Outcome::Refuted) note_refuted(result, row);
  const std::optional<RowOrder> order = row_order(result.question);
  if (!order) return;
  auto place = std::lower_bound(
      row.orders.begin(), row.orders.end(), *order,
      [](const OrderSummary& each, RowOrder wanted) { return each.order < wanted; });
  if (place == row.orders.end() || place->order != *order) {
    place = row.orders.insert(place, {*order, 0, 0, 0});
  }
  place->systems += result.systems;
  if (result.answer.verdict == Outcome::Undecided) place->undecided += result.systems;
  if (result.answer.verdict == Outcome::Refuted) place->refuted += result.systems;
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

Outcome Summary::verdict() const {
  if (refuted > 0) return Outcome::Refuted;
  return undecided > 0 ? Outcome::Undecided : Outcome::Holds;
}

std::vector<Summary> summarise(const std::vector<Result>& results) {
  std::vector<Summary> rows;
  for (const Result& result : results) {
    // The rows of one claim and pair stand together, at most two of them: the last two.
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

Outcome verdict_of(const std::vector<Result>& results) {
  const auto any = [&](Outcome verdict) {
    return std::any_of(results.begin(), results.end(),
                       [&](const Result& result) { return result.answer.verdict == verdict; });
  };
  if (any(Outcome::Refuted)) return Outcome::Refuted;
  return any(Outcome::Undecided) ? Outcome::Undecided : Outcome::Holds;
}

Program counterexample(const Result& result) {
  const Instance instance = result.question.system->over(result.question.from);
  const std::uint32_t devices = instance.grid.devices();
  TextCursor cursor("counterexample", result.answer.program);
  return {devices, instance.classes(), parse_steps(cursor, devices, &instance)};
}

}  // namespace p2::claims
