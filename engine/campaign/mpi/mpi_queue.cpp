#include "engine/campaign/campaign.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ranges>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "p2/error.h"

namespace p2::campaign {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kPollInterval = 500us;
constexpr auto kAliveInterval = 5s;
/// A rank that does not hear from rank 0 for so long exits.
constexpr auto kSilence = 60s;
/// A rank that does not confirm that it stopped is lost; one that has not begun may still collect
/// its questions.
constexpr auto kStopTimeout = 5s;
constexpr auto kBeginTimeout = 120s;
constexpr std::size_t kMaxChunk = 64;
/// Part of the expected cost that is left, per thread, for a chunk.
constexpr double kChunkFraction = 0.125;
/// Messages of at most so many bytes are sent eagerly by every transport of Open MPI and MPICH: to
/// receive what has arrived never waits for a process that may have died.
constexpr std::size_t kMaxFragment = 2048;

enum Tag : int {
  kMore = 1,
  kHello,
  kWork,
  kForget,
  kAnswer,
  kFailure,
  kAlive,
  kStop,
  kStopped,
  kExit
};

struct Message {
  int rank = 0;
  int tag = 0;
  std::string bytes;
};

/// Messages between any two ranks, in order.
class Mailbox {
 public:
  void send(int rank, int tag, const std::string& bytes) {
    std::size_t begin = 0;
    for (; bytes.size() - begin > kMaxFragment; begin += kMaxFragment) {
      send_fragment(rank, kMore, bytes.substr(begin, kMaxFragment));
    }
    send_fragment(rank, tag, bytes.substr(begin));
  }

  /// The next message that is whole, if one has arrived.
  std::optional<Message> receive() {
    forget_sent();
    while (true) {
      int arrived = 0;
      MPI_Status status;
      ::MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, &status);
      if (arrived == 0) return std::nullopt;
      int size = 0;
      ::MPI_Get_count(&status, MPI_BYTE, &size);
      std::string fragment(static_cast<std::size_t>(size), '\0');
      ::MPI_Recv(fragment.data(), size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      std::string& partial = partial_[status.MPI_SOURCE];
      partial += fragment;
      if (status.MPI_TAG == kMore) continue;
      return Message{status.MPI_SOURCE, status.MPI_TAG, std::exchange(partial, {})};
    }
  }

  /// Until everything is sent, or the time is up.
  void flush(Clock::duration most) {
    const auto end = Clock::now() + most;
    while (!sent_.empty() && Clock::now() < end) {
      forget_sent();
    }
  }

 private:
  struct Sent {
    std::string bytes;
    MPI_Request request;
  };

