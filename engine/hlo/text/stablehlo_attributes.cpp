// The attributes of StableHLO operations in the form in which XLA prints them.

#include "engine/hlo/text/stablehlo_reader.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo {
namespace {

using Integers = std::vector<std::int64_t>;

void require_rows(std::int64_t count, const SourcePosition& where) {
  if (count > kMaxDevices) throw InputError(where, "too many groups, expected fewer");
}

void append_id(std::int64_t id, std::vector<std::int64_t>& row, const SourcePosition& where) {
  if (id >= kMaxDevices || id < -1) {
    throw InputError(where, fmt::format("id {}, expected at most {}", id, kMaxDevices - 1));
  }
  if (id >= 0) row.push_back(id);
}

/// Rows of ids; shorter rows are padded with -1.
IdGroups rows_of(const IntegerTable& table, const SourcePosition& where) {
  if (table.sizes.size() != 2)
    throw InputError(where, "found no rows of ids, expected a tensor of two dimensions");
  require_rows(table.sizes[0], where);
  IdGroups rows(static_cast<std::size_t>(table.sizes[0]));
  for (std::size_t i = 0; i < table.numbers.size(); ++i) {
    append_id(table.numbers[i], rows[i / static_cast<std::size_t>(table.sizes[1])], where);
  }
  return rows;
}

/// The same from the text. Rows that are listed one by one are read without what pads them: a group
/// of 256 devices and 65,280 of one are 16,777,216 numbers.
IdGroups read_rows(TextReader& reader, const SourcePosition& where) {
  if (!reader.next_is("dense<[[")) return rows_of(read_integers(reader), where);
  reader.expect("dense<[", "before rows");
  IdGroups rows;
  std::int64_t width = 0;
  do {
    reader.expect("[", "before a row");
    std::vector<std::int64_t>& row = rows.emplace_back();
    require_rows(static_cast<std::int64_t>(rows.size()), where);
    std::int64_t numbers = 0;
    do {
      append_id(reader.integer("a number", -kMaxElements, kMaxElements), row, where);
      ++numbers;
    } while (reader.accept(","));
    reader.expect("]", "after a row");
    if (rows.size() == 1) width = numbers;
    if (numbers != width) throw InputError(where, "rows of unequal length, expected equal ones");
  } while (reader.accept(","));
  reader.expect("]", "after rows");
  reader.expect(">", "after rows");
  reader.expect(":", "before the type of rows");
  const ArrayShape shape = read_mlir_type(reader).array;
  const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(rows.size()), width};
  if (shape.sizes != sizes) {
    reader.fail(fmt::format("{} rows of {} for {}, expected as many as the type has", sizes[0],
                            sizes[1], to_string(shape)));
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
  IdGroups groups = mesh_groups(mesh->second.axes, axes, where);
  const Integers& ids = mesh->second.device_ids;
  for (auto& group : groups) {
    for (std::int64_t& id : group) {
      const auto place = static_cast<std::size_t>(id);
      if (!ids.empty() && place >= ids.size()) {
        throw InputError(where, fmt::format("mesh '{}' has {} devices, expected an id for each",
                                            name, ids.size()));
      }
      if (!ids.empty()) id = ids[place];
    }
  }
  return groups;
}

using AttributeReader = std::function<void(TextReader&, Attributes&)>;

AttributeReader list_into(Integers Attributes::*member) {
  return [member](TextReader& reader, Attributes& attributes) {
    attributes.*member = read_integers(reader).numbers;
  };
}

/// The attributes that have members of their own, by their names in the generic and pretty forms.
const std::map<std::string, AttributeReader, std::less<>>& attribute_readers() {
  static const std::map<std::string, AttributeReader, std::less<>> kReaders = {
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
       [](TextReader& reader, Attributes& attributes) {
         attributes.concat_dimension = reader.integer("a dimension", 0, kMaxElements);
       }},
      {"index",
       [](TextReader& reader, Attributes& attributes) {
         reader.accept("[");
         attributes.index = reader.integer("an index", 0, kMaxElements);
       }},
      {"channel_handle",
       [](TextReader& reader, Attributes& attributes) {
         reader.expect("#stablehlo.channel_handle<", "before a channel");
         reader.expect("handle", "of a channel");
         reader.expect("=", "before the number of a channel");
         attributes.has_channel = reader.integer("a channel", 0, INT64_MAX) > 0;
       }},
      {"channel_id",
       [](TextReader& reader, Attributes& attributes) {
         attributes.has_channel = reader.integer("a channel", 0, INT64_MAX) > 0;
       }},
  };
  return kReaders;
}

