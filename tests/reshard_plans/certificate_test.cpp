#include <doctest/doctest.h>

#include "engine/reshard/plans/plan.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/reshard_plans/mutator.h"
#include "tests/reshard_plans/plans.h"

using namespace p2::reshard;
using p2::Decomposition;
using p2::TransferStrategy;
using p2::kernel::Verdict;

namespace {

p2::kernel::Result checked(const Plan& plan, bool right) {
  return p2::check_certificate(p2::plan_certificate(plan, right, {}));
}

/// The verdict on a plan.json of the same claim.
p2::kernel::Result checked(const std::string& text, bool right) {
  p2::CertificateFiles files{{"plan.json", text}};
  p2::add_manifest(right ? "reshard-plan" : "reshard-plan-wrong", {}, files);
  return p2::check_certificate(files);
}

bool is_writable(const Plan& plan) {
  for (const DeviceProgram& program : plan.programs) {
    for (const Step& step : program) {
      for (const Operation& each : step) {
        for (const auto* corner : {&each.box.low, &each.box.high}) {
          if (*std::min_element(corner->begin(), corner->end()) < 0) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

TEST_CASE("p2-check accepts the plans of all cases, and no claim that they are wrong") {
  std::vector<Case> cases = table2({12, 24, 8});
  for (const Case& odd : odd_cases()) cases.push_back(odd);
  for (const Case& each : cases) {
    for (const TransferStrategy strategy : kStrategies) {
      const Plan plan = plan_for(each, strategy, Decomposition::Intersection);
      const auto result = checked(plan, true);
      CHECK_MESSAGE(result.verdict == Verdict::Accepted, result.reason);
      CHECK(checked(plan, false).verdict == Verdict::Rejected);
    }
  }
}

TEST_CASE("p2-check tells 5000 mutated plans apart as an element-by-element run does") {
  std::vector<Case> cases = table2({4, 6, 3});
  for (const Case& odd : odd_cases()) cases.push_back(odd);
  std::mt19937 random(17);
  int right = 0;
  int wrong = 0;
  for (int i = 0; i < 5000; ++i) {
    const Case& of = cases[static_cast<std::size_t>(i) % cases.size()];
    const Plan plan =
        plan_for(of, kStrategies[random() % 4], kDecompositions[random() % 2], 1 + random() % 3);
    const Mutant mutant = mutated(plan, random);
    if (!is_writable(mutant.plan)) continue;
    const auto fault = judge(mutant.plan).violation;
    CAPTURE(i);
    CAPTURE(mutant.what);
    const auto as_right = checked(mutant.plan, true);
    const auto as_wrong = checked(mutant.plan, false);
    CHECK(as_right.verdict == (fault ? Verdict::Rejected : Verdict::Accepted));
    CHECK(as_wrong.verdict == (fault ? Verdict::Accepted : Verdict::Rejected));
    if (fault) CHECK(as_wrong.reason.find(to_string(fault->rule)) != std::string::npos);
    if (as_right.verdict == Verdict::Accepted) CHECK(ends_right_element_by_element(mutant.plan));
    (fault ? wrong : right) += 1;
  }
  CHECK(right > 500);
  CHECK(wrong > 2000);
}

TEST_CASE("the example of docs/certificates.md, and what is no certificate of a plan") {
  const std::string text = R"({"dimensions":1,"has":[[0,4],[0,0]],"needs":[[0,0],[0,4]],)"
                           R"("programs":[[[[1,1,0,2],[1,1,2,4]]],[[[0,0,0,2]],[[0,0,2,4]]]]})";
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string changed = text;
    const std::size_t at = changed.find(part);
    REQUIRE(at != std::string::npos);
    return checked(changed.replace(at, part.size(), other), true);
  };
  const std::string words = "every device of the plan ends with its elements (2 devices, 1 ";
  CHECK(checked(text, true).reason.starts_with(words));
  CHECK(checked(text, false).reason.starts_with(words));
  CHECK(with("[1,1,0,2],", "[1,1,0,2]],[").verdict == Verdict::Accepted);
  CHECK(with("[[0,0,0,2]],[[0,0,2,4]]", "[[0,0,0,2],[0,0,2,4]]").verdict == Verdict::Accepted);
  CHECK(with("[[0,0,0,2]],[[0,0,2,4]]", "[[0,0,0,2],[0,0,2,3]]").verdict == Verdict::Rejected);
  for (const auto& [part, other] : {std::pair("\"dimensions\":1", "\"dimensions\":2"),
                                    {"[0,4],[0,0]", "[0,4]"},
                                    {"[1,1,0,2]", "[3,1,0,2]"},
                                    {"[1,1,0,2]", "[1,2,0,2]"},
                                    {"[1,1,0,2]", "[1,1,0]"},
                                    {"[0,4]", "[0,-4]"},
                                    {"[0,4]", "[0,4294967296]"},
                                    {"{\"dim", "{\"more\":1,\"dim"}}) {
    CHECK(with(part, other).verdict == Verdict::NotACertificate);
  }
}
