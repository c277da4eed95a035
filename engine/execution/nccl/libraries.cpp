// The functions of NCCL and of the CUDA runtime that the backend calls. The libraries are loaded
// when the first of them is called: the program also starts where they are not installed. A program
// that defines these functions itself, as the tests do, does not link this file.
#include <array>
#include <string>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>

namespace {

/// The first of the names that can be loaded; null if none can.
void* loaded(const std::array<const char*, 3>& names) {
  for (const char* name : names) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return library;
  }
  return nullptr;
}

void* cuda() {
  static void* library = loaded({P2_CUDART_NAME, P2_CUDART_PATH, "libcudart.so"});
  return library;
}

void* nccl() {
  static void* library = loaded({P2_NCCL_NAME, P2_NCCL_PATH, "libnccl.so"});
  return library;
}

template <typename Function>
Function* symbol(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

// RESULT NAME(PARAMETERS) calls the library's function, or returns MISSING.
#define P2_FORWARD(LIBRARY, RESULT, MISSING, NAME, PARAMETERS, ARGUMENTS)      \
  RESULT NAME PARAMETERS {                                                     \
    static auto* const function = symbol<RESULT PARAMETERS>(LIBRARY(), #NAME); \
    return function != nullptr ? function ARGUMENTS : (MISSING);               \
  }
#define P2_CUDA(NAME, PARAMETERS, ARGUMENTS) \
  P2_FORWARD(cuda, cudaError_t, cudaErrorInsufficientDriver, NAME, PARAMETERS, ARGUMENTS)
#define P2_NCCL(NAME, PARAMETERS, ARGUMENTS) \
  P2_FORWARD(nccl, ncclResult_t, ncclSystemError, NAME, PARAMETERS, ARGUMENTS)

extern "C" {

// Without NCCL there is no device to run on either.
cudaError_t cudaGetDeviceCount(int* count) {
  static auto* const function = symbol<cudaError_t(int*)>(cuda(), "cudaGetDeviceCount");
  return function != nullptr && nccl() != nullptr ? function(count) : cudaErrorInsufficientDriver;
}
P2_FORWARD(cuda, const char*, "libcudart cannot be loaded", cudaGetErrorString, (cudaError_t error),
           (error))
P2_CUDA(cudaSetDevice, (int device), (device))
P2_CUDA(cudaMalloc, (void** memory, size_t bytes), (memory, bytes))
P2_CUDA(cudaFree, (void* memory), (memory))
P2_CUDA(cudaMemcpyAsync,
        (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
        (to, from, bytes, kind, stream))
P2_CUDA(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream),
        (to, value, bytes, stream))
P2_CUDA(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
P2_CUDA(cudaStreamDestroy, (cudaStream_t stream), (stream))
P2_CUDA(cudaStreamQuery, (cudaStream_t stream), (stream))

P2_FORWARD(nccl, const char*, "libnccl cannot be loaded", ncclGetErrorString, (ncclResult_t error),
           (error))
P2_NCCL(ncclGroupStart, (), ())
P2_NCCL(ncclGroupEnd, (), ())
P2_NCCL(ncclGetUniqueId, (ncclUniqueId * id), (id))
P2_NCCL(ncclCommInitRank, (ncclComm_t * made, int ranks, ncclUniqueId id, int rank),
        (made, ranks, id, rank))
P2_NCCL(ncclCommSplit,
        (ncclComm_t whole, int colour, int key, ncclComm_t* made, ncclConfig_t* configuration),
        (whole, colour, key, made, configuration))
P2_NCCL(ncclCommDestroy, (ncclComm_t each), (each))
P2_NCCL(ncclCommGetAsyncError, (ncclComm_t each, ncclResult_t* error), (each, error))
P2_NCCL(ncclSend,
        (const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t group,
         cudaStream_t stream),
        (from, count, type, peer, group, stream))
P2_NCCL(ncclRecv,
        (void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t group,
         cudaStream_t stream),
        (to, count, type, peer, group, stream))
P2_NCCL(ncclAllReduce,
        (const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
         ncclComm_t group, cudaStream_t stream),
        (from, to, count, type, operation, group, stream))
P2_NCCL(ncclReduceScatter,
        (const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
         ncclComm_t group, cudaStream_t stream),
        (from, to, count, type, operation, group, stream))
P2_NCCL(ncclAllGather,
        (const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t group,
         cudaStream_t stream),
        (from, to, count, type, group, stream))
P2_NCCL(ncclReduce,
        (const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
         int root, ncclComm_t group, cudaStream_t stream),
        (from, to, count, type, operation, root, group, stream))
P2_NCCL(ncclBroadcast,
        (const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t group,
         cudaStream_t stream),
        (from, to, count, type, root, group, stream))
}
