#include "engine/execution/processes/rank_processes.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "engine/execution/region.h"

namespace p2::execution {
namespace {

/// Throws Interrupted, with the library's message, unless the call succeeded.
void require(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw Interrupted(std::string("NCCL: ") + what + ": " + ::ncclGetErrorString(result));
}

void require(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw Interrupted(std::string("CUDA: ") + what + ": " + ::cudaGetErrorString(result));
}

/// NCCL refuses two ranks on one GPU of one host. These settings present every rank as a host of
/// its own, and leave the transport between hosts.
void share_one_gpu(std::uint32_t rank) {
  ::setenv("NCCL_HOSTID", ("p2-" + std::to_string(rank)).c_str(), 1);
  constexpr std::array<std::pair<const char*, const char*>, 14> kSettings = {{
      {"NCCL_SOCKET_IFNAME", "lo"},
      {"NCCL_NET", "Socket"},
      {"NCCL_NET_PLUGIN", "none"},
      {"NCCL_IB_DISABLE", "1"},
      {"NCCL_P2P_DISABLE", "1"},
      {"NCCL_SHM_DISABLE", "1"},
      {"NCCL_MNNVL_ENABLE", "0"},
      {"NCCL_NVLS_ENABLE", "0"},
      {"NCCL_CUMEM_ENABLE", "0"},
      {"NCCL_RAS_ENABLE", "0"},
      {"NCCL_MAX_CTAS", "1"},
      {"NCCL_ALGO", "Ring"},
      {"NCCL_PROTO", "Simple"},
      {"CUDA_MODULE_LOADING", "EAGER"},
  }};
  for (const auto& [name, value] : kSettings) ::setenv(name, value, 0);
}

/// Throws Interrupted where an operation of the communicator has failed asynchronously.
void require_health(ncclComm_t communicator) {
  ncclResult_t failure = ncclSuccess;
  require(::ncclCommGetAsyncError(communicator, &failure), "ncclCommGetAsyncError");
  if (failure != ncclInProgress) require(failure, "a collective");
}

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

/// Memory on the GPU.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) {
    require(::cudaMalloc(&memory_, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
  }
  ~DeviceMemory() { ::cudaFree(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* get() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_ = nullptr;
};

std::size_t bytes_of(const reshard::Box& box) {
  return static_cast<std::size_t>(box.elements()) * sizeof(reshard::Word);
}

std::ptrdiff_t word_offset(std::int64_t words) {
  return static_cast<std::ptrdiff_t>(words) * static_cast<std::ptrdiff_t>(sizeof(reshard::Word));
}

}  // namespace

/// The GPU of this rank: a stream, and the communicators that have been split off so far.
class NcclBackend::Device {
 public:
  Device(ControlChannel& channel, std::uint32_t local_rank, std::uint32_t local_ranks)
      : rank_(channel.rank()) {
    int devices = 0;
    if (::cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      throw InputError({"--backend"}, "there is no CUDA device here, expected at least one");
    }
    const auto count = static_cast<std::uint32_t>(devices);
    if (local_ranks > count) share_one_gpu(rank_);
    require(::cudaSetDevice(static_cast<int>(local_rank % count)), "cudaSetDevice");
    require(::cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    ncclUniqueId id{};
    if (rank_ == 0) require(::ncclGetUniqueId(&id), "ncclGetUniqueId");
    channel.broadcast(std::as_writable_bytes(std::span(&id, 1)));
    require(
        ::ncclCommInitRank(&world_, static_cast<int>(channel.ranks()), id, static_cast<int>(rank_)),
        "ncclCommInitRank");
  }
  ~Device() {
    for (const auto& [groups, communicator] : split_) {
      if (communicator != nullptr) ::ncclCommDestroy(communicator);
    }
    ::ncclCommDestroy(world_);
    ::cudaStreamDestroy(stream_);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  cudaStream_t stream() const { return stream_; }
  ncclComm_t world() const { return world_; }

  /// This rank's communicator among those of the groups, nullptr for a rank that is in none. All
  /// ranks ask for the same groups in the same order.
  ncclComm_t communicator(const std::vector<Group>& groups) {
    const auto [found, is_new] = split_.try_emplace(groups, nullptr);
    if (!is_new) return found->second;
    const auto position = find_position(groups, rank_);
    const int colour = position ? static_cast<int>(position->group) : NCCL_SPLIT_NOCOLOR;
    const int key = position ? static_cast<int>(position->position) : 0;
    require(::ncclCommSplit(world_, colour, key, &found->second, nullptr), "ncclCommSplit");
    return found->second;
  }

  /// Returns when the stream is empty. Throws Interrupted when NCCL has failed.
  void finish() {
    for (;;) {
      const cudaError_t state = ::cudaStreamQuery(stream_);
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) require(state, "cudaStreamQuery");
      require_health(world_);
      for (const auto& [groups, communicator] : split_) {
        if (communicator != nullptr) require_health(communicator);
      }
      std::this_thread::yield();
    }
  }

 private:
  std::uint32_t rank_;
  cudaStream_t stream_ = nullptr;
  ncclComm_t world_ = nullptr;
  std::map<std::vector<Group>, ncclComm_t> split_;
};

namespace {

class NcclRank final : public Rank {
 public:
  NcclRank(const Workload& work, ControlChannel& channel, NcclBackend::Device& device)
      : Rank(channel.rank()),
        channel_(channel),
        device_(device),
        messages_(work.message_bytes(channel.rank())) {
    const std::array<std::size_t, 2> bytes = work.buffer_bytes(number());
    for (std::size_t i = 0; i < 2; ++i) {
      buffers_[i] = std::make_unique<DeviceMemory>(bytes[i]);
    }
    for (const std::vector<Group>& groups : work.partitions()) {
      by_partition_.push_back(device.communicator(groups));
    }
  }

  void write(std::size_t buffer, std::size_t bytes,
             const std::function<void(std::span<std::byte>)>& fill) override {
    std::vector<std::byte> host(bytes);
    fill(host);
    copy(buffers_[buffer]->get(), host.data(), bytes, cudaMemcpyHostToDevice);
    device_.finish();
  }

  void read(std::size_t buffer, std::size_t bytes,
            const std::function<void(std::span<const std::byte>)>& see) override {
    std::vector<std::byte> host(bytes);
    copy(host.data(), buffers_[buffer]->get(), bytes, cudaMemcpyDeviceToHost);
    device_.finish();
    see(host);
  }

  void rearrange(const Rows& from, std::size_t row_bytes) override {
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::byte* to = buffers_[1]->get() + i * row_bytes;
      if (from[i] == kZeros) {
        require(::cudaMemsetAsync(to, 0, row_bytes, device_.stream()), "cudaMemsetAsync");
      } else {
        copy(to, buffers_[0]->get() + from[i] * row_bytes, row_bytes, cudaMemcpyDeviceToDevice);
      }
    }
    std::swap(buffers_[0], buffers_[1]);
  }

  std::uint64_t run_collective(const Call& call, std::uint64_t count, ElementType type) override {
    ncclComm_t group = by_partition_[call.partition];
    const ncclDataType_t element = datatype(type);
    cudaStream_t stream = device_.stream();
    std::byte* rows = buffers_[0]->get();
    std::byte* spare = buffers_[1]->get();
    switch (call.collective) {
      case Collective::AllReduce:
        require(::ncclAllReduce(rows, rows, count, element, ncclSum, group, stream),
                "ncclAllReduce");
        break;
      case Collective::ReduceScatter:
        require(::ncclReduceScatter(rows, spare, count, element, ncclSum, group, stream),
                "ncclReduceScatter");
        std::swap(buffers_[0], buffers_[1]);
        break;
      case Collective::AllGather:
        require(::ncclAllGather(rows, spare, count, element, group, stream), "ncclAllGather");
        std::swap(buffers_[0], buffers_[1]);
        break;
      case Collective::Reduce:
        require(::ncclReduce(rows, rows, count, element, ncclSum, 0, group, stream), "ncclReduce");
        break;
      case Collective::Broadcast:
        require(::ncclBroadcast(rows, rows, count, element, 0, group, stream), "ncclBroadcast");
        break;
    }
    return count;
  }

  void run_transfers(const reshard::Step& step, const Regions& regions) override {
    const std::vector<std::byte*> messages = place_messages(step);
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (step[i].sends) pack(step[i], regions, messages[i]);
    }
    ncclComm_t world = device_.world();
    require(::ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < step.size(); ++i) {
      const auto count = static_cast<std::size_t>(step[i].box.elements());
      const auto peer = static_cast<int>(step[i].peer);
      if (step[i].sends) {
        require(::ncclSend(messages[i], count, ncclUint32, peer, world, device_.stream()),
                "ncclSend");
      } else {
        require(::ncclRecv(messages[i], count, ncclUint32, peer, world, device_.stream()),
                "ncclRecv");
      }
    }
    require(::ncclGroupEnd(), "ncclGroupEnd");
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (!step[i].sends) unpack_from(messages[i], step[i], regions);
    }
  }

  void finish() override { device_.finish(); }
  void barrier() override { channel_.barrier(); }
  void inject(InjectedFault::Kind kind) override { inject_into_process(kind); }

 private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    require(::cudaMemcpyAsync(to, from, bytes, kind, device_.stream()), "cudaMemcpyAsync");
  }
  void copy_run(std::byte* to, const std::byte* from, std::int64_t words) {
    copy(to, from, static_cast<std::size_t>(word_offset(words)), cudaMemcpyDeviceToDevice);
  }

