#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "proofs/kernel/certificate.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Cached {
  Ran ran;
  json answer;

  std::size_t hits() const { return answer.at("cache").at("hits"); }
  std::size_t stored() const { return answer.at("cache").at("stored"); }
};

Cached checked(const TemporaryFolder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "check");
  arguments.insert(arguments.end(), {"--cache", folder.path("cache"), "--format", "json"});
  const Ran ran = run(arguments);
  return {ran, json::parse(ran.out)};
}

/// The one entry of the cache.
std::string entry_of(const TemporaryFolder& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder.path("cache"))) {
    files.push_back(entry.path().string());
  }
  REQUIRE(files.size() == 1);
  return files.front();
}

/// An entry that says `evidence` and is undamaged.
std::string sealed(const std::string& evidence) {
  return "p2-verify-cache/1\n" + sha256(evidence) + "\n" + evidence;
}

std::string evidence_in(const std::string& path) {
  const std::string text = text_of(path);
  return text.substr(text.find('\n', text.find('\n') + 1) + 1);
}

}  // namespace

TEST_CASE("what the solvers said is taken from the cache after its certificate was replayed") {
  const TemporaryFolder folder;
  for (const std::string& file : {kExamples + "programs/valid/figure3a-allreduce.p2",
                                  kExamples + "programs/refused/figure4a-different-chunks.p2"}) {
    const std::vector<std::string> command = {file, "--engine", "all"};
    const Cached first = checked(folder, command);
    CHECK(first.hits() == 0);
    CHECK(first.stored() == 1);
    const Cached again = checked(folder, command);
    CHECK(again.hits() == 1);
    CHECK(again.stored() == 0);
    CHECK(again.ran.exit == first.ran.exit);
    CHECK(again.answer.at("results") == first.answer.at("results"));
    // Other engines were not asked yet.
    CHECK(checked(folder, {file, "--engine", "z3"}).hits() == 0);
  }
}

TEST_CASE("a refutation of MSCCL XML is taken from the cache after it was replayed") {
  const TemporaryFolder folder;
  const Cached first = checked(folder, {kRefusedXml});
  CHECK(first.stored() == 1);
  const Cached again = checked(folder, {kRefusedXml});
  CHECK(again.hits() == 1);
  CHECK(again.answer.at("results") == first.answer.at("results"));
  CHECK(again.ran.exit == kRefuted);
  // Another text is another file.
  const std::string other = folder.put("other.xml", text_of(kRefusedXml) + "\n");
  CHECK(checked(folder, {other}).hits() == 0);
}

TEST_CASE("what is judged as fast again is not kept") {
  const TemporaryFolder folder;
  CHECK(checked(folder, {kValidXml, kValidProgram, kRefusedProgram}).stored() == 0);
}

TEST_CASE("a damaged entry is passed over and replaced") {
  const TemporaryFolder folder;
  checked(folder, {kRefusedXml});
  const std::string path = entry_of(folder);
  const std::string good = text_of(path);
  for (const std::string& text :
       {std::string(), good.substr(0, good.size() / 2), good + "x", std::string("{}"),
        sealed("not json"), sealed("{}"), sealed("[[[["), sealed(R"({"kind":200})")}) {
    std::ofstream(path, std::ios::binary) << text;
    const Cached ran = checked(folder, {kRefusedXml});
    CHECK(ran.hits() == 0);
    CHECK(ran.stored() == 1);
    CHECK(ran.ran.exit == kRefuted);
    CHECK(text_of(path) == good);
  }
}

TEST_CASE("an undamaged entry that says something false is not believed") {
  const TemporaryFolder folder;
  checked(folder, {kRefusedXml});
  const std::string path = entry_of(folder);
  const json evidence = json::parse(evidence_in(path));
  std::vector<json> forgeries(6, evidence);
  forgeries[0]["steps"] = json::array({{0, 0, 0}, {1, 0, 0}});
  forgeries[1]["schedule"] = json::array();
  forgeries[2]["cell"][2] = 1;
  forgeries[3]["kind"] = 0;
  forgeries[4]["steps"][0][0] = 77;
  forgeries[5]["in_place"] = true;
  for (const json& forgery : forgeries) {
    CAPTURE(forgery.dump());
    std::ofstream(path, std::ios::binary) << sealed(forgery.dump());
    CHECK(checked(folder, {kRefusedXml}).hits() == 0);
    CHECK(json::parse(evidence_in(path)) == evidence);
  }
}

TEST_CASE("a certificate of another program, or of nothing, bears no answer out") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  const std::string file = kExamples + "programs/valid/figure3a-allreduce.p2";
  const std::string another = kExamples + "programs/valid/figure3b-allreduce-allreduce.p2";
  const std::vector<std::string> command = {file, "--engine", "z3"};
  checked(folder, command);
  checked(other, {another, "--engine", "z3"});
  const std::string path = entry_of(folder);
  const json evidence = json::parse(evidence_in(path));
  std::vector<json> forgeries(4, evidence);
  forgeries[0] = json::parse(evidence_in(entry_of(other)));
  forgeries[1]["certificate"]["derivation.json"] = "{}";
  forgeries[2]["findings"]["z3"]["verdict"] = "invalid";
  forgeries[3]["findings"]["z3"]["verdict"] = "unknown";
  for (const json& forgery : forgeries) {
    std::ofstream(path, std::ios::binary) << sealed(forgery.dump());
    const Cached ran = checked(folder, command);
    CHECK(ran.hits() == 0);
    CHECK(ran.ran.exit == kEstablished);
    CHECK(json::parse(evidence_in(path)) == evidence);
  }
}

TEST_CASE("a cache that cannot be a folder is bad input") {
  const TemporaryFolder folder;
  const std::string file = folder.put("file", "");
  CHECK(run({"check", kValidXml, "--cache", file}).exit == kBadInput);
}

}  // namespace p2
