#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "engine/base/text_cursor.h"
#include "proofs/api/subject_check.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/msccl/schedules.h"

namespace p2::msccl {
namespace {

nlohmann::json checked(const Algorithm& algorithm, int exit) {
  const TemporaryFile file(to_xml(algorithm), ".xml");
  const Ran ran = run({"check", file.path(), "--format", "json"});
  CHECK(ran.exit == exit);
  CHECK(ran.err.empty());
  return nlohmann::json::parse(ran.out).at("results").at(0);
}

Algorithm racy() {
  Algorithm algorithm = direct_reduce_scatter(2);
  algorithm.gpus[0].blocks[0].steps[1].waits_for.reset();
  return algorithm;
}

}  // namespace

TEST_CASE("check answers for MSCCL XML with the keys of the contract") {
  const nlohmann::json valid = checked(ring_allreduce(4), kEstablished);
  CHECK(valid.at("format") == "msccl");
  CHECK(valid.at("verdict") == "valid");
  CHECK(valid.at("engines") == nlohmann::json{{"explicit", "valid"}});
  CHECK(valid.at("step").is_null());
  CHECK(valid.at("counterexample").is_null());
  CHECK(valid.at("limits").at("steps_per_thread_block") ==
        nlohmann::json{{"allowed", 256}, {"found", 7}, {"met", true}});
  CHECK(valid.at("limits").at("offset_plus_count").at("met") == true);
  CHECK(valid.at("safe_bytes").at("max").is_null());
  CHECK(valid.at("safe_bytes").at("covers_declared") == true);

  const nlohmann::json invalid = checked(racy(), kRefuted);
  CHECK(invalid.at("verdict") == "invalid");
  CHECK(invalid.at("step") == 2);
  CHECK(invalid.at("safe_bytes").is_null());
  const nlohmann::json& counterexample = invalid.at("counterexample");
  CHECK(counterexample.at("rule") == "data-race");
  CHECK(counterexample.at("cell") == nlohmann::json{{"gpu", 0}, {"buffer", "s"}, {"index", 1}});
  CHECK(counterexample.at("steps").size() == 2);
  CHECK(counterexample.at("schedule").size() == 4);

  Algorithm unknown = ring_allreduce(2);
  unknown.collective = "alltonext";
  CHECK(checked(unknown, kUndecided).at("verdict") == "unknown");
}

TEST_CASE("the library answers with a typed result, a document and a report") {
  const AlgorithmCheckAnswer answer = check_algorithm("racy.xml", to_xml(racy()), {}, {});
  CHECK(answer.outcome == Outcome::Refuted);
  REQUIRE(answer.results.size() == 1);
  const Result& result = answer.results[0];
  CHECK(result.engines ==
        std::vector<EngineAnswer>{{"explicit", Outcome::Refuted, 2, "data-race"}});
  REQUIRE(result.counterexample);
  CHECK(result.counterexample->rule == "data-race");
  CHECK(result.counterexample->where == SourcePosition{"racy.xml", 7, 4});
  CHECK(result.counterexample->facts.find("cell")->dump() == R"({"gpu":0,"buffer":"s","index":1})");
  CHECK(answer.document.json.find("verdict")->dump() == R"("invalid")");
  REQUIRE(answer.document.reports.size() == 1);
  const std::vector<p2::Property>& properties = answer.document.reports[0].properties;
  REQUIRE(properties.size() == 5);
  CHECK(properties[2].status == p2::Property::Status::Established);
  CHECK(properties[3].status == p2::Property::Status::Refuted);
  CHECK(properties[3].line == 7);
  CHECK(properties[4].status == p2::Property::Status::NotExamined);

  Algorithm unsupported = ring_allreduce(2);
  unsupported.collective = "alltonext";
  const AlgorithmCheckAnswer open = check_algorithm("f.xml", to_xml(unsupported), {}, {});
  REQUIRE(open.results[0].undecided);
  CHECK(open.results[0].undecided->reason == Undecided::Reason::Unsupported);
  Limits limits;
  limits.memory_bytes = 1 << 16;
  const std::string large = to_xml(direct_reduce_scatter(24));
  const AlgorithmCheckAnswer limited = check_algorithm("f.xml", large, {}, limits);
  REQUIRE(limited.results[0].undecided);
  CHECK(limited.results[0].undecided->reason == Undecided::Reason::Limit);
  const auto& limited_properties = limited.document.reports[0].properties;
  CHECK(std::ranges::count(limited_properties, p2::Property::Status::Undecided,
                           &p2::Property::status) > 0);
}

TEST_CASE("sizes and limits are beside the verdict") {
  Algorithm algorithm = exchange(2, 3, Protocol::Simple);
  algorithm.max_bytes = 1 << 30;
  const nlohmann::json large = checked(algorithm, kEstablished);
  CHECK(large.at("safe_bytes").at("max") == 12 * (2097152 / 3));
  CHECK(large.at("safe_bytes").at("covers_declared") == false);
  CHECK(large.at("safe_bytes").at("above").at("counterexample").at("rule") == "capacity-deadlock");

  algorithm = exchange(1, 80, Protocol::LL);
  algorithm.channels = 33;
  const nlohmann::json limited = checked(algorithm, kEstablished);
  CHECK(limited.at("limits").at("count") ==
        nlohmann::json{{"allowed", 71}, {"found", 80}, {"met", false}});
  CHECK(limited.at("limits").at("channels").at("met") == false);

  algorithm = ring_allreduce(3);
  algorithm.gpus[1].chunks[0] = 1;
  algorithm.gpus[1].blocks[0].steps[0].source.offset = 0;
  algorithm.gpus[1].blocks[0].steps[0].count = 2;
  const nlohmann::json passing = checked(algorithm, kRefuted);
  CHECK(passing.at("counterexample").at("rule") == "out-of-bounds");
  CHECK(passing.at("limits").at("offset_plus_count").at("not_noticed_by_loaders").size() == 1);
}

TEST_CASE("text has the same answer, also beside programs") {
  const TemporaryFile file(to_xml(racy()), ".xml");
  const std::string program = P2_SOURCE_DIR "/examples/programs/valid/figure10-blueconnect.p2";
  const Ran ran = run({"check", program, file.path()});
  CHECK(ran.exit == kRefuted);
  CHECK(
      ran.out.find("invalid, data-race (reduce_scatter of 2 chunks on 2 GPUs, Simple, in place or "
                   "not)") != std::string::npos);
  CHECK(ran.out.find("figure10-blueconnect.p2: valid (") != std::string::npos);
  CHECK(ran.out.find("Both can run at once after\n    gpu 0 tb 0 step 0 (cpy, line 5)\n") !=
        std::string::npos);
}

TEST_CASE("inapplicable flags are refused in one sentence") {
  const TemporaryFile file(to_xml(ring_allreduce(2)), ".xml");
  const std::vector<std::vector<std::string>> flags = {{"--engine", "z3"},
                                                       {"--engine", "cnf"},
                                                       {"--goal", "allgather"},
                                                       {"--explain"},
                                                       {"--smt2", "/tmp/never-written"}};
  for (const std::vector<std::string>& given : flags) {
    std::vector<std::string> arguments = {"check", file.path()};
    arguments.insert(arguments.end(), given.begin(), given.end());
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.exit == kBadInput);
    CHECK(ran.err.find("is MSCCL XML, to which " + given[0]) != std::string::npos);
  }
  const Ran all = run({"check", file.path(), "--engine", "all"});
  CHECK(all.exit == kEstablished);
  CHECK(all.out.find("z3, cnf: not asked") != std::string::npos);
  const TemporaryFile broken("<algo", ".xml");
  CHECK(run({"check", broken.path()}).exit == kBadInput);
}

