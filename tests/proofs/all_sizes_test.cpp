// The certificates about all sizes beside the explicit ones, which know the devices.
#include <algorithm>
#include <map>
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

namespace {

/// Collective and sorted groups: what a step is, whatever its hierarchy.
using Groups = std::pair<Collective, std::vector<Group>>;

Groups groups_of(const Instance& instance, const Step& step) {
  std::vector<Group> groups = lower(instance.grid, *step.shape, step.collective).groups;
  std::ranges::sort(groups);
  return {step.collective, std::move(groups)};
}

std::set<Groups> instructions_of(const Instance& instance) {
  std::set<Groups> all;
  const NamedProblem named = make_problem(instance, Dialect::Published);
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    const Step step{named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]};
    all.insert(groups_of(instance, step));
  }
  return all;
}

/// Whether one of the programs, of at most `size` steps, makes a choice that is marked.
bool some_program_uses(const Programs& programs, std::uint32_t size,
                       const std::vector<bool>& marked) {
  const auto uses = [&](const std::vector<std::uint32_t>& program) {
    return program.size() <= size &&
           std::ranges::any_of(program, [&](std::uint32_t move) { return marked[move]; });
  };
  return std::ranges::any_of(programs, uses);
}

}  // namespace

TEST_CASE("what no valid program uses is certified, and nothing else: systems to 16 devices") {
  std::mt19937 random(5);
  std::set<Problem> known;
  std::map<kernel::Verdict, std::size_t> expressible;
  std::map<kernel::Verdict, std::size_t> unused;
  for (const std::uint32_t devices : {2U, 3U, 4U, 6U, 8U, 12U, 16U}) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      if (dialect != Dialect::Published || (devices > 8 && random() % 4 != 0)) return;
      if (!known.insert(make_problem(instance, dialect).problem).second) return;
      const bool many = instance.hierarchy.is_lattice() && instance.grid.factors().size() > 2;
      const Synthesised found(instance, many ? 2 : 3);
      const auto size = static_cast<std::uint32_t>(1 + random() % found.size);
      const auto judge = [&](const CertificateFiles& files, bool used,
                             std::map<kernel::Verdict, std::size_t>& count) {
        const kernel::Result result = check_certificate(files);
        const bool accepted = result.verdict == kernel::Verdict::Accepted;
        CHECK_MESSAGE(accepted == !used, files.at("problem.json"), result.reason);
        CHECK((accepted || result.verdict == kernel::Verdict::Rejected));
        ++count[result.verdict];
      };
      for (const HierarchyKind to : kHierarchyKinds) {
        const Instance other(instance.grid, instance.reduction, to);
        const std::set<Groups> theirs = instructions_of(other);
        std::vector<bool> lacking;
        for (const Step& choice : found.choices) {
          lacking.push_back(!theirs.contains(groups_of(instance, choice)));
        }
        const bool used = some_program_uses(found.programs, size, lacking);
        judge(all_sizes_certificate(instance, to, size, {}), used, expressible);
      }
      for (int tries = 0; tries < 5; ++tries) {
        std::vector<bool> marked(found.choices.size());
        std::vector<Step> uses;
        for (std::size_t move = 0; move < marked.size(); ++move) {
          marked[move] = random() % marked.size() < 2;
          if (marked[move]) uses.push_back(found.choices[move]);
        }
        const bool used = some_program_uses(found.programs, size, marked);
        judge(all_sizes_certificate(instance, uses, size, {}), used, unused);
      }
    });
  }
  for (const auto* count : {&expressible, &unused}) {
    CHECK(count->at(kernel::Verdict::Accepted) > 500);
    CHECK(count->at(kernel::Verdict::Rejected) > 500);
  }
}

TEST_CASE("an altered certificate that hierarchies express each other is judged anew") {
  // (d) has the rows in axis order, the digits of (b) stand level by level.
  const Instance instance =
      instance_of("2,4", "2,4", "0,1", "[[1 2] [2 2]]", HierarchyKind::Columns);
  const CertificateFiles files = all_sizes_certificate(instance, HierarchyKind::Lattice, 5, {});
  const auto verdict = [&](const CertificateFiles& of, const char* key, const json& value) {
    return word(check_changed(of, key, value).verdict);
  };
  CHECK(verdict(files, "size", 5) == "accepted");
  CHECK(verdict(files, "size", 64) == "accepted");
  CHECK(verdict(files, "size", 0) == "accepted");
  CHECK(verdict(files, "size", 65) == "not-a-certificate");
  CHECK(verdict(files, "size", -1) == "not-a-certificate");
  CHECK(verdict(files, "to", "b") == "accepted");
  for (const char* to : {"a", "c", "d", "collapsed"}) CHECK(verdict(files, "to", to) == "rejected");
  for (const json& to : {json("e"), json(""), json(3), json::array({"b"})}) {
    CHECK(verdict(files, "to", to) == "not-a-certificate");
  }
  CHECK(verdict(files, "reduce", json::array({0})) == "accepted");
  CHECK(verdict(files, "reduce", json::array()) == "not-a-certificate");
  CHECK(verdict(files, "placement", json::parse("[[2,1],[1,4]]")) == "accepted");
  CHECK(verdict(files, "placement", json::parse("[[2,2],[1,2]]")) == "rejected");
  CHECK(verdict(files, "dialect", "printed") == "not-a-certificate");
  CHECK(verdict(files, "devices", 8) == "not-a-certificate");
  CertificateFiles other = files;
  for (const char* claim : {"unused-all-sizes", "synthesis-complete-all-sizes", "expressible"}) {
    reseal(claim, other = files);
    CHECK(check_certificate(other).verdict == kernel::Verdict::NotACertificate);
  }

  const Synthesised found(instance, 2);
  const auto broadcast = [](const Step& step) { return step.collective == Collective::Broadcast; };
  const std::vector<Step> uses = {*std::ranges::find_if(found.choices, broadcast)};
  const CertificateFiles one = all_sizes_certificate(instance, uses, 1, {});
  CHECK(verdict(one, "size", 1) == "accepted");
  CHECK(verdict(one, "size", 2) == "rejected");
  CHECK(verdict(one, "uses", json::array()) == "accepted");
  json choice = json::parse(one.at("problem.json"))["uses"][0];
  CHECK(verdict(one, "uses", json::array({choice, choice})) == "rejected");
  choice["collective"] = "AllGather";
  CHECK(verdict(one, "uses", json::array({choice})) == "accepted");
  choice["collective"] = "AllReduce";
  CHECK(verdict(one, "uses", json::array({choice})) == "rejected");
  choice["form"] = "Master(root)";
  choice["collective"] = "Broadcast";
  CHECK(verdict(one, "uses", json::array({choice})) == "rejected");
  choice["collective"] = "Gather";
  CHECK(verdict(one, "uses", json::array({choice})) == "not-a-certificate");
  choice["groups"] = json::array({{0, 1}});
  CHECK(verdict(one, "uses", json::array({choice})) == "not-a-certificate");
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
