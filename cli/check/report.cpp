#include "cli/check/report.h"

#include <ostream>
#include <type_traits>

#include <fmt/format.h>

#include "cli/output.h"
#include "engine/base/document_writers.h"
#include "engine/reshard/plans/plan_file.h"

namespace p2 {
namespace {

std::string text_of(const CheckResult& result, const CheckRequest& request) {
  return to_text(result, request.explain, request.common.limits);
}
std::string text_of(const MscclResult& result, const CheckRequest&) { return to_text(result); }
std::string text_of(const HloResult& result, const CheckRequest&) { return to_text(result); }
std::string text_of(const PlanResult& result, const CheckRequest& request) {
  return to_text(result, request.explain);
}

/// `visit` sees every failure that a baseline may know.
template <typename Visit>
void for_each_failure(const CheckAnswer& answer, Visit visit) {
  for (const FileReport& report : answer.reports) {
    for (const Property& property : report.properties) {
      const std::string rule = failed_rule(report, property);
      if (!rule.empty()) visit(report, property, rule);
    }
  }
}

void print_text(const CheckAnswer& answer, const CheckRequest& request, std::ostream& out) {
  for (const FileOutcome& outcome : answer.outcomes) {
    if (outcome.judged) {
      out << std::visit([&](const auto& result) { return text_of(result, request); },
                        *outcome.judged);
    }
  }
  if (!answer.fixed) return;
  for_each_failure(
      answer, [&](const FileReport& report, const Property& property, const std::string& rule) {
        out << fmt::format("{}: {}: {}\n", property.known ? "known" : "new", report.file, rule);
      });
  for (const KnownFailure& fixed : *answer.fixed) {
    out << fmt::format("fixed: {}: {}\n", fixed.file, fixed.rule);
  }
}

std::string failure_json(const std::string& file, const std::string& rule) {
  return fmt::format("{{\"file\":{},\"rule\":{}}}", json_string(file), json_string(rule));
}

std::string baseline_json(const CheckAnswer& answer) {
  std::string known;
  std::string fresh;
  std::string fixed;
  const auto append = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ",") + item;
  };
  for_each_failure(
      answer, [&](const FileReport& report, const Property& property, const std::string& rule) {
        append(property.known ? known : fresh, failure_json(report.file, rule));
      });
  for (const KnownFailure& each : *answer.fixed) append(fixed, failure_json(each.file, each.rule));
  return fmt::format("{{\"known\":[{}],\"new\":[{}],\"fixed\":[{}]}}", known, fresh, fixed);
}

std::string trouble_json(const FileOutcome& outcome) {
  const Trouble& trouble = *outcome.trouble;
  return fmt::format("{{\"file\":{},\"line\":{},\"column\":{},\"message\":{}}}",
                     json_string(outcome.file), trouble.where.line, trouble.where.column,
                     json_string(trouble.message));
}

void print_json(const CheckAnswer& answer, const CheckRequest& request, std::ostream& out) {
  std::string bad_input;
  const char* separator = "\n";
  out << "{\"results\":[";
  for (const FileOutcome& outcome : answer.outcomes) {
    if (outcome.judged) {
      out << separator
          << std::visit([](const auto& result) { return to_json(result); }, *outcome.judged);
      separator = ",\n";
    }
    if (outcome.trouble) bad_input += (bad_input.empty() ? "" : ",\n") + trouble_json(outcome);
  }
  out << "\n]";
  if (!bad_input.empty()) out << ",\n\"not_judged\":[\n" << bad_input << "\n]";
  if (answer.fixed) out << ",\n\"baseline\":" << baseline_json(answer);
  if (request.cache) {
    out << fmt::format(",\n\"cache\":{{\"hits\":{},\"stored\":{}}}", answer.cache.hits,
                       answer.cache.stored);
  }
  out << "}\n";
}

}  // namespace

void print(const CheckAnswer& answer, const CheckRequest& request, std::ostream& out) {
  switch (request.common.format) {
    case Format::Text:
      return print_text(answer, request, out);
    case Format::Json:
      return print_json(answer, request, out);
    case Format::Junit:
      out << write_junit({.title = "p2-verify check", .blocks = {}, .json = {}, .reports = answer.reports});
      return;
    case Format::Sarif:
      out << write_sarif({.title = {}, .blocks = {}, .json = {}, .reports = answer.reports, .against_baseline = answer.fixed.has_value(), .exit_code = answer.exit});
      return;
    default:
      return print_text(answer, request, out);
  }
}

namespace {

/// What the engines were asked, as they can be asked again; nothing for what one engine judges.
std::string subject_json(const CheckResult& result) {
  return "\"program\":" + to_json(result.read.program, result.instance(), result.read.dialect);
}
std::string subject_json(const PlanResult& result) {
  return "\"plan\":" + reshard::to_json(result.plan);
}
std::string subject_json(const MscclResult&) { return {}; }
std::string subject_json(const HloResult&) { return {}; }

}  // namespace

void print_disagreements(const CheckAnswer& answer, std::ostream& out) {
  out << "{\"disagreements\":[";
  const char* separator = "\n";
  for (const FileOutcome& outcome : answer.outcomes) {
    if (!outcome.judged || !disagree(findings_of(*outcome.judged))) continue;
    std::visit(
        [&](const auto& result) {
          out << separator << "{\"result\":" << to_json(result) << ",\n"
              << subject_json(result) << "}";
        },
        *outcome.judged);
    separator = ",\n";
  }
  out << "\n]}\n";
}

}  // namespace p2
