#include "proofs/kernel/certificate.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <new>
#include <utility>

#include "proofs/kernel/claims.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;
using namespace kernel;

constexpr std::size_t kMaxFiles = 8;

thread_local std::optional<std::chrono::steady_clock::time_point> deadline;

Files read_folder(const std::string& path) try {
  Files files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (!fs::is_regular_file(entry.symlink_status())) malformed(name + " is not a regular file");
    if (entry.file_size() > largest_file(name)) malformed(name + " is too large");
    if (files.size() == kMaxFiles) malformed("the folder has too many files");
    std::string bytes(entry.file_size(), '\0');
    std::ifstream file(entry.path(), std::ios::binary);
    if (!file.read(bytes.data(), std::ssize(bytes))) malformed(name + " cannot be read");
    files.emplace(name, std::move(bytes));
  }
  return files;
} catch (const fs::filesystem_error&) {
  malformed("the folder cannot be read");
}

/// All files are text.
void check_bytes(const Files& files) {
  for (const auto& [name, bytes] : files) {
    if (bytes.find('\0') != std::string::npos) malformed(name + ": NUL byte");
    if (bytes.starts_with("\xEF\xBB\xBF")) malformed(name + ": byte order mark");
  }
}

/// The manifest's seal is the hash of its own bytes with the digits of the seal replaced by zeros.
void check_seal(std::string manifest, const std::string& seal) {
  const std::size_t at = manifest.find(seal);
  if (seal.size() != 64 || at == std::string::npos) malformed("manifest.json: malformed seal");
  manifest.replace(at, seal.size(), seal.size(), '0');
  if (sha256(manifest) != seal) reject("manifest.json: seal mismatch");
}

/// Checks form and hashes of the folder; returns its claim and takes the manifest out.
std::string check_manifest(Files& files) {
  if (!files.contains("manifest.json")) malformed("manifest.json is missing");
  const Json root = parse_json(files, "manifest.json");
  expect_keys(root, {"schema", "claim", "tools", "seed", "options", "files", "seal"});
  if (root["schema"] != "p2-certificate/1") malformed("schema is not p2-certificate/1");
  for (const char* key : {"tools", "options", "files"}) {
    if (!root[key].is_object()) malformed(std::string(key) + " is not an object");
    for (const Json& value : root[key]) as_text(value);
  }
  if (!root["seed"].is_number_unsigned()) malformed("seed is not a number");
  check_seal(files.at("manifest.json"), as_text(root["seal"]));
  std::string claim = as_text(root["claim"]);
  const std::vector<std::string> names = kernel::files_of(claim, files);
  expect_keys(root["files"], names);
  if (files.size() != names.size() + 1) malformed("unexpected file in the folder");
  for (const std::string& name : names) {
    if (!files.contains(name)) malformed(name + " is missing");
    if (root["files"][name] != sha256(files.at(name))) reject(name + ": hash mismatch");
  }
  files.erase("manifest.json");
  return claim;
}

/// Checks what `read` returns.
template <typename Read>
Result check(const Read& read, const std::optional<std::string>& question) try {
  Files files = read();
  check_bytes(files);
  const std::string claim = check_manifest(files);
  return {Verdict::Accepted, check_claim(claim, files, question)};
} catch (const CheckFailure& objection) {
  return {objection.verdict, objection.what()};
} catch (const std::bad_alloc&) {
  return {Verdict::Incomplete, "out of memory"};
}

}  // namespace

CheckDeadline::CheckDeadline(std::optional<std::chrono::steady_clock::time_point> at)
    : before_(std::exchange(deadline, at)) {}
CheckDeadline::~CheckDeadline() { deadline = before_; }

void kernel::require_time() {
  if (deadline && std::chrono::steady_clock::now() >= *deadline)
    throw CheckFailure(Verdict::Incomplete, "the time limit was reached");
}

std::size_t largest_file(std::string_view name) {
  return name.ends_with(".json") ? kLargestJson : std::size_t{512} << 20U;
}

Result check_certificate(const Files& files, const std::optional<std::string>& question) {
  return check([&] { return files; }, question);
}
Result check_folder(const std::string& path, const std::optional<std::string>& question) {
  return check([&] { return read_folder(path); }, question);
}

}  // namespace p2
