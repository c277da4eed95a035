#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace p2 {

namespace kernel {

/// What the checker can say of a certificate.
enum class Verdict : std::uint8_t {
  Accepted,         ///< the evidence proves the claim
  Rejected,         ///< it does not; the reason names the first wrong thing
  NotACertificate,  ///< the folder does not have the form of a certificate
  Incomplete,       ///< checking it would take more work than the checker allows itself
};

struct Result {
  Verdict verdict = Verdict::Accepted;
  std::string reason;  ///< for Accepted: the claim that was proved, in words
};

/// The files of a certificate: name → bytes.
using Files = std::map<std::string, std::string>;

}  // namespace kernel

/// As long as it lasts, checks in this thread end as Incomplete at a point of time: for who makes
/// certificates. p2-check has work limits alone, so that it says the same everywhere.
class CheckDeadline {
 public:
  explicit CheckDeadline(std::optional<std::chrono::steady_clock::time_point> at);
  ~CheckDeadline();
  CheckDeadline(const CheckDeadline&) = delete;
  CheckDeadline& operator=(const CheckDeadline&) = delete;

 private:
  std::optional<std::chrono::steady_clock::time_point> before_;
};

/// The SHA-256 digest of `bytes` (FIPS 180-4) as 64 lower-case hexadecimal digits; if portable, not
/// by instructions that a processor may have for it.
std::string sha256(std::string_view bytes, bool is_portable = false);

/// The largest file of this name that is read, in bytes.
std::size_t largest_file(std::string_view name);

/// The files that say what is claimed, by the claim's name; the evidence is not among them.
std::vector<std::string> statement_files(const std::string& claim);
/// The first 12 digits of the SHA-256 of what is claimed; `files` has the statement_files.
std::string claim_digest(const std::string& claim, const kernel::Files& files);

/// Checks one certificate (docs/certificates.md): the form of its manifest and the hashes of its
/// files, which catch accidents, and then its claim; and that it answers `question`, a JSON text,
/// where that is given. Never throws.
kernel::Result check_certificate(const kernel::Files& files,
                                 const std::optional<std::string>& question = std::nullopt);
/// The same for the folder `path`, which holds regular files only: no links, no folders.
kernel::Result check_folder(const std::string& path,
                            const std::optional<std::string>& question = std::nullopt);

}  // namespace p2
