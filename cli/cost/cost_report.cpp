#include "cli/cost/cost_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>

#include "cli/byte_size.h"
#include "cli/table.h"

namespace p2 {
namespace {

constexpr std::size_t kShown = 20;

std::string source_heading(const CostRequest& request) {
  return request.files.empty() ? "placement" : "file";
}

void print_ranking(const CostAnswer& answer, const CostRequest& request, std::ostream& out) {
  const std::size_t shown =
      std::min<std::size_t>(request.top.value_or(kShown), answer.ranked.size());
  TableRows rows{
      {"rank", "time", "speedup", source_heading(request), "slowest step waits for", "program"}};
  for (std::size_t i = 0; i < shown; ++i) {
    const CostCandidate& each = answer.ranked[i];
    rows.push_back({std::to_string(i + 1),
                    duration_to_string(to_double(each.cost.seconds(request.bytes))),
                    fmt::format("{:.2f}x", speedup(each, request.bytes)), each.source->name,
                    slowest_link(each, answer, request.bytes), each.text()});
  }
  print_table(rows, 3, out);
  if (shown < answer.ranked.size()) {
    fmt::print(out, "… and {} more: --top {} shows all\n", answer.ranked.size() - shown,
               answer.ranked.size());
  }
}

void print_reigns(const CostAnswer& answer, const CostRequest& request, std::ostream& out) {
  fmt::print(out, "\nthe fastest program by size, in bytes per device\n");
  TableRows rows{{"from", "to", "time", "to", "speedup", "to", source_heading(request), "program"}};
  for (const Reign& reign : reigns_of(answer, request)) {
    const CostCandidate& best = answer.ranked[reign.program];
    const auto time = [&](const Integer& bytes) {
      return duration_to_string(to_double(best.cost.seconds(bytes)));
    };
    rows.push_back({bytes_to_string(reign.from.convert_to<std::uint64_t>()),
                    bytes_to_string(reign.to.convert_to<std::uint64_t>()), time(reign.from),
                    time(reign.to), fmt::format("{:.2f}x", speedup(best, reign.from)),
                    fmt::format("{:.2f}x", speedup(best, reign.to)), best.source->name,
                    best.text()});
  }
  print_table(rows, 6, out);
}

}  // namespace

std::string bottleneck(const StepCost& step, const CostAnswer& answer) {
  return step.seconds_per_byte == 0 ? "none" : answer.network->name(step.bottleneck);
}

double speedup(const CostCandidate& candidate, const Rational& bytes) {
  const Rational seconds = candidate.cost.seconds(bytes);
  return seconds == 0 ? 1 : to_double(candidate.source->allreduce.seconds(bytes) / seconds);
}

std::vector<Reign> reigns_of(const CostAnswer& answer, const CostRequest& request) {
  std::vector<const ProgramCost*> costs;
  for (const CostCandidate& candidate : answer.ranked) costs.push_back(&candidate.cost);
  return reigns(costs, request.sizes->first, request.sizes->second);
}

std::string slowest_link(const CostCandidate& candidate, const CostAnswer& answer,
                         const Rational& bytes) {
  const auto& steps = candidate.cost.steps;
  const auto slowest = std::max_element(
      steps.begin(), steps.end(),
      [&](const StepCost* a, const StepCost* b) { return a->seconds(bytes) < b->seconds(bytes); });
  return slowest == steps.end() ? "none" : bottleneck(**slowest, answer);
}

std::string duration_to_string(double seconds) {
  constexpr std::array<std::string_view, 4> kUnits{"s", "ms", "us", "ns"};
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && seconds < 1 && seconds != 0; ++unit) seconds *= 1000;
  return fmt::format("{:#.4g} {}", seconds, kUnits[unit]);
}

void print_text(const CostAnswer& answer, const CostRequest& request, std::ostream& out) {
  fmt::print(out, "{}: {}   {}, {} bytes per device\n\n", request.system.name,
             to_string(request.system.hierarchy), to_string(request.algorithm),
             bytes_to_string(request.bytes));
  if (!answer.ranked.empty()) {
    for (const CostSource& source : answer.sources) {
      fmt::print(out, "single AllReduce, {}: {}\n", source.name,
                 duration_to_string(to_double(source.allreduce.seconds(request.bytes))));
    }
    out << "\n";
    print_ranking(answer, request, out);
    if (request.sizes) print_reigns(answer, request, out);
  }
  for (const CostRefusal& refusal : answer.refused) {
    fmt::print(out, "{}: not priced, {}\n{}\n", refusal.file,
               refusal.undecided ? "undecided" : "invalid", refusal.reason);
  }
  if (!answer.complete) out << "stopped at a limit: there may be more programs\n";
}

}  // namespace p2
