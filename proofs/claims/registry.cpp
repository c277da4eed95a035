#include <algorithm>
#include <array>

#include "proofs/claims/claim.h"

namespace p2::claims {
namespace {

constexpr std::array<std::string_view, 3> kVerdicts = {"holds", "refuted", "unknown"};

}  // namespace

const std::vector<Claim>& registry() {
  static const std::vector<Claim> claims = [] {
    std::vector<Claim> all;
    append_claims_of_paper(all);
    append_claims_about_rules(all);
    append_claims_about_definitions(all);
    append_claims_beyond_groups(all);
    append_claims_about_cost(all);
    return all;
  }();
  return claims;
}

const Claim* claim_called(std::string_view name) {
  const auto found = std::find_if(registry().begin(), registry().end(),
                                  [&](const Claim& claim) { return claim.name == name; });
  return found == registry().end() ? nullptr : &*found;
}

std::string_view to_string(Outcome verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

std::optional<Outcome> verdict_called(std::string_view name) {
  const auto found = std::find(kVerdicts.begin(), kVerdicts.end(), name);
  if (found == kVerdicts.end()) return std::nullopt;
  return static_cast<Outcome>(found - kVerdicts.begin());
}

}  // namespace p2::claims
