#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

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

/// The SHA-256 digest of `bytes` (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

/// The largest file of this name that is read, in bytes.
std::size_t largest_file(std::string_view name);

/// Checks one certificate (docs/certificates.md): the form of its manifest and the hashes of its
/// files, which catch accidents, and then its claim. Never throws.
kernel::Result check_certificate(const kernel::Files& files);
/// The same for the folder `path`, which holds regular files only: no links, no folders.
kernel::Result check_folder(const std::string& path);

}  // namespace p2
