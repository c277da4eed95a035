#include <algorithm>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "engine/program/synthesis.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/claims/absent_programs.h"
#include "proofs/claims/claim.h"
#include "proofs/claims/statements.h"
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
    claims::CertifiedSettlement settled = claims::settle_by_sat(subject, unused, {kSize, {}});
    REQUIRE(settled.answer.outcome == Outcome::Established);
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
      const json problem = json::parse(files.at("problem.json"));
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
  claims::CertifiedSettlement settled = claims::settle_by_sat(
      system.subject, std::vector<bool>(system.used.size(), false), {kSize, {}});
  const CertificateFiles files = unused_certificate(system.subject.from, Dialect::Published, kSize,
                                                    std::move(settled.proof), {});
  CHECK(check_certificate(files).verdict == kernel::Verdict::Accepted);
  const std::size_t choices = json::parse(files.at("problem.json")).at("choices").size();
  CHECK(check_changed(files, "uses", {choices}).verdict == kernel::Verdict::NotACertificate);
  CHECK(check_changed(files, "uses", {1, 0}).verdict == kernel::Verdict::NotACertificate);
  CHECK(check_changed(files, "uses", {1, 1}).verdict == kernel::Verdict::NotACertificate);
  CHECK(check_changed(files, "to", "d").verdict == kernel::Verdict::NotACertificate);
  CHECK(check_changed(files, "size", kSize + 1).verdict == kernel::Verdict::Rejected);
}

using namespace p2;
using namespace p2::proofs;

namespace {

using Kind = HierarchyKind;

/// Placed systems that tell all kinds of hierarchy apart.
std::vector<Instance> placed() {
  return {instance_of("2,2", "2,2", "0", "[[1,2],[2,1]]"),
          instance_of("2,2", "2,2", "0,1", "[[1,2],[2,1]]"),
          instance_of("2,3", "3,2", "0", "[[1,3],[2,1]]"), instance_of("4", "4", "0", "[[4]]"),
          instance_of("2,2", "4", "0", "[[2,2]]")};
}

CertificateFiles certify_expressible(const claims::Subject& subject, std::uint32_t size) {
  claims::CertifiedSettlement settled =
      claims::settle_by_sat(subject, claims::not_expressible(subject), {size, {}});
  REQUIRE(settled.answer.outcome == Outcome::Established);
  return expressible_certificate(subject.from, subject.to->hierarchy.kind(), subject.dialect, size,
                                 std::move(settled.proof), {});
}

}  // namespace

TEST_CASE(
    "what holds is certified, also where nothing is lacking, and accepted for no other pair") {
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (const Instance& instance : placed()) {
    const claims::PlacedSystem system{instance.grid, instance.reduction};
    for (const Kind from : kHierarchyKinds) {
      for (const Kind to : kHierarchyKinds) {
        const claims::Subject subject(system, from, to, Dialect::Published);
        const std::vector<bool> lacking = claims::not_expressible(subject);
        std::unique_ptr<ProgramList> programs;
        if (claims::settle_by_enumeration(subject, lacking, {3, {}}, programs).outcome !=
            Outcome::Established) {
          continue;
        }
        const CertificateFiles files = certify_expressible(subject, 3);
        const kernel::Result result = check_certificate(files);
        CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
        ++accepted;
        for (const Kind other : kHierarchyKinds) {
          const claims::Subject forged(system, from, other, Dialect::Published);
          const bool same = claims::not_expressible(forged) == lacking;
          const kernel::Result answer = check_changed(files, "to", std::string(to_string(other)));
          if (answer.verdict == kernel::Verdict::Accepted) {
            // The clause may be left out of the proof or be a part of one that holds as well.
            std::unique_ptr<ProgramList> again;
            CHECK(claims::settle_by_enumeration(forged, claims::not_expressible(forged), {3, {}},
                                                again)
                      .outcome == Outcome::Established);
          } else {
            CHECK_FALSE(same);
            ++refused;
          }
        }
        CHECK(check_changed(files, "size", 4).verdict == kernel::Verdict::Rejected);
        CHECK(check_changed(files, "programs", json::array()).verdict ==
              kernel::Verdict::NotACertificate);
        CHECK(check_changed(files, "to", "e").verdict == kernel::Verdict::NotACertificate);
      }
    }
  }
  CHECK(accepted > 60);
  CHECK(refused > 60);
}

