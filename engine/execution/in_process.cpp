#include "engine/execution/in_process.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/execution/region.h"

namespace p2::execution {
namespace {

constexpr std::int64_t kMaxMessage = std::int64_t{1} << 40U;  // elements

/// Sends and receives between threads of one process. The k-th send of a rank to another is matched
/// with the k-th receive there; the receiving thread copies the elements. A set of ranks that all
/// wait, or have arrived at a barrier, is a deadlock.
class Mailbox {
 public:
  Mailbox(std::uint32_t ranks, Deadline deadline) : deadline_(deadline), states_(ranks) {}

  /// A send or receive and the buffers of its rank.
  struct Endpoint {
    std::uint32_t rank = 0;
    const reshard::Operation* operation = nullptr;
    const Regions* regions = nullptr;
    const reshard::Word* source = nullptr;
    reshard::Word* destination = nullptr;
  };

  /// Returns when all operations of a step of one rank are complete. Throws BarrierAborted when the
  /// mailbox is aborted or the deadline passes, and Interrupted at a deadlock.
  void run(const std::vector<Endpoint>& step);
  /// A rank arrives at a barrier of all ranks: it posts nothing until they all have. Throws
  /// Interrupted at a deadlock.
  void arrive();
  /// Aborts all waiters, present and future.
  void abort();

 private:
  struct State {
    std::size_t pending = 0;                         // operations of the current step
    std::deque<std::pair<Endpoint, Endpoint>> work;  // matched, to be received by this rank
    bool waits = false;
    std::condition_variable woken;
  };
  using Queue = std::deque<Endpoint>;

  void post(const Endpoint& endpoint);
  void wake(State& state);
  void wait(State& own, std::unique_lock<std::mutex>& lock);
  void complete(std::uint32_t rank);
  void detect_deadlock() const;

  Deadline deadline_;
  std::vector<State> states_;  // by rank
  /// Unmatched sends and receives, by sender and receiver. One of the two queues is empty.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<Queue, Queue>> unmatched_;
  std::mutex mutex_;
  std::size_t arrived_ = 0;  // ranks at the barrier
  std::size_t waiting_ = 0;  // ranks that wait for a match or for its completion
  bool aborted_ = false;
};

/// Copies the elements from the sender's buffer, as they are by now.
void move(const Mailbox::Endpoint& send, const Mailbox::Endpoint& receive) {
  const bool from_source = send.operation->buffer == reshard::Buffer::Source;
  const reshard::Word* from = from_source ? send.source : send.destination;
  const reshard::Box& held = from_source ? send.regions->source : send.regions->destination;
  const reshard::Box& needed = receive.regions->destination;
  const reshard::Box& box = receive.operation->box;
  if (send.operation->box == box && held.contains(box) && needed.contains(box)) {
    return copy_box(from, held, receive.destination, needed, box);
  }
  if (send.operation->box.elements() > kMaxMessage) {
    throw Interrupted("a message is too large for the memory");
  }
  unpack(packed(from, held, send.operation->box), box, receive.destination, needed);
}

void Mailbox::run(const std::vector<Endpoint>& step) {
  if (step.empty()) return;
  const std::uint32_t rank = step.front().rank;
  std::unique_lock lock(mutex_);
  State& own = states_[rank];
  own.pending = step.size();
  for (const Endpoint& each : step) post(each);
  while (own.pending > 0) {
    if (aborted_) throw BarrierAborted();
    if (own.work.empty()) {
      wait(own, lock);
      continue;
    }
    const auto [send, receive] = own.work.front();
    own.work.pop_front();
    lock.unlock();
    move(send, receive);
    lock.lock();
    complete(send.rank);
    complete(receive.rank);
  }
}

void Mailbox::post(const Endpoint& endpoint) {
  const bool sends = endpoint.operation->sends;
  const std::uint32_t peer = endpoint.operation->peer;
  auto& [sent, received] =
      unmatched_[sends ? std::pair(endpoint.rank, peer) : std::pair(peer, endpoint.rank)];
  Queue& partners = sends ? received : sent;
  if (partners.empty()) {
    (sends ? sent : received).push_back(endpoint);
    return;
  }
  const Endpoint partner = partners.front();
  partners.pop_front();
  State& receiver = states_[sends ? partner.rank : endpoint.rank];
  receiver.work.emplace_back(sends ? endpoint : partner, sends ? partner : endpoint);
  wake(receiver);
}

void Mailbox::wake(State& state) {
  if (!state.waits) return;
  state.waits = false;
  --waiting_;
  state.woken.notify_one();
}

void Mailbox::complete(std::uint32_t rank) {
  if (--states_[rank].pending == 0) wake(states_[rank]);
}

void Mailbox::wait(State& own, std::unique_lock<std::mutex>& lock) {
  own.waits = true;
  ++waiting_;
  detect_deadlock();
  const auto over = [&] { return !own.waits || aborted_; };
  if (!deadline_) return own.woken.wait(lock, over);
  if (!own.woken.wait_until(lock, *deadline_, over)) throw BarrierAborted();
}

void Mailbox::arrive() {
  const std::scoped_lock lock(mutex_);
  if (++arrived_ == states_.size()) {
    arrived_ = 0;
  } else {
    detect_deadlock();
  }
}

void Mailbox::abort() {
  const std::scoped_lock lock(mutex_);
  aborted_ = true;
  for (State& state : states_) state.woken.notify_all();
}

void Mailbox::detect_deadlock() const {
  if (aborted_ || waiting_ == 0 || waiting_ + arrived_ < states_.size()) return;
  throw Interrupted(fmt::format("{} devices wait for each other for ever", waiting_));
}

/// What the threads of a job share.
struct JobState {
  explicit JobState(const Job& of)
      : job(of),
        all(of.work.ranks(), of.deadline),
        mailbox(of.work.ranks(), of.deadline),
        progress(of.work.ranks()),
        ranks(of.work.ranks()),
        sends(of.work.ranks()),
        receives(of.work.ranks()) {
    for (const std::vector<Group>& groups : of.work.partitions()) {
      auto& barriers = by_group.emplace_back();
      for (const Group& group : groups) {
        barriers.push_back(
            std::make_unique<Barrier>(static_cast<std::uint32_t>(group.size()), of.deadline));
      }
    }
  }

