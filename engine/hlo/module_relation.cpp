// How two modules stand to each other: which of them is unpartitioned, and what devices hold of its
// tensors, by the shardings of XLA and Shardy.

#include "engine/hlo/module_relation.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/dimension_numbers.h"

namespace p2::hlo {
namespace {

std::string target_of(const Instruction& instruction) {
  return interpreter::text_attribute(instruction, "custom_call_target");
}

bool is_partitioning_call(const Instruction& instruction) {
  if (instruction.opcode != "custom-call") return false;
  const std::string target = target_of(instruction);
  return target.starts_with("SPMD") || target.starts_with("xla.sdy.") || target == "Sharding";
}

/// What a module says about its form.
struct Signs {
  bool partitioning_calls = false;  ///< `Sharding`, `SPMDFullToShardShape`, `xla.sdy.…`
  bool tiled_shardings = false;     ///< of instructions other than parameters
  bool placed_shardings = false;    ///< inputs or outputs on one device, or in parts of a sum
  bool any_shardings = false;       ///< tiled ones, or of instructions other than parameters
  bool devices = false;             ///< collectives, partition-id
};

Signs signs_of(const Module& module) {
  Signs signs;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (is_partitioning_call(instruction)) signs.partitioning_calls = true;
      const std::string& opcode = instruction.opcode;
      if (opcode == "partition-id" || is_collective(base_opcode(opcode))) signs.devices = true;
      const std::string& sharding = instruction.attributes.sharding;
      const bool tiled = sharding.find("devices=") != std::string::npos ||
                         sharding.find("{'") != std::string::npos;  // by axes of a mesh
      if (opcode != "parameter" && tiled) signs.tiled_shardings = true;
      if (tiled || (opcode != "parameter" && !sharding.empty())) signs.any_shardings = true;
    }
  }
  const Computation& entry = module.entry_computation();
  for (std::uint32_t i = 0; i < entry.instructions.size(); ++i) {
    const Instruction& instruction = entry.instructions[i];
    const std::string& sharding = instruction.attributes.sharding;
    if (instruction.opcode != "parameter" && i != entry.root) continue;
    if (sharding.find("unreduced") != std::string::npos ||
        sharding.find("maximal") != std::string::npos) {
      signs.placed_shardings = true;
    }
  }
  return signs;
}

/// Whether XLA's partitioner named the entry.
bool is_named_partitioned(const Module& module) {
  return module.entry_computation().name.find("_spmd") != std::string::npos;
}

/// Whether a module is not partitioned yet. Shardings may be left over in a partitioned one, which
/// then has collectives, or an entry that the partitioner named.
bool is_global(const Module& module, const Signs& signs) {
  if (signs.partitioning_calls) return true;
  return (signs.tiled_shardings || signs.placed_shardings) && !signs.devices &&
         !is_named_partitioned(module);
}

/// The texts for `count` arrays: a list of as many, or one for all.
std::vector<std::string> spread(const std::string& text, std::size_t count) {
  if (text.empty()) return std::vector<std::string>(count);
  std::vector<std::string> all = sharding_list(text);
  if (all.size() == 1 && count != 1) all.assign(count, all[0]);
  return all;
}

std::string shardy_sharding(const Instruction& instruction) {
  return shardy_attribute(instruction, "xla.sdy.sharding");
}

std::vector<std::string> input_shardings(const Module& global, const Module& partitioned) {
  std::vector<std::string> all;
  const Computation& entry = global.entry_computation();
  for (const std::uint32_t index : entry.parameters) {
    const Instruction& parameter = entry.instructions[index];
    const std::string text = !parameter.attributes.sharding.empty() ? parameter.attributes.sharding
                                                                    : shardy_sharding(parameter);
    for (std::string& each : spread(text, parameter.shape.arrays().size())) all.push_back(each);
  }
  if (std::all_of(all.begin(), all.end(), [](const std::string& text) { return text.empty(); }) &&
      !partitioned.parameter_shardings.empty()) {
    return spread(partitioned.parameter_shardings, all.size());
  }
  return all;
}

std::string result_sharding(const Instruction& instruction) {
  if (!instruction.attributes.sharding.empty()) return instruction.attributes.sharding;
  return target_of(instruction) == "xla.sdy.FuncResultSharding" ? shardy_sharding(instruction)
                                                                : std::string();
}

