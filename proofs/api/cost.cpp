#include "p2/cost.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/cost/pricing.h"
#include "p2/bytes.h"
#include "p2/suggestion.h"
#include "proofs/api/terms.h"

namespace p2 {
namespace {

std::pair<std::uint64_t, std::uint64_t> parse_sizes(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw InputError({"--sizes"},
                     fmt::format("\"{}\" is no range, expected one such as 1K:1G", text));
  }
  const std::uint64_t low = parse_bytes("--sizes", text.substr(0, colon));
  const std::uint64_t high = parse_bytes("--sizes", text.substr(colon + 1));
  if (low > high) {
    throw InputError({"--sizes"}, "the first size is larger than the last, expected SMALL:LARGE");
  }
  return {low, high};
}

void read_algorithm(CostQuestion& question) {
  const System& system = question.system;
  std::string name = question.request.algorithm;
  if (NcclSystem::describes(system)) {
    question.nccl.emplace(system, SourcePosition{"command line"});
    if (name.empty()) name = "auto";
    question.choice.algorithm = find_nccl_algorithm(name);
    if (!question.choice.algorithm && name != "auto") {
      throw InputError({"--algorithm"},
                       unknown_name(name, "auto, ring, tree, nvls, nvlstree, collnet or pat"));
    }
  } else {
    if (name.empty()) name = "ring";
    const auto algorithm = find_algorithm(name);
    if (!algorithm) {
      throw InputError({"--algorithm"},
                       unknown_name(name, "ring or tree") +
                           (find_nccl_algorithm(name) || name == "auto"
                                ? "; others need a system that names its gpu and fabric"
                                : ""));
    }
    question.algorithm = *algorithm;
  }
  question.algorithm_name = name;
}

/// Adds to `answer` what was found of the user's definitions.
CostQuestion parse(const CostRequest& request, const Options& options, CostAnswer& answer) {
  CostQuestion question{request, given_instance(request.instance), system_of(request.instance)};
  question.bytes = parse_bytes("--bytes", request.bytes);
  read_algorithm(question);
  if (request.sizes) question.sizes = parse_sizes(*request.sizes);
  if (request.files.empty() && !request.fit) require_system(question.given, true);
  Soundness soundness = read_terms(request.instance, options, question.given);
  answer.outcome = soundness.outcome;
  answer.diagnostics = std::move(soundness.diagnostics);
  return question;
}

PricedText priced_text(const CostCandidate& candidate, const Pricing& pricing,
                       const Rational& bytes) {
  PricedText text{candidate.source->name,
                  candidate.text(),
                  to_double(candidate.cost.seconds(bytes)),
                  {},
                  {},
                  candidate.speedup(bytes),
                  {}};
  if (const auto& baseline = candidate.source->baseline) {
    text.baseline = baseline->collective;
    text.baseline_seconds = to_double(baseline->cost.seconds(bytes));
  }
  for (const StepCost* step : candidate.cost.steps) {
    text.steps.push_back({to_double(step->seconds(bytes)), pricing.bottleneck(*step, bytes),
                          Pricing::way(*step, bytes)});
  }
  return text;
}

}  // namespace

CostAnswer cost(const CostRequest& request, const Options& options) {
  if (request.compare) {
    std::optional<Communicator> communicator;
    if (request.instance.system) {
      const System system = system_of(request.instance);
      communicator = NcclSystem(system, {*request.instance.system}).whole();
    }
    return compare_with_measurements(request, communicator);
  }
  CostAnswer answer;
  const CostQuestion question = parse(request, options, answer);
  if (answer.outcome != Outcome::Established) return answer;
  if (request.fit && question.nccl) {
    throw InputError({"--fit"},
                     "the system names its GPU: NCCL's model is fitted to a table of measured "
                     "collectives, expected --compare as well");
  }
  if (request.fit) return fit_system(question, options);
  const Pricing pricing = price_programs(question, options);
  answer.priced = pricing.ranked.size();
  answer.complete = pricing.complete;
  const std::size_t count = std::min(request.top.value_or(answer.priced), answer.priced);
  for (std::size_t i = 0; i < count; ++i) {
    answer.programs.push_back(priced_text(pricing.ranked[i], pricing, question.bytes));
  }
  answer.document = cost_document(pricing, question);
  if (request.plot && !pricing.ranked.empty()) {
    answer.plot = draw_costs(pricing, question);
    answer.document.add(Drawing{"Predicted times, and the fastest program by link", answer.plot});
    std::string loads = draw_loads(pricing);
    if (!loads.empty()) {
      answer.document.add(Drawing{"The fastest program on the hardware", std::move(loads)});
    }
  }
  for (const CostRefusal& refusal : pricing.refused) {
    Result result{refusal.file, refusal.undecided ? Outcome::Undecided : Outcome::Refuted};
    if (refusal.undecided) {
      result.undecided = Undecided{Undecided::Reason::Limit, refusal.reason};
    } else {
      result.counterexample = Counterexample{{}, {refusal.file}, refusal.reason, {}};
    }
    answer.outcome = worst(answer.outcome, result.outcome);
    answer.results.push_back(std::move(result));
  }
  if (!pricing.complete) answer.outcome = worst(answer.outcome, Outcome::Undecided);
  return answer;
}

}  // namespace p2
