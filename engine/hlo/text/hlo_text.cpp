// The parser of XLA's HLO text (xla/hlo/parser/hlo_parser.cc), in its long and short forms.

#include "engine/hlo/text/hlo_text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/module.h"
#include "engine/hlo/text/text_reader.h"

namespace p2::hlo {

namespace {

using Integers = std::vector<std::int64_t>;
constexpr std::int64_t kMaxInteger = kMaxElements;

constexpr auto kComputations = std::to_array<std::string_view>(
    {"to_apply", "calls", "called_computations", "body", "condition", "branch_computations",
     "true_computation", "false_computation", "select", "scatter", "comparator"});

/// Attributes for placement, debugging and tuning, which do not change the result.
constexpr auto kIgnored = std::to_array<std::string_view>(
    {"metadata", "origin", "statistics", "schedule_config", "original_value", "constrain_layout",
     "execution_thread", "async_execution_thread", "is_stable_layout",
     "cross_program_prefetch_index", "stacktrace", "has_dynamic_root"});

/// The layouts of a custom call that reads its operands as they lie in memory, and of its results;
/// tiles and memory spaces apart, which the compiler chooses.
std::string constrained_layouts(std::string_view operands, const Shape& results) {
  std::string text = "operand_layout_constraints=";
  bool skips = false;
  for (const char each : without_blanks(operands)) {
    skips = (skips || each == ':') && each != '}';
    if (!skips) text += each;
  }
  text += ";result_layout=";
  for (const ArrayShape& result : results.arrays()) {
    text +=
        result.row_major() ? "{}" : fmt::format("{{{}}}", fmt::join(result.minor_to_major, ","));
  }
  return text + ";";
}

template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Integers read_list(TextReader& reader) {
  Integers list;
  reader.expect("{", "before a list");
  while (!reader.accept("}")) {
    list.push_back(reader.integer("a number", -kMaxInteger, kMaxInteger));
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
  }
  return list;
}

/// `{[0:4], [0:8:2]}`.
void read_slice(TextReader& reader, Attributes& attributes) {
  reader.expect("{", "before the ranges of a slice");
  while (!reader.accept("}")) {
    reader.expect("[", "before a range");
    attributes.starts.push_back(reader.integer("where a range starts", 0, kMaxInteger));
    reader.expect(":", "inside a range");
    attributes.limits.push_back(reader.integer("where a range ends", 0, kMaxInteger));
    const bool strided = reader.accept(":");
    attributes.strides.push_back(strided ? reader.integer("a stride", 1, kMaxInteger) : 1);
    reader.expect("]", "after a range");
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
  }
}

/// `0_1x2_3_1`: low, high and interior padding of every dimension.
void read_padding(TextReader& reader, Attributes& attributes) {
  const SourcePosition where = reader.position();
  const std::string_view text = reader.word("padding");
  std::size_t at = 0;
  const auto number = [&](char after) {
    TextReader part(text.substr(at), where);
    const std::int64_t value = part.integer("padding", -kMaxInteger, kMaxInteger);
    const std::size_t end = text.find_first_of("_x", at);
    at = end == std::string_view::npos ? text.size() : end;
    if (after != '\0' && (at == text.size() || text[at] != after)) part.fail("expected '_'");
    if (after != '\0') ++at;
    return value;
  };
  while (at < text.size()) {
    attributes.starts.push_back(number('_'));
    attributes.limits.push_back(number('\0'));
    const bool interior = at < text.size() && text[at] == '_';
    if (interior) ++at;
    attributes.strides.push_back(interior ? number('\0') : 0);
    if (at < text.size() && text[at] == 'x') ++at;
  }
}

void read_pairs(TextReader& reader, Attributes& attributes) {
  reader.expect("{", "before pairs");
  while (!reader.accept("}")) {
    reader.expect("{", "before a pair");
    const std::int64_t source = reader.integer("a source", 0, kMaxDevices - 1);
    reader.expect(",", "inside a pair");
    attributes.pairs.emplace_back(source, reader.integer("a target", 0, kMaxDevices - 1));
    reader.expect("}", "after a pair");
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
  }
}

bool read_flag(TextReader& reader) {
  if (reader.accept_word("true")) return true;
  if (reader.accept_word("false")) return false;
  reader.unexpected("true or false");
}

bool read_known(TextReader& reader, std::string_view name, const Instruction& instruction,
                Attributes& attributes) {
  const bool iota = name == "iota_dimension" || name == "dimension";
  if (name == "dimensions") {
    attributes.dimensions = read_list(reader);
  } else if (iota && instruction.opcode == "iota") {
    attributes.dimensions = {reader.integer("a dimension", 0, kMaxInteger)};
  } else if (name == "dynamic_slice_sizes") {
    attributes.slice_sizes = read_list(reader);
  } else if (name == "slice" && instruction.opcode == "slice") {
    read_slice(reader, attributes);
  } else if (name == "padding") {
    read_padding(reader, attributes);
  } else if (name == "replica_groups") {
    attributes.groups = read_replica_groups(reader);
  } else if (name == "source_target_pairs") {
    read_pairs(reader, attributes);
  } else if (name == "channel_id") {
    attributes.channel = reader.integer("a channel", 0, std::numeric_limits<std::int64_t>::max());
    attributes.has_channel = attributes.channel > 0;
  } else if (name == "use_global_device_ids") {
    attributes.global_ids = read_flag(reader);
  } else if (name == "index") {
    attributes.index = reader.integer("an index", 0, kMaxInteger);
  } else if (name == "direction") {
    attributes.direction = reader.word("a direction");
  } else {
    return false;
  }
  return true;
}

/// Without the backslashes of its escapes.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain.push_back(text[i]);
  }
  return plain;
}