/// Those of the root; if it has none and is a tuple, of its parts if `of_parts`. (To XLA's
/// partitioner a root without a sharding is replicated.)
std::vector<std::string> output_shardings(const Module& global, const Module& partitioned,
                                          bool of_parts) {
  const Computation& entry = global.entry_computation();
  const Instruction& root = entry.instructions[entry.root];
  const std::size_t count = root.shape.arrays().size();
  if (const std::string own = result_sharding(root); !own.empty()) return spread(own, count);
  std::vector<std::string> all;
  bool any = false;
  if (of_parts && root.opcode == "tuple") {
    for (const std::uint32_t operand : root.operands) {
      const Instruction& part = entry.instructions[operand];
      for (std::string& each : spread(result_sharding(part), part.shape.arrays().size())) {
        any = any || !each.empty();
        all.push_back(each);
      }
    }
  }
  if (any) return all;
  if (!partitioned.output_sharding.empty()) return spread(partitioned.output_sharding, count);
  return std::vector<std::string>(count);
}

bool same_shapes(const std::vector<ArrayShape>& a, const std::vector<ArrayShape>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ArrayShape& x, const ArrayShape& y) {
                      return x.type == y.type && x.sizes == y.sizes && x.foreign == y.foreign;
                    });
}

std::string shapes_text(const std::vector<ArrayShape>& shapes) {
  std::string text;
  for (const ArrayShape& shape : shapes) text += (text.empty() ? "" : ", ") + to_string(shape);
  return "(" + text + ")";
}

/// The sharding of one array: replicated where nothing is said. A list of one is its part.
std::optional<Sharding> sharding_of(const std::string& text, const ArrayShape& shape,
                                    const Devices& devices, const Module& global) {
  if (text.empty()) return Sharding{};
  const std::vector<std::string> one = sharding_list(text);
  if (one.size() != 1) return std::nullopt;
  auto sharding = read_sharding(one[0], shape.sizes.size(), devices.partitions, global.meshes);
  // Tensors of manual groups are none of the whole module.
  const bool is_local =
      sharding && (sharding->kind == Sharding::Kind::Manual || !sharding->group.empty());
  return is_local ? std::nullopt : sharding;
}

/// The part of a tile inside the tensor; nothing for an empty one.
std::vector<Piece> piece_of(const std::vector<std::int64_t>& whole,
                            const std::vector<std::int64_t>& tile,
                            const std::vector<std::int64_t>& start) {
  Piece piece{start, std::vector<std::int64_t>(whole.size(), 0), tile};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    piece.sizes[i] = std::min(tile[i], whole[i] - start[i]);
    if (piece.sizes[i] <= 0) return {};
  }
  return {piece};
}

/// Why arrays of a partitioned module are not the shards of a global one.
struct NotShards {
  std::string reason;
  bool is_understood = true;  ///< otherwise they may be
};

/// Relates the arrays of a global module, each a `what`, to those of a partitioned one. `mesh` is
/// the module's, or empty, and then the first that a sharding names.
std::optional<NotShards> relate(const char* what, const std::vector<ArrayShape>& global,
                                const std::vector<ArrayShape>& shards,
                                const std::vector<std::string>& texts, const Devices& devices,
                                const Module& module, std::vector<MeshAxis>& mesh,
                                std::vector<TensorRelation>& relations) {
  if (global.size() != shards.size() || texts.size() != global.size()) {
    return NotShards{fmt::format("{}s: {} of the unpartitioned module, {} of the partitioned one.",
                                 what, global.size(), shards.size())};
  }
  for (std::size_t i = 0; i < global.size(); ++i) {
    auto sharding = sharding_of(texts[i], global[i], devices, module);
    const bool sums = sharding && (sharding->parts == 1 || global[i].type.is_float() ||
                                   global[i].type.is_integer());
    if (!sums) {
      return NotShards{fmt::format("The sharding {} is not understood.", texts[i]), false};
    }
    if (sharding->tile_sizes(global[i].sizes) != shards[i].sizes ||
        global[i].type != shards[i].type || global[i].foreign != shards[i].foreign) {
      return NotShards{fmt::format(
          "{} {} is {} before partitioning, {} on every device, and its sharding is {}.", what, i,
          to_string(global[i]), to_string(shards[i]),
          texts[i].empty() ? "not given: compare with the module before the partitioner, in which "
                             "XLA has chosen it, or say it with --relate"
                           : texts[i])};
    }
    if (mesh.empty()) mesh = sharding->mesh;
    name_axes(*sharding, mesh);
    relations.push_back(tiled(*sharding, global[i], static_cast<std::uint32_t>(i), devices));
  }
  return std::nullopt;
}

}  // namespace

