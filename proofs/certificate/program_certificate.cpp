#include "proofs/certificate/program_certificate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/invariant.h"
#include "engine/program/derivation.h"
#include "engine/program/program_file.h"

namespace p2 {

/// derivation.json of a program all of whose steps are legal: the states of all devices before the
/// first step and after every one. Where all reduction classes look alike, only the first class is
/// recorded.
std::string derivation_text(const Program& program, Dialect dialect);

namespace {

/// The keys of the instance, each followed by a comma.
std::string instance_text(const Instance& instance) {
  return fmt::format(
      "\"hierarchy\":{},\n\"axes\":{},\n\"reduce\":[{}],\n\"placement\":{},\n"
      "\"synthesis_hierarchy\":\"{}\",\n",
      parts_json(instance.grid.hierarchy().levels()).dump(),
      parts_json(instance.grid.axes()).dump(), fmt::join(instance.reduction, ","),
      lists_json(instance.grid.placement().factors).dump(), to_string(instance.hierarchy.kind()));
}

/// Instructions without groups.
std::string instructions_text(const Instance& instance, const std::vector<Step>& steps) {
  std::vector<std::string> texts;
  for (const Step& step : steps) {
    texts.push_back(fmt::format("{{\"collective\":\"{}\",\"slice\":\"{}\",\"form\":\"{}\"}}",
                                to_string(step.collective),
                                slice_to_string(*step.shape, instance.hierarchy),
                                form_to_string(*step.shape, instance.hierarchy)));
  }
  return fmt::format("[{}]", fmt::join(texts, ",\n"));
}

}  // namespace

namespace {

CertificateFiles of_steps(const std::string& claim, const Instance& instance,
                          const std::vector<Step>& steps, const Provenance& provenance) {
  CertificateFiles files;
  files["problem.json"] =
      "{" + instance_text(instance) + "\"steps\":" + instructions_text(instance, steps) + "}\n";
  add_manifest(claim, provenance, files);
  return files;
}

}  // namespace

CertificateFiles all_sizes_certificate(const Instance& instance, const std::vector<Step>& steps,
                                       const Provenance& provenance) {
  return of_steps("program-valid-all-sizes", instance, steps, provenance);
}

CertificateFiles large_sizes_certificate(const Instance& instance, const std::vector<Step>& steps,
                                         const Provenance& provenance) {
  return of_steps("program-valid-large-sizes", instance, steps, provenance);
}

namespace {

CertificateFiles of_list(const std::string& claim, const Instance& instance,
                         const std::vector<Step>& choices,
                         std::vector<std::vector<std::uint32_t>> programs, std::uint32_t size,
                         const Provenance& provenance) {
  std::ranges::sort(programs);
  CertificateFiles files;
  files["problem.json"] =
      "{" + instance_text(instance) +
      fmt::format("\"size\":{},\n\"choices\":{},\n\"programs\":{}}}\n", size,
                  instructions_text(instance, choices), lists_json(programs).dump());
  add_manifest(claim, provenance, files);
  return files;
}

}  // namespace

CertificateFiles all_sizes_certificate(const Instance& instance, const std::vector<Step>& choices,
                                       std::vector<std::vector<std::uint32_t>> programs,
                                       std::uint32_t size, const Provenance& provenance) {
  return of_list("synthesis-complete-all-sizes", instance, choices, std::move(programs), size,
                 provenance);
}

CertificateFiles large_sizes_certificate(const Instance& instance, const std::vector<Step>& choices,
                                         std::vector<std::vector<std::uint32_t>> programs,
                                         std::uint32_t size, const Provenance& provenance) {
  return of_list("synthesis-complete-large-sizes", instance, choices, std::move(programs), size,
                 provenance);
}

CertificateFiles all_sizes_certificate(const Instance& instance, HierarchyKind to,
                                       std::uint32_t size, const Provenance& provenance) {
  CertificateFiles files;
  files["problem.json"] = "{" + instance_text(instance) +
                          fmt::format("\"to\":\"{}\",\n\"size\":{}}}\n", to_string(to), size);
  add_manifest("expressible-all-sizes", provenance, files);
  return files;
}

CertificateFiles all_sizes_certificate(const Instance& instance, const std::vector<Step>& uses,
                                       std::uint32_t size, const Provenance& provenance) {
  CertificateFiles files;
  files["problem.json"] =
      "{" + instance_text(instance) +
      fmt::format("\"uses\":{},\n\"size\":{}}}\n", instructions_text(instance, uses), size);
  add_manifest("unused-all-sizes", provenance, files);
  return files;
}

std::string system_text(std::uint32_t devices, const std::vector<Group>& classes, Dialect dialect,
                        const Instance* instance) {
  const std::string text = fmt::format("\"devices\":{},\n\"classes\":{},\n\"dialect\":\"{}\",\n",
                                       devices, lists_json(classes).dump(), to_string(dialect));
  return instance == nullptr ? text : text + instance_text(*instance);
}

std::string program_text(const Program& program, Dialect dialect, const Instance* instance,
                         std::optional<HierarchyKind> to) {
  std::string text =
      "{" + system_text(program.devices, program.classes, dialect, instance) + "\"steps\":[";
  for (const Step& step : program.steps) {
    text += fmt::format("{}\n{{\"collective\":\"{}\",", &step == &program.steps[0] ? "" : ",",
                        to_string(step.collective));
    if (step.shape && instance != nullptr) {
      text += fmt::format("\"slice\":\"{}\",\"form\":\"{}\",",
                          slice_to_string(*step.shape, instance->hierarchy),
                          form_to_string(*step.shape, instance->hierarchy));
    }
    text += fmt::format("\"groups\":{}}}", lists_json(step.groups).dump());
  }
  return text + (to ? fmt::format("],\"to\":\"{}\"}}\n", to_string(*to)) : "]}\n");
}

namespace {

/// The first class as a program of its own, or nothing unless every class is its image under the
/// renaming that keeps the order of devices.
std::optional<Program> first_class(const Program& program) {
  const std::size_t classes = program.classes.size();
  const std::size_t members = program.classes[0].size();
  std::vector<std::uint32_t> part(program.devices);
  std::vector<std::uint32_t> position(program.devices);
  for (std::uint32_t c = 0; c < classes; ++c) {
    if (classes == 1 || program.classes[c].size() != members) return std::nullopt;
    for (std::uint32_t i = 0; i < members; ++i) {
      part[program.classes[c][i]] = c;
      position[program.classes[c][i]] = i;
    }
  }
  Program one{static_cast<std::uint32_t>(members), {Group(members)}, program.steps};
  for (std::uint32_t i = 0; i < members; ++i) one.classes[0][i] = i;
  for (Step& step : one.steps) {
    std::vector<std::vector<Group>> inside(classes);
    for (const Group& group : step.groups) {
      Group& image = inside[part[group[0]]].emplace_back();
      for (const std::uint32_t device : group) {
        if (part[device] != part[group[0]]) return std::nullopt;
        image.push_back(position[device]);
      }
    }
    for (auto& groups : inside) std::sort(groups.begin(), groups.end());
    if (std::count(inside.begin(), inside.end(), inside[0]) != std::ssize(inside)) {
      return std::nullopt;
    }
    step.groups = inside[0];
  }
  return one;
}

/// Numbers sets and states in the order in which they are met, and writes them down.
class Tables {
 public:
  explicit Tables(StateTable& states) : states_(states) {}

