#include "proofs/api/subject_check.h"

#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/msccl/step_graph.h"
#include "p2/version.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/kernel/certificate.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "p2-verify-cache/1";
constexpr std::size_t kMaxEntryBytes = std::size_t{16} << 20;
constexpr std::size_t kDigestLength = 64;
constexpr const char* kProblem = "problem.json";
constexpr const char* kManifest = "manifest.json";

/// An entry: the first line, the digest of the evidence, the evidence.
std::string entry_of(const std::string& evidence) {
  return fmt::format("{}\n{}\n{}", kFirstLine, sha256(evidence), evidence);
}

std::optional<std::string> evidence_in(const std::string& entry) {
  const std::size_t digest = kFirstLine.size() + 1;
  const std::size_t start = digest + kDigestLength + 1;
  if (entry.size() < start || !entry.starts_with(kFirstLine)) return std::nullopt;
  const std::string evidence = entry.substr(start);
  if (entry.substr(digest, kDigestLength) != sha256(evidence)) return std::nullopt;
  return evidence;
}

}  // namespace

EvidenceCache::EvidenceCache(std::optional<std::string> folder, std::string options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (!folder_) return;
  std::error_code failure;
  fs::create_directories(*folder_, failure);
  if (!fs::is_directory(*folder_, failure)) {
    throw InputError({*folder_}, "cannot be made, expected a folder for --cache");
  }
}

std::string EvidenceCache::path_of(const std::string& text) const {
  const std::string key = sha256(
      fmt::format("{}\n{}\n{}\n{}", kFirstLine, build_info().version, options_, sha256(text)));
  return fmt::format("{}/{}", *folder_, key);
}

