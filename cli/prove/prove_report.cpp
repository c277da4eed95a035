#include "cli/prove/prove_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/json_list.h"
#include "cli/output.h"
#include "engine/program/json_text.h"
#include "engine/program/program_file.h"
#include "proofs/claims/summary.h"

namespace p2 {
namespace {

using claims::Answer;
using claims::Claim;
using claims::Outcome;
using claims::Question;
using claims::Result;
using claims::Summary;

std::string name_of(const Question& question) {
  const std::string from(to_string(question.from));
  return question.to
             ? fmt::format("{} {} -> {}", question.claim->name, from, to_string(*question.to))
             : fmt::format("{} {}", question.claim->name, from);
}

std::string to_text(const claims::Answer& answer, std::uint32_t size) {
  if (answer.verdict == claims::Outcome::Refuted) {
    return "  by " + answer.program + (answer.note.empty() ? "" : "  (" + answer.note + ")");
  }
  if (!answer.note.empty()) return "  (" + answer.note + ")";
  if (answer.verdict == claims::Outcome::Holds || answer.settled == size) return "";
  return fmt::format("  (only programs of at most {} steps are settled)", answer.settled);
}

void print_line(const claims::Result& result, std::uint32_t size, std::ostream& out) {
  const Question& question = result.question;
  fmt::print(out, "{:<8} {} {}: {}{}{}\n", to_string(result.answer.verdict), name_of(question),
             to_string(question.dialect), to_string(*question.system),
             result.systems == 1 ? "" : fmt::format("  (and {} alike)", result.systems - 1),
             to_text(result.answer, size));
}

void print_counterexample(const char* which, const claims::Result& result,
                          const claims::ResultCertificates& certificates, std::ostream& out) {
  const claims::Answer& answer = result.answer;
  fmt::print(out, "    {}: {} devices, {} step{}: {}\n              {}\n", which,
             result.question.system->grid.devices(), answer.steps, answer.steps == 1 ? "" : "s",
             to_string(*result.question.system), answer.program);
  if (!answer.note.empty()) fmt::print(out, "              {}\n", answer.note);
  const auto certificate = certificates.find(&result);
  if (certificate == certificates.end()) return;
  fmt::print(out, "              certificate ({}): {}\n", certificate->second.claim,
             certificate->second.folder);
}

void print_row(const Summary& row, std::uint32_t devices,
               const claims::ResultCertificates& certificates, std::ostream& out) {
  std::string finding = fmt::format("holds everywhere up to {} devices", devices);
  if (row.refuted > 0) finding = fmt::format("refuted on {} of them", row.refuted);
  if (row.refuted == 0 && row.undecided > 0) {
    finding = fmt::format("undecided on {} of them", row.undecided);
  }
  fmt::print(out, "{:<44} {:<9} {:<12} {:>6} systems  {}\n", name_of(row.question),
             to_string(row.question.dialect), row.several_axes ? "several axes" : "one axis",
             row.systems, finding);
  if (!row.orders.empty()) fmt::print(out, "    reduced {}\n", claims::by_order(row));
  if (row.smallest != nullptr) print_counterexample("smallest", *row.smallest, certificates, out);
  if (row.shortest != row.smallest)
    print_counterexample("shortest", *row.shortest, certificates, out);
}

std::uint32_t most_devices(const claims::Request& request) {
  std::uint32_t most = 0;
  for (const claims::PlacedSystem& system : request.systems) {
    most = std::max(most, system.grid.devices());
  }
  return most;
}

/// The keys that say which question was asked; the dialect and hierarchies of a result.
std::string question_json(const Question& question) {
  const DeviceGrid& grid = question.system->grid;
  return fmt::format(
      "\"claim\":\"{}\",\"hierarchy\":{},\"axes\":{},\"reduce\":[{}],\"placement\":{},"
      "\"dialect\":\"{}\",\"from\":\"{}\",\"to\":{}",
      question.claim->name, json_parts(grid.hierarchy().levels()), json_parts(grid.axes()),
      fmt::join(question.system->reduction, ","), json_lists(grid.placement().factors),
      to_string(question.dialect), to_string(question.from),
      question.to ? json_string(std::string(to_string(*question.to))) : "null");
}

std::string counterexample_json(const claims::Result& result) {
  if (result.answer.verdict != claims::Outcome::Refuted) return "null";
  const Program program = claims::counterexample(result);
  const Instance instance = result.question.system->over(result.question.from);
  return to_json(program, &instance, result.question.dialect);
}

std::string to_json(const claims::Result& result, std::uint32_t size,
                    const claims::ResultCertificates& certificates) {
  const auto certificate = certificates.find(&result);
  const bool certified = certificate != certificates.end();
  const auto order = claims::row_order(result.question);
  return fmt::format(
      "{{{},\"size\":{},\"settled_size\":{},\"systems\":{},\"verdict\":\"{}\",\"note\":{},"
      "\"rows_reduced\":{},\"counterexample\":{},\"evidence\":\"{}\",\"certificate\":{}}}",
      question_json(result.question), size, result.answer.settled, result.systems,
      to_string(result.answer.verdict), json_string(result.answer.note),
      order ? json_string(std::string(to_string(*order))) : "null", counterexample_json(result),
      certified ? certificate->second.claim : "solver-only",
      certified ? json_string(certificate->second.folder) : "null");
}

std::string example_json(const claims::Result* result) {
  if (result == nullptr) return "null";
  return fmt::format("{{{},\"devices\":{},\"steps\":{},\"program\":{}}}",
                     question_json(result->question), result->question.system->grid.devices(),
                     result->answer.steps, json_string(result->answer.program));
}

/// By where the rows of the axes reduced over stand in (c); null where that does not matter.
std::string orders_json(const Summary& row) {
  std::string text;
  for (const auto& [order, systems, refuted, undecided] : row.orders) {
    text += fmt::format("{}\"{}\":{{\"systems\":{},\"refuted\":{},\"undecided\":{}}}",
                        text.empty() ? "" : ",", to_string(order), systems, refuted, undecided);
  }
  return text.empty() ? "null" : "{" + text + "}";
}

std::string to_json(const Summary& row) {
  return fmt::format(
      "{{\"claim\":\"{}\",\"from\":\"{}\",\"to\":{},\"dialect\":\"{}\",\"several_axes\":{},"
      "\"systems\":{},\"refuted\":{},\"undecided\":{},\"verdict\":\"{}\",\"rows_reduced\":{},"
      "\"smallest\":{},\"shortest\":{}}}",
      row.question.claim->name, to_string(row.question.from),
      row.question.to ? json_string(std::string(to_string(*row.question.to))) : "null",
      to_string(row.question.dialect), row.several_axes, row.systems, row.refuted, row.undecided,
      to_string(row.verdict()), orders_json(row), example_json(row.smallest),
      example_json(row.shortest));
}

}  // namespace

void print_text(const std::vector<claims::Result>& results, const claims::Request& request,
                const claims::ResultCertificates& certificates, std::ostream& out) {
  for (const claims::Result& result : results) print_line(result, request.size, out);
  fmt::print(out,
             "\nprograms of at most {} steps; {} of {} results with certificates, the others {}\n",
             request.size, certificates.size(), results.size(), "solver-only");
  for (const Summary& row : claims::summarise(results)) {
    print_row(row, most_devices(request), certificates, out);
  }
}

void print_json(const std::vector<claims::Result>& results, const claims::Request& request,
                const claims::ResultCertificates& certificates,
                const std::vector<claims::ScheduleResult>& schedules, std::ostream& out) {
  out << "{\"results\":";
  print_list(results, out,
             [&](const claims::Result& result) { return to_json(result, request.size, certificates); });
  out << ",\"summary\":";
  print_list(claims::summarise(results), out, [](const Summary& row) { return to_json(row); });
  if (!schedules.empty()) {
    out << ",\"schedules\":";
    print_schedules_json(schedules, out);
  }
  fmt::print(out, ",\"max_devices\":{},\"verdict\":\"{}\"}}\n", most_devices(request),
             to_string(verdict_with(claims::verdict_of(results), schedules)));
}

}  // namespace p2
