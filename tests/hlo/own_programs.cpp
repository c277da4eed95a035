#include "tests/hlo/own_programs.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::hlo::small::own {
namespace {

/// All ways to cut an array of this rank in tiles for four devices.
std::vector<Tiles> all_tiles(std::size_t rank) {
  std::vector<Tiles> all = {
      {"{replicated}", Index(rank, 1), std::vector<Index>(kDevices, Index(rank, 0))}};
  const auto add = [&](const Index& parts, const std::string& order, bool is_copied,
                       const std::function<Index(std::int64_t)>& tile) {
    Tiles tiles{
        fmt::format("{{devices=[{}{}]<={}{}}}", fmt::join(parts, ","), is_copied ? ",2" : "", order,
                    is_copied ? " last_tile_dim_replicate" : ""),
        parts,
        {}};
    for (std::int64_t device = 0; device < std::int64_t{kDevices}; ++device)
      tiles.of_device.push_back(tile(device));
    all.push_back(std::move(tiles));
  };
  const std::string crossed = "[2,2]T(1,0)";
  for (std::size_t k = 0; k < rank; ++k) {
    const auto along = [rank, k](std::int64_t at, std::int64_t others) {
      Index index(rank, others);
      index[k] = at;
      return index;
    };
    add(along(2, 1), "[4]", true, [&](std::int64_t device) { return along(device / 2, 0); });
    add(along(2, 1), crossed, true, [&](std::int64_t device) { return along(device % 2, 0); });
    add(along(4, 1), "[4]", false, [&](std::int64_t device) { return along(device, 0); });
    add(along(4, 1), crossed, false,
        [&](std::int64_t device) { return along(2 * (device % 2) + device / 2, 0); });
  }
  if (rank == 2) {
    add({2, 2}, "[4]", false, [](std::int64_t device) { return Index{device / 2, device % 2}; });
    add({2, 2}, crossed, false, [](std::int64_t device) { return Index{device % 2, device / 2}; });
  }
  return all;
}

std::string shape(const std::string& type, const Index& sizes) {
  return fmt::format("{}[{}]", type, fmt::join(sizes, ","));
}

std::int64_t elements(const Index& sizes) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) all *= size;
  return all;
}

}  // namespace

OwnProgram::OwnProgram(std::uint32_t seed) : program(seed, kDevices) {
  type_ = program.once_in(2) ? "s32" : "f32";
  for (std::size_t count = 1 + program.below(2); count > 0; --count) {
    Index sizes;
    for (std::size_t rank = 1 + program.below(2); rank > 0; --rank)
      sizes.push_back(program.one_of<std::int64_t>({1, 2, 2, 4}));
    tiles.push_back(program.one_of(all_tiles(sizes.size())));
    std::vector<Axis> axes;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      axes.push_back({sizes[k], sizes[k] * tiles.back().parts[k], {}});
      for (const Index& tile : tiles.back().of_device)
        axes.back().devices.push_back({{0, tile[k] * sizes[k], sizes[k]}});
    }
    values_.push_back(program.parameter(type_, axes, std::nullopt, {}));
  }
  zero_ = program.constant(type_, "0");
  for (std::size_t k = 0; k < 30; ++k)
    pairs_.emplace_back(program.below(kDevices), program.below(kDevices));
  for (std::size_t k = 0; k < pairs_.size();) {
    const bool is_twice = std::any_of(
        pairs_.begin(), pairs_.begin() + static_cast<std::ptrdiff_t>(k), [&](const auto& each) {
          return each.first == pairs_[k].first || each.second == pairs_[k].second;
        });
    if (is_twice)
      pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(k));
    else
      ++k;
  }
  if (program.once_in(2)) pairs_.pop_back();
  for (std::size_t count = 2 + program.below(6); count > 0; --count) add_step();
}

