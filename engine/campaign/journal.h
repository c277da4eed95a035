#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "p2/campaign.h"
#include "p2/json.h"

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

}  // namespace p2::campaign
