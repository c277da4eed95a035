#pragma once

#include <memory>

#include "engine/execution/processes/process_backend.h"
#include "engine/execution/processes/supervision.h"

namespace p2::execution {

/// The connection between the processes that mpirun started, on one host or several. MPI is
/// initialized as long as this object lives.
///
/// `board` may be null: then there is no supervisor, and a rank that waits inside a step past the
/// deadline or for kStallTimeout exits, whereupon mpirun terminates the others.
std::unique_ptr<ControlChannel> mpi_channel(RankBoard* board);

/// A process per rank, on buffers in its own memory. Collectives are those of the MPI library, on a
/// communicator per distinct set of groups. The sends and receives of a step are packed, posted in
/// order with MPI_Isend and MPI_Irecv, and completed with one MPI_Waitall.
///
/// No bfloat16. A plan with a message of more than 2^31 − 1 elements is refused with InputError
/// before it begins.
class MpiBackend final : public ProcessBackend {
 public:
  /// The channel must be that of MPI.
  explicit MpiBackend(std::unique_ptr<ControlChannel> channel);
  ~MpiBackend() override;

  struct Communicators;

 private:
  std::unique_ptr<Rank> make_rank(const Job& job) override;

  std::unique_ptr<Communicators> communicators_;
};

}  // namespace p2::execution
