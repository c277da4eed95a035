// mpirun -n 2 build/bench/bin/mpi_overhead [BYTES]: what the MPI backend costs over the same calls
// written by hand. Pairs of runs, one of each, in turn; prints the median of the ratios.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/single_allreduce.h"
#include "engine/execution/processes/rank_processes.h"
#include "engine/execution/workloads.h"

namespace {

using namespace p2;
using namespace p2::execution;

constexpr unsigned kPairs = 30;
constexpr unsigned kCalls = 20;

/// The slowest rank's mean time of one call.
double by_hand(std::vector<float>& buffer, MPI_Comm communicator) {
  double sum = 0;
  for (unsigned i = 0; i <= kCalls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, buffer.data(), static_cast<int>(buffer.size()), MPI_FLOAT, MPI_SUM,
                  communicator);
    double seconds = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i > 0) sum += seconds;  // the first is to warm up
  }
  return sum / kCalls;
}

double by_backend(MpiBackend& backend, const ProgramRun& run, const Job& job) {
  return measure_program(run, job, backend.run(job)).seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : std::size_t{16} << 20U;
  auto world = mpi_channel(nullptr);
  const std::uint32_t ranks = world->ranks();
  const bool prints = world->rank() == 0;
  const Program program = single_allreduce(ranks);
  const Plan plan = plan_of(program);
  const Expectation expectation(program, Dialect::Published);
  const ProgramRun run(plan, expectation, {}, bytes / sizeof(float) / ranks);
  Job job{run};
  job.check = Check::Nothing;
  job.iterations = kCalls;
  MpiBackend backend(std::move(world));
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  std::vector<double> ratios;
  std::vector<double> hand;
  for (unsigned pair = 0; pair < kPairs; ++pair) {
    // As the backend does, each run takes a buffer of its own.
    std::vector<float> buffer(ranks * run.chunk_elements(), 1.0F);
    const bool first = pair % 2 == 0;
    const double a = first ? by_hand(buffer, communicator) : by_backend(backend, run, job);
    const double b = first ? by_backend(backend, run, job) : by_hand(buffer, communicator);
    hand.push_back(first ? a : b);
    ratios.push_back(first ? b / a : a / b);
  }
  MPI_Comm_free(&communicator);
  std::sort(ratios.begin(), ratios.end());
  std::sort(hand.begin(), hand.end());
  if (prints) {
    std::printf(
        "%u ranks, %zu bytes: by hand %.1f us, median overhead %+.2f %% (quartiles %+.2f, %+.2f)\n",
        ranks, bytes, hand[kPairs / 2] * 1e6, (ratios[kPairs / 2] - 1) * 100,
        (ratios[kPairs / 4] - 1) * 100, (ratios[3 * kPairs / 4] - 1) * 100);
  }
  return 0;
}
