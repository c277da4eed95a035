#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "proofs/certificate/absence_certificate.h"
#include "proofs/claims/expressiveness.h"
#include "proofs/claims/forbidden_moves.h"
#include "tests/program/instances.h"
#include "tests/proofs/certificates.h"

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
  claims::ByClauses settled =
      claims::settle_by_clauses(subject, claims::not_expressible(subject), {size, {}});
  REQUIRE(settled.answer.verdict == claims::Outcome::Holds);
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
        if (claims::settle_by_enumeration(subject, lacking, {3, {}}, programs).verdict !=
            claims::Outcome::Holds) {
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
                      .verdict == claims::Outcome::Holds);
          } else {
            CHECK_FALSE(same);
            ++refused;
          }
        }
        CHECK(check_changed(files, "size", 4).verdict == kernel::Verdict::Rejected);
        CHECK(check_changed(files, "programs", Json::array()).verdict ==
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
  const Verdict verdict = check(file.program, file.dialect, states);
  REQUIRE(verdict.kind == Verdict::Kind::Valid);
  const CertificateFiles files = program_certificate(file, verdict, {}, Kind::Rows);
  CHECK(claim_of(files) == "not-expressible");
  const kernel::Result result = check_certificate(files);
  CHECK(result.verdict == kernel::Verdict::Accepted);
  CHECK(result.reason.find("step 2 (AllReduce) is none over c") != std::string::npos);
  CHECK(check_changed(files, "to", "b").reason == "all steps are instructions over b");
  CHECK(check_changed(files, "dialect", "printed").verdict == kernel::Verdict::Accepted);
}
