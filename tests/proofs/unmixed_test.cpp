#include <algorithm>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "engine/program/notation.h"
#include "proofs/certificate/absence_certificate.h"
#include "proofs/claims/arbitrary_groups.h"
#include "proofs/claims/disjoint_groups.h"
#include "proofs/claims/mixing_clauses.h"
#include "tests/proofs/certificates.h"

using namespace p2;
using namespace p2::proofs;

namespace {

using claims::Outcome;
using Classes = std::vector<Group>;
using Judged = kernel::Verdict;

const Classes kPairs = {{0, 1}, {2, 3}};

/// Up to renaming devices all partitions of 2, 3 and 4 devices, and some of the renamed.
const Classes kPartitions[] = {{{0, 1}},
                               {{0}, {1}},
                               {{0, 1, 2}},
                               {{0, 1}, {2}},
                               {{0}, {1, 2}},
                               {{0}, {1}, {2}},
                               {{0, 1, 2, 3}},
                               {{0, 1, 2}, {3}},
                               {{0}, {1, 2, 3}},
                               kPairs,
                               {{0, 2}, {1, 3}},
                               {{0, 3}, {1, 2}},
                               {{0, 1}, {2}, {3}},
                               {{0}, {1, 3}, {2}},
                               {{0}, {1}, {2}, {3}}};

std::uint32_t devices_of(const Classes& classes) {
  std::size_t devices = 0;
  for (const Group& members : classes) devices += members.size();
  return static_cast<std::uint32_t>(devices);
}

CertificateFiles certify_unmixed(const Classes& classes, std::uint32_t size) {
  claims::ByClauses found =
      claims::mixing_program_by_clauses(devices_of(classes), classes, {size, {}});
  REQUIRE(found.answer.verdict == Outcome::Holds);
  return unmixed_certificate(devices_of(classes), classes, Dialect::Published, size,
                             std::move(found.proof), {});
}

/// A certificate for two classes of two devices and three steps, from clauses that speak of the
/// sets of groups in another order or of some of them.
kernel::Result judge_other_choices(std::vector<std::vector<Group>> sets) {
  cnf::Stage stage{4, {0, 0, 1, 1}, {}};
  for (auto& groups : sets) stage.shapes.push_back({std::nullopt, std::move(groups), false});
  cnf::Absence absence =
      cnf::refute(stage, 3, [](const Step& step) { return claims::mixes(step.groups, kPairs); });
  REQUIRE(absence.kind == cnf::Absence::Kind::Absent);
  return check_certificate(
      unmixed_certificate(4, kPairs, Dialect::Published, 3, std::move(absence.proof), {}));
}

}  // namespace

TEST_CASE(
    "clauses find a mixing program exactly where the search does; elsewhere p2-check agrees") {
  std::size_t found = 0;
  for (const Classes& classes : kPartitions) {
    for (std::uint32_t size = 0; size <= 4; ++size) {
      CAPTURE(p2::to_string(classes));
      CAPTURE(size);
      const std::uint32_t devices = devices_of(classes);
      const claims::Answer searched = claims::smallest_mixing_program(devices, classes, {size, {}});
      const claims::Answer solved =
          claims::mixing_program_by_clauses(devices, classes, {size, {}}).answer;
      CHECK(solved.verdict == searched.verdict);
      CHECK(solved.steps == searched.steps);
      if (solved.verdict == Outcome::Refuted) {
        TextCursor cursor("program", solved.program);
        const Program program{devices, classes, parse_steps(cursor, devices, nullptr)};
        CHECK(std::any_of(program.steps.begin(), program.steps.end(),
                          [&](const Step& step) { return claims::mixes(step.groups, classes); }));
        ++found;
        continue;
      }
      const kernel::Result result = check_certificate(certify_unmixed(classes, size));
      CHECK_MESSAGE(result.verdict == Judged::Accepted, result.reason);
    }
  }
  CHECK(found == 3);
}