std::string tiling_words(const std::vector<std::int64_t>& parts,
                         const std::vector<std::string>& axes) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == 1) continue;
    const std::string dimension = parts.size() == 1   ? ""
                                  : parts.size() != 2 ? fmt::format("dimension {} ", i)
                                  : i == 0            ? "rows "
                                                      : "columns ";
    const bool has_name = i < axes.size() && !axes[i].empty();
    words.push_back(dimension + (has_name ? "over " + axes[i] : fmt::format("in {}", parts[i])));
  }
  return words.empty() ? "replicated" : fmt::to_string(fmt::join(words, ", "));
}

std::string shardy_attribute(const Instruction& instruction, const std::string& name) {
  const auto found = instruction.attributes.shardy.find(name);
  return found == instruction.attributes.shardy.end() ? std::string() : found->second;
}

std::optional<std::int64_t> TensorRelation::element_of(
    std::uint32_t device, const std::vector<std::int64_t>& index) const {
  for (const Piece& piece : pieces[device]) {
    std::int64_t element = 0;
    bool inside = true;
    for (std::size_t i = 0; i < index.size() && inside; ++i) {
      const std::int64_t within = index[i] - piece.at[i];
      inside = within >= 0 && within < piece.sizes[i];
      element = element * whole.sizes[i] + piece.of[i] + within;
    }
    if (inside) return element;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> TensorRelation::parts_of(const std::vector<std::int64_t>& index) const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t each = 0; each < parts; ++each) {
    const auto holds = [&](const Piece& piece) {
      for (std::size_t i = 0; i < index.size(); ++i) {
        const std::int64_t within = index[i] - piece.of[i];
        if (within < 0 || within >= piece.sizes[i]) return false;
      }
      return true;
    };
    if (!parts_are_devices || std::ranges::any_of(pieces[each], holds)) all.push_back(each);
  }
  return all;
}

TensorRelation tiled(const Sharding& sharding, const ArrayShape& whole, std::uint32_t number,
                     const Devices& devices) {
  TensorRelation relation{whole, number};
  for (std::uint32_t device = 0; device < devices.count(); ++device) {
    const auto partition = static_cast<std::int64_t>(device) % devices.partitions;
    relation.pieces.push_back(piece_of(whole.sizes, sharding.tile_sizes(whole.sizes),
                                       sharding.tile_start(whole.sizes, partition)));
    const bool is_elsewhere =
        sharding.kind == Sharding::Kind::Maximal && partition != sharding.only_partition;
    if (is_elsewhere) relation.pieces.back().clear();
    if (sharding.parts == 1) continue;
    relation.part.push_back(
        static_cast<std::uint32_t>(sharding.part[static_cast<std::size_t>(partition)]));
  }
  relation.words = tiling_words(
      sharding.coordinates.empty() ? std::vector<std::int64_t>{} : sharding.tiles, sharding.axes);
  if (sharding.kind == Sharding::Kind::Maximal) {
    relation.words = fmt::format("on device {}", sharding.only_partition);
  }
  if (sharding.parts > 1) {
    relation.parts = static_cast<std::uint32_t>(sharding.parts);
    relation.reducer = Reducer::Add;
    relation.words += fmt::format(", sum of {} parts", sharding.parts);
  }
  return relation;
}

std::vector<ArrayShape> inputs_of(const Module& module) {
  std::vector<ArrayShape> all;
  const Computation& entry = module.entry_computation();
  for (const std::uint32_t index : entry.parameters) {
    for (ArrayShape& shape : entry.instructions[index].shape.arrays()) all.push_back(shape);
  }
  return all;
}

std::vector<ArrayShape> outputs_of(const Module& module) {
  const Computation& entry = module.entry_computation();
  return entry.instructions[entry.root].shape.arrays();
}

