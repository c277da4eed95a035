// What docs/certificates.md says of corners: groups of one device, limits of numbers, entries that
// nothing uses, contributors that are not there; and the digest of a claim.
#include <set>

#include <doctest/doctest.h>

#include "tests/proofs/examples.h"

using namespace p2;
using namespace p2::proofs;

namespace {

kernel::Result judge(const std::string& claim, const std::string& file, const std::string& text) {
  CertificateFiles files = example(claim);
  files[file] = text;
  return check_certificate(sealed(claim, files).files);
}

kernel::Result with_derivation(const std::string& text) {
  return judge("program-valid", "derivation.json", text);
}

/// `collective` on device 0 alone, and then the AllReduce of the example.
kernel::Result with_singleton(const std::string& collective, const std::string& claim) {
  CertificateFiles files = {
      {"problem.json",
       R"({"devices":2,"classes":[[0,1]],"dialect":"published","steps":[{"collective":")" +
           collective + R"(","groups":[[0]]},{"collective":"AllReduce","groups":[[0,1]]}]})"},
      {"derivation.json",
       std::string(R"({"symmetry":"none","sets":[[0,2],[0,1],[1,2]],"states":[[0,1],[0,2],[0,0]],
                       "systems":[[0,1,1,1])") +
           (claim == "program-valid" ? ",[0,1,1,1],[2,2]]}" : "]}")}};
  if (claim == "program-invalid") {
    files["refutation.json"] = R"({"step":1,"rule":"informative","group":[0]})";
  }
  return check_certificate(sealed(claim, files).files);
}

/// Two classes of two devices under symmetry; `states` and `systems` are given.
kernel::Result of_two_classes(const std::string& sets, const std::string& states,
                              const std::string& systems) {
  return check_certificate(
      sealed("program-valid",
             {{"problem.json", R"({"devices":4,"classes":[[0,1],[2,3]],"dialect":"published",
                                   "steps":[{"collective":"AllReduce","groups":[[0,1],[2,3]]}]})"},
              {"derivation.json", R"({"symmetry":"classes","sets":)" + sets + R"(,"states":)" +
                                      states + R"(,"systems":)" + systems + "}"}})
          .files);
}

}  // namespace

TEST_CASE(
    "a group of one device obeys the rules: it changes nothing, and a Broadcast tells nothing") {
  for (const char* collective : {"AllReduce", "Reduce", "ReduceScatter", "AllGather"}) {
    const kernel::Result result = with_singleton(collective, "program-valid");
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
    CHECK(with_singleton(collective, "program-invalid").verdict == kernel::Verdict::Rejected);
  }
  CHECK(with_singleton("Broadcast", "program-valid").reason ==
        "step 1 (Broadcast), group of device 0: informative fails");
  CHECK(with_singleton("Broadcast", "program-invalid").verdict == kernel::Verdict::Accepted);
}

TEST_CASE("numbers have the limits that the tables name, and none is rounded or wrapped") {
  const auto devices = [](const std::string& number) {
    return judge(
        "program-valid", "problem.json",
        R"({"devices":)" + number +
            R"(,"classes":[[0,1]],"dialect":"published","steps":[{"collective":"AllReduce","groups":[[0,1]]}]})");
  };
  CHECK(devices("2").verdict == kernel::Verdict::Accepted);
  for (const char* number :
       {"0", "1048577", "4294967298", "18446744073709551618", "-2", "2.0", "2e0", "20e-1", "\"2\"",
        "true", "null", "[2]", "02", "+2", "0x2", "2.", "1e400"}) {
    const kernel::Result result = devices(number);
    CHECK_MESSAGE(word(result.verdict) == "not-a-certificate", number, ": ", result.reason);
  }
  CHECK(devices("1").verdict == kernel::Verdict::NotACertificate);
  CHECK(devices("1048576").reason == "a device is in no class");
}

TEST_CASE("entries that nothing uses are read, and do no harm") {
  const std::string systems = R"("systems":[[0,1,1,1],[2,2]]})";
  const std::string head = R"({"symmetry":"none","sets":[[0,2],[0,1],[1,2])";
  CHECK(with_derivation(head +
                        R"(,[0,1,1,2],[0,1]],"states":[[0,1],[0,2],[0,0],[],[1,2,2,1],[0,1]],)" +
                        systems)
            .verdict == kernel::Verdict::NotACertificate);  // [0,1,1,2]: not ascending
  CHECK(with_derivation(head + R"(,[0,1]],"states":[[0,1],[0,2],[0,0],[],[1,2,2,1],[0,1]],)" +
                        systems)
            .verdict == kernel::Verdict::Accepted);
  for (const char* unused :
       {R"(,[]],"states":[[0,1],[0,2],[0,0]],)", R"(,[0,3]],"states":[[0,1],[0,2],[0,0]],)",
        R"(,[0]],"states":[[0,1],[0,2],[0,0]],)", R"(],"states":[[0,1],[0,2],[0,0],[0,1,1,1]],)",
        R"(],"states":[[0,1],[0,2],[0,0],[3,0]],)", R"(],"states":[[0,1],[0,2],[0,0],[0]],)"}) {
    CHECK(word(with_derivation(head + unused + systems).verdict) == "not-a-certificate");
  }
}

