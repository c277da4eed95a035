#include <fmt/format.h>

#include "proofs/claims/arbitrary_groups.h"
#include "proofs/claims/cheaper_groups.h"
#include "proofs/claims/claim.h"
#include "proofs/claims/free_groups.h"

namespace p2::claims {
namespace {

using Kind = HierarchyKind;

template <CostModel model>
CostAnswer groups(const Subject& subject, const Bounds& bounds) {
  return no_groups_are_cheaper(subject, bounds, model);
}

template <CostModel model>
CostAnswer lattice(const Subject& subject, const Bounds& bounds) {
  return lattice_gains_nothing(subject, bounds, model);
}

template <Claim::Prices prices>
Answer answer(const Subject& subject, const Bounds& bounds) {
  return prices(subject, bounds).answer;
}

/// Devices, classes and, where they matter, the levels that share links.
template <CostModel model>
std::string content(const Subject& subject) {
  std::string text = devices_and_classes(subject);
  const LatencyBandwidth network = network_of(subject.from.grid.hierarchy(), model);
  for (const Uplink& uplink : network.uplinks()) {
    text += fmt::format(" {}x{}", uplink.span, uplink.slowdown);
  }
  return text;
}

/// `beyond-dsl`, `beyond-dsl-two-level`.
std::string named(const char* name, CostModel model) {
  return model == CostModel::Homogeneous ? name : fmt::format("{}-{}", name, to_string(model));
}

std::string on_network(CostModel model) {
  return fmt::format(" Latency-bandwidth model, {} network.", to_string(model));
}

template <CostModel model>
Claim no_groups_are_cheaper() {
  return {.name = named("beyond-dsl", model),
          .statement =
              "No valid program over any disjoint groups is cheaper, for any latency and "
              "bandwidth, than all programs over hierarchies of any system with these "
              "devices and classes." +
              on_network(model),
          .formula =
              "for all valid L over any disjoint groups, |L| <= size, for all alpha, beta: "
              "cost(L) >= min cost(L') over hierarchies, |L'| <= size",
          .engine = "branch and bound over all disjoint groups, at most 6 devices (explicit)",
          .from = {Kind::Hardware},
          .settles = answer<groups<model>>,
          .prices = groups<model>,
          .content = content<model>};
}

template <CostModel model>
Claim lattice_gains_nothing() {
  return {.name = named("lattice-gain", model),
          .statement =
              "No program over the lattice is cheaper, for any latency and bandwidth, "
              "than all programs over (d) and over collapsed." +
              on_network(model),
          .formula =
              "for all valid L over the lattice, |L| <= size, for all alpha, beta: "
              "cost(L) >= min cost(L') over (d) and collapsed, |L'| <= size",
          .engine = "branch and bound (explicit)",
          .from = {Kind::Lattice},
          .settles = answer<lattice<model>>,
          .prices = lattice<model>};
}

}  // namespace

void append_claims_about_cost(std::vector<Claim>& claims) {
  claims.push_back(no_groups_are_cheaper<CostModel::Homogeneous>());
  Claim by_z3 = claims.back();
  by_z3.name += "-by-z3";
  by_z3.statement += " Asked at every ratio of the two at which the best over hierarchies changes.";
  by_z3.engine = "Z3, every set of devices a symbol, at most 4 devices (6 with --deep)";
  by_z3.settles = no_groups_are_cheaper_by_z3;
  by_z3.prices = nullptr;
  claims.push_back(by_z3);
  // No more than two levels fit six devices.
  claims.push_back(no_groups_are_cheaper<CostModel::TwoLevel>());
  claims.push_back(lattice_gains_nothing<CostModel::Homogeneous>());
  claims.push_back(lattice_gains_nothing<CostModel::TwoLevel>());
  claims.push_back(lattice_gains_nothing<CostModel::Tiered>());
}

}  // namespace p2::claims
