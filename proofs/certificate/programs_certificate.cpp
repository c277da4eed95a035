// Certificates that several programs compute what a module does that is not partitioned.

#include <algorithm>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "engine/hlo/module.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"

namespace p2 {
namespace {

using Problem = nlohmann::ordered_json;
using hlo::TensorRelation;

/// Ranges of consecutive devices.
Problem ranges_of(const std::vector<std::uint32_t>& devices) {
  Problem ranges = Problem::array();
  for (const std::uint32_t device : devices) {
    if (!ranges.empty() && ranges.back()[1].get<std::uint32_t>() + 1 == device)
      ranges.back()[1] = device;
    else
      ranges.push_back({device, device});
  }
  return ranges;
}

/// How tensors are held; tensors that are held alike have one.
class Placements {
 public:
  /// Its number; nothing for a relation that p2-check does not know.
  std::optional<std::size_t> of(const TensorRelation& relation) {
    if (relation.parts_are_devices) return std::nullopt;
    std::string reducer;
    switch (relation.reducer) {
      case hlo::Reducer::Unknown:
        break;
      case hlo::Reducer::Add:
      case hlo::Reducer::Multiply:
      case hlo::Reducer::Maximum:
      case hlo::Reducer::Minimum:
        reducer = to_string(relation.reducer);
        break;
      default:
        return std::nullopt;
    }
    std::vector<std::vector<std::int64_t>> pieces;
    for (std::uint32_t device = 0; device < relation.pieces.size(); ++device) {
      for (const hlo::Piece& piece : relation.pieces[device]) {
        auto& numbers = pieces.emplace_back();
        numbers = {device, relation.part_of(device)};
        for (const auto* list : {&piece.of, &piece.at, &piece.sizes})
          numbers.insert(numbers.end(), list->begin(), list->end());
      }
    }
    const auto [found, is_new] =
        numbers_.emplace(std::tuple(reducer, relation.parts, std::move(pieces)), list_.size());
    if (is_new) {
      list_.push_back(
          {{"reducer", reducer}, {"parts", relation.parts}, {"pieces", std::get<2>(found->first)}});
    }
    return found->second;
  }

  Problem list() && { return std::move(list_); }

 private:
  std::map<std::tuple<std::string, std::uint32_t, std::vector<std::vector<std::int64_t>>>,
           std::size_t>
      numbers_;
  Problem list_ = Problem::array();
};

std::optional<Problem> json_of(const std::vector<TensorRelation>& relations, bool of_inputs,
                               const hlo::Module& linked, Placements& placements) {
  Problem all = Problem::array();
  for (const TensorRelation& relation : relations) {
    const auto placement = placements.of(relation);
    if (!placement) return std::nullopt;
    Problem numbers = Problem::array();
    for (std::size_t k = 0; k < linked.programs.size(); ++k) {
      const hlo::LinkedProgram& program = linked.programs[k];
      const std::uint32_t first = of_inputs ? program.first_input : program.first_output;
      const std::uint32_t count = of_inputs ? program.inputs : program.outputs;
      const std::uint32_t number = relation.number_on(program.devices.at(0));
      if (number >= first && number - first < count) numbers.push_back({k, number - first});
    }
    all.push_back({{"placement", *placement}, {"numbers", std::move(numbers)}});
  }
  return all;
}

}  // namespace

std::optional<CertificateFiles> problem_of(const CertifiedPrograms& programs,
                                           const hlo::Module& linked,
                                           const hlo::ModuleRelation& relation) {
  Problem problem = {{"before", programs.before}, {"devices", linked.program_of.size()}};
  Problem list = Problem::array();
  for (std::size_t k = 0; k < linked.programs.size(); ++k) {
    list.push_back(
        {{"devices", ranges_of(linked.programs[k].devices)}, {"module", programs.programs.at(k)}});
  }
  Placements placements;
  auto inputs = json_of(relation.inputs, true, linked, placements);
  auto outputs = json_of(relation.outputs, false, linked, placements);
  if (!inputs || !outputs) return std::nullopt;
  problem["programs"] = std::move(list);
  problem["placements"] = std::move(placements).list();
  problem["inputs"] = std::move(*inputs);
  problem["outputs"] = std::move(*outputs);
  return CertificateFiles{
      {"problem.json", problem.dump(-1, ' ', false, Problem::error_handler_t::replace) + "\n"}};
}

std::variant<CertificateFiles, std::string> programs_certificate(
    const CertifiedPrograms& programs, const hlo::Module& linked,
    const hlo::ModuleRelation& relation, const Provenance& provenance, const Limits& limits) {
  auto files = problem_of(programs, linked, relation);
  if (!files) return "p2-check does not know this relation";
  auto evidence = programs_evidence(*files, limits);
  if (evidence.index() != 0) return std::get<1>(evidence);
  (*files)["relation.json"] = std::move(std::get<0>(evidence));
  add_manifest("programs-equal", provenance, *files);
  const kernel::Result result = check_certificate(*files);
  if (result.verdict != kernel::Verdict::Accepted) return result.reason;
  return *files;
}

}  // namespace p2
