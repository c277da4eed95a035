
#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo {
namespace {

constexpr std::size_t kMaxFrames = 16;
/// How far the instruction with lines may be from the root.
constexpr std::size_t kMaxSteps = 64;

/// The lines of a text, from the front.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return line;
  }

 private:
  std::string_view rest_;
};

std::string_view line_at(std::string_view text, std::size_t number) {
  Lines lines(text);
  for (std::size_t i = 1; i < number; ++i) lines.next();
  return lines.next().value_or("");
}

/// The number after `key`, such as `line=`; 0 where there is none.
std::size_t number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  std::size_t number = 0;
  if (at != std::string_view::npos) {
    const std::string_view digits = text.substr(at + key.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  return number;
}

/// The text in the quotes after `key`, such as `source_file=`; empty where there is none.
std::string_view quoted_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  if (!text.starts_with('"')) return {};
  text.remove_prefix(1);
  return text.substr(0, text.find('"'));
}

struct Location {
  std::size_t file = 0;
  std::size_t function = 0;
  std::size_t line = 0;
};

struct Frame {
  std::size_t location = 0;
  std::size_t parent = 0;  ///< as it is printed
};

/// The tables `FileNames`, `FunctionNames`, `FileLocations` and `StackFrames`.
struct StackTables {
  std::map<std::size_t, std::string> files;
  std::map<std::size_t, std::string> functions;
  std::map<std::size_t, Location> locations;
  std::map<std::size_t, Frame> frames;

  explicit StackTables(std::string_view text) {
    Lines lines(text);
    std::string_view table;
    while (const auto line = lines.next()) {
      if (*line == "FileNames" || *line == "FunctionNames" || *line == "FileLocations" ||
          *line == "StackFrames") {
        table = *line;
      } else if (line->empty()) {
        table = {};
      } else if (!table.empty()) {
        add(table, *line);
      } else if (line->ends_with('{')) {
        return;  // the tables stand before the computations
      }
    }
  }

  void add(std::string_view table, std::string_view line) {
    const std::size_t id = number_after(line, "");
    if (table == "FileNames") {
      files[id] = quoted_after(line, fmt::format("{} ", id));
    } else if (table == "FunctionNames") {
      functions[id] = quoted_after(line, fmt::format("{} ", id));
    } else if (table == "FileLocations") {
      locations[id] = {number_after(line, "file_name_id="), number_after(line, "function_name_id="),
                       number_after(line, " line=")};
    } else {
      frames[id] = {number_after(line, "file_location_id="),
                    number_after(line, "parent_frame_id=")};
    }
  }

  /// Newer versions of XLA print the parent's number plus one, such that the outermost frame's
  /// is 1.
  std::size_t parent_of(const Frame& frame) const {
    const auto first = frames.find(1);
    const bool shifted = first != frames.end() && first->second.parent == 1;
    return shifted ? frame.parent - (frame.parent > 0 ? 1 : 0) : frame.parent;
  }

  std::vector<std::string> stack(std::size_t id) const {
    std::vector<std::string> stack;
    for (auto frame = frames.find(id); frame != frames.end() && stack.size() < kMaxFrames;
         frame = frames.find(parent_of(frame->second))) {
      const auto location = locations.find(frame->second.location);
      if (location == locations.end()) break;
      const auto file = files.find(location->second.file);
      const auto function = functions.find(location->second.function);
      if (file == files.end()) break;
      stack.push_back(
          fmt::format("{}:{}{}", file->second, location->second.line,
                      function == functions.end() ? "" : fmt::format(" ({})", function->second)));
    }
    return stack;
  }
};

}  // namespace

std::vector<std::string> source_lines(std::string_view text, std::size_t line) {
  const std::string_view instruction = line_at(text, line);
  const std::size_t at = instruction.find("metadata={");
  if (at == std::string_view::npos) return {};
  const std::string_view metadata = instruction.substr(at);
  const std::string_view file = quoted_after(metadata, "source_file=");
  if (!file.empty()) {
    return {fmt::format("{}:{}", file, number_after(metadata, "source_line="))};
  }
  const std::size_t frame = number_after(metadata, "stack_frame_id=");
  return frame == 0 ? std::vector<std::string>{} : StackTables(text).stack(frame);
}

std::vector<std::string> source_of_output(const Module& module, std::string_view text,
                                          std::size_t output) {
  const Computation* computation = &module.entry_computation();
  std::uint32_t at = computation->root;
  std::vector<std::string> moved;  // the lines of an instruction that only moves the value
  for (std::size_t step = 0; step < kMaxSteps; ++step) {
    const Instruction& instruction = computation->instructions[at];
    const std::string& opcode = instruction.opcode;
    std::vector<std::string> lines = source_lines(text, instruction.position.line);
    const bool enters = (opcode == "call" || opcode == "fusion") && !instruction.called.empty();
    const bool moves = enters || opcode == "tuple" || opcode == "get-tuple-element" ||
                       opcode == "copy" || opcode == "bitcast" || opcode == "reshape" ||
                       opcode == "custom-call" || opcode == "opt-barrier";
    if (!lines.empty() && !moves) return lines;
    if (moved.empty()) moved = std::move(lines);
    if (enters) {
      computation = &module.computations[instruction.called.front()];
      at = computation->root;
      continue;
    }
    if (instruction.operands.empty()) break;
    const bool is_result = opcode == "tuple" && output < instruction.operands.size();
    at = instruction.operands[is_result ? output : 0];
    if (opcode == "tuple") output = 0;
    if (opcode == "get-tuple-element") {
      output = static_cast<std::size_t>(instruction.attributes.index);
    }
  }
  return moved;
}

}  // namespace p2::hlo
