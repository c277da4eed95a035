#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <string>

#include "engine/execution/meeting.h"
#include "engine/execution/plans/plan_job.h"

namespace p2::reshard {

/// The buffers of a device and what they are for.
struct Buffers {
  Box source_region;
  Box destination_region;
  std::vector<Word> source;
  std::vector<Word> destination;
};

/// Where the threads of a job meet: pairs sends with receives, and knows who waits.
class Floor {
 public:
  explicit Floor(const PlanJob& job);

  Buffers& buffers(std::uint32_t device) { return buffers_[device]; }
  execution::Meeting& everybody() { return everybody_; }
  /// Why the job ended before its time, if it did.
  const std::string& ended() const { return ended_; }
  /// What made a device fail, where that ended the job.
  const std::exception_ptr& exception() const { return exception_; }
  /// Sends everybody home: they get MeetingEnded.
  void end(const std::string& why, const std::exception_ptr& cause = nullptr);

  /// Returns when all operations of the step are done. Those that this device receives are done by
  /// this thread.
  void take(std::uint32_t device, const Step& step);
  /// A device has come to the end of its program. The next run begins when all have.
  void end_run();

 private:
  /// An operation that its device has come to.
  struct Posted {
    std::uint32_t device = 0;
    const Operation* operation = nullptr;
  };
  struct State {
    std::size_t open = 0;                        // operations of the step that are not done
    std::deque<std::pair<Posted, Posted>> work;  // what this device can receive
    bool waits = false;
    std::condition_variable woken;
  };
  using Queue = std::deque<Posted>;

  void post(const Posted& posted);
  void wake(std::uint32_t device);
  void complete(std::uint32_t device);
  void wait(State& own, std::unique_lock<std::mutex>& lock);
  void look_for_deadlock();
  void end_locked(const std::string& why, const std::exception_ptr& cause = nullptr);
  void move(const Posted& send, const Posted& receive);

  const PlanJob& job_;
  execution::Meeting everybody_;
  std::vector<Buffers> buffers_;
  std::vector<State> states_;
  /// Sends and receives that wait, by sender and receiver.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<Queue, Queue>> open_;
  std::mutex mutex_;
  std::size_t working_ = 0;   // devices that have something to do
  std::size_t finished_ = 0;  // of these, those that have done it
  std::size_t waiting_ = 0;   // and those that wait for others
  std::string ended_;
  std::exception_ptr exception_;
};

}  // namespace p2::reshard
