#include "tests/proofs/completeness.h"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "proofs/certificate/absence_certificate.h"
#include "tests/program/instances.h"
#include "tests/synthesis/brute_force.h"

namespace p2::proofs {
namespace {

/// The program of choices, read by the engine; throws InputError where it is none.
ProgramFile read_choices(const Json& problem, const Json& choices) {
  Json program = problem;
  for (const char* key : {"size", "choices", "programs"}) program.erase(key);
  program["steps"] = choices;
  return read_program("problem.json", program.dump(), {});
}

brute_force::Instruction instruction(Step step) {
  std::sort(step.groups.begin(), step.groups.end());
  return {step.groups, step.collective};
}

std::vector<brute_force::Program> listed(const Json& problem) {
  std::vector<brute_force::Instruction> choices;
  for (const Step& step : read_choices(problem, problem.at("choices")).program.steps) {
    choices.push_back(instruction(step));
  }
  std::vector<brute_force::Program> programs;
  for (const Json& program : problem.at("programs")) {
    auto& steps = programs.emplace_back();
    for (const std::size_t choice : program) steps.push_back(choices.at(choice));
  }
  return programs;
}

}  // namespace

CertificateFiles certify_complete(const Instance& instance, Dialect dialect, std::uint32_t size) {
  SynthesisOptions options;
  options.dialect = dialect;
  options.size = size;
  options.jobs = 1;
  const PlacementPrograms found = std::move(synthesise({instance}, options)[0]);
  cnf::Absence answer = cnf::refute(instance, dialect, size, {.known = found.programs()});
  REQUIRE(answer.kind == cnf::Absence::Kind::Absent);
  return synthesis_certificate(instance, dialect, size, std::move(answer.proof), {});
}

std::vector<CertificateFiles> small_completeness_certificates() {
  using enum HierarchyKind;
  using enum Dialect;
  return {
      certify_complete(instance_of("2", "2", "0", "[[2]]"), Published, 0),
      certify_complete(instance_of("2", "2", "0", "[[2]]"), Published, 1),
      certify_complete(instance_of("2", "2", "0", "[[2]]", Hardware), Printed, 3),
      certify_complete(instance_of("3", "3", "0", "[[3]]", Reduction), Published, 2),
      certify_complete(instance_of("2", "1,2", "0", "[[1],[2]]"), Published, 1),
      certify_complete(instance_of("2", "1,2", "0", "[[1],[2]]", Rows), Printed, 1),
      certify_complete(instance_of("2,2", "2,2", "0", "[[2,1],[1,2]]"), Published, 2),
      certify_complete(instance_of("2,2", "2,2", "1", "[[2,1],[1,2]]", Columns), Published, 1),
      certify_complete(instance_of("2,2", "4", "0", "[[2,2]]"), Published, 2),
      certify_complete(instance_of("2,2", "4", "0", "[[2,2]]", Lattice), Published, 2),
      certify_complete(instance_of("2,2", "4", "0", "[[2,2]]", Lattice), Printed, 1),
      certify_complete(instance_of("2,2", "4", "0", "[[2,2]]", Hardware), Printed, 2),
  };
}

bool is_complete(const std::string& text) {
  const Json problem = Json::parse(text);
  static std::map<std::string, std::vector<brute_force::Program>> known;
  try {
    const ProgramFile file = read_choices(problem, Json::array());
    std::vector<brute_force::Program> programs = listed(problem);
    std::sort(programs.begin(), programs.end());
    Json question = problem;
    question.erase("programs");
    const auto [place, unknown] = known.try_emplace(question.dump());
    if (unknown) {
      place->second = brute_force::programs(file.instance.value(), file.dialect,
                                            problem.at("size").get<std::uint32_t>());
      std::sort(place->second.begin(), place->second.end());
    }
    return programs == place->second;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace p2::proofs
