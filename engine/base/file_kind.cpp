#include "engine/base/file_kind.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/text_cursor.h"

namespace p2 {
namespace {

/// How messages call a kind, and the command that reads it.
struct KindText {
  FileKind kind;
  std::string_view name;
  std::string_view command;
};

constexpr std::array<KindText, 10> kKindTexts{
    {{FileKind::Program, "a program", "p2-verify check"},
     {FileKind::Programs, "a list of programs from synth", "p2-verify check"},
     {FileKind::Definition, "a definition of a collective", "p2-verify define"},
     {FileKind::System, "a system file", "p2-verify cost --system"},
     {FileKind::OperationGraph, "an operation graph", "p2-verify parallelize"},
     {FileKind::Tasks, "a set of unit tasks", "p2-verify reshard --tasks"},
     {FileKind::Plan, "a plan of a resharding", "p2-verify check"},
     {FileKind::Baseline, "a baseline of known failures", "p2-verify check --baseline"},
     {FileKind::Xml, "XML", "p2-verify check"},
     {FileKind::Module, "a module of XLA or StableHLO", "p2-verify check"}}};

const KindText& text_of(FileKind kind) {
  return *std::find_if(kKindTexts.begin(), kKindTexts.end(),
                       [&](const KindText& each) { return each.kind == kind; });
}

/// The first words of `.p2` files with headers.
constexpr std::array<std::string_view, 10> kProgramWords = {
    "hierarchy", "axes", "reduce",  "placement", "synthesis-hierarchy",
    "dialect",   "goal", "devices", "classes",   "skip"};

std::optional<FileKind> kind_of_json(std::string_view text) {
  using nlohmann::json;
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return std::nullopt;
  const auto names = [&](const char* key, std::string_view prefix) {
    const auto value = root.find(key);
    return value != root.end() && value->is_string() &&
           value->get_ref<const std::string&>().starts_with(prefix);
  };
  if (names("format", "operation-graph/") || names("format", "pairwise-strategy-graph/")) {
    return FileKind::OperationGraph;
  }
  if (names("format", "reshard-plan/")) return FileKind::Plan;
  if (names("schema", "p2-verify-baseline/")) return FileKind::Baseline;
  if (root.contains("placements")) return FileKind::Programs;
  if (root.contains("steps")) return FileKind::Program;
  if (root.contains("tasks")) return FileKind::Tasks;
  if (root.contains("interconnects")) return FileKind::System;
  if (root.contains("name") && root.contains("hierarchy")) return FileKind::System;
  return std::nullopt;
}

}  // namespace

std::optional<FileKind> recognized_kind(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  TextCursor cursor("", text);
  if (cursor.peek() == '<') return FileKind::Xml;
  if (cursor.peek() == '{') return kind_of_json(cursor.rest());
  const std::string_view word = cursor.peek_name();
  if (word == "collective") return FileKind::Definition;
  if (word == "HloModule" || word == "module") return FileKind::Module;
  if (std::find(kProgramWords.begin(), kProgramWords.end(), word) != kProgramWords.end()) {
    return FileKind::Program;
  }
  return std::nullopt;
}

void refuse_other_kind(const std::string& source, std::string_view text,
                       std::initializer_list<FileKind> expected) {
  const std::optional<FileKind> kind = recognized_kind(text);
  if (!kind || std::find(expected.begin(), expected.end(), *kind) != expected.end()) return;
  throw InputError({source}, fmt::format("is {}, expected {} (see {})", text_of(*kind).name,
                                         text_of(*expected.begin()).name, text_of(*kind).command));
}

}  // namespace p2
