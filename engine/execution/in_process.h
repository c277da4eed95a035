#pragma once

#include "engine/execution/backend.h"

namespace p2::execution {

/// A thread per rank, and memory that all of them share. Sums are formed in the order of the
/// groups, so that floating-point results are the same in every run. Needs nothing that is not
/// there.
class InProcess final : public Backend {
 public:
  std::vector<RankResult> run(const Job& job) override;
};

}  // namespace p2::execution
