#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "p2/prove.h"
#include "proofs/claims/campaign.h"
#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using namespace p2::claims;

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
  const nlohmann::json results = nlohmann::json::parse(ran.out).at("results");
  REQUIRE(results.size() == 2);
  const nlohmann::json& printed = results[0];
  CHECK(printed.at("dialect") == "printed");
  CHECK(printed.at("verdict") == "refuted");
  CHECK(printed.at("from") == "c");
  CHECK(printed.at("to") == "d");
  CHECK(printed.at("size") == 4);
  CHECK(printed.at("placement") == nlohmann::json::parse("[[2,2],[1,2]]"));
  CHECK(printed.at("counterexample").at("steps").size() == 3);
  CHECK(printed.at("evidence") == "solver-only");
  CHECK(printed.at("certificate").is_null());
  CHECK(results[1].at("verdict") == "holds");
  CHECK(results[1].at("counterexample").is_null());
}

TEST_CASE("a counterexample is a program file that check accepts") {
  const Ran ran = run({"prove", "expressiveness", "--from", "b", "--to", "c", "--max-devices", "8",
                       "--format", "json"});
  const nlohmann::json answer = nlohmann::json::parse(ran.out);
  std::size_t checked = 0;
  for (const nlohmann::json& result : answer.at("results")) {
    if (result.at("verdict") != "refuted") continue;
    const TemporaryFile file(result.at("counterexample").dump());
    CHECK(run({"check", file.path()}).exit == 0);
    ++checked;
  }
  CHECK(checked > 0);
}

TEST_CASE("prove --certify writes certificates that p2-check accepts, and claims no more") {
  for (const std::string engine : {"explicit", "cnf"}) {
    const TemporaryFile place("", ".certificates");
    std::filesystem::remove(place.path());
    const Ran ran = run({"prove", "lemma-b7", "lemma-b3", "lemma-b1-witness", "lemma-b6",
                         "lemma-b8-witness", "--max-devices", "8", "--size", "4", "--format",
                         "json", "--certify", place.path(), "--engine", engine});
    CHECK(ran.exit == 1);
    const nlohmann::json answer = nlohmann::json::parse(ran.out);
    const std::string sizes = engine == "cnf" ? "" : "-all-sizes";
    // Of lemma B.1's witness the smallest counterexample over one axis is an instruction that ends
    // short of the goal: no certificate.
    std::size_t certified = 0;
    for (const nlohmann::json& result : answer.at("results")) {
      const bool has = !result.at("certificate").is_null();
      const std::string evidence = result.at("evidence");
      CHECK((evidence == "solver-only") == !has);
      if (!has) continue;
      const bool refuted = result.at("verdict") == "refuted";
      if (result.at("claim") == "lemma-b3") {
        CHECK(evidence == (refuted ? "program-valid" : "unmixed"));
      }
      if (result.at("claim") == "lemma-b7") {
        CHECK(evidence == (refuted ? "not-expressible" : "expressible" + sizes));
      }
      if (result.at("claim") == "lemma-b6" || result.at("claim") == "lemma-b8-witness") {
        CHECK(evidence == (refuted ? "program-valid" : "unused" + sizes));
      }
      const auto verdict = check_folder(result.at("certificate").get<std::string>());
      CHECK(verdict.verdict == kernel::Verdict::Accepted);
      ++certified;
    }
    CHECK(certified > 60);
    std::filesystem::remove_all(place.path());
  }
}

