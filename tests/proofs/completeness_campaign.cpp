// The long form of the cross-check of synthesis: the sets of programs that the enumerator, Z3 and
// the clauses find are compared, and completeness is certified and checked, for
//  - all systems of 2 to 8 devices, all placements and reductions, hierarchies (a) to (d) and
//    collapsed, both dialects, size 5;
//  - all placements and reductions of the systems of the paper's appendix whose reduction class has
//    at most 16 devices, (d) and collapsed, both dialects, size 5.
// Instances are identified whose problems are equal (engine/program/synthesis.h): names are
// stripped, everything that the rules look at is kept. usage: completeness_campaign RESULTS [PART
// OF]; lines already in RESULTS are not done again, so that it can be killed and resumed; with PART
// and OF only every OF-th question is done, so that processes with results of their own share the
// work. completeness_results.tsv beside this file holds what was found so far.
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "encodings/cnf/queries.h"
#include "encodings/z3/queries.h"
#include "engine/program/program.h"
#include "engine/program/state_graph.h"
#include "proofs/api/synthesize.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/kernel/certificate.h"
#include "tests/synthesis/all_instances.h"
#include "tests/synthesis/appendix.h"

using namespace p2;

namespace {

constexpr std::uint32_t kSize = 5;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Questions by name, one for every problem.
struct Questions {
  struct Question {
    std::string name;
    Instance instance;
    Dialect dialect;
  };
  std::vector<Question> list;
  std::set<std::pair<Problem, Dialect>> seen;
  std::size_t instances = 0;