/// Of `{name="…",other={…}}` every name with its value, escaped as it is.
template <typename Use>
void for_each_entry(std::string_view text, const SourcePosition& where, const Use& use) {
  TextReader reader(text, where);
  if (!reader.accept("{")) return;
  while (!reader.next_is("}") && !reader.at_end()) {
    const std::string_view name = reader.raw("=,}", false);
    if (!reader.accept("=")) break;
    use(name, reader.next_is("\"") ? reader.quoted() : reader.raw(",}", false));
    if (!reader.accept(",")) break;
  }
}

/// Of `{xla.sdy.sharding="…",other="…"}`, the strings whose names begin with `xla.sdy.`, without
/// their escapes, and what says who sends to whom.
void read_frontend_attributes(std::string_view text, const SourcePosition& where,
                              Attributes& attributes) {
  for_each_entry(text, where, [&](std::string_view name, std::string_view value) {
    if (name.starts_with("xla.sdy.")) {
      attributes.shardy[std::string(name)] += unescaped(value);
    } else if (name == "_xla_send_recv_source_target_pairs") {
      TextReader pairs(value, where);
      attributes.pairs.clear();
      read_pairs(pairs, attributes);
    } else if (name == "_xla_send_recv_validation") {
      attributes.others += fmt::format("{}={};", name, value);
    }
  });
}

/// The meshes in `{mesh = #sdy.mesh<["d"=2, "m"=4]>, …}`, by name.
std::map<std::string, std::string> meshes_of(std::string_view text) {
  constexpr std::string_view kMesh = "#sdy.mesh<";
  std::map<std::string, std::string> meshes;
  for (std::size_t at = 0; (at = text.find(kMesh, at)) != std::string_view::npos;) {
    const std::size_t end = text.find('>', at);
    const std::size_t equals = text.rfind('=', at);
    if (end == std::string_view::npos || equals == std::string_view::npos) break;
    std::size_t last = equals;
    while (last > 0 && text[last - 1] == ' ') --last;
    const std::size_t before = text.find_last_of("{, ", last - 1);
    const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
    meshes[std::string(text.substr(first, last - first))] =
        std::string(text.substr(at + kMesh.size() - 1, end - at - kMesh.size() + 2));
    at = end;
  }
  return meshes;
}

