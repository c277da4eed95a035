#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

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

/// Ends a check with any verdict but Accepted.
class Objection : public std::runtime_error {
 public:
  Objection(Verdict verdict, const std::string& reason)
      : std::runtime_error(reason), verdict_(verdict) {}
  Verdict verdict() const { return verdict_; }

 private:
  Verdict verdict_;
};

[[noreturn]] inline void reject(const std::string& reason) {
  throw Objection(Verdict::Rejected, reason);
}
[[noreturn]] inline void malformed(const std::string& reason) {
  throw Objection(Verdict::NotACertificate, reason);
}

/// The work one check may take, in runs of index sets touched; bounds time and memory together.
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
