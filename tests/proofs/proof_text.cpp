#include "tests/proofs/proof_text.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::proofs {
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

}  // namespace p2::proofs
