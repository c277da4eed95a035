#include "proofs/certificate/subject_certificates.h"

#include <chrono>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "proofs/kernel/claims.h"

namespace p2 {
namespace {

using Problem = nlohmann::ordered_json;
using hlo::TensorRelation;

/// Of every way in which p2-check draws inputs, so many are tried.
constexpr unsigned kSeeds = 3;

/// `add`, `multiply`, `maximum`, `minimum`; empty for a whole in one part; nothing for others.
std::optional<std::string> reducer_of(const TensorRelation& relation) {
  switch (relation.reducer) {
    case hlo::Reducer::Unknown:
      return "";
    case hlo::Reducer::Add:
    case hlo::Reducer::Multiply:
    case hlo::Reducer::Maximum:
    case hlo::Reducer::Minimum:
      return std::string(to_string(relation.reducer));
    default:
      return std::nullopt;
  }
}

std::optional<Problem> json_of(const std::vector<TensorRelation>& relations) {
  Problem all = Problem::array();
  for (const TensorRelation& relation : relations) {
    const auto reducer = reducer_of(relation);
    // p2-check takes all parts to be held, and a tensor to have the same number on all devices.
    if (!reducer || relation.parts_are_devices || !relation.numbers.empty()) return std::nullopt;
    Problem pieces = Problem::array();
    for (std::uint32_t device = 0; device < relation.pieces.size(); ++device) {
      for (const hlo::Piece& piece : relation.pieces[device]) {
        Problem numbers = {device, relation.part_of(device)};
        for (const auto* list : {&piece.of, &piece.at, &piece.sizes}) {
          for (const std::int64_t each : *list) numbers.push_back(each);
        }
        pieces.push_back(std::move(numbers));
      }
    }
    all.push_back({{"number", relation.number},
                   {"reducer", *reducer},
                   {"parts", relation.parts},
                   {"pieces", std::move(pieces)}});
  }
  return all;
}

std::optional<Problem> json_of(const hlo::ModuleRelation& relation) {
  if (relation.is_partitioned() || relation.is_ambiguous) {
    Problem json = {{"kind", "devices"}};
    if (relation.replication.empty()) return json;
    for (const char* key : {"same_on_partitions", "same_on_replicas"}) json[key] = Problem::array();
    for (std::size_t k = 0; k < relation.replication.size(); ++k) {
      if (relation.replication[k].on_partitions) json["same_on_partitions"].push_back(k);
      if (relation.replication[k].on_replicas) json["same_on_replicas"].push_back(k);
    }
    return json;
  }
  if (!relation.is_mixed()) return Problem{{"kind", "replicated"}};
  auto inputs = json_of(relation.inputs);
  auto outputs = json_of(relation.outputs);
  if (!inputs || !outputs) return std::nullopt;
  return Problem{{"kind", "global"},
                 {"global", relation.before == hlo::Form::Global ? "before" : "after"},
                 {"inputs", std::move(*inputs)},
                 {"outputs", std::move(*outputs)}};
}

/// p2-check allows itself 2^30 units of work: for an operation at most 24, at two points.
constexpr double kMaxOperations = 1.5 * 1073741824.0 / 48;
/// In what time it does one of them, at most, in seconds.
constexpr double kSecondsPerOperation = 1e-6;

std::string text_of(const Problem& json) {
  return json.dump(-1, ' ', false, Problem::error_handler_t::replace) + "\n";
}

/// The names of constants that are printed without their elements, but for one of two of them.
std::set<std::string> elided_constants(const std::string& text) {
  std::set<std::string> names, twice;
  const std::string elided = " constant({...})";
  for (std::size_t at = text.find(elided); at != std::string::npos;
       at = text.find(elided, at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1;
    const std::size_t equals = text.find(" = ", line);
    if (equals > at) continue;
    const std::size_t name = text.find_last_of(" %\n", equals - 1) + 1;
    const std::string found = text.substr(name, equals - name);
    if (!names.insert(found).second) twice.insert(found);
  }
  for (const std::string& each : twice) names.erase(each);
  return names;
}

}  // namespace

std::optional<CertificateFiles> problem_of(const CertifiedModules& modules,
                                           const hlo::ModuleRelation& relation,
                                           const hlo::Devices& devices,
                                           const std::vector<std::string>& constants) {
  const auto json = json_of(relation);
  if (!json) return std::nullopt;
  Problem problem = {{"before", modules.before},
                     {"after", modules.after},
                     {"replicas", devices.replicas},
                     {"partitions", devices.partitions},
                     {"relation", *json}};
  if (!constants.empty()) problem["constants"] = constants;
  for (const FoldedConstant& fold : modules.folds) {
    problem["folds"].push_back(
        {fold.type, fold.text, fold.opcode, fold.operands[0], fold.operands[1]});
  }
  if (!modules.finite.empty()) problem["finite"] = modules.finite;
  if (!modules.written_from.empty()) problem["written_from"] = modules.written_from;
  return CertificateFiles{{"problem.json", text_of(problem)}};
}

std::vector<std::string> common_elided_constants(const std::string& before,
                                                 const std::string& after) {
  const std::set<std::string> own = elided_constants(before);
  std::vector<std::string> both;
  for (const std::string& each : elided_constants(after)) {
    if (own.contains(each)) both.push_back(each);
  }
  return both;
}

std::variant<CertificateFiles, std::string> related_certificate(
    const CertifiedModules& modules, const hlo::ModuleRelation& relation,
    const hlo::Devices& devices, const std::vector<std::string>& constants,
    const Provenance& provenance, const Limits& limits) {
  auto files = problem_of(modules, relation, devices, constants);
  if (!files) return "p2-check does not know this relation";
  auto evidence = relation_evidence(*files, limits);
  if (evidence.index() != 0) return std::get<1>(evidence);
  (*files)["relation.json"] = std::move(std::get<0>(evidence));
  add_manifest("modules-equal", provenance, *files);
  const kernel::Result result = check_certificate(*files);
  if (result.verdict != kernel::Verdict::Accepted) return result.reason;
  return *files;
}

std::variant<CertificateFiles, std::string> module_certificate(const CertifiedModules& modules,
                                                               const hlo::ModuleDecision& decision,
                                                               const Provenance& provenance,
                                                               const Limits& limits) {
  if (!decision.relation) return "the modules were not compared by their values";
  if (decision.operations > kMaxOperations)
    return "executing the modules would take more work than p2-check allows itself";
  const auto left = limits.deadline ? *limits.deadline - std::chrono::steady_clock::now()
                                    : std::chrono::hours(24);
  if (decision.operations * kSecondsPerOperation > std::chrono::duration<double>(left).count())
    return "the time left is not enough for p2-check to execute the modules";
  auto files = problem_of(modules, *decision.relation, decision.devices, {});
  if (!files) return "p2-check does not know this relation";
  const CheckDeadline deadline(limits.deadline);
  if (decision.outcome == Outcome::Established) {
    add_manifest("modules-equal", provenance, *files);
    const kernel::Result result = check_certificate(*files);
    if (result.verdict == kernel::Verdict::Accepted) return *files;
    return result.reason;
  }
  try {
    (*files)["run.json"] = kernel::differing_run(*files, kSeeds);
  } catch (const kernel::CheckFailure& failure) {
    return failure.what();
  }
  if ((*files)["run.json"].empty()) return "p2-check finds no difference by executing the modules";
  add_manifest("modules-different", provenance, *files);
  return *files;
}

}  // namespace p2
