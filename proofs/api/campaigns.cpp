#include "proofs/api/campaigns.h"

#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

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

}  // namespace

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
