#include <map>

#include <doctest/doctest.h>

#include "tests/proofs/mutator.h"

using namespace p2;
using namespace p2::proofs;

namespace {

/// What a reason is about: its first word, or its kind of place.
std::string depth(const kernel::Result& result) {
  if (result.verdict != kernel::Verdict::Rejected) return word(result.verdict);
  if (result.reason.find("before the first step") != std::string::npos) return "initial";
  if (result.reason.find("does not break rule") != std::string::npos) return "refutation";
  for (const char* place : {"symmetry", "step", "the goal", "the last step", "the derivation",
                            "device", "classes", "placement"}) {
    if (result.reason.starts_with(place)) return place;
  }
  return "other";
}

}  // namespace

TEST_CASE("no mutation of a small certificate proves anything false") {
  const std::vector<CertificateFiles> certificates = small_certificates();
  Mutator mutator(7);
  std::map<std::string, int> met;
  int changed_claims = 0;
  for (int i = 0; i < 60'000; ++i) {
    const CertificateFiles& original =
        certificates[static_cast<std::size_t>(i) % certificates.size()];
    CertificateFiles files = original;
    const std::string claim = mutator.mutate(files);
    const kernel::Result result = check_certificate(files);
    ++met[depth(result)];
    if (result.verdict != kernel::Verdict::Accepted) continue;
    const bool same =
        Json::parse(files["problem.json"]) == Json::parse(original.at("problem.json"));
    changed_claims += same ? 0 : 1;
    CHECK_MESSAGE(is_true(claim, files["problem.json"]), claim, ": ", files["problem.json"], " ",
                  result.reason);
  }
  for (const auto& [kind, count] : met) MESSAGE(kind, ": ", count);
  MESSAGE("accepted with another true claim: ", changed_claims);
  CHECK(met["step"] > 2000);
  CHECK(met["refutation"] > 1000);
  CHECK(met["the goal"] > 100);
  CHECK(met["symmetry"] > 100);
  CHECK(met["initial"] > 500);
  CHECK(met["the derivation"] > 500);
  CHECK(met["incomplete"] == 0);
  CHECK(changed_claims > 50);
}

TEST_CASE("without new hashes no bit of any file may change") {
  std::size_t flips = 0;
  for (const CertificateFiles& original : small_certificates()) {
    for (const auto& [name, bytes] : original) {
      CertificateFiles files = original;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const unsigned bit = static_cast<unsigned>(i + flips) % 8;
        files[name][i] = static_cast<char>(bytes[i] ^ static_cast<char>(1U << bit));
        const kernel::Verdict verdict = check_certificate(files).verdict;
        const bool refused =
            verdict == kernel::Verdict::Rejected || verdict == kernel::Verdict::NotACertificate;
        CHECK_MESSAGE(refused, name, " byte ", i);
        files[name][i] = bytes[i];
        ++flips;
      }
    }
  }
  CHECK(flips > 10'000);
}
