#include "engine/hlo/stablehlo/stablehlo_attributes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/hlo/stablehlo/stablehlo_types.h"
#include "engine/hlo/text/hlo_attributes.h"

namespace p2::hlo {
namespace {

using Integers = std::vector<std::int64_t>;

/// Rows of ids; a row that is shorter than the others ends in -1.
IdGroups rows_of(const IntegerTable& table, const SourcePosition& where) {
  if (table.sizes.size() != 2)
    throw InputError(where,
                     "no rows of ids, expected a tensor of two "
                     "dimensions");
  if (table.sizes[0] > kMostDevices) throw InputError(where, "too many groups, expected fewer");
  IdGroups rows(static_cast<std::size_t>(table.sizes[0]));
  for (std::size_t i = 0; i < table.numbers.size(); ++i) {
    const std::int64_t id = table.numbers[i];
    if (id >= kMostDevices || id < -1) {
      throw InputError(where, fmt::format("id {}, expected at most {}", id, kMostDevices - 1));
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
    axis.before = reader.integer("the size above a sub-axis", 1, kMostDevices);
    reader.expect(")", "after the size above a sub-axis");
    axis.size = reader.integer("the size of a sub-axis", 1, kMostDevices);
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

using Reader = std::function<void(TextReader&, Instruction&)>;

Reader list_into(Integers Attributes::*member) {
  return [member](TextReader& reader, Instruction& instruction) {
    instruction.attributes.*member = read_integers(reader).numbers;
  };
}

const std::unordered_map<std::string, Reader>& readers() {
  static const std::unordered_map<std::string, Reader> kReaders = {
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
         instruction.attributes.concat_dimension = reader.integer("a dimension", 0, kMostElements);
       }},
      {"index",
       [](TextReader& reader, Instruction& instruction) {
         instruction.attributes.index = reader.integer("an index", 0, kMostElements);
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
      if (row.size() != 2) throw InputError(where, "a pair that is none, expected two ids");
      attributes.pairs.emplace_back(row[0], row[1]);
    }
  } else if (const auto known = readers().find(name); known != readers().end() && collective) {
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
