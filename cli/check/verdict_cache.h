#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace p2 {

struct CacheUse {
  std::size_t hits = 0;
  std::size_t stored = 0;
};

/// A folder of evidence, by the content of the file judged, the version of p2-verify and the
/// options. What comes out of it is undamaged and no more: whoever takes it checks it again. May be
/// used from several threads.
class VerdictCache {
 public:
  /// Without a folder nothing is found and nothing kept. Throws InputError if the folder cannot be
  /// made.
  VerdictCache(const std::optional<std::string>& folder, std::string options);

  bool on() const { return folder_.has_value(); }
  /// What was kept for a file with this text; nothing where there is no entry or a damaged one.
  std::optional<std::string> find(const std::string& text) const;
  /// What was found has been checked and used.
  void count_hit();
  /// Keeps evidence for a file with this text, in place of what was there. It is written by
  /// write().
  void keep(const std::string& text, const std::string& evidence);
  /// Writes what was kept, each entry whole or not at all; a complaint to `err` where it cannot.
  CacheUse write(std::ostream& err);

 private:
  std::string path_of(const std::string& text) const;

  std::optional<std::string> folder_;
  std::string options_;
  std::mutex mutex_;
  std::map<std::string, std::string> kept_;  ///< by path
  CacheUse use_;
};

}  // namespace p2
