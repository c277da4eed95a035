// `check --dump`: the modules that XLA writes between its passes, compared pair by pair.

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proofs/api/module_check.h"
#include "proofs/api/subject_check.h"

namespace p2 {
namespace {

/// How many pairs came out how.
struct Counts {
  std::size_t pairs = 0;
  std::size_t valid = 0;
  std::size_t invalid = 0;
  std::size_t unknown = 0;
  std::size_t disagreements = 0;

  void add(Outcome outcome) {
    ++pairs;
    if (outcome == Outcome::Established) ++valid;
    if (outcome == Outcome::Refuted) ++invalid;
    if (outcome == Outcome::Undecided) ++unknown;
    if (outcome == Outcome::Disagreement) ++disagreements;
  }
  Outcome outcome() const {
    if (disagreements > 0) return Outcome::Disagreement;
    if (invalid > 0) return Outcome::Refuted;
    return unknown > 0 ? Outcome::Undecided : Outcome::Established;
  }
};

/// One module and its pairs.
struct ModuleSummary {
  const hlo::DumpModule* module = nullptr;
  Counts steps = {};
  const DumpPair* end_to_end = nullptr;  ///< null for a module of fewer than three versions

  /// One step is end to end by itself; a module that no pass changed is equal to itself.
  std::string_view end_to_end_text() const {
    if (end_to_end != nullptr) return to_string(end_to_end->outcome());
    return module->files == 1 ? "-" : to_string(steps.outcome());
  }
  Outcome outcome() const {
    return end_to_end == nullptr ? steps.outcome() : worst(steps.outcome(), end_to_end->outcome());
  }
};

struct PassSummary {
  std::string pass;
  Counts steps = {};
};

struct Summary {
  std::size_t files = 0;
  std::size_t unchanged = 0;
  Counts steps = {};
  std::vector<ModuleSummary> modules = {};
  std::vector<PassSummary> passes = {};      ///< in the order in which they first changed a module
  const DumpPair* first_wrong = nullptr;     ///< the first step that is refuted
  std::vector<const DumpPair*> others = {};  ///< other pairs that are not established
  std::map<std::string_view, std::set<std::string>> given = {};  ///< what valid steps rest on
  std::vector<std::string> partitions = {};  ///< what the valid steps that partition rest on
  std::string sense = {};                    ///< in which pairs are established: `as real numbers`
  Outcome outcome = Outcome::Established;
};

/// The sense in which a pair is established; empty for one that was not compared.
std::string sense_of(const DumpPair& pair) {
  const Json* numbers = pair.check == nullptr ? nullptr : pair.check->json.find("numbers");
  const std::string* name = numbers == nullptr ? nullptr : numbers->if_string();
  if (name == nullptr) return {};
  if (*name == "in order") return "as real numbers and their order";
  return std::string(words_of(float_equality_called(*name)));
}

PassSummary& summary_of(const std::string& pass, std::vector<PassSummary>& passes) {
  const auto found = std::ranges::find(passes, pass, &PassSummary::pass);
  if (found != passes.end()) return *found;
  passes.push_back({pass});
  return passes.back();
}

/// Adds what an answer lists under a key.
void add_listed(const DumpPair& pair, std::string_view key,
                std::map<std::string_view, std::set<std::string>>& given) {
  const Json* listed = pair.check == nullptr ? nullptr : pair.check->json.find(key);
  if (listed == nullptr || listed->if_array() == nullptr) return;
  for (const Json& each : *listed->if_array()) {
    if (const std::string* name = each.if_string()) given[key].insert(*name);
  }
}

/// What a valid step may rest on, by the key of its answer, and in words.
constexpr std::pair<std::string_view, std::string_view> kGiven[] = {
    {"uninterpreted", "treated as uninterpreted functions by valid steps"},
    {"assumed", "assumed equal by valid steps, without elements in the text"},
    {"read_as", "constants that valid steps read as what was rounded to them"},
    {"finite",
     "condition of valid steps: that these are finite, as they are multiplied by masks or padding"},
};

std::string pass_text(const hlo::DumpFile& file) {
  if (file.pass == hlo::kPipelineStart) return "one before pipeline " + file.pipeline;
  return file.pipeline.empty() ? file.pass
                               : fmt::format("{} of pipeline {}", file.pass, file.pipeline);
}

/// How a step relates an unpartitioned module to a partitioned one; empty for any other.
std::string partition_text(const DumpPair& pair) {
  const Json* relation = pair.check == nullptr ? nullptr : pair.check->json.find("relation");
  if (relation == nullptr || pair.end_to_end) return {};
  const Json* before = relation->find("before");
  const Json* after = relation->find("after");
  const Json* placements = relation->find("placements");
  if (before == nullptr || after == nullptr || before->dump() == after->dump()) return {};
  std::vector<std::string> parts;
  if (placements != nullptr && placements->if_object() != nullptr) {
    for (const auto& [tensor, tiles] : *placements->if_object()) {
      const std::string* text = tiles.if_string();
      if (text != nullptr) parts.push_back(fmt::format("{} {}", tensor, *text));
    }
  }
  return fmt::format("{}: partitioned by {}; devices hold: {}", pair.module->name,
                     pass_text(*pair.after), fmt::join(parts, "; "));
}

Summary summary_of(const hlo::Dump& dump, const std::vector<DumpPair>& pairs) {
  Summary summary;
  summary.outcome = Outcome::Undecided;  // until there is something to compare
  for (const hlo::DumpModule& module : dump.modules) {
    summary.files += module.files;
    summary.unchanged += module.files - module.versions.size();
    summary.modules.push_back({&module});
    if (module.files > 1) summary.outcome = Outcome::Established;
  }
  for (const DumpPair& pair : pairs) {
    const Outcome outcome = pair.outcome();
    const auto of_module = static_cast<std::size_t>(pair.module - dump.modules.data());
    ModuleSummary& module = summary.modules[of_module];
    if (pair.end_to_end) {
      module.end_to_end = &pair;
    } else {
      module.steps.add(outcome);
      summary.steps.add(outcome);
      summary_of(pair.after->pass, summary.passes).steps.add(outcome);
    }
    summary.outcome = worst(summary.outcome, outcome);
    if (!pair.end_to_end && outcome == Outcome::Refuted && summary.first_wrong == nullptr) {
      summary.first_wrong = &pair;
    } else if (outcome != Outcome::Established) {
      summary.others.push_back(&pair);
    }
    if (outcome != Outcome::Established) continue;
    for (const auto& [key, words] : kGiven) add_listed(pair, key, summary.given);
    summary.sense = sense_of(pair);
    std::string partition = partition_text(pair);
    if (!partition.empty()) summary.partitions.push_back(std::move(partition));
  }
  return summary;
}

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// `42 steps: 41 valid, 1 invalid`.
std::string counts_text(const Counts& counts) {
  std::string text = counted(counts.pairs, "step");
  std::string_view separator = ": ";
  const auto add = [&](std::size_t number, std::string_view what) {
    if (number == 0) return;
    text += fmt::format("{}{} {}", separator, number, what);
    separator = ", ";
  };
  add(counts.valid, "valid");
  add(counts.invalid, "invalid");
  add(counts.unknown, "unknown");
  add(counts.disagreements, "in dispute");
  return text;
}

std::vector<std::string> cells_of(const Counts& counts) {
  return {std::to_string(counts.pairs), std::to_string(counts.valid),
          std::to_string(counts.invalid), std::to_string(counts.unknown + counts.disagreements)};
}

Table table_of(const std::vector<ModuleSummary>& modules) {
  Table table{
      {"files", "unchanged", "steps", "valid", "invalid", "unknown", "end to end", "module"},
      {},
      6};
  for (const ModuleSummary& each : modules) {
    const hlo::DumpModule& module = *each.module;
    std::vector<std::string> row = {std::to_string(module.files),
                                    std::to_string(module.files - module.versions.size())};
    for (std::string& cell : cells_of(each.steps)) row.push_back(std::move(cell));
    row.emplace_back(each.end_to_end_text());
    row.push_back(module.name);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table table_of(const std::vector<PassSummary>& passes) {
  Table table{{"steps", "valid", "invalid", "unknown", "pass"}, {}, 4};
  for (const PassSummary& each : passes) {
    std::vector<std::string> row = cells_of(each.steps);
    row.push_back(each.pass);
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_pair(const DumpPair& pair, Document& document) {
  document.line(fmt::format("{}: {}", pair.end_to_end ? "end to end" : "pass",
                            pair.end_to_end ? pair.module->name : pass_text(*pair.after)));
  if (pair.check == nullptr) {
    document.line(fmt::format("{}: unknown (after {})", pair.after->path, pair.before->path));
    return;
  }
  for (const Document::Block& block : pair.check->text) document.add(block);
}

/// What holds of the modules as a whole and cannot be read off the pairs.
void add_conclusions(const Summary& summary, Document& document) {
  const auto count = [&](const auto& is_counted) {
    return static_cast<std::size_t>(std::ranges::count_if(summary.modules, is_counted));
  };
  const auto all_steps_valid = [](const ModuleSummary& module) {
    return module.end_to_end != nullptr && module.steps.outcome() == Outcome::Established;
  };
  const std::size_t composed = count([&](const ModuleSummary& module) {
    if (!all_steps_valid(module) || module.end_to_end->check == nullptr) return false;
    return module.end_to_end->check->json.find("composed") != nullptr;
  });
  if (composed > 0) {
    document.line(
        fmt::format("{}: end to end by composition of valid steps, the direct comparison was not "
                    "decided",
                    counted(composed, "module")));
  }
  const std::size_t undone = count([](const ModuleSummary& module) {
    return module.end_to_end != nullptr && module.steps.outcome() == Outcome::Refuted &&
           module.end_to_end->outcome() == Outcome::Established;
  });
  if (undone > 0) {
    document.line(
        fmt::format("{}: valid end to end though a step is invalid: a later pass undoes "
                    "it, or an answer is wrong.",
                    counted(undone, "module")));
  }
  const std::size_t contradictory = count([&](const ModuleSummary& module) {
    return all_steps_valid(module) && module.end_to_end->outcome() == Outcome::Refuted;
  });
  if (contradictory > 0) {
    document.line(
        fmt::format("{}: invalid end to end though every step is valid: the shardings that relate "
                    "the first version to the last are not those of the steps, or an answer is "
                    "wrong.",
                    counted(contradictory, "module")));
  }
}

void add_text(const hlo::Dump& dump, const Summary& summary, bool details, Document& document) {
  const bool is_equal = summary.outcome == Outcome::Established && !summary.sense.empty();
  document.line(fmt::format("{}: {} ({}, {}, {} unchanged, {}{})", dump.folder,
                            to_string(summary.outcome), counted(summary.modules.size(), "module"),
                            counted(summary.files, "file"), summary.unchanged,
                            counts_text(summary.steps), is_equal ? ", " + summary.sense : ""));
  if (summary.first_wrong != nullptr) {
    document.line("first wrong file: " + summary.first_wrong->after->name);
    if (details) add_pair(*summary.first_wrong, document);
  }
  add_conclusions(summary, document);
  for (const auto& [key, words] : kGiven) {
    const auto given = summary.given.find(key);
    if (given == summary.given.end()) continue;
    document.line(fmt::format("{}: {}", words, fmt::join(given->second, ", ")));
  }
  if (!dump.left_out.empty()) {
    document.line(
        fmt::format("left out, no place among the passes: {}", fmt::join(dump.left_out, ", ")));
  }
  if (!summary.passes.empty()) {
    document.line("");
    document.add(table_of(summary.passes));
  }
  document.line("");
  document.add(table_of(summary.modules));
  if (!summary.partitions.empty()) document.line("");
  for (const std::string& line : summary.partitions) document.line(line);
  for (const DumpPair* pair : summary.others) {
    if (!details) break;
    document.line("");
    add_pair(*pair, document);
  }
}

void add_counts(const Counts& counts, Json& json) {
  json.add("steps", counts.pairs).add("valid", counts.valid);
  json.add("invalid", counts.invalid).add("unknown", counts.unknown);
}

Json json_of(const ModuleSummary& summary) {
  const hlo::DumpModule& module = *summary.module;
  const bool is_alone = module.files == 1;
  Json json = Json::object({{"module", module.name},
                            {"verdict", is_alone ? Json() : Json(to_string(summary.outcome()))},
                            {"files", module.files},
                            {"unchanged", module.files - module.versions.size()}});
  add_counts(summary.steps, json);
  json.add("end_to_end", is_alone ? Json() : Json(summary.end_to_end_text()));
  return json;
}

/// Members of the result of a pair that other results do not have.
void add_place(const DumpPair& pair, Json& json) {
  json.add("module", pair.module->name);
  json.add("pipeline", pair.after->pipeline.empty() ? Json() : Json(pair.after->pipeline));
  json.add("pass", pair.after->pass);
  json.add("end_to_end", pair.end_to_end);
}

}  // namespace

std::vector<DumpPair> pairs_of(const hlo::Dump& dump) {
  std::vector<DumpPair> pairs;
  for (const hlo::DumpModule& module : dump.modules) {
    for (std::size_t i = 1; i < module.versions.size(); ++i) {
      pairs.push_back({&module, &module.versions[i - 1], &module.versions[i]});
    }
  }
  for (const hlo::DumpModule& module : dump.modules) {
    if (module.versions.size() < 3) continue;
    pairs.push_back({&module, &module.versions.front(), &module.versions.back(), true});
  }
  return pairs;
}

SubjectCheck compare_dumped_modules(const DumpPair& pair, const CheckQuestion& question) {
  SubjectCheck check;
  try {
    check = compare_modules(pair.before->path, pair.after->path, question);
  } catch (const InputError& error) {
    check = undecided_comparison(pair.before->path, pair.after->path, error.what());
  }
  add_place(pair, check.json);
  check.report.place = pair.end_to_end
                           ? fmt::format("{}: end to end", pair.module->name)
                           : fmt::format("{}: {}", pair.module->name, pass_text(*pair.after));
  if (pair.end_to_end) {
    for (Property& property : check.report.properties)
      property.name = "end to end " + property.name;
  }
  return check;
}

void compose_steps(std::vector<DumpPair>& pairs) {
  std::set<const hlo::DumpModule*> open;
  for (const DumpPair& pair : pairs) {
    if (!pair.end_to_end && pair.outcome() != Outcome::Established) open.insert(pair.module);
  }
  for (DumpPair& pair : pairs) {
    const bool is_composed = pair.end_to_end && pair.check != nullptr &&
                             pair.outcome() == Outcome::Undecided && !open.contains(pair.module);
    if (!is_composed) continue;
    SubjectCheck& check = *pair.check;
    check.result.outcome = Outcome::Established;
    check.result.undecided.reset();
    for (Property& property : check.report.properties) property = Property{property.name};
    Json json;
    for (const auto& [key, value] : *check.json.if_object()) {
      if (key == "numbers_shown" || key == "not_understood") continue;
      const bool is_about_failure = key == "reason" || key == "counterexample";
      json.add(key, is_about_failure ? Json() : key == "verdict" ? Json("valid") : value);
    }
    check.json = std::move(json).add("composed", true);
  }
}

std::vector<Diagnostic> diagnostics_of(const hlo::Dump& dump) {
  std::vector<Diagnostic> diagnostics;
  if (dump.with_elided_constants > 0) {
    diagnostics.push_back(
        {Diagnostic::Kind::Note,
         fmt::format("{}: {} with elided constants, '{{...}}', which equal nothing in another "
                     "file, expected a dump with XLA_FLAGS=--xla_dump_large_constants=true",
                     dump.folder, counted(dump.with_elided_constants, "file"))});
  }
  const bool is_comparable = std::ranges::any_of(
      dump.modules, [](const hlo::DumpModule& module) { return module.files > 1; });
  if (!is_comparable) {
    diagnostics.push_back({Diagnostic::Kind::Undecided,
                           fmt::format("{}: no module has a second file to compare with, expected "
                                       "a dump with XLA_FLAGS=--xla_dump_hlo_pass_re=.*",
                                       dump.folder)});
  }
  return diagnostics;
}

void add_dump(const hlo::Dump& dump, const std::vector<DumpPair>& pairs, bool details,
              Document& document) {
  const Summary summary = summary_of(dump, pairs);
  add_text(dump, summary, details, document);
  const auto* first = summary.first_wrong == nullptr ? nullptr : summary.first_wrong->after;
  document.json.add("folder", dump.folder).add("verdict", to_string(summary.outcome));
  document.json.add("first_wrong", first == nullptr ? Json() : Json(first->name));
  document.json.add("first_wrong_pass", first == nullptr ? Json() : Json(first->pass));
  document.json.add("modules", Json::array_of(summary.modules, [](const ModuleSummary& each) {
                      return json_of(each);
                    }));
  document.json.add("passes", Json::array_of(summary.passes, [](const PassSummary& each) {
                      Json json = Json::object({{"pass", each.pass}});
                      add_counts(each.steps, json);
                      return json;
                    }));
  document.json.add("left_out", Json::array_of(dump.left_out));
  document.json.add("with_elided_constants", dump.with_elided_constants);
}

}  // namespace p2
