#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "tests/cli/run.h"

using namespace p2;
using nlohmann::json;

namespace {

Ran pipeline(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "pipeline");
  return run(flags);
}

}  // namespace

TEST_CASE("pipeline answers in JSON with the keys of the contract") {
  const Ran ran = pipeline({"--schedule", "eager-1f1b", "--stages", "2", "--microbatches", "4",
                            "--forward", "2", "--backward", "4", "--latency", "3", "--link",
                            "blocking", "--format", "json"});
  CHECK(ran.exit == 0);
  const json answer = json::parse(ran.out);
  CHECK(answer["schedule"] == "eager-1f1b");
  CHECK(answer["makespan"] == 45);
  CHECK(answer["peak_activations"] == json({3, 1}));
  CHECK(answer["order"][0] == json({"F0", "F1", "F2", "B0", "F3", "B1", "B2", "B3"}));
  CHECK(answer["starts"][0][0] == 0);
  CHECK(answer["starts"][1][0] == 5);
  CHECK(answer["bubble_share"].get<double>() == doctest::Approx(21.0 / 45));
}

TEST_CASE("pipeline answers in text and draws") {
  const auto plot = std::filesystem::temp_directory_path() / "p2-pipeline-test.svg";
  const Ran ran = pipeline({"--schedule", "gpipe", "--stages", "2", "--microbatches", "2",
                            "--latency", "3", "--backward", "1", "--plot", plot.string()});
  CHECK(ran.exit == 0);
  CHECK(ran.out ==
        "gpipe: 2 stages, 2 microbatches   forward 1, backward 1, latency 3, link delay\n\n"
        "makespan 12, bubble 66.7 %\n\n"
        "stage  peak activations  order\n"
        "    0                 2  F0 F1 B0 B1\n"
        "    1                 2  F0 F1 B0 B1\n");
  const std::string svg = read_file(plot.string());
  CHECK(svg.find("stage 1") != std::string::npos);
  std::filesystem::remove(plot);
}

TEST_CASE("pipeline says what is wrong with its flags") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad{
      {{"--microbatches", "2"}, "no --stages"},
      {{"--stages", "2"}, "no --microbatches"},
      {{"--stages", "0", "--microbatches", "2"}, "--stages:1:1"},
      {{"--stages", "1024", "--microbatches", "65536"}, "too many"},
      {{"--stages", "2", "--microbatches", "2", "--schedule", "dapple"}, "gpipe"},
      {{"--stages", "2", "--microbatches", "2", "--link", "carrier"}, "blocking"},
      {{"--stages", "2", "--microbatches", "2", "--forward", "0"}, "--forward:1:1"},
      {{"--stages", "2", "--microbatches", "2", "--latency", "1.5"}, "--latency:1:2"},
      {{"--stages", "2", "--microbatches", "2", "extra"}, "command line"},
  };
  for (const auto& [flags, part] : bad) {
    const Ran ran = pipeline(flags);
    CHECK(ran.exit == 2);
    CAPTURE(ran.err);
    CHECK(ran.err.find(part) != std::string::npos);
    CHECK(ran.out.empty());
  }
}