TEST_CASE("the examples have the verdicts of their folders") {
  const std::filesystem::path folder = P2_SOURCE_DIR "/examples/msccl";
  std::size_t examples = 0;
  std::size_t all_refused = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    CAPTURE(entry.path().string());
    const bool refused = entry.path().parent_path().filename() == "refused";
    CHECK(run({"check", entry.path().string()}).exit == (refused ? kRefuted : kEstablished));
    ++examples;
    all_refused += refused ? 1 : 0;
  }
  CHECK(all_refused >= 1);
  CHECK(examples > all_refused);
}

TEST_CASE("files of other tools have the verdicts of their manifest") {
  const char* given = std::getenv("P2_SHARED_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(given != nullptr ? given : P2_SOURCE_DIR "/../shared/data") / "msccl";
  std::ifstream manifest(folder / "MANIFEST.csv");
  if (!manifest) {
    MESSAGE("skipped: no " << folder.string());
    return;
  }
  const std::string text{std::istreambuf_iterator<char>(manifest), {}};
  const CsvTable table("MANIFEST.csv", text);
  REQUIRE(table.rows() > 0);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& file = table.text(row, "file");
    CAPTURE(file);
    CHECK(run({"check", (folder / file).string()}).exit ==
          (table.text(row, "verdict") == "ACCEPT" ? kEstablished : kRefuted));
  }
}

}  // namespace p2::msccl
