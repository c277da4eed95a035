#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <map>
#include <vector>

#include "engine/execution/nccl/nccl_backend.h"

namespace p2::execution {

/// Throws Interrupted, with the words of the library, unless the call succeeded.
void require(ncclResult_t result, const char* what);
void require(cudaError_t result, const char* what);

/// The GPU of this rank: a stream, and the communicators that were split off so far.
class NcclBackend::Device {
 public:
  Device(RankWorld& world, std::uint32_t local_rank, std::uint32_t local_ranks);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  cudaStream_t stream() const { return stream_; }
  /// This rank's communicator among those of the groups, nullptr for a rank that is in none. All
  /// ranks ask for the same groups in the same order.
  ncclComm_t among(const std::vector<Group>& groups);
  /// Returns when all that was put on the stream is done. Throws Interrupted when NCCL has failed.
  void finish();

 private:
  std::uint32_t rank_;
  cudaStream_t stream_ = nullptr;
  ncclComm_t everybody_ = nullptr;
  std::map<std::vector<Group>, ncclComm_t> split_;
};

/// Memory on the GPU.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* get() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_ = nullptr;
};

}  // namespace p2::execution
