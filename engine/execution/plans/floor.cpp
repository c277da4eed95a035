#include "engine/execution/plans/floor.h"

#include <fmt/format.h>

namespace p2::reshard {

Floor::Floor(const PlanJob& job)
    : job_(job),
      everybody_(job.plan.problem.devices(), job.deadline),
      buffers_(job.plan.problem.devices()),
      states_(job.plan.problem.devices()) {
  const Reshard& problem = job.plan.problem;
  const std::vector<Box> held = problem.regions(problem.from);
  const std::vector<Box> needed = problem.regions(problem.to);
  for (std::uint32_t i = 0; i < problem.devices(); ++i) {
    buffers_[i] = {held[i], needed[i], {}, {}};
    working_ += job.plan.programs[i].empty() ? 0 : 1;
  }
}

void Floor::end(const std::string& why, const std::exception_ptr& cause) {
  const std::scoped_lock lock(mutex_);
  end_locked(why, cause);
}

void Floor::end_run() {
  const std::scoped_lock lock(mutex_);
  if (++finished_ == working_) {
    finished_ = 0;
  } else {
    look_for_deadlock();
  }
}

void Floor::take(std::uint32_t device, const Step& step) {
  std::unique_lock lock(mutex_);
  State& own = states_[device];
  own.open = step.size();
  for (const Operation& each : step) post({device, &each});
  while (own.open > 0) {
    if (!ended_.empty()) throw execution::MeetingEnded();
    if (own.work.empty()) {
      wait(own, lock);
      continue;
    }
    const auto [send, receive] = own.work.front();
    own.work.pop_front();
    lock.unlock();
    move(send, receive);
    lock.lock();
    complete(send.device);
    complete(receive.device);
  }
}

void Floor::post(const Posted& posted) {
  const bool sends = posted.operation->sends;
  const std::uint32_t peer = posted.operation->peer;
  auto& [from, to] = open_[sends ? std::pair(posted.device, peer) : std::pair(peer, posted.device)];
  Queue& others = sends ? to : from;
  if (others.empty()) {
    (sends ? from : to).push_back(posted);
    return;
  }
  const Posted other = others.front();
  others.pop_front();
  const std::uint32_t receiver = sends ? other.device : posted.device;
  states_[receiver].work.emplace_back(sends ? posted : other, sends ? other : posted);
  wake(receiver);
}

void Floor::wake(std::uint32_t device) {
  State& state = states_[device];
  if (!state.waits) return;
  state.waits = false;
  --waiting_;
  state.woken.notify_one();
}

void Floor::complete(std::uint32_t device) {
  if (--states_[device].open == 0) wake(device);
}

void Floor::wait(State& own, std::unique_lock<std::mutex>& lock) {
  own.waits = true;
  ++waiting_;
  look_for_deadlock();
  const auto over = [&] { return !own.waits || !ended_.empty(); };
  if (!job_.deadline) return own.woken.wait(lock, over);
  if (!own.woken.wait_until(lock, *job_.deadline, over)) end_locked("the time was up");
}

void Floor::look_for_deadlock() {
  if (waiting_ > 0 && waiting_ + finished_ == working_) {
    end_locked(fmt::format("{} devices wait for each other for ever", waiting_));
  }
}

void Floor::end_locked(const std::string& why, const std::exception_ptr& cause) {
  if (ended_.empty()) {
    ended_ = why;
    exception_ = cause;
  }
  for (State& state : states_) state.woken.notify_all();
  everybody_.give_up();
}

/// Takes the elements out of the sender's buffer, as they are by now.
void Floor::move(const Posted& send, const Posted& receive) {
  const Buffers& there = buffers_[send.device];
  const bool source = send.operation->buffer == Buffer::Source;
  const Word* from = (source ? there.source : there.destination).data();
  const Box& from_region = source ? there.source_region : there.destination_region;
  Buffers& here = buffers_[receive.device];
  const Box& box = receive.operation->box;
  const bool plain = send.operation->box == box && from_region.contains(box) &&
                     here.destination_region.contains(box);
  if (plain) {
    copy_box(from, from_region, here.destination.data(), here.destination_region, box);
  } else {
    unpack(packed(from, from_region, send.operation->box), box, here.destination.data(),
           here.destination_region);
  }
}

}  // namespace p2::reshard
