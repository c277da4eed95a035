#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/campaign/campaign.h"
#include "p2/campaign.h"
#include "p2/instance.h"

/// What the verbs with campaigns share: who answers their questions, and what their journals hold
/// of requests and results.
namespace p2 {

struct CostAnswer;
struct CostRequest;

/// Who answers the questions of a campaign: the processes that run it, or journals.
struct CampaignRun {
  campaign::Shard shard = {};
  /// Called once, with the questions and the header of their journal. False in the processes of an
  /// MPI run that do not get the answers.
  std::function<bool(campaign::Questions& questions, const Json& header)> answer;
};

/// Whether a request is a campaign: with a journal, of a shard, or of the processes of an MPI run.
bool is_campaign(const CampaignPart& part);
/// By the threads of this process, or the processes of an MPI run. `counted` is the format of
/// progress: `{} of {} files checked`.
CampaignRun campaign_run(const CampaignPart& part, const Options& options, std::string counted);

/// `33 cubes are in DIR: refute each, …`
std::string cubes_written(std::size_t count, const std::string& folder);

/// For the header of a journal.
Json to_json(const InstanceSpec& spec);
/// Throws nlohmann::json::exception for what to_json(InstanceSpec) has not written.
InstanceSpec journaled_instance(const nlohmann::ordered_json& record);

/// The instances of a request that may have several.
template <typename Request>
std::vector<InstanceSpec> specs_of(const Request& request) {
  std::vector<InstanceSpec> specs = {request.instance};
  specs.insert(specs.end(), request.more_instances.begin(), request.more_instances.end());
  return specs;
}
/// Adds them, and the digest of their files, to the header of a journal.
Json with_instances(Json header, const std::vector<InstanceSpec>& specs);
/// Takes them from there. Throws nlohmann::json::exception.
template <typename Request>
void take_instances(const nlohmann::ordered_json& header, Request& request) {
  const nlohmann::ordered_json& specs = header.at("instances");
  request.instance = journaled_instance(specs.at(0));
  for (std::size_t i = 1; i < specs.size(); ++i) {
    request.more_instances.push_back(journaled_instance(specs[i]));
  }
}

/// The files that a spec names: the system, definitions of collectives and of the goal.
std::vector<std::string> files_of(const InstanceSpec& spec);
/// SHA-256 of names and contents of files; those that do not exist count by name.
std::string digest_of_files(const std::vector<std::string>& files);

/// An enumerator in a journal, and back.
template <typename Enumeration>
int number(Enumeration value) {
  return static_cast<int>(value);
}
template <typename Enumeration>
Enumeration enumeration(const nlohmann::ordered_json& number) {
  return static_cast<Enumeration>(number.get<std::uint8_t>());
}

/// Of a result outcomes, model, engines and evidence are kept, no counterexample.
nlohmann::ordered_json record_of(const Result& result);
Result journaled_result(const nlohmann::ordered_json& record);
nlohmann::ordered_json record_of(const std::vector<Diagnostic>& diagnostics);
std::vector<Diagnostic> journaled_diagnostics(const nlohmann::ordered_json& record);

/// As the public one, its questions answered by `run` or, without one, by this process: one system
/// after the other. Not of a request to compare.
CostAnswer cost(const CostRequest& request, const Options& options, const CampaignRun* run);
/// The request of the header of a journal. Throws nlohmann::json::exception.
CostRequest journaled_cost(const nlohmann::ordered_json& header);

}  // namespace p2
