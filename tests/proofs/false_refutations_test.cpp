#include <doctest/doctest.h>

#include "tests/proofs/certificates.h"

using namespace p2;
using namespace p2::proofs;

namespace {

/// A valid program, the number of steps whose states are recorded, and a lie about it.
struct Lie {
  const char* program;
  std::size_t recorded;
  const char* refutation;
  const char* reason;
};

constexpr const char* kPairs = "devices 4\nAllReduce{0,1},{2,3}; AllReduce{0,2},{1,3}";
constexpr const char* kScattered = "devices 2\nReduceScatter{0,1}; AllGather{0,1}";

const Lie kLies[] = {
    {kPairs, 2, R"({"rule":"goal-lacks","step":2,"devices":[1],"chunk":0,"contributor":0})",
     "device 1: no goal-lacks"},
    {kPairs, 2, R"({"rule":"goal-excess","step":2,"devices":[1],"chunk":0,"contributor":0})",
     "device 1: no goal-excess"},
    {kPairs, 1, R"({"rule":"goal-lacks","step":1,"devices":[0],"chunk":0,"contributor":3})",
     "the derivation ends before the program"},
    {kPairs, 1, R"({"rule":"goal-lacks","step":2,"devices":[0],"chunk":0,"contributor":3})",
     "the derivation does not lead to its step"},
    {kPairs, 1,
     R"({"rule":"disjoint","step":2,"group":[0,2],"devices":[0,1],"chunk":0,"contributor":0})",
     "step 2 (AllReduce), device 1: not in the group"},
    {kPairs, 1,
     R"({"rule":"disjoint","step":2,"group":[0,1],"devices":[0,1],"chunk":0,"contributor":0})",
     "step 2 (AllReduce) has no such group"},
    {kPairs, 1,
     R"({"rule":"disjoint","step":2,"group":[0,2],"devices":[0,0],"chunk":0,"contributor":0})",
     "step 2 (AllReduce) does not break rule disjoint as is said"},
    {kPairs, 1, R"({"rule":"informative","step":2,"group":[0,2]})",
     "step 2 (AllReduce) does not break rule informative as is said"},
    {kPairs, 1, R"({"rule":"empty-group","step":2,"group":[0,2]})",
     "step 2 (AllReduce) does not break rule empty-group as is said"},
    {kPairs, 1, R"({"rule":"master","step":2})",
     "step 2 (AllReduce) does not break rule master as is said"},
    {kScattered, 1, R"({"rule":"same-chunks","step":2,"group":[0,1],"devices":[0,1],"chunk":0})",
     "step 2 (AllGather) does not break rule same-chunks as is said"},
    {kScattered, 1, R"({"rule":"equal-count","step":2,"group":[0,1],"devices":[0,1]})",
     "step 2 (AllGather) does not break rule equal-count as is said"},
    {kScattered, 1,
     R"({"rule":"disjoint-chunks","step":2,"group":[0,1],"devices":[0,1],"chunk":0})",
     "step 2 (AllGather) does not break rule disjoint-chunks as is said"},
    {kScattered, 0, R"({"rule":"divisible","step":1,"group":[0,1]})",
     "step 1 (ReduceScatter) does not break rule divisible as is said"},
    {"devices 2\nReduce{0,1}; Broadcast{0,1}", 1,
     R"({"rule":"contained","step":2,"group":[0,1],"devices":[1,0],"chunk":0,"contributor":0})",
     "step 2 (Broadcast) does not break rule contained as is said"},
};

/// The certificate of a valid program, turned into one that says it is invalid.
kernel::Result tell(const Lie& lie) {
  CertificateFiles files = certify(lie.program);
  REQUIRE(claim_of(files) == "program-valid");
  Json derivation = Json::parse(files["derivation.json"]);
  while (derivation["systems"].size() > lie.recorded + 1) {
    derivation["systems"].erase(derivation["systems"].size() - 1);
  }
  files["derivation.json"] = derivation.dump();
  files["refutation.json"] = lie.refutation;
  reseal("program-invalid", files);
  return kernel::check_certificate(files);
}

}  // namespace

TEST_CASE("no valid program is refuted") {
  for (const Lie& lie : kLies) {
    const kernel::Result result = tell(lie);
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason == lie.reason, result.reason);
  }
}

TEST_CASE("devices of different classes are not in one state because their numbers are equal") {
  CertificateFiles files = certify("devices 2\nclasses {0},{1}\nBroadcast{0,1}");
  REQUIRE(kernel::check_certificate(files).verdict == kernel::Verdict::Accepted);
  files["refutation.json"] = R"({"rule":"informative","step":1,"group":[0,1]})";
  reseal("program-invalid", files);
  CHECK(kernel::check_certificate(files).reason ==
        "step 1 (Broadcast) does not break rule informative as is said");
}
