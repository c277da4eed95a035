#include "proofs/claims/free_groups.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "encodings/z3/free_groups.h"
#include "engine/base/invariant.h"
#include "engine/program/derivation.h"
#include "engine/program/notation.h"
#include "proofs/claims/arbitrary_groups.h"
#include "proofs/claims/cheaper_groups.h"

namespace p2::claims {
namespace {

using z3_encoding::Existence;
using z3_encoding::FreeGroupsAnswer;
using z3_encoding::FreeGroupsQuery;
using z3_encoding::GroupPrice;
using z3_encoding::PriceLimit;

constexpr std::uint32_t kFewDevices = 4;
constexpr std::uint32_t kFewSteps = 3;

std::optional<Answer> too_large(std::uint32_t devices, const Bounds& bounds) {
  const std::uint32_t most = bounds.deep ? kMostDevicesOfAnyGroups : kFewDevices;
  if (devices <= most) return std::nullopt;
  return Answer{
      Outcome::Undecided,
      0,
      {},
      0,
      fmt::format("Z3 is asked on at most {} devices{}", most,
                  bounds.deep ? "" : fmt::format(", with --deep {}", kMostDevicesOfAnyGroups))};
}

/// The answer for Z3's, whose program has to be valid.
Answer answer_of(const FreeGroupsQuery& query, const FreeGroupsAnswer& found, std::string note) {
  if (found.existence != Existence::Exists) {
    const bool none = found.existence == Existence::None;
    return {none ? Outcome::Holds : Outcome::Undecided, found.settled, {}, 0, {}};
  }
  StateTable states(query.devices);
  const Verdict verdict =
      check({query.devices, query.classes, found.witness}, Dialect::Published, states);
  invariant(verdict.kind == Verdict::Kind::Valid,
            "Z3 has found a program over arbitrary groups that the interpreter refuses");
  return {Outcome::Refuted, found.settled, p2::to_string(found.witness, nullptr),
          found.witness.size(), std::move(note)};
}

/// Prices at α : β as whole numbers, and the cost that has to be undercut there.
PriceLimit prices_at(const Cost::Ratio& ratio, const Fraction& least, std::uint32_t devices) {
  const auto exact = [=](Collective collective, std::size_t size) {
    const Charge one = charge_of(collective, size, 1, devices);
    return std::pair(ratio.alpha * one.rounds, ratio.beta * one.bytes);
  };
  std::int64_t scale = least.denominator();
  for (const Collective collective : kCollectives) {
    for (std::size_t size = 2; size <= devices; ++size) {
      const auto [base, per_chunk] = exact(collective, size);
      scale = std::lcm(scale, std::lcm(base.denominator(), per_chunk.denominator()));
    }
  }
  const auto whole = [scale](const Fraction& number) {
    return static_cast<std::uint64_t>((number * scale).numerator());
  };
  return {[=](Collective collective, std::size_t size) {
            const auto [base, per_chunk] = exact(collective, size);
            return GroupPrice{whole(base), whole(per_chunk)};
          },
          whole(least)};
}

}  // namespace

Answer smallest_mixing_program_by_z3(std::uint32_t devices, const std::vector<Group>& classes,
                                     const Bounds& bounds) {
  const FreeGroupsQuery query{.devices = devices,
                              .classes = classes,
                              .size = bounds.size,
                              .mixing = true,
                              .budget = z3_encoding::budget_of(bounds.limits)};
  return answer_of(query, find_one(query), "a group has devices of several reduction classes");
}

Answer mixing_takes_four_steps_by_z3(const Subject& subject, const Bounds& bounds) {
  const std::uint32_t devices = subject.from.grid.devices();
  if (const auto undecided = too_large(devices, bounds)) return *undecided;
  const std::vector<Group> classes = subject.from.classes();
  Bounds shorter = bounds;
  shorter.size = std::min(bounds.size, kFewSteps);
  Answer answer = classes.size() == 1 ? Answer{Outcome::Holds, 0, {}, 0, {}}
                                      : smallest_mixing_program_by_z3(devices, classes, shorter);
  if (answer.verdict == Outcome::Holds) answer.settled = bounds.size;
  return answer;
}

Answer no_groups_are_cheaper_by_z3(const Subject& subject, const Bounds& bounds) {
  const std::uint32_t devices = subject.from.grid.devices();
  if (const auto undecided = too_large(devices, bounds)) return *undecided;
  FreeGroupsQuery query{.devices = devices,
                        .classes = subject.from.classes(),
                        .size = bounds.deep ? bounds.size : std::min(bounds.size, kFewSteps),
                        .budget = z3_encoding::budget_of(bounds.limits)};
  const BestPrograms best =
      best_over_hierarchies(devices, query.classes, subject.dialect, LatencyBandwidth(), bounds);
  if (best.settled() < bounds.size) return {};
  const CostFront& known = best.front();
  std::uint32_t settled = query.size;
  for (const Cost::Ratio& ratio : known.ratios()) {
    query.limit = prices_at(ratio, *known.at(ratio), devices);
    const FreeGroupsAnswer found = find_one(query);
    settled = std::min(settled, found.settled);
    if (found.existence == Existence::Exists) {
      return answer_of(query, found, fmt::format("cheaper at {}", p2::to_string(ratio)));
    }
  }
  return {settled == bounds.size ? Outcome::Holds : Outcome::Undecided, settled, {}, 0, {}};
}

}  // namespace p2::claims
