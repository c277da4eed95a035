#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "cli/cost/cost_report.h"
#include "cli/output.h"
#include "engine/program/json_text.h"
#include "engine/program/program_file.h"

namespace p2 {
namespace {

/// `,"placement":[[1,8],[4,2]]` or `,"file":"…"`.
std::string json_source(const CostSource& source, const CostRequest& request) {
  return request.files.empty() ? fmt::format(",\"placement\":{}",
                                             json_lists(source.instance->grid.placement().factors))
                               : fmt::format(",\"file\":{}", json_string(source.name));
}

std::string json_candidate(const CostCandidate& candidate) {
  const Instance* const instance =
      candidate.source->instance ? &*candidate.source->instance : nullptr;
  return to_json(candidate.program(), instance, candidate.source->dialect);
}

std::string json_priced(const CostCandidate& candidate, const CostAnswer& answer,
                        const CostRequest& request) {
  std::string steps;
  for (const StepCost* step : candidate.cost.steps) {
    steps += fmt::format("{}{{\"seconds\":{},\"bottleneck\":{}}}", steps.empty() ? "" : ",",
                         to_double(step->seconds(request.bytes)),
                         json_string(bottleneck(*step, answer)));
  }
  return fmt::format(
      "{{\"program\":{},\"text\":{}{},\"seconds\":{},\"allreduce_seconds\":{},\"speedup\":{},"
      "\"steps\":[{}]}}",
      json_candidate(candidate), json_string(candidate.text()),
      json_source(*candidate.source, request), to_double(candidate.cost.seconds(request.bytes)),
      to_double(candidate.source->allreduce.seconds(request.bytes)),
      speedup(candidate, request.bytes), steps);
}

void print_json_reigns(const CostAnswer& answer, const CostRequest& request, std::ostream& out) {
  const char* separator = "\n";
  out << ",\"sizes\":[";
  for (const Reign& reign : reigns_of(answer, request)) {
    const CostCandidate& best = answer.ranked[reign.program];
    fmt::print(out,
               "{}{{\"from\":{},\"to\":{},\"program\":{},\"text\":{}{},\"seconds\":[{},{}],"
               "\"speedup\":[{},{}]}}",
               separator, reign.from.str(), reign.to.str(), json_candidate(best),
               json_string(best.text()), json_source(*best.source, request),
               to_double(best.cost.seconds(reign.from)), to_double(best.cost.seconds(reign.to)),
               speedup(best, reign.from), speedup(best, reign.to));
    separator = ",\n";
  }
  out << "\n]";
}

/// Of the sources, the seconds of the fastest single AllReduce; null without any.
std::string fastest_allreduce(const CostAnswer& answer, const CostRequest& request) {
  if (answer.sources.empty()) return "null";
  std::vector<Rational> seconds;
  for (const CostSource& source : answer.sources) {
    seconds.push_back(source.allreduce.seconds(request.bytes));
  }
  return fmt::format("{}", to_double(*std::min_element(seconds.begin(), seconds.end())));
}

}  // namespace

void print_json(const CostAnswer& answer, const CostRequest& request, std::ostream& out) {
  fmt::print(out,
             "{{\"system\":{},\"algorithm\":\"{}\",\"bytes\":{},\"allreduce_seconds\":{},"
             "\"programs\":[",
             json_string(request.system.name), to_string(request.algorithm), request.bytes,
             fastest_allreduce(answer, request));
  const std::size_t shown =
      std::min<std::size_t>(request.top.value_or(answer.ranked.size()), answer.ranked.size());
  for (std::size_t i = 0; i < shown; ++i) {
    fmt::print(out, "{}{}", i == 0 ? "\n" : ",\n", json_priced(answer.ranked[i], answer, request));
  }
  out << "\n],\"refused\":[";
  for (const CostRefusal& refusal : answer.refused) {
    fmt::print(out, "{}{{\"file\":{},\"step\":{},\"verdict\":\"{}\",\"reason\":{}}}",
               &refusal == &answer.refused.front() ? "\n" : ",\n", json_string(refusal.file),
               refusal.step, refusal.undecided ? "unknown" : "invalid",
               json_string(refusal.reason));
  }
  out << "]";
  if (request.sizes && !answer.ranked.empty()) print_json_reigns(answer, request, out);
  fmt::print(out, ",\"complete\":{}}}\n", answer.complete);
}

}  // namespace p2
