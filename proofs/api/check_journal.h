#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/text/xla_dump.h"
#include "proofs/api/campaigns.h"
#include "proofs/api/subject_check.h"

namespace p2 {

/// What kept a file, or its certificate, from being answered.
struct FileError {
  Diagnostic::Kind kind = Diagnostic::Kind::BadInput;
  SourcePosition where;
  std::string message;  ///< without the position
  std::string line;     ///< with the position
};

/// What is known of a file once it is checked.
struct FileAnswer {
  std::optional<SubjectCheck> check = {};
  std::vector<FileError> errors = {};
  double seconds = 0;
};

/// An answer in a journal. Read back, its document is the same as text and as JSON; of the result
/// only the outcomes, the model and the evidence are kept.
std::string journal_text(const FileAnswer& answer);
/// Throws nlohmann::json::exception for what journal_text has not written.
FileAnswer journaled_answer(const nlohmann::ordered_json& text);

/// The first line of a journal of `check`. Throws InputError for a request that has no shards: with
/// a baseline, a cache, a repair or a query. `files` are all that are read but those of a dump.
Json check_journal_header(const CheckRequest& request, const std::vector<std::string>& files,
                          const hlo::Dump* dump, std::size_t questions);
/// The request of such a header. Throws nlohmann::json::exception.
CheckRequest journaled_check(const nlohmann::ordered_json& header);

/// As check().
CheckAnswer check_in_campaign(const CheckRequest& request, const Options& options,
                              const CampaignRun& run);

}  // namespace p2
