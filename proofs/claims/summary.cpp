#include "proofs/claims/summary.h"

#include <algorithm>
#include <utility>

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

}  // namespace

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
    if (!known) rows.push_back({result.question, result.question.system->several_axes()});
    Summary& entry = known ? *row : rows.back();
    entry.systems += result.systems;
    if (result.answer.verdict == Outcome::Undecided) entry.undecided += result.systems;
    if (result.answer.verdict == Outcome::Refuted) note_refuted(result, entry);
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
