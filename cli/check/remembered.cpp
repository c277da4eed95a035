#include "cli/check/remembered.h"

#include <stdexcept>

#include <nlohmann/json.hpp>

#include "cli/check/fault_json.h"
#include "engine/msccl/replay.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/kernel/certificate.h"
#include "p2/version.h"

namespace p2 {
namespace {

using nlohmann::json;

constexpr const char* kProblem = "problem.json";

bool decided(const Findings& findings) {
  for (const auto& [engine, finding] : findings) {
    if (finding.verdict == "unknown") return false;
  }
  return !disagree(findings);
}

json evidence_of(const CertificateFiles& certificate, const Findings& findings) {
  json answers;
  for (const auto& [engine, finding] : findings) {
    answers[engine] = {
        {"verdict", finding.verdict}, {"step", finding.step}, {"rule", finding.rule}};
  }
  return {{"certificate", certificate}, {"findings", answers}};
}

/// The findings of a cache entry for the same engines, if its certificate bears them out.
std::optional<Findings> borne_out(const std::string& entry, const CertificateFiles& ours,
                                  const Finding& explicit_finding) {
  const json evidence = json::parse(entry, nullptr, false);
  if (evidence.is_discarded()) return std::nullopt;
  try {
    const kernel::Files files = evidence.at("certificate").get<kernel::Files>();
    if (files.at(kProblem) != ours.at(kProblem)) return std::nullopt;
    const json claim = json::parse(files.at("manifest.json")).at("claim");
    if (claim != json::parse(ours.at("manifest.json")).at("claim")) return std::nullopt;
    if (check_certificate(files).verdict != kernel::Verdict::Accepted) return std::nullopt;
    Findings findings;
    for (const auto& [engine, answer] : evidence.at("findings").items()) {
      findings[engine] = {answer.at("verdict"), answer.at("step"), answer.at("rule")};
    }
    if (findings.at("explicit") != explicit_finding || !decided(findings)) return std::nullopt;
    return findings;
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const std::out_of_range&) {
    return std::nullopt;
  }
}

}  // namespace

Findings ask_or_remember(const Engines& engines, const ProgramFile& file, const Verdict& verdict,
                         const std::string& text, const Limits& limits, VerdictCache& cache) {
  const bool solvers = engines.z3 || engines.cnf || engines.reference;
  const bool certifiable = verdict.kind != Verdict::Kind::Unknown && file.program.terms.of_paper();
  if (!cache.on() || !solvers || !certifiable) return ask(engines, file, verdict, limits);
  CertificateFiles certificate;
  try {
    certificate = program_certificate(file, verdict,
                                      {{{"p2-verify", build_info().version}}, {{"engine", "explicit"}}, 1});
  } catch (const std::length_error&) {
    return ask(engines, file, verdict, limits);
  }
  if (const auto entry = cache.find(text)) {
    if (auto findings = borne_out(*entry, certificate, finding_of(verdict))) {
      cache.count_hit();
      return *findings;
    }
  }
  Findings findings = ask(engines, file, verdict, limits);
  if (decided(findings)) cache.keep(text, evidence_of(certificate, findings).dump());
  return findings;
}

msccl::Verdict judge_or_remember(const msccl::Algorithm& algorithm, const std::string& text,
                                 const Limits& limits, VerdictCache& cache) {
  if (const auto entry = cache.find(text)) {
    auto fault = parse_cached_fault(*entry);
    if (fault && msccl::shows(algorithm, *fault)) {
      cache.count_hit();
      return {msccl::Verdict::Kind::Invalid, std::move(fault), {}, {}, {}};
    }
  }
  msccl::Verdict verdict = msccl::judge(algorithm, limits);
  if (cache.on() && verdict.fault) cache.keep(text, to_cache_json(*verdict.fault));
  return verdict;
}

}  // namespace p2
