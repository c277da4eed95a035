#include <filesystem>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "tests/file_bytes.h"
#include "tests/program/instances.h"
#include "tests/proofs/certificates.h"
#include "tests/proofs/mutator.h"

using namespace p2;
using namespace p2::proofs;

namespace {

/// Every synthesised program is certified, accepted and certified as valid.
std::size_t check_synthesised(const Instance& instance, Dialect dialect, std::uint32_t size) {
  SynthesisOptions options;
  options.dialect = dialect;
  options.size = size;
  options.jobs = 1;
  std::size_t count = 0;
  find_programs({instance}, options)[0].for_each_lowered([&](const Program& program) {
    const CertificateFiles files = certify(ProgramFile{program, instance, dialect});
    const kernel::Result result = check_certificate(files);
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
    CHECK(claim_of(files) == "program-valid");
    ++count;
  });
  return count;
}

/// A program of bare groups. Steps that are refused are mostly left out, so that programs go far.
ProgramFile random_program(std::mt19937& random) {
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  ProgramFile file;
  Program& program = file.program;
  program.devices = 1 + below(6);
  const auto partition = [&](std::uint32_t parts) {
    std::vector<Group> groups(parts);
    for (std::uint32_t d = 0; d < program.devices; ++d) groups[below(parts)].push_back(d);
    std::erase_if(groups, [](const Group& group) { return group.empty(); });
    return groups;
  };
  program.classes = partition(1 + below(2));
  std::sort(program.classes.begin(), program.classes.end());
  StateTable states(program.devices);
  for (std::uint32_t tries = below(40); tries > 0; --tries) {
    Step step{kCollectives[below(5)], partition(1 + below(3)), {}};
    if (below(3) == 0) step.groups = program.classes;
    if (below(3) == 0 && step.groups.size() > 1) step.groups.pop_back();
    program.steps.push_back(std::move(step));
    const ProgramDecision verdict = check(program, file.dialect, states);
    if (verdict.outcome == Outcome::Established) break;
    if (verdict.legal_steps < program.steps.size() && below(20) != 0) program.steps.pop_back();
  }
  return file;
}

}  // namespace

TEST_CASE("the hash is SHA-256") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK(sha256(std::string(119, 'x')) != sha256(std::string(120, 'x')));
  // Of two of FIPS 180-4's messages, by either way.
  CHECK(sha256("abc", true) == sha256("abc"));
  CHECK(sha256(std::string(1'000'000, 'a'), true) == sha256(std::string(1'000'000, 'a')));
  std::string bytes;
  for (unsigned k = 0; k < 300; ++k) {
    CHECK(sha256(bytes, true) == sha256(bytes));
    bytes += static_cast<char>(k * k * 7 + k / 3);
  }
}

TEST_CASE("all synthesised programs of a few systems are certified and accepted") {
  std::size_t count = 0;
  for (const Dialect dialect : {Dialect::Published, Dialect::Printed}) {
    for (const HierarchyKind kind : kHierarchyKinds) {
      const char* placement = "[[2,2],[1,2]]";
      count += check_synthesised(
          instance_of("node=2,gpu=4", "data=4,shard=2", "data", placement, kind), dialect, 3);
      count += check_synthesised(instance_of("2,2", "4", "0", "[[2,2]]", kind), dialect, 5);
      count += check_synthesised(instance_of("3,4", "6,2", "1", "[[3,2],[1,2]]", kind), dialect, 3);
    }
  }
  count += check_synthesised(instance_of("4,16", "8,8", "0", "[[2,4],[2,4]]"), Dialect::Printed, 5);
  CHECK(count > 1000);
}

TEST_CASE("the example programs are certified and accepted, with the verdict of their folder") {
  std::size_t count = 0;
  const std::string root = P2_SOURCE_DIR;
  for (const char* folder : {"valid", "refused"}) {
    const std::filesystem::path path = root + "/examples/programs/" + folder;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const CertificateFiles files = certify(bytes_of(entry.path().string()));
      const kernel::Result result = check_certificate(files);
      CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
      CHECK((claim_of(files) == "program-valid") == (std::string(folder) == "valid"));
      ++count;
    }
  }
  CHECK(count >= 10);
}

