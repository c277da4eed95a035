#include <doctest/doctest.h>

#include "engine/program/notation.h"
#include "proofs/certificate/cost_certificate.h"
#include "tests/proofs/certificates.h"

using namespace p2;
using namespace p2::proofs;

namespace {

using Classes = std::vector<Group>;
using Judged = kernel::Verdict;

ProgramFile bare(const std::string& text, const Classes& classes) {
  std::uint32_t devices = 0;
  for (const Group& members : classes) devices += static_cast<std::uint32_t>(members.size());
  TextCursor cursor("program", text);
  return {{devices, classes, parse_steps(cursor, devices, nullptr)}, std::nullopt};
}

CertificateFiles certify_cheapest(const Classes& classes, const std::vector<std::string>& programs,
                                  const std::vector<Uplink>& uplinks = {},
                                  const std::string& among = "all") {
  CheapestClaim claim;
  claim.classes = classes;
  claim.uplinks = uplinks;
  claim.among = among;
  for (const std::string& text : programs) claim.programs.push_back(bare(text, classes));
  claim.devices = claim.programs.at(0).program.devices;
  return cheapest_certificate(claim, {});
}

kernel::Result judge(const Classes& classes, const std::vector<std::string>& programs,
                     const std::vector<Uplink>& uplinks = {}, const std::string& among = "all") {
  return check_certificate(certify_cheapest(classes, programs, uplinks, among));
}

const Classes kFour = {{0, 1, 2, 3}};
const Classes kPairs = {{0, 1}, {2, 3}};
const char* const kBest = "ReduceScatter{0,1},{2,3}; AllReduce{0,2},{1,3}; AllGather{0,1},{2,3}";

}  // namespace

TEST_CASE("a program that is the cheapest is accepted, with and without shared links") {
  const kernel::Result result = judge(kFour, {kBest});
  CHECK(result.reason ==
        "no program over any disjoint groups costs less than the listed ones, all (4 devices, "
        "dialect published)");
  CHECK(judge(kFour, {kBest}, {{2, 10}}).verdict == Judged::Accepted);
  CHECK(judge(kPairs, {"AllReduce{0,1},{2,3}"}, {{2, 10}}, "unmixed").verdict == Judged::Accepted);
  // It takes two to be the cheapest on five devices.
  const Classes five = {{0, 1, 2, 3, 4}};
  const std::string tree = "Reduce{0,1},{2,3}; AllReduce{0,2,4}; Broadcast{0,1},{2,3}";
  CHECK(judge(five, {tree, "AllReduce{0,1,2,3,4}"}).verdict == Judged::Accepted);
  CHECK(judge(five, {tree}).reason == "a program costs less");
  CHECK(judge(five, {"AllReduce{0,1,2,3,4}"}).reason == "a program costs less");
}

TEST_CASE("what is not the cheapest for some α : β is rejected") {
  CHECK(judge(kFour, {"AllReduce{0,1,2,3}"}).reason == "a program costs less");
  CHECK(judge(kFour, {"Reduce{0,1,2,3}; Broadcast{0,1,2,3}"}).reason == "a program costs less");
  // The other way round the slow links are used more.
  const std::string across = "ReduceScatter{0,2},{1,3}; AllReduce{0,1},{2,3}; AllGather{0,2},{1,3}";
  CHECK(judge(kFour, {across}).verdict == Judged::Accepted);
  CHECK(judge(kFour, {across}, {{2, 10}}).reason == "a program costs less");
}

TEST_CASE("a listed program has to be what is said of it") {
  const auto reason = [](const Classes& classes, const std::string& program,
                         const std::string& among) {
    return judge(classes, {program}, {}, among).reason;
  };
  CHECK(reason(kFour, "AllReduce{0,1},{2,3}", "all") == "program 0: the goal is missed");
  CHECK(reason(kFour, "AllReduce{0,1,2,3}; Reduce{0,1}", "all") ==
        "program 0: it goes on at the goal");
  CHECK(reason(kFour, "AllGather{0,1,2,3}", "all") == "program 0: a step is not legal");
  CHECK(reason(kFour, kBest, "hierarchies") == "program 0: it has bare groups");
  CHECK(reason(kPairs, "Reduce{2,3}; Broadcast{1,3}; Reduce{0,3}; Broadcast{0,1},{2,3}",
               "unmixed") == "program 0: it mixes classes");
  CHECK(reason(kFour, kBest, "any") == "among is unknown");
  // Three devices take longer for α, two that hold more for β.
  CHECK(reason({{0, 1, 2}, {3, 4}}, "ReduceScatter{0,1,2}; AllReduce{0,1},{3,4}; AllGather{0,1,2}",
               "all") == "program 0: a step is not legal");
}

TEST_CASE("a cheapest certificate with another claim and right hashes is not accepted") {
  const CertificateFiles files = certify_cheapest(kFour, {kBest}, {{2, 10}});
  CHECK(claim_of(files) == "cheapest");
  struct Forgery {
    const char* key;
    Json value;
    Judged verdict;
    const char* reason;
  };
  const Json program = Json::parse(files.at("problem.json"))["programs"][0];
  Json other = program;
  other["classes"] = {{0, 1}, {2, 3}};
  Json printed = program;
  printed["dialect"] = "printed";
  const Forgery forgeries[] = {
      {"uplinks", {{3, 10}}, Judged::Rejected, "a program costs less"},
      {"uplinks", {{0, 10}}, Judged::NotACertificate, "an uplink is no span and slowdown"},
      {"uplinks", {{2, 10, 3}}, Judged::NotACertificate, "an uplink is no span and slowdown"},
      {"classes", {{0, 1}, {2, 3}}, Judged::Rejected, "program 0: it is of another system"},
      {"dialect", "printed", Judged::Rejected, "program 0: it is of another system"},
      {"programs", Json::array(), Judged::NotACertificate, "there are no programs"},
      {"programs", {other}, Judged::Rejected, "program 0: it is of another system"},
      {"programs", {printed}, Judged::Rejected, "program 0: it is of another system"},
      {"among", "hierarchies", Judged::Rejected, "program 0: it has bare groups"},
      {"devices", 5, Judged::Rejected, "classes leave out a device"},
      {"size", 3, Judged::NotACertificate, "an object with the keys"}};
  for (const Forgery& forgery : forgeries) {
    CAPTURE(forgery.key);
    const kernel::Result result = check_changed(files, forgery.key, forgery.value);
    CHECK(word(result.verdict) == word(forgery.verdict));
    CHECK_MESSAGE(result.reason.find(forgery.reason) != std::string::npos, result.reason);
  }
  CertificateFiles seven = certify_cheapest({{0, 1, 2, 3, 4, 5, 6}}, {"AllReduce{0,1,2,3,4,5,6}"});
  CHECK(check_certificate(seven).verdict == Judged::Incomplete);
}
