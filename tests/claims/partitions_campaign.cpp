#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "engine/program/program.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/claims/absent_programs.h"
#include "proofs/claims/costs.h"
#include "proofs/kernel/certificate.h"

// Every partition of 2 to 6 devices (or of as many as P2_MOST_DEVICES says) into classes, whether a
// placement has it or not, and every division into equal nodes: the shortest program that mixes
// classes, and whether one is cheaper than all that do not; with a certificate that p2-check
// accepts. Results are compared with partitions_results.tsv; P2_WRITE_RESULTS=FILE writes them.
using namespace p2;
using namespace p2::claims;

namespace {

struct Case {
  std::uint32_t devices;
  std::vector<Group> classes;
};

std::vector<Case> cases(std::uint32_t most) {
  std::vector<Case> all;
  for (std::uint32_t devices = 2; devices <= most; ++devices) {
    for (std::vector<Group>& classes : all_partitions(devices)) {
      // With one class nothing mixes, with one device in each there is nothing to do.
      if (classes.size() > 1 && classes.size() < devices) {
        all.push_back({devices, std::move(classes)});
      }
    }
  }
  return all;
}

std::string shortest(const Case& each) {
  // On six devices longer programs take minutes.
  const auto several = [](const Group& members) { return members.size() > 1; };
  const bool two = std::count_if(each.classes.begin(), each.classes.end(), several) > 1;
  const Bounds bounds{each.devices < 6 ? 32U : two ? 4U : 3U, {}, true};
  const Settlement answer = smallest_mixing_program(each.devices, each.classes, bounds);
  if (answer.outcome == Outcome::Refuted) return std::to_string(answer.steps);
  return answer.note.empty() ? fmt::format("none of {}", answer.settled) : "none";
}

/// `no`, or the mixing program that is cheaper and where.
std::string cheaper(const Case& each, const std::vector<Uplink>& uplinks) {
  const CostSettlement found =
      no_mixing_is_cheaper(each.devices, each.classes, LatencyBandwidth(uplinks), {32, {}, true});
  if (!found.any_length) return "undecided";
  const bool holds = found.answer.outcome == Outcome::Established;
  const CheapestClaim claim{each.devices,  each.classes, Dialect::Published,
                            std::nullopt,  uplinks,      holds ? "unmixed" : "all",
                            found.programs};
  const kernel::Result result = check_certificate(cheapest_certificate(claim, {}));
  if (result.verdict != kernel::Verdict::Accepted) return "not accepted: " + result.reason;
  return holds ? "no" : found.answer.program + " (" + found.answer.note + ")";
}

std::vector<std::string> lines_of(const Case& each) {
  const std::string name = fmt::format("{}\t{}", each.devices, to_string(each.classes));
  std::vector<std::string> lines = {name + "\tshortest\t" + shortest(each)};
  lines.push_back(name + "\tone network\t" + cheaper(each, {}));
  for (std::uint32_t span = 2; span < each.devices; ++span) {
    if (each.devices % span != 0) continue;
    lines.push_back(fmt::format("{}\tnodes of {}\t{}", name, span, cheaper(each, {{span, 10}})));
  }
  return lines;
}

}  // namespace

TEST_CASE("all partitions into classes: shortest and cheapest mixing programs") {
  const char* const given = std::getenv("P2_MOST_DEVICES");
  const std::uint32_t most = given != nullptr ? static_cast<std::uint32_t>(std::stoul(given)) : 6;
  const std::vector<Case> all = cases(most);
  std::vector<std::vector<std::string>> found(all.size());
  tbb::parallel_for(std::size_t{0}, all.size(),
                    [&](std::size_t i) { found[i] = lines_of(all[i]); });
  std::ifstream file(std::string(P2_SOURCE_DIR) + "/tests/claims/partitions_results.tsv");
  if (const char* const name = std::getenv("P2_WRITE_RESULTS")) {
    std::ofstream out(name);
    for (const auto& lines : found) {
      for (const std::string& line : lines) out << line << "\n";
    }
    return;
  }
  std::map<std::string, bool> expected;
  for (std::string line; std::getline(file, line);) expected[line] = true;
  for (const auto& lines : found) {
    for (const std::string& line : lines) CHECK_MESSAGE(expected.contains(line), line);
  }
}