  /// Cancels all ranks. The first reason is kept.
  void abort(const std::string& why, std::exception_ptr cause = nullptr) {
    {
      const std::scoped_lock lock(mutex);
      if (reason.empty()) {
        reason = why;
        exception = std::move(cause);
      }
    }
    all.abort();
    mailbox.abort();
    for (const auto& barriers : by_group) {
      for (const auto& barrier : barriers) barrier->abort();
    }
  }

  const Job& job;
  Barrier all;
  std::vector<std::vector<std::unique_ptr<Barrier>>> by_group;  // [partition][group]
  Mailbox mailbox;
  std::vector<RankProgress> progress;
  std::vector<std::unique_ptr<Rank>> ranks;  // kept to the end: other threads read their buffers
  std::vector<std::byte*> sends;             // each rank's buffers, as published last
  std::vector<std::byte*> receives;
  std::mutex mutex;
  std::string reason;
  std::exception_ptr exception;
};

class ThreadRank final : public HostRank {
 public:
  ThreadRank(std::uint32_t number, JobState& state)
      : HostRank(number, state.job.work), state_(state) {}

  void barrier() override {
    publish_buffers();
    if (state_.job.work.kind() == WorkloadKind::Plan) state_.mailbox.arrive();
    state_.all.arrive_and_wait();
  }

  std::uint64_t run_collective(const Call& call, std::uint64_t count, ElementType type) override {
    const Group& group = state_.job.work.partitions()[call.partition][call.group];
    Barrier& barrier = *state_.by_group[call.partition][call.group];
    if (call.packed) {  // buffers have been swapped since the barrier before the step
      publish_buffers();
      barrier.arrive_and_wait();
    }
    switch (call.collective) {
      case Collective::AllReduce:
        add_share(group, call, count, type, of(group, state_.sends));
        break;
      case Collective::Reduce:
        add_share(group, call, count, type, {state_.sends[group[0]]});
        break;
      case Collective::ReduceScatter:
        sum_buffers(type, sources(group), call.position * count, count,
                    std::span<std::byte* const>(&state_.receives[number()], 1), 0);
        break;
      case Collective::AllGather:
        gather(group, count * size_of(type));
        break;
      case Collective::Broadcast:
        if (call.position > 0) {
          std::memcpy(buffer(0), state_.sends[group[0]], count * size_of(type));
        }
        break;
    }
    barrier.arrive_and_wait();
    if (call.collective == Collective::ReduceScatter || call.collective == Collective::AllGather) {
      swap();
    }
    return count;
  }

