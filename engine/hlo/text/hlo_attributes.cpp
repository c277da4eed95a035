#include "engine/hlo/text/hlo_attributes.h"

#include <algorithm>
#include <array>
#include <limits>

namespace p2::hlo {
namespace {

using Integers = std::vector<std::int64_t>;
constexpr std::int64_t kAny = kMostElements;

constexpr auto kComputations = std::to_array<std::string_view>(
    {"to_apply", "calls", "called_computations", "body", "condition", "branch_computations",
     "true_computation", "false_computation", "select", "scatter", "comparator"});

/// Where an instruction runs, what it is called and how it is tuned, not what it computes.
constexpr auto kNoMatter = std::to_array<std::string_view>(
    {"metadata", "sharding", "frontend_attributes", "control-predecessors", "origin", "statistics",
     "schedule_config", "original_value", "result_accuracy", "constrain_layout", "execution_thread",
     "async_execution_thread", "is_stable_layout", "operand_layout_constraints",
     "parameter_replication", "cross_program_prefetch_index", "stacktrace", "has_dynamic_root"});

template <typename Names>
bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Integers read_list(TextReader& reader) {
  Integers list;
  reader.expect("{", "before a list");
  while (!reader.accept("}")) {
    list.push_back(reader.integer("a number", -kAny, kAny));
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
  }
  return list;
}

/// `{[0:4], [0:8:2]}`.
void read_slice(TextReader& reader, Attributes& attributes) {
  reader.expect("{", "before the ranges of a slice");
  while (!reader.accept("}")) {
    reader.expect("[", "before a range");
    attributes.starts.push_back(reader.integer("where a range starts", 0, kAny));
    reader.expect(":", "inside a range");
    attributes.limits.push_back(reader.integer("where a range ends", 0, kAny));
    const bool strided = reader.accept(":");
    attributes.strides.push_back(strided ? reader.integer("a stride", 1, kAny) : 1);
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
    const std::int64_t value = part.integer("padding", -kAny, kAny);
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
    const std::int64_t source = reader.integer("a source", 0, kMostDevices - 1);
    reader.expect(",", "inside a pair");
    attributes.pairs.emplace_back(source, reader.integer("a target", 0, kMostDevices - 1));
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
    attributes.dimensions = {reader.integer("a dimension", 0, kAny)};
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
    attributes.has_channel =
        reader.integer("a channel", 0, std::numeric_limits<std::int64_t>::max()) > 0;
  } else if (name == "use_global_device_ids") {
    attributes.global_ids = read_flag(reader);
  } else if (name == "index") {
    attributes.index = reader.integer("an index", 0, kAny);
  } else if (name == "direction") {
    attributes.direction = reader.word("a direction");
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool names_computations(std::string_view attribute) { return among(kComputations, attribute); }

std::string without_blanks(std::string_view text) {
  std::string kept;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\') kept.push_back(text[i++]);
    if (i == text.size()) break;
    const bool blank = text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r';
    if (in_string || !blank) kept.push_back(text[i]);
  }
  return kept;
}

void read_attribute(TextReader& reader, std::string_view name, const Instruction& instruction,
                    Attributes& attributes) {
  if (read_known(reader, name, instruction, attributes)) return;
  const std::string_view value = reader.raw(",})", true);
  if (value.empty()) reader.unexpected("the value of an attribute");
  const bool tuning = name == "backend_config" && instruction.opcode != "custom-call";
  if (tuning || among(kNoMatter, name)) return;
  attributes.others += std::string(name) + "=" + without_blanks(value) + ";";
}

}  // namespace p2::hlo