  /// Frees the buffers of what has been sent.
  void forget_sent() {
    sent_.remove_if([](Sent& each) {
      int done = 0;
      ::MPI_Test(&each.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  void send_fragment(int rank, int tag, std::string bytes) {
    sent_.push_back({std::move(bytes), MPI_REQUEST_NULL});
    Sent& last = sent_.back();
    ::MPI_Isend(last.bytes.data(), static_cast<int>(last.bytes.size()), MPI_BYTE, rank, tag,
                MPI_COMM_WORLD, &last.request);
  }

  std::list<Sent> sent_;  // a request needs its buffer where it is
  std::map<int, std::string> partial_;
};

struct Answered {
  std::uint64_t question = 0;
  double seconds = 0;
  Questions::Answer answer;
};

template <typename Number>
void append_bytes(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename Number>
Number take_bytes(const std::string& bytes, std::size_t& at) {
  Number number{};
  if (bytes.size() - at < sizeof number) throw ToolError("MPI: a message is too short");
  std::memcpy(&number, bytes.data() + at, sizeof number);
  at += sizeof number;
  return number;
}

std::string to_bytes(const Answered& answered) {
  std::string bytes;
  append_bytes(bytes, answered.question);
  append_bytes(bytes, answered.seconds);
  append_bytes(bytes, static_cast<std::uint8_t>(answered.answer.final));
  return bytes + answered.answer.json;
}

Answered answered_from(const std::string& bytes) {
  std::size_t at = 0;
  Answered answered;
  answered.question = take_bytes<std::uint64_t>(bytes, at);
  answered.seconds = take_bytes<double>(bytes, at);
  answered.answer.final = take_bytes<std::uint8_t>(bytes, at) != 0;
  answered.answer.json = bytes.substr(at);
  return answered;
}

/// The threads of this rank. What they have answered is collected by the thread that uses MPI.
class Workers {
 public:
  Workers(Questions& questions, unsigned threads, const Limits& limits)
      : questions_(questions), limits_(limits) {
    limits_.cancelled = &stop_;
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  /// Cancels what runs.
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void give(const std::vector<std::uint64_t>& questions) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.insert(waiting_.end(), questions.begin(), questions.end());
    }
    wake_.notify_all();
  }

  /// Somebody else has answered it.
  void forget(std::uint64_t question) {
    const std::lock_guard lock(mutex_);
    std::erase(waiting_, question);
  }

  /// Rethrows what a question threw.
  std::vector<Answered> take_answered() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return std::exchange(answered_, {});
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      Answered answered{waiting_.front(), 0, {}};
      waiting_.pop_front();
      lock.unlock();
      std::exception_ptr failure;
      const auto start = Clock::now();
      try {
        answered.answer = questions_.ask(answered.question, limits_);
      } catch (...) {
        failure = std::current_exception();
      }
      answered.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      if (!failure && !stop_) answered_.push_back(std::move(answered));
    }
  }

  Questions& questions_;
  Limits limits_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  std::deque<std::uint64_t> waiting_;
  std::vector<Answered> answered_;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // joined first
};

/// Which question is at which rank.
class Schedule {
 public:
  Schedule(const Questions& questions, const std::vector<std::size_t>& open)
      : questions_(questions) {
    std::vector<std::pair<double, std::size_t>> by_cost;
    for (const std::size_t question : open) {
      by_cost.emplace_back(questions.expected_cost(question), question);
      cost_left_ += by_cost.back().first;
      unanswered_.insert(question);
    }
    std::ranges::stable_sort(by_cost,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [cost, question] : by_cost) queue_.push_back(question);
  }

  /// A rank that takes part from now on.
  void add_rank(int rank, unsigned threads) {
    ranks_[rank].threads = threads;
    threads_ += threads;
  }
  bool all_answered() const { return unanswered_.empty(); }

  /// Ranks that have been asked it and have not answered.
  std::vector<int> asked(std::size_t question) const {
    std::vector<int> found;
    for (const auto& [rank, state] : ranks_) {
      if (state.asked.contains(question)) found.push_back(rank);
    }
    return found;
  }

  /// Whether nobody had answered it.
  bool answered(int rank, std::size_t question) {
    ranks_[rank].asked.erase(question);
    return unanswered_.erase(question) > 0;
  }

  /// What the rank is to be asked next; nothing while it has enough.
  std::vector<std::uint64_t> next(int rank) {
    Rank& state = ranks_.at(rank);
    std::erase_if(state.asked, [&](std::size_t each) { return !unanswered_.contains(each); });
    std::vector<std::uint64_t> chunk;
    if (state.asked.size() > state.threads) return chunk;
    const double enough = cost_left_ * kChunkFraction / threads_;
    for (double cost = 0; !queue_.empty() && chunk.size() < kMaxChunk;) {
      const std::size_t question = queue_.front();
      cost += questions_.expected_cost(question);
      if (!chunk.empty() && cost > enough) break;
      queue_.pop_front();
      chunk.push_back(question);
      cost_left_ -= questions_.expected_cost(question);
    }
    handed_out_.insert(handed_out_.end(), chunk.begin(), chunk.end());
    if (queue_.empty() && chunk.empty()) chunk = backups(state);
    state.asked.insert(chunk.begin(), chunk.end());
    return chunk;
  }

  std::vector<int> ranks() const {
    std::vector<int> numbers;
    for (const auto& [rank, state] : ranks_) numbers.push_back(rank);
    return numbers;
  }

 private:
  struct Rank {
    unsigned threads = 1;
    std::set<std::size_t> asked;  // and not answered by it
  };

  /// Questions at other ranks, for the idle threads of this one: those handed out last, which the
  /// others have hardly begun. What is given comes last for the next rank.
  std::vector<std::uint64_t> backups(const Rank& state) {
    std::vector<std::uint64_t> chunk;
    std::erase_if(handed_out_, [&](std::size_t each) { return !unanswered_.contains(each); });
    for (const std::size_t question : std::views::reverse(handed_out_)) {
      if (state.asked.size() + chunk.size() >= state.threads) break;
      if (!state.asked.contains(question)) chunk.push_back(question);
    }
    std::erase_if(handed_out_,
                  [&](std::size_t each) { return std::ranges::find(chunk, each) != chunk.end(); });
    handed_out_.insert(handed_out_.begin(), chunk.begin(), chunk.end());
    return chunk;
  }

  const Questions& questions_;
  std::deque<std::size_t> queue_;
  std::vector<std::size_t> handed_out_;  // in order; with some that are answered
  std::set<std::size_t> unanswered_;
  std::map<int, Rank> ranks_;
  double cost_left_ = 0;
  double threads_ = 0;
};

std::string work_bytes(const std::vector<std::uint64_t>& chunk) {
  std::string bytes;
  for (const std::uint64_t question : chunk) append_bytes(bytes, question);
  return bytes;
}

/// Stops all other ranks; whether all of them confirm it. `begun`: those that have been heard of.
bool stop_ranks(Mailbox& mailbox, int ranks, std::set<int> begun) {
  for (int rank = 1; rank < ranks; ++rank) mailbox.send(rank, kStop, {});
  const auto others = static_cast<std::size_t>(ranks - 1);
  std::set<int> stopped;
  auto last_begun = Clock::now();
  while (stopped.size() < others &&
         Clock::now() < last_begun + (begun.size() == others ? kStopTimeout : kBeginTimeout)) {
    const auto message = mailbox.receive();
    if (!message) {
      std::this_thread::sleep_for(kPollInterval);
      continue;
    }
    if (begun.insert(message->rank).second) last_begun = Clock::now();
    if (message->tag == kStopped) stopped.insert(message->rank);
  }
  const bool all = stopped.size() == others;
  for (const int rank : stopped) mailbox.send(rank, kExit, all ? "finalize" : "");
  mailbox.flush(1s);
  return all;
}

/// Rank 0.
class Leader {
 public:
  Leader(int ranks, Questions& questions, Collector& collector, const std::string& identity,
         unsigned threads, const Limits& limits)
      : ranks_(ranks),
        questions_(questions),
        collector_(collector),
        identity_(identity),
        limits_(limits),
        schedule_(questions, collector.open()),
        workers_(std::make_unique<Workers>(questions, threads, limits)) {
    schedule_.add_rank(0, threads);
  }

  void run() {
    auto last_alive = Clock::now();
    while (!schedule_.all_answered() && !cancelled()) {
      bool idle = true;
      for (const Answered& each : workers_->take_answered()) {
        deliver(0, each);
        idle = false;
      }
      while (const auto message = mailbox_.receive()) {
        handle(*message);
        idle = false;
      }
      hand_out();
      if (Clock::now() > last_alive + kAliveInterval) {
        last_alive = Clock::now();
        for (int rank = 1; rank < ranks_; ++rank) mailbox_.send(rank, kAlive, {});
      }
      if (idle) std::this_thread::sleep_for(kPollInterval);
    }
  }

  /// Cancels what runs anywhere; whether all ranks confirm it.
  bool stop() {
    workers_.reset();
    return stop_ranks(mailbox_, ranks_, std::move(begun_));
  }

 private:
  bool cancelled() const { return limits_.cancelled != nullptr && *limits_.cancelled; }

  void deliver(int rank, const Answered& answered) {
    if (answered.question >= questions_.count()) throw ToolError("MPI: an answer to no question");
    if (!schedule_.answered(rank, answered.question)) return;
    collector_.deliver(answered.question, answered.answer, answered.seconds);
    for (const int other : schedule_.asked(answered.question)) {
      if (other == 0) {
        workers_->forget(answered.question);
      } else {
        mailbox_.send(other, kForget, work_bytes({answered.question}));
      }
    }
  }

  void handle(const Message& message) {
    switch (message.tag) {
      case kHello: {
        std::size_t at = 0;
        const auto threads = take_bytes<std::uint32_t>(message.bytes, at);
        if (message.bytes.substr(at) != identity_) {
          throw ToolError(
              fmt::format("rank {} was started with a different command from rank 0, or "
                          "is another version of p2-verify",
                          message.rank));
        }
        begun_.insert(message.rank);
        schedule_.add_rank(message.rank, threads);
        break;
      }
      case kAnswer:
        deliver(message.rank, answered_from(message.bytes));
        break;
      case kFailure:
        if (message.bytes.starts_with('L')) {
          throw LimitReached(LimitReached::Kind::Memory,
                             fmt::format("rank {}: {}", message.rank, message.bytes.substr(1)));
        }
        throw ToolError(fmt::format("rank {}: {}", message.rank, message.bytes.substr(1)));
      default:
        break;
    }
  }

  void hand_out() {
    for (const int rank : schedule_.ranks()) {
      const std::vector<std::uint64_t> chunk = schedule_.next(rank);
      if (chunk.empty()) continue;
      if (rank == 0) {
        workers_->give(chunk);
      } else {
        mailbox_.send(rank, kWork, work_bytes(chunk));
      }
    }
  }

  int ranks_;
  Questions& questions_;
  Collector& collector_;
  std::string identity_;
  Limits limits_;
  Mailbox mailbox_;
  Schedule schedule_;
  std::unique_ptr<Workers> workers_;
  std::set<int> begun_;  // other ranks that take part
};

}  // namespace

MpiQueue::MpiQueue() {
  int provided = 0;
  ::MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  ::MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  ::MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  // A message to a rank that died is no reason to end the others.
  ::MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

MpiQueue::~MpiQueue() {
  if (is_leader() && !stopped_) {
    Mailbox mailbox;
    finalize_ = stop_ranks(mailbox, ranks_, {});
  }
  if (finalize_) ::MPI_Finalize();
}

void MpiQueue::lead(Questions& questions, Collector& collector, const std::string& identity,
                    unsigned jobs, const Limits& limits) {
  Leader leader(ranks_, questions, collector, identity, std::max(1U, jobs), limits);
  std::exception_ptr failure;
  try {
    leader.run();
  } catch (...) {
    failure = std::current_exception();
  }
  finalize_ = leader.stop();
  stopped_ = true;
  if (failure) std::rethrow_exception(failure);
}

void MpiQueue::serve(Questions& questions, const std::string& identity, unsigned jobs,
                     const Limits& limits) {
  const unsigned threads = std::max(1U, jobs);
  Mailbox mailbox;
  auto workers = std::make_unique<Workers>(questions, threads, limits);
  std::string hello;
  append_bytes(hello, static_cast<std::uint32_t>(threads));
  mailbox.send(0, kHello, hello + identity);
  auto last_heard = Clock::now();
  while (Clock::now() < last_heard + kSilence) {
    bool idle = true;
    while (const auto message = mailbox.receive()) {
      idle = false;
      last_heard = Clock::now();
      if (message->tag == kWork && workers) {
        std::vector<std::uint64_t> chunk;
        for (std::size_t at = 0; at < message->bytes.size();) {
          chunk.push_back(take_bytes<std::uint64_t>(message->bytes, at));
        }
        workers->give(chunk);
      } else if (message->tag == kForget && workers) {
        std::size_t at = 0;
        workers->forget(take_bytes<std::uint64_t>(message->bytes, at));
      } else if (message->tag == kStop) {
        workers.reset();
        mailbox.send(0, kStopped, {});
      } else if (message->tag == kExit) {
        finalize_ = !message->bytes.empty();
        return;
      }
    }
    if (limits.cancelled != nullptr && *limits.cancelled) workers.reset();
    if (workers) {
      std::string failure;
      try {
        for (const Answered& each : workers->take_answered()) {
          mailbox.send(0, kAnswer, to_bytes(each));
          idle = false;
        }
      } catch (const LimitReached& error) {
        failure = std::string("L") + error.what();
      } catch (const std::bad_alloc&) {
        failure = "Lout of memory";
      } catch (const std::exception& error) {
        failure = std::string("T") + error.what();
      }
      if (!failure.empty()) {
        workers.reset();
        mailbox.send(0, kFailure, failure);
      }
    }
    if (idle) std::this_thread::sleep_for(kPollInterval);
  }
  finalize_ = false;  // rank 0 is lost
}

}  // namespace p2::campaign
