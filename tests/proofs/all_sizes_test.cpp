// The certificates about all sizes beside the explicit ones, which know the devices.
#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
#include "tests/proofs/certificates.h"
#include "tests/synthesis/all_instances.h"

using namespace p2;
using namespace p2::proofs;

namespace {

using Programs = std::vector<std::vector<std::uint32_t>>;

/// The choices of an instance and its valid programs, by the explicit engine.
struct Synthesised {
  Synthesised(const Instance& instance, std::uint32_t steps) : size(steps) {
    const NamedProblem named = make_problem(instance, Dialect::Published);
    for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
      choices.push_back(
          {named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]});
    }
    ProgramList(named.problem, size, {}).for_each([&](std::span<const std::uint32_t> moves) {
      programs.emplace_back(moves.begin(), moves.end());
    });
  }
  std::vector<Step> steps(const std::vector<std::uint32_t>& program) const {
    std::vector<Step> all;
    for (const std::uint32_t move : program) all.push_back(choices[move]);
    return all;
  }

  std::uint32_t size;
  std::vector<Step> choices;
  Programs programs;
};

kernel::Verdict judge_list(const Instance& instance, const Synthesised& found,
                           const Programs& programs) {
  const kernel::Result result =
      check_certificate(all_sizes_certificate(instance, found.choices, programs, found.size, {}));
  CAPTURE(result.reason);
  return result.verdict;
}

kernel::Verdict judge_program(const Instance& instance, const std::vector<Step>& steps) {
  return check_certificate(all_sizes_certificate(instance, steps, {})).verdict;
}

/// The claim of the explicit certificate, which is accepted.
std::string explicit_claim(const Instance& instance, std::vector<Step> steps) {
  for (Step& step : steps) step = lower(instance.grid, *step.shape, step.collective);
  const CertificateFiles files =
      certify(ProgramFile{{instance.grid.devices(), instance.classes(), std::move(steps)},
                          instance,
                          Dialect::Published});
  CHECK(check_certificate(files).verdict == kernel::Verdict::Accepted);
  return claim_of(files);
}

}  // namespace

TEST_CASE("certificates about all sizes say what the explicit ones say: systems to 16 devices") {
  std::mt19937 random(3);
  std::set<Problem> known;
  std::size_t valid = 0;
  std::size_t invalid = 0;
  for (std::uint32_t devices = 2; devices <= 16; ++devices) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      if (dialect != Dialect::Published) return;
      if (!known.insert(make_problem(instance, dialect).problem).second) return;
      const bool many = instance.hierarchy.is_lattice() && instance.grid.factors().size() > 2;
      const Synthesised found(instance, many ? 2 : 3);
      CHECK(judge_list(instance, found, found.programs) == kernel::Verdict::Accepted);
      for (int tries = 0; tries < 3 && !found.programs.empty(); ++tries) {
        std::vector<std::uint32_t> program = found.programs[random() % found.programs.size()];
        CHECK(judge_program(instance, found.steps(program)) == kernel::Verdict::Accepted);
        CHECK(explicit_claim(instance, found.steps(program)) == "program-valid");
        Programs fewer = found.programs;
        fewer.erase(std::ranges::find(fewer, program));
        CHECK(judge_list(instance, found, fewer) == kernel::Verdict::Rejected);
        ++valid;
        if (program.empty()) continue;
        program[random() % program.size()] =
            static_cast<std::uint32_t>(random() % found.choices.size());
        if (std::ranges::count(found.programs, program) > 0) continue;
        CHECK(judge_program(instance, found.steps(program)) == kernel::Verdict::Rejected);
        CHECK(explicit_claim(instance, found.steps(program)) == "program-invalid");
        Programs more = found.programs;
        more.push_back(program);
        CHECK(judge_list(instance, found, more) == kernel::Verdict::Rejected);
        ++invalid;
      }
    });
  }
  CHECK(valid > 100);
  CHECK(invalid > 100);
}

TEST_CASE("the certificate of 65536 devices has a few kB, that of a list 200 bytes a program") {
  const Instance instance =
      instance_of("16,16,16,16", "65536", "0", "[[16 16 16 16]]", HierarchyKind::Reduction);
  SynthesisOptions options;
  const PlacementPrograms found = std::move(find_programs({instance}, options)[0]);
  REQUIRE(found.list().engine() == SearchEngine::Machine);
  const NamedProblem named = make_problem(instance, Dialect::Published);
  std::vector<Step> choices;
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    choices.push_back(
        {named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]});
  }
  Programs programs;
  found.list().for_each([&](std::span<const std::uint32_t> moves) {
    programs.emplace_back(moves.begin(), moves.end());
  });
  const CertificateFiles list = all_sizes_certificate(instance, choices, programs, 5, {});
  CHECK(list.at("problem.json").size() < 200 * programs.size());
  const kernel::Result complete = check_certificate(list);
  CHECK(complete.verdict == kernel::Verdict::Accepted);
  CHECK(complete.reason.find("3967 valid programs of at most 5 steps for every size from 2 on of 4 "
                             "factors") != std::string::npos);
  std::vector<Step> steps;
  for (const std::uint32_t move : programs.back()) steps.push_back(choices[move]);
  const CertificateFiles one = all_sizes_certificate(instance, steps, {});
  CHECK(one.at("problem.json").size() < 2000);
  CHECK(check_certificate(one).verdict == kernel::Verdict::Accepted);
}

TEST_CASE("what is altered in a certificate about all sizes is rejected") {
  const Instance instance = instance_of("2,4", "8", "0", "[[2 4]]");
  const Synthesised found(instance, 2);
  const auto list = all_sizes_certificate(instance, found.choices, found.programs, 2, {});
  const auto verdict = [&](const char* key, const json& value) {
    return word(check_changed(list, key, value).verdict);
  };
  const json problem = json::parse(list.at("problem.json"));
  CHECK(verdict("size", 2) == "accepted");
  CHECK(verdict("size", 3) == "rejected");
  CHECK(verdict("size", 1) == "rejected");
  CHECK(verdict("reduce", json::array()) == "not-a-certificate");
  json choices = problem["choices"];
  choices.erase(choices.size() - 1);
  CHECK(verdict("choices", choices) == "rejected");
  choices = problem["choices"];
  choices.push_back(choices[0]);
  CHECK(verdict("choices", choices) == "rejected");
  choices = problem["choices"];
  choices[0]["collective"] = "Gather";
  CHECK(verdict("choices", choices) == "not-a-certificate");
  choices[0]["collective"] = "Broadcast";
  choices[0]["form"] = "Master(root)";
  CHECK(verdict("choices", choices) == "rejected");
  json programs = problem["programs"];
  std::swap(programs[0], programs[1]);
  CHECK(verdict("programs", programs) == "rejected");
  json placement = problem["placement"];
  placement[0] = {4, 2};
  CHECK(verdict("placement", placement) == "rejected");
  json hierarchy = problem["hierarchy"];
  hierarchy[0]["size"] = 1 << 20;
  CHECK(verdict("hierarchy", hierarchy) == "not-a-certificate");
}