/// Attributes for placement, debugging and tuning, or implied by the types.
constexpr auto kWithoutMeaning = std::to_array<std::string_view>(
    {"mhlo.frontend_attributes", "mhlo.layout_mode", "mhlo.memory_kind", "mhlo.original_value",
     "operand_layouts", "result_layouts", "sdy.sharding_rule", "split_count"});

/// `{1,2}` of `[1, 2]` or `array<i64: 1, 2>`, `FFT` of `#stablehlo<fft_type FFT>`, `1` of `1 :
/// i64`.
std::string xla_value(std::string_view text) {
  if (text.empty()) return "true";
  if (text.starts_with("array<") && text.ends_with('>')) {
    const std::size_t colon = text.find(':');
    const std::size_t start = colon == std::string_view::npos ? text.size() - 1 : colon + 1;
    return "{" + without_blanks(text.substr(start, text.size() - start - 1)) + "}";
  }
  if (text.starts_with('[') && text.find_first_of("[\"#@<", 1) == std::string_view::npos) {
    return "{" + without_blanks(text.substr(1, text.size() - 2)) + "}";
  }
  if (text.starts_with("#stablehlo<") && text.ends_with('>')) {
    const std::size_t blank = text.rfind(' ');
    if (blank != std::string_view::npos) {
      return std::string(text.substr(blank + 1, text.size() - blank - 2));
    }
  }
  const std::size_t type = text.find(" : ");
  const bool number = text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
  return without_blanks(number ? text.substr(0, type) : text);
}

std::string list_text(std::string_view name, const Integers& list) {
  return fmt::format("{}={{{}}};", name, fmt::join(list, ","));
}

std::optional<MlirAttribute> entry(const MlirAttributes& entries, std::string_view name) {
  const auto found = entries.find(name);
  if (found == entries.end()) return std::nullopt;
  return found->second;
}

/// `[0, 1] x [0, 1]`
std::pair<Integers, Integers> product_of(const std::optional<MlirAttribute>& attribute) {
  if (!attribute) return {};
  TextReader reader(attribute->text, attribute->where);
  Integers left = read_integers(reader).numbers;
  reader.expect("x", "between the dimensions of two operands");
  return {std::move(left), read_integers(reader).numbers};
}

bool is_true(const std::optional<MlirAttribute>& attribute) {
  return attribute && attribute->text != "false";
}

/// One part of a window, as XLA prints it: ` stride=2x2`; nothing for the default.
std::string window_part(std::string_view name, const Integers& numbers, std::int64_t usual) {
  const bool is_usual = std::all_of(numbers.begin(), numbers.end(),
                                    [&](std::int64_t number) { return number == usual; });
  return is_usual ? std::string() : fmt::format(" {}={}", name, fmt::join(numbers, "x"));
}

/// ` pad=1_1x0_2`, from rows of low and high padding.
std::string padding_part(const Integers& padding) {
  if (std::all_of(padding.begin(), padding.end(), [](std::int64_t each) { return each == 0; })) {
    return {};
  }
  std::string text;
  for (std::size_t i = 0; i + 1 < padding.size(); i += 2) {
    text += fmt::format("{}{}_{}", text.empty() ? " pad=" : "x", padding[i], padding[i + 1]);
  }
  return text;
}

