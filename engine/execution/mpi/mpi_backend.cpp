#include "engine/execution/mpi/mpi_backend.h"

#include <mpi.h>

#include <map>

#include "engine/execution/host_buffer.h"
#include "engine/base/invariant.h"

namespace p2::execution {

/// By the groups that it is split into, for all jobs.
struct MpiBackend::Communicators : std::map<std::vector<Group>, MPI_Comm> {};

namespace {

MPI_Datatype datatype(ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return MPI_FLOAT;
    case ElementType::Float64:
      return MPI_DOUBLE;
    case ElementType::Int32:
      return MPI_INT32_T;
    case ElementType::BFloat16:
      break;
  }
  invariant(false, "MPI has no bfloat16");
  return MPI_DATATYPE_NULL;
}

class MpiRank final : public Rank {
 public:
  MpiRank(const Job& job, RankWorld& world, MpiBackend::Communicators& communicators)
      : job_(job),
        world_(world),
        communicators_(communicators),
        type_(datatype(job.inputs.type)),
        buffer_(job.plan.most_rows, job.row_bytes()) {
    for (const std::vector<Group>& groups : job.plan.partitions) of_.push_back(of(groups));
  }

  void fill(std::size_t bytes, const std::function<void(std::span<std::byte>)>& write) override {
    write({buffer_.rows(), bytes});
  }
  void show(std::size_t bytes,
            const std::function<void(std::span<const std::byte>)>& read) override {
    read({buffer_.rows(), bytes});
  }
  void rearrange(const Rows& from) override { buffer_.rearrange(from); }
  void meet() override { world_.meet(); }

  std::uint64_t take_part(const Call& call) override {
    const MPI_Comm group = of_[call.partition];
    const auto count = static_cast<int>(call.rows * job_.chunk_elements);
    std::byte* rows = buffer_.rows();
    switch (call.collective) {
      case Collective::AllReduce:
        ::MPI_Allreduce(MPI_IN_PLACE, rows, count, type_, MPI_SUM, group);
        break;
      case Collective::ReduceScatter:
        ::MPI_Reduce_scatter_block(rows, buffer_.spare(), count, type_, MPI_SUM, group);
        buffer_.swap();
        break;
      case Collective::AllGather:
        ::MPI_Allgather(rows, count, type_, buffer_.spare(), count, type_, group);
        buffer_.swap();
        break;
      case Collective::Reduce:
        if (call.position == 0) {
          ::MPI_Reduce(MPI_IN_PLACE, rows, count, type_, MPI_SUM, 0, group);
        } else {
          ::MPI_Reduce(rows, nullptr, count, type_, MPI_SUM, 0, group);
        }
        break;
      case Collective::Broadcast:
        ::MPI_Bcast(rows, count, type_, 0, group);
        break;
    }
    return static_cast<std::uint64_t>(count);
  }

  void misbehave(Fault::Kind kind) override { misbehave_as_process(kind); }

 private:
  /// This rank's communicator among those of the groups: in every program in which they occur.
  MPI_Comm of(const std::vector<Group>& groups) {
    const auto [known, is_new] = communicators_.try_emplace(groups, MPI_COMM_NULL);
    if (!is_new) return known->second;
    const auto place = place_in(groups, world_.rank());
    const int colour = place ? static_cast<int>(place->group) : MPI_UNDEFINED;
    const int key = place ? static_cast<int>(place->position) : 0;
    ::MPI_Comm_split(MPI_COMM_WORLD, colour, key, &known->second);
    return known->second;
  }

  const Job& job_;
  RankWorld& world_;
  MpiBackend::Communicators& communicators_;
  MPI_Datatype type_;
  HostBuffer buffer_;
  std::vector<MPI_Comm> of_;
};

}  // namespace

MpiBackend::MpiBackend(std::unique_ptr<RankWorld> world)
    : ProcessBackend(std::move(world)), communicators_(std::make_unique<Communicators>()) {}

MpiBackend::~MpiBackend() {
  for (auto& [groups, communicator] : *communicators_) {
    if (communicator != MPI_COMM_NULL) ::MPI_Comm_free(&communicator);
  }
}

std::unique_ptr<Rank> MpiBackend::rank_for(const Job& job) {
  return std::make_unique<MpiRank>(job, world(), *communicators_);
}

}  // namespace p2::execution
