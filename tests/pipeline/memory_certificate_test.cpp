#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "engine/pipeline/least_memory.h"
#include "proofs/certificate/pipeline_certificate.h"
#include "proofs/kernel/certificate.h"

using namespace p2;

namespace {

using nlohmann::json;

const PipelineTimes kTimes{1, 2, 1};

/// The certificate of the fewest activations; nothing where stages stand in each other's way.
std::optional<CertificateFiles> certificate_of(PipelineSize size, const PipelineTimes& times) {
  const LeastMemory least = *least_memory(size, times, {});
  if (least.each != least.peaks) return std::nullopt;
  return pipeline_certificate(size, times, least, {});
}

/// With hashes that are right.
kernel::Result check(CertificateFiles files) {
  add_manifest("pipeline-memory", {}, files);
  return check_certificate(files);
}

CertificateFiles changed(const CertificateFiles& files, const char* file, const auto& change) {
  CertificateFiles forged = files;
  json value = json::parse(files.at(file));
  change(value);
  forged[file] = value.dump();
  return forged;
}

}  // namespace

TEST_CASE("that no stage can hold fewer is certified for all small pipelines") {
  std::size_t certified = 0;
  std::size_t together = 0;
  for (std::uint32_t stages = 1; stages <= 4; ++stages) {
    for (std::uint32_t microbatches = 1; microbatches <= 5; ++microbatches) {
      for (const PipelineTimes& times :
           {PipelineTimes{1, 1, 0}, kTimes, PipelineTimes{2, 1, 3}, PipelineTimes{3, 5, 2}}) {
        const auto files = certificate_of({stages, microbatches}, times);
        if (!files) {
          ++together;
          continue;
        }
        const kernel::Result result = check_certificate(*files);
        CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
        ++certified;
      }
    }
  }
  CHECK(certified + together == 80);
  CHECK(certified > 70);
}

TEST_CASE(
    "a pipeline that holds more than it must is refused, and so are starts that break a rule") {
  const PipelineSize size{4, 8};
  const CertificateFiles files = *certificate_of(size, kTimes);
  REQUIRE(check(files).verdict == kernel::Verdict::Accepted);
  const PipelineRun gpipe = simulate(PipelineSchedule::GPipe, size, kTimes, PipelineLink::Delay);
  LeastMemory more = *least_memory(size, kTimes, {});
  more.run = gpipe;
  CHECK(check(pipeline_certificate(size, kTimes, more, {})).verdict != kernel::Verdict::Accepted);

  const auto refused = [&](const char* file, const auto& change, const std::string& why) {
    const kernel::Result result = check(changed(files, file, change));
    CHECK(result.verdict != kernel::Verdict::Accepted);
    CHECK_MESSAGE(result.reason.find(why) != std::string::npos, result.reason);
  };
  refused(
      "pipeline.json", [](json& p) { p["forwards"][1][0] = 1; }, "too early");
  refused(
      "pipeline.json", [](json& p) { p["backwards"][0][7] = 40; }, "after the makespan");
  refused(
      "pipeline.json", [](json& p) { p["forwards"][0][7] = p["backwards"][0][0]; }, "");
  refused(
      "pipeline.json", [](json& p) { p["makespan"] = 38; }, "after the makespan");
  refused(
      "pipeline.json", [](json& p) { p["makespan"] = 60; }, "left open");
  refused(
      "cases.json",
      [](json& c) {
        c["cases"][0].push_back({0, 1, 0});
      },
      "more cases");
  refused(
      "cases.json", [](json& c) { c["cases"].erase(0); }, "other stages");
}

TEST_CASE("no case may be left out") {
  const CertificateFiles files = *certificate_of({5, 10}, {2, 3, 2});
  REQUIRE(check(files).verdict == kernel::Verdict::Accepted);
  const json cases = json::parse(files.at("cases.json"))["cases"];
  std::size_t left_out = 0;
  for (std::size_t stage = 0; stage < cases.size(); ++stage) {
    for (std::size_t i = 0; i < cases[stage].size(); ++i, ++left_out) {
      const auto forged =
          changed(files, "cases.json", [&](json& c) { c["cases"][stage].erase(i); });
      CHECK(check(forged).verdict != kernel::Verdict::Accepted);
    }
  }
  CHECK(left_out > 3);
}

TEST_CASE("whatever digit is changed, what is accepted is true") {
  const PipelineSize size{3, 6};
  const CertificateFiles files = *certificate_of(size, kTimes);
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    CertificateFiles forged = files;
    std::string& text = forged[i % 4 == 0 ? "cases.json" : "pipeline.json"];
    std::size_t at = random() % text.size();
    while (std::isdigit(static_cast<unsigned char>(text[at])) == 0) at = (at + 1) % text.size();
    const char digit = static_cast<char>('0' + random() % 10);
    if (text[at] == digit) continue;
    text[at] = digit;
    const kernel::Result result = check(forged);
    if (result.verdict != kernel::Verdict::Accepted) {
      ++refused;
      continue;
    }
    const json p = json::parse(forged.at("pipeline.json"));
    const PipelineTimes times{p["forward"], p["backward"], p["latency"]};
    const PipelineSize of{p["stages"], p["microbatches"]};
    const std::int64_t makespan = p["makespan"];
    std::string peaks = result.reason.substr(result.reason.rfind("than ") + 5);
    std::istringstream list(peaks);
    for (std::uint32_t stage = 0; stage < of.stages; ++stage) {
      std::uint32_t held = 0;
      list >> held;
      list.ignore(2);
      std::vector<std::uint32_t> most(of.stages, of.microbatches);
      most[stage] = held - 1;
      if (held == 1 || makespan != full_overlap(of, times)) continue;
      CHECK(search_overlap(of, times, most, {}).kind == OverlapAnswer::Kind::None);
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("pipeline --least-memory --certify writes what p2-check accepts") {
  const auto folder = std::filesystem::temp_directory_path() / "p2_pipeline_certificate";
  std::filesystem::remove_all(folder);
  std::ostringstream out;
  std::ostringstream err;
  CHECK(run_pipeline({"--least-memory", "--stages", "3", "--microbatches", "6", "--latency", "1",
                      "--certify", folder.string()},
                     out, err) == 0);
  CHECK(out.str().find("certificate: " + folder.string()) != std::string::npos);
  CHECK(check_folder(folder.string()).verdict == kernel::Verdict::Accepted);
  std::filesystem::remove_all(folder);
}

TEST_CASE("the example of docs/certificates.md is accepted") {
  const kernel::Result result =
      check({{"pipeline.json",
              R"({"stages":2,"microbatches":2,"forward":1,"backward":1,"latency":0,"makespan":6,
            "forwards":[[0,1],[1,3]],"backwards":[[3,5],[2,4]]})"},
             {"cases.json", R"({"cases":[[],[]]})"}});
  CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
}
