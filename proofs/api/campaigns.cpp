#include "proofs/api/campaigns.h"

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "encodings/cnf/drat_to_lrat.h"
#include "engine/base/files.h"
#include "engine/base/limits.h"
#include "engine/campaign/campaign.h"
#include "engine/execution/processes/rank_processes.h"
#include "proofs/kernel/certificate.h"

namespace p2 {
namespace {

using Record = nlohmann::ordered_json;
using campaign::optional_text;

bool is_mpi_run() {
#ifdef P2_HAS_MPI
  return execution::under_mpirun();
#else
  return false;
#endif
}

bool answer_questions(const CampaignPart& part, const Options& options, const std::string& counted,
                      campaign::Questions& questions, const Json& header) {
#ifdef P2_HAS_MPI
  std::optional<campaign::MpiQueue> processes;
  if (is_mpi_run()) {
    processes.emplace();
    if (!processes->is_leader()) {
      processes->serve(questions, header.dump(), options.jobs, options.limits);
      return false;
    }
  }
#endif
  std::optional<campaign::Journal> journal;
  if (part.journal) journal.emplace(*part.journal, header);
  campaign::Counters counters;
  const ProgressReporter progress(options.progress, [&] {
    return fmt::format(fmt::runtime(counted), counters.known.load() + counters.done.load(),
                       counters.questions.load());
  });
  campaign::Collector collector(questions, {part.shard, part.shards}, journal ? &*journal : nullptr,
                                &counters);
#ifdef P2_HAS_MPI
  if (processes) {
    processes->lead(questions, collector, header.dump(), options.jobs, options.limits);
    return true;
  }
#endif
  campaign::run_on_threads(questions, collector, options.jobs, options.limits);
  return true;
}

/// Which cubes of a folder are refuted.
class CubeQuestions final : public campaign::Questions {
 public:
  CubeQuestions(std::string folder, std::size_t cubes)
      : folder_(std::move(folder)), refuted_(cubes, Outcome::Undecided) {}

  std::size_t count() const override { return refuted_.size(); }
  double expected_cost(std::size_t) const override { return 1; }
  Answer ask(std::size_t question, const Limits& limits) override try {
    return {cnf::refute_cube(folder_, question + 1, limits) ? "true" : "false"};
  } catch (const LimitReached&) {
    return {"null", false};
  }
  void record(std::size_t question, const nlohmann::ordered_json& answer) override {
    refuted_[question] = answer.is_null()     ? Outcome::Undecided
                         : answer.get<bool>() ? Outcome::Established
                                              : Outcome::Refuted;
  }

  const std::vector<Outcome>& refuted() const { return refuted_; }

