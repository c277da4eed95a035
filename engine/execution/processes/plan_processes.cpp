#include "engine/execution/processes/plan_processes.h"

#include <cstring>

namespace p2::reshard {
namespace {

/// What is told of a device beside its times.
struct Told {
  std::uint64_t wrong = 0;
  std::uint64_t where = 0;
  std::uint64_t got = 0;
};

}  // namespace

std::size_t most_gathered_of_plan(unsigned iterations) {
  return sizeof(Told) + iterations * sizeof(double);
}

std::vector<DeviceResult> PlanProcesses::run(const PlanJob& job) {
  world_->end_by(job.deadline);
  const std::uint32_t devices = job.plan.problem.devices();
  const auto link = link_for(job);
  DeviceResult own;
  if (world_->rank() < devices) {
    own = run_device(*link, world_->rank(), job, world_->progress());
  } else {
    for (unsigned i = 0; i < job.warmup + job.iterations + 1; ++i) world_->meet();
    own.seconds.assign(job.iterations, 0);
  }
  const Told told{own.wrong, own.where, own.got};
  std::vector<std::byte> bytes(most_gathered_of_plan(job.iterations));
  std::memcpy(bytes.data(), &told, sizeof(told));
  std::memcpy(bytes.data() + sizeof(told), own.seconds.data(), job.iterations * sizeof(double));
  const std::vector<std::byte> all = world_->gather(bytes);
  std::vector<DeviceResult> results(devices);
  for (std::uint32_t i = 0; i < devices; ++i) {
    const std::byte* of = all.data() + i * bytes.size();
    Told heard;
    std::memcpy(&heard, of, sizeof(heard));
    results[i] = {std::vector<double>(job.iterations), heard.wrong, heard.where,
                  static_cast<Word>(heard.got)};
    std::memcpy(results[i].seconds.data(), of + sizeof(heard), job.iterations * sizeof(double));
  }
  return results;
}

}  // namespace p2::reshard