TEST_CASE("under symmetry a contributor that is no position is one that nobody is") {
  const std::string sets = "[[0,4],[0,1],[1,2],[0,2],[2,3],[0,3]]";
  CHECK(of_two_classes(sets, "[[0,1],[0,2],[0,3]]", "[[0,1,1,1],[2,2]]").verdict ==
        kernel::Verdict::Accepted);
  CHECK(of_two_classes(sets, "[[0,1],[0,2],[0,3],[0,4],[0,5]]", "[[0,1,1,1],[2,2]]").verdict ==
        kernel::Verdict::Accepted);
  for (const char* systems : {"[[0,1,3,1],[2,2]]", "[[0,1,1,1],[4,2]]", "[[0,1,1,1],[3,2]]"}) {
    const kernel::Result result = of_two_classes(sets, "[[0,1],[0,2],[0,3],[0,4],[0,5]]", systems);
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason.ends_with("the recorded state is wrong"), result.reason);
  }
  CHECK(
      of_two_classes("[[0,4],[0,1],[1,2],[0,2],[4,5]]", "[[0,1],[0,2],[0,3]]", "[[0,1,1,1],[2,2]]")
          .verdict == kernel::Verdict::NotACertificate);
}

TEST_CASE("a line ends with the digest of its claim, whatever the evidence and the spelling") {
  const std::string end =
      ", claim " +
      sha256(R"({"claim":"program-valid","problem.json":{"classes":[[0,1]],"devices":2,)"
             R"("dialect":"published","steps":[{"collective":"AllReduce","groups":[[0,1]]}]}})")
          .substr(0, 12);
  CHECK(check_certificate(example("program-valid")).reason.ends_with(end));
  const std::string spelt = R"({ "steps" : [ {"groups":[[0, 1]],"collective":"AllReduce"} ],
    "dialect":"publi\u0073hed", "devices":2, "classes":[[0,1]] })";
  CHECK(judge("program-valid", "problem.json", spelt).reason.ends_with(end));
  CHECK(
      with_derivation(R"({"symmetry":"none","sets":[[1,2],[0,2],[0,1]],"states":[[1,2],[1,0],[1,1]],
                            "systems":[[0,1,1,1],[2,2]]})")
          .reason.ends_with(end));
  const kernel::Result printed = judge(
      "program-valid", "problem.json",
      R"({"devices":2,"classes":[[0,1]],"dialect":"printed","steps":[{"collective":"AllReduce","groups":[[0,1]]}]})");
  CHECK(printed.verdict == kernel::Verdict::Accepted);
  CHECK_FALSE(printed.reason.ends_with(end));
  std::set<std::string> digests;
  for (const Example& each : examples()) {
    const std::string reason = check_certificate(each.files).reason;
    const std::string digest = reason.substr(reason.size() - 12);
    CHECK(digest.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(reason.substr(0, reason.size() - 12).ends_with(", claim "));
    digests.insert(digest);
  }
  CHECK(digests.size() == examples().size());
}