TEST_CASE(
    "a program with a step that the other hierarchy lacks, and no other, is not expressible") {
  const Instance columns = instance_of("2,2,2", "4,2", "0", "[[1,2,2],[2,1,1]]", Kind::Columns);
  ProgramFile file;
  file.instance = columns;
  file.dialect = Dialect::Published;
  file.program = {8, columns.classes(), {}};
  for (const GroupShape& shape : {linear_shape(columns.hierarchy, 4, Form::InsideGroup, 0),
                                  linear_shape(columns.hierarchy, 4, Form::Master, 2)}) {
    file.program.steps.push_back(lower(columns.grid, shape, Collective::AllReduce));
  }
  file.program.steps.push_back(lower(columns.grid,
                                     linear_shape(columns.hierarchy, 2, Form::InsideGroup, 0),
                                     Collective::Broadcast));
  StateTable states(8);
  const ProgramDecision verdict = check(file.program, file.dialect, states);
  REQUIRE(verdict.outcome == Outcome::Established);
  const CertificateFiles files = program_certificate(file, verdict, {}, Kind::Rows);
  CHECK(claim_of(files) == "not-expressible");
  const kernel::Result result = check_certificate(files);
  CHECK(result.verdict == kernel::Verdict::Accepted);
  CHECK(result.reason.find("step 2 (AllReduce) is none over c") != std::string::npos);
  CHECK(check_changed(files, "to", "b").reason == "all steps are instructions over b");
  CHECK(check_changed(files, "dialect", "printed").verdict == kernel::Verdict::Accepted);
}

using namespace p2;
using namespace p2::proofs;

namespace {

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
  claims::CertifiedSettlement found =
      claims::mixing_program_by_sat(devices_of(classes), classes, {size, {}});
  REQUIRE(found.answer.outcome == Outcome::Established);
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
      const claims::Settlement searched =
          claims::smallest_mixing_program(devices, classes, {size, {}});
      const claims::Settlement solved =
          claims::mixing_program_by_sat(devices, classes, {size, {}}).answer;
      CHECK(solved.outcome == searched.outcome);
      CHECK(solved.steps == searched.steps);
      if (solved.outcome == Outcome::Refuted) {
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

TEST_CASE("no program of three steps mixes classes on five devices") {
  CHECK(check_certificate(certify_unmixed({{0, 1, 2}, {3, 4}}, 3)).verdict == Judged::Accepted);
}

TEST_CASE("an unmixed certificate is accepted for its own claim and no other") {
  const CertificateFiles files = certify_unmixed(kPairs, 3);
  CHECK(claim_of(files) == "unmixed");
  CHECK(check_certificate(files).reason.starts_with(
      "no group across classes holds anything in valid programs of at most 3 steps over any "
      "disjoint groups (4 devices, reduction classes {0,1},{2,3}, dialect published), claim "));
  struct Forgery {
    const char* key;
    json value;
    Judged verdict;
    const char* reason;
  };
  const Forgery forgeries[] = {
      {"size", 4, Judged::Rejected, "of problem.cnf is not in the CNF of the claim"},
      {"size", 2, Judged::Rejected, "of problem.cnf is not in the CNF of the claim"},
      {"size", 65, Judged::NotACertificate, "is not a number below 65"},
      {"classes",
       {{0, 2}, {1, 3}},
       Judged::Rejected,
       "of problem.cnf is not in the CNF of the claim"},
      {"classes",
       {{0, 1, 2}, {3}},
       Judged::Rejected,
       "of problem.cnf is not in the CNF of the claim"},
      {"devices", 5, Judged::Rejected, "a device is in no class"},
      {"dialect", "e", Judged::NotACertificate, "dialect is unknown"},
      // No choice is a Master: the dialect has no say, and the claim holds in both.
      {"dialect", "printed", Judged::Accepted, "dialect printed"},
      {"choices", json::array(), Judged::NotACertificate, "an object with the keys"},
      {"hierarchy", json::array(), Judged::NotACertificate, "an object with the keys"}};
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
  for (std::size_t i = 1; i < sets.size(); i += 3) {
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
  json problem = json::parse(files["problem.json"]);
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
  CHECK(p2::check(program, Dialect::Published, states).outcome == Outcome::Established);
  CHECK(claims::mixes(program.steps[1].groups, kPairs));
}
