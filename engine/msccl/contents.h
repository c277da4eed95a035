#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/msccl/connections.h"
#include "engine/msccl/limit_met.h"
#include "engine/msccl/sum.h"

namespace p2::msccl {

/// What a chunk holds, and which step made it of what.
struct Content {
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  const Sum* sum = nullptr;                  ///< null: made of memory that nobody wrote
  StepPlace maker = {kNobody, 0, 0};         ///< kNobody: it was there at the beginning
  std::array<const Content*, 3> parts = {};  ///< null where there are fewer

  bool was_made() const { return maker.gpu != kNobody; }
};

/// The memory of all GPUs while an algorithm runs. Contents live as long as this does.
class Contents {
 public:
  Contents(const Algorithm& algorithm, const MemoryLayout& layout,
           const std::vector<Connection>& connections, LimitWatch& watch);
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  /// Preconditions: what comes before the step has been run, and it is no residual add. Throws
  /// LimitMet.
  void run(StepPlace place);
  const Content* at(const Cell& cell);

 private:
  using Chunks = std::vector<const Content*>;
  /// Neighbouring cells; null where nobody has looked yet.
  static constexpr std::uint32_t kPage = 32;
  using Page = std::array<const Content*, kPage>;
  /// The connections that a thread block sends and receives on, by number.
  struct Ends {
    std::uint32_t sends_on = 0;
    std::uint32_t receives_on = 0;
  };

  const Content*& slot(const Cell& cell);
  const Sum* sum_of(const std::array<const Content*, 3>& parts);
  const Content* made(StepPlace maker, const std::array<const Content*, 3>& parts);

  const Algorithm& algorithm_;
  const MemoryLayout& layout_;
  LimitWatch& watch_;
  std::vector<std::vector<Ends>> ends_;        ///< by gpu and thread block
  std::vector<std::deque<Chunks>> in_flight_;  ///< by connection
  /// By gpu: the cells near those that were touched.
  std::vector<std::unordered_map<std::uint64_t, Page>> cells_;
  std::deque<Content> all_;
  std::deque<Sum> sums_;
};

}  // namespace p2::msccl
