#include <filesystem>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "tests/file_bytes.h"
#include "tests/program/instances.h"
#include "tests/proofs/certificates.h"

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
  synthesise({instance}, options)[0].for_each_lowered([&](const Program& program) {
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
    const Verdict verdict = check(program, file.dialect, states);
    if (verdict.kind == Verdict::Kind::Valid) break;
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
    Json problem = Json::parse(forged["problem.json"]);
    problem["steps"][0]["slice"] = slice;
    forged["problem.json"] = problem.dump();
    reseal("program-valid", forged);
    CHECK(check_certificate(forged).reason.ends_with("forms no group of two devices"));
  }
}

TEST_CASE("thousands of levels end a check as incomplete, and soon") {
  Json problem = {{"devices", 1U},
                  {"classes", {{0U}}},
                  {"dialect", "printed"},
                  {"reduce", {0U}},
                  {"synthesis_hierarchy", "c"},
                  {"size", 0U},
                  {"choices", Json::array()},
                  {"programs", {Json::array()}}};
  for (int i = 0; i < 64; ++i) {
    problem["hierarchy"].push_back({{"name", "l" + std::to_string(i)}, {"size", 1U}});
    problem["axes"].push_back({{"name", "a" + std::to_string(i)}, {"size", 1U}});
    problem["placement"].push_back(Json(std::vector<unsigned>(64, 1)));
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
      ++rules[Json::parse(files.at("refutation.json"))["rule"].get<std::string>()];
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
