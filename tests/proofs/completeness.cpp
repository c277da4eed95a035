#include "tests/proofs/completeness.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/program/synthesis.h"
#include "proofs/certificate/program_certificate.h"
#include "tests/program/instances.h"
#include "tests/synthesis/brute_force.h"

namespace p2::proofs {
namespace {

/// The program of choices, read by the engine; throws InputError where it is none.
ProgramFile read_choices(const json& problem, const json& choices) {
  json program = problem;
  for (const char* key : {"size", "choices", "programs"}) program.erase(key);
  program["steps"] = choices;
  return read_program("problem.json", program.dump(), {});
}

brute_force::Instruction instruction(Step step) {
  std::sort(step.groups.begin(), step.groups.end());
  return {step.groups, step.collective};
}

std::vector<brute_force::Program> listed(const json& problem) {
  std::vector<brute_force::Instruction> choices;
  for (const Step& step : read_choices(problem, problem.at("choices")).program.steps) {
    choices.push_back(instruction(step));
  }
  std::vector<brute_force::Program> programs;
  for (const json& program : problem.at("programs")) {
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
  const PlacementPrograms found = std::move(find_programs({instance}, options)[0]);
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
  const json problem = json::parse(text);
  static std::map<std::string, std::vector<brute_force::Program>> known;
  try {
    const ProgramFile file = read_choices(problem, json::array());
    std::vector<brute_force::Program> programs = listed(problem);
    std::sort(programs.begin(), programs.end());
    json question = problem;
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

namespace {

constexpr std::size_t kHeader = 6;  // "p cnf "

std::vector<Line> lines_of(const std::string& text, std::size_t begin) {
  std::vector<Line> lines;
  std::istringstream stream(text.substr(std::min(begin, text.size())));
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    Line& numbers = lines.emplace_back();
    for (std::int64_t number = 0; words >> number;) numbers.push_back(number);
  }
  return lines;
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) text += fmt::format("{}\n", fmt::join(line, " "));
  return text;
}

}  // namespace

ProofText::ProofText(const CertificateFiles& files)
    : clauses(lines_of(files.at("problem.cnf"), kHeader)),
      steps(lines_of(files.at("proof.lrat"), 0)) {}

void ProofText::write(CertificateFiles& files) const {
  files["problem.cnf"] = "p cnf " + text_of(clauses);
  files["proof.lrat"] = text_of(steps);
}

void ProofText::drop_clause(std::size_t at) {
  const auto gone = static_cast<std::int64_t>(at);
  if (at >= clauses.size()) throw std::length_error("there is no such clause");
  clauses.at(0).at(1) -= 1;
  clauses.erase(clauses.begin() + gone);
  for (Line& step : steps) {
    step.erase(std::remove(end_of_clause(step), step.end(), gone), step.end());
    step[0] -= 1;
    for (auto hint = end_of_clause(step); hint != step.end(); ++hint) {
      if (*hint > gone) --*hint;
    }
  }
}

Line::iterator end_of_clause(Line& step) {
  const auto zero = step.empty() ? step.end() : std::find(step.begin() + 1, step.end(), 0);
  if (zero == step.end()) throw std::length_error("a step without an end of its clause");
  return zero;
}

namespace {

constexpr const char* kKinds[] = {"a", "b", "c", "d", "collapsed", "lattice"};
constexpr const char* kWords[] = {"AllReduce",   "ReduceScatter",  "AllGather",
                                  "Reduce",      "Broadcast",      "root",
                                  "InsideGroup", "Parallel(root)", "Master(root)"};

}  // namespace

void CompletenessMutator::mutate(CertificateFiles& files) {
  files.erase("manifest.json");
  for (std::size_t times = 1 + below(2); times > 0; --times) {
    try {
      if (below(8) == 0) {
        blindly(files);
      } else {
        in_form(files);
      }
    } catch (const std::exception&) {  // an earlier change left nothing here to change in form
    }
  }
  reseal("synthesis-complete", files);
}

void CompletenessMutator::blindly(CertificateFiles& files) {
  auto file = files.begin();
  std::advance(file, below(files.size()));
  std::string& bytes = file->second;
  const std::size_t at = below(bytes.size());
  switch (below(4)) {
    case 0:
      bytes.at(at) ^= static_cast<char>(1U << below(8));
      return;
    case 1:
      bytes.erase(at, 1);
      return;
    case 2:
      bytes.insert(at, 1, "0123456789- \n"[below(13)]);
      return;
    default:
      bytes.at(at) = "0123456789- \n"[below(13)];
  }
}

void CompletenessMutator::in_form(CertificateFiles& files) {
  const std::size_t what = below(10);
  if (what < 3) {
    json problem = json::parse(files["problem.json"]);
    change_problem(problem);
    files["problem.json"] = problem.dump();
    return;
  }
  if (what == 3) return change_varmap(files["varmap"]);
  ProofText proof(files);
  if (what < 6) {
    change_clauses(proof.clauses);
  } else if (what == 6) {
    proof.drop_clause(1 + below(proof.clauses.size() - 1));
  } else if (what == 7) {
    change_lines(proof.steps, 0);
  } else if (what == 8) {
    change_step(any(proof.steps));
  } else {
    change_hints(any(proof.steps));
  }
  proof.write(files);
}

void CompletenessMutator::change_problem(json& problem) {
  json& choices = problem.at("choices");
  switch (below(8)) {
    case 0:
      problem["size"] = problem.at("size").get<std::size_t>() + 2 * below(2) - 1;
      return;
    case 1:
      problem["dialect"] = problem.at("dialect") == "printed" ? "published" : "printed";
      return;
    case 2:
      problem["synthesis_hierarchy"] = kKinds[below(std::size(kKinds))];
      return;
    case 3: {
      json& from = any(problem.at("classes"));
      json& to = any(problem.at("classes"));
      std::swap(any(from), any(to));
      std::sort(from.begin(), from.end());
      std::sort(to.begin(), to.end());
      return;
    }
    case 4:
      if (below(2) == 0) {
        std::swap(any(choices), any(choices));
      } else {
        auto word = any(choices).begin();
        std::advance(word, below(3));
        *word = kWords[below(std::size(kWords))];
      }
      return;
    default:
      change_programs(problem.at("programs"), choices.size());
  }
}

/// Afterwards the programs are in order, unless order itself was changed.
void CompletenessMutator::change_programs(json& programs, std::size_t choices) {
  switch (below(6)) {
    case 0:
      programs.erase(below(programs.size()));
      break;
    case 1:
      programs.push_back(json(any(programs)));
      break;
    case 2:
      any(any(programs)) = below(choices);
      break;
    case 3:
      any(programs).push_back(below(choices));
      break;
    case 4: {
      json& program = any(programs);
      program.erase(below(program.size()));
      break;
    }
    default:
      return std::swap(any(programs), any(programs));
  }
  std::sort(programs.begin(), programs.end());
}

void CompletenessMutator::change_varmap(std::string& varmap) {
  std::istringstream stream(varmap);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::string& line = any(lines);
  switch (below(3)) {
    case 0:
      line.at(line.size() - 1) = static_cast<char>('0' + below(10));
      break;
    case 1:
      line = any(lines);
      break;
    default:
      line += "\n" + any(lines);
  }
  varmap = fmt::format("{}\n", fmt::join(lines, "\n"));
}

/// One number of a list is changed, dropped, doubled, negated or exchanged.
void CompletenessMutator::change_list(Line& numbers) {
  if (numbers.empty()) throw std::length_error("nothing is left to change");
  const auto place = numbers.begin() + static_cast<std::ptrdiff_t>(below(numbers.size()));
  switch (below(5)) {
    case 0:
      *place = -*place;
      return;
    case 1:
      *place += 1 - 2 * static_cast<std::int64_t>(below(2));
      return;
    case 2:
      numbers.erase(place);
      return;
    case 3:
      numbers.insert(place, any(numbers));
      return;
    default:
      std::swap(*place, any(numbers));
  }
}

/// A line from `first` on is dropped, doubled or exchanged with the next one, or the rest cut off.
void CompletenessMutator::change_lines(std::vector<Line>& lines, std::size_t first) {
  if (lines.size() <= first) throw std::length_error("no line is left to change");
  const std::size_t at = first + below(lines.size() - first);
  const auto place = lines.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(4)) {
    case 0:
      lines.erase(place);
      return;
    case 1:
      lines.insert(place, Line(*place));
      return;
    case 2:
      return std::swap(lines.at(at), lines.at(at + 1));
    default:
      lines.erase(place, lines.end());
  }
}

void CompletenessMutator::change_clauses(std::vector<Line>& clauses) {
  if (below(8) == 0) {
    any(clauses.at(0)) += 1 - 2 * static_cast<std::int64_t>(below(2));
  } else if (below(2) == 0) {
    Line& clause = clauses.at(1 + below(clauses.size() - 1));
    if (!clause.empty()) clause.pop_back();
    change_list(clause);
    clause.push_back(0);
  } else {
    change_lines(clauses, 1);
    clauses.at(0).at(1) = std::ssize(clauses) - 1;
  }
}

/// The number or the clause of a step.
void CompletenessMutator::change_step(Line& step) {
  const auto zero = end_of_clause(step);
  Line clause(step.begin(), zero);
  if (below(6) == 0) {
    clause.push_back(1 + static_cast<std::int64_t>(below(40)));
  } else {
    change_list(clause);
  }
  clause.insert(clause.end(), zero, step.end());
  step = clause;
}

void CompletenessMutator::change_hints(Line& step) {
  const auto zero = end_of_clause(step);
  Line hints(zero + 1, step.end() - 1);
  step.erase(zero + 1, step.end());
  if (below(8) == 0) {
    hints.clear();
  } else if (below(4) == 0) {
    hints.push_back(1 + static_cast<std::int64_t>(below(static_cast<std::size_t>(step[0]) + 1)));
  } else {
    change_list(hints);
  }
  step.insert(step.end(), hints.begin(), hints.end());
  step.push_back(0);
}

}  // namespace p2::proofs