  std::vector<std::byte*> place_messages(const reshard::Step& step) const {
    std::vector<std::byte*> starts;
    std::byte* next = messages_.get();
    for (const reshard::Operation& each : step) {
      starts.push_back(next);
      next += bytes_of(each.box);
    }
    return starts;
  }

  void pack(const reshard::Operation& send, const Regions& regions, std::byte* message) {
    const bool source = send.buffer == reshard::Buffer::Source;
    const std::byte* from = buffers_[source ? 0 : 1]->get();
    reshard::for_each_run(source ? regions.source : regions.destination, send.box,
                          [&](const reshard::Run& run) {
                            copy_run(message + word_offset(run.in_message),
                                     from + word_offset(run.in_buffer), run.length);
                          });
  }
  void unpack_from(const std::byte* message, const reshard::Operation& receive,
                   const Regions& regions) {
    reshard::for_each_run(regions.destination, receive.box, [&](const reshard::Run& run) {
      copy_run(buffers_[1]->get() + word_offset(run.in_buffer),
               message + word_offset(run.in_message), run.length);
    });
  }

  ControlChannel& channel_;
  NcclBackend::Device& device_;
  std::array<std::unique_ptr<DeviceMemory>, 2> buffers_;
  DeviceMemory messages_;  // of one step
  std::vector<ncclComm_t> by_partition_;
};

}  // namespace

NcclBackend::NcclBackend(std::unique_ptr<ControlChannel> channel, std::uint32_t local_rank,
                         std::uint32_t local_ranks)
    : ProcessBackend(std::move(channel)),
      device_(std::make_unique<Device>(ProcessBackend::channel(), local_rank, local_ranks)) {}

NcclBackend::~NcclBackend() = default;

std::unique_ptr<Rank> NcclBackend::make_rank(const Job& job) {
  return std::make_unique<NcclRank>(job.work, channel(), *device_);
}

}  // namespace p2::execution
