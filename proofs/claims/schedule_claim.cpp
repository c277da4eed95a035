#include "proofs/claims/schedule_claim.h"

#include <algorithm>

namespace p2::claims {

const std::vector<ScheduleClaim>& schedule_registry() {
  static const std::vector<ScheduleClaim> claims = [] {
    std::vector<ScheduleClaim> all;
    append_claims_about_resharding(all);
    append_claims_about_pipelines(all);
    return all;
  }();
  return claims;
}

const ScheduleClaim* schedule_claim_called(std::string_view name) {
  const auto found = std::find_if(schedule_registry().begin(), schedule_registry().end(),
                                  [&](const ScheduleClaim& claim) { return claim.name == name; });
  return found == schedule_registry().end() ? nullptr : &*found;
}

}  // namespace p2::claims
