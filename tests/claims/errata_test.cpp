#include <filesystem>
#include <sstream>

#include <doctest/doctest.h>

#include "proofs/claims/errata.h"
#include "proofs/claims/hypothesis.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using namespace p2::claims;

namespace {

std::vector<const Result*> pointers(const std::vector<Result>& results) {
  std::vector<const Result*> all;
  for (const Result& result : results) all.push_back(&result);
  return all;
}

Request a_request(const char* claim, Dialect dialect, std::uint32_t devices) {
  Request request;
  request.claims = {claim_called(claim)};
  request.dialects = {dialect};
  request.systems = placed_systems(devices);
  request.every_system = true;
  return request;
}

}  // namespace

TEST_CASE("the errata draw a counterexample and name what it breaks") {
  const Request request = a_request("lemma-b7", Dialect::Published, 8);
  std::ostringstream out;
  write_errata(settle(request, {}), request, {}, out);
  const std::string text = out.str();
  CHECK(
      text.find(
          "| lemma-b7 (c) >= (b) | B.7 | published | one | 102 | **refuted** on 1 (rows first: ") !=
      std::string::npos);
  CHECK(text.find("refuted by: step 2, AllReduce{0,2},{4,6}") != std::string::npos);
  CHECK(text.find("8 devices, 3 steps: l0=2,l1=2,l2=2  axes a0=4,a1=2  reduce a0") !=
        std::string::npos);
  CHECK(text.find("d0") != std::string::npos);
}

TEST_CASE("what is true, or not of the paper, is no erratum") {
  for (const char* claim : {"lemma-b1", "size-independence"}) {
    const Request request = a_request(claim, Dialect::Published, 4);
    std::ostringstream out;
    write_errata(settle(request, {}), request, {}, out);
    CHECK(out.str().find("holds") != std::string::npos);
    CHECK(out.str().find("## ") == std::string::npos);
  }
}

TEST_CASE("what is refuted and not in the paper stands apart, drawn with its costs") {
  Request request = a_request("beyond-dsl", Dialect::Published, 5);
  request.size = 3;
  std::ostringstream out;
  write_errata(settle(request, {}), request, {}, out);
  const std::string text = out.str();
  const std::size_t heading = text.find("# Refuted, and not in the paper");
  REQUIRE(heading != std::string::npos);
  CHECK(text.find("AllReduce{0,2,4}", heading) != std::string::npos);
  CHECK(text.find("refuted by: homogeneous: costs 6α + 10/3β", heading) != std::string::npos);
}

TEST_CASE("a hypothesis is one under which every system tried holds") {
  const Request request = a_request("lemma-b7-case1", Dialect::Published, 8);
  std::vector<Result> results = settle(request, {});
  const Hypothesis found = weakest_hypothesis(pointers(results));
  CHECK(found.systems >= 102);
  CHECK(!found.words.empty());
  for (Result& result : results) result.answer.verdict = Outcome::Undecided;
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
       {"Repaired by lemma-b1-corrected-witness", "<table>", "<pre>", "</html>"}) {
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
  CHECK(text.find("Certificate: `program-valid`, " + place.path()) != std::string::npos);
  CHECK(text.find(" results 0 have") == std::string::npos);
  std::filesystem::remove_all(place.path());
}
