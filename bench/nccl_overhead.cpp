// nccl_overhead [RANKS [BYTES]]: what the NCCL backend costs over the same calls written by hand.
// Pairs of runs, one of each, in turn; prints the median of the ratios. Ranks share a GPU where
// there are fewer GPUs.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/single_allreduce.h"
#include "engine/execution/processes/rank_processes.h"
#include "engine/execution/workloads.h"

namespace {

using namespace p2;
using namespace p2::execution;

constexpr unsigned kPairs = 30;
constexpr unsigned kCalls = 20;

void require(bool succeeded, const char* what) {
  if (!succeeded) throw ToolError(what);
}

/// The calls as a user would write them: one stream, one communicator, a buffer on the GPU.
class ByHand {
 public:
  explicit ByHand(ControlChannel& channel) : channel_(channel) {
    ncclUniqueId id{};
    if (channel.rank() == 0) require(ncclGetUniqueId(&id) == ncclSuccess, "ncclGetUniqueId");
    channel.broadcast(std::as_writable_bytes(std::span(&id, 1)));
    require(ncclCommInitRank(&communicator_, static_cast<int>(channel.ranks()), id,
                             static_cast<int>(channel.rank())) == ncclSuccess,
            "ncclCommInitRank");
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess,
            "cudaStreamCreate");
  }
  ~ByHand() {
    ncclCommDestroy(communicator_);
    cudaStreamDestroy(stream_);
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  /// The slowest rank's mean time of one call on a buffer of its own, as the backend's is.
  double seconds(std::size_t elements) {
    void* buffer = nullptr;
    require(cudaMalloc(&buffer, elements * sizeof(float)) == cudaSuccess, "cudaMalloc");
    double sum = 0;
    for (unsigned i = 0; i <= kCalls; ++i) {
      channel_.barrier();
      const auto start = std::chrono::steady_clock::now();
      ncclAllReduce(buffer, buffer, elements, ncclFloat32, ncclSum, communicator_, stream_);
      while (cudaStreamQuery(stream_) == cudaErrorNotReady) {
      }
      const std::chrono::duration<double> own = std::chrono::steady_clock::now() - start;
      const double seconds = own.count();
      const std::vector<std::byte> all = channel_.all_gather(std::as_bytes(std::span(&seconds, 1)));
      double slowest = 0;
      for (std::size_t rank = 0; rank < channel_.ranks(); ++rank) {
        double each = 0;
        std::copy_n(all.data() + rank * sizeof each, sizeof each,
                    reinterpret_cast<std::byte*>(&each));
        slowest = std::max(slowest, each);
      }
      if (i > 0) sum += slowest;  // the first is to warm up
    }
    cudaFree(buffer);
    return sum / kCalls;
  }

 private:
  ControlChannel& channel_;
  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

int compare(ForkedRanks& forked, std::uint32_t ranks, std::size_t bytes) {
  const Program program = single_allreduce(ranks);
  const Plan plan = plan_of(program);
  const Expectation expectation(program, Dialect::Published);
  const ProgramRun run(plan, expectation, {}, bytes / sizeof(float) / ranks);
  Job job{run};
  job.check = Check::Nothing;
  job.iterations = kCalls;
  NcclBackend backend(forked.channel(), forked.rank(), ranks);
  const auto channel = forked.channel();
  ByHand by_hand(*channel);
  const auto hand_seconds = [&] { return by_hand.seconds(ranks * run.chunk_elements()); };
  const auto backend_seconds = [&] { return measure_program(run, job, backend.run(job)).seconds; };
  std::vector<double> ratios;
  std::vector<double> hand;
  for (unsigned pair = 0; pair < kPairs; ++pair) {
    const bool first = pair % 2 == 0;
    const double a = first ? hand_seconds() : backend_seconds();
    const double b = first ? backend_seconds() : hand_seconds();
    hand.push_back(first ? a : b);
    ratios.push_back(first ? b / a : a / b);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(hand.begin(), hand.end());
  if (forked.rank() == 0) {
    std::printf(
        "%u ranks, %zu bytes: by hand %.1f us, median overhead %+.2f %% (quartiles %+.2f, %+.2f)\n",
        ranks, bytes, hand[kPairs / 2] * 1e6, (ratios[kPairs / 2] - 1) * 100,
        (ratios[kPairs / 4] - 1) * 100, (ratios[3 * kPairs / 4] - 1) * 100);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks =
      static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2UL);
  const std::size_t bytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : std::size_t{16} << 20U;
  ForkedRanks forked(ranks, std::max(max_gathered_bytes(1, kCalls), sizeof(double)));
  if (const auto end = forked.fork_all(std::nullopt)) {
    if (!end->exit_code) std::fprintf(stderr, "nccl_overhead: %s\n", end->fault.c_str());
    return end->exit_code.value_or(3);
  }
  int code = 3;
  try {
    code = compare(forked, ranks, bytes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %u: %s\n", forked.rank(), error.what());
  }
  forked.board().report_exit(forked.rank(), code, code != 0);
  return code;
}