/// Those of the header's frontend_attributes.
std::map<std::string, std::string> read_meshes(std::string_view text, const SourcePosition& where) {
  std::map<std::string, std::string> meshes;
  for_each_entry(text, where, [&](std::string_view name, std::string_view value) {
    if (name == "xla.sdy.meshes") meshes = meshes_of(unescaped(value));
  });
  return meshes;
}

/// Whether an attribute names computations: `to_apply`, `calls`, `body`, …
bool names_computations(std::string_view attribute) { return contains(kComputations, attribute); }

/// Reads the value of one attribute of an instruction. Attributes that do not change the result are
/// skipped; unknown ones are kept in `others`. Precondition: not names_computations(name).
void read_attribute(TextReader& reader, std::string_view name, const Instruction& instruction,
                    Attributes& attributes) {
  if (read_known(reader, name, instruction, attributes)) return;
  const SourcePosition where = reader.position();
  const std::string_view value = reader.value(",})");
  if (value.empty()) reader.unexpected("the value of an attribute");
  if (name == "sharding") {
    attributes.sharding = value;
    return;
  }
  if (name == "frontend_attributes") {
    read_frontend_attributes(value, where, attributes);
    return;
  }
  if (name == "result_accuracy") {
    attributes.accuracy = without_blanks(value);
    return;
  }
  if (name == "window") {  // blanks separate its parts
    attributes.others += fmt::format("{}={};", name, value);
    return;
  }
  if (name == "operand_layout_constraints") {
    attributes.others += constrained_layouts(value, instruction.shape);
    return;
  }
  const bool tuning = name == "backend_config" && instruction.opcode != "custom-call";
  if (tuning || contains(kIgnored, name)) return;
  attributes.others += std::string(name) + "=" + without_blanks(value) + ";";
}

using Names = std::unordered_map<std::string, std::uint32_t>;

/// A recursive-descent parser. Names must be defined before they are used.
class HloReader {
 public:
  HloReader(const std::string& source, const std::string& text, const Limits& limits)
      : reader_(source, text) {
    reader_.obey(limits);
    module_.file = source;
  }

  Module read() {
    read_header();
    bool entry = false;
    while (skip_table()) {
    }
    while (!reader_.at_end()) entry = read_computation() || entry;
    if (module_.computations.empty()) reader_.unexpected("a computation");
    if (!entry) module_.entry = static_cast<std::uint32_t>(module_.computations.size() - 1);
    return std::move(module_);
  }

 private:
  void read_header() {
    if (!reader_.accept_word("HloModule")) reader_.unexpected("'HloModule'");
    module_.name = name("the name of the module");
    while (reader_.accept(",")) {
      const std::string_view attribute = reader_.word("an attribute of the module");
      if (!reader_.accept("=")) {
        module_.is_scheduled = module_.is_scheduled || attribute == "is_scheduled";
        continue;
      }
      if (attribute == "replica_count") {
        module_.replicas = reader_.integer("the number of replicas", 1, kMaxDevices);
      } else if (attribute == "num_partitions") {
        module_.partitions = reader_.integer("the number of partitions", 1, kMaxDevices);
      } else {
        const SourcePosition where = reader_.position();
        const std::string value(reader_.value(","));
        if (attribute == "is_scheduled") module_.is_scheduled = value == "true";
        if (attribute == "spmd_parameters_shardings") module_.parameter_shardings = value;
        if (attribute == "spmd_output_sharding") module_.output_sharding = value;
        if (attribute == "frontend_attributes") module_.meshes = read_meshes(value, where);
      }
    }
  }

  /// Skips a table of source positions: its name, and lines that begin with a number.
  bool skip_table() {
    constexpr auto kTables = std::to_array<std::string_view>(
        {"FileNames", "FunctionNames", "FileLocations", "StackFrames"});
    if (!contains(kTables, reader_.peek_word())) return false;
    reader_.word("a table");
    const auto row = [&] {
      const std::string_view number = reader_.peek_word();
      return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
    };
    while (row()) {
      reader_.word("a row");
      reader_.value("");
    }
    return true;
  }

  std::string name(std::string_view what) {
    reader_.accept("%");
    return std::string(reader_.word(what));
  }

