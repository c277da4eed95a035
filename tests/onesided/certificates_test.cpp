#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "engine/onesided/text_plan.h"
#include "p2/error.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/onesided/plans.h"
#include "tests/shared_data.h"

namespace p2::onesided {
namespace {

using kernel::Verdict;

Outcome judged(const std::string& text) {
  if (is_text_plan(text)) return judge(read_text_plan("plan", text), "plan", {}).outcome;
  const auto read = read_plan("plan", text);
  if (std::holds_alternative<Violation>(read)) return Outcome::Refuted;
  return judge(std::get<Plan>(read), "plan", {}).outcome;
}

std::optional<CertificateFiles> certified(const std::string& text, bool valid) {
  auto made = onesided_certificate(text, valid, {});
  if (auto* const files = std::get_if<CertificateFiles>(&made)) return std::move(*files);
  return std::nullopt;
}

std::string resealed(const std::string& claim, CertificateFiles& files) {
  add_manifest(claim, {}, files);
  return claim;
}

/// Changes the plan, the fault or the claim; returns the claim.
std::string forge(CertificateFiles& files, const std::string& claim, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string& plan = files.at("plan.json");
  const bool has_fault = files.contains("fault.json");
  switch (random() % 6) {
    case 4: {  // a member that is called otherwise
      const std::size_t at = plan.find("\":", random() % plan.size());
      if (at != std::string::npos) plan[at - 1] = static_cast<char>('a' + random() % 26);
      return resealed(claim, files);
    }
    case 0: {  // what is claimed
      if (has_fault) {
        files.erase("fault.json");
        return resealed("onesided-valid", files);
      }
      files["fault.json"] = "{\"chunk\":1,\"fault\":\"a fault\"}\n";
      return resealed("onesided-invalid", files);
    }
    case 1:
      if (has_fault) {
        auto fault = nlohmann::json::parse(files["fault.json"]);
        if (random() % 2 == 0) {
          fault["chunk"] = 1 + random() % 6;
        } else {
          auto text = fault["fault"].get<std::string>();
          text[random() % text.size()] = static_cast<char>('0' + random() % 10);
          fault["fault"] = text;
        }
        files["fault.json"] = fault.dump();
        return resealed(claim, files);
      }
      [[fallthrough]];
    case 2: {  // a place of the plan's text
      const std::size_t at = plan.find_first_of("0123456789", random() % plan.size());
      if (at != std::string::npos) plan[at] = static_cast<char>('0' + random() % 4);
      return resealed(claim, files);
    }
    default: {
      const auto read = read_plan("plan", plan);
      if (const auto* const original = std::get_if<Plan>(&read))
        plan = to_json(mutated(*original, random()));
      // A fault in words may well be that of the changed plan, too.
      return resealed(claim, files);
    }
  }
}

/// Every certificate that is accepted says what the engine finds.
void check_claim(const std::string& claim, const CertificateFiles& files, std::size_t& accepted) {
  const kernel::Result result = check_certificate(files);
  if (result.verdict != Verdict::Accepted) return;
  ++accepted;
  const Outcome outcome = judged(files.at("plan.json"));
  CHECK_MESSAGE(outcome == (claim == "onesided-valid" ? Outcome::Established : Outcome::Refuted),
                result.reason << "\n"
                              << files.at("plan.json"));
}

}  // namespace

TEST_CASE("every small execution plan is certified valid, and its mutants as the engine judges") {
  std::map<std::pair<bool, bool>, std::size_t>
      counts;  // by verdict, whether there is a certificate
  for (const Plan& plan : small_execution_plans()) {
    const std::string text = to_json(plan);
    REQUIRE_MESSAGE(judged(text) == Outcome::Established, text);
    const auto made = onesided_certificate(text, true, {});
    CHECK_MESSAGE(std::holds_alternative<CertificateFiles>(made),
                  text << (made.index() == 1 ? std::get<std::string>(made) : ""));
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const std::string mutant = to_json(mutated(plan, seed));
      const Outcome outcome = judged(mutant);
      for (const bool valid : {true, false}) {
        const bool is_certified = certified(mutant, valid).has_value();
        if (is_certified) {
          CHECK_MESSAGE(outcome == (valid ? Outcome::Established : Outcome::Refuted), mutant);
        }
        if (outcome == (valid ? Outcome::Established : Outcome::Refuted)) {
          ++counts[{valid, is_certified}];
        }
      }
    }
  }
  MESSAGE(counts[{true, true}] << " valid and " << counts[{false, true}] << " invalid certified, "
                               << counts[{true, false}] << " and " << counts[{false, false}]
                               << " not");
  CHECK(counts[{true, true}] > 100);
  CHECK(counts[{false, true}] > 100);
  CHECK(counts[{true, false}] + counts[{false, false}] < 30);
}

