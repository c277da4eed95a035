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
constexpr const char* kPrintedMaster =
    "hierarchy node=2,gpu=2\naxes data=4\nreduce data\ndialect printed\n"
    "Reduce(node, InsideGroup); Reduce(node, Master(root)); Broadcast(root, InsideGroup)";

const Lie kLies[] = {
    {kPairs, 2, R"({"rule":"goal","step":2})", "the goal is reached"},
    {kPairs, 1, R"({"rule":"goal","step":1})", "the last step is another"},
    {kPairs, 1, R"({"rule":"goal","step":2})", "the last step is another"},
    {kPairs, 0, R"({"rule":"disjoint","step":2,"group":[0,2]})",
     "the derivation does not lead to its step"},
    {kPairs, 2, R"({"rule":"disjoint","step":2,"group":[0,2]})",
     "the derivation does not lead to its step"},
    {kPairs, 0, R"({"rule":"disjoint","step":0,"group":[0,1]})",
     "the derivation does not lead to its step"},
    {kPairs, 1, R"({"rule":"disjoint","step":2,"group":[0,1]})",
     "step 2 (AllReduce) has no such group"},
    {kPairs, 1, R"({"rule":"disjoint","step":2,"group":[0,2]})",
     "step 2 (AllReduce) does not break rule disjoint there"},
    {kPairs, 1, R"({"rule":"same-chunk","step":2,"group":[0,2]})",
     "step 2 (AllReduce) does not break rule same-chunk there"},
    {kPairs, 1, R"({"rule":"master","step":2})", "step 2 (AllReduce) is no Master, or allowed"},
    {kPrintedMaster, 1, R"({"rule":"master","step":2})",
     "step 2 (Reduce) is no Master, or allowed"},
};

/// Valid programs that between them use every collective, bare and as instructions.
constexpr const char* kValid[] = {
    kPairs,
    kPrintedMaster,
    "devices 2\nReduceScatter{0,1}; AllGather{0,1}",
    "devices 3\nReduce{0,1,2}; Broadcast{0,1,2}",
    "devices 4\nclasses {0,1},{2,3}\nReduce{2,3}; Broadcast{1,3}; Reduce{0,3}; "
    "Broadcast{0,1},{2,3}",
    "hierarchy node=2,gpu=4\naxes data=4,shard=2\nreduce data\nplacement [[2,2],[1,2]]\n"
    "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); AllGather(node, "
    "InsideGroup)",
};

constexpr const char* kRules[] = {"same-chunks", "disjoint",  "divisible",   "disjoint-chunks",
                                  "equal-count", "contained", "informative", "empty-group"};

/// The certificate of a program, its last steps' states cut off, that says it is invalid.
kernel::Result tell(CertificateFiles files, std::size_t recorded, const std::string& refutation) {
  Json derivation = Json::parse(files["derivation.json"]);
  while (derivation["systems"].size() > recorded + 1) {
    derivation["systems"].erase(derivation["systems"].size() - 1);
  }
  files["derivation.json"] = derivation.dump();
  files["refutation.json"] = refutation;
  reseal("program-invalid", files);
  return check_certificate(files);
}

}  // namespace

TEST_CASE("no valid program is refuted") {
  for (const Lie& lie : kLies) {
    const CertificateFiles files = certify(lie.program);
    REQUIRE(claim_of(files) == "program-valid");
    const kernel::Result result = tell(files, lie.recorded, lie.refutation);
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason == lie.reason, result.reason);
  }
}

TEST_CASE("no rule is broken at any group of any step of a valid program") {
  for (const char* program : kValid) {
    const CertificateFiles files = certify(program);
    REQUIRE(claim_of(files) == "program-valid");
    const Json steps = Json::parse(files.at("problem.json"))["steps"];
    for (std::size_t n = 1; n <= steps.size(); ++n) {
      for (const Json& group : steps[n - 1]["groups"]) {
        for (const char* rule : kRules) {
          const Json lie = {{"step", n}, {"rule", rule}, {"group", group}};
          const kernel::Result result = tell(files, n - 1, lie.dump());
          CHECK(result.verdict == kernel::Verdict::Rejected);
          CHECK_MESSAGE(
              result.reason.ends_with(std::string("does not break rule ") + rule + " there"),
              result.reason);
        }
      }
    }
  }
}

TEST_CASE("of the rules that a group breaks the first one is named, and no other") {
  const std::pair<const char*, const char*> broken[] = {
      {"devices 4\nAllReduce{0,1}; ReduceScatter{2,3}; AllReduce{0,1,2}", "same-chunks"},
      {"devices 4\nReduceScatter{0,1},{2,3}; ReduceScatter{0,2}; AllGather{0,1,2,3}",
       "disjoint-chunks"},
      {"devices 3\nAllReduce{0,1}; ReduceScatter{0,1}", "disjoint"},
      {"hierarchy node=2,gpu=2\naxes data=4\nreduce data\n"
       "Reduce(node, InsideGroup); Broadcast(node, Parallel(root))",
       "contained"},
  };
  for (const auto& [program, first] : broken) {
    const CertificateFiles files = certify(program);
    REQUIRE(claim_of(files) == "program-invalid");
    Json refutation = Json::parse(files.at("refutation.json"));
    CHECK(refutation["rule"] == std::string(first));
    const std::size_t recorded = refutation["step"].get<std::size_t>() - 1;
    for (const char* rule : kRules) {
      refutation["rule"] = rule;
      const bool accepted =
          tell(files, recorded, refutation.dump()).verdict == kernel::Verdict::Accepted;
      CHECK_MESSAGE(accepted == (std::string(rule) == first), std::string(program),
                    std::string(rule));
    }
  }
}

TEST_CASE("devices of different classes are not taken for one because their positions are equal") {
  const std::pair<const char*, const char*> crossing[] = {
      {"devices 2\nclasses {0},{1}\nBroadcast{0,1}", "informative"},
      {"devices 4\nclasses {0,1},{2,3}\nAllReduce{0,1},{2,3}; AllReduce{0,2}; Reduce{0,2}",
       "disjoint"},
  };
  for (const auto& [program, lie] : crossing) {
    const CertificateFiles files = certify(program);
    REQUIRE(claim_of(files) == "program-invalid");
    REQUIRE(check_certificate(files).verdict == kernel::Verdict::Accepted);
    const Json steps = Json::parse(files.at("problem.json"))["steps"];
    const std::size_t crosses = steps.size() == 1 ? 1 : 2;
    CertificateFiles forged = files;
    if (crosses == 2) {  // a derivation of the first step alone, under symmetry
      forged["derivation.json"] =
          certify("devices 4\nclasses {0,1},{2,3}\nAllReduce{0,1},{2,3}").at("derivation.json");
    }
    const Json refutation = {
        {"step", crosses}, {"rule", lie}, {"group", steps[crosses - 1]["groups"][0]}};
    const kernel::Result result = tell(forged, crosses - 1, refutation.dump());
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason.ends_with(std::string("does not break rule ") + lie + " there"),
                  result.reason);
  }
}