std::string OwnProgram::manual_text(std::vector<std::size_t>& outputs) {
  const std::string local = program.local_text();
  std::string text = local.substr(0, local.find("ENTRY")) + "ENTRY main {\n";
  std::size_t inputs = 0;
  for (std::size_t k = 0; k < program.count(); ++k) {
    const Step& step = program.at(k);
    if (step.opcode == "parameter") {
      const Tiles& own = tiles[inputs];
      Index whole = step.sizes;
      for (std::size_t i = 0; i < whole.size(); ++i) whole[i] *= own.parts[i];
      text += fmt::format(
          "  p{0} = {1} parameter({2})\n  x{0} = {1} custom-call(p{0}), "
          "custom_call_target=\"Sharding\", sharding={3}\n  v{0} = {4} custom-call(x{0}), "
          "custom_call_target=\"SPMDFullToShardShape\", sharding={{manual}}\n",
          k, shape(step.type, whole), inputs, own.sharding, shape(step.type, step.sizes));
      ++inputs;
      continue;
    }
    const std::string name = fmt::format("  v{} = ", k);
    std::size_t at = local.find("\n" + name);
    at = at == std::string::npos ? local.find("ROOT v") + 3 : at + 1;
    text += name +
            local.substr(local.find("= ", at) + 2, local.find('\n', at) - local.find("= ", at) - 1);
  }
  std::string shapes, names;
  const auto add_output = [&](const std::string& what, const std::string& name) {
    shapes += (shapes.empty() ? "" : ", ") + what;
    names += (names.empty() ? "" : ", ") + name;
  };
  for (std::size_t k = 0; k < program.count(); ++k) {
    outputs.push_back(k);
    add_output(shape(program.at(k).type, program.at(k).sizes), fmt::format("v{}", k));
  }
  for (const std::size_t k : values_) {
    const Tiles end = program.one_of(all_tiles(program.at(k).sizes.size()));
    Index whole = program.at(k).sizes;
    for (std::size_t i = 0; i < whole.size(); ++i) whole[i] *= end.parts[i];
    text += fmt::format(
        "  e{0} = {1} custom-call(v{0}), custom_call_target=\"Sharding\", sharding={{manual}}\n"
        "  w{0} = {2} custom-call(e{0}), custom_call_target=\"SPMDShardToFullShape\", "
        "sharding={3}\n",
        k, shape(type_, program.at(k).sizes), shape(type_, whole), end.sharding);
    add_output(shape(type_, whole), fmt::format("w{}", k));
  }
  return text + fmt::format("  ROOT r = ({}) tuple({})\n}}\n", shapes, names);
}

std::string OwnProgram::own_text() const {
  std::string text = program.local_text();
  text.erase(text.find("ROOT ", text.find("ENTRY")), 5);
  text.erase(text.rfind("}\n"));
  std::string shapes, names;
  for (std::size_t k = 0; k < program.count(); ++k) {
    shapes += (k == 0 ? "" : ", ") + shape(program.at(k).type, program.at(k).sizes);
    names += fmt::format("{}v{}", k == 0 ? "" : ", ", k);
  }
  return text + fmt::format("  ROOT r = ({}) tuple({})\n}}\n", shapes, names);
}

std::size_t OwnProgram::own_number(std::int64_t end) {
  Index numbers;
  for (std::size_t device = 0; device < kDevices; ++device)
    numbers.push_back(program.from_to(0, end - 1));
  return program.by_device("s32", numbers);
}

void OwnProgram::add_made(const std::string& opcode, Form form, const Index& sizes,
                          std::vector<std::size_t> operands, const std::string& attributes,
                          const Groups& groups, std::size_t along) {
  Step step{opcode, type_, std::move(form), sizes, std::move(operands), attributes, {}};
  step.groups = groups;
  step.along = along;
  values_.push_back(program.add(std::move(step)));
}

