#include "p2/cost.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "engine/campaign/campaign.h"
#include "engine/cost/pricing.h"
#include "p2/bytes.h"
#include "p2/error.h"
#include "proofs/api/campaigns.h"
#include "proofs/api/terms.h"

namespace p2 {
namespace {

std::pair<std::uint64_t, std::uint64_t> parse_sizes(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw InputError({"--sizes"},
                     fmt::format("\"{}\" is not a range, expected one such as 1K:1G", text));
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

/// The question about one system; adds to `answer` what was found of the user's definitions.
CostQuestion parse(const CostRequest& request, const InstanceSpec& spec, const Options& options,
                   CostAnswer& answer) {
  CostQuestion question{request, given_instance(spec), system_of(spec)};
  question.bytes = parse_bytes("--bytes", request.bytes);
  read_algorithm(question);
  if (request.sizes) question.sizes = parse_sizes(*request.sizes);
  if (request.files.empty() && !request.fit) require_system(question.given, true);
  Soundness soundness = read_terms(spec, options, question.given);
  answer.outcome = worst(answer.outcome, soundness.outcome);
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

/// The placements of all systems as questions of a campaign.
class PricingQuestions final : public campaign::Questions {
 public:
  PricingQuestions(const std::deque<CostQuestion>& questions, const Options& options) {
    for (const CostQuestion& question : questions) {
      const std::size_t placements = systems_.emplace_back(question, options).count();
      for (std::size_t i = 0; i < placements; ++i) places_.emplace_back(systems_.size() - 1, i);
    }
  }

  std::size_t count() const override { return places_.size(); }
  double expected_cost(std::size_t question) const override {
    const auto [system, placement] = places_[question];
    return systems_[system].expected_cost(placement);
  }
  Answer ask(std::size_t question, const Limits& limits) override {
    const auto [system, placement] = places_[question];
    PlacementPricing::Priced priced = systems_[system].price(placement, limits);
    return {std::move(priced.json), priced.complete || !campaign::may_be_cut_short(limits)};
  }
  void record(std::size_t question, const nlohmann::ordered_json& answer) override {
    const auto [system, placement] = places_[question];
    systems_[system].record(placement, answer);
  }

  /// By system, the placements of a shard.
  std::vector<Pricing> take(const campaign::Shard& shard) {
    const std::vector<std::uint32_t> shards = campaign::shard_of_questions(*this, shard.count);
    std::vector<std::vector<bool>> wanted(systems_.size());
    for (std::size_t question = 0; question < count(); ++question) {
      wanted[places_[question].first].push_back(shards[question] == shard.number);
    }
    std::vector<Pricing> pricings;
    for (std::size_t i = 0; i < systems_.size(); ++i) {
      pricings.push_back(systems_[i].take(wanted[i]));
    }
    return pricings;
  }

 private:
  std::deque<PlacementPricing> systems_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // by question: system, placement
};

/// Adds the ranking of one system to the answer. Returns its document.
Document add_pricing(const Pricing& pricing, const CostQuestion& question, CostAnswer& answer) {
  const std::size_t priced = pricing.ranked.size();
  answer.priced += priced;
  answer.complete = answer.complete && pricing.complete;
  const std::size_t count = std::min(question.request.top.value_or(priced), priced);
  for (std::size_t i = 0; i < count; ++i) {
    answer.programs.push_back(priced_text(pricing.ranked[i], pricing, question.bytes));
  }
  Document document = cost_document(pricing, question);
  if (question.request.plot && !pricing.ranked.empty()) {
    std::string plot = draw_costs(pricing, question);
    if (question.request.more_instances.empty()) answer.plot = plot;
    document.add(Drawing{"Predicted times, and the fastest program by link", std::move(plot)});
    std::string loads = draw_loads(pricing);
    if (!loads.empty()) {
      document.add(Drawing{"The fastest program on the hardware", std::move(loads)});
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
  return document;
}

void add_pricings(const std::vector<Pricing>& pricings, const std::deque<CostQuestion>& questions,
                  const campaign::Shard& shard, CostAnswer& answer) {
  answer.document.title = "p2-verify cost";
  Json::Array systems;
  for (std::size_t i = 0; i < pricings.size(); ++i) {
    Document document = add_pricing(pricings[i], questions[i], answer);
    if (i > 0) answer.document.line("");
    answer.document.append(document);
    systems.push_back(std::move(document.json));
  }
  if (!questions.front().request.json) return;
  if (questions.size() == 1) {
    answer.document.json = std::move(systems.front());
  } else {
    answer.document.json = Json::object()
                               .add("systems", Json::array(std::move(systems)))
                               .add("complete", answer.complete);
  }
  if (!shard.is_whole()) answer.document.json.add("shard", to_string(shard));
}

Json journal_header(const CostRequest& request, std::size_t questions) {
  Json header = with_instances(campaign::journal_header("cost"), specs_of(request))
                    .add("size", request.max_steps)
                    .add("algorithm", request.algorithm)
                    .add("bytes", request.bytes)
                    .add("top", request.top ? Json(*request.top) : Json())
                    .add("sizes", campaign::optional_text(request.sizes));
  return campaign::with_shard(std::move(header), questions, request.part);
}

/// Throws InputError for what only a question about the placements of one system can have.
void check_request(const CostRequest& request, bool in_campaign) {
  if (!in_campaign && request.more_instances.empty()) return;
  const char* const where = in_campaign ? "--shard, --resume or mpirun" : "--system";
  const char* const why = in_campaign ? "is about all programs of placements"
                                      : "names several systems, whose placements are ranked";
  refuse_flags(where, why,
               {{"compare", request.compare.has_value()}, {"fit", request.fit.has_value()}});
  if (!request.files.empty()) throw InputError({where}, fmt::format("{}, expected no FILE", why));
}

}  // namespace

CostRequest journaled_cost(const nlohmann::ordered_json& header) {
  CostRequest request;
  take_instances(header, request);
  request.max_steps = header.at("size");
  request.algorithm = header.at("algorithm");
  request.bytes = header.at("bytes");
  if (!header.at("top").is_null()) request.top = header.at("top");
  request.sizes = campaign::optional_text(header, "sizes");
  return request;
}

CostAnswer cost(const CostRequest& request, const Options& options, const CampaignRun* run) {
  check_request(request, run != nullptr);
  CostAnswer answer;
  std::deque<CostQuestion> questions;
  for (const InstanceSpec& spec : specs_of(request)) {
    questions.push_back(parse(request, spec, options, answer));
  }
  if (answer.outcome != Outcome::Established) return answer;
  const CostQuestion& first = questions.front();
  if (request.fit && first.nccl) {
    throw InputError({"--fit"},
                     "the system names its GPU: NCCL's model is fitted to a table of measured "
                     "collectives, expected --compare as well");
  }
  if (request.fit) return fit_system(first, options);
  std::vector<Pricing> pricings;
  if (run != nullptr) {
    PricingQuestions placements(questions, options);
    answer.is_leader = run->answer(placements, journal_header(request, placements.count()));
    if (!answer.is_leader) return answer;
    pricings = placements.take(run->shard);
  } else {
    for (const CostQuestion& question : questions) {
      pricings.push_back(price_programs(question, options));
    }
  }
  add_pricings(pricings, questions, run != nullptr ? run->shard : campaign::Shard{}, answer);
  return answer;
}

CostAnswer cost(const CostRequest& request, const Options& options) {
  if (is_campaign(request.part)) {
    const CampaignRun run =
        campaign_run(request.part, options, "cost: {} of {} placements answered");
    return cost(request, options, &run);
  }
  if (!request.compare) return cost(request, options, nullptr);
  check_request(request, false);
  std::optional<Communicator> communicator;
  if (request.instance.system) {
    const System system = system_of(request.instance);
    communicator = NcclSystem(system, {*request.instance.system}).whole();
  }
  return compare_with_measurements(request, communicator);
}

}  // namespace p2