TEST_CASE("what holds in printed is certified by clauses, what holds in published for all sizes") {
  const TemporaryFile place("", ".certificates");
  std::filesystem::remove(place.path());
  const Ran ran = run({"prove", "expressiveness", "lemma-b5", "--dialect", "both", "--max-devices",
                       "4", "--size", "2", "--format", "json", "--certify", place.path()});
  std::map<std::string, std::size_t> kinds;
  std::size_t empty = 0;
  const nlohmann::json answer = nlohmann::json::parse(ran.out);
  for (const nlohmann::json& result : answer.at("results")) {
    if (result.at("verdict") != "holds") continue;
    const std::string evidence = result.at("evidence");
    CHECK(evidence.ends_with("-all-sizes") == (result.at("dialect") == "published"));
    if (result.at("empty_question").get<bool>()) ++empty;
    ++kinds[evidence];
  }
  for (const char* kind : {"expressible", "unused", "expressible-all-sizes", "unused-all-sizes"}) {
    CHECK(kinds[kind] > 0);
  }
  CHECK(empty > 0);
  CHECK(empty < kinds["expressible"] + kinds["expressible-all-sizes"]);
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
  const nlohmann::json claims =
      nlohmann::json::parse(run({"prove", "--list", "--format", "json"}).out).at("claims");
  CHECK(claims.size() > 5);
  for (const nlohmann::json& claim : claims)
    CHECK(!claim.at("statement").get<std::string>().empty());
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

TEST_CASE("what is said of costs has certificates, of any length, on up to six devices") {
  std::size_t others = 0;  // certificates
  const auto reasons = [&](const std::vector<std::string>& arguments) {
    const TemporaryFile place("", ".certificates");
    std::filesystem::remove(place.path());
    std::vector<std::string> words = {"prove"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), {"--certify", place.path(), "--format", "json"});
    std::vector<std::string> said;
    const auto results = nlohmann::json::parse(run(words).out);
    for (const auto& result : results["results"]) {
      CHECK(result["evidence"] == "cheapest");
      const std::string reason = check_folder(result["certificate"].get<std::string>()).reason;
      said.push_back(reason.substr(0, reason.find(" of ")));
      CHECK(reason.find(", dialect ") != std::string::npos);
    }
    others = 0;
    for (const auto& folder : std::filesystem::directory_iterator(place.path())) {
      CHECK(check_folder(folder.path().string()).verdict == kernel::Verdict::Accepted);
      ++others;
    }
    others -= said.size();
    std::filesystem::remove_all(place.path());
    return said;
  };
  const std::string over = "no program over any disjoint groups costs less than the listed ones, ";
  using Reasons = std::vector<std::string>;
  CHECK(reasons({"beyond-dsl", "--hierarchy", "5", "--axes", "5", "--reduce", "0"}) ==
        Reasons{over + "all,"});
  CHECK(others == 6);  // one for each hierarchy of five devices
  CHECK(reasons({"beyond-dsl", "beyond-dsl-two-level", "--hierarchy", "2,3", "--axes", "6",
                 "--reduce", "0", "--dialect", "printed", "--size", "32"}) ==
        Reasons(2, over + "hierarchies,"));
  CHECK(reasons({"lattice-gain-two-level", "--hierarchy", "2,4", "--axes", "8", "--reduce", "0",
                 "--size", "32"}) ==
        Reasons{"no program over lattice costs less than the listed ones, hierarchies,"});
}

namespace {

nlohmann::json summary_of(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"prove", "expressiveness", "--max-devices", "8", "--size",
                                  "3",     "--format",       "json"};
  all.insert(all.end(), words.begin(), words.end());
  return nlohmann::json::parse(run(all).out).at("summary");
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
  const nlohmann::json rows = summary_of({"--from", "b", "--to", "c"});
  REQUIRE(rows.size() == 2);
  const nlohmann::json& one_axis = rows[0];
  CHECK(one_axis.at("several_axes") == false);
  const nlohmann::json& orders = one_axis.at("rows_reduced");
  CHECK(orders.at("first").at("refuted") == 1);
  for (const char* order : {"last", "between", "all"}) CHECK(orders.at(order).at("refuted") == 0);
  std::uint64_t systems = 0;
  for (const nlohmann::json& each : orders) systems += each.at("systems").get<std::uint64_t>();
  CHECK(one_axis.at("systems") == systems);
}

