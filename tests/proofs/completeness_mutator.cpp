#include "tests/proofs/completeness_mutator.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::proofs {
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
    Json problem = Json::parse(files["problem.json"]);
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

void CompletenessMutator::change_problem(Json& problem) {
  Json& choices = problem.at("choices");
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
      Json& from = any(problem.at("classes"));
      Json& to = any(problem.at("classes"));
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
void CompletenessMutator::change_programs(Json& programs, std::size_t choices) {
  switch (below(6)) {
    case 0:
      programs.erase(below(programs.size()));
      break;
    case 1:
      programs.push_back(Json(any(programs)));
      break;
    case 2:
      any(any(programs)) = below(choices);
      break;
    case 3:
      any(programs).push_back(below(choices));
      break;
    case 4: {
      Json& program = any(programs);
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

}  // namespace p2::proofs
