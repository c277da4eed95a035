#include "cli/check/verdict_cache.h"

#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "cli/output.h"
#include "p2/error.h"
#include "proofs/kernel/certificate.h"
#include "p2/version.h"

namespace p2 {
namespace {

constexpr std::string_view kFirstLine = "p2-verify-cache/1";
constexpr std::size_t kLargestEntry = std::size_t{16} << 20;
constexpr std::size_t kDigest = 64;

/// First line, digest of the rest, the rest.
std::string sealed(const std::string& evidence) {
  return fmt::format("{}\n{}\n{}", kFirstLine, sha256(evidence), evidence);
}

std::optional<std::string> unsealed(const std::string& entry) {
  const std::size_t digest = kFirstLine.size() + 1;
  const std::size_t start = digest + kDigest + 1;
  if (entry.size() < start || !entry.starts_with(kFirstLine)) return std::nullopt;
  const std::string evidence = entry.substr(start);
  if (entry.substr(digest, kDigest) != sha256(evidence)) return std::nullopt;
  return evidence;
}

}  // namespace

VerdictCache::VerdictCache(const std::optional<std::string>& folder, std::string options)
    : folder_(folder), options_(std::move(options)) {
  if (!folder_) return;
  std::error_code failure;
  std::filesystem::create_directories(*folder_, failure);
  if (!std::filesystem::is_directory(*folder_)) {
    throw InputError({*folder_}, "cannot be made, expected a folder for --cache");
  }
}

std::string VerdictCache::path_of(const std::string& text) const {
  const std::string key =
      sha256(fmt::format("{}\n{}\n{}\n{}", kFirstLine, build_info().version, options_, sha256(text)));
  return fmt::format("{}/{}", *folder_, key);
}

std::optional<std::string> VerdictCache::find(const std::string& text) const {
  if (!folder_) return std::nullopt;
  const std::string path = path_of(text);
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return std::nullopt;
  try {
    return unsealed(read_file(path));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void VerdictCache::count_hit() {
  const std::lock_guard lock(mutex_);
  ++use_.hits;
}

void VerdictCache::keep(const std::string& text, const std::string& evidence) {
  if (!folder_ || evidence.size() > kLargestEntry) return;
  const std::lock_guard lock(mutex_);
  kept_[path_of(text)] = sealed(evidence);
}

CacheUse VerdictCache::write(std::ostream& err) {
  for (const auto& [path, entry] : kept_) {
    try {
      Output file(path, err);
      file.stream() << entry;
      file.finish();
      ++use_.stored;
    } catch (const InputError& error) {
      err << "p2-verify: " << error.what() << "\n";
    }
  }
  kept_.clear();
  return use_;
}

}  // namespace p2