std::string window_text(MlirOperation& operation, const Integers& size,
                        std::string_view lhs_dilation, std::string_view rhs_dilation) {
  const Integers padding = integers_of(operation.take("padding"));
  const Integers stride = integers_of(operation.take("window_strides"));
  std::string text = fmt::format("size={}", fmt::join(size, "x"));
  text += window_part("stride", stride, 1) + padding_part(padding);
  text += window_part("lhs_dilate", integers_of(operation.take(lhs_dilation)), 1);
  text += window_part("rhs_dilate", integers_of(operation.take(rhs_dilation)), 1);
  text += window_part("rhs_reversal", integers_of(operation.take("window_reversal")), 0);
  return size.empty() ? std::string() : fmt::format("window={{{}}};", text);
}

/// `b01f`, `01io` and `b01f` of `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`; nothing of other text.
std::optional<std::array<std::string, 3>> convolution_labels(std::string_view text) {
  std::array<std::string, 3> labels;
  std::size_t at = 0;
  for (std::string& label : labels) {
    const std::size_t open = text.find('[', at);
    const std::size_t close = text.find(']', at);
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      return std::nullopt;
    }
    for (const char ch : text.substr(open + 1, close - open - 1)) {
      if (ch != ',' && ch != ' ') label.push_back(ch);
    }
    at = close + 1;
  }
  return labels;
}

/// The sizes of the kernel's spatial dimensions, in their order; nothing for labels of another
/// rank.
std::optional<Integers> spatial_sizes(const std::string& labels, const Shape& kernel) {
  const Integers& sizes = kernel.array.sizes;
  if (kernel.is_tuple || sizes.size() != labels.size()) return std::nullopt;
  Integers spatial;
  for (char digit = '0';; ++digit) {
    const std::size_t at = labels.find(digit);
    if (at == std::string::npos) break;
    spatial.push_back(sizes[at]);
  }
  if (spatial.size() + 2 != sizes.size()) return std::nullopt;
  return spatial;
}

/// Moves the entries of `window = {stride = …, pad = …}` to the attributes of the generic form.
void expand_window(MlirOperation& operation) {
  constexpr auto kNames = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"stride", "window_strides"},
       {"pad", "padding"},
       {"lhs_dilate", "lhs_dilation"},
       {"rhs_dilate", "rhs_dilation"},
       {"reverse", "window_reversal"}});
  const auto window = operation.take("window");
  if (!window) return;
  const MlirAttributes entries = entries_of(*window);
  for (const auto& [pretty, generic] : kNames) {
    if (const auto found = entry(entries, pretty))
      operation.attributes[std::string(generic)] = *found;
  }
}

}  // namespace

std::string unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') return std::string(text);
  std::string plain;
  const std::string_view inner = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '\\' && inner.substr(i + 1, 2) == "22") {
      plain.push_back('"');
      i += 2;
    } else {
      if (inner[i] == '\\' && i + 1 < inner.size()) ++i;
      plain.push_back(inner[i]);
    }
  }
  return plain;
}

Integers integers_of(const std::optional<MlirAttribute>& attribute, Integers fallback) {
  if (!attribute) return fallback;
  TextReader reader(attribute->text, attribute->where);
  return read_integers(reader).numbers;
}

void read_sharding(MlirAttributes& from, Attributes& attributes) {
  if (const auto found = from.extract("mhlo.sharding")) {
    attributes.sharding = unquoted(found.mapped().text);
  }
  if (const auto found = from.extract("sdy.sharding")) {
    attributes.sharding = std::string(found.mapped().text);
  }
  const auto frontend = from.extract("mhlo.frontend_attributes");
  if (!frontend) return;
  for (const auto& [name, value] : entries_of(frontend.mapped())) {
    if (!name.starts_with("xla.sdy.")) continue;
    attributes.shardy[name] = unquoted(value.text);
    if (name == "xla.sdy.sharding") attributes.sharding = attributes.shardy[name];
  }
}