TEST_CASE(
    "levels of size 1 are left out of a lattice's slice and Master, and nothing but levels is "
    "read") {
  const std::string lattice =
      "hierarchy node=2,gpu=2\naxes data=2,shard=2\nreduce data,shard\nplacement [[2,1],[1,2]]\n"
      "synthesis-hierarchy lattice\n";
  for (const char* steps :
       {"AllReduce({node.data, gpu.data, gpu.shard}, Parallel)",
        "Reduce({gpu.shard}, Master({gpu.data})); AllReduce({node.data}, Master({gpu.shard})); "
        "Broadcast({gpu.data, gpu.shard}, Parallel)"}) {
    const CertificateFiles files = certify(lattice + steps);
    CHECK(claim_of(files) == "program-valid");
    const kernel::Result result = check_certificate(files);
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
  }
  const CertificateFiles files = certify(lattice + "AllReduce({node.data, gpu.shard}, Parallel)");
  for (const char* slice : {"{node.data, gpu.shard", "{gpu.shard, node.data}", "{}", "",
                            "{node.data, gpu.shard, gpu.shard}", "{node.data,gpu.shard}",
                            "{node.data, gpu.data, gpu.shard}"}) {
    CertificateFiles forged = files;
    json problem = json::parse(forged["problem.json"]);
    problem["steps"][0]["slice"] = slice;
    forged["problem.json"] = problem.dump();
    reseal("program-valid", forged);
    CHECK(check_certificate(forged).reason.ends_with("forms no group of two devices"));
  }
}

TEST_CASE("thousands of levels end a check as incomplete, and soon") {
  json problem = {{"devices", 1U},
                  {"classes", {{0U}}},
                  {"dialect", "printed"},
                  {"reduce", {0U}},
                  {"synthesis_hierarchy", "c"},
                  {"size", 0U},
                  {"choices", json::array()},
                  {"programs", {json::array()}}};
  for (int i = 0; i < 64; ++i) {
    problem["hierarchy"].push_back({{"name", "l" + std::to_string(i)}, {"size", 1U}});
    problem["axes"].push_back({{"name", "a" + std::to_string(i)}, {"size", 1U}});
    problem["placement"].push_back(json(std::vector<unsigned>(64, 1)));
  }
  CertificateFiles files = {{"problem.json", problem.dump()},
                            {"problem.cnf", "p cnf 0 0\n"},
                            {"varmap", ""},
                            {"proof.lrat", ""}};
  reseal("synthesis-complete", files);
  const kernel::Result result = check_certificate(files);
  CHECK(result.verdict == kernel::Verdict::Incomplete);
  CHECK_MESSAGE(result.reason == "the hierarchy has too many levels", result.reason);
}

TEST_CASE("small certificates of every rule are accepted, and the claims are true") {
  std::map<std::string, int> rules;
  for (const CertificateFiles& files : small_certificates()) {
    const kernel::Result result = check_certificate(files);
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, files.at("problem.json"),
                  result.reason);
    CHECK(is_true(claim_of(files), files.at("problem.json")));
    if (files.contains("refutation.json")) {
      ++rules[json::parse(files.at("refutation.json"))["rule"].get<std::string>()];
    }
  }
  CHECK(rules.size() == 10);
}

TEST_CASE("on random programs the kernel accepts what the engine found, and nothing else") {
  std::mt19937 random(20240);
  std::map<std::string, int> claims;
  for (int i = 0; i < 5000; ++i) {
    CertificateFiles files = certify(random_program(random));
    const std::string claim = claim_of(files);
    ++claims[claim];
    const kernel::Result result = check_certificate(files);
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
    CHECK(is_true(claim, files["problem.json"]));
    if (claim == "program-valid") continue;
    files.erase("refutation.json");
    reseal("program-valid", files);
    CHECK(check_certificate(files).verdict == kernel::Verdict::Rejected);
  }
  CHECK(claims["program-valid"] > 500);
  CHECK(claims["program-invalid"] > 500);
}

