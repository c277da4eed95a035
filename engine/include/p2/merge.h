#pragma once

#include <string>
#include <vector>

#include "p2/answer.h"

namespace p2 {

/// Which journals are put together: those of all shards of one campaign.
struct MergeRequest {
  std::vector<std::string> journals;  ///< paths of the files that `--resume` has written
};

/// The answer that a single run of the same request gives, with the same document. Nothing is
/// settled again; certificates of the smallest counterexamples are written where the request asked
/// for certificates. Throws InputError for files that are no journals, or of different campaigns,
/// and where the contents of files that were read have changed; LimitReached, with the names of the
/// shards, where questions are not answered.
Answer merge(const MergeRequest& request, const Options& options);

}  // namespace p2
