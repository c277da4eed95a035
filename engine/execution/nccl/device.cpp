#include "engine/execution/nccl/device.h"

#include <array>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "p2/error.h"

namespace p2::execution {
namespace {

/// NCCL refuses two ranks on one GPU of one host. These give every rank a host of its own as far as
/// NCCL can see, and leave it the transport between hosts alone.
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

/// Throws Interrupted where a collective of the communicator has failed.
void require_health(ncclComm_t communicator) {
  ncclResult_t failure = ncclSuccess;
  require(::ncclCommGetAsyncError(communicator, &failure), "ncclCommGetAsyncError");
  if (failure != ncclInProgress) require(failure, "a collective");
}

}  // namespace

void require(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw Interrupted(std::string("NCCL: ") + what + ": " + ::ncclGetErrorString(result));
}

void require(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw Interrupted(std::string("CUDA: ") + what + ": " + ::cudaGetErrorString(result));
}

NcclBackend::Device::Device(RankWorld& world, std::uint32_t local_rank, std::uint32_t local_ranks)
    : rank_(world.rank()) {
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
  world.share(std::as_writable_bytes(std::span(&id, 1)));
  require(
      ::ncclCommInitRank(&everybody_, static_cast<int>(world.ranks()), id, static_cast<int>(rank_)),
      "ncclCommInitRank");
}

NcclBackend::Device::~Device() {
  for (const auto& [groups, communicator] : split_) {
    if (communicator != nullptr) ::ncclCommDestroy(communicator);
  }
  ::ncclCommDestroy(everybody_);
  ::cudaStreamDestroy(stream_);
}

ncclComm_t NcclBackend::Device::among(const std::vector<Group>& groups) {
  const auto [known, is_new] = split_.try_emplace(groups, nullptr);
  if (!is_new) return known->second;
  const auto place = place_in(groups, rank_);
  const int colour = place ? static_cast<int>(place->group) : NCCL_SPLIT_NOCOLOR;
  const int key = place ? static_cast<int>(place->position) : 0;
  require(::ncclCommSplit(everybody_, colour, key, &known->second, nullptr), "ncclCommSplit");
  return known->second;
}

void NcclBackend::Device::finish() {
  for (;;) {
    const cudaError_t state = ::cudaStreamQuery(stream_);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) require(state, "cudaStreamQuery");
    require_health(everybody_);
    for (const auto& [groups, communicator] : split_) {
      if (communicator != nullptr) require_health(communicator);
    }
    std::this_thread::yield();
  }
}

DeviceMemory::DeviceMemory(std::size_t bytes) {
  require(::cudaMalloc(&memory_, bytes), "cudaMalloc");
}
DeviceMemory::~DeviceMemory() { ::cudaFree(memory_); }

}  // namespace p2::execution
