// A stand-in for the CUDA runtime, for hosts without a GPU: its memory is memory of the host, and
// what is put on a stream is done at once.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/execution/shared_arena.h"

namespace {

constexpr std::size_t kArena = std::size_t{4} << 30U;
[[maybe_unused]] const SharedArena& kMadeAtStart = shared_arena();

/// Zeros, or what others have written there.
SharedArena* map_arena() {
  void* const place = reinterpret_cast<void*>(std::uintptr_t{1} << 45U);
  const char* path = std::getenv("FAKE_NCCL_ARENA");
  const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CREAT, 0600);
  if (path != nullptr && (file < 0 || ::ftruncate(file, kArena) != 0)) std::abort();
  const int kind = MAP_SHARED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : MAP_FIXED_NOREPLACE);
  void* const memory = ::mmap(place, kArena, PROT_READ | PROT_WRITE, kind, file, 0);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<SharedArena*>(memory);
}

void make(SharedArena& arena) {
  pthread_mutexattr_t mutex;
  ::pthread_mutexattr_init(&mutex);
  ::pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
  ::pthread_mutex_init(&arena.mutex, &mutex);
  pthread_condattr_t condition;
  ::pthread_condattr_init(&condition);
  ::pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  ::pthread_cond_init(&arena.changed, &condition);
  arena.used = 4096;
}

}  // namespace

/// Made before anybody forks, so that it is at the same place for all.
SharedArena& shared_arena() {
  static SharedArena* const arena = [] {
    SharedArena* const mapped = map_arena();
    auto found = SharedArena::State::New;
    if (mapped->state.compare_exchange_strong(found, SharedArena::State::BeingMade)) {
      make(*mapped);
      mapped->state = SharedArena::State::Made;
    }
    while (mapped->state != SharedArena::State::Made) std::this_thread::yield();
    return mapped;
  }();
  return *arena;
}

void* take_shared(std::size_t bytes) {
  const std::size_t at = shared_arena().used.fetch_add((bytes + 255) / 256 * 256);
  return at + bytes > kArena ? nullptr : reinterpret_cast<std::byte*>(&shared_arena()) + at;
}

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "out of memory"; }
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = take_shared(bytes);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void*) { return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
}
