#include "proofs/claims/campaign.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "engine/placement/placement.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"

namespace p2::claims {
namespace {

bool same_row(const Summary& row, const SettledQuestion& result) {
  const Question& a = row.question;
  const Question& b = result.question;
  return a.claim == b.claim && a.dialect == b.dialect && a.from == b.from && a.to == b.to &&
         row.several_axes == b.system->several_axes();
}

std::uint32_t devices(const SettledQuestion& result) {
  return result.question.system->grid.devices();
}

void count_refuted(const SettledQuestion& result, Summary& row) {
  row.refuted += result.systems;
  const auto by_devices = [](const SettledQuestion& each) {
    return std::pair(devices(each), each.answer.steps);
  };
  const auto by_steps = [](const SettledQuestion& each) {
    return std::pair(each.answer.steps, devices(each));
  };
  if (row.smallest == nullptr || by_devices(result) < by_devices(*row.smallest)) {
    row.smallest = &result;
  }
  if (row.shortest == nullptr || by_steps(result) < by_steps(*row.shortest)) {
    row.shortest = &result;
  }
}

void count(const SettledQuestion& result, Summary& row) {
  row.systems += result.systems;
  if (result.answer.outcome == Outcome::Undecided) row.undecided += result.systems;
  if (result.answer.outcome == Outcome::Refuted) count_refuted(result, row);
  const std::optional<RowOrder> order = row_order(result.question);
  if (!order) return;
  auto place = std::lower_bound(
      row.orders.begin(), row.orders.end(), *order,
      [](const OrderSummary& each, RowOrder wanted) { return each.order < wanted; });
  if (place == row.orders.end() || place->order != *order) {
    place = row.orders.insert(place, {*order, 0, 0, 0});
  }
  place->systems += result.systems;
  if (result.answer.outcome == Outcome::Undecided) place->undecided += result.systems;
  if (result.answer.outcome == Outcome::Refuted) place->refuted += result.systems;
}

}  // namespace

std::string by_order(const Summary& row) {
  std::string text;
  for (const auto& [order, systems, refuted, undecided] : row.orders) {
    if (!text.empty()) text += "; ";
    text += order == RowOrder::All ? "all rows: " : fmt::format("rows {}: ", to_string(order));
    text += refuted > 0     ? fmt::format("refuted on {} of {}", refuted, systems)
            : undecided > 0 ? fmt::format("undecided on {} of {}", undecided, systems)
                            : fmt::format("holds on {}", systems);
  }
  return text;
}

Outcome Summary::outcome() const {
  if (refuted > 0) return Outcome::Refuted;
  return undecided > 0 ? Outcome::Undecided : Outcome::Established;
}

std::vector<Summary> summarize(const std::vector<SettledQuestion>& results) {
  std::vector<Summary> rows;
  for (const SettledQuestion& result : results) {
    // The rows of one claim and pair are adjacent, at most two of them: the last two.
    auto row =
        std::find_if(rows.rbegin(), rows.rbegin() + std::min<std::ptrdiff_t>(2, std::ssize(rows)),
                     [&](const Summary& each) { return same_row(each, result); });
    const bool known = row != rows.rend() && same_row(*row, result);
    if (!known) {
      rows.emplace_back();
      rows.back().question = result.question;
      rows.back().several_axes = result.question.system->several_axes();
    }
    Summary& entry = known ? *row : rows.back();
    count(result, entry);
  }
  return rows;
}

bool in_paper(const Question& question) {
  if (question.claim->section.empty()) return false;
  return !question.to || question.claim->to.size() == 1 ||
         (question.from < *question.to && *question.to <= HierarchyKind::Reduction);
}

Outcome outcome_of(const std::vector<SettledQuestion>& results) {
  Outcome all = Outcome::Established;
  for (const SettledQuestion& result : results) all = worst(all, result.answer.outcome);
  return all;
}

Program counterexample(const SettledQuestion& result) {
  const Instance instance = result.question.system->over(result.question.from);
  const std::uint32_t devices = instance.grid.devices();
  TextCursor cursor("counterexample", result.answer.program);
  return {devices, instance.classes(), parse_steps(cursor, devices, &instance)};
}

namespace {

bool reduces(const PlacedSystem& system, std::uint32_t axis) {
  return std::find(system.reduction.begin(), system.reduction.end(), axis) !=
         system.reduction.end();
}

bool one_axis(const PlacedSystem& system) { return !system.several_axes(); }

bool all_axes(const PlacedSystem& system) { return row_order(system) == RowOrder::All; }

bool reduced_rows_last(const PlacedSystem& system) {
  return all_axes(system) || row_order(system) == RowOrder::Last;
}

bool reduced_rows_first(const PlacedSystem& system) {
  return all_axes(system) || row_order(system) == RowOrder::First;
}

/// Whether no hardware level has factors greater than 1 of two axes that `counts` says count.
template <typename Counts>
bool levels_undivided(const PlacedSystem& system, Counts counts) {
  const auto& levels = system.grid.hierarchy().levels();
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const auto axes = std::count_if(
        system.grid.factors().begin(), system.grid.factors().end(),
        [&](const Factor& factor) { return factor.level == level && counts(factor.axis); });
    if (axes > 1) return false;
  }
  return true;
}

bool no_level_divided(const PlacedSystem& system) {
  return levels_undivided(system, [](std::uint32_t) { return true; });
}

bool no_level_divided_among_reduced(const PlacedSystem& system) {
  return levels_undivided(system, [&](std::uint32_t axis) { return reduces(system, axis); });
}

struct Condition {
  const char* words;
  bool (*holds)(const PlacedSystem& system);
};

constexpr std::array<Condition, 6> kConditions = {{
    {"one axis is reduced over", one_axis},
    {"all axes are reduced over", all_axes},
    {"the rows reduced over come last", reduced_rows_last},
    {"the rows reduced over come first", reduced_rows_first},
    {"no hardware level is divided among several axes", no_level_divided},
    {"no hardware level is divided among several axes reduced over",
     no_level_divided_among_reduced},
}};

/// The number of systems that satisfy both, or 0 if a claim is not known to hold on one of them.
std::uint64_t held_under(const std::vector<const SettledQuestion*>& results, const Condition& a,
                         const Condition& b) {
  std::uint64_t systems = 0;
  for (const SettledQuestion* result : results) {
    const PlacedSystem& system = *result->question.system;
    if (!a.holds(system) || !b.holds(system)) continue;
    if (result->answer.outcome != Outcome::Established) return 0;
    ++systems;
  }
  return systems;
}

}  // namespace