TEST_CASE("a sentence names the system, what is compared and what is measured") {
  const auto says = [](const std::string& claim, const std::string& part) {
    const std::string reason = check_certificate(example(claim)).reason;
    CHECK_MESSAGE(reason.find(part) != std::string::npos, reason);
  };
  const std::string system =
      "(4 devices, hierarchy node=4, axes data=2,shard=2, reduction over data, placement "
      "[[2],[2]], "
      "synthesis hierarchy b, dialect published; 1 step: AllReduce(node.data, Parallel(root))), "
      "claim ";
  says("not-expressible",
       "the program is valid, all its steps are instructions over b, and step 1 "
       "(AllReduce) is none over a " +
           system);
  says("program-invalid",
       "the program is invalid: disjoint at step 2 (AllReduce) (2 devices, "
       "reduction classes {0,1}, dialect published; 2 steps: AllReduce{0,1}; "
       "AllReduce{0,1}), claim ");
  says("synthesis-complete",
       "there is 1 valid program of at most 1 step over collapsed (2 devices, "
       "hierarchy l0=2, axes a0=2, reduction over a0, placement [[2]], ");
  says("expressible-all-sizes",
       "instructions over d express all valid programs of at most 5 steps over b for every size "
       "from 2 on of 2 factors greater than 1, by theorem T7 (hierarchy node=4, axes ");
  says("unused-all-sizes",
       "none of 1 choice is in valid programs of at most 1 step over b for every size from 2 on ");
  says("unused-all-sizes", "dialect published: Broadcast(node.data, Parallel(root))), claim ");
  says("cheapest",
       "no program over any disjoint groups costs less than the listed ones, all, of 2 "
       "rounds and 1 buffers (2 devices, reduction classes {0,1}, dialect published, "
       "uplinks []), claim ");
  says("reshard-schedule-gap", "is shorter than 3, this one takes 4 (3 from 0,1 to 0; 2 from ");
  says("pipeline-memory",
       "holds fewer activations on a stage than 2, 1 (forward 1, backward 1, "
       "latency 0), claim ");
  // What is long is cut, and the digest tells it apart.
  std::string steps;
  for (int i = 0; i < 100; ++i) steps += R"({"collective":"AllReduce","groups":[[0]]},)";
  std::string systems = "[0,1,1,1]";
  for (int i = 0; i < 100; ++i) systems += ",[0,1,1,1]";
  const kernel::Result result = check_certificate(
      sealed("program-valid",
             {{"problem.json", R"({"devices":2,"classes":[[0,1]],"dialect":"published","steps":[)" +
                                   steps + R"({"collective":"AllReduce","groups":[[0,1]]}]})"},
              {"derivation.json", R"({"symmetry":"none","sets":[[0,2],[0,1],[1,2]],
                 "states":[[0,1],[0,2],[0,0]],"systems":[)" +
                                      systems + ",[2,2]]}"}})
          .files);
  CHECK(result.verdict == kernel::Verdict::Accepted);
  CHECK(result.reason.size() < 600);
  CHECK(result.reason.find("…), claim ") != std::string::npos);
}

TEST_CASE("a certificate is compared with the question of its reader") {
  const auto answers = [](const std::string& claim, const std::string& question) {
    return check_certificate(example(claim), question);
  };
  for (
      const char* same :
      {R"({"devices":2})", R"({"classes":[[0,1]],"devices" : 2})", R"({"claim":"program-valid"})",
       R"({"problem.json":{"devices":2,"dialect":"published"}})",
       R"({"claim":"program-valid","problem.json":{"steps":[{"groups":[[0,1]],"collective":"AllReduce"}]}})"}) {
    CHECK_MESSAGE(answers("program-valid", same).verdict == kernel::Verdict::Accepted, same);
  }
  // The question may say all there is.
  for (const auto& [claim, files] : examples()) {
    json whole = {{"claim", claim}};
    for (const std::string& name : statement_files(claim)) {
      whole[name] = json::parse(files.at(name));
      if (name != statement_files(claim)[0]) continue;
      CHECK(check_certificate(files, files.at(name)).verdict == kernel::Verdict::Accepted);
    }
    CHECK(check_certificate(files, whole.dump()).verdict == kernel::Verdict::Accepted);
    for (const auto& [other, theirs] : examples()) {
      if (other == claim) continue;
      CHECK(check_certificate(theirs, whole.dump()).verdict == kernel::Verdict::Rejected);
    }
  }
  const std::string other = "the certificate answers another question: ";
  for (const auto& [question, reason] :
       {std::pair(R"({"devices":4})", "devices: is 2, asked for is 4"),
        std::pair(R"({"devices":2.0})", "devices: is 2, asked for is 2.0"),
        std::pair(R"({"classes":[[0],[1]]})", "classes: is [[0,1]], asked for is [[0],[1]]"),
        std::pair(R"({"size":3})", "it has no key \"size\""),
        std::pair(R"({"claim":"program-invalid"})",
                  "claim: is \"program-valid\", asked for is \"program-invalid\""),
        std::pair(R"({"problem.json":[]})", "problem.json: is {"),
        std::pair(R"({"problem.json":{"hierarchy":[]}})",
                  "problem.json: it has no key \"hierarchy\"")}) {
    const kernel::Result result = answers("program-valid", question);
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason.starts_with(other + reason), result.reason);
  }
  for (const char* question : {"{}", "[]", "", "7", R"({"devices":2,"devices":2})"}) {
    CHECK(answers("program-valid", question).verdict == kernel::Verdict::NotACertificate);
  }
}