  /// Whether it is the entry.
  bool read_computation() {
    const bool entry = reader_.accept_word("ENTRY");
    const SourcePosition where = reader_.position();
    Computation computation{name("the name of a computation")};
    if (reader_.next_is("(")) {
      read_shape_of_parameters();
      reader_.expect("->", "after parameters");
      read_shape(reader_);
    }
    read_instructions(computation);
    while (reader_.accept(",")) {
      reader_.word("an attribute of a computation");
      reader_.expect("=", "after an attribute");
      reader_.value(",");
    }
    const auto index = static_cast<std::uint32_t>(module_.computations.size());
    if (!computations_.emplace(computation.name, index).second) {
      throw InputError(
          where, fmt::format("a second computation '{}', expected another name", computation.name));
    }
    if (entry) module_.entry = index;
    number_parameters(computation, where);
    module_.computations.push_back(std::move(computation));
    return entry;
  }

  void read_shape_of_parameters() {
    reader_.expect("(", "before parameters");
    reader_.raw(")", false);
    reader_.expect(")", "after parameters");
  }

  void read_instructions(Computation& computation) {
    reader_.expect("{", "before instructions");
    names_.clear();
    elements_.clear();
    bool root = false;
    while (!reader_.accept("}")) root = read_instruction(computation) || root;
    if (computation.instructions.empty()) reader_.fail("no instruction, expected at least one");
    if (!root) computation.root = static_cast<std::uint32_t>(computation.instructions.size() - 1);
  }

  /// Whether it is the root. Names may repeat, as in reduced test files: the last one counts.
  bool read_instruction(Computation& computation) {
    const bool root = reader_.accept_word("ROOT");
    Instruction instruction;
    instruction.position = reader_.position();
    instruction.name = name("an instruction");
    reader_.expect("=", "after the name of an instruction");
    instruction.shape = read_shape(reader_);
    instruction.opcode = reader_.word("an operation");
    reader_.expect("(", "before operands");
    read_operands(instruction, computation);
    reader_.expect(")", "after operands");
    while (reader_.accept(",")) read_attribute_of(instruction);
    const auto takes_dynamic = [&](std::uint32_t each) {
      return is_dynamic(computation.instructions[each].shape);
    };
    set_apart_if_not_known(
        instruction,
        is_dynamic(instruction.shape) || std::ranges::any_of(instruction.operands, takes_dynamic));
    const auto index = static_cast<std::uint32_t>(computation.instructions.size());
    names_[instruction.name] = index;
    if (root) computation.root = index;
    reader_.require_growth(computation.instructions);
    computation.instructions.push_back(std::move(instruction));
    return root;
  }

  void read_operands(Instruction& instruction, Computation& computation) {
    if (instruction.opcode == "parameter") {
      instruction.attributes.index = reader_.integer("a number", 0, kMaxElements);
    } else if (instruction.opcode == "constant") {
      if (instruction.shape.is_tuple) {
        instruction.attributes.others = without_blanks(reader_.raw(")", false));
      } else {
        instruction.literal =
            std::make_shared<const Literal>(read_literal(reader_, instruction.shape.array));
      }
    } else {
      while (!reader_.next_is(")")) {
        instruction.operands.push_back(read_operand(computation));
        if (!reader_.accept(",") && !reader_.next_is(")")) reader_.unexpected("',' or ')'");
      }
    }
  }

  /// `%x`, `x` or, as older versions print it, `f32[8]{0} %x`; `%x#1` is element 1 of a tuple, as
  /// newer versions print it, for which a get-tuple-element is put in front.
  std::uint32_t read_operand(Computation& computation) {
    if (reader_.next_is("(")) {
      read_shape(reader_);
    } else if (!reader_.next_is("%")) {
      const TextReader::Mark before = reader_.mark();
      reader_.word("an operand");
      const bool shape = reader_.next_is("[");
      reader_.reset(before);
      if (shape) read_shape(reader_);
    }
    const SourcePosition where = reader_.position();
    const std::string operand = name("an operand");
    const auto found = names_.find(operand);
    if (found == names_.end()) {
      throw InputError(where,
                       fmt::format("no instruction '{}' before this one, expected one of the "
                                   "same computation",
                                   operand));
    }
    std::uint32_t number = found->second;
    while (reader_.accept("#")) number = read_element(number, where, computation);
    return number;
  }