TEST_CASE("an unmixed certificate is accepted for its own claim and no other") {
  const CertificateFiles files = certify_unmixed(kPairs, 3);
  CHECK(claim_of(files) == "unmixed");
  CHECK(check_certificate(files).reason ==
        "no group across classes holds anything in valid programs of at most 3 steps (4 devices, "
        "dialect published)");
  struct Forgery {
    const char* key;
    Json value;
    Judged verdict;
    const char* reason;
  };
  const Forgery forgeries[] = {
      {"size", 4, Judged::Rejected, "of problem.cnf is not the claim's"},
      {"size", 2, Judged::Rejected, "of problem.cnf is not the claim's"},
      {"size", 65, Judged::NotACertificate, "is not a number below 65"},
      {"classes", {{0, 2}, {1, 3}}, Judged::Rejected, "of problem.cnf is not the claim's"},
      {"classes", {{0, 1, 2}, {3}}, Judged::Rejected, "of problem.cnf is not the claim's"},
      {"devices", 5, Judged::Rejected, "classes leave out a device"},
      {"dialect", "e", Judged::NotACertificate, "dialect is unknown"},
      // No choice is a Master: the dialect has no say, and the claim holds in both.
      {"dialect", "printed", Judged::Accepted, "dialect printed"},
      {"choices", Json::array(), Judged::NotACertificate, "an object with the keys"},
      {"hierarchy", Json::array(), Judged::NotACertificate, "an object with the keys"}};
  for (const Forgery& forgery : forgeries) {
    CAPTURE(forgery.key);
    const kernel::Result result = check_changed(files, forgery.key, forgery.value);
    CHECK(word(result.verdict) == word(forgery.verdict));
    CHECK_MESSAGE(result.reason.find(forgery.reason) != std::string::npos, result.reason);
  }
}

TEST_CASE("the sets of groups are the checker's own: another order, or fewer, is rejected") {
  const std::vector<std::vector<Group>> sets = claims::all_disjoint_groups(4);
  CHECK(judge_other_choices(sets).verdict == Judged::Accepted);
  for (std::size_t i = 1; i < sets.size(); ++i) {
    auto swapped = sets;
    std::swap(swapped[i - 1], swapped[i]);
    CHECK(judge_other_choices(swapped).verdict == Judged::Rejected);
    auto fewer = sets;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(judge_other_choices(fewer).verdict == Judged::Rejected);
  }
}

TEST_CASE("an instance has no place in it, and seven devices are too many") {
  CertificateFiles files = certify_unmixed(kPairs, 1);
  Json problem = Json::parse(files["problem.json"]);
  problem.update({{"hierarchy", {{{"name", "l"}, {"size", 4}}}},
                  {"axes", {{{"name", "a"}, {"size", 2}}, {{"name", "b"}, {"size", 2}}}},
                  {"reduce", {1}},
                  {"placement", {{2}, {2}}},
                  {"synthesis_hierarchy", "a"}});
  files["problem.json"] = problem.dump();
  reseal("unmixed", files);
  CHECK(check_certificate(files).reason == "problem.json has a hierarchy");
  files["problem.json"] =
      R"({"devices":7,"classes":[[0,1,2],[3,4,5,6]],"dialect":"published","size":1})";
  reseal("unmixed", files);
  CHECK(check_certificate(files).verdict == Judged::Incomplete);
}

TEST_CASE("what is certified speaks of groups in which somebody holds something") {
  TextCursor cursor("program", "Reduce{0,1},{2,3}; AllReduce{1,3}; Broadcast{0,1},{2,3}");
  const Program program{4, kPairs, parse_steps(cursor, 4, nullptr)};
  StateTable states(4);
  CHECK(p2::check(program, Dialect::Published, states).kind == Verdict::Kind::Valid);
  CHECK(claims::mixes(program.steps[1].groups, kPairs));
}
