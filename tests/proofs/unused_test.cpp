#include <algorithm>

#include <doctest/doctest.h>

#include "proofs/certificate/absence_certificate.h"
#include "proofs/claims/claim.h"
#include "proofs/claims/forbidden_moves.h"
#include "tests/program/instances.h"
#include "tests/proofs/certificates.h"

using namespace p2;
using namespace p2::proofs;

namespace {

using Kind = HierarchyKind;

constexpr std::uint32_t kSize = 3;

/// A placed system and the moves of its valid programs, by enumeration.
struct Enumerated {
  Enumerated(const Instance& instance, Dialect dialect)
      : subject({instance.grid, instance.reduction}, instance.hierarchy.kind(), std::nullopt,
                dialect),
        used(subject.moves.size(), false) {
    const ProgramList programs(subject.named.problem, kSize, {});
    programs.for_each([&](std::span<const std::uint32_t> moves) {
      for (const std::uint32_t move : moves) used[move] = true;
    });
  }

  CertificateFiles certificate() const {
    std::vector<bool> unused = used;
    unused.flip();
    claims::ByClauses settled = claims::settle_by_clauses(subject, unused, {kSize, {}});
    REQUIRE(settled.answer.verdict == claims::Outcome::Holds);
    return unused_certificate(subject.from, subject.dialect, kSize, std::move(settled.proof), {});
  }

  claims::Subject subject;
  std::vector<bool> used;
};

}  // namespace

TEST_CASE("what no valid program does is certified, and nothing that one does is accepted") {
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (const Kind kind : kHierarchyKinds) {
    for (const Dialect dialect : {Dialect::Published, Dialect::Printed}) {
      const Enumerated system(instance_of("2,2", "2,2", "0", "[[1,2],[2,1]]", kind), dialect);
      const CertificateFiles files = system.certificate();
      const kernel::Result result = check_certificate(files);
      CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
      ++accepted;
      const Json problem = Json::parse(files.at("problem.json"));
      const auto uses = problem.at("uses").get<std::vector<std::size_t>>();
      CHECK(uses.size() == static_cast<std::size_t>(std::ranges::count(system.used, false)));
      for (std::size_t choice = 0; choice < problem.at("choices").size(); ++choice) {
        if (std::ranges::find(uses, choice) != uses.end()) continue;
        std::vector<std::size_t> more = uses;
        more.insert(std::ranges::upper_bound(more, choice), choice);
        CHECK(check_changed(files, "uses", more).verdict == kernel::Verdict::Rejected);
        ++refused;
      }
    }
  }
  CHECK(accepted == 12);
  CHECK(refused > 40);
}

TEST_CASE("a claim about no choice holds, and choices that there are not are none") {
  const Enumerated system(instance_of("4", "4", "0", "[[4]]", Kind::Reduction), Dialect::Published);
  claims::ByClauses settled = claims::settle_by_clauses(
      system.subject, std::vector<bool>(system.used.size(), false), {kSize, {}});
  const CertificateFiles files = unused_certificate(system.subject.from, Dialect::Published, kSize,
                                                    std::move(settled.proof), {});
  CHECK(check_certificate(files).verdict == kernel::Verdict::Accepted);
  const std::size_t choices = Json::parse(files.at("problem.json")).at("choices").size();
  CHECK(check_changed(files, "uses", {choices}).verdict == kernel::Verdict::NotACertificate);
  CHECK(check_changed(files, "uses", {1, 0}).verdict == kernel::Verdict::NotACertificate);
  CHECK(check_changed(files, "uses", {1, 1}).verdict == kernel::Verdict::NotACertificate);
  CHECK(check_changed(files, "to", "d").verdict == kernel::Verdict::NotACertificate);
  CHECK(check_changed(files, "size", kSize + 1).verdict == kernel::Verdict::Rejected);
}
