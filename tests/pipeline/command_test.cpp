#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
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
  CHECK(svg.find("1 to 0") != std::string::npos);
  std::filesystem::remove(plot);
}

TEST_CASE("pipeline splits backwards and says what stages hold in bytes") {
  const Ran ran = pipeline({"--stages", "2", "--microbatches", "3", "--split-backward", "1,2",
                            "--delay-weights", "1", "--activation-bytes", "2K", "--weight-bytes",
                            "1K", "--format", "json"});
  CHECK(ran.exit == 0);
  const json answer = json::parse(ran.out);
  CHECK(answer["split_backward"] == json{{"activation", 1}, {"weight", 2}, {"delay", 1}});
  CHECK(answer["backward"] == 3);
  CHECK(answer["order"][1] == json({"F0", "B0", "F1", "B1", "W0", "F2", "B2", "W1", "W2"}));
  CHECK(answer["peak_activations"] == json({3, 2}));
  CHECK(answer["peak_memory_bytes"] == json({7168, 5120}));
  const Ran least = pipeline({"--stages", "2", "--microbatches", "3", "--split-backward", "1,2",
                              "--delay-weights", "least", "--activation-bytes", "2K"});
  CHECK(least.out.find("backward 1+2 with weights 0 later") != std::string::npos);
  CHECK(least.out.find("  peak memory  ") != std::string::npos);
}

TEST_CASE("pipeline finds the least memory with full overlap") {
  const std::vector<std::string> flags{
      "--least-memory", "--stages", "3", "--microbatches", "6", "--forward", "1", "--backward", "1",
      "--latency",      "1"};
  std::vector<std::string> in_json = flags;
  in_json.insert(in_json.end(), {"--format", "json", "--activation-bytes", "1K"});
  const json answer = json::parse(pipeline(in_json).out);
  CHECK(answer["settled"] == true);
  CHECK(answer["makespan"] == 20);
  CHECK(answer["least_peaks"] == json({5, 3, 1}));
  CHECK(answer["peak_memory_bytes"] == json({5120, 3072, 1024}));
  CHECK(answer["order"].size() == 3);
  const Ran text = pipeline(flags);
  CHECK(text.exit == 0);
  CHECK(text.out.find("each stage could hold no fewer") != std::string::npos);
  const Ran stopped = pipeline({"--least-memory", "--stages", "12", "--microbatches", "40",
                                "--latency", "1", "--timeout", "1"});
  CHECK(stopped.exit == 3);
  CHECK(stopped.out.find("undecided") != std::string::npos);
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
      {{"--stages", "2", "--microbatches", "2", "--latency", "1.5"}, "--latency:1:1"},
      {{"--stages", "2", "--microbatches", "2", "extra"}, "command line"},
      {{"--stages", "2", "--microbatches", "2", "--split-backward", "1"}, "--split-backward:1:2"},
      {{"--stages", "2", "--microbatches", "2", "--split-backward", "1,1", "--backward", "2"},
       "only one of both"},
      {{"--stages", "2", "--microbatches", "2", "--delay-weights", "1"}, "--split-backward"},
      {{"--stages", "2", "--microbatches", "2", "--weight-bytes", "1"}, "--activation-bytes"},
      {{"--stages", "2", "--microbatches", "2", "--activation-bytes", "x"}, "--activation-bytes"},
      {{"--stages", "2", "--microbatches", "2", "--least-memory", "--link", "link"}, "delay"},
      {{"--stages", "2", "--microbatches", "2", "--least-memory", "--schedule", "1f1b"},
       "--schedule: given with --least-memory"},
  };
  for (const auto& [flags, part] : bad) {
    const Ran ran = pipeline(flags);
    CHECK(ran.exit == 2);
    CAPTURE(ran.err);
    CHECK(ran.err.find(part) != std::string::npos);
    CHECK(ran.out.empty());
  }
}
