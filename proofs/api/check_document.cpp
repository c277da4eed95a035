// The files of a request of `check` in the answer and its document.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proofs/api/checked_files.h"

namespace p2 {
namespace {

using Kind = Diagnostic::Kind;
using Status = Property::Status;

Property property_of(const FileError& error) {
  Property property{"input", Status::BadInput};
  if (error.kind == Kind::Undecided) property = {"limits", Status::Undecided};
  if (error.kind == Kind::ToolFailure) property = {"tool", Status::ToolFailure};
  property.message = error.message;
  property.line = error.where.line;
  property.column = error.where.column;
  return property;
}

Json not_judged_json(const CheckedFile& file, const FileError& error) {
  return Json::object({{"file", file.file},
                       {"line", error.where.line},
                       {"column", error.where.column},
                       {"message", error.message}});
}

}  // namespace

FileReport report_of(const CheckedFile& file) {
  FileReport report = file.check ? file.check->report : FileReport{file.file, "input", {}, 0};
  for (const FileError& error : file.errors) report.properties.push_back(property_of(error));
  if (file.listed) {  // reports name the file that there is
    report.file = file.listed->file;
    for (Property& property : report.properties) {
      property.name = fmt::format("program {} {}", file.listed->number, property.name);
    }
  }
  report.seconds = file.seconds;
  return report;
}

std::string totals_text(const std::vector<CheckedFile>& files) {
  const bool are_listed =
      std::ranges::all_of(files, [](const CheckedFile& file) { return file.listed.has_value(); });
  std::string text = fmt::format("total: {} {}", files.size(), are_listed ? "programs" : "files");
  const auto add = [&](std::string_view what, const auto& is_counted) {
    const auto count = std::ranges::count_if(files, is_counted);
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  for (const Outcome outcome :
       {Outcome::Established, Outcome::Refuted, Outcome::Undecided, Outcome::Disagreement}) {
    add(to_string(outcome), [&](const CheckedFile& file) {
      return file.check && file.check->result.outcome == outcome;
    });
  }
  add("not judged", [](const CheckedFile& file) { return !file.check; });
  return text;
}

void add_details(std::vector<CheckedFile>& files, std::vector<FileReport>& reports) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].check) continue;
    const std::string& file = files[i].listed ? files[i].listed->file : files[i].file;
    reports[i].details = page_details(file, *files[i].check);
    files[i].check->text.clear();
  }
}

void add_files(std::vector<CheckedFile>& files, Document& document) {
  Json results = Json::array();
  Json not_judged = Json::array();
  Json disagreements = Json::array();
  for (CheckedFile& file : files) {
    if (auto& check = file.check) {
      if (file.dumped == nullptr) {
        for (Document::Block& block : check->text) document.add(std::move(block));
      }
      if (check->result.outcome == Outcome::Disagreement) {
        Json disagreement = Json::object({{"result", check->json}});
        if (const auto* members = check->input.if_object()) {
          for (const auto& [key, value] : *members) disagreement.add(key, value);
        }
        disagreements.push_back(std::move(disagreement));
      }
      results.push_back(std::move(check->json));
    }
    for (const FileError& error : file.errors) not_judged.push_back(not_judged_json(file, error));
  }
  document.json.add("results", std::move(results));
  if (!not_judged.if_array()->empty()) document.json.add("not_judged", std::move(not_judged));
  if (!disagreements.if_array()->empty()) {
    document.json.add("disagreements", std::move(disagreements));
  }
}

void collect(std::vector<CheckedFile>& files, CheckAnswer& answer) {
  for (CheckedFile& file : files) {
    // Known to be undecided is no news.
    for (const FileError& error : file.errors) {
      const bool known = std::ranges::any_of(file.report.properties, [&](const Property& each) {
        return each.known && each.message == error.message;
      });
      answer.diagnostics.push_back({known ? Kind::Note : error.kind, error.line});
    }
    if (file.check) {
      file.check->result.seconds = file.seconds;
      answer.results.push_back(std::move(file.check->result));
      if (file.check->smt2) answer.smt2 = std::move(file.check->smt2);
      if (file.check->repaired) answer.repaired = std::move(file.check->repaired);
    }
  }
}

Json outcomes_json(const std::vector<EngineAnswer>& answers) {
  Json outcomes = Json::object();
  for (const EngineAnswer& answer : answers) {
    outcomes.add(answer.engine, to_string(answer.outcome));
  }
  return outcomes;
}

Property engines_property(const std::vector<EngineAnswer>& answers,
                          std::string (*text)(const EngineAnswer&)) {
  Property property{"engines"};
  for (const EngineAnswer& answer : answers) {
    property.message +=
        fmt::format("{}{}: {}", property.message.empty() ? "" : "; ", answer.engine, text(answer));
    if (answer.outcome == Outcome::Undecided) property.status = Status::Undecided;
  }
  if (disagree(answers)) property.status = Status::Disagreement;
  return property;
}

}  // namespace p2
