#pragma once

#include <memory>
#include <vector>

#include "p2/prove.h"
#include "p2/text_file.h"
#include "proofs/claims/campaign.h"

namespace p2 {

/// The questions of a request (prove_request.cpp). Throws InputError.
claims::CampaignRequest campaign_request(const ProveRequest& request, const Options& options);
/// The first line of a journal: everything that the answers depend on, whatever is at the path of
/// the system file later. `questions`: how many there are.
Json journal_header(const ProveRequest& request, std::uint64_t seed, std::size_t questions);

/// What a journal header says.
struct JournaledRequest {
  ProveRequest request;
  std::uint64_t seed = 1;
  std::shared_ptr<const TextFile> system;  ///< what the request has a path of; may be null
};
/// Throws nlohmann::json::exception for a header that journal_header has not made.
JournaledRequest journaled_request(const nlohmann::ordered_json& header);

/// Everything that is settled.
struct Settled {
  claims::CampaignRequest request;
  claims::CampaignResults results;
  campaign::Shard shard;

  Outcome outcome() const;
  std::uint32_t max_devices() const;
};

/// The document as text and JSON (prove_document.cpp).
void add_text(const Settled& settled, const std::vector<claims::Summary>& summary,
              Document& document);
Json answer_json(const Settled& settled, const std::vector<claims::Summary>& summary,
                 const std::vector<Result>& results);
/// Null unless refuted.
Json refutation_json(const claims::SettledQuestion& result);
Json refutation_json(const claims::ScheduleSettlement& answer);
/// `expressiveness b -> c`.
std::string title_of(const claims::Question& question);

/// The answer to what is settled; certifies counterexamples first if that is asked.
ProveAnswer answer_of(Settled& settled, bool report, std::vector<Diagnostic> diagnostics,
                      const Options& options);

}  // namespace p2