void append_rest(MlirOperation& operation, Attributes& attributes) {
  for (const auto& [name, value] : operation.attributes) {
    if (std::find(kWithoutMeaning.begin(), kWithoutMeaning.end(), name) != kWithoutMeaning.end())
      continue;
    if (name == "result_accuracy") {
      attributes.accuracy = without_blanks(value.text);
      continue;
    }
    attributes.others += fmt::format("{}={};", name, xla_value(value.text));
  }
  for (const std::string& word : operation.words) attributes.others += word + ";";
  operation.attributes.clear();
}

void read_attributes(MlirOperation& operation, const Meshes& meshes, Instruction& instruction) {
  Attributes& attributes = instruction.attributes;
  if (is_collective(instruction.opcode)) {
    if (const auto global = operation.take("use_global_device_ids")) {
      attributes.global_ids = is_true(global);
    }
    if (const auto groups = operation.take("replica_groups")) {
      TextReader reader(groups->text, groups->where);
      const IdGroups lists = reader.next_is("#") ? read_mesh_axes(reader, meshes, groups->where)
                                                 : read_rows(reader, groups->where);
      attributes.groups = {lists.empty(), lists};
    }
    if (const auto pairs = operation.take("source_target_pairs")) {
      TextReader reader(pairs->text, pairs->where);
      for (const auto& row : read_rows(reader, pairs->where)) {
        if (row.size() != 2) {
          throw InputError(pairs->where, "found a row that is not a pair, expected two ids");
        }
        attributes.pairs.emplace_back(row[0], row[1]);
      }
    }
  }
  for (const auto& [name, read] : attribute_readers()) {
    const auto attribute = operation.take(name);
    if (!attribute) continue;
    TextReader reader(attribute->text, attribute->where);
    read(reader, attributes);
  }
  append_rest(operation, attributes);
}

std::string dot_dimensions(MlirOperation& operation) {
  std::pair<Integers, Integers> batch = product_of(operation.take("batching_dims"));
  std::pair<Integers, Integers> contracting = product_of(operation.take("contracting_dims"));
  if (const auto numbers = operation.take("dot_dimension_numbers")) {
    const MlirAttributes entries = entries_of(*numbers);
    batch = {integers_of(entry(entries, "lhs_batching_dimensions")),
             integers_of(entry(entries, "rhs_batching_dimensions"))};
    contracting = {integers_of(entry(entries, "lhs_contracting_dimensions")),
                   integers_of(entry(entries, "rhs_contracting_dimensions"))};
  }
  std::string text;
  const auto append = [&](std::string_view name, const Integers& list) {
    if (!list.empty()) text += list_text(name, list);
  };
  append("lhs_batch_dims", batch.first);
  append("lhs_contracting_dims", contracting.first);
  append("rhs_batch_dims", batch.second);
  append("rhs_contracting_dims", contracting.second);
  return text;
}

std::string operand_precision(MlirOperation& operation) {
  const auto precision = operation.take("precision_config", "precision");
  if (!precision) return {};
  std::vector<std::string> all;
  bool is_default = true;
  TextReader reader(precision->text, precision->where);
  reader.expect("[", "before precisions");
  while (!reader.accept("]")) {
    if (reader.accept("#")) reader.word("an attribute");
    const bool attribute = reader.accept("<");
    if (attribute) reader.word("an attribute");
    std::string word = lower_case(reader.word("a precision"));
    if (attribute) reader.expect(">", "after a precision");
    is_default = is_default && word == "default";
    all.push_back(std::move(word));
    if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("',' or ']'");
  }
  return is_default ? std::string() : fmt::format("operand_precision={{{}}};", fmt::join(all, ","));
}