std::optional<std::string> EvidenceCache::find(const std::string& text) const {
  if (!folder_) return std::nullopt;
  const std::string path = path_of(text);
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return std::nullopt;
  try {
    return evidence_in(read_file(path));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void EvidenceCache::count_hit() {
  const std::lock_guard lock(mutex_);
  ++hits_;
}

void EvidenceCache::keep(const std::string& text, const std::string& evidence) {
  if (!folder_ || evidence.size() > kMaxEntryBytes) return;
  const std::lock_guard lock(mutex_);
  kept_[path_of(text)] = entry_of(evidence);
}

void EvidenceCache::write(std::vector<Diagnostic>& diagnostics) {
  for (const auto& [path, entry] : kept_) {
    const std::string failure = write_whole_file(path, [&](std::ostream& file) { file << entry; });
    if (failure.empty()) {
      ++stored_;
    } else {
      diagnostics.push_back({Diagnostic::Kind::Note, path + ": " + failure});
    }
  }
  kept_.clear();
}

// Programs: a certificate and the answers of the engines.

namespace {

bool all_decided(const std::vector<EngineAnswer>& answers) {
  for (const EngineAnswer& answer : answers) {
    if (answer.outcome == Outcome::Undecided) return false;
  }
  return !disagree(answers);
}

nlohmann::json answers_evidence(const CertificateFiles& certificate,
                                const std::vector<EngineAnswer>& answers) {
  nlohmann::json findings;
  for (const EngineAnswer& answer : answers) {
    findings[answer.engine] = {
        {"verdict", to_string(answer.outcome)}, {"step", answer.step}, {"rule", answer.rule}};
  }
  return {{"certificate", certificate}, {"findings", findings}};
}

std::optional<Outcome> outcome_named(const std::string& name) {
  for (const Outcome outcome : {Outcome::Established, Outcome::Refuted}) {
    if (name == to_string(outcome)) return outcome;
  }
  return std::nullopt;
}

/// The answers of a cache entry, if the kernel accepts its certificate, it is about the same
/// problem and claim as `ours`, and the explicit engine's answer is the same.
std::optional<std::vector<EngineAnswer>> accepted_answers(const std::string& entry,
                                                          const CertificateFiles& ours,
                                                          const EngineAnswer& explicit_answer) {
  const nlohmann::json evidence = nlohmann::json::parse(entry, nullptr, false);
  if (evidence.is_discarded()) return std::nullopt;
  try {
    const kernel::Files files = evidence.at("certificate").get<kernel::Files>();
    if (!files.contains(kProblem) || files.at(kProblem) != ours.at(kProblem)) return std::nullopt;
    if (!files.contains(kManifest)) return std::nullopt;
    const nlohmann::json claim = nlohmann::json::parse(files.at(kManifest)).at("claim");
    if (claim != nlohmann::json::parse(ours.at(kManifest)).at("claim")) return std::nullopt;
    if (check_certificate(files).verdict != kernel::Verdict::Accepted) return std::nullopt;
    std::vector<EngineAnswer> answers;
    bool same_explicit = false;
    for (const auto& [engine, answer] : evidence.at("findings").items()) {
      const auto outcome = outcome_named(answer.at("verdict"));
      if (!outcome) return std::nullopt;
      answers.push_back({engine, *outcome, answer.at("step"), answer.at("rule")});
      same_explicit = same_explicit || answers.back() == explicit_answer;
    }
    if (!same_explicit || !all_decided(answers)) return std::nullopt;
    return answers;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<EngineAnswer> ask_with_cache(const Engines& engines, const ProgramFile& file,
                                         const ProgramDecision& decision, const std::string& text,
                                         const Limits& limits, EvidenceCache& cache) {
  const bool solvers = engines.z3 || engines.cnf || engines.reference;
  const EngineAnswer explicit_answer = engine_answer(decision);
  const bool certifiable =
      explicit_answer.outcome != Outcome::Undecided && file.program.terms.of_paper();
  if (!cache.enabled() || !solvers || !certifiable) return ask(engines, file, decision, limits);
  CertificateFiles certificate;
  try {
    certificate = program_certificate(
        file, decision, {{{"p2-verify", build_info().version}}, {{"engine", "explicit"}}, 1});
  } catch (const LimitReached&) {
    return ask(engines, file, decision, limits);
  }
  if (const auto entry = cache.find(text)) {
    if (auto answers = accepted_answers(*entry, certificate, explicit_answer)) {
      cache.count_hit();
      return *answers;
    }
  }
  std::vector<EngineAnswer> answers = ask(engines, file, decision, limits);
  if (all_decided(answers)) cache.keep(text, answers_evidence(certificate, answers).dump());
  return answers;
}

// Algorithms: a fault that can be replayed.

namespace {

nlohmann::json steps_json(msccl::StepPlace place) { return {place.gpu, place.block, place.step}; }

msccl::StepPlace place_of(const nlohmann::json& value) {
  return {value.at(0).get<std::uint32_t>(), value.at(1).get<std::uint32_t>(),
          value.at(2).get<std::uint32_t>()};
}

nlohmann::json steps_json(const std::vector<msccl::StepPlace>& places) {
  nlohmann::json list = nlohmann::json::array();
  for (const msccl::StepPlace place : places) list.push_back(steps_json(place));
  return list;
}

std::vector<msccl::StepPlace> places_of(const nlohmann::json& list) {
  std::vector<msccl::StepPlace> places;
  for (const nlohmann::json& value : list) places.push_back(place_of(value));
  return places;
}

std::string fault_evidence(const msccl::Fault& fault) {
  nlohmann::json cycle = nlohmann::json::array();
  for (const msccl::Wait& wait : fault.cycle) {
    cycle.push_back({steps_json(wait.step), static_cast<int>(wait.before)});
  }
  nlohmann::json value = {{"kind", static_cast<int>(fault.kind)},
                          {"reason", fault.reason},
                          {"steps", steps_json(fault.steps)},
                          {"schedule", steps_json(fault.schedule)},
                          {"cycle", cycle},
                          {"in_place", fault.in_place}};
  if (fault.cell) {
    value["cell"] = {fault.cell->gpu, static_cast<int>(fault.cell->buffer), fault.cell->index};
  }
  return value.dump();
}

std::optional<msccl::Fault> parse_fault_evidence(const std::string& text) {
  const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  try {
    msccl::Fault fault{static_cast<msccl::Fault::Kind>(value.at("kind").get<std::uint8_t>()),
                       value.at("reason"),
                       places_of(value.at("steps")),
                       {},
                       places_of(value.at("schedule")),
                       {},
                       value.at("in_place")};
    for (const nlohmann::json& wait : value.at("cycle")) {
      fault.cycle.push_back(
          {place_of(wait.at(0)), static_cast<msccl::EdgeKind>(wait.at(1).get<std::uint8_t>())});
    }
    if (value.contains("cell")) {
      const nlohmann::json& cell = value.at("cell");
      fault.cell = {cell.at(0), static_cast<msccl::Buffer>(cell.at(1).get<std::uint8_t>()),
                    cell.at(2)};
    }
    return fault;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

msccl::AlgorithmDecision judge_with_cache(const msccl::Algorithm& algorithm,
                                          const std::string& text, const Limits& limits,
                                          EvidenceCache& cache) {
  if (const auto entry = cache.find(text)) {
    auto fault = parse_fault_evidence(*entry);
    if (fault && msccl::can_replay(algorithm, *fault)) {
      cache.count_hit();
      return {{Outcome::Refuted, std::move(fault), {}}, {}, {}};
    }
  }
  msccl::AlgorithmDecision decision = msccl::judge(algorithm, limits);
  if (cache.enabled() && decision.violation) cache.keep(text, fault_evidence(*decision.violation));
  return decision;
}

}  // namespace p2