  /// The states of all devices as `[state, count, state, count, …]`.
  std::string system(const SystemState& system) {
    std::vector<std::size_t> runs;
    for (const StateId id : system) {
      const std::size_t number = number_of_state(id);
      if (runs.empty() || runs[runs.size() - 2] != number) runs.insert(runs.end(), {number, 0});
      ++runs.back();
    }
    return fmt::format("[{}]", fmt::join(runs, ","));
  }
  std::string sets() const { return fmt::format("[{}]", fmt::join(set_texts_, ",\n")); }
  std::string states() const { return fmt::format("[{}]", fmt::join(state_texts_, ",\n")); }

 private:
  std::size_t number_of_state(StateId id) {
    const auto [place, fresh] = state_numbers_.try_emplace(id, state_texts_.size());
    if (!fresh) return place->second;
    std::vector<Piece> pieces(states_.pieces(id).begin(), states_.pieces(id).end());
    std::sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
      return states_.sets().first(a.chunks) < states_.sets().first(b.chunks);
    });
    std::vector<std::size_t> numbers;
    for (const Piece& piece : pieces) {
      numbers.push_back(number_of_set(piece.chunks));
      numbers.push_back(number_of_set(piece.contributors));
    }
    state_texts_.push_back(fmt::format("[{}]", fmt::join(numbers, ",")));
    return place->second;
  }