std::string dot_algorithm(MlirOperation& operation) {
  const auto algorithm = operation.take("algorithm");
  if (!algorithm) return {};
  const MlirAttributes entries = entries_of(*algorithm);
  const auto text = [&](std::string_view name) {
    const auto found = entry(entries, name);
    return found ? lower_case(found->text) : std::string();
  };
  std::string left = text("lhs_precision_type");
  std::string right = text("rhs_precision_type");
  if (left.starts_with("f8")) left = "any_f8";
  if (right.starts_with("f8")) right = "any_f8";
  std::string name = fmt::format("dot_{}_{}_{}", left, right, text("accumulation_type"));
  const std::string steps = text("num_primitive_operations");
  if (!steps.empty() && steps != "1") name += "_x" + steps;
  if (text("allow_imprecise_accumulation") == "true") name += "_fast_accum";
  return fmt::format("algorithm={};", name);
}

std::string gather_dimensions(MlirOperation& operation) {
  const auto numbers = operation.take("dimension_numbers");
  const MlirAttributes entries = numbers ? entries_of(*numbers) : MlirAttributes{};
  const auto list = [&](std::string_view name) { return integers_of(entry(entries, name)); };
  std::string text = list_text("offset_dims", list("offset_dims")) +
                     list_text("collapsed_slice_dims", list("collapsed_slice_dims")) +
                     list_text("start_index_map", list("start_index_map"));
  if (const Integers batching = list("operand_batching_dims"); !batching.empty()) {
    text += list_text("operand_batching_dims", batching) +
            list_text("start_indices_batching_dims", list("start_indices_batching_dims"));
  }
  const Integers index = integers_of(entry(entries, "index_vector_dim"), {0});
  text += fmt::format("index_vector_dim={};", fmt::join(index, ","));
  text += list_text("slice_sizes", integers_of(operation.take("slice_sizes")));
  if (is_true(operation.take("indices_are_sorted"))) text += "indices_are_sorted=true;";
  return text;
}

std::string scatter_dimensions(MlirOperation& operation) {
  const auto numbers = operation.take("scatter_dimension_numbers");
  const MlirAttributes entries = numbers ? entries_of(*numbers) : MlirAttributes{};
  const auto list = [&](std::string_view name) { return integers_of(entry(entries, name)); };
  std::string text =
      list_text("update_window_dims", list("update_window_dims")) +
      list_text("inserted_window_dims", list("inserted_window_dims")) +
      list_text("scatter_dims_to_operand_dims", list("scatter_dims_to_operand_dims"));
  if (const Integers batching = list("input_batching_dims"); !batching.empty()) {
    text += list_text("input_batching_dims", batching) +
            list_text("scatter_indices_batching_dims", list("scatter_indices_batching_dims"));
  }
  const Integers index = integers_of(entry(entries, "index_vector_dim"), {0});
  text += fmt::format("index_vector_dim={};", fmt::join(index, ","));
  if (is_true(operation.take("indices_are_sorted"))) text += "indices_are_sorted=true;";
  if (is_true(operation.take("unique_indices"))) text += "unique_indices=true;";
  return text;
}

std::optional<std::string> convolution_window(MlirOperation& operation, const Shape& kernel) {
  MlirAttributes& attributes = operation.attributes;
  auto dimensions = attributes.find("dimension_numbers");
  if (dimensions == attributes.end()) dimensions = attributes.find("dim_numbers");
  if (dimensions == attributes.end()) return std::nullopt;
  const auto labels = convolution_labels(dimensions->second.text);
  if (!labels) return std::nullopt;
  const auto spatial = spatial_sizes((*labels)[1], kernel);
  if (!spatial) return std::nullopt;
  attributes.erase(dimensions);
  expand_window(operation);
  std::string text = window_text(operation, *spatial, "lhs_dilation", "rhs_dilation");
  text += fmt::format("dim_labels={}_{}->{};", (*labels)[0], (*labels)[1], (*labels)[2]);
  for (const char* name : {"feature_group_count", "batch_group_count"}) {
    const Integers count = integers_of(operation.take(name), {1});
    if (count != Integers{1}) text += fmt::format("{}={};", name, fmt::join(count, ","));
  }
  return text;
}

std::string reduction_window(MlirOperation& operation) {
  const Integers size = integers_of(operation.take("window_dimensions"));
  return window_text(operation, size, "base_dilations", "window_dilations");
}

}  // namespace p2::hlo
