// Every small program of collectives, and of sums of which devices have some summands.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/every_small_program.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Segment;

using kernel::xla::Op;

/// Sums of which devices have some summands: what is made of them, and their sums.
void make_share(SmallProgram& program, Choices& choices) {
  const std::string type = choices.of<std::string>({"f32", "s32"});
  const auto ways = ways_to_hold(2, program.devices(), false);
  const std::vector<Axis> axes = {choices.of(ways),
                                  choices.of(ways_to_hold(1, program.devices(), true))};
  const std::size_t x = held(program, type, axes);
  std::vector<Axis> other = axes;
  if (choices.below(2) == 1) other[0] = choices.of(ways);
  const std::size_t y = held(program, type, other);
  const std::size_t zero = program.constant(type, "0");
  std::vector<std::size_t> sums;
  for (const std::size_t each : {x, y})
    sums.push_back(program.add(reduction(program, each, zero, {0}, "add")));
  Step dot{"dot",
           type,
           {"dot", "", {{}, {}, {0}, {0}}},
           {1, 1},
           {x, x},
           ", lhs_batch_dims={}, rhs_batch_dims={}, lhs_contracting_dims={0}, "
           "rhs_contracting_dims={0}",
           {axes[1], axes[1]}};
  sums.push_back(program.add(std::move(dot)));
  // Another part of the same tensor.
  const std::size_t sum = sums[0];
  const std::size_t factor = held(program, type, {axes[1]});
  const std::size_t none = program.splat(type, "0", {axes[1]});
  std::vector<std::size_t> more;
  for (const std::size_t each : {sums[1], factor, none, sum}) {
    for (const char* opcode : {"add", "subtract", "multiply", "maximum"}) {
      more.push_back(program.apply(opcode, {sum, each}));
      program.apply(opcode, {each, sum});
    }
  }
  program.apply("negate", {sum});
  program.apply("abs", {sum});
  program.broadcast(sum, {1}, {{2, 2, {}}, axes[1]});
  Step reshape = step_of("reshape", program.at(sum), sum);
  reshape.form.numbers = {{1, 1}};
  reshape.sizes = {1, 1};
  reshape.axes = {{1, 1, {}}, axes[1]};
  reshape.hints = {{1, axes[1].whole}, {axes[1].whole, 1}};
  program.add(std::move(reshape));
  const auto groups = all_groups(program.devices(), true);
  for (const std::size_t each : {sum, sums[2], more[0]}) {
    for (const auto& list : groups) {
      Step step = step_of("all-reduce", program.at(each), each);
      step.groups = list;
      step.form.text = "add";
      std::string text;
      for (const auto& group : list)
        text += fmt::format("{}{{{}}}", text.empty() ? "" : ",", fmt::join(group, ","));
      step.attributes = fmt::format(
          ", channel_id=1, use_global_device_ids=true, replica_groups={{{}}}, to_apply=add_{}",
          text, type);
      program.add(std::move(step));
    }
  }
}

void make_exchange(SmallProgram& program, Choices& choices, const std::string& opcode) {
  const bool is_sum = opcode == "all-reduce" || opcode == "reduce-scatter";
  const std::string type = is_sum ? choices.of(kTypes) : "f32";
  const std::size_t rank = choices.below(2) + (opcode == "all-reduce" ? 0 : 1);
  Index sizes(rank, 2);
  if (opcode == "reduce-scatter" && choices.below(2) == 1)
    sizes[0] = static_cast<std::int64_t>(program.devices());
  const std::vector<Axis> axes = chosen_axes(program, choices, sizes, rank > 1);
  HeldParts parts;
  if (is_sum) parts = chosen_parts(program, choices, type, false);
  const std::size_t x = held(program, type, axes, parts);
  const Step from = program.at(x);
  const std::vector<std::string> names =
      type == "pred" ? std::vector<std::string>{"and", "or", "xor"}
                     : std::vector<std::string>{"add", "maximum", "multiply"};
  for (const auto& groups : all_groups(program.devices(), opcode == "all-reduce")) {
    const auto members = static_cast<std::int64_t>(groups[0].size());
    const bool is_even = std::all_of(groups.begin(), groups.end(),
                                     [&](const auto& each) { return std::ssize(each) == members; });
    if (!is_even && opcode != "all-reduce") continue;
    std::string text;
    for (const auto& group : groups)
      text += fmt::format("{}{{{}}}", text.empty() ? "" : ",", fmt::join(group, ","));
    const std::size_t dimensions = opcode == "all-reduce" ? 1 : sizes.size();
    for (std::size_t along = 0; along < dimensions; ++along) {
      Step step = step_of(opcode, from, x);
      step.groups = groups;
      step.along = along;
      std::string attributes =
          ", channel_id=1, use_global_device_ids=true, replica_groups={" + text + "}";
      if (opcode != "all-reduce") attributes += fmt::format(", dimensions={{{}}}", along);
      if (opcode == "all-gather") step.sizes[along] *= members;
      if (opcode == "reduce-scatter") {
        if (step.sizes[along] % members != 0) continue;
        step.sizes[along] /= members;
      }
      for (const std::string& name : is_sum ? names : std::vector<std::string>{""}) {
        Step one = step;
        one.form.text = name;
        one.attributes = attributes + (is_sum ? fmt::format(", to_apply={}_{}", name, type) : "");
        program.add(std::move(one));
      }
    }
  }
}

