// The answer of `prove` as text and JSON.
#include <utility>

#include <fmt/format.h>

#include "engine/program/program_file.h"
#include "proofs/api/prove.h"

namespace p2 {

std::string title_of(const claims::Question& question) {
  const std::string from(to_string(question.from));
  return question.to
             ? fmt::format("{} {} -> {}", question.claim->name, from, to_string(*question.to))
             : fmt::format("{} {}", question.claim->name, from);
}

// Text.

namespace {

std::string plural(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string explanation(const claims::Settlement& answer, std::uint32_t size) {
  if (answer.outcome == Outcome::Refuted) {
    return "  by " + answer.program + (answer.note.empty() ? "" : "  (" + answer.note + ")");
  }
  if (!answer.note.empty()) return "  (" + answer.note + ")";
  if (answer.outcome == Outcome::Established || answer.settled == size) return "";
  return fmt::format("  (only programs of at most {} steps are settled)", answer.settled);
}

std::string line_of(const claims::SettledQuestion& result, std::uint32_t size) {
  const claims::Question& question = result.question;
  return fmt::format("{:<8} {} {}: {}{}{}\n", claims::verdict_word(result.answer.outcome),
                     title_of(question), to_string(question.dialect), to_string(*question.system),
                     result.systems == 1 ? "" : fmt::format("  (and {} alike)", result.systems - 1),
                     explanation(result.answer, size));
}

std::string counterexample_lines(const char* which, const claims::SettledQuestion& result) {
  constexpr const char* kIndent = "              ";
  const claims::Settlement& answer = result.answer;
  std::string text = fmt::format(
      "    {}: {} devices, {}: {}\n{}{}\n", which, result.question.system->grid.devices(),
      plural(answer.steps, "step"), to_string(*result.question.system), kIndent, answer.program);
  if (!answer.note.empty()) text += kIndent + answer.note + "\n";
  if (!result.certificate.empty()) {
    text += fmt::format("{}certificate ({}): {}, claim {}\n", kIndent, result.certificate,
                        printable(result.evidence.folder), result.evidence.claim);
  }
  return text;
}

std::string lines_of(const claims::Summary& row, std::uint32_t max_devices) {
  std::string verdict = fmt::format("holds everywhere up to {} devices", max_devices);
  if (row.refuted > 0) {
    verdict = fmt::format("refuted on {} of them", row.refuted);
  } else if (row.undecided > 0) {
    verdict = fmt::format("undecided on {} of them", row.undecided);
  }
  std::string text =
      fmt::format("{:<44} {:<9} {:<12} {:>6} systems  {}\n", title_of(row.question),
                  to_string(row.question.dialect), row.several_axes ? "several axes" : "one axis",
                  row.systems, verdict);
  if (!row.orders.empty()) text += fmt::format("    reduced {}\n", claims::by_order(row));
  if (row.smallest != nullptr) text += counterexample_lines("smallest", *row.smallest);
  if (row.shortest != row.smallest) text += counterexample_lines("shortest", *row.shortest);
  return text;
}

std::string lines_of(const std::vector<claims::ScheduleResult>& results) {
  std::string text;
  for (const auto& [claim, answer] : results) {
    text += fmt::format("{:<8} {}: {} cases, {}\n", claims::verdict_word(answer.outcome),
                        claim->name, answer.cases, claim->cases);
    if (answer.outcome != Outcome::Refuted) continue;
    text += fmt::format("    smallest: {}\n", answer.counterexample);
    if (!answer.tasks.empty()) text += answer.tasks + "\n";
    text += fmt::format("    p2-verify {}\n", answer.command);
  }
  return text;
}

}  // namespace

/// The table by claim first, then the results system by system.
void add_text(const Settled& settled, const std::vector<claims::Summary>& summary,
              Document& document) {
  if (!settled.shard.is_whole()) {
    document.line(fmt::format("shard {} of {}; p2-verify merge has the answer to all of them",
                              settled.shard.number, settled.shard.count));
    document.line("");
  }
  std::string results;
  if (!settled.request.claims.empty()) {
    std::size_t certified = 0;
    std::size_t empty = 0;
    for (const claims::SettledQuestion& result : settled.results.systems) {
      results += line_of(result, settled.request.size);
      if (!result.certificate.empty()) ++certified;
      if (result.empty_question) ++empty;
    }
    std::string rows;
    for (const claims::Summary& row : summary) rows += lines_of(row, settled.max_devices());
    document.add(Preformatted{std::move(rows)});
    document.line(fmt::format(
        "programs of at most {} steps; {} of {} results with certificates, the others solver-only",
        settled.request.size, certified, settled.results.systems.size()));
    if (certified > 0) {
      document.line(
          fmt::format("{} of these certificates are of empty questions: no step could "
                      "contradict them",
                      empty));
    }
    if (!settled.results.schedules.empty()) document.line("");
  }
  if (!settled.results.schedules.empty())
    document.add(Preformatted{lines_of(settled.results.schedules)});
  if (results.empty()) return;
  document.line("");
  document.add(Preformatted{std::move(results)});
}

// JSON.

Json refutation_json(const claims::SettledQuestion& result) {
  if (result.answer.outcome != Outcome::Refuted) return {};
  const Instance instance = result.question.system->over(result.question.from);
  return program_json(claims::counterexample(result), &instance, result.question.dialect);
}

Json refutation_json(const claims::ScheduleSettlement& answer) {
  if (answer.outcome != Outcome::Refuted) return {};
  return Json::object()
      .add("says", answer.counterexample)
      .add("command", answer.command)
      .add("tasks", answer.tasks.empty() ? Json() : Json::parse(answer.tasks));
}

namespace {

Json kind_json(std::optional<HierarchyKind> kind) { return kind ? Json(to_string(*kind)) : Json(); }

/// The keys that say which question was asked.
Json question_json(const claims::Question& question) {
  const DeviceGrid& grid = question.system->grid;
  return Json::object()
      .add("claim", question.claim->name)
      .add("hierarchy", parts_json(grid.hierarchy().levels()))
      .add("axes", parts_json(grid.axes()))
      .add("reduce", Json::array_of(question.system->reduction))
      .add("placement", Json::array_of(grid.placement().factors,
                                       [](const auto& row) { return Json::array_of(row); }))
      .add("dialect", to_string(question.dialect))
      .add("from", to_string(question.from))
      .add("to", kind_json(question.to));
}

Json result_json(const claims::SettledQuestion& result, const Json& counterexample,
                 std::uint32_t size) {
  const bool certified = !result.certificate.empty();
  const auto order = claims::row_order(result.question);
  return question_json(result.question)
      .add("size", size)
      .add("settled_size", result.answer.settled)
      .add("systems", result.systems)
      .add("verdict", claims::verdict_word(result.answer.outcome))
      .add("note", result.answer.note)
      .add("rows_reduced", order ? Json(to_string(*order)) : Json())
      .add("counterexample", counterexample)
      .add("evidence", certified ? result.certificate : "solver-only")
      .add("certificate", certified ? Json(result.evidence.folder) : Json())
      .add("claim_digest", certified ? Json(result.evidence.claim) : Json())
      .add("empty_question", result.empty_question);
}

Json example_json(const claims::SettledQuestion* result) {
  if (result == nullptr) return {};
  return question_json(result->question)
      .add("devices", result->question.system->grid.devices())
      .add("steps", result->answer.steps)
      .add("program", result->answer.program);
}

Json orders_json(const claims::Summary& row) {
  Json orders;
  for (const auto& [order, systems, refuted, undecided] : row.orders) {
    orders.add(
        std::string(to_string(order)),
        Json::object().add("systems", systems).add("refuted", refuted).add("undecided", undecided));
  }
  return orders;
}

Json summary_json(const claims::Summary& row) {
  return Json::object()
      .add("claim", row.question.claim->name)
      .add("from", to_string(row.question.from))
      .add("to", kind_json(row.question.to))
      .add("dialect", to_string(row.question.dialect))
      .add("several_axes", row.several_axes)
      .add("systems", row.systems)
      .add("refuted", row.refuted)
      .add("undecided", row.undecided)
      .add("verdict", claims::verdict_word(row.outcome()))
      .add("rows_reduced", orders_json(row))
      .add("smallest", example_json(row.smallest))
      .add("shortest", example_json(row.shortest));
}

Json schedules_json(const std::vector<claims::ScheduleResult>& results) {
  return Json::array_of(results, [](const claims::ScheduleResult& result) {
    const auto& [claim, answer] = result;
    return Json::object()
        .add("claim", claim->name)
        .add("verdict", claims::verdict_word(answer.outcome))
        .add("cases", answer.cases)
        .add("range", claim->cases)
        .add("counterexample", refutation_json(answer))
        .add("evidence", answer.outcome == Outcome::Refuted ? "counterexample" : "solver-only")
        .add("certificate", Json());
  });
}

}  // namespace

Json answer_json(const Settled& settled, const std::vector<claims::Summary>& summary,
                 const std::vector<Result>& results) {
  Json json = Json::object();
  if (!settled.request.claims.empty()) {
    Json::Array elements;
    for (std::size_t i = 0; i < settled.results.systems.size(); ++i) {
      const Json counterexample =
          results[i].counterexample ? results[i].counterexample->facts : Json();
      elements.push_back(
          result_json(settled.results.systems[i], counterexample, settled.request.size));
    }
    json.add("results", Json::array(std::move(elements)));
    json.add("summary", Json::array_of(summary, summary_json));
  }
  if (!settled.results.schedules.empty())
    json.add("schedules", schedules_json(settled.results.schedules));
  if (!settled.request.claims.empty()) json.add("max_devices", settled.max_devices());
  if (!settled.shard.is_whole()) {
    json.add("shard", to_string(settled.shard));
  }
  return std::move(json).add("verdict", claims::verdict_word(settled.outcome()));
}

}  // namespace p2
