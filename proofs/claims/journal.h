#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "proofs/claims/claim.h"

namespace p2::claims {

/// What a campaign has settled so far, in a file: a line of JSON that names the request, then one
/// for every search that was finished. Every line is appended whole; a last line that was torn when
/// the process died is cut off when the file is opened again.
class Journal {
 public:
  /// Opens or makes the file. Throws InputError when it cannot be read or written, is no journal,
  /// is of another request than `title` names, or another process is using it.
  Journal(const std::string& path, const std::string& title);

  /// What was settled before, by number of the search.
  const std::map<std::size_t, std::vector<Answer>>& known() const { return known_; }
  /// Appends one search; may be called from several threads. `orders` says, for whoever reads the
  /// file, which order of rows each answer is for; empty where that does not matter. Throws
  /// InputError when the line cannot be written.
  void append(std::size_t search, const std::vector<Answer>& answers,
              const std::vector<std::string>& orders);

 private:
  /// Keeps other processes from using the file.
  class Lock {
   public:
    explicit Lock(const std::string& path);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int file_;
  };

  void read(const std::string& text, const std::string& title);
  void write(const std::string& line);

  std::string path_;
  Lock lock_;
  std::map<std::size_t, std::vector<Answer>> known_;
  std::ofstream file_;
  std::mutex mutex_;
};

}  // namespace p2::claims