 private:
  std::string folder_;
  std::vector<Outcome> refuted_;
};

/// `3 of 33 cubes`, `… of shard 1 of 4`.
std::string cubes_text(std::size_t some, std::size_t all, const CampaignPart& part) {
  return fmt::format(
      "{} of {} cube{}{}", some, all, all == 1 ? "" : "s",
      part.shards == 1 ? "" : fmt::format(" of shard {} of {}", part.shard, part.shards));
}

}  // namespace

std::string cubes_written(std::size_t count, const std::string& folder) {
  return fmt::format("{} cube{} in {}: refute each, then give --certify", count,
                     count == 1 ? " is" : "s are", printable(folder));
}

CampaignAnswer refute_cubes(const CubesRequest& request, const Options& options) {
  const cnf::CubeFolder folder = cnf::read_cube_folder(request.folder);
  CubeQuestions cubes(request.folder, folder.cubes);
  const Json header = campaign::with_shard(campaign::journal_header("campaign")
                                               .add("cubes", request.folder)
                                               .add("formula", folder.formula),
                                           folder.cubes, request.part);
  const CampaignRun run = campaign_run(request.part, options, "{} of {} cubes refuted");
  CampaignAnswer answer;
  answer.is_leader = run.answer(cubes, header);
  if (!answer.is_leader) return answer;
  const std::vector<std::uint32_t> shards =
      campaign::shard_of_questions(cubes, request.part.shards);
  std::map<Outcome, std::size_t> counts;
  std::size_t asked = 0;
  std::optional<std::size_t> first_model;
  for (std::size_t i = 0; i < folder.cubes; ++i) {
    if (shards[i] != request.part.shard) continue;
    const Outcome outcome = cubes.refuted()[i];
    ++asked;
    ++counts[outcome];
    if (outcome == Outcome::Refuted && !first_model) first_model = i + 1;
    answer.outcome = worst(answer.outcome, outcome);
  }
  const std::size_t open = counts[Outcome::Undecided];
  Document& document = answer.document;
  document.title = "p2-verify campaign";
  document.line(cubes_text(counts[Outcome::Established], asked, request.part) +
                " are refuted, with proofs in " + request.folder);
  if (first_model) {
    document.line(
        fmt::format("cube {} has a model: what the formulas ask for exists", *first_model));
  }
  if (open != 0) {
    document.line(cubes_text(open, asked, request.part) +
                  " were not settled within the limits: run it again");
  }
  document.json = Json::object()
                      .add("folder", request.folder)
                      .add("cubes", asked)
                      .add("refuted", counts[Outcome::Established])
                      .add("with_model", counts[Outcome::Refuted]);
  return answer;
}

bool is_campaign(const CampaignPart& part) {
  return part.journal || part.shards > 1 || is_mpi_run();
}

CampaignRun campaign_run(const CampaignPart& part, const Options& options, std::string counted) {
  return {{part.shard, part.shards},
          [=, counted = std::move(counted)](campaign::Questions& questions, const Json& header) {
            return answer_questions(part, options, counted, questions, header);
          }};
}

Json to_json(const InstanceSpec& spec) {
  return Json::object()
      .add("hierarchy", optional_text(spec.hierarchy))
      .add("system", optional_text(spec.system))
      .add("axes", optional_text(spec.axes))
      .add("reduce", optional_text(spec.reduce))
      .add("placement", optional_text(spec.placement))
      .add("synthesis_hierarchy", optional_text(spec.synthesis_hierarchy))
      .add("dialect", optional_text(spec.dialect))
      .add("collectives", Json::array_of(spec.collectives))
      .add("goal", optional_text(spec.goal))
      .add("max_group", spec.max_group);
}

InstanceSpec journaled_instance(const Record& record) {
  InstanceSpec spec;
  spec.hierarchy = optional_text(record, "hierarchy");
  spec.system = optional_text(record, "system");
  spec.axes = optional_text(record, "axes");
  spec.reduce = optional_text(record, "reduce");
  spec.placement = optional_text(record, "placement");
  spec.synthesis_hierarchy = optional_text(record, "synthesis_hierarchy");
  spec.dialect = optional_text(record, "dialect");
  for (const Record& file : record.at("collectives")) spec.collectives.push_back(file);
  spec.goal = optional_text(record, "goal");
  spec.max_group = record.at("max_group");
  return spec;
}

std::vector<std::string> files_of(const InstanceSpec& spec) {
  std::vector<std::string> files = spec.collectives;
  if (spec.system) files.push_back(*spec.system);
  if (spec.goal && spec.goal->ends_with(".p2c")) files.push_back(*spec.goal);
  return files;
}

Json with_instances(Json header, const std::vector<InstanceSpec>& specs) {
  std::vector<std::string> files;
  for (const InstanceSpec& spec : specs) {
    for (std::string& file : files_of(spec)) files.push_back(std::move(file));
  }
  return std::move(header)
      .add("instances", Json::array_of(specs, [](const auto& spec) { return to_json(spec); }))
      .add("sha256", digest_of_files(files));
}

std::string digest_of_files(const std::vector<std::string>& files) {
  std::string all;
  for (const std::string& file : files) {
    std::error_code failure;
    const bool is_file = std::filesystem::is_regular_file(file, failure);
    all += fmt::format("{} {}\n", is_file ? sha256(read_file(file, 4096)) : "-", file);
  }
  return sha256(all);
}

Record record_of(const Result& result) {
  const Evidence& evidence = result.evidence;
  Record record{
      {"subject", result.subject},
      {"outcome", number(result.outcome)},
      {"model", result.model},
      {"evidence", {number(evidence.kind), evidence.folder, evidence.trouble, evidence.claim}},
      {"engines", Record::array()}};
  for (const EngineAnswer& each : result.engines) {
    record["engines"].push_back({each.engine, number(each.outcome), each.step, each.rule});
  }
  return record;
}

Result journaled_result(const Record& record) {
  Result result;
  result.subject = record.at("subject");
  result.outcome = enumeration<Outcome>(record.at("outcome"));
  result.model = record.at("model");
  const Record& evidence = record.at("evidence");
  result.evidence = {enumeration<Evidence::Kind>(evidence.at(0)), evidence.at(1), evidence.at(2),
                     evidence.at(3)};
  for (const Record& each : record.at("engines")) {
    result.engines.push_back(
        {each.at(0), enumeration<Outcome>(each.at(1)), each.at(2), each.at(3)});
  }
  return result;
}

Record record_of(const std::vector<Diagnostic>& diagnostics) {
  Record record = Record::array();
  for (const Diagnostic& each : diagnostics) {
    record.push_back({number(each.kind), each.message});
  }
  return record;
}

std::vector<Diagnostic> journaled_diagnostics(const Record& record) {
  std::vector<Diagnostic> diagnostics;
  for (const Record& each : record) {
    diagnostics.push_back({enumeration<Diagnostic::Kind>(each.at(0)), each.at(1)});
  }
  return diagnostics;
}

}  // namespace p2
