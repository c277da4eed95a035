#pragma once

#include <memory>

#include "engine/execution/backend.h"
#include "engine/execution/processes/rank_world.h"

namespace p2::execution {

/// A backend of which this process runs one rank.
class ProcessBackend : public Backend {
 public:
  explicit ProcessBackend(std::unique_ptr<RankWorld> world) : world_(std::move(world)) {}

  std::vector<RankResult> run(const Job& job) final;
  bool reports() const final { return world_->rank() == 0; }
  bool runs(std::uint32_t rank) const final { return world_->rank() == rank; }

 protected:
  virtual std::unique_ptr<Rank> rank_for(const Job& job) = 0;
  RankWorld& world() { return *world_; }

 private:
  std::unique_ptr<RankWorld> world_;
};

/// Dies or hangs for good, as a process.
[[noreturn]] void misbehave_as_process(Fault::Kind kind);

/// The place of a rank among groups: what communicators are split by.
struct PlaceInGroups {
  std::uint32_t group = 0;
  std::uint32_t position = 0;
};
/// Nothing for a rank that is in none of them.
std::optional<PlaceInGroups> place_in(const std::vector<Group>& groups, std::uint32_t rank);

}  // namespace p2::execution
