#include "engine/execution/nccl/nccl_backend.h"

#include "engine/execution/nccl/device.h"

namespace p2::execution {
namespace {

ncclDataType_t datatype(ElementType type) {
  switch (type) {
    case ElementType::Float64:
      return ncclFloat64;
    case ElementType::Int32:
      return ncclInt32;
    case ElementType::BFloat16:
      return ncclBfloat16;
    case ElementType::Float32:
      break;
  }
  return ncclFloat32;
}

class NcclRank final : public Rank {
 public:
  NcclRank(const Job& job, RankWorld& world, NcclBackend::Device& device)
      : job_(job),
        world_(world),
        device_(device),
        type_(datatype(job.inputs.type)),
        rows_(std::make_unique<DeviceMemory>(job.plan.most_rows * job.row_bytes())),
        spare_(std::make_unique<DeviceMemory>(job.plan.most_rows * job.row_bytes())) {
    for (const std::vector<Group>& groups : job.plan.partitions) {
      communicators_.push_back(device.among(groups));
    }
  }

  void fill(std::size_t bytes, const std::function<void(std::span<std::byte>)>& write) override {
    std::vector<std::byte> host(bytes);
    write(host);
    copy(rows_->get(), host.data(), bytes, cudaMemcpyHostToDevice);
    device_.finish();
  }

  void show(std::size_t bytes,
            const std::function<void(std::span<const std::byte>)>& read) override {
    std::vector<std::byte> host(bytes);
    copy(host.data(), rows_->get(), bytes, cudaMemcpyDeviceToHost);
    device_.finish();
    read(host);
  }

  void rearrange(const Rows& from) override {
    const std::size_t row = job_.row_bytes();
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::byte* to = spare_->get() + i * row;
      if (from[i] == kZeros) {
        require(::cudaMemsetAsync(to, 0, row, device_.stream()), "cudaMemsetAsync");
      } else {
        copy(to, rows_->get() + from[i] * row, row, cudaMemcpyDeviceToDevice);
      }
    }
    std::swap(rows_, spare_);
  }

  std::uint64_t take_part(const Call& call) override {
    const std::size_t count = call.rows * job_.chunk_elements;
    const ncclComm_t group = communicators_[call.partition];
    const cudaStream_t stream = device_.stream();
    std::byte* rows = rows_->get();
    std::byte* spare = spare_->get();
    switch (call.collective) {
      case Collective::AllReduce:
        require(::ncclAllReduce(rows, rows, count, type_, ncclSum, group, stream), "ncclAllReduce");
        break;
      case Collective::ReduceScatter:
        require(::ncclReduceScatter(rows, spare, count, type_, ncclSum, group, stream),
                "ncclReduceScatter");
        std::swap(rows_, spare_);
        break;
      case Collective::AllGather:
        require(::ncclAllGather(rows, spare, count, type_, group, stream), "ncclAllGather");
        std::swap(rows_, spare_);
        break;
      case Collective::Reduce:
        require(::ncclReduce(rows, rows, count, type_, ncclSum, 0, group, stream), "ncclReduce");
        break;
      case Collective::Broadcast:
        require(::ncclBroadcast(rows, rows, count, type_, 0, group, stream), "ncclBroadcast");
        break;
    }
    return count;
  }

  void finish() override { device_.finish(); }
  void meet() override { world_.meet(); }
  void misbehave(Fault::Kind kind) override { misbehave_as_process(kind); }

 private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    require(::cudaMemcpyAsync(to, from, bytes, kind, device_.stream()), "cudaMemcpyAsync");
  }

  const Job& job_;
  RankWorld& world_;
  NcclBackend::Device& device_;
  ncclDataType_t type_;
  std::unique_ptr<DeviceMemory> rows_;
  std::unique_ptr<DeviceMemory> spare_;
  std::vector<ncclComm_t> communicators_;  // by partition
};

}  // namespace

NcclBackend::NcclBackend(std::unique_ptr<RankWorld> world, std::uint32_t local_rank,
                         std::uint32_t local_ranks)
    : ProcessBackend(std::move(world)),
      device_(std::make_unique<Device>(ProcessBackend::world(), local_rank, local_ranks)) {}

NcclBackend::~NcclBackend() = default;

std::unique_ptr<Rank> NcclBackend::rank_for(const Job& job) {
  return std::make_unique<NcclRank>(job, world(), *device_);
}

}  // namespace p2::execution
