// Every small program of what halos need: one array as elements of several tensors, and choices by
// where an index along a cut dimension is.

#include <fmt/format.h>

#include "tests/hlo/every_small_program.h"

namespace p2::hlo::small {
namespace {

/// An array as all slices of its tensor, and as concatenations of these.
void make_seen(SmallProgram& program, Choices& choices) {
  const Index sizes = chosen_sizes(choices, 1 + choices.below(2), 2);
  std::vector<Axis> axes = {choices.of(ways_to_hold(sizes[0] + 1, program.devices(), false))};
  if (sizes.size() > 1) axes.push_back(choices.of(ways_to_hold(sizes[1], program.devices(), true)));
  const std::size_t x = held(program, "f32", axes);
  Step step = step_of("negate", program.at(x), x);
  for (std::size_t along = 0; along < axes.size(); ++along) {
    for (const Index& range : ranges_in(axes[along].whole, 2)) {
      std::vector<Index> rows = {Index(axes.size(), 0), {}, Index(axes.size(), 1)};
      for (const Axis& each : axes) rows[1].push_back(each.whole);
      Index hint;
      for (std::size_t k = 0; k < 3; ++k) {
        rows[k][along] = range[k];
        hint.insert(hint.end(), rows[k].begin(), rows[k].end());
      }
      step.seen.push_back(hint);
    }
    step.seen.push_back({static_cast<std::int64_t>(along)});
    step.seen.push_back({static_cast<std::int64_t>(along), 0});
  }
  program.add(std::move(step));
}

/// A choice by an index that counts up from a number of the device, in the whole or in what it is
/// padded to, and reductions of it.
void make_mask(SmallProgram& program, Choices& choices) {
  const std::int64_t size = 1 + static_cast<std::int64_t>(choices.below(3));
  const std::string type = choices.of<std::string>({"s32", "s8", "u16"});
  std::vector<Axis> axes = {choices.of(ways_to_hold(size, program.devices(), false))};
  const auto count = static_cast<std::int64_t>(program.devices());
  Index begins, bounds;
  const std::size_t way = choices.below(3), bound_way = choices.below(3);
  for (std::int64_t device = 0; device < count; ++device) {
    begins.push_back(way == 0 ? device * size : way == 1 ? device % 2 * size : 1);
    bounds.push_back(bound_way == 0 ? axes[0].whole : bound_way == 1 ? 1 : device % 2 * 2 + 1);
  }
  Step line{"iota", type, {"iota", "", {{0}, {size}}}, {size}, {}, ", iota_dimension=0", axes};
  line.hints.clear();
  const std::int64_t whole = axes[0].whole;
  for (const std::int64_t each : {whole, whole + 1, whole + 2}) line.hints.push_back({1, 0, each});
  const std::size_t iota = program.add(std::move(line));
  const std::size_t begin = program.broadcast(program.by_device(type, begins), {}, axes);
  const std::size_t index = program.apply("add", {iota, begin});
  const std::size_t bound = program.broadcast(program.by_device(type, bounds), {}, axes);
  const std::size_t condition =
      program.apply("compare", {index, bound}, "pred", choices.of<std::string>({"LT", "GE"}));
  const std::size_t x = held(program, "f32", axes);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t device = 1; device < program.devices(); ++device)
    pairs.emplace_back(device - 1, device);
  const std::size_t moved = program.permute(x, pairs);
  for (const std::size_t by : {condition, program.apply("not", {condition})}) {
    for (const std::size_t other : {moved, program.splat("f32", "0", axes)}) {
      for (const bool is_first : {true, false}) {
        const std::size_t chosen =
            program.apply("select", is_first ? std::vector<std::size_t>{by, x, other}
                                             : std::vector<std::size_t>{by, other, x});
        program.hint(chosen, {{0}});
        for (std::int64_t low = 0; low < 3; ++low) {
          for (const std::int64_t operand : {1, 2})
            program.hint(chosen, {{0, low, 2 - low, operand}, {0, low, 1 - low, operand}});
        }
        const std::size_t zero = program.constant("f32", "0");
        program.add(reduction(program, chosen, zero, {0}, "add"));
        program.add(reduction(program, chosen, zero, {0}, "maximum"));
      }
    }
  }
}

/// What devices are sent, and what they have, as elements of a tensor padded with zeros.
void make_sent(SmallProgram& program, Choices& choices) {
  const std::int64_t size = 1 + static_cast<std::int64_t>(choices.below(2));
  const auto type = choices.of<std::string>({"f32", "s32", "pred"});
  std::vector<Axis> axes = {choices.of(ways_to_hold(size, program.devices(), false))};
  if (choices.below(2) == 1) axes.push_back(choices.of(ways_to_hold(2, program.devices(), true)));
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const std::size_t way = choices.below(4);
  for (std::size_t device = way == 3 ? 0 : 1; device < program.devices(); ++device) {
    const std::size_t other = (device + program.devices() - 1) % program.devices();
    if (way == 0 || way == 3) pairs.emplace_back(other, device);
    if (way == 1) pairs.emplace_back(device, other);
    if (way == 2 && device % 2 == 1) pairs.emplace_back(other, device);
  }
  const std::size_t x = held(program, type, axes);
  const std::size_t sent = program.permute(x, pairs);
  std::vector<Index> hints;
  for (std::int64_t along = 0; along < std::ssize(axes); ++along) {
    for (std::int64_t low = -1; low < 4; ++low) {
      for (std::int64_t high = -1; high < 4; ++high) {
        for (const std::int64_t side : {0, 1}) hints.push_back({along, low, high, side});
      }
    }
  }
  program.hint(sent, hints);
  Step own = step_of(type == "pred" ? "not" : "negate", program.at(x), x);
  own.seen = hints;
  program.add(std::move(own));
}

}  // namespace

std::vector<Operations> halo_operations() {
  return {{"what devices are sent, padded", {"collective-permute", "negate"}, make_sent},
          {"one array of several tensors", {"negate"}, make_seen},
          {"choice by an index", {"add", "select", "reduce"}, make_mask, 150, 5, 20000}};
}

}  // namespace p2::hlo::small