  std::size_t number_of_set(IndexSetId id) {
    const auto [place, fresh] = set_numbers_.try_emplace(id, set_texts_.size());
    if (!fresh) return place->second;
    std::vector<std::uint32_t> bounds;
    for (const Run& run : states_.sets().runs(id)) {
      bounds.insert(bounds.end(), {run.begin, run.end});
    }
    set_texts_.push_back(fmt::format("[{}]", fmt::join(bounds, ",")));
    return place->second;
  }

  StateTable& states_;
  std::unordered_map<IndexSetId, std::size_t> set_numbers_;
  std::unordered_map<StateId, std::size_t> state_numbers_;
  std::vector<std::string> set_texts_;
  std::vector<std::string> state_texts_;
};

}  // namespace

std::string derivation_text(const Program& program, Dialect dialect) {
  const std::optional<Program> one = first_class(program);
  StateTable states(program.devices);
  Tables tables(states);
  std::vector<std::string> systems;
  check(one ? *one : program, dialect, states, {},
        [&](std::size_t, const SystemState& system) { systems.push_back(tables.system(system)); });
  invariant(systems.size() == program.steps.size() + 1, "a legal step was refused");
  return fmt::format("{{\"symmetry\":\"{}\",\n\"sets\":{},\n\"states\":{},\n\"systems\":[{}]}}\n",
                     one ? "classes" : "none", tables.sets(), tables.states(),
                     fmt::join(systems, ",\n"));
}

namespace {

/// refutation.json: the step that is refused, the rule that it breaks, and in which group.
std::string refutation_text(const Refutation& refutation) {
  const bool at_goal = refutation.group.empty() && refutation.rule != Refutation::Rule::Master;
  std::string text = fmt::format("{{\"step\":{},\"rule\":\"{}\"", refutation.step,
                                 at_goal ? "goal" : rule_name(refutation));
  if (!refutation.group.empty()) {
    text += fmt::format(",\"group\":[{}]", fmt::join(refutation.group, ","));
  }
  return text + "}\n";
}

ProgramClaim claim_of(const ProgramDecision& verdict, std::optional<HierarchyKind> to) {
  if (verdict.outcome != Outcome::Established) return ProgramClaim::Invalid;
  return to ? ProgramClaim::NotExpressible : ProgramClaim::Valid;
}

}  // namespace

std::string_view to_string(ProgramClaim claim) {
  constexpr std::string_view kNames[] = {"program-valid", "program-invalid", "not-expressible"};
  return kNames[static_cast<std::size_t>(claim)];
}

CertificateFiles program_certificate(const ProgramFile& file, const ProgramDecision& verdict,
                                     const Provenance& provenance,
                                     std::optional<HierarchyKind> to) {
  invariant(verdict.outcome != Outcome::Undecided, "a certificate needs a verdict");
  const ProgramClaim claim = claim_of(verdict, to);
  Program program = file.program;
  std::sort(program.classes.begin(), program.classes.end());
  CertificateFiles files;
  files["problem.json"] =
      program_text(program, file.dialect, file.instance ? &*file.instance : nullptr, to);
  program.steps.resize(verdict.legal_steps);
  files["derivation.json"] = derivation_text(program, file.dialect);
  if (claim == ProgramClaim::Invalid) {
    files["refutation.json"] = refutation_text(*verdict.violation);
  }
  add_manifest(std::string(to_string(claim)), provenance, files);
  return files;
}

}  // namespace p2
