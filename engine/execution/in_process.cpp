#include "engine/execution/in_process.h"

#include <cstring>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "engine/execution/host_buffer.h"
#include "engine/execution/meeting.h"
#include "engine/execution/rank_run.h"
#include "engine/execution/reduction.h"

namespace p2::execution {
namespace {

/// Whether some rank of each group, [partition][group], packs its rows for a call, ever. No program
/// that the rules accept does.
std::vector<std::vector<bool>> packing_groups(const Plan& plan) {
  std::vector<std::vector<bool>> packing;
  for (const auto& groups : plan.partitions) packing.emplace_back(groups.size(), false);
  for (const std::vector<RankStep>& ranks : plan.steps) {
    for (const RankStep& rank : ranks) {
      if (rank.call && rank.pack) packing[rank.call->partition][rank.call->group] = true;
    }
  }
  return packing;
}

/// What the threads of a job share.
struct Floor {
  explicit Floor(const Job& of)
      : job(of),
        packs(packing_groups(of.plan)),
        everybody(of.plan.devices, of.deadline),
        progress(of.plan.devices),
        sends(of.plan.devices),
        receives(of.plan.devices) {
    for (const std::vector<Group>& groups : of.plan.partitions) {
      auto& meetings = by_group.emplace_back();
      for (const Group& group : groups) {
        meetings.push_back(
            std::make_unique<Meeting>(static_cast<std::uint32_t>(group.size()), of.deadline));
      }
    }
  }

  /// Notes why the job ends, if nobody has, and sends everybody home.
  void end(const std::string& why, std::exception_ptr cause = nullptr) {
    {
      const std::scoped_lock lock(mutex);
      if (ended.empty()) {
        ended = why;
        exception = std::move(cause);
      }
    }
    everybody.give_up();
    for (const auto& meetings : by_group) {
      for (const auto& meeting : meetings) meeting->give_up();
    }
  }

  const Job& job;
  const std::vector<std::vector<bool>> packs;
  Meeting everybody;
  std::vector<std::vector<std::unique_ptr<Meeting>>> by_group;  // [partition][group]
  std::vector<RankProgress> progress;
  std::vector<std::byte*> sends;  // where each rank's rows are, and where it receives
  std::vector<std::byte*> receives;
  std::mutex mutex;
  std::string ended;
  std::exception_ptr exception;
};

class ThreadRank final : public Rank {
 public:
  ThreadRank(std::uint32_t number, Floor& floor)
      : number_(number), floor_(floor), buffer_(floor.job.plan.most_rows, floor.job.row_bytes()) {}

  void fill(std::size_t bytes, const std::function<void(std::span<std::byte>)>& write) override {
    write({buffer_.rows(), bytes});
  }
  void show(std::size_t bytes,
            const std::function<void(std::span<const std::byte>)>& read) override {
    read({buffer_.rows(), bytes});
  }
  void rearrange(const Rows& from) override { buffer_.rearrange(from); }
  void meet() override {
    tell_places();
    floor_.everybody.meet();
  }

  std::uint64_t take_part(const Call& call) override {
    const Group& group = floor_.job.plan.partitions[call.partition][call.group];
    Meeting& meeting = *floor_.by_group[call.partition][call.group];
    if (floor_.packs[call.partition][call.group]) {
      tell_places();
      meeting.meet();
    }
    const std::uint64_t count = call.rows * floor_.job.chunk_elements;
    switch (call.collective) {
      case Collective::AllReduce:
        add_share(group, call, count, places(group, floor_.sends));
        break;
      case Collective::Reduce:
        add_share(group, call, count, {floor_.sends[group[0]]});
        break;
      case Collective::ReduceScatter:
        add_up(type(), sources(group), call.position * count, count,
               std::span<std::byte* const>(&floor_.receives[number_], 1), 0);
        break;
      case Collective::AllGather:
        gather(group, count * size_of(type()));
        break;
      case Collective::Broadcast:
        if (call.position > 0) {
          std::memcpy(buffer_.rows(), floor_.sends[group[0]], count * size_of(type()));
        }
        break;
    }
    meeting.meet();
    if (call.collective == Collective::ReduceScatter || call.collective == Collective::AllGather) {
      buffer_.swap();
    }
    return count;
  }

  void misbehave(Fault::Kind kind) override {
    if (kind == Fault::Kind::Dies) {
      floor_.end(fmt::format("rank {} died", number_));
      throw MeetingEnded();
    }
    Meeting never(2, floor_.job.deadline);
    never.meet();
  }

 private:
  ElementType type() const { return floor_.job.inputs.type; }

  /// For all that come to the same meeting next.
  void tell_places() {
    floor_.sends[number_] = buffer_.rows();
    floor_.receives[number_] = buffer_.spare();
  }

  static std::vector<std::byte*> places(const Group& group, const std::vector<std::byte*>& of) {
    std::vector<std::byte*> all;
    for (const std::uint32_t rank : group) all.push_back(of[rank]);
    return all;
  }
  std::vector<const std::byte*> sources(const Group& group) const {
    const std::vector<std::byte*> all = places(group, floor_.sends);
    return {all.begin(), all.end()};
  }

  /// Adds up this rank's share of the elements, in place.
  void add_share(const Group& group, const Call& call, std::uint64_t count,
                 const std::vector<std::byte*>& to) {
    const std::uint64_t first = count * call.position / call.size;
    const std::uint64_t end = count * (call.position + 1) / call.size;
    add_up(type(), sources(group), first, end - first, to, first);
  }

  void gather(const Group& group, std::size_t bytes) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      std::memcpy(buffer_.spare() + i * bytes, floor_.sends[group[i]], bytes);
    }
  }

  std::uint32_t number_;
  Floor& floor_;
  HostBuffer buffer_;
};

void run_thread(std::uint32_t number, Floor& floor, RankResult& result) {
  try {
    ThreadRank rank(number, floor);
    result = run_rank(rank, number, floor.job, floor.progress[number]);
  } catch (const MeetingEnded&) {
    floor.end(who_is_late(floor.progress));
  } catch (...) {
    floor.end("a rank failed", std::current_exception());
  }
}

}  // namespace

std::vector<RankResult> InProcess::run(const Job& job) {
  Floor floor(job);
  std::vector<RankResult> results(job.plan.devices);
  {
    std::vector<std::jthread> threads;
    try {
      for (std::uint32_t rank = 0; rank < job.plan.devices; ++rank) {
        threads.emplace_back([rank, &floor, &results] { run_thread(rank, floor, results[rank]); });
      }
    } catch (const std::system_error&) {
      floor.end(fmt::format("no thread could be started for rank {}", threads.size()));
    }
  }
  if (floor.exception) std::rethrow_exception(floor.exception);
  if (!floor.ended.empty()) throw Interrupted(floor.ended);
  return results;
}

}  // namespace p2::execution