void describe(ModuleRelation& relation, const Module& global) {
  const Computation& entry = global.entry_computation();
  std::size_t number = 0;
  for (const std::uint32_t index : entry.parameters) {
    const Instruction& parameter = entry.instructions[index];
    for (std::size_t k = 0; k < parameter.shape.arrays().size(); ++k, ++number) {
      relation.placements.push_back({parameter.name, relation.inputs[number].words});
    }
  }
  for (std::size_t k = 0; k < relation.outputs.size(); ++k) {
    relation.placements.push_back({fmt::format("output {}", k), relation.outputs[k].words});
  }
}

ModuleRelation relation_of(const Module& before, const Module& after, const Devices& devices) {
  ModuleRelation relation;
  const Signs signs_before = signs_of(before);
  const Signs signs_after = signs_of(after);
  const bool same = same_shapes(inputs_of(before), inputs_of(after)) &&
                    same_shapes(outputs_of(before), outputs_of(after));
  // Nothing is cut that is larger than one index; only the module after knows of devices.
  const bool may_be_global = same && signs_before.any_shardings && !signs_before.devices &&
                             signs_after.devices && !is_named_partitioned(before);
  const bool global_before = is_global(before, signs_before) || may_be_global;
  const bool global_after = is_global(after, signs_after);
  if (global_before == global_after && same && (!global_before || devices.replicas == 1)) {
    relation.before = relation.after = global_before ? Form::Global : Form::Partitioned;
    return relation;
  }
  if ((global_before || global_after) && devices.replicas > 1) {
    relation.before = Form::Global;
    relation.mismatch = "Unpartitioned modules with several replicas are not understood.";
    return relation;
  }
  // One of them is partitioned: the other one's shardings say how.
  const bool single = before.partitions.value_or(1) == 1;
  const bool first = global_before != global_after
                         ? global_before
                         : global_before || single || after.partitions.value_or(1) != 1;
  const Module& global = first ? before : after;
  const Module& partitioned = first ? after : before;
  relation.mesh = mesh_axes(global.meshes, devices.partitions);
  relation.before = first ? Form::Global : Form::Partitioned;
  relation.after = first ? Form::Partitioned : Form::Global;
  auto mismatch =
      relate("Input", inputs_of(global), inputs_of(partitioned),
             input_shardings(global, partitioned), devices, global, relation.mesh, relation.inputs);
  // Shardings by which smaller inputs fit are those of the partitioner.
  const bool is_partitioning = !mismatch && !same_shapes(inputs_of(before), inputs_of(after));
  if (!mismatch) {
    const auto relate_outputs = [&](bool of_parts) {
      relation.outputs.clear();
      return relate("Output", outputs_of(global), outputs_of(partitioned),
                    output_shardings(global, partitioned, of_parts), devices, global, relation.mesh,
                    relation.outputs);
    };
    mismatch = relate_outputs(true);
    if (mismatch && !relate_outputs(false)) mismatch.reset();
  }
  if (!mismatch) {
    // With the same shapes and no manual parts, both may be partitioned.
    relation.is_ambiguous = same && !signs_before.partitioning_calls &&
                            !signs_after.partitioning_calls &&
                            is_named_partitioned(before) == is_named_partitioned(after);
    describe(relation, global);
    return relation;
  }
  relation.mismatch = std::move(mismatch->reason);
  if (same && mismatch->is_understood) return ModuleRelation{};  // shardings that are left over
  if (global_before != global_after) return relation;
  relation.mismatch_is_certain = !is_partitioning && !global_before &&
                                 before.partitions.value_or(2) > 1 &&
                                 after.partitions.value_or(2) > 1;
  if (relation.mismatch_is_certain) {
    relation.before = relation.after = Form::Partitioned;
    const bool inputs = !same_shapes(inputs_of(before), inputs_of(after));
    relation.mismatch =
        fmt::format("The {} are {} before and {} after.", inputs ? "inputs" : "outputs",
                    shapes_text(inputs ? inputs_of(before) : outputs_of(before)),
                    shapes_text(inputs ? inputs_of(after) : outputs_of(after)));
  }
  return relation;
}

namespace {

/// Of `parameter_replication={true,false}`, by array.
std::vector<std::string> replications_of(const Instruction& parameter) {
  std::vector<std::string> all;
  const auto text = parameter.attributes.other("parameter_replication");
  for (std::size_t at = 0; text && at < text->size();) {
    const std::size_t end = std::min(text->find_first_of("{,}", at), text->size());
    if (end > at) all.emplace_back(text->substr(at, end - at));
    at = end + 1;
  }
  return all;
}

}  // namespace

