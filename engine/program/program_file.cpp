#include "engine/program/program_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/json_reader.h"
#include "engine/program/instruction.h"
#include "engine/program/program.h"
#include "p2/error.h"

namespace p2 {
namespace {

constexpr std::array<std::string_view, 9> kHeaderKeys = {
    "hierarchy", "axes", "reduce",  "placement", "synthesis-hierarchy",
    "dialect",   "goal", "devices", "classes"};

/// Splits a file into header values and the program. Each part is padded with line breaks and
/// blanks, so that positions in it are those of the file.
class Headers {
 public:
  Headers(const std::string& source, const std::string& text) : source_(source), text_(text) {
    std::size_t line = 0;
    while (line < text.size()) {
      const std::size_t end = std::min(text.find('\n', line), text.size());
      if (!read_line(line, end)) break;
      line = std::min(end + 1, text.size());
    }
    program_ = placed(line, text.size());
  }

  const std::string* find(std::string_view key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  const std::string& program() const { return program_; }

 private:
  /// False if the line belongs to the program.
  bool read_line(std::size_t begin, std::size_t end) {
    const std::size_t word = text_.find_first_not_of(" \t\r", begin);
    if (word >= end || text_[word] == '#') return true;
    const std::size_t after = std::min(text_.find_first_of(" \t\r\n#", word), end);
    const std::string_view key = std::string_view(text_).substr(word, after - word);
    for (const std::string_view known : kHeaderKeys) {
      if (key != known) continue;
      if (values_.contains(known)) {
        throw InputError(position_at(source_, text_, word),
                         fmt::format("{} is given twice, expected once", known));
      }
      values_.emplace(known, placed(after, end));
      return true;
    }
    return false;
  }

  std::string placed(std::size_t begin, std::size_t end) const {
    const SourcePosition start = position_at(source_, text_, begin);
    return std::string(start.line - 1, '\n') + std::string(start.column - 1, ' ') +
           text_.substr(begin, end - begin);
  }

  const std::string& source_;
  const std::string& text_;
  std::map<std::string_view, std::string> values_;
  std::string program_;
};

/// Throws InputError where the program begins with a mistyped header. A step goes on with a
/// parenthesis or a brace after its name.
void refuse_unknown_header(const std::string& source, const std::string& program,
                           const CollectiveSet& collectives) {
  TextCursor cursor(source, program);
  const SourcePosition where = cursor.position();
  const std::string word(cursor.peek_name());
  if (word.empty() || word == "skip" || collectives.called(word)) return;
  cursor.take(word.size());
  const bool like_step = cursor.peek() == '(' || cursor.peek() == '{';
  const std::string headers = fmt::format("{}", fmt::join(kHeaderKeys, ", "));
  const std::string near = suggestion(word, headers);
  if (near.empty() || (like_step && !suggestion(word, collectives.names()).empty())) return;
  throw InputError(where,
                   fmt::format("unknown header '{}', expected one of {}{}", word, headers, near));
}

template <typename Value, typename Find>
Value word_value(const std::string& source, const std::string& text, std::string_view what,
                 Find find) {
  TextCursor cursor(source, text);
  const SourcePosition where = cursor.position();
  const std::string word = cursor.name(what);
  expect_end(cursor, what);
  const std::optional<Value> value = find(word);
  if (!value) throw InputError(where, unknown_name(word, what));
  return *value;
}

GivenInstance read_instance(const std::string& source, const Headers& headers,
                            GivenInstance given) {
  if (const auto* text = headers.find("hierarchy"))
    given.hierarchy = parse_hierarchy(source, *text);
  if (const auto* text = headers.find("axes")) given.axes = parse_axes(source, *text);
  const auto need = [&](bool known, const std::string& text, std::string_view what) {
    if (!known)
      throw InputError(TextCursor(source, text).position(),
                       fmt::format("missing {}, expected headers or flags that give them", what));
  };
  if (const auto* text = headers.find("reduce")) {
    need(given.axes.has_value(), *text, "axes");
    given.reduction = parse_reduction(source, *text, *given.axes);
  }
  if (const auto* text = headers.find("placement")) {
    need(given.hierarchy && given.axes, *text, "hierarchy and axes");
    given.placement = parse_placement(source, *text, *given.hierarchy, *given.axes);
  }
  if (const auto* text = headers.find("synthesis-hierarchy")) {
    given.kind = word_value<HierarchyKind>(source, *text, kHierarchyKindNames, find_hierarchy_kind);
  }
  const auto* dialect_text = headers.find("dialect");
  if (dialect_text != nullptr && !given.dialect_overrides_file) {
    given.dialect =
        word_value<Dialect>(source, *dialect_text, "printed or published", find_dialect);
  }
  const auto* goal_text = headers.find("goal");
  if (goal_text != nullptr && !given.goal_overrides_file) {
    given.terms.goal =
        word_value<Goal>(source, *goal_text, fmt::format("{}, or --goal", kGoals), goal_called);
  }
  return given;
}

/// The classes that a file lists, in the order of their first devices.
std::vector<Group> read_classes(const std::string& source, const std::string& text,
                                std::uint32_t devices) {
  TextCursor cursor(source, text);
  const SourcePosition where = cursor.position();
  std::vector<Group> classes = parse_groups(cursor);
  expect_end(cursor, "the classes");
  normalise_classes(classes, devices, where);
  return classes;
}

/// Devices and classes of a file of bare groups.
void read_devices(const std::string& source, const Headers& headers, Program& program) {
  const std::string* devices = headers.find("devices");
  if (devices == nullptr) {
    throw InputError({source, 1, 1},
                     "no instance and no devices, expected hierarchy, axes and "
                     "reduce, or devices and classes");
  }
  TextCursor count(source, *devices);
  program.devices =
      static_cast<std::uint32_t>(count.integer("the number of devices", 1, Hierarchy::kMaxDevices));
  expect_end(count, "the number of devices");
  if (const std::string* classes = headers.find("classes")) {
    program.classes = read_classes(source, *classes, program.devices);
  } else {
    Group everyone(program.devices);
    for (std::uint32_t d = 0; d < program.devices; ++d) everyone[d] = d;
    program.classes = {std::move(everyone)};
  }
}

/// Devices and classes of an instance; classes that the file lists as well must be the same.
void take_devices(const std::string& source, const Headers& headers, const Instance& instance,
                  Program& program) {
  program.devices = instance.grid.devices();
  program.classes = instance.classes();
  const std::string* classes = headers.find("classes");
  if (classes == nullptr || read_classes(source, *classes, program.devices) == program.classes) {
    return;
  }
  throw InputError(TextCursor(source, *classes).position(),
                   "the classes are not those of the placement, expected none or the same ones");
}

bool has_program_key(const nlohmann::json& object) {
  return std::ranges::any_of(kHeaderKeys, [&](std::string_view key) {
    return object.contains(key == "synthesis-hierarchy" ? "synthesis_hierarchy" : key);
  });
}

}  // namespace

bool resembles_program(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  TextCursor cursor("", text);
  if (cursor.peek() == '{') {
    const nlohmann::json root = nlohmann::json::parse(cursor.rest(), nullptr, false);
    return root.is_discarded() || root.contains("steps") || has_program_key(root);
  }
  const std::string word(cursor.peek_name());
  if (word.empty()) return false;
  if (word == "skip" || CollectiveSet().called(word)) return true;
  if (!suggestion(word, fmt::format("{}", fmt::join(kHeaderKeys, ", "))).empty()) return true;
  cursor.take(word.size());
  return cursor.peek() == '(' || cursor.peek() == '{';
}

std::vector<std::string> listed_programs(const std::string& file, const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || text[start] != '{') return {};
  if (text.find("\"placements\"") == std::string::npos) return {};
  if (!JsonDocument(file, text).root().find("placements")) return {};
  std::vector<std::string> programs;
  const nlohmann::json document = nlohmann::json::parse(text);
  for (const nlohmann::json& placement : document.at("placements")) {
    if (!placement.is_object() || !placement.contains("list")) continue;
    for (const nlohmann::json& program : placement.at("list")) programs.push_back(program.dump());
  }
  if (programs.empty()) {
    throw InputError({file},
                     "lists no program, expected what synth --format json writes, without "
                     "--count");
  }
  return programs;
}

std::string name_of_listed(const std::string& file, std::size_t number) {
  return fmt::format("{} program {}", file, number);
}

ProgramFile read_program_notation(const std::string& source, const std::string& text,
                                  const GivenInstance& given) {
  const Headers headers(source, text);
  const bool bare = headers.find("devices") != nullptr;
  const GivenInstance said = read_instance(source, headers, bare ? given.without_system() : given);
  refuse_unknown_header(source, headers.program(), said.terms.collectives);
  if (bare && said.names_system()) {
    throw InputError({source, 1, 1}, "both an instance and devices, expected one of the two");
  }
  ProgramFile file;
  file.dialect = said.dialect;
  file.program.terms = said.terms;
  file.instance = said.resolve({source, 1, 1});
  if (file.instance) {
    take_devices(source, headers, *file.instance, file.program);
  } else {
    read_devices(source, headers, file.program);
  }
  TextCursor cursor(source, headers.program());
  file.program.steps =
      parse_steps(cursor, file.program.devices, file.instance ? &*file.instance : nullptr,
                  file.program.terms.collectives, &file.step_positions);
  return file;
}

namespace {

ProgramFile read_unlowered_notation(const std::string& source, const std::string& text,
                                    const GivenInstance& given) {
  const Headers headers(source, text);
  const GivenInstance said = read_instance(source, headers, given);
  ProgramFile file;
  file.dialect = said.dialect;
  file.program.terms = said.terms;
  file.instance = said.resolve({source, 1, 1});
  if (!file.instance || headers.find("devices") != nullptr || headers.find("classes") != nullptr) {
    throw InputError({source}, "no instance alone");
  }
  file.program.devices = file.instance->grid.devices();
  TextCursor cursor(source, headers.program());
  file.program.steps = parse_steps(cursor, file.program.devices, &*file.instance,
                                   said.terms.collectives, &file.step_positions, false);
  return file;
}

bool is_json(const std::string& text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const std::size_t skipped = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const std::size_t start = text.find_first_not_of(" \t\r\n", skipped);
  return start != std::string::npos && (text[start] == '{' || text[start] == '[');
}

}  // namespace

std::optional<ProgramFile> read_unlowered(const std::string& source, const std::string& text,
                                          const GivenInstance& given) {
  try {
    ProgramFile file = is_json(text) ? read_program_json(source, text, given, false)
                                     : read_unlowered_notation(source, text, given);
    Program& program = file.program;
    if (!is_built_in(program.terms.goal.collective)) return std::nullopt;
    if (std::ranges::any_of(program.steps, [](const Step& step) { return !step.shape; })) {
      return std::nullopt;
    }
    program.beginning = beginning_of(program.terms.goal.collective, file.instance->class_size());
    return file;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

ProgramFile read_program(const std::string& source, const std::string& text,
                         const GivenInstance& given) {
  ProgramFile file = read_as({FileKind::Program}, source, text, [&] {
    return is_json(text) ? read_program_json(source, text, given)
                         : read_program_notation(source, text, given);
  });
  Program& program = file.program;
  program.beginning = beginning_of(program.terms.goal, program.devices, program.classes, {source});
  return file;
}

std::vector<SourceProgram> programs_in(const std::string& file, const GivenInstance& given,
                                       std::size_t number) {
  const std::string text = read_file(file);
  std::vector<std::string> texts = listed_programs(file, text);
  const bool several = !texts.empty();
  if (!several) texts.push_back(text);
  if (number > texts.size()) {
    throw InputError({"--program"}, fmt::format("{}, expected at most {}: so many programs are in "
                                                "{}",
                                                number, texts.size(), file));
  }
  std::vector<SourceProgram> programs;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (number != 0 && number != i + 1) continue;
    const std::string name = several ? name_of_listed(file, i + 1) : file;
    programs.push_back({name, i + 1, read_program(name, texts[i], given)});
  }
  return programs;
}

namespace {

Json json_of(const Program& program, const Instance* instance, Dialect dialect, bool lists) {
  const CollectiveSet& collectives = program.terms.collectives;
  Json json = Json::object({{"devices", program.devices}});
  if (lists) json.add("classes", lists_json(program.classes));
  if (instance != nullptr) {
    json.add("hierarchy", parts_json(instance->grid.hierarchy().levels()))
        .add("axes", parts_json(instance->grid.axes()))
        .add("reduce", Json::array_of(instance->reduction))
        .add("placement", lists_json(instance->grid.placement().factors))
        .add("synthesis_hierarchy", to_string(instance->hierarchy.kind()));
  }
  json.add("dialect", to_string(dialect)).add("goal", program.terms.goal.name);
  json.add("steps", Json::array_of(program.steps, [&](const Step& step) {
             Json one = Json::object({{"collective", collectives.name_of(step.collective)}});
             if (step.shape && instance != nullptr) {
               one.add("slice", slice_to_string(*step.shape, instance->hierarchy))
                   .add("form", form_to_string(*step.shape, instance->hierarchy));
             }
             if (lists || !step.shape) one.add("groups", lists_json(step.groups));
             return one;
           }));
  json.add("text", to_string(program.steps, instance, collectives));
  return json;
}

}  // namespace

Json program_json(const Program& program, const Instance* instance, Dialect dialect) {
  return json_of(program, instance, dialect, true);
}

Json program_pattern_json(const Program& program, const Instance& instance, Dialect dialect) {
  return json_of(program, &instance, dialect, false);
}

std::string to_json(const Program& program, const Instance* instance, Dialect dialect) {
  return program_json(program, instance, dialect).dump();
}

}  // namespace p2
