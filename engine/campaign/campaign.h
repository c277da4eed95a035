#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/campaign/journal.h"
#include "p2/limits.h"

/// Campaigns: many independent questions, answered by the threads of this process and by the other
/// processes of an MPI run, in shards, with journals. A class derived from Questions says what is
/// asked.
namespace p2::campaign {

/// Independent questions, numbered from 0. The same request has the same questions in every
/// process.
class Questions {
 public:
  Questions() = default;
  virtual ~Questions() = default;
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  struct Answer {
    std::string json;
    bool final = true;  ///< no limit had a part in it
  };

  virtual std::size_t count() const = 0;
  /// In any unit. Shards and the order of work depend on it, answers never.
  virtual double expected_cost(std::size_t question) const = 0;
  /// Thread-safe. Limits make an answer not final; other exceptions end the campaign.
  virtual Answer ask(std::size_t question, const Limits& limits) = 0;
  /// Takes an answer of ask(), of this process or another one. Thread-safe for different questions.
  virtual void record(std::size_t question, const nlohmann::ordered_json& answer) = 0;
};

/// One of `count` parts of a campaign, numbered from 1.
struct Shard {
  std::uint32_t number = 1;
  std::uint32_t count = 1;

  bool is_whole() const { return count == 1; }
  bool operator==(const Shard&) const = default;
};

/// `I/N`.
std::string to_string(const Shard& shard);
/// Whether a limit may end an answer early, so that another run may decide what it did not.
bool may_be_cut_short(const Limits& limits);

/// The shard of every question, from 1, in `count` shards of about the same expected cost: longest
/// processing time first (Graham 1969).
std::vector<std::uint32_t> shard_of_questions(const Questions& questions, std::uint32_t count);

/// Counters of a running campaign, for other threads.
struct Counters {
  std::atomic<std::uint64_t> questions = 0;  ///< of the shard
  std::atomic<std::uint64_t> known = 0;      ///< taken from the journal
  std::atomic<std::uint64_t> done = 0;       ///< answered finally by this run
};

/// What answers a campaign has, and where they go.
class Collector {
 public:
  /// Records what `journal` knows; it may be null, and so may `counters`.
  Collector(Questions& questions, const Shard& shard, Journal* journal, Counters* counters);

  /// The questions of the shard that the journal does not answer, in order.
  const std::vector<std::size_t>& open() const { return open_; }
  /// Records an answer and, if it is final, writes it to the journal. Thread-safe.
  void deliver(std::size_t question, const Questions::Answer& answer, double seconds);

 private:
  Questions& questions_;
  Journal* journal_;
  Counters* counters_;
  std::vector<std::size_t> open_;
};

/// Answers the open questions in order on `jobs` threads (0 = one per core). Once it is cancelled
/// (limits.cancelled) it asks no more.
void run_on_threads(Questions& questions, Collector& collector, unsigned jobs,
                    const Limits& limits);

}  // namespace p2::campaign
