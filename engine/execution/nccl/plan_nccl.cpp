#include "engine/execution/nccl/plan_nccl.h"

#include <algorithm>
#include <numeric>

#include "engine/execution/nccl/device.h"

namespace p2::reshard {
namespace {

using execution::DeviceMemory;
using execution::require;

std::size_t bytes_of(const Box& box) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, box.elements())) * sizeof(Word);
}

class NcclLink final : public DeviceLink {
 public:
  NcclLink(const PlanJob& job, execution::RankWorld& world, execution::NcclBackend::Device& device)
      : world_(world), device_(device) {
    p2::Group all(world.ranks());
    std::iota(all.begin(), all.end(), 0U);
    everybody_ = device.among({all});
    const Reshard& problem = job.plan.problem;
    if (world.rank() >= problem.devices()) return;
    program_ = &job.plan.programs[world.rank()];
    held_ = problem.regions(problem.from)[world.rank()];
    needed_ = problem.regions(problem.to)[world.rank()];
    source_ = std::make_unique<DeviceMemory>(bytes_of(held_));
    destination_ = std::make_unique<DeviceMemory>(bytes_of(needed_));
    std::size_t most = 1;  // words of all messages of a step
    for (const Step& step : *program_) {
      std::size_t words = 0;
      for (const Operation& each : step) words += bytes_of(each.box) / sizeof(Word);
      most = std::max(most, words);
    }
    messages_ = std::make_unique<DeviceMemory>(most * sizeof(Word));
  }

  void fill(std::span<const Word> source, std::span<const Word> destination) override {
    copy(source_->get(), source.data(), source.size_bytes(), cudaMemcpyHostToDevice);
    copy(destination_->get(), destination.data(), destination.size_bytes(), cudaMemcpyHostToDevice);
    device_.finish();
  }
  void show(const std::function<void(std::span<const Word>)>& read) override {
    std::vector<Word> host(static_cast<std::size_t>(needed_.elements()));
    copy(host.data(), destination_->get(), host.size() * sizeof(Word), cudaMemcpyDeviceToHost);
    device_.finish();
    read(host);
  }
  void meet() override { world_.meet(); }

  void take(std::size_t number) override {
    const Step& step = (*program_)[number];
    std::vector<std::byte*> messages;
    std::byte* next = messages_->get();
    for (const Operation& each : step) {
      messages.push_back(next);
      next += bytes_of(each.box);
      if (each.sends) pack(each, messages.back());
    }
    require(::ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < step.size(); ++i) {
      const auto count = static_cast<std::size_t>(step[i].box.elements());
      const auto peer = static_cast<int>(step[i].peer);
      if (step[i].sends) {
        require(::ncclSend(messages[i], count, ncclUint32, peer, everybody_, device_.stream()),
                "ncclSend");
      } else {
        require(::ncclRecv(messages[i], count, ncclUint32, peer, everybody_, device_.stream()),
                "ncclRecv");
      }
    }
    require(::ncclGroupEnd(), "ncclGroupEnd");
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (!step[i].sends) unpack_from(messages[i], step[i]);
    }
    device_.finish();
  }

 private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    require(::cudaMemcpyAsync(to, from, bytes, kind, device_.stream()), "cudaMemcpyAsync");
  }
  void copy_run(std::byte* to, const std::byte* from, std::int64_t words) {
    copy(to, from, static_cast<std::size_t>(words) * sizeof(Word), cudaMemcpyDeviceToDevice);
  }
  static std::ptrdiff_t offset(std::int64_t words) {
    return static_cast<std::ptrdiff_t>(words) * static_cast<std::ptrdiff_t>(sizeof(Word));
  }

  void pack(const Operation& send, std::byte* message) {
    const bool source = send.buffer == Buffer::Source;
    const std::byte* from = (source ? source_ : destination_)->get();
    for_each_run(source ? held_ : needed_, send.box, [&](const Run& run) {
      copy_run(message + offset(run.in_message), from + offset(run.in_buffer), run.length);
    });
  }
  void unpack_from(const std::byte* message, const Operation& receive) {
    for_each_run(needed_, receive.box, [&](const Run& run) {
      copy_run(destination_->get() + offset(run.in_buffer), message + offset(run.in_message),
               run.length);
    });
  }

  execution::RankWorld& world_;
  execution::NcclBackend::Device& device_;
  ncclComm_t everybody_ = nullptr;
  const DeviceProgram* program_ = nullptr;
  Box held_;
  Box needed_;
  std::unique_ptr<DeviceMemory> source_;
  std::unique_ptr<DeviceMemory> destination_;
  std::unique_ptr<DeviceMemory> messages_;
};

}  // namespace

PlanNccl::PlanNccl(std::unique_ptr<execution::RankWorld> world, std::uint32_t local_rank,
                   std::uint32_t local_ranks)
    : PlanProcesses(std::move(world)),
      device_(std::make_unique<execution::NcclBackend::Device>(PlanProcesses::world(), local_rank,
                                                               local_ranks)) {}

PlanNccl::~PlanNccl() = default;

std::unique_ptr<DeviceLink> PlanNccl::link_for(const PlanJob& job) {
  return std::make_unique<NcclLink>(job, world(), *device_);
}

}  // namespace p2::reshard
