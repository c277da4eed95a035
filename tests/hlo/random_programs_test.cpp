// Random pipelines of tensor-parallel stages, right and with mistakes: the verdict, and whether
// there is a certificate, is compared with an execution of all programs.

#include <cstdlib>
#include <map>

#include <doctest/doctest.h>

#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/random_pipelines.h"

namespace p2::hlo {
namespace {

using pipelines::RandomPipeline;

/// The certificate of programs that no engine has looked at, or nothing.
std::optional<CertificateFiles> certified(const RandomPipeline& pipeline, std::string& why) {
  CertificateFiles files = {{"problem.json", pipeline.problem()}};
  auto evidence = programs_evidence(files);
  if (evidence.index() != 0) {
    why = std::get<1>(evidence);
    std::erase_if(why, [](char each) { return each >= '0' && each <= '9'; });
    return {};
  }
  files["relation.json"] = std::get<0>(evidence);
  add_manifest("programs-equal", {}, files);
  const kernel::Result result = check_certificate(files);
  CAPTURE(result.reason);
  REQUIRE(result.verdict == kernel::Verdict::Accepted);
  return files;
}

TEST_CASE("no random pipeline has a certificate that is wrong") {
  int right = 0;
  int wrong = 0;
  int accepted = 0;
  int transferred = 0;
  std::map<std::string, int> reasons;
  const char* const more = std::getenv("P2_PIPELINES");
  const auto count = static_cast<std::uint32_t>(more != nullptr ? std::stoul(more) : 3000);
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const RandomPipeline pipeline(seed, seed % 3 != 0);
    CAPTURE(seed);
    CAPTURE(pipeline.problem());
    const bool is_right = pipeline.is_right(seed);
    (is_right ? right : wrong) += 1;
    std::string why;
    const auto certificate = certified(pipeline, why);
    if (!certificate) {
      ++reasons[(is_right ? "right: " : "wrong: ") + why];
      continue;
    }
    REQUIRE(is_right);
    ++accepted;
    // The evidence of programs that are right, for those with mistakes.
    if (seed % 3 != 0) continue;
    CertificateFiles files = *certificate;
    const RandomPipeline other(seed, true);
    files.erase("manifest.json");
    files["problem.json"] = other.problem();
    add_manifest("programs-equal", {}, files);
    if (check_certificate(files).verdict == kernel::Verdict::Accepted) {
      REQUIRE(other.is_right(seed));
      ++transferred;
    }
  }
  for (const auto& [reason, times] : reasons) MESSAGE(times, " ", reason);
  MESSAGE(right, " right, ", accepted, " of them with a certificate, ", wrong, " wrong, ",
          transferred, " accepted by the evidence of others");
  CHECK(wrong > 700);
  CHECK(accepted * 100 > right * 90);
}

ModuleDecision decided(const RandomPipeline& pipeline, ModuleEngine engine) {
  std::vector<PlacedProgram> placed;
  for (const auto& [devices, text] : pipeline.texts())
    placed.push_back({devices, p2::hlo::module_of(text)});
  ComparisonOptions options;
  options.devices = {1, pipeline.devices()};
  options.engine = engine;
  options.relation = pipeline.relation();
  options.relation_file = "relation.json";
  auto programs = linked(placed, options.devices);
  if (auto* decision = std::get_if<ModuleDecision>(&programs)) return *decision;
  return compare(p2::hlo::module_of(pipeline.before()),
                 std::get<std::shared_ptr<const Module>>(programs), options, {});
}

TEST_CASE("verdicts on random pipelines are those of executing them") {
  int right = 0;
  int valid = 0;
  int wrong = 0;
  int refuted = 0;
  std::map<std::string, int> rules;
  const char* const more = std::getenv("P2_PIPELINES");
  const auto count = static_cast<std::uint32_t>(more != nullptr ? std::stoul(more) : 3000);
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const RandomPipeline pipeline(seed, seed % 3 != 0);
    std::string all = pipeline.before() + pipeline.relation();
    for (const auto& [devices, text] : pipeline.texts()) all += "\n" + text;
    CAPTURE(seed);
    CAPTURE(all);
    const bool is_right = pipeline.is_right(seed);
    if (seed % 3 == 0) REQUIRE(is_right);
    const ModuleDecision decision = decided(pipeline, ModuleEngine::All);
    CAPTURE(decision.reason);
    REQUIRE(decision.outcome != Outcome::Disagreement);
    if (is_right) {
      REQUIRE(decision.outcome != Outcome::Refuted);
      ++right;
      if (decision.outcome == Outcome::Established) ++valid;
    } else {
      REQUIRE(decision.outcome != Outcome::Established);
      REQUIRE(decided(pipeline, ModuleEngine::Symbolic).outcome != Outcome::Established);
      ++wrong;
      if (decision.outcome == Outcome::Refuted) ++refuted;
      if (decision.outcome == Outcome::Refuted) ++rules[decision.violation->rule];
    }
  }
  for (const auto& [rule, times] : rules) MESSAGE(rule, " ", times);
  MESSAGE(right, " right, ", valid, " of them valid, ", wrong, " wrong");
  CHECK(right > 1200);
  CHECK(wrong > 700);
  CHECK(valid * 1000 >= right * 999);
  CHECK(refuted * 100 > wrong * 95);
  CHECK(rules["deadlock"] > 20);
  CHECK(rules["unmatched"] > 20);
  CHECK(rules["value"] > 200);
}

}  // namespace
}  // namespace p2::hlo