  void add(const Instance& instance) {
    for (const Dialect dialect : {Dialect::Published, Dialect::Printed}) {
      ++instances;
      if (!seen.emplace(make_problem(instance, dialect).problem, dialect).second) continue;
      std::string reduce;
      for (const std::uint32_t axis : instance.reduction) {
        reduce += (reduce.empty() ? "" : ",") + std::to_string(axis);
      }
      list.push_back(
          {fmt::format("{} axes {} reduce {} placement {} {} {}",
                       to_string(instance.grid.hierarchy()), to_string(instance.grid.axes()),
                       reduce, to_string(instance.grid.placement()),
                       to_string(instance.hierarchy.kind()), to_string(dialect)),
           instance, dialect});
    }
  }
};

Questions all_questions() {
  Questions questions;
  for (std::uint32_t devices = 2; devices <= 8; ++devices) {
    for_each_instance(devices, [&](const Hierarchy& hierarchy, const Axes& axes,
                                   const ReductionAxes& reduction, const Placement& placement) {
      for (const HierarchyKind kind : kHierarchyKinds) {
        if (kind == HierarchyKind::Lattice) continue;
        questions.add(Instance(DeviceGrid(hierarchy, axes, placement), reduction, kind));
      }
    });
  }
  for (const AppendixRow& row : kAppendix) {
    const Hierarchy hierarchy = parse_hierarchy("hierarchy", row.hierarchy);
    const Axes axes = parse_axes("axes", row.axes);
    const ReductionAxes reduction = parse_reduction("reduce", row.reduce, axes);
    for (const Placement& placement : enumerate_placements(hierarchy, axes, {"placement"})) {
      for (const HierarchyKind kind : {HierarchyKind::Reduction, HierarchyKind::Collapsed}) {
        const Instance instance(DeviceGrid(hierarchy, axes, placement), reduction, kind);
        if (instance.classes()[0].size() <= 16) questions.add(instance);
      }
    }
  }
  return questions;
}

/// Has it proved and checked that the list is complete.
std::string prove_complete(const Questions::Question& question, const PlacementPrograms& found) {
  const double start = seconds();
  cnf::Absence answer =
      cnf::refute(question.instance, question.dialect, kSize, {.known = found.programs()});
  const double proved = seconds();
  if (answer.kind != cnf::Absence::Kind::Absent) return "\tWRONG not proved";
  const CertificateFiles files = synthesis_certificate(question.instance, question.dialect, kSize,
                                                       std::move(answer.proof), {});
  const double written = seconds();
  const kernel::Result result = check_certificate(files);
  return fmt::format("\t{:.2f}\t{:.2f}\t{}", proved - start, seconds() - written,
                     result.verdict == kernel::Verdict::Accepted ? "ok" : "WRONG " + result.reason);
}

/// Finds the list again, program by program; says what differs, or nothing.
std::string find_again(const PlacementPrograms& found, const SynthesisOptions& options, bool z3) {
  Engines engines;
  engines.z3 = z3;
  engines.cnf = !z3;
  const ListComparison comparison = compare_with_solvers(found, options, engines)[0];
  const bool same = !comparison.differs() && comparison.complete;
  return same ? "" : to_text(comparison, found.list().count());
}

/// Has every program of the list judged by itself. That there is no other is for the caller to ask.
std::string judge_all(const PlacementPrograms& found, Dialect dialect, bool z3) {
  std::string wrong;
  found.for_each_lowered([&](const Program& program) {
    const EngineAnswer judgement =
        z3 ? judge(z3_encoding::ValidityQuery{&program, &found.instance(), dialect})
           : judge(cnf::ValidityQuery{&program, &found.instance(), dialect, {}});
    if (judgement.outcome != Outcome::Established) wrong = to_string(program.steps, nullptr);
  });
  return wrong;
}

/// Z3 judges every program of the list and refutes that there is another.
std::string confirm_by_z3(const PlacementPrograms& found, const SynthesisOptions& options) {
  std::string wrong = judge_all(found, options.dialect, true);
  const Engines engines;
  z3_encoding::SynthesisQuery query = query_of(found, options, engines);
  found.for_each_lowered([&](const Program& program) { query.known.push_back(program.steps); });
  if (find_one(query).outcome != Outcome::Refuted) wrong += " another, or unknown";
  return wrong;
}

/// One line: the name, programs, and the seconds of Z3, clauses, proof and check; or what differs.
/// Long lists of large systems, where to find a program takes the solvers a second and more, are
/// confirmed and not found again.
std::string settle(const Questions::Question& question) {
  SynthesisOptions options;
  options.dialect = question.dialect;
  options.size = kSize;
  const PlacementPrograms found = std::move(find_programs({question.instance}, options)[0]);
  const bool is_long = question.instance.grid.devices() >= 32 && found.list().count() > 100;
  std::string line = fmt::format("{}\t{}", question.name, found.list().count());
  for (const bool z3 : {true, false}) {
    const double start = seconds();
    const std::string wrong = !is_long ? find_again(found, options, z3)
                              : z3     ? confirm_by_z3(found, options)
                                       : judge_all(found, options.dialect, false);
    if (!wrong.empty()) return line + "\tWRONG " + wrong;
    line += fmt::format("\t{:.2f}", seconds() - start);
  }
  return line + prove_complete(question, found);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    return std::cerr << "usage: completeness_campaign RESULTS [PART OF]\n", 2;
  }
  const std::size_t part = argc == 4 ? std::stoul(argv[2]) : 0;
  const std::size_t parts = argc == 4 ? std::stoul(argv[3]) : 1;
  std::set<std::string> done;
  bool right = true;
  std::ifstream before(argv[1]);
  for (std::string line; std::getline(before, line);) {
    if (line.starts_with("#")) continue;
    done.insert(line.substr(0, line.find('\t')));
    right = right && line.ends_with("\tok");
  }
  const Questions questions = all_questions();
  fmt::print("{} questions, {} of them different, {} done before\n", questions.instances,
             questions.list.size(), done.size());
  std::ofstream results(argv[1], std::ios::app);
  std::size_t number = 0;
  for (const Questions::Question& question : questions.list) {
    if (number++ % parts != part || done.contains(question.name)) continue;
    const std::string line = settle(question);
    right = right && line.ends_with("\tok");
    results << line << std::endl;
    fmt::print("{}/{} {}\n", number, questions.list.size(), line);
    std::cout.flush();
  }
  fmt::print("{}\n", right ? "all the same, all certified, all accepted" : "SOMETHING IS WRONG");
  return right ? 0 : 1;
}