/// All-to-alls of groups whose members have one dimension one after the other; one thing is
/// another.
void make_all_to_all(SmallProgram& program, Choices& choices) {
  enum Other : std::uint8_t {
    Base,
    Double,
    Split,
    Twice,
    Own,
    Next,
    Narrow,
    Free,
    Shared,
    Parts,
    Any,
    Last,
    None
  };
  const auto other = static_cast<Other>(choices.below(None + 1));
  const std::size_t devices = program.devices();
  std::vector<std::vector<std::vector<std::size_t>>> all = all_groups(devices, false);
  std::erase_if(all, [](const auto& groups) {
    return groups[0].size() < 2 || groups[0].size() != groups.back().size();
  });
  const auto groups = choices.of(all);
  const auto members = std::ssize(groups[0]);
  Index position(devices), number(devices);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (std::size_t k = 0; k < groups[group].size(); ++k) {
      position[groups[group][k]] = static_cast<std::int64_t>(k);
      number[groups[group][k]] = static_cast<std::int64_t>(group);
    }
  }
  // Of every group what follows what that before has, or the same.
  const std::int64_t apart = other == Base    ? 1
                             : other == Parts ? 0
                                              : static_cast<std::int64_t>(choices.below(2));
  const auto one_by_one = [&](std::int64_t size) {
    const std::int64_t base = other == Base ? 1 : 0;
    Axis axis{size, base + (apart * (std::ssize(groups) - 1) + 1) * members * size, {}};
    for (std::size_t device = 0; device < devices; ++device) {
      const std::int64_t of = base + (apart * number[device] * members + position[device]) * size;
      axis.devices.push_back({{0, of, size}});
    }
    return axis;
  };
  const auto even = [&](std::int64_t size, bool by_group) {
    Axis axis{size, (by_group ? std::ssize(groups) : 1) * size, {}};
    for (std::size_t device = 0; device < devices; ++device)
      axis.devices.push_back({{0, by_group ? number[device] * size : 0, size}});
    return axis;
  };
  const auto size = 1 + static_cast<std::int64_t>(choices.below(2));
  Axis cut = one_by_one(size);
  if (other == Base && choices.below(2) == 0) cut.whole += size - 1;
  if (other == Any) cut = choices.of(ways_to_hold(size, devices, false));
  if (other == Split && size == 2) {
    for (Segments& each : cut.devices)
      each = {{0, each[0].of, 1}, {1, (each[0].of + 3) % cut.whole, 1}};
  }
  Axis exchanged =
      even(other == Double ? 2 * members : members, other != Parts && choices.below(2) == 1);
  if (other == Own) exchanged = one_by_one(members);
  if (other == Narrow) exchanged = {members, 1, {}};
  Axis next = even(1 + static_cast<std::int64_t>(choices.below(2)), other == Next);
  if (other == Free) next.devices.clear();
  std::vector<Axis> axes = {exchanged, next, cut};
  std::size_t along = 0;
  if (choices.below(2) == 1) {
    std::rotate(axes.begin(), axes.begin() + 2, axes.end());
    along = 1;
  }
  if (other == Twice)
    axes.push_back(choices.below(2) == 0 ? one_by_one(1)
                                         : choices.of(ways_to_hold(1, devices, false)));
  if (other == Last) {
    axes = {next, cut, exchanged};
    along = 2;
  }
  HeldParts parts;
  if (other == Parts) {
    parts.reducer = Op::Add;
    for (const std::int64_t each : number) parts.parts.push_back(static_cast<std::uint32_t>(each));
  }
  std::size_t x = 0;
  if (other == Shared) {
    // The sum over what every device has some of.
    axes.push_back(ways_to_hold(1, devices, true)[3]);
    const auto last = static_cast<std::int64_t>(axes.size() - 1);
    x = held(program, "f32", axes);
    x = program.add(reduction(program, x, program.constant("f32", "0"), {last}, "add"));
    axes.pop_back();
  } else {
    x = held(program, "f32", axes, parts);
  }
  Step step = step_of("all-to-all", program.at(x), x);
  step.groups = groups;
  step.along = along;
  std::string text;
  for (const auto& group : groups)
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ",", fmt::join(group, ","));
  step.attributes =
      fmt::format(", channel_id=1, replica_groups={{{}}}, dimensions={{{}}}", text, along);
  program.add(std::move(step));
}

void make_permutation(SmallProgram& program, Choices& choices) {
  const std::size_t rank = choices.below(3);
  const auto axes = chosen_axes(program, choices, Index(rank, 2), rank > 1);
  const std::size_t x = held(program, "f32", axes);
  // Every device is sent what some device has that sends to no other, or nothing.
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::vector<std::size_t> left(program.devices());
  std::iota(left.begin(), left.end(), 0);
  for (std::size_t target = 0; target < program.devices(); ++target) {
    const std::size_t which = choices.below(left.size() + 1);
    if (which == left.size()) continue;
    pairs.emplace_back(left[which], target);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(which));
  }
  if (!pairs.empty()) program.permute(x, pairs);
}

}  // namespace

std::vector<Operations> communicating_operations() {
  const auto exchange = [](const std::string& opcode) {
    return Operations{opcode, {opcode}, [opcode](SmallProgram& program, Choices& choices) {
                        make_exchange(program, choices, opcode);
                      }};
  };
  return {{"share",
           {"reduce", "dot", "add", "subtract", "multiply", "negate", "broadcast", "reshape",
            "all-reduce"},
           make_share},
          exchange("all-reduce"),
          exchange("all-gather"),
          exchange("reduce-scatter"),
          {"all-to-all", {"all-to-all"}, make_all_to_all, 1500},
          {"collective-permute", {"collective-permute"}, make_permutation}};
}

}  // namespace p2::hlo::small
