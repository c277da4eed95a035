#include <map>

#include <doctest/doctest.h>

#include "tests/proofs/completeness.h"
#include "tests/proofs/completeness_mutator.h"
#include "tests/synthesis/all_instances.h"

using namespace p2;
using namespace p2::proofs;

namespace {

/// A reason without its numbers.
std::string kind_of(const std::string& reason) {
  std::string kind;
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !kind.ends_with('#')) kind += '#';
  }
  return kind;
}

}  // namespace

TEST_CASE("completeness is certified and accepted: all systems of 2 to 4 devices") {
  std::map<std::string, std::size_t> claims;
  for (std::uint32_t devices = 2; devices <= 4; ++devices) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      const CertificateFiles files = certify_complete(instance, dialect, 3);
      const kernel::Result result = check_certificate(files);
      CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
      CHECK(is_complete(files.at("problem.json")));
      ++claims[result.reason];
    });
  }
  CHECK(claims["there are 3 valid programs of at most 3 steps (2 devices, dialect published)"] > 0);
  CHECK(claims.size() > 8);
}

TEST_CASE("no mutation of a small certificate of completeness proves anything false") {
  const std::vector<CertificateFiles> certificates = small_completeness_certificates();
  for (const CertificateFiles& files : certificates) {
    const kernel::Result result = check_certificate(files);
    REQUIRE_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
  }
  CompletenessMutator mutator(11);
  std::map<std::string, int> met;
  int accepted = 0;
  for (std::size_t i = 0; i < 12'000; ++i) {
    const CertificateFiles& original = certificates[i % certificates.size()];
    CertificateFiles files = original;
    mutator.mutate(files);
    const kernel::Result result = check_certificate(files);
    if (result.verdict != kernel::Verdict::Accepted) {
      ++met[word(result.verdict) + ": " + kind_of(result.reason)];
      continue;
    }
    ++accepted;
    CHECK_MESSAGE(is_complete(files["problem.json"]), files["problem.json"], result.reason);
  }
  for (const auto& [reason, count] : met) MESSAGE(count, " ", reason);
  MESSAGE("accepted, and true: ", accepted);
  CHECK(met.size() > 45);
  CHECK(accepted > 500);
  for (const char* reason :
       {"a program is listed twice", "a program is longer than size", "choice # is another",
        "clause # of problem.cnf is not the claim's", "problem.cnf has another number of variables",
        "program #: it goes on at the goal", "program #: the goal is missed",
        "proof.lrat does not end in the empty clause", "proof.lrat, step #: a hint is not unit",
        "proof.lrat, step #: a hint too many", "proof.lrat, step #: a hint is no earlier clause",
        "proof.lrat, step #: its hints do not end in a contradiction", "varmap is another"}) {
    CHECK_MESSAGE(met[std::string("rejected: ") + reason] > 50, std::string(reason));
  }
}
