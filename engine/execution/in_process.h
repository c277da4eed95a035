#pragma once

#include "engine/execution/runtime.h"

namespace p2::execution {

/// A thread per rank over shared memory; needs no library. Sums are formed in the order of the
/// groups, so floating-point results are the same in every run. A send waits for its receive, which
/// reads the elements from the sender's buffer; a deadlock is detected when it occurs.
class InProcess final : public Backend {
 public:
  std::vector<RankResult> run(const Job& job) override;
};

}  // namespace p2::execution
