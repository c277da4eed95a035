#include <filesystem>
#include <fstream>
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "proofs/claims/placed_system.h"
#include "proofs/claims/summary.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
using namespace p2::claims;
using Json = nlohmann::json;

namespace {

Json summary_of(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"prove", "expressiveness", "--max-devices", "8", "--size",
                                  "3",     "--format",       "json"};
  all.insert(all.end(), words.begin(), words.end());
  return Json::parse(run(all).out).at("summary");
}

RowOrder order_of(const std::vector<std::uint32_t>& axes, ReductionAxes reduced) {
  std::vector<Axis> named;
  std::uint32_t devices = 1;
  Placement placement;
  for (const std::uint32_t size : axes) {
    named.push_back({"a" + std::to_string(named.size()), size});
    placement.factors.push_back({size});
    devices *= size;
  }
  const Hierarchy hierarchy({{"l", devices}}, {"test"});
  return row_order({DeviceGrid(hierarchy, Axes(named, {"test"}), placement), std::move(reduced)});
}

}  // namespace

TEST_CASE("rows reduced over stand first, last, between the others, or are all") {
  CHECK(order_of({2, 3}, {0}) == RowOrder::First);
  CHECK(order_of({2, 3}, {1}) == RowOrder::Last);
  CHECK(order_of({2, 3}, {0, 1}) == RowOrder::All);
  CHECK(order_of({2, 3, 4}, {0, 1}) == RowOrder::First);
  CHECK(order_of({2, 3, 4}, {1, 2}) == RowOrder::Last);
  CHECK(order_of({2, 3, 4}, {1}) == RowOrder::Between);
  CHECK(order_of({2, 3, 4}, {0, 2}) == RowOrder::Between);
  // Rows of axes of size 1 have no factor.
  CHECK(order_of({1, 2, 3}, {1}) == RowOrder::First);
  CHECK(order_of({2, 1}, {0}) == RowOrder::All);
}

TEST_CASE(
    "in published (c) expresses (b) with the reduced row last, and not always with it first") {
  const Json rows = summary_of({"--from", "b", "--to", "c"});
  REQUIRE(rows.size() == 2);
  const Json& one_axis = rows[0];
  CHECK(one_axis.at("several_axes") == false);
  const Json& orders = one_axis.at("rows_reduced");
  CHECK(orders.at("first").at("refuted") == 1);
  for (const char* order : {"last", "between", "all"}) CHECK(orders.at(order).at("refuted") == 0);
  std::uint64_t systems = 0;
  for (const Json& each : orders) systems += each.at("systems").get<std::uint64_t>();
  CHECK(one_axis.at("systems") == systems);
}

TEST_CASE(
    "only where (c) is asked about the order of rows is told apart, and every system counts") {
  for (const Json& row : summary_of({"--dialect", "both"})) {
    CAPTURE(row.dump());
    const bool matters = row.at("from") == "c" || row.at("to") == "c";
    CHECK(row.at("rows_reduced").is_null() != matters);
    if (!matters) continue;
    std::uint64_t refuted = 0;
    for (const Json& each : row.at("rows_reduced")) {
      refuted += each.at("refuted").get<std::uint64_t>();
    }
    CHECK(row.at("refuted") == refuted);
  }
}

TEST_CASE("text, report and journal say which order of rows a result is for") {
  const TemporaryFile journal("", ".jsonl");
  const TemporaryFile report("", ".md");
  const Ran ran = run({"prove", "lemma-b7", "--max-devices", "8", "--size", "3", "--resume",
                       journal.path(), "--report", report.path()});
  const std::string said = "rows first: refuted on 1 of ";
  CHECK(ran.out.find("    reduced " + said) != std::string::npos);
  std::ifstream written(report.path());
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  CHECK(text.find("(" + said) != std::string::npos);
  std::ifstream lines(journal.path());
  std::set<std::string> orders;
  for (std::string line; std::getline(lines, line);) {
    const Json entry = Json::parse(line);
    if (!entry.contains("answers")) continue;
    for (const Json& answer : entry.at("answers")) orders.insert(answer.at("rows_reduced"));
  }
  CHECK(orders == std::set<std::string>{"all", "between", "first", "last"});
}
