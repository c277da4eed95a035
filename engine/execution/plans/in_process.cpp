#include "engine/execution/plans/in_process.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "engine/execution/plans/device_link.h"
#include "engine/execution/plans/floor.h"

namespace p2::reshard {
namespace {

using execution::MeetingEnded;

class ThreadLink final : public DeviceLink {
 public:
  ThreadLink(std::uint32_t device, const PlanJob& job, Floor& floor)
      : device_(device), program_(job.plan.programs[device]), floor_(floor) {}

  void fill(std::span<const Word> source, std::span<const Word> destination) override {
    Buffers& own = floor_.buffers(device_);
    own.source.assign(source.begin(), source.end());
    own.destination.assign(destination.begin(), destination.end());
  }
  void show(const std::function<void(std::span<const Word>)>& read) override {
    read(floor_.buffers(device_).destination);
  }
  void take(std::size_t step) override {
    floor_.take(device_, program_[step]);
    if (step + 1 == program_.size()) floor_.end_run();
  }
  void meet() override { floor_.everybody().meet(); }

 private:
  std::uint32_t device_;
  const DeviceProgram& program_;
  Floor& floor_;
};

}  // namespace

std::vector<DeviceResult> PlanInProcess::run(const PlanJob& job) {
  const std::uint32_t devices = job.plan.problem.devices();
  Floor floor(job);
  std::vector<execution::RankProgress> progress(devices);
  std::vector<DeviceResult> results(devices);
  {
    std::vector<std::jthread> threads;
    const auto run = [&](std::uint32_t device) {
      try {
        ThreadLink link(device, job, floor);
        results[device] = run_device(link, device, job, progress[device]);
      } catch (const MeetingEnded&) {
        floor.end("the time was up");
      } catch (const std::bad_alloc&) {
        floor.end("out of memory");
      } catch (const std::length_error&) {
        floor.end("a message is too large for the memory");
      } catch (...) {
        floor.end("a device failed", std::current_exception());
      }
    };
    try {
      for (std::uint32_t i = 0; i < devices; ++i) threads.emplace_back(run, i);
    } catch (const std::system_error&) {
      floor.end(fmt::format("no thread could be started for device {}", threads.size()));
    }
  }
  if (floor.exception()) std::rethrow_exception(floor.exception());
  if (!floor.ended().empty()) throw execution::Interrupted(floor.ended());
  return results;
}

}  // namespace p2::reshard
