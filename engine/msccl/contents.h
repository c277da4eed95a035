#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/msccl/connections.h"

namespace p2::msccl {

/// How often each contribution is in a sum; counts stop at the largest number.
using Sum = std::map<Contribution, std::uint32_t>;

/// What a chunk holds, and which step made it of what.
struct Content {
  std::shared_ptr<const Sum> sum;  ///< null: made of memory that nobody wrote
  std::optional<StepPlace> maker;  ///< empty: it was there at the beginning
  std::vector<const Content*> parts;
};

/// The memory of all GPUs while an algorithm runs. Contents live as long as this does.
class Contents {
 public:
  Contents(const Algorithm& algorithm, const MemoryLayout& layout,
           const std::vector<Connection>& connections);
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  /// Preconditions: what comes before the step has been run, and it is no residual add.
  void run(StepPlace place);
  const Content* at(const Cell& cell);

 private:
  using Chunks = std::vector<const Content*>;
  Chunks local(StepPlace place, const Region& region);
  const Content* made(StepPlace maker, std::vector<const Content*> parts);

  const Algorithm& algorithm_;
  const MemoryLayout& layout_;
  std::map<StepPlace, StepPlace> sender_;  ///< of each receive
  std::map<StepPlace, Chunks> in_flight_;  ///< by the sending step
  std::map<Cell, const Content*> cells_;
  std::deque<Content> all_;
};

}  // namespace p2::msccl
