#include <cstdlib>
#include <random>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/msccl/algorithm.h"
#include "engine/msccl/verdict.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/msccl/schedules.h"
#include "tests/shared_data.h"

namespace p2::msccl {
namespace {

std::vector<Algorithm> originals() {
  std::vector<Algorithm> all;
  for (std::uint32_t n = 2; n < 5; ++n) {
    for (const auto make : {ring_allreduce, ring_allgather, pairwise_alltoall,
                            direct_reduce_scatter, chain_broadcast, chain_reduce}) {
      all.push_back(make(n));
    }
  }
  all.push_back(exchange(2, 3, Protocol::Simple));
  return all;
}

/// One random change: a step left out, repeated or exchanged with the next, an offset, a
/// dependency, an announcement, the protocol.
Algorithm changed(Algorithm algorithm, std::mt19937_64& random) {
  Gpu& gpu = algorithm.gpus[random() % algorithm.gpus.size()];
  std::vector<Step>& all = gpu.blocks[random() % gpu.blocks.size()].steps;
  if (all.empty()) return algorithm;
  const std::size_t at = random() % all.size();
  Step& step = all[at];
  switch (random() % 7) {
    case 0:
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      if (at + 1 < all.size()) {
        std::swap(step, all[at + 1]);
        std::swap(step.number, all[at + 1].number);
      }
      break;
    case 2:
      step.source.offset ^= 1;
      break;
    case 3:
      step.destination.offset ^= 1;
      break;
    case 4:
      step.waits_for.reset();
      break;
    case 5:
      step.publishes = !step.publishes;
      break;
    default:
      algorithm.protocol = Protocol::Simple;
      break;
  }
  return algorithm;
}

bool is_certified(const std::string& xml, bool valid) {
  return std::holds_alternative<CertificateFiles>(algorithm_certificate(xml, valid, {}));
}

}  // namespace

TEST_CASE("verdicts about algorithms have certificates") {
  std::mt19937_64 random(1);
  std::size_t valid = 0;
  std::size_t invalid = 0;
  std::size_t without = 0;
  for (const Algorithm& original : originals()) {
    CHECK_MESSAGE(is_certified(to_xml(original), true), original.collective);
    for (int k = 0; k < 12; ++k) {
      const Algorithm mutant = changed(original, random);
      const Outcome outcome = judge(mutant, {}).outcome;
      const bool found = is_certified(to_xml(mutant), outcome == Outcome::Established);
      CHECK_FALSE(is_certified(to_xml(mutant), outcome != Outcome::Established));
      ++(!found ? without : outcome == Outcome::Established ? valid : invalid);
    }
  }
  MESSAGE(valid << " valid, " << invalid << " invalid, " << without << " without");
  CHECK(valid > 20);
  CHECK(invalid > 80);
  CHECK(without == 0);
}

TEST_CASE("no forged certificate of an algorithm is accepted") {
  const char* const wanted = std::getenv("P2_FORGERIES");
  const std::uint64_t forgeries = wanted == nullptr ? 300 : std::strtoull(wanted, nullptr, 10);
  const std::vector<Algorithm> algorithms = originals();
  std::mt19937_64 random(2);
  std::size_t accepted = 0;
  for (std::uint64_t k = 0; k < forgeries; ++k) {
    const Algorithm& original = algorithms[k % algorithms.size()];
    const bool valid = random() % 2 == 0;
    const std::string xml = to_xml(valid ? original : changed(original, random));
    auto made = algorithm_certificate(xml, valid, {});
    auto* const files = std::get_if<CertificateFiles>(&made);
    if (files == nullptr) continue;
    // Another algorithm, by a step or by a place of the text; or the other claim.
    std::string forged = to_xml(changed(original, random));
    if (random() % 2 == 0) {
      forged = xml;
      const std::size_t at = forged.find_first_of("0123456789", random() % forged.size());
      if (at != std::string::npos) forged[at] = static_cast<char>('0' + random() % 4);
    }
    (*files)["problem.json"] = nlohmann::json({{"xml", forged}}).dump();
    bool claims_valid = valid;
    if (random() % 4 == 0) {
      claims_valid = !valid;
      files->erase("fault.json");
      if (!claims_valid) (*files)["fault.json"] = R"({"fault":"a fault"})";
    }
    add_manifest(claims_valid ? "algorithm-valid" : "algorithm-invalid", {}, *files);
    const kernel::Result result = check_certificate(*files);
    if (result.verdict != kernel::Verdict::Accepted) continue;
    ++accepted;
    const Outcome outcome = judge(read_algorithm("forged.xml", forged), {}).outcome;
    CHECK_MESSAGE(outcome == (claims_valid ? Outcome::Established : Outcome::Refuted), forged);
  }
  MESSAGE(accepted << " of " << forgeries << " still say what is so");
  CHECK(accepted < forgeries / 2);
}

TEST_CASE("published algorithms of MSCCL have certificates") {
  const auto manifest = shared_text("msccl/MANIFEST.csv");
  if (!manifest) return;
  std::istringstream lines(*manifest);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::string name = line.substr(0, line.find(','));
    const auto xml = shared_text("msccl/" + name);
    if (xml) CHECK_MESSAGE(is_certified(*xml, line.find("ACCEPT") != std::string::npos), name);
  }
}

}  // namespace p2::msccl
