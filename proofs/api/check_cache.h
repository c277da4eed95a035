#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/msccl/verdict.h"
#include "p2/answer.h"
#include "proofs/api/engines.h"

namespace p2 {

/// A folder of evidence, by the content of the file checked, the version of p2-verify and the
/// options. An entry that is found is undamaged and no more: the caller checks its evidence again
/// before it is used. Thread-safe.
class EvidenceCache {
 public:
  /// Without a folder nothing is found and nothing kept. `options` distinguishes entries. Throws
  /// InputError if the folder cannot be made.
  EvidenceCache(std::optional<std::string> folder, std::string options);

  bool enabled() const { return folder_.has_value(); }
  /// The evidence kept for a file with this text; nothing without an entry or with a damaged one.
  std::optional<std::string> find(const std::string& text) const;
  /// Evidence that was found has been accepted and used.
  void count_hit();
  /// Keeps evidence for a file with this text, in place of earlier evidence, until write().
  void keep(const std::string& text, const std::string& evidence);
  /// Writes what was kept, each entry whole or not at all. Notes the entries that cannot be
  /// written.
  void write(std::vector<Diagnostic>& diagnostics);

  std::size_t hits() const { return hits_; }
  std::size_t stored() const { return stored_; }

 private:
  std::string path_of(const std::string& text) const;

  std::optional<std::string> folder_;
  std::string options_;
  std::mutex mutex_;
  std::map<std::string, std::string> kept_;  ///< by path
  std::size_t hits_ = 0;
  std::size_t stored_ = 0;
};

/// As ask(), with the answers of the solvers from the cache if it has them. They are used only if
/// the certificate stored with them is of this program, p2-check's kernel accepts it, and it agrees
/// with `decision`. The explicit engine alone is never cached: it is as fast as replaying a
/// certificate.
std::vector<EngineAnswer> ask_with_cache(const Engines& engines, const ProgramFile& file,
                                         const ProgramDecision& decision, const std::string& text,
                                         const Limits& limits, EvidenceCache& cache);

/// As msccl::judge(), with refutations from the cache if they can be replayed on this algorithm.
/// Established algorithms are not cached: no evidence for them is checked faster than it is found.
msccl::AlgorithmDecision judge_with_cache(const msccl::Algorithm& algorithm,
                                          const std::string& text, const Limits& limits,
                                          EvidenceCache& cache);

}  // namespace p2
