#pragma once

#include "p2/cost.h"
#include "proofs/api/campaigns.h"

namespace p2 {

/// As cost(), its questions answered by `run`.
CostAnswer cost_in_campaign(const CostRequest& request, const Options& options,
                            const CampaignRun& run);
/// The request of the header of a journal. Throws nlohmann::json::exception.
CostRequest journaled_cost(const nlohmann::ordered_json& header);

}  // namespace p2
