#include <filesystem>
#include <map>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using Json = nlohmann::json;

TEST_CASE("prove exits 0 where everything holds, 1 where something is refuted, 3 where undecided") {
  const Ran holds = run({"prove", "expressiveness", "--from", "a", "--to", "b"});
  CHECK(holds.exit == 0);
  CHECK(holds.out.find("holds everywhere up to 6 devices") != std::string::npos);
  const Ran refuted = run({"prove", "expressiveness", "--from", "b", "--to", "a"});
  CHECK(refuted.exit == 1);
  CHECK(refuted.out.find("smallest: ") != std::string::npos);
  const Ran undecided =
      run({"prove", "lemma-b3", "--hierarchy", "8", "--axes", "2,4", "--reduce", "0"});
  CHECK(undecided.exit == 3);
  CHECK(undecided.out.find("at most 6 devices") != std::string::npos);
}

TEST_CASE("prove answers in the form of the contract, for a named instance and dialect") {
  const Ran ran = run({"prove",       "expressiveness",
                       "--from",      "c",
                       "--to",        "d",
                       "--hierarchy", "2,4",
                       "--axes",      "4,2",
                       "--reduce",    "0",
                       "--placement", "[[2,2],[1,2]]",
                       "--dialect",   "both",
                       "--size",      "4",
                       "--format",    "json"});
  CHECK(ran.exit == 1);
  const Json results = Json::parse(ran.out).at("results");
  REQUIRE(results.size() == 2);
  const Json& printed = results[0];
  CHECK(printed.at("dialect") == "printed");
  CHECK(printed.at("verdict") == "refuted");
  CHECK(printed.at("from") == "c");
  CHECK(printed.at("to") == "d");
  CHECK(printed.at("size") == 4);
  CHECK(printed.at("placement") == Json::parse("[[2,2],[1,2]]"));
  CHECK(printed.at("counterexample").at("steps").size() == 3);
  CHECK(printed.at("evidence") == "solver-only");
  CHECK(printed.at("certificate").is_null());
  CHECK(results[1].at("verdict") == "holds");
  CHECK(results[1].at("counterexample").is_null());
}

TEST_CASE("a counterexample is a program file that check accepts") {
  const Ran ran = run({"prove", "expressiveness", "--from", "b", "--to", "c", "--max-devices", "8",
                       "--format", "json"});
  const Json answer = Json::parse(ran.out);
  std::size_t checked = 0;
  for (const Json& result : answer.at("results")) {
    if (result.at("verdict") != "refuted") continue;
    const TemporaryFile file(result.at("counterexample").dump());
    CHECK(run({"check", file.path()}).exit == 0);
    ++checked;
  }
  CHECK(checked > 0);
}

TEST_CASE("prove --certify writes certificates that p2-check accepts, and claims no more") {
  const TemporaryFile place("", ".certificates");
  std::filesystem::remove(place.path());
  const Ran ran =
      run({"prove", "lemma-b7", "lemma-b3", "lemma-b1-witness", "lemma-b6", "lemma-b8-witness",
           "--max-devices", "8", "--size", "4", "--format", "json", "--certify", place.path()});
  CHECK(ran.exit == 1);
  const Json answer = Json::parse(ran.out);
  // Of lemma B.1's witness the smallest counterexample over one axis is an instruction that ends
  // short of the goal: no certificate.
  std::size_t certified = 0;
  for (const Json& result : answer.at("results")) {
    const bool has = !result.at("certificate").is_null();
    const std::string evidence = result.at("evidence");
    CHECK((evidence == "solver-only") == !has);
    if (!has) continue;
    if (result.at("claim") == "lemma-b3") {
      CHECK(evidence == (result.at("verdict") == "refuted" ? "program-valid" : "unmixed"));
    }
    if (result.at("claim") == "lemma-b7") {
      CHECK(evidence == (result.at("verdict") == "refuted" ? "not-expressible" : "expressible"));
    }
    if (result.at("claim") == "lemma-b6" || result.at("claim") == "lemma-b8-witness") {
      CHECK(evidence == (result.at("verdict") == "refuted" ? "program-valid" : "unused"));
    }
    const auto verdict = check_folder(result.at("certificate").get<std::string>());
    CHECK(verdict.verdict == kernel::Verdict::Accepted);
    ++certified;
  }
  CHECK(certified > 60);
  std::filesystem::remove_all(place.path());
}

TEST_CASE("certificates are the same whatever the number of threads") {
  const TemporaryFile place("", ".certificates");
  std::map<std::string, std::string> first;
  for (const char* jobs : {"1", "4"}) {
    std::filesystem::remove_all(place.path());
    run({"prove", "expressiveness", "--max-devices", "4", "--certify", place.path(), "--jobs",
         jobs});
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place.path())) {
      if (entry.is_regular_file()) files[entry.path().string()] = bytes_of(entry.path().string());
    }
    CHECK(files.size() > 100);
    if (first.empty()) first = files;
    CHECK(files == first);
  }
  std::filesystem::remove_all(place.path());
}

TEST_CASE("prove --list names every claim, and prove resumes from a journal") {
  const Json claims = Json::parse(run({"prove", "--list", "--format", "json"}).out).at("claims");
  CHECK(claims.size() > 5);
  for (const Json& claim : claims) CHECK(!claim.at("statement").get<std::string>().empty());
  const TemporaryFile journal("", ".jsonl");
  const std::vector<std::string> words = {"prove", "lemma-b7", "--resume", journal.path()};
  const Ran first = run(words);
  CHECK(run(words).out == first.out);
}

TEST_CASE("prove refuses what it cannot be asked") {
  const auto message = [](const std::vector<std::string>& words) {
    const Ran ran = run(words);
    CHECK(ran.exit == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK(message({"prove"}).find("expected at least one, --all or --list") != std::string::npos);
  CHECK(message({"prove", "lemma-b9"}).find("unknown claim 'lemma-b9'") != std::string::npos);
  CHECK(message({"prove", "lemma-b1", "--from", "c"}).find("--from: ") != std::string::npos);
  CHECK(message({"prove", "expressiveness", "--to", "e"}).find("--to: ") != std::string::npos);
  CHECK(message({"prove", "expressiveness", "--dialect", "spoken"}).find("or both") !=
        std::string::npos);
  CHECK(message({"prove", "expressiveness", "--hierarchy", "4", "--axes", "4", "--reduce", "0",
                 "--max-devices", "4"})
            .find("expected one of the two") != std::string::npos);
  CHECK(message({"prove", "--all", "lemma-b1"}).find("--all: ") != std::string::npos);
}
