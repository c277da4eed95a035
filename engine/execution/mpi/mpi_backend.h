#pragma once

#include <memory>

#include "engine/execution/backend.h"
#include "engine/execution/processes/rank_board.h"

namespace p2::execution {

/// A process per rank, started by mpirun, on one host or several. Collectives are those of the MPI
/// library, on a communicator per distinct set of groups.
class MpiBackend final : public Backend {
 public:
  /// Starts MPI. `board` may be null: then nobody watches, and this process ends all ranks itself
  /// when it is kept waiting for too long.
  explicit MpiBackend(RankBoard* board);
  /// Ends MPI.
  ~MpiBackend() override;
  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;

  std::vector<RankResult> run(const Job& job) override;
  bool reports() const override { return rank() == 0; }
  bool runs(std::uint32_t number) const override { return rank() == number; }

  std::uint32_t rank() const;
  std::uint32_t ranks() const;

 private:
  class World;
  std::unique_ptr<World> world_;
};

}  // namespace p2::execution
