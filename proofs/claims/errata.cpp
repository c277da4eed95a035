#include "proofs/claims/errata.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "engine/placement/drawing.h"
#include "engine/program/drawing.h"
#include "engine/program/notation.h"
#include "proofs/claims/hypothesis.h"
#include "proofs/claims/summary.h"

namespace p2::claims {
namespace {

/// The results of one claim, pair of hierarchies and dialect.
struct Statement {
  Question question;
  std::vector<const Result*> results;
  std::vector<Summary> rows;  ///< by number of axes
};

bool same_statement(const Question& a, const Question& b) {
  return a.claim == b.claim && a.dialect == b.dialect && a.from == b.from && a.to == b.to;
}

std::vector<Statement> statements_of(const std::vector<Result>& results) {
  std::vector<Statement> statements;
  for (const Result& result : results) {
    if (statements.empty() || !same_statement(statements.back().question, result.question)) {
      statements.push_back({result.question, {}, {}});
    }
    statements.back().results.push_back(&result);
  }
  for (const Summary& row : summarise(results)) {
    for (Statement& statement : statements) {
      if (same_statement(statement.question, row.question)) statement.rows.push_back(row);
    }
  }
  return statements;
}

std::string name_of(const Question& question) {
  const std::string pair =
      question.to ? fmt::format(" ({}) >= ({})", to_string(*question.to), to_string(question.from))
                  : fmt::format(" over ({})", to_string(question.from));
  return question.claim->name + pair;
}

std::string finding(const Summary& row) {
  if (row.refuted > 0) return fmt::format("**refuted** on {}", row.refuted);
  if (row.undecided > 0) return fmt::format("undecided on {}", row.undecided);
  return "holds";
}

void write_table(const std::vector<Statement>& statements, std::ostream& out) {
  out << "| statement | section | dialect | axes reduced over | systems | found |\n"
         "|---|---|---|---|---|---|\n";
  for (const Statement& statement : statements) {
    for (const Summary& row : statement.rows) {
      const bool printed = in_paper(statement.question);
      fmt::print(out, "| {} | {} | {} | {} | {} | {} |\n", name_of(statement.question),
                 printed ? statement.question.claim->section : "not in the paper",
                 to_string(statement.question.dialect), row.several_axes ? "several" : "one",
                 row.systems,
                 finding(row) + (row.orders.empty() ? "" : " (" + by_order(row) + ")"));
    }
  }
}

void write_counterexample(const Result& result, const ResultCertificates& certificates,
                          std::ostream& out) {
  const Program program = counterexample(result);
  const Instance instance = result.question.system->over(result.question.from);
  fmt::print(out, "{} devices, {} step{}: {}\n\n", program.devices, program.steps.size(),
             program.steps.size() == 1 ? "" : "s", to_string(*result.question.system));
  fmt::print(out, "```\n{}synthesis hierarchy {}\n{}\n", draw_matrix(instance.grid),
             to_string(instance.hierarchy), result.answer.program);
  if (!result.answer.note.empty()) fmt::print(out, "refuted by: {}\n", result.answer.note);
  StateTable states(program.devices);
  const bool valid = check(program, result.question.dialect, states).kind == Verdict::Kind::Valid;
  if (valid) out << "\n" << draw_derivation(program, result.question.dialect, &instance);
  out << "```\n\n";
  const auto certificate = certificates.find(&result);
  if (certificate == certificates.end()) return;
  fmt::print(out, "Certificate: `{}`, {}.\n\n", certificate->second.claim,
             certificate->second.folder);
}

void write_repair(const Statement& statement, const std::vector<Statement>& all,
                  std::ostream& out) {
  const Hypothesis hypothesis = weakest_hypothesis(statement.results);
  if (!hypothesis.words.empty()) {
    fmt::print(out, "Refuted on none of the {} systems in which {}.\n\n", hypothesis.systems,
               hypothesis.words);
  }
  for (const Statement& other : all) {
    const Question& asked = other.question;
    if (asked.claim->name != statement.question.claim->repair ||
        asked.dialect != statement.question.dialect) {
      continue;
    }
    for (const Summary& row : other.rows) {
      if (row.verdict() != Outcome::Holds) continue;
      fmt::print(out, "Repaired by {} ({}), which holds on all {} systems of {}: {}\n\n",
                 asked.claim->name, to_string(asked.from), row.systems,
                 row.several_axes ? "several axes" : "one axis", asked.claim->statement);
    }
  }
}

void write_false(const Statement& statement, const std::vector<Statement>& all,
                 const ResultCertificates& certificates, std::ostream& out) {
  const Claim& claim = *statement.question.claim;
  fmt::print(out, "## {}, dialect {}\n\n{}{}\n\n    {}\n\n", name_of(statement.question),
             to_string(statement.question.dialect),
             claim.section.empty() ? "" : fmt::format("Section {}: ", claim.section),
             claim.statement, claim.formula);
  for (const Summary& row : statement.rows) {
    if (row.smallest == nullptr) continue;
    fmt::print(out, "### {}\n\nRefuted on {} of {} systems. The smallest: ",
               row.several_axes ? "Several axes" : "One axis", row.refuted, row.systems);
    write_counterexample(*row.smallest, certificates, out);
  }
  write_repair(statement, all, out);
}

}  // namespace

void write_errata(const std::vector<Result>& results, const Request& request,
                  const ResultCertificates& certificates, std::ostream& out) {
  const std::vector<Statement> statements = statements_of(results);
  fmt::print(
      out,
      "# Statements of the paper, settled by enumeration\n\n{} placed systems, {}; programs "
      "of at most {} steps. A statement that holds is known to hold for these alone. "
      "Of {} results {} have certificates, which `p2-check` accepts without trusting this program; "
      "the others are `solver-only`. Every counterexample can be given to `p2-verify check`.\n\n",
      request.systems.size(),
      request.systems.empty() ? "none" : "the last of them " + to_string(request.systems.back()),
      request.size, results.size(), certificates.size());
  write_table(statements, out);
  const auto write_refuted = [&](const char* heading, auto wanted) {
    out << heading;
    for (const Statement& statement : statements) {
      const bool refuted = std::any_of(statement.rows.begin(), statement.rows.end(),
                                       [](const Summary& row) { return row.refuted > 0; });
      if (refuted && wanted(statement.question))
        write_false(statement, statements, certificates, out);
    }
  };
  write_refuted("\n# The false ones\n\n", in_paper);
  write_refuted("# Refuted, and not in the paper\n\n",
                [](const Question& question) { return question.claim->section.empty(); });
}

}  // namespace p2::claims
