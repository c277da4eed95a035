#include <doctest/doctest.h>

#include "bench/paper/report.h"
#include "tests/file_bytes.h"

using namespace p2;
using namespace p2::paper;

namespace {

const Evaluation& evaluation() {
  static const Evaluation kEvaluation = evaluate(std::string(P2_SOURCE_DIR) + "/bench/paper",
                                                 std::string(P2_SOURCE_DIR) + "/examples/systems");
  return kEvaluation;
}

Accuracy of(Prediction Compared::*prediction, const std::string& system, Algorithm algorithm) {
  return accuracy(evaluation().rows, prediction, [&](const Case& each) {
    return each.reduction.system.starts_with(system) && each.algorithm == algorithm;
  });
}

std::string read(const std::string& path) {
  return bytes_of(std::string(P2_SOURCE_DIR) + "/" + path);
}

}  // namespace

TEST_CASE("A100: with the paper's bandwidths the order is right and times are near") {
  const Accuracy ring = of(&Compared::paper, "a100", Algorithm::Ring);
  CHECK(ring.rows == 62);
  CHECK(ring.allreduce_correlation >= 0.99);
  CHECK(ring.allreduce_error <= 0.15);
  const Accuracy tree = of(&Compared::paper, "a100", Algorithm::Tree);
  CHECK(tree.rows == 62);
  CHECK(tree.allreduce_correlation >= 0.97);
  for (const Accuracy& each : {ring, tree}) CHECK(2 * each.speedups >= each.cross_node);
}

TEST_CASE("A100: fitting the NIC alone, to 2-node ring rows alone, halves the error everywhere") {
  const auto& before = evaluation().paper.at("a100-2nodes").interconnects;
  const auto& after = evaluation().fitted.at("a100-2nodes").interconnects;
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK((before[i] == after[i]) == (before[i].name != "NIC"));
  }
  CHECK(of(&Compared::calibrated, "a100", Algorithm::Ring).allreduce_error <= 0.05);
  CHECK(of(&Compared::calibrated, "a100-4nodes", Algorithm::Ring).allreduce_error <= 0.05);
}

TEST_CASE("V100 on 2 nodes: groups that are not the whole ring are told apart") {
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree}) {
    const Accuracy paper = of(&Compared::paper, "v100-2nodes", algorithm);
    CHECK(paper.rows == 13);
    CHECK(paper.allreduce_correlation >= 0.95);
    const Accuracy fitted = of(&Compared::calibrated, "v100-2nodes", algorithm);
    CHECK(fitted.allreduce_correlation >= 0.95);
    CHECK(fitted.allreduce_error <= 0.1);
    CHECK(fitted.best_error <= 0.1);
    CHECK(fitted.speedups == fitted.cross_node);
  }
}

TEST_CASE("arithmetic finds the misprints that are known") {
  const auto found = [](const std::string& where, const std::string& printed) {
    for (const Misprint& each : evaluation().misprints) {
      if (each.where == where && each.printed == printed) return true;
    }
    return false;
  };
  CHECK(found("appendix, a100-4nodes [4 16] reduce 0 [[2 2] [2 8]] ring", "speedup 1.57"));
  CHECK(found("table 4, G1", "speedup 1.17"));
  CHECK(found("table 4, F1", "14 of 47 programs"));
  CHECK(found("table 4, H2", "25 of 235 programs"));
  CHECK(found("table 5, V100", "88.1 %"));
  CHECK(found("appendix, a100-2nodes [2 16] reduce 1", "simulation time, ring: 0.019"));
  CHECK(found("appendix, a100-4nodes [2 32] reduce 0, ring", "0 programs faster than AllReduce"));
}

TEST_CASE("the page and its plots are what is in docs") {
  CHECK(page(evaluation()) == read("docs/paper_evaluation.md"));
  for (const auto& [name, svg] : plots(evaluation())) CHECK(svg == read("docs/plots/" + name));
}
