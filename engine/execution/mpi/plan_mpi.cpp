#include "engine/execution/mpi/plan_mpi.h"

#include <climits>

#include <fmt/format.h>
#include <mpi.h>

#include "p2/error.h"

namespace p2::reshard {
namespace {

/// MPI counts the elements of a message in an int. All ranks look at all programs, so that all of
/// them refuse the plan and none waits for another.
void refuse_large_messages(const PlanJob& job) {
  for (const DeviceProgram& program : job.plan.programs) {
    for (const Step& step : program) {
      for (const Operation& each : step) {
        if (each.box.elements() <= INT_MAX) continue;
        throw InputError({fmt::format("plan {}", job.number)},
                         fmt::format("a message has {} elements ({}), expected at most {} on MPI",
                                     each.box.elements(), to_string(each.box), INT_MAX));
      }
    }
  }
}

class MpiLink final : public DeviceLink {
 public:
  MpiLink(const PlanJob& job, execution::RankWorld& world) : world_(world) {
    const Reshard& problem = job.plan.problem;
    if (world.rank() >= problem.devices()) return;
    program_ = &job.plan.programs[world.rank()];
    held_ = problem.regions(problem.from)[world.rank()];
    needed_ = problem.regions(problem.to)[world.rank()];
  }

  void fill(std::span<const Word> source, std::span<const Word> destination) override {
    source_.assign(source.begin(), source.end());
    destination_.assign(destination.begin(), destination.end());
  }
  void show(const std::function<void(std::span<const Word>)>& read) override { read(destination_); }
  void meet() override { world_.meet(); }

  void take(std::size_t number) override {
    const Step& step = (*program_)[number];
    std::vector<std::vector<Word>> messages(step.size());
    std::vector<MPI_Request> requests(step.size());
    for (std::size_t i = 0; i < step.size(); ++i) {
      const Operation& each = step[i];
      const auto peer = static_cast<int>(each.peer);
      if (each.sends) {
        const bool source = each.buffer == Buffer::Source;
        messages[i] =
            packed((source ? source_ : destination_).data(), source ? held_ : needed_, each.box);
        ::MPI_Isend(messages[i].data(), size_of(messages[i]), MPI_UINT32_T, peer, 0, MPI_COMM_WORLD,
                    &requests[i]);
      } else {
        messages[i].resize(static_cast<std::size_t>(each.box.elements()));
        ::MPI_Irecv(messages[i].data(), size_of(messages[i]), MPI_UINT32_T, peer, 0, MPI_COMM_WORLD,
                    &requests[i]);
      }
    }
    ::MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (!step[i].sends) unpack(messages[i], step[i].box, destination_.data(), needed_);
    }
  }

 private:
  static int size_of(const std::vector<Word>& message) { return static_cast<int>(message.size()); }

  execution::RankWorld& world_;
  const DeviceProgram* program_ = nullptr;
  Box held_;
  Box needed_;
  std::vector<Word> source_;
  std::vector<Word> destination_;
};

}  // namespace

std::unique_ptr<DeviceLink> PlanMpi::link_for(const PlanJob& job) {
  refuse_large_messages(job);
  return std::make_unique<MpiLink>(job, world());
}

}  // namespace p2::reshard