TEST_CASE("plans in the text format and mutants of them are certified as the engines judge") {
  const char* const wanted = std::getenv("P2_MUTANTS");
  const std::uint64_t mutants = wanted == nullptr ? 60 : std::strtoull(wanted, nullptr, 10);
  std::map<std::pair<bool, bool>, std::size_t> counts;  // as above
  std::size_t unread = 0, explored = 0;
  std::map<std::string, std::size_t> reasons;
  for (const std::string& plan : small_plans()) {
    for (std::uint64_t seed = 0; seed < mutants; ++seed) {
      const std::string text = seed == 0 ? plan : mutated(plan, seed);
      std::optional<Outcome> outcome;  // nothing: no plan
      try {
        outcome = judged(text);
      } catch (const InputError&) {
        ++unread;
      }
      for (const bool valid : {true, false}) {
        const auto made = onesided_certificate(text, valid, {});
        const bool is_certified = made.index() == 0;
        const bool is_so = outcome == (valid ? Outcome::Established : Outcome::Refuted);
        if (is_certified) CHECK_MESSAGE(is_so, text);
        if (is_so) ++counts[{valid, is_certified}];
        if (is_so && !is_certified) ++reasons[std::get<std::string>(made)];
        if (!is_certified || !valid) continue;
        const TextPlan read = read_text_plan("plan", text);
        const auto unrolled = unroll(read, "plan", launches_to_check(read));
        LimitWatch watch({}, "exploration");
        const auto seen = explore(std::get<Unrolling>(unrolled), {.max_states = 5'000}, watch);
        CHECK_MESSAGE(!seen.violation, text);
        if (!seen.open) ++explored;
      }
    }
  }
  for (const auto& [reason, count] : reasons) MESSAGE(count << ": " << reason);
  MESSAGE(counts[{true, true}] << " valid and " << counts[{false, true}] << " invalid certified, "
                               << counts[{true, false}] << " and " << counts[{false, false}]
                               << " not, " << unread << " unread, " << explored
                               << " valid explored");
  CHECK(counts[{true, true}] > 100);
  CHECK(counts[{false, true}] > 100);
}

TEST_CASE("rules about execution plans have plans that break them, and these have certificates") {
  const std::vector<Plan> plans = small_execution_plans();
  const Plan& memory = plans[0];
  const Plan& port = plans[3];
  const Plan& blocks = plans[6];
  struct Broken {
    const char* rule;
    const Plan& original;
    std::function<void(Plan&)> change;
  };
  const auto ops = [](Plan& plan) -> std::vector<Op>& { return plan.gpus[0].blocks[0].ops; };
  const std::vector<Broken> all = {
      {"malformed", memory, [&](Plan& plan) { ops(plan)[3].targets.clear(); }},
      {"executor-limit", memory, [&](Plan& plan) { ops(plan).resize(65); }},
      {"no-channel", memory, [&](Plan& plan) { ops(plan)[0].channels = {5}; }},
      {"no-buffer", memory, [&](Plan& plan) { ops(plan)[3].targets[0].id = 7; }},
      {"no-peer", memory, [&](Plan& plan) { plan.gpus[0].memory_peers = {9}; }},
      {"wrong-peer", port, [&](Plan& plan) { plan.gpus[0].remote_buffers[2].rank = 0; }},
      {"size-mismatch", memory, [&](Plan& plan) { ops(plan)[3].sources[0].size = 0; }},
      {"out-of-bounds", memory, [&](Plan& plan) { ops(plan)[3].sources[0].index = 1; }},
      {"barrier-mismatch", blocks, [&](Plan& plan) { ops(plan).push_back(ops(plan).back()); }},
      {"unmatched-wait", memory, [&](Plan& plan) { ops(plan).push_back(ops(plan)[1]); }},
      {"signal-surplus", memory,
       [&](Plan& plan) {
         ops(plan).push_back(ops(plan)[0]);
         ops(plan).back().type = OpType::Signal;
       }},
      {"packet-never-written", plans[2], [&](Plan& plan) { ops(plan).erase(ops(plan).begin()); }},
      {"packet-overwritten", plans[2],
       [&](Plan& plan) { ops(plan).insert(ops(plan).begin(), ops(plan)[0]); }},
      {"scratch-reuse", plans[2], [&](Plan& plan) { plan.double_scratch = false; }},
      {"relaxed-order", memory,
       [&](Plan& plan) {
         for (Op& op : ops(plan)) op.type = op.type == OpType::Wait ? OpType::RelaxedWait : op.type;
       }},
      {"missing-flush", port, [&](Plan& plan) {
         for (Gpu& gpu : plan.gpus) {
           gpu.blocks[0].ops[3].type = OpType::PutWithSignal;
           gpu.blocks[0].ops.resize(7);  // nobody answers
         }
       }}};
  for (const Broken& each : all) {
    Plan plan = each.original;
    each.change(plan);
    const std::string text = to_json(plan);
    CAPTURE(std::string(each.rule));
    const auto read = read_plan("plan", text);
    std::optional<Violation> violation;
    if (const auto* const found = std::get_if<Violation>(&read)) {
      violation = *found;
    } else {
      violation = judge(std::get<Plan>(read), "plan", {}).violation;
    }
    REQUIRE(violation);
    CHECK(to_string(violation->rule) == each.rule);
    CHECK(certified(text, false));
  }
}

TEST_CASE("no forged certificate of a one-sided plan is accepted") {
  const char* const wanted = std::getenv("P2_FORGERIES");
  const std::uint64_t forgeries = wanted == nullptr ? 400 : std::strtoull(wanted, nullptr, 10);
  std::vector<std::pair<std::string, CertificateFiles>> originals;
  for (const Plan& plan : small_execution_plans()) {
    if (auto files = certified(to_json(plan), true))
      originals.emplace_back("onesided-valid", std::move(*files));
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      if (auto files = certified(to_json(mutated(plan, seed)), false))
        originals.emplace_back("onesided-invalid", std::move(*files));
    }
  }
  REQUIRE(originals.size() > 30);
  std::size_t accepted = 0;
  for (std::uint64_t seed = 0; seed < forgeries; ++seed) {
    auto [claim, files] = originals[seed % originals.size()];
    claim = forge(files, claim, seed);
    check_claim(claim, files, accepted);
  }
  MESSAGE(accepted << " of " << forgeries << " still say what is so");
  CHECK(accepted < forgeries / 2);
}

TEST_CASE("plans of MSCCL++ have certificates of their verdicts") {
  const auto table = shared_text("mscclpp/verdicts.csv");
  if (!table) return;
  std::istringstream lines(*table);
  std::string line;
  std::getline(lines, line);
  std::size_t certificates = 0;
  std::size_t mutants = 0;
  while (std::getline(lines, line)) {
    const std::string file = line.substr(0, line.find(','));
    line.erase(0, file.size() + 1);
    const std::string verdict = line.substr(0, line.find(','));
    const auto plan = shared_text("mscclpp/" + file);
    if (!plan) continue;
    for (const bool valid : {true, false}) {
      if (!certified(*plan, valid)) continue;
      ++certificates;
      CHECK_MESSAGE((verdict == "valid") == valid, file);
    }
    const auto read = read_plan(file, *plan);
    const auto* const original = std::get_if<Plan>(&read);
    if (original == nullptr || original->gpus.size() > 8) continue;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const std::string mutant = to_json(mutated(*original, certificates + seed));
      const bool is_valid = certified(mutant, true).has_value();
      if (!is_valid && !certified(mutant, false)) continue;
      ++mutants;
      CHECK_MESSAGE(judged(mutant) == (is_valid ? Outcome::Established : Outcome::Refuted), file);
    }
  }
  MESSAGE(certificates << " certificates, and " << mutants << " of mutants");
  CHECK(certificates == 173);
  CHECK(mutants > 400);
}

}  // namespace p2::onesided
