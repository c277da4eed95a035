#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "engine/pipeline/schedule.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"

using namespace p2;

namespace {

std::vector<std::vector<Work>> orders_of(const PipelineRun& run) {
  std::vector<std::vector<Work>> orders;
  for (const auto& stage : run.stages) {
    for (auto& order = orders.emplace_back(); const TimedWork& each : stage) {
      order.push_back(each.work);
    }
  }
  return orders;
}

/// All orders of a stage that hold at most `most` activations.
std::vector<std::vector<Work>> all_orders(std::uint32_t microbatches, std::uint32_t most) {
  std::vector<std::vector<Work>> all;
  for (std::uint32_t bits = 0; bits < 1U << 2 * microbatches; ++bits) {
    std::vector<Work> order;
    std::uint32_t done[2] = {0, 0};
    bool right = true;
    for (std::uint32_t i = 0; i < 2 * microbatches && right; ++i) {
      const std::uint32_t kind = bits >> i & 1U;
      order.push_back({kind == 0 ? WorkKind::Forward : WorkKind::Backward, done[kind]++});
      right = done[1] <= done[0] && done[0] <= microbatches && done[0] - done[1] <= most;
    }
    if (right) all.push_back(order);
  }
  return all;
}

/// The makespan under `delay`, or nothing where the orders wait for each other in a circle.
std::optional<std::int64_t> makespan_of(const std::vector<std::vector<Work>>& orders,
                                        const PipelineTimes& times) {
  std::map<std::pair<std::size_t, std::string>, std::int64_t> ends;
  std::vector<std::size_t> done(orders.size());
  std::vector<std::int64_t> free(orders.size());
  std::size_t left = orders.size() * orders[0].size();
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (done[i] == orders[i].size()) continue;
      const Work work = orders[i][done[i]];
      const bool backward = work.kind == WorkKind::Backward;
      std::int64_t start = free[i];
      if (i != (backward ? orders.size() - 1 : 0)) {
        const auto before = ends.find({backward ? i + 1 : i - 1, to_string(work)});
        if (before == ends.end()) continue;
        start = std::max(start, before->second + times.latency);
      }
      free[i] = ends[{i, to_string(work)}] = start + times.of(work.kind);
      ++done[i];
      --left;
      moved = true;
    }
  }
  if (left > 0) return std::nullopt;
  return *std::max_element(free.begin(), free.end());
}

/// Whether some orders with these peaks take no longer than full overlap, by trying all of them.
bool some_overlaps(PipelineSize size, const PipelineTimes& times,
                   const std::vector<std::uint32_t>& most) {
  std::vector<std::vector<std::vector<Work>>> choices;
  for (const std::uint32_t each : most) choices.push_back(all_orders(size.microbatches, each));
  std::vector<std::size_t> pick(size.stages);
  for (;;) {
    std::vector<std::vector<Work>> orders;
    for (std::size_t i = 0; i < pick.size(); ++i) orders.push_back(choices[i][pick[i]]);
    if (makespan_of(orders, times) == full_overlap(size, times)) return true;
    std::size_t i = 0;
    while (i < pick.size() && ++pick[i] == choices[i].size()) pick[i++] = 0;
    if (i == pick.size()) return false;
  }
}

}  // namespace

TEST_CASE("no schedule is faster than full overlap, and GPipe always is as fast") {
  for (std::uint32_t s = 1; s <= 5; ++s) {
    for (std::uint32_t m = 1; m <= 6; ++m) {
      for (const std::int64_t c : {0, 1, 2, 5, 9}) {
        const PipelineTimes times{2, 3, c};
        const std::int64_t least = full_overlap({s, m}, times);
        CHECK(simulate(PipelineSchedule::GPipe, {s, m}, times, PipelineLink::Delay).makespan ==
              least);
        for (const PipelineSchedule schedule :
             {PipelineSchedule::OneForwardOneBackward, PipelineSchedule::Eager}) {
          CHECK(simulate(schedule, {s, m}, times, PipelineLink::Delay).makespan >= least);
        }
      }
    }
  }
}

TEST_CASE(
    "the least memory has a schedule that holds it, and each stage needs what it is said to") {
  for (const PipelineSize size : {PipelineSize{2, 3}, PipelineSize{2, 5}, PipelineSize{3, 4},
                                  PipelineSize{3, 7}, PipelineSize{4, 5}, PipelineSize{1, 4}}) {
    for (const PipelineTimes times : {PipelineTimes{1, 1, 0}, PipelineTimes{1, 2, 1},
                                      PipelineTimes{2, 2, 1}, PipelineTimes{2, 1, 4}}) {
      const auto least = least_memory(size, times, {});
      REQUIRE(least);
      const auto orders = orders_of(least->run);
      CHECK(simulate(orders, times, PipelineLink::Delay).makespan == full_overlap(size, times));
      for (std::size_t i = 0; i < size.stages; ++i) {
        CHECK(peak_activations(orders[i]) <= least->peaks[i]);
        CHECK(least->each[i] <= least->peaks[i]);
      }
    }
  }
}

TEST_CASE("the search says what simulating every order says") {
  std::mt19937_64 random(17);
  int possible = 0;
  int impossible = 0;
  for (int i = 0; i < 300; ++i) {
    const PipelineSize size{static_cast<std::uint32_t>(2 + random() % 2),
                            static_cast<std::uint32_t>(2 + random() % 2)};
    const PipelineTimes times{static_cast<std::int64_t>(1 + random() % 3),
                              static_cast<std::int64_t>(1 + random() % 3),
                              static_cast<std::int64_t>(random() % 4)};
    std::vector<std::uint32_t> most;
    for (std::uint32_t s = 0; s < size.stages; ++s) {
      most.push_back(static_cast<std::uint32_t>(1 + random() % size.microbatches));
    }
    const bool found = search_overlap(size, times, most, {}).outcome == Outcome::Established;
    CHECK(found == some_overlaps(size, times, most));
    (found ? possible : impossible) += 1;
  }
  CHECK(possible > 30);
  CHECK(impossible > 30);
}

TEST_CASE("a search that meets its deadline says nothing") {
  Limits over;
  over.deadline = std::chrono::steady_clock::now();
  CHECK(!least_memory({6, 12}, {2, 3, 2}, over));
}

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
      "pipeline.json", [](json& p) { p["makespan"] = 60; }, "not refuted");
  refused(
      "cases.json",
      [](json& c) {
        c["cases"][0].push_back({0, 1, 0});
      },
      "more cases");
  refused(
      "cases.json", [](json& c) { c["cases"].erase(0); }, "stage count mismatch");
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
    std::string peaks = result.reason.substr(result.reason.find("than ") + 5);
    std::istringstream list(peaks);
    for (std::uint32_t stage = 0; stage < of.stages; ++stage) {
      std::uint32_t held = 0;
      list >> held;
      list.ignore(2);
      std::vector<std::uint32_t> most(of.stages, of.microbatches);
      most[stage] = held - 1;
      if (held == 1 || makespan != full_overlap(of, times)) continue;
      CHECK(search_overlap(of, times, most, {}).outcome == Outcome::Refuted);
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