Hypothesis weakest_hypothesis(const std::vector<const SettledQuestion*>& results) {
  Hypothesis weakest;
  for (const Condition& condition : kConditions) {
    const std::uint64_t systems = held_under(results, condition, condition);
    if (systems > weakest.systems) weakest = {condition.words, systems};
  }
  if (weakest.systems > 0) return weakest;
  for (std::size_t a = 0; a < kConditions.size(); ++a) {
    for (std::size_t b = a + 1; b < kConditions.size(); ++b) {
      const std::uint64_t systems = held_under(results, kConditions[a], kConditions[b]);
      if (systems <= weakest.systems) continue;
      weakest = {std::string(kConditions[a].words) + " and " + kConditions[b].words, systems};
    }
  }
  return weakest;
}

namespace {

/// The results of one claim, pair of hierarchies and dialect.
struct Statement {
  Question question;
  std::vector<const SettledQuestion*> results;
  std::vector<Summary> rows;  ///< by number of axes
};

bool same_statement(const Question& a, const Question& b) {
  return a.claim == b.claim && a.dialect == b.dialect && a.from == b.from && a.to == b.to;
}

std::vector<Statement> statements_of(const std::vector<SettledQuestion>& results) {
  std::vector<Statement> statements;
  for (const SettledQuestion& result : results) {
    if (statements.empty() || !same_statement(statements.back().question, result.question)) {
      statements.push_back({result.question, {}, {}});
    }
    statements.back().results.push_back(&result);
  }
  for (const Summary& row : summarize(results)) {
    for (Statement& statement : statements) {
      if (same_statement(statement.question, row.question)) statement.rows.push_back(row);
    }
  }
  return statements;
}

std::string title_of(const Question& question) {
  const std::string pair =
      question.to ? fmt::format(" ({}) >= ({})", to_string(*question.to), to_string(question.from))
                  : fmt::format(" over ({})", to_string(question.from));
  return question.claim->name + pair;
}

std::string verdict(const Summary& row) {
  const std::string orders = row.orders.empty() ? "" : " (" + by_order(row) + ")";
  if (row.refuted > 0) return fmt::format("refuted on {}{}", row.refuted, orders);
  if (row.undecided > 0) return fmt::format("undecided on {}{}", row.undecided, orders);
  return "holds" + orders;
}

Table table_of(const std::vector<Statement>& statements) {
  Table table{{"statement", "section", "dialect", "axes reduced over", "systems", "verdict"}, {}};
  for (const Statement& statement : statements) {
    const Question& question = statement.question;
    for (const Summary& row : statement.rows) {
      table.rows.push_back(
          {title_of(question), in_paper(question) ? question.claim->section : "not in the paper",
           std::string(to_string(question.dialect)), row.several_axes ? "several" : "one",
           std::to_string(row.systems), verdict(row)});
    }
  }
  return table;
}

void add_counterexample(const Summary& row, Document& document) {
  const SettledQuestion& result = *row.smallest;
  const Program program = counterexample(result);
  const Instance instance = result.question.system->over(result.question.from);
  document.line(fmt::format("Refuted on {} of {} systems. The smallest: {} devices, {} step{}: {}",
                            row.refuted, row.systems, program.devices, program.steps.size(),
                            program.steps.size() == 1 ? "" : "s",
                            to_string(*result.question.system)));
  std::string drawing = fmt::format("{}synthesis hierarchy {}\n{}\n", draw_matrix(instance.grid),
                                    to_string(instance.hierarchy), result.answer.program);
  if (!result.answer.note.empty()) drawing += "refuted by: " + result.answer.note + "\n";
  StateTable states(program.devices);
  const bool valid =
      check(program, result.question.dialect, states).outcome == Outcome::Established;
  if (valid) drawing += "\n" + draw_derivation(program, result.question.dialect, &instance);
  document.add(Preformatted{drawing});
  if (!result.certificate.empty()) {
    document.line(fmt::format("Certificate: {}, {}, claim {}.", result.certificate,
                              result.evidence.folder, result.evidence.claim));
  }
}

void add_repairs(const Statement& statement, const std::vector<Statement>& all,
                 Document& document) {
  const Hypothesis hypothesis = weakest_hypothesis(statement.results);
  if (!hypothesis.words.empty()) {
    document.line(fmt::format("Refuted on none of the {} systems in which {}.", hypothesis.systems,
                              hypothesis.words));
  }
  for (const Statement& other : all) {
    const Question& question = other.question;
    if (question.claim->name != statement.question.claim->repair) continue;
    if (question.dialect != statement.question.dialect) continue;
    for (const Summary& row : other.rows) {
      if (row.outcome() != Outcome::Established) continue;
      document.line(fmt::format("Repaired by {} ({}), which holds on all {} systems of {}: {}",
                                question.claim->name, to_string(question.from), row.systems,
                                row.several_axes ? "several axes" : "one axis",
                                question.claim->statement));
    }
  }
}

void add_statement(const Statement& statement, const std::vector<Statement>& all,
                   Document& document) {
  const Claim& claim = *statement.question.claim;
  document.add(Heading{fmt::format("{}, dialect {}", title_of(statement.question),
                                   to_string(statement.question.dialect))});
  document.line((claim.section.empty() ? "" : "Section " + claim.section + ": ") + claim.statement);
  document.add(Preformatted{claim.formula + "\n"});
  for (const Summary& row : statement.rows) {
    if (row.smallest == nullptr) continue;
    document.add(Heading{row.several_axes ? "Several axes" : "One axis", 3});
    add_counterexample(row, document);
  }
  add_repairs(statement, all, document);
}

bool is_refuted(const Statement& statement) {
  return std::any_of(statement.rows.begin(), statement.rows.end(),
                     [](const Summary& row) { return row.refuted > 0; });
}

}  // namespace