  /// The get-tuple-element of what `#` is behind, one for all that name it.
  std::uint32_t read_element(std::uint32_t tuple, const SourcePosition& where,
                             Computation& computation) {
    const std::int64_t index = reader_.integer("the number of an element", 0, kMaxInteger);
    const auto [element, is_new] = elements_.try_emplace({tuple, index});
    if (!is_new) return element->second;
    const Instruction& whole = computation.instructions[tuple];
    const auto place = static_cast<std::size_t>(index);
    if (!whole.shape.is_tuple || place >= whole.shape.parts.size()) {
      throw InputError(
          where, fmt::format("'{}' has no element {}, expected one of a tuple", whole.name, index));
    }
    Instruction made;
    made.position = where;
    made.name = fmt::format("{}#{}", whole.name, index);
    made.opcode = "get-tuple-element";
    made.shape = whole.shape.parts[place];
    made.operands = {tuple};
    made.attributes.index = index;
    set_apart_if_not_known(made, is_dynamic(made.shape) || is_dynamic(whole.shape));
    element->second = static_cast<std::uint32_t>(computation.instructions.size());
    reader_.require_growth(computation.instructions);
    computation.instructions.push_back(std::move(made));
    return element->second;
  }

  void read_predecessors(Instruction& instruction) {
    reader_.expect("{", "before instructions");
    while (!reader_.accept("}")) {
      const SourcePosition where = reader_.position();
      instruction.control_predecessors.push_back(name("an instruction"));
      if (!names_.contains(instruction.control_predecessors.back())) {
        throw InputError(where, fmt::format("no instruction '{}' before this one, expected one "
                                            "that is executed before it",
                                            instruction.control_predecessors.back()));
      }
      if (!reader_.accept(",") && !reader_.next_is("}")) reader_.unexpected("',' or '}'");
    }
  }

  void read_attribute_of(Instruction& instruction) {
    const std::string attribute(reader_.word("an attribute"));
    reader_.expect("=", "after the name of an attribute");
    if (attribute == "control-predecessors") return read_predecessors(instruction);
    if (!names_computations(attribute)) {
      read_attribute(reader_, attribute, instruction, instruction.attributes);
      return;
    }
    const bool several = reader_.accept("{");
    if (several && reader_.accept("}")) return;
    do {
      const SourcePosition where = reader_.position();
      const std::string called = name("a computation");
      const auto found = computations_.find(called);
      if (found == computations_.end()) {
        throw InputError(where,
                         fmt::format("no computation '{}' before this one, expected one", called));
      }
      // The condition of a loop before its body, and the function that selects before the one that
      // scatters, whatever their order in the text.
      const bool is_first = attribute == "condition" || attribute == "select";
      const auto at = is_first ? instruction.called.begin() : instruction.called.end();
      instruction.called.insert(at, found->second);
    } while (several && reader_.accept(","));
    if (several) reader_.expect("}", "after computations");
  }

  TextReader reader_;
  Module module_;
  Names computations_;
  Names names_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> elements_;  ///< `%x#1`
};

}  // namespace

bool is_binary_module(std::string_view bytes) {
  // A field of a message with its length comes first; text has no control characters but blanks.
  constexpr std::size_t kLooked = 4096;
  constexpr std::string_view kBlanks = "\n\t\r";
  const auto is_control = [&](char each) {
    return static_cast<unsigned char>(each) < 0x20 && kBlanks.find(each) == std::string_view::npos;
  };
  return bytes.starts_with('\n') && std::ranges::any_of(bytes.substr(0, kLooked), is_control);
}

bool is_hlo(std::string_view text) {
  TextReader reader("", text);
  try {
    return reader.accept_word("HloModule");
  } catch (const InputError&) {
    return false;
  }
}

Module read_hlo(const std::string& source, const std::string& text, const Limits& limits) {
  return HloReader(source, text, limits).read();
}

}  // namespace p2::hlo
