// Types, constants and attributes in the textual form of MLIR (MLIR Language Reference; StableHLO's
// assembly format).

#include "engine/hlo/text/mlir_syntax.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/hlo/text/hlo_syntax.h"

namespace p2::hlo {
namespace {

constexpr int kMaxTypeDepth = 64;

Shape read_type(TextReader& reader, int depth);

/// `2x4xf32` or `f32`, optionally followed by a comma and an encoding.
ArrayShape read_tensor(TextReader& reader) {
  ArrayShape shape;
  const SourcePosition where = reader.position();
  std::string_view text = reader.raw(",>", false, true);
  while (true) {
    const std::size_t end = text.find('x');
    const std::string_view size = text.substr(0, end);
    const bool number = end != std::string_view::npos && !size.empty() &&
                        size.find_first_not_of("0123456789") == std::string_view::npos;
    if (!number) break;
    TextReader digits(size, where);
    shape.sizes.push_back(digits.integer("a size", 0, kMaxElements));
    text.remove_prefix(end + 1);
  }
  const auto type = ElementType::from_mlir(text);
  if (!type) {
    throw InputError(where, fmt::format("'{}' of a tensor, expected sizes that are fixed and an "
                                        "element type",
                                        text));
  }
  shape.type = *type;
  require_addressable(reader, shape);
  if (reader.accept(",")) reader.raw(">", false, true);
  return shape;
}

Shape read_tuple(TextReader& reader, int depth) {
  if (depth == kMaxTypeDepth) reader.fail("a tuple nested too deeply, expected at most 64 levels");
  Shape shape{true, {}, {}};
  while (!reader.accept(">")) {
    shape.parts.push_back(read_type(reader, depth + 1));
    if (!reader.accept(",") && !reader.next_is(">")) reader.unexpected("',' or '>'");
  }
  return shape;
}

Shape read_type(TextReader& reader, int depth) {
  if (reader.accept("tensor<")) {
    Shape shape{false, read_tensor(reader), {}};
    reader.expect(">", "after the type of a tensor");
    return shape;
  }
  if (reader.accept("tuple<")) return read_tuple(reader, depth);
  const bool foreign = reader.accept("!");
  reader.word("a type");
  if (foreign && reader.accept("<")) {
    reader.raw(">", false, true);
    reader.expect(">", "after a type");
  }
  return {};
}

using Integers = std::vector<std::int64_t>;

/// Rows of ids; shorter rows are padded with -1.
IdGroups rows_of(const IntegerTable& table, const SourcePosition& where) {
  if (table.sizes.size() != 2)
    throw InputError(where, "found no rows of ids, expected a tensor of two dimensions");
  if (table.sizes[0] > kMaxDevices) throw InputError(where, "too many groups, expected fewer");
  IdGroups rows(static_cast<std::size_t>(table.sizes[0]));
  for (std::size_t i = 0; i < table.numbers.size(); ++i) {
    const std::int64_t id = table.numbers[i];
    if (id >= kMaxDevices || id < -1) {
      throw InputError(where, fmt::format("id {}, expected at most {}", id, kMaxDevices - 1));
    }
    if (id >= 0) rows[i / static_cast<std::size_t>(table.sizes[1])].push_back(id);
  }
  return rows;
}

/// `#stablehlo.axis_ref<name = "a", sub_axis_info = (1)2>`.
MeshAxis read_axis(TextReader& reader) {
  MeshAxis axis;
  reader.expect("#stablehlo.axis_ref<", "before an axis");
  reader.expect("name", "of an axis");
  reader.expect("=", "before the name of an axis");
  axis.name = reader.quoted();
  if (reader.accept(",")) {
    if (!reader.accept_word("sub_axis_info")) reader.unexpected("sub_axis_info");
    reader.expect("=", "before a sub-axis");
    const bool attribute = reader.accept("#stablehlo.sub_axis_info<");
    reader.expect("(", "before the size above a sub-axis");
    axis.before = reader.integer("the size above a sub-axis", 1, kMaxDevices);
    reader.expect(")", "after the size above a sub-axis");
    axis.size = reader.integer("the size of a sub-axis", 1, kMaxDevices);
    if (attribute) reader.expect(">", "after a sub-axis");
  }
  reader.expect(">", "after an axis");
  return axis;
}

IdGroups read_mesh_axes(TextReader& reader, const Meshes& meshes, const SourcePosition& where) {
  reader.expect("#stablehlo.replica_group_mesh_axes<", "before groups");
  reader.expect("mesh", "of the groups");
  reader.expect("=", "before a mesh");
  reader.expect("@", "before the name of a mesh");
  const std::string name = read_mlir_name(reader, "the name of a mesh");
  reader.expect(",", "after a mesh");
  reader.expect("axes", "of the groups");
  reader.expect("=", "before axes");
  reader.expect("[", "before axes");
  std::vector<MeshAxis> axes;
  while (!reader.accept("]")) {
    axes.push_back(read_axis(reader));
    if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("',' or ']'");
  }
  const auto mesh = meshes.find(name);
  if (mesh == meshes.end()) {
    throw InputError(where, fmt::format("the sizes of mesh '{}' are not known, expected a "
                                        "definition before",
                                        name));
  }
  return mesh_groups(mesh->second, axes, where);
}

using AttributeReader = std::function<void(TextReader&, Instruction&)>;

AttributeReader list_into(Integers Attributes::*member) {
  return [member](TextReader& reader, Instruction& instruction) {
    instruction.attributes.*member = read_integers(reader).numbers;
  };
}

const std::unordered_map<std::string, AttributeReader>& attribute_readers() {
  static const std::unordered_map<std::string, AttributeReader> kReaders = {
      {"all_gather_dim", list_into(&Attributes::dimensions)},
      {"scatter_dimension", list_into(&Attributes::dimensions)},
      {"split_dimension", list_into(&Attributes::dimensions)},
      {"dimensions", list_into(&Attributes::dimensions)},
      {"dimension", list_into(&Attributes::dimensions)},
      {"dims", list_into(&Attributes::dimensions)},
      {"dim", list_into(&Attributes::dimensions)},
      {"permutation", list_into(&Attributes::dimensions)},
      {"broadcast_dimensions", list_into(&Attributes::dimensions)},
      {"iota_dimension", list_into(&Attributes::dimensions)},
      {"start_indices", list_into(&Attributes::starts)},
      {"limit_indices", list_into(&Attributes::limits)},
      {"strides", list_into(&Attributes::strides)},
      {"slice_sizes", list_into(&Attributes::slice_sizes)},
      {"sizes", list_into(&Attributes::slice_sizes)},
      {"edge_padding_low", list_into(&Attributes::starts)},
      {"edge_padding_high", list_into(&Attributes::limits)},
      {"interior_padding", list_into(&Attributes::strides)},
      {"low", list_into(&Attributes::starts)},
      {"high", list_into(&Attributes::limits)},
      {"interior", list_into(&Attributes::strides)},
      {"concat_dimension",
       [](TextReader& reader, Instruction& instruction) {
         instruction.attributes.concat_dimension = reader.integer("a dimension", 0, kMaxElements);
       }},
      {"index",
       [](TextReader& reader, Instruction& instruction) {
         instruction.attributes.index = reader.integer("an index", 0, kMaxElements);
       }},
      {"channel_handle",
       [](TextReader& reader, Instruction& instruction) {
         reader.expect("#stablehlo.channel_handle<", "before a channel");
         reader.expect("handle", "of a channel");
         reader.expect("=", "before the number of a channel");
         instruction.attributes.has_channel = reader.integer("a channel", 0, INT64_MAX) > 0;
       }},
      {"channel_id",
       [](TextReader& reader, Instruction& instruction) {
         instruction.attributes.has_channel = reader.integer("a channel", 0, INT64_MAX) > 0;
       }},
      {"comparison_direction",
       [](TextReader& reader, Instruction& instruction) {
         reader.expect("#stablehlo<comparison_direction", "before a direction");
         instruction.attributes.direction = reader.word("a direction");
       }},
      {"value", [](TextReader& reader, Instruction& instruction) {
         instruction.literal = std::make_shared<const Literal>(read_dense(reader));
       }}};
  return kReaders;
}

}  // namespace

Shape read_mlir_type(TextReader& reader) { return read_type(reader, 0); }

std::vector<Shape> read_mlir_types(TextReader& reader) {
  std::vector<Shape> types;
  if (!reader.accept("(")) return {read_mlir_type(reader)};
  while (!reader.accept(")")) {
    types.push_back(read_mlir_type(reader));
    if (reader.next_is("{")) reader.raw(",)", false, true);  // attributes of a result
    if (!reader.accept(",") && !reader.next_is(")")) reader.unexpected("',' or ')'");
  }
  return types;
}

Literal read_dense(TextReader& reader) {
  Literal literal;
  if (reader.accept("dense_resource<")) {
    literal.elided = true;
    reader.raw(">", false, true);
  } else {
    reader.expect("dense<", "before the elements of a constant");
    if (reader.next_is("\"")) {
      reader.quoted();
      literal.elided = true;
    } else if (!reader.next_is(">")) {
      read_elements(reader, "[", "]", {}, literal);
    }
  }
  reader.expect(">", "after the elements of a constant");
  reader.expect(":", "before the type of a constant");
  literal.shape = read_mlir_type(reader).array;
  const auto listed = static_cast<std::int64_t>(literal.elements.size());
  const bool splat = listed == 1;
  if (!literal.elided && !splat && listed != literal.shape.elements()) {
    reader.fail(fmt::format("{} elements for {}, expected {}", listed, to_string(literal.shape),
                            literal.shape.elements()));
  }
  return literal;
}

IntegerTable read_integers(TextReader& reader) {
  IntegerTable table;
  const auto list = [&](std::string_view close) {
    while (!reader.accept(close)) {
      table.numbers.push_back(reader.integer("a number", -kMaxElements, kMaxElements));
      if (!reader.accept(",") && !reader.next_is(close)) reader.unexpected("',' or the end");
    }
    table.sizes = {static_cast<std::int64_t>(table.numbers.size())};
  };
  if (reader.accept("array<")) {
    reader.word("a type");
    if (reader.accept(":")) {
      list(">");
    } else {
      reader.expect(">", "after an array");
    }
  } else if (reader.accept("[")) {
    list("]");
  } else if (reader.next_is("dense")) {
    const Literal literal = read_dense(reader);
    table.sizes = literal.shape.sizes;
    const std::int64_t count = literal.elements.size() == 1 ? literal.shape.elements() : 0;
    if (count > static_cast<std::int64_t>(kMaxLiteralElements)) {
      reader.fail("a list of too many integers, expected fewer");
    }
    for (const LiteralElement& element : literal.elements) {
      if (!element.text.empty() || !element.number.is_whole()) reader.fail("expected integers");
      table.numbers.push_back(element.number.numerator);
    }
    if (count > 1) table.numbers.resize(static_cast<std::size_t>(count), table.numbers[0]);
  } else {
    table.numbers = {reader.integer("a number", -kMaxElements, kMaxElements)};
    table.sizes = {1};
  }
  return table;
}

std::string read_mlir_name(TextReader& reader, std::string_view what) {
  std::string name;
  if (reader.next_is("\"")) return std::string(reader.quoted());
  name = reader.word(what);
  while (reader.touches('$')) {
    reader.accept("$");
    name += "$" + std::string(reader.peek_word());
    if (!reader.peek_word().empty()) reader.word(what);
  }
  return name;
}

void read_mlir_attribute(const std::string& name, std::string_view value,
                         const SourcePosition& where, const Meshes& meshes,
                         Instruction& instruction) {
  TextReader reader(value, where);
  Attributes& attributes = instruction.attributes;
  const bool collective = instruction.opcode != "custom-call";
  if (name == "use_global_device_ids") {
    attributes.global_ids = value != "false";
  } else if (name == "replica_groups" && collective) {
    const IdGroups lists = reader.next_is("#") ? read_mesh_axes(reader, meshes, where)
                                               : rows_of(read_integers(reader), where);
    attributes.groups = {lists.empty(), lists};
  } else if (name == "source_target_pairs") {
    for (const auto& row : rows_of(read_integers(reader), where)) {
      if (row.size() != 2) throw InputError(where, "found a row that is no pair, expected two ids");
      attributes.pairs.emplace_back(row[0], row[1]);
    }
  } else if (const auto known = attribute_readers().find(name);
             known != attribute_readers().end() && collective) {
    known->second(reader, instruction);
  } else if (name.rfind("mhlo.", 0) != 0 && name.rfind("sdy.", 0) != 0 && name != "compare_type" &&
             name != "split_count" && name != "result_layouts" && name != "operand_layouts") {
    const bool effect = name == "has_side_effect" && value == "true";
    attributes.others += effect ? "custom_call_has_side_effect=true;"
                                : fmt::format("{}={};", name, without_blanks(value));
  }
}

std::string xla_opcode(std::string_view name) {
  constexpr auto kDialects = std::to_array<std::string_view>({"stablehlo.", "mhlo.", "func."});
  for (const std::string_view dialect : kDialects) {
    if (name.rfind(dialect, 0) == 0) name.remove_prefix(dialect.size());
  }
  if (name == "broadcast_in_dim") return "broadcast";
  std::string opcode(name);
  std::replace(opcode.begin(), opcode.end(), '_', '-');
  return opcode;
}

}  // namespace p2::hlo
