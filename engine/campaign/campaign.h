#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

#include "p2/campaign.h"
#include "p2/json.h"
#include "p2/limits.h"

/// Campaigns: many independent questions, answered by the threads of this process and by the other
/// processes of an MPI run, in shards, with journals. A class derived from Questions says what is
/// asked.
namespace p2::campaign {

/// The first members of the header of a journal of a command: the format and the version of
/// p2-verify, which have to be the same.
Json journal_header(std::string_view command);
/// The last ones: how many questions there are, and which shard has the journal, `I/N`.
Json with_shard(Json header, std::size_t questions, const CampaignPart& part);
/// A member of a header that may be absent in the request: null then.
Json optional_text(const std::optional<std::string>& text);
std::optional<std::string> optional_text(const nlohmann::ordered_json& header, const char* key);

/// What a journal holds: a write-ahead log of JSON lines, as the logs of LevelDB with a CRC-32C for
/// every record. The first line says what is asked, every other one answers a question.
struct JournalText {
  nlohmann::ordered_json header;  ///< null where not even the first line is whole
  std::map<std::size_t, nlohmann::ordered_json> answers;  ///< by question
  std::map<std::size_t, double> seconds;                  ///< by question
  std::size_t whole_bytes = 0;  ///< without an incomplete last line, left by a killed process
};

/// Throws InputError for what no campaign has written: a file that cannot be read, that is no
/// journal, or that has a damaged line before its last.
JournalText read_journal(const std::string& path);

/// A journal that a campaign writes. Lines are appended whole; an incomplete last line is truncated
/// when the file is opened again. Survives SIGKILL at any byte; of a machine that loses power, only
/// what the system had written to the disk.
class Journal {
 public:
  /// Opens or creates the file. `header` is everything that the answers depend on. Throws
  /// InputError if the file cannot be read or written, is no journal, has another header, or is
  /// locked by another process.
  Journal(const std::string& path, const Json& header);

  /// What was answered before.
  const std::map<std::size_t, nlohmann::ordered_json>& answers() const { return text_.answers; }
  /// Thread-safe. `answer` is JSON. Throws InputError if the line cannot be written.
  void append(std::size_t question, std::string_view answer, double seconds);

 private:
  /// A file open for appending, under an exclusive lock (flock).
  class File {
   public:
    explicit File(const std::string& path);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    void truncate(std::size_t bytes);
    /// Throws InputError.
    void write(const std::string& line);

   private:
    std::string path_;
    int descriptor_;
  };

  File file_;
  JournalText text_;
  std::mutex mutex_;
};

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

/// The processes that mpirun started, as one work queue: rank 0 hands out questions, longest
/// expected first in chunks that become smaller (guided self-scheduling, Polychronopoulos and Kuck
/// 1987), and answers some itself. Once none is left, idle threads answer those that others have
/// not answered yet (backup tasks, Dean and Ghemawat 2004), so a rank that dies or hangs delays
/// nothing but its own questions. MPI is initialized as long as this object lives; there is one.
///
/// Every rank works on `jobs` threads (0 = one). Only the thread that calls uses MPI.
class MpiQueue {
 public:
  MpiQueue();
  /// Stops the others if it has not led. Finalizes MPI, unless a rank was lost: that would wait for
  /// it.
  ~MpiQueue();
  MpiQueue(const MpiQueue&) = delete;
  MpiQueue& operator=(const MpiQueue&) = delete;

  bool is_leader() const { return rank_ == 0; }

  /// Rank 0: until every open question is answered, or limits.cancelled. Throws ToolError where
  /// another rank fails, or asks something else: `identity` is everything that the answers depend
  /// on.
  void lead(Questions& questions, Collector& collector, const std::string& identity, unsigned jobs,
            const Limits& limits);
  /// The other ranks: until rank 0 stops them, or is silent for a minute.
  void serve(Questions& questions, const std::string& identity, unsigned jobs,
             const Limits& limits);

 private:
  int rank_ = 0;
  int ranks_ = 1;
  bool finalize_ = true;
  bool stopped_ = false;  ///< the other ranks, by this one
};

}  // namespace p2::campaign