Document errata(const std::vector<SettledQuestion>& results, const CampaignRequest& request) {
  const std::vector<Statement> statements = statements_of(results);
  const auto certified =
      std::count_if(results.begin(), results.end(),
                    [](const SettledQuestion& result) { return !result.certificate.empty(); });
  Document document;
  document.title = "Errata";
  document.add(Heading{"Statements of the paper, settled by enumeration", 1});
  document.line(fmt::format(
      "{} placed systems, {}; programs of at most {} steps. A statement that holds is known to "
      "hold "
      "for these alone. Of {} results {} have certificates, which p2-check accepts without "
      "trusting "
      "this program; the others are solver-only. {} of the certificates are of empty questions: "
      "there is no step of which the statement could be false. Every counterexample is a "
      "program for p2-verify check.",
      request.systems.size(),
      request.systems.empty() ? "none" : "the last of them " + to_string(request.systems.back()),
      request.size, results.size(), certified,
      std::count_if(results.begin(), results.end(),
                    [](const SettledQuestion& result) { return result.empty_question; })));
  document.add(table_of(statements));
  const auto add_section = [&](const char* title, auto belongs) {
    bool first = true;
    for (const Statement& statement : statements) {
      if (!is_refuted(statement) || !belongs(statement.question)) continue;
      if (first) document.add(Heading{title, 1});
      first = false;
      add_statement(statement, statements, document);
    }
  };
  add_section("False statements of the paper", in_paper);
  add_section("Refuted, and not in the paper",
              [](const Question& question) { return question.claim->section.empty(); });
  return document;
}

Document schedule_errata(const std::vector<ScheduleResult>& results) {
  Document document;
  document.title = "Errata";
  document.add(Heading{"Statements about resharding and pipelines, settled by enumeration", 1});
  document.line(
      "Of \"On Optimizing the Communication of Model Parallelism\". A statement that holds is "
      "known "
      "to hold for these cases alone.");
  Table table{{"statement", "section", "cases", "verdict"}, {}};
  for (const auto& [claim, answer] : results) {
    table.rows.push_back(
        {claim->name, claim->section, fmt::format("{}: {}", claim->cases, answer.cases),
         answer.outcome == Outcome::Undecided ? "undecided"
                                              : std::string(verdict_word(answer.outcome))});
  }
  document.add(std::move(table));
  for (const auto& [claim, answer] : results) {
    if (answer.outcome != Outcome::Refuted) continue;
    document.add(Heading{claim->name});
    document.line(fmt::format("Section {}: {}", claim->section, claim->statement));
    document.add(Preformatted{claim->formula + "\n"});
    document.line(fmt::format("The smallest counterexample, the last of {} cases: {}.",
                              answer.cases, answer.counterexample));
    document.add(Preformatted{fmt::format(
        "{}p2-verify {}\n", answer.tasks.empty() ? "" : answer.tasks + "\n", answer.command)});
  }
  return document;
}

}  // namespace p2::claims
