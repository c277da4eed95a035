#include "proofs/claims/arbitrary_groups.h"
#include "proofs/claims/claim.h"
#include "proofs/claims/free_groups.h"

namespace p2::claims {

void append_claims_beyond_groups(std::vector<Claim>& claims) {
  Claim mixing = {
      .name = "mixing",
      .statement =
          "A valid program over any disjoint groups, some group of which has devices of "
          "several reduction classes, has at least four steps.",
      .formula = "for all valid L over any disjoint groups, (G, C) in L, G in no class: |L| >= 4",
      .engine = "breadth-first search over all disjoint groups, at most 6 devices (explicit)",
      .from = {HierarchyKind::Hardware},
      .settles = mixing_takes_four_steps,
      .content = devices_and_classes};
  claims.push_back(mixing);
  mixing.name += "-by-z3";
  mixing.engine = "Z3, every set of devices a symbol, at most 4 devices (6 with --deep)";
  mixing.settles = mixing_takes_four_steps_by_z3;
  claims.push_back(mixing);
}

}  // namespace p2::claims
