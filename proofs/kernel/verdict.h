#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace p2::kernel {

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

/// The files of a certificate with this claim, beside its manifest. Objects if there
/// is no such claim.
std::vector<std::string> files_of(const std::string& claim);
/// The claim in words if the files, those and no others, prove it (docs/certificates.md). Whatever
/// the bytes are, it ends in bounded time and memory, and throws nothing but an Objection, or
/// std::bad_alloc where the machine has less memory than that bound.
std::string check_claim(const std::string& claim, const Files& files);

/// Ends a check with any verdict but Accepted. Whatever the kernel's parts find wrong they throw.
struct Objection : std::runtime_error {
  Objection(Verdict given, const std::string& reason)
      : std::runtime_error(reason), verdict(given) {}
  Verdict verdict;
};
[[noreturn]] inline void reject(const std::string& reason) {
  throw Objection(Verdict::Rejected, reason);
}
[[noreturn]] inline void malformed(const std::string& reason) {
  throw Objection(Verdict::NotACertificate, reason);
}

/// The work one check may take, in numbers touched; bounds time and memory together.
class Budget {
 public:
  void spend(std::uint64_t work) {
    if (work > left_) throw Objection(Verdict::Incomplete, "the checker's limit of work was met");
    left_ -= work;
  }

 private:
  std::uint64_t left_ = std::uint64_t{1} << 30U;
};

}  // namespace p2::kernel
