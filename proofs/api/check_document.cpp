// The files of a request of `check` in the answer and its document.

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/base/plot.h"
#include "proofs/api/checked_files.h"
#include "proofs/api/module_check.h"
#include "proofs/api/subject_check.h"

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

// What a page shows of a file beside the text: the lines at fault and the schedule that leads
// there.

namespace {

constexpr std::size_t kContext = 4;     // lines before and after one that has part in the fault
constexpr std::size_t kMaxLines = 60;   // of a listing
constexpr std::size_t kMaxLine = 400;   // characters of a line
constexpr std::size_t kMaxEvents = 40;  // of a schedule
constexpr std::size_t kFaultColour = 1;

std::size_t number_of(const Json& json) {
  std::size_t number = 0;
  const std::string text = json.dump();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// All members `line` inside, at whatever depth.
void add_lines(const Json& json, std::set<std::size_t>& lines) {
  if (const auto* elements = json.if_array()) {
    for (const Json& each : *elements) add_lines(each, lines);
  }
  if (const auto* members = json.if_object()) {
    for (const auto& [key, value] : *members) {
      if (key == "line") lines.insert(number_of(value));
      add_lines(value, lines);
    }
  }
}

/// The lines `first` to `last` of a file, from 1, long ones cut.
std::vector<std::string> lines_of(const std::string& file, std::size_t first, std::size_t last) {
  std::vector<std::string> lines;
  std::istringstream text(module_text(file, read_file(file)));
  std::string line;
  for (std::size_t i = 1; i <= last && std::getline(text, line); ++i) {
    if (i < first) continue;
    lines.push_back(line.size() <= kMaxLine ? line : line.substr(0, kMaxLine) + " …");
  }
  return lines;
}

/// Of a module whose outputs are wrong: the line that returns them, and the collectives before it.
void add_module_lines(const std::string& file, std::set<std::size_t>& others, std::size_t& fault) {
  constexpr std::string_view kCollectives[] = {
      "all-reduce(",          "all-gather(",       "reduce-scatter(",   "all-to-all(",
      "collective-permute(",  "all-reduce-start(", "all-gather-start(", "collective-permute-start(",
      "all_reduce\"(",        "all_gather\"(",     "reduce_scatter\"(", "all_to_all\"(",
      "collective_permute\"("};
  std::istringstream text(module_text(file, read_file(file)));
  std::string line;
  bool in_entry = false;
  for (std::size_t i = 1; std::getline(text, line); ++i) {
    in_entry |= line.starts_with("ENTRY") || line.find("@main") != std::string::npos;
    const auto holds = [&](std::string_view part) { return line.find(part) != std::string::npos; };
    if (std::ranges::any_of(kCollectives, holds)) others.insert(i);
    if (in_entry && (holds("ROOT ") || holds("return "))) fault = i;
  }
}

/// The lines of the file that have part in the fault, with those around; nothing where the fault
/// has no line. Where they lie far apart, those around the fault.
std::optional<Listing> listing_of(const std::string& file, bool is_module, const Json& facts,
                                  std::size_t fault) {
  std::set<std::size_t> others;
  add_lines(facts, others);
  others.erase(0);
  if (is_module && others.empty()) {
    std::size_t root = 0;
    add_module_lines(file, others, root);
    if (fault == 0) fault = root;
  }
  if (fault == 0 && others.empty()) return std::nullopt;
  if (fault == 0) fault = *others.rbegin();
  others.insert(fault);
  std::size_t first = *others.begin();
  std::size_t last = *others.rbegin();
  if (last - first > kMaxLines) first = last = fault;
  first -= std::min(first - 1, kContext);
  last += kContext;
  Listing listing{file, lines_of(file, first, last), first, fault, {others.begin(), others.end()}};
  return listing.lines.empty() ? std::nullopt : std::optional(std::move(listing));
}

/// An operation of a schedule: where it runs, and what it is.
struct Event {
  std::string lane;
  std::string label;
};

/// `{gpu, tb, step, type}` of MSCCL XML; `rank 0 block 1 line 11 (wait) launch 0` of a one-sided
/// plan, alone or as a member `operation`.
std::optional<Event> event_of(const Json& json) {
  if (const Json* const gpu = json.find("gpu"); gpu != nullptr && json.find("tb") != nullptr) {
    const Json* const type = json.find("type");
    const std::string* const name = type == nullptr ? nullptr : type->if_string();
    return Event{fmt::format("gpu {} tb {}", gpu->dump(), json.find("tb")->dump()),
                 fmt::format("{} {}", json.find("step")->dump(), name == nullptr ? "" : *name)};
  }
  const Json* const operation = json.find("operation");
  const std::string* const text = operation == nullptr ? json.if_string() : operation->if_string();
  const std::size_t line = text == nullptr ? std::string::npos : text->find(" line ");
  if (line == std::string::npos) return std::nullopt;
  const std::size_t open = text->find('(', line);
  const std::size_t close = text->find(')', line);
  const bool is_named = open != std::string::npos && close != std::string::npos && open < close;
  return Event{text->substr(0, line),
               is_named ? text->substr(open + 1, close - open - 1) : text->substr(line + 1)};
}

std::vector<Event> events_of(const Json* list) {
  std::vector<Event> events;
  const auto* const elements = list == nullptr ? nullptr : list->if_array();
  if (elements == nullptr) return events;
  for (const Json& each : *elements) {
    if (auto event = event_of(each)) events.push_back(std::move(*event));
  }
  return events;
}

/// The schedule of the counterexample, one operation after the other, then those at fault, side by
/// side; nothing where it has no operations.
std::optional<Drawing> schedule_drawing(const Json& facts) {
  std::vector<Event> before = events_of(facts.find("schedule"));
  std::vector<Event> at_fault = events_of(facts.find("steps"));
  if (at_fault.empty()) at_fault = events_of(facts.find("operations"));
  if (at_fault.empty()) at_fault = events_of(facts.find("cycle"));
  if (at_fault.empty()) return std::nullopt;
  const bool is_cut = before.size() > kMaxEvents;
  if (is_cut) before.erase(before.begin(), before.end() - kMaxEvents);
  const Json* const cycle = facts.find("cycle");
  const bool is_cycle =
      cycle != nullptr && cycle->if_array() != nullptr && !cycle->if_array()->empty();
  Timeline line{is_cycle ? "The steps that wait for each other"
                         : "A schedule that shows the fault (orange: at fault)",
                "order of execution (operations)"};
  if (is_cut) line.title += fmt::format(", its last {} operations", kMaxEvents);
  std::map<std::string, std::size_t> lanes;
  for (const auto* const list : {&before, &at_fault}) {
    for (const Event& each : *list) lanes.emplace(each.lane, 0);
  }
  for (auto& [lane, number] : lanes) {
    number = line.lanes.size();
    line.lanes.push_back(lane);
  }
  double time = 0;
  for (const Event& each : before) {
    line.bars.push_back({lanes.at(each.lane), time, time + 1, 0, each.label});
    ++time;
  }
  std::map<std::string, double> next;  // by lane: operations at fault on one lane follow each other
  for (const Event& each : at_fault) {
    double& start = next.try_emplace(each.lane, time).first->second;
    line.bars.push_back({lanes.at(each.lane), start, start + 1, kFaultColour, each.label});
    ++start;
  }
  return Drawing{line.title, svg_document(line)};
}

}  // namespace

std::vector<Block> page_details(const std::string& file, const SubjectCheck& check) {
  std::vector<Block> blocks = check.text;
  const Json* const facts = check.json.find("counterexample");
  if (facts == nullptr || facts->is_null()) return blocks;
  std::size_t fault = 0;
  for (const Property& each : check.report.properties) {
    if (each.status == Property::Status::Refuted) fault = each.line;
  }
  if (auto drawing = schedule_drawing(*facts)) blocks.emplace_back(std::move(*drawing));
  const bool is_module = check.report.format == "hlo";
  if (auto listing = listing_of(file, is_module, *facts, fault))
    blocks.emplace_back(std::move(*listing));
  return blocks;
}

}  // namespace p2
