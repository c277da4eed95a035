#include <fmt/format.h>

#include "cli/check/msccl.h"
#include "cli/output.h"
#include "engine/msccl/loader_limits.h"

namespace p2 {
namespace {

constexpr std::size_t kStepsOfText = 24;
constexpr const char* kAssumption =
    "one transmission per step holds while the chunks of every step fit into one transmission "
    "with the default buffer sizes of NCCL; larger messages are looked at chunk by chunk";

std::string step_members(const msccl::Algorithm& algorithm, msccl::StepPlace place) {
  const msccl::Step& step = algorithm.step(place);
  return fmt::format("\"gpu\":{},\"tb\":{},\"step\":{},\"type\":\"{}\",\"line\":{}", place.gpu,
                     algorithm.block(place).id, step.number, to_string(step.type), step.line);
}

std::string steps_json(const msccl::Algorithm& algorithm,
                       const std::vector<msccl::StepPlace>& steps) {
  std::string json;
  for (const msccl::StepPlace place : steps) {
    json += fmt::format("{}{{{}}}", json.empty() ? "" : ",", step_members(algorithm, place));
  }
  return "[" + json + "]";
}

std::string counterexample_json(const msccl::Algorithm& algorithm, const msccl::Fault& fault) {
  std::string cell = "null";
  if (fault.cell) {
    cell = fmt::format("{{\"gpu\":{},\"buffer\":\"{}\",\"index\":{}}}", fault.cell->gpu,
                       letter(fault.cell->buffer), fault.cell->index);
  }
  std::string cycle;
  for (const msccl::Wait& wait : fault.cycle) {
    cycle += fmt::format("{}{{{},\"before_the_next_by\":\"{}\"}}", cycle.empty() ? "" : ",",
                         step_members(algorithm, wait.step), to_string(wait.before));
  }
  return fmt::format(
      "{{\"rule\":\"{}\",\"in_place\":{},\"steps\":{},\"cell\":{},\"schedule\":{},\"cycle\":[{}]}}",
      to_string(fault.kind), fault.in_place, steps_json(algorithm, fault.steps), cell,
      steps_json(algorithm, fault.schedule), cycle);
}

std::string limits_json(const msccl::Algorithm& algorithm) {
  std::string json;
  for (const msccl::LoaderLimit& limit : loader_limits(algorithm)) {
    json += fmt::format("\"{}\":{{\"allowed\":{},\"found\":{},\"met\":{}}},", limit.name,
                        limit.allowed, limit.found, limit.met());
  }
  const std::vector<msccl::StepPlace> passing = pass_loaders(algorithm);
  return fmt::format("{{{}\"offset_plus_count\":{{\"met\":{},\"not_noticed_by_loaders\":{}}}}}",
                     json, passing.empty(), steps_json(algorithm, passing));
}

std::string bytes_json(const std::optional<std::uint64_t>& bytes) {
  return bytes ? std::to_string(*bytes) : "null";
}

std::string safe_bytes_json(const MscclResult& result) {
  if (!result.verdict.safe_sizes) return "null";
  const msccl::SafeSizes& sizes = *result.verdict.safe_sizes;
  std::string above = "null";
  if (sizes.above) {
    above = fmt::format("{{\"reason\":{},\"counterexample\":{}}}", json_string(sizes.above->reason),
                        counterexample_json(result.algorithm, *sizes.above));
  }
  return fmt::format(
      "{{\"min\":0,\"max\":{},\"declared\":{{\"min\":{},\"max\":{}}},\"covers_declared\":{},"
      "\"above\":{},\"assumption\":\"{}\"}}",
      bytes_json(sizes.most_bytes), result.algorithm.min_bytes,
      bytes_json(result.algorithm.max_bytes), sizes.cover(result.algorithm), above, kAssumption);
}

std::string steps_text(const msccl::Algorithm& algorithm, const char* title,
                       const std::vector<msccl::StepPlace>& steps) {
  std::string text = steps.empty() ? "" : fmt::format("{}\n", title);
  for (std::size_t i = 0; i < steps.size() && i < kStepsOfText; ++i) {
    text += fmt::format("    {}\n", describe(algorithm, steps[i]));
  }
  if (steps.size() > kStepsOfText) {
    text += fmt::format("    … and {} more: --format json has all\n", steps.size() - kStepsOfText);
  }
  return text;
}

std::string fault_text(const msccl::Algorithm& algorithm, const msccl::Fault& fault) {
  std::string text = fault.reason + "\n";
  if (fault.kind == msccl::Fault::Kind::DataRace) {
    return text + steps_text(algorithm, "Both can run at once after", fault.schedule);
  }
  return text + (fault.cell ? steps_text(algorithm, "It was made by", fault.steps) : "");
}

std::string sizes_text(const msccl::Algorithm& algorithm, const msccl::SafeSizes& sizes) {
  if (!sizes.most_bytes) return "messages of any size are safe\n";
  return fmt::format(
      "messages of up to {} bytes are safe{}; above that steps are split: {}\n", *sizes.most_bytes,
      sizes.cover(algorithm) ? ", which is all the file is for" : "", sizes.above->reason);
}

std::string limits_text(const msccl::Algorithm& algorithm) {
  std::string text;
  for (const msccl::LoaderLimit& limit : loader_limits(algorithm)) {
    if (limit.met()) continue;
    text += fmt::format("loaders refuse it: {} is {}, at most {}\n", limit.name, limit.found,
                        limit.allowed);
  }
  return text +
         steps_text(algorithm,
                    "loaders do not notice that these end past a buffer:", pass_loaders(algorithm));
}

std::string way_text(const msccl::Algorithm& algorithm) {
  if (algorithm.in_place && algorithm.out_of_place) return "in place or not";
  return algorithm.in_place ? "in place" : "out of place";
}

}  // namespace

std::string to_json(const MscclResult& result) {
  const msccl::Algorithm& algorithm = result.algorithm;
  const auto& fault = result.verdict.fault;
  const std::string reason = fault ? fault->reason : result.verdict.reason;
  const Finding& finding = result.findings.at("explicit");
  const bool has_step = fault && !fault->steps.empty();
  return fmt::format(
      "{{\"file\":{},\"format\":\"msccl\",\"algorithm\":{},\"collective\":{},\"ranks\":{},"
      "\"chunks\":{},\"protocol\":\"{}\",\"in_place\":{},\"out_of_place\":{},\"verdict\":\"{}\","
      "\"engines\":{{\"explicit\":\"{}\"}},{}\"certificate\":null,\"step\":{},\"reason\":{},"
      "\"counterexample\":{},\"limits\":{},\"safe_bytes\":{}}}",
      json_string(result.file), json_string(algorithm.name), json_string(algorithm.collective),
      algorithm.gpus.size(), algorithm.chunks, to_string(algorithm.protocol), algorithm.in_place,
      algorithm.out_of_place, finding.verdict, finding.verdict,
      result.solvers_left_out ? "\"not_asked\":[\"z3\",\"cnf\"]," : "",
      has_step ? std::to_string(finding.step) : "null",
      reason.empty() ? "null" : json_string(reason),
      fault ? counterexample_json(algorithm, *fault) : "null", limits_json(algorithm),
      safe_bytes_json(result));
}

std::string to_text(const MscclResult& result) {
  const msccl::Algorithm& algorithm = result.algorithm;
  const msccl::Verdict& verdict = result.verdict;
  std::string text = fmt::format(
      "{}: {}{} ({} of {} chunk{} on {} GPU{}, {}, {})\n", result.file, to_string(verdict.kind),
      verdict.fault ? fmt::format(", {}", to_string(verdict.fault->kind)) : "",
      algorithm.collective, algorithm.chunks, algorithm.chunks == 1 ? "" : "s",
      algorithm.gpus.size(), algorithm.gpus.size() == 1 ? "" : "s", to_string(algorithm.protocol),
      way_text(algorithm));
  if (verdict.fault) text += fault_text(algorithm, *verdict.fault);
  if (!verdict.reason.empty()) text += verdict.reason + "\n";
  if (verdict.safe_sizes) text += sizes_text(algorithm, *verdict.safe_sizes);
  text += limits_text(algorithm);
  if (result.solvers_left_out) text += "z3, cnf: not asked, they know programs of collectives\n";
  return text;
}

}  // namespace p2