  void run_sums(const Call& call, const RowSums& sums, std::uint64_t row_elements,
                ElementType type) override {
    const Group& group = state_.job.work.partitions()[call.partition][call.group];
    const std::size_t row_bytes = row_elements * size_of(type);
    std::vector<const std::byte*> rows;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      rows.clear();
      for (const Addend& each : sums[i]) {
        rows.push_back(state_.sends[group[each.position]] + each.row * row_bytes);
      }
      std::byte* const to = buffer(1) + i * row_bytes;
      sum_buffers(type, rows, 0, row_elements, std::span<std::byte* const>(&to, 1), 0);
    }
    state_.by_group[call.partition][call.group]->arrive_and_wait();
    swap();
  }

  void run_transfers(const reshard::Step& step, const Regions& regions) override {
    std::vector<Mailbox::Endpoint> endpoints;
    endpoints.reserve(step.size());
    for (const reshard::Operation& each : step) {
      endpoints.push_back({number(), &each, &regions, words(0), words(1)});
    }
    state_.mailbox.run(endpoints);
  }

  void inject(InjectedFault::Kind kind) override {
    if (kind == InjectedFault::Kind::Dies) {
      state_.abort(fmt::format("rank {} died", number()));
      throw BarrierAborted();
    }
    Barrier never(2, state_.job.deadline);
    never.arrive_and_wait();
  }

 private:
  /// To the ranks that pass the same barrier next.
  void publish_buffers() {
    state_.sends[number()] = buffer(0);
    state_.receives[number()] = buffer(1);
  }

  static std::vector<std::byte*> of(const Group& group, const std::vector<std::byte*>& buffers) {
    std::vector<std::byte*> all;
    all.reserve(group.size());
    for (const std::uint32_t rank : group) all.push_back(buffers[rank]);
    return all;
  }
  std::vector<const std::byte*> sources(const Group& group) const {
    const std::vector<std::byte*> all = of(group, state_.sends);
    return {all.begin(), all.end()};
  }

  /// Adds up this rank's share of the elements, in place.
  void add_share(const Group& group, const Call& call, std::uint64_t count, ElementType type,
                 const std::vector<std::byte*>& to) {
    const std::uint64_t first = count * call.position / call.size;
    const std::uint64_t end = count * (call.position + 1) / call.size;
    sum_buffers(type, sources(group), first, end - first, to, first);
  }

  void gather(const Group& group, std::size_t bytes) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      std::memcpy(buffer(1) + i * bytes, state_.sends[group[i]], bytes);
    }
  }

  JobState& state_;
};

void run_thread(std::uint32_t number, JobState& state, RankResult& result) {
  try {
    state.ranks[number] = std::make_unique<ThreadRank>(number, state);
    result = run_rank(*state.ranks[number], state.job, state.progress[number]);
  } catch (const BarrierAborted&) {
    state.abort(describe_stall(state.progress));
  } catch (const Interrupted& failure) {
    state.abort(failure.what());
  } catch (const std::bad_alloc&) {
    state.abort("out of memory");
  } catch (...) {
    state.abort("a rank failed", std::current_exception());
  }
}

}  // namespace

std::vector<RankResult> InProcess::run(const Job& job) {
  JobState state(job);
  std::vector<RankResult> results(job.work.ranks());
  {
    std::vector<std::jthread> threads;
    try {
      for (std::uint32_t rank = 0; rank < job.work.ranks(); ++rank) {
        threads.emplace_back([rank, &state, &results] { run_thread(rank, state, results[rank]); });
      }
    } catch (const std::system_error&) {
      state.abort(fmt::format("no thread could be started for rank {}", threads.size()));
    }
  }
  if (state.exception) std::rethrow_exception(state.exception);
  if (!state.reason.empty()) throw Interrupted(state.reason);
  return results;
}

}  // namespace p2::execution