TEST_CASE("4096 devices: a small certificate, checked at once") {
  const CertificateFiles symmetric = certify(
      "hierarchy node=64,gpu=64\naxes data=64,shard=64\nreduce data\nplacement [[8,8],[8,8]]\n"
      "dialect printed\n"
      "Reduce(node, InsideGroup); ReduceScatter(node, Master(root)); AllGather(node, "
      "Master(root)); Broadcast(node, InsideGroup)");
  CHECK(symmetric.at("derivation.json").size() < 20'000);
  CHECK(check_certificate(symmetric).verdict == kernel::Verdict::Accepted);
  const CertificateFiles alone = certify(
      "hierarchy a=4,b=4,c=16,d=16\naxes data=4096\nreduce data\nReduceScatter(c, InsideGroup); "
      "ReduceScatter(c, Parallel(b)); AllReduce(b, Parallel(root)); AllGather(c, Parallel(b)); "
      "AllGather(c, InsideGroup)");
  CHECK(alone.at("derivation.json").size() < 500'000);
  const kernel::Result result = check_certificate(alone);
  CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
  CHECK(claim_of(alone) == "program-valid");
}

using namespace p2;
using namespace p2::proofs;

namespace {

/// What a reason is about: its first word, or its kind of place.
std::string depth(const kernel::Result& result) {
  if (result.verdict != kernel::Verdict::Rejected) return word(result.verdict);
  if (result.reason.find("before the first step") != std::string::npos) return "initial";
  if (result.reason.find("does not break rule") != std::string::npos) return "refutation";
  for (const char* place : {"symmetry", "step", "the goal", "the last step", "the derivation",
                            "device", "classes", "placement"}) {
    if (result.reason.starts_with(place)) return place;
  }
  return "other";
}

}  // namespace

TEST_CASE("no mutation of a small certificate proves anything false") {
  const std::vector<CertificateFiles> certificates = small_certificates();
  Mutator mutator(7);
  std::map<std::string, int> met;
  int changed_claims = 0;
  for (int i = 0; i < 60'000; ++i) {
    const CertificateFiles& original =
        certificates[static_cast<std::size_t>(i) % certificates.size()];
    CertificateFiles files = original;
    const std::string claim = mutator.mutate(files);
    const kernel::Result result = check_certificate(files);
    ++met[depth(result)];
    if (result.verdict != kernel::Verdict::Accepted) continue;
    const bool same =
        json::parse(files["problem.json"]) == json::parse(original.at("problem.json"));
    changed_claims += same ? 0 : 1;
    CHECK_MESSAGE(is_true(claim, files["problem.json"]), claim, ": ", files["problem.json"], " ",
                  result.reason);
  }
  for (const auto& [kind, count] : met) MESSAGE(kind, ": ", count);
  MESSAGE("accepted with another true claim: ", changed_claims);
  CHECK(met["step"] > 2000);
  CHECK(met["refutation"] > 1000);
  CHECK(met["the goal"] > 100);
  CHECK(met["symmetry"] > 100);
  CHECK(met["initial"] > 500);
  CHECK(met["the derivation"] > 500);
  CHECK(met["incomplete"] == 0);
  CHECK(changed_claims > 50);
}

TEST_CASE("without new hashes no bit of any file may change") {
  std::size_t flips = 0;
  for (const CertificateFiles& original : small_certificates()) {
    for (const auto& [name, bytes] : original) {
      CertificateFiles files = original;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const unsigned bit = static_cast<unsigned>(i + flips) % 8;
        files[name][i] = static_cast<char>(bytes[i] ^ static_cast<char>(1U << bit));
        const kernel::Verdict verdict = check_certificate(files).verdict;
        const bool refused =
            verdict == kernel::Verdict::Rejected || verdict == kernel::Verdict::NotACertificate;
        CHECK_MESSAGE(refused, name, " byte ", i);
        files[name][i] = bytes[i];
        ++flips;
      }
    }
  }
  CHECK(flips > 10'000);
}

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
    {kPairs, 1, R"({"rule":"goal","step":1})", "the step is not the last one"},
    {kPairs, 1, R"({"rule":"goal","step":2})", "the step is not the last one"},
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
    {kPairs, 1, R"({"rule":"master","step":2})",
     "step 2 (AllReduce) is not a Master step, or is allowed"},
    {kPrintedMaster, 1, R"({"rule":"master","step":2})",
     "step 2 (Reduce) is not a Master step, or is allowed"},
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
  json derivation = json::parse(files["derivation.json"]);
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
    const json steps = json::parse(files.at("problem.json"))["steps"];
    for (std::size_t n = 1; n <= steps.size(); ++n) {
      for (const json& group : steps[n - 1]["groups"]) {
        for (const char* rule : kRules) {
          const json lie = {{"step", n}, {"rule", rule}, {"group", group}};
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
    json refutation = json::parse(files.at("refutation.json"));
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
    const json steps = json::parse(files.at("problem.json"))["steps"];
    const std::size_t crosses = steps.size() == 1 ? 1 : 2;
    CertificateFiles forged = files;
    if (crosses == 2) {  // a derivation of the first step alone, under symmetry
      forged["derivation.json"] =
          certify("devices 4\nclasses {0,1},{2,3}\nAllReduce{0,1},{2,3}").at("derivation.json");
    }
    const json refutation = {
        {"step", crosses}, {"rule", lie}, {"group", steps[crosses - 1]["groups"][0]}};
    const kernel::Result result = tell(forged, crosses - 1, refutation.dump());
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason.ends_with(std::string("does not break rule ") + lie + " there"),
                  result.reason);
  }
}