TEST_CASE(
    "only where (c) is asked about the order of rows is told apart, and every system counts") {
  for (const nlohmann::json& row : summary_of({"--dialect", "both"})) {
    CAPTURE(row.dump());
    const bool matters = row.at("from") == "c" || row.at("to") == "c";
    CHECK(row.at("rows_reduced").is_null() != matters);
    if (!matters) continue;
    std::uint64_t refuted = 0;
    for (const nlohmann::json& each : row.at("rows_reduced")) {
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
    const nlohmann::json entry = nlohmann::json::parse(line);
    if (!entry.contains("answer")) continue;
    for (const nlohmann::json& answer : entry.at("answer").at("answers"))
      orders.insert(answer.at("rows_reduced"));
  }
  CHECK(orders == std::set<std::string>{"all", "between", "first", "last"});
}

namespace {

std::vector<const SettledQuestion*> pointers(const std::vector<SettledQuestion>& results) {
  std::vector<const SettledQuestion*> all;
  for (const SettledQuestion& result : results) all.push_back(&result);
  return all;
}

CampaignRequest a_request(const char* claim, Dialect dialect, std::uint32_t devices) {
  CampaignRequest request;
  request.claims = {find_claim(claim)};
  request.dialects = {dialect};
  request.systems = placed_systems(devices);
  request.every_system = true;
  return request;
}

std::string errata_of(const CampaignRequest& request) {
  return write_document(errata(settle(request, {}), request), DocumentFormat::Markdown);
}

}  // namespace

TEST_CASE("the errata draw a counterexample and name what it breaks") {
  const CampaignRequest request = a_request("lemma-b7", Dialect::Published, 8);
  const std::string text = errata_of(request);
  CHECK(text.find(
            "| lemma-b7 (c) >= (b) | B.7 | published | one | 102 | refuted on 1 (rows first: ") !=
        std::string::npos);
  CHECK(text.find("refuted by: step 2, AllReduce{0,2},{4,6}") != std::string::npos);
  CHECK(text.find("8 devices, 3 steps: l0=2,l1=2,l2=2  axes a0=4,a1=2  reduce a0") !=
        std::string::npos);
  CHECK(text.find("d0") != std::string::npos);
}

TEST_CASE("what is true, or not of the paper, is no erratum") {
  for (const char* claim : {"lemma-b1", "size-independence"}) {
    const CampaignRequest request = a_request(claim, Dialect::Published, 4);
    const std::string text = errata_of(request);
    CHECK(text.find("holds") != std::string::npos);
    CHECK(text.find("## ") == std::string::npos);
  }
}

TEST_CASE("what is refuted and not in the paper has a section of its own, drawn with its costs") {
  CampaignRequest request = a_request("beyond-dsl", Dialect::Published, 5);
  request.size = 3;
  const std::string text = errata_of(request);
  const std::size_t heading = text.find("# Refuted, and not in the paper");
  REQUIRE(heading != std::string::npos);
  CHECK(text.find("AllReduce{0,2,4}", heading) != std::string::npos);
  CHECK(text.find("refuted by: homogeneous: costs 6α + 10/3β", heading) != std::string::npos);
}

TEST_CASE("a hypothesis is one under which every system tried holds") {
  const CampaignRequest request = a_request("lemma-b7-case1", Dialect::Published, 8);
  std::vector<SettledQuestion> results = settle(request, {});
  const Hypothesis found = weakest_hypothesis(pointers(results));
  CHECK(found.systems >= 102);
  CHECK(!found.words.empty());
  for (SettledQuestion& result : results) result.answer.outcome = Outcome::Undecided;
  CHECK(weakest_hypothesis(pointers(results)).words.empty());
}

TEST_CASE("prove --report writes the errata beside the results, as Markdown or HTML") {
  const auto report = [](const char* suffix) {
    const TemporaryFile file("", suffix);
    const Ran ran = run({"prove", "lemma-b1-witness", "lemma-b1-corrected-witness", "--max-devices",
                         "4", "--report", file.path()});
    CHECK(ran.exit == 1);
    return bytes_of(file.path());
  };
  CHECK(report(".md").find("Repaired by lemma-b1-corrected-witness") != std::string::npos);
  const std::string page = report(".html");
  CHECK(page.starts_with("<!doctype html>"));
  for (const char* part :
       {"Repaired by lemma-b1-corrected-witness", "<table>", "<pre tabindex=\"0\">", "</html>"}) {
    CAPTURE(part);
    CHECK(page.find(part) != std::string::npos);
  }
}

TEST_CASE("the errata say which counterexamples have a certificate, and how many results do") {
  const TemporaryFile file("", ".md");
  const TemporaryFile place("", ".certificates");
  std::filesystem::remove(place.path());
  run({"prove", "lemma-b3", "--max-devices", "4", "--report", file.path(), "--certify",
       place.path()});
  const std::string text = bytes_of(file.path());
  CHECK(text.find("Certificate: program-valid, " + place.path()) != std::string::npos);
  CHECK(text.find(" results 0 have") == std::string::npos);
  std::filesystem::remove_all(place.path());
}

TEST_CASE("the library answers with types, a document and a report") {
  ProveRequest request;
  request.claims = {"lemma-b7", "pipeline-peaks"};
  request.max_devices = 8;
  request.size = 3;
  request.report = true;
  const ProveAnswer answer = prove(request, {});
  CHECK(answer.outcome == Outcome::Refuted);
  REQUIRE(answer.summary.size() == 2);  // over one axis and over several
  CHECK(answer.summary[0].claim == "lemma-b7");
  CHECK(answer.summary[0].refuted == 1);
  REQUIRE(answer.results.size() > 100);
  CHECK(answer.results.back().subject == "pipeline-peaks");
  std::size_t refuted = 0;
  for (const Result& result : answer.results) {
    CHECK(result.counterexample.has_value() == (result.outcome == Outcome::Refuted));
    if (!result.counterexample) continue;
    CHECK(result.counterexample->facts.find("steps") != nullptr);
    ++refuted;
  }
  CHECK(refuted == answer.summary[0].refuted + answer.summary[1].refuted);
  CHECK(answer.diagnostics.empty());
  const std::string page = write_document(answer.report, DocumentFormat::Html);
  CHECK(page.find("<h2>lemma-b7 (c) &gt;= (b), dialect published</h2>") != std::string::npos);
  request.claims = {"lemma-b9"};
  CHECK_THROWS_AS(prove(request, {}), InputError);
  CHECK(list_claims().claims.size() == registry().size());
}

TEST_CASE("a cancelled proof leaves its questions undecided") {
  const std::atomic<bool> cancelled = true;
  ProveRequest request;
  request.claims = {"expressiveness"};
  request.max_devices = 4;
  Options options;
  options.limits.cancelled = &cancelled;
  const ProveAnswer answer = prove(request, options);
  CHECK(answer.outcome == Outcome::Undecided);
  for (const Result& result : answer.results) CHECK(result.undecided.has_value());
}