std::optional<ModuleRelation> with_replicated_inputs(const ModuleRelation& relation,
                                                     const Module& before, const Devices& devices) {
  ModuleRelation replicated = relation;
  const Computation& entry = before.entry_computation();
  for (const std::uint32_t index : entry.parameters) {
    const Instruction& parameter = entry.instructions[index];
    const std::vector<ArrayShape> arrays = parameter.shape.arrays();
    const std::vector<std::string> shardings = spread(parameter.attributes.sharding, arrays.size());
    const std::vector<std::string> said = replications_of(parameter);
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const auto says = [&](std::string_view what) { return k < said.size() && said[k] == what; };
      const auto sharding = shardings[k].empty()
                                ? std::nullopt
                                : read_sharding(shardings[k], arrays[k].sizes.size(),
                                                devices.partitions, before.meshes);
      const bool on_partitions =
          devices.partitions > 1 && sharding && sharding->is_replicated() && !says("false");
      const bool on_replicas = devices.replicas > 1 && says("true");
      replicated.replication.push_back({on_partitions, on_replicas});
      if (!on_partitions && !on_replicas) continue;
      const bool on_all =
          (on_partitions || devices.partitions == 1) && (on_replicas || devices.replicas == 1);
      replicated.placements.push_back(
          {parameter.name, on_all          ? "the same on all devices"
                           : on_partitions ? "the same on all partitions of a replica"
                                           : "the same on all replicas of a partition"});
    }
  }
  return replicated.placements.empty() ? std::nullopt : std::optional(std::move(replicated));
}

std::vector<HeldBoxes> held_boxes(const TensorRelation& relation) {
  std::vector<HeldBoxes> all;
  for (std::size_t k = 0, left = 1; left > 0; ++k) {
    left = 0;
    for (std::uint32_t device = 0; device < relation.pieces.size(); ++device) {
      if (relation.pieces[device].size() <= k) continue;
      ++left;
      const Piece& piece = relation.pieces[device][k];
      HeldBoxes one{relation.number_on(device), piece.sizes, piece.of, {}};
      one.first.insert(one.first.end(), piece.at.begin(), piece.at.end());
      one.first.push_back(device);
      all.push_back(std::move(one));
    }
  }
  const auto distance = [](const HeldBoxes& a, const HeldBoxes& b) {
    std::vector<std::int64_t> each;
    for (std::size_t i = 0; i < a.first.size(); ++i) each.push_back(b.first[i] - a.first[i]);
    return each;
  };
  const auto follows = [](const HeldBoxes& a, const HeldBoxes& b) {
    return a.number == b.number && a.sizes == b.sizes && a.variables == b.variables;
  };
  for (std::size_t before = all.size() + 1; all.size() < before;) {
    before = all.size();
    std::vector<HeldBoxes> joined;
    for (std::size_t i = 0; i < all.size();) {
      std::size_t end = i + 1;
      HeldBoxes::Variable run;
      if (end < all.size() && follows(all[i], all[end])) {
        run.strides = distance(all[i], all[end]);
        for (++end; end < all.size() && follows(all[i], all[end]) &&
                    distance(all[end - 1], all[end]) == run.strides;) {
          ++end;
        }
        run.extent = static_cast<std::int64_t>(end - i);
      }
      joined.push_back(std::move(all[i]));
      if (run.extent > 1) joined.back().variables.push_back(std::move(run));
      i = end;
    }
    all = std::move(joined);
  }
  return all;
}

std::vector<HeldBox> reduced_boxes(const TensorRelation& relation) {
  std::map<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>, HeldBox> all;
  for (std::uint32_t device = 0; device < relation.pieces.size(); ++device) {
    for (const Piece& piece : relation.pieces[device]) {
      HeldBox& box =
          all.try_emplace({piece.of, piece.sizes}, HeldBox{piece.of, piece.sizes}).first->second;
      box.places.push_back({device, piece.at});
    }
  }
  std::vector<HeldBox> boxes;
  for (auto& [key, box] : all) boxes.push_back(std::move(box));
  return boxes;
}

}  // namespace p2::hlo