void OwnProgram::add_step() {
  const std::size_t x = program.once_in(3) ? program.one_of(values_) : values_.back();
  const Index sizes = program.at(x).sizes;
  const std::size_t rank = sizes.size();
  const std::int64_t count = elements(sizes);
  std::vector<std::size_t> alike;
  for (const std::size_t each : values_) {
    if (program.at(each).sizes == sizes) alike.push_back(each);
  }
  const std::size_t other = program.one_of(alike);
  const std::size_t along = rank == 0 ? 0 : program.below(rank);
  Index next = sizes;
  switch (program.below(rank == 0 || count > 32 ? 3 : 13)) {
    case 0:
      values_.push_back(program.apply("negate", {x}));
      return;
    case 1:
      values_.push_back(program.apply(
          program.one_of<std::string>({"add", "subtract", "multiply", "maximum"}), {x, other}));
      return;
    case 2: {
      const std::size_t number = own_number(3);
      const std::size_t typed = type_ == "s32" ? number : program.apply("convert", {number}, type_);
      add_made("broadcast", {"broadcast", "", {{}, sizes}}, sizes, {typed}, ", dimensions={}");
      values_.push_back(program.apply("add", {x, values_.back()}));
      return;
    }
    case 3: {
      const Index order = program.order_of(rank);
      for (std::size_t k = 0; k < rank; ++k) next[k] = sizes.at(static_cast<std::size_t>(order[k]));
      add_made("transpose", {"transpose", "", {order}}, next, {x}, ", dimensions=" + listed(order));
      return;
    }
    case 4: {
      std::vector<Index> all = {{count}, {1, count}, {count, 1}};
      if (count % 2 == 0) all.insert(all.end(), {{2, count / 2}, {count / 2, 2}});
      if (count % 4 == 0) all.push_back({2, 2, count / 4});
      next = program.one_of(all);
      add_made("reshape", {"reshape", "", {next}}, next, {x}, "");
      return;
    }
    case 5: {
      if (sizes[along] % 2 != 0) return;
      next[along] /= 2;
      Index from(rank, 0), to = next;
      if (program.once_in(2)) {
        from[along] = next[along];
        to[along] = sizes[along];
      }
      std::string ranges;
      for (std::size_t k = 0; k < rank; ++k)
        ranges += fmt::format("{}[{}:{}]", k == 0 ? "" : ", ", from[k], to[k]);
      add_made("slice", {"slice", "", {from, to, Index(rank, 1)}}, next, {x},
               ", slice={" + ranges + "}");
      return;
    }
    case 6:
      next[along] *= 2;
      add_made("concatenate", {"concatenate", "", {{static_cast<std::int64_t>(along)}}}, next,
               {x, other}, fmt::format(", dimensions={{{}}}", along));
      return;
    case 7: {
      next.erase(next.begin() + static_cast<std::ptrdiff_t>(along));
      add_made("reduce", {"reduce", "add", {{static_cast<std::int64_t>(along)}}}, next, {x, zero_},
               fmt::format(", dimensions={{{}}}, to_apply=add_{}", along, type_));
      return;
    }
    case 8:
      values_.push_back(program.permute(x, pairs_));
      return;
    default:
      return add_collective(x, along);
  }
}

void OwnProgram::add_collective(std::size_t x, std::size_t along) {
  const Groups groups = program.groups();
  const bool is_even = std::all_of(groups.begin(), groups.end(), [&](const auto& each) {
    return each.size() == groups[0].size();
  });
  const auto members = static_cast<std::int64_t>(groups[0].size());
  Index sizes = program.at(x).sizes;
  std::string opcode = program.one_of<std::string>(
      {"all-reduce", "all-reduce", "all-gather", "all-to-all", "reduce-scatter"});
  const bool is_cut = opcode == "reduce-scatter" || opcode == "all-to-all";
  if (!is_even || (is_cut && sizes[along] % members != 0)) opcode = "all-reduce";
  const bool is_sum = opcode == "all-reduce" || opcode == "reduce-scatter";
  const std::string reducer = is_sum ? program.one_of<std::string>({"add", "maximum"}) : "";
  if (opcode == "all-gather") sizes[along] *= members;
  if (opcode == "reduce-scatter") sizes[along] /= members;
  std::string text;
  for (const auto& group : groups)
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ",", fmt::join(group, ","));
  std::string attributes = fmt::format(", channel_id=1, replica_groups={{{}}}", text);
  if (opcode != "all-to-all") attributes += ", use_global_device_ids=true";
  if (opcode != "all-reduce") attributes += fmt::format(", dimensions={{{}}}", along);
  if (is_sum) attributes += fmt::format(", to_apply={}_{}", reducer, type_);
  add_made(opcode, {opcode, reducer, {}}, sizes, {x}, attributes, groups, along);
}

}  // namespace p2::hlo::small::own
