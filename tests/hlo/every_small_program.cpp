// What programs of every small shape have in common: choices, and how operands are held.

#include "tests/hlo/every_small_program.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace p2::hlo::small {

namespace {

using kernel::xla::Op;

}  // namespace

std::vector<Index> permutations(std::size_t count) {
  Index order(count);
  std::iota(order.begin(), order.end(), 0);
  std::vector<Index> all;
  do {
    all.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

Step step_of(const std::string& opcode, const Step& from, std::size_t operand) {
  return {opcode, from.type, {opcode, "", {}}, from.sizes, {operand}, "", from.axes};
}

Step reduction(const SmallProgram& program, std::size_t x, std::size_t first, const Index& along,
               const std::string& name) {
  const Step& from = program.at(x);
  Step step{"reduce", from.type, {"reduce", name, {along}}, {}, {x, first}, "", {}};
  for (std::size_t i = 0; i < from.axes.size(); ++i) {
    if (contains_number(along, i)) continue;
    step.axes.push_back(from.axes[i]);
    step.sizes.push_back(from.sizes[i]);
  }
  step.attributes = fmt::format(", dimensions={}, to_apply={}_{}", listed(along), name, from.type);
  return step;
}

std::size_t Choices::below(std::size_t end) {
  if (random_) return (*random_)() % end;
  if (at_ == made_.size()) made_.emplace_back(0, end);
  return made_.at(at_++).first;
}

bool Choices::next() {
  if (random_) return true;
  at_ = 0;
  while (!made_.empty() && made_.back().first + 1 >= made_.back().second) made_.pop_back();
  if (made_.empty()) return false;
  ++made_.back().first;
  return true;
}

std::size_t chosen_devices(Choices& choices) { return 2 + choices.below(3); }

std::vector<Axis> ways_to_hold(std::int64_t size, std::size_t devices, bool few) {
  std::vector<Axis> all;
  const auto add = [&](std::int64_t whole, const std::function<Segments(std::int64_t)>& of) {
    Axis axis{size, whole, {}};
    for (std::size_t device = 0; device < devices; ++device) {
      Segments segments;
      for (auto each : of(static_cast<std::int64_t>(device))) {
        each.size = std::min({each.size, size - each.at, whole - each.of});
        if (each.size > 0) segments.push_back(each);
      }
      axis.devices.push_back(segments);
    }
    const auto same = [&](const Axis& each) {
      return each.whole == whole && each.devices == axis.devices;
    };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(axis));
  };
  const auto count = static_cast<std::int64_t>(devices);
  add(size, [&](std::int64_t) { return Segments{{0, 0, size}}; });
  all.push_back({size, size, {}});
  add(2 * size, [&](std::int64_t d) { return Segments{{0, d % 2 * size, size}}; });
  add(count * size, [&](std::int64_t d) { return Segments{{0, d * size, size}}; });
  add(2 * size - 1, [&](std::int64_t d) { return Segments{{0, d % 2 * size, size}}; });
  if (few) return all;
  all.push_back({size, size + 1, {}});
  add(2 * size, [&](std::int64_t d) { return Segments{{0, d / 2 * size, size}}; });
  add(count * size, [&](std::int64_t d) { return Segments{{0, (count - 1 - d) * size, size}}; });
  add(size + 1, [&](std::int64_t d) { return Segments{{0, d % 2, size}}; });
  add(2 * size, [&](std::int64_t d) {
    Segments interleaved;
    for (std::int64_t k = 0; k < size; ++k) interleaved.push_back({k, 2 * k + d % 2, 1});
    return interleaved;
  });
  add(size, [&](std::int64_t d) { return d == 0 ? Segments{{0, 0, size}} : Segments{}; });
  add(size, [&](std::int64_t) { return Segments{{1, 0, size}}; });
  return all;
}

std::vector<Axis> chosen_axes(SmallProgram& program, Choices& choices, const Index& sizes,
                              bool few) {
  std::vector<Axis> axes;
  for (const std::int64_t size : sizes) {
    const auto ways = ways_to_hold(size, program.devices(), few);
    axes.push_back(choices.of(ways));
  }
  return axes;
}

HeldParts chosen_parts(SmallProgram& program, Choices& choices, const std::string& type, bool few) {
  std::vector<Op> ops = {Op::Add, Op::Maximum};
  if (!few) ops.insert(ops.end(), {Op::Minimum, Op::Multiply});
  if (type == "pred") ops = few ? std::vector{Op::Or} : std::vector{Op::And, Op::Or, Op::Xor};
  const std::size_t which = choices.below(ops.size() + 1);
  if (which == 0) return {};
  const std::size_t way = choices.below(program.devices() == 2 ? 1 : few ? 2 : 3);
  HeldParts held{ops[which - 1], {}};
  for (std::uint32_t device = 0; device < program.devices(); ++device)
    held.parts.push_back(way == 0 ? device : way == 1 ? device % 2 : device / 2);
  return held;
}

std::size_t held(SmallProgram& program, const std::string& type, const std::vector<Axis>& axes,
                 const HeldParts& parts) {
  std::vector<Axis> own;
  Index dimensions;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k].is_free()) continue;
    own.push_back(axes[k]);
    dimensions.push_back(static_cast<std::int64_t>(k));
  }
  const std::size_t base = program.parameter(type, own, parts.reducer, parts.parts);
  return own.size() == axes.size() ? base : program.broadcast(base, dimensions, axes);
}

Index chosen_sizes(Choices& choices, std::size_t rank, std::int64_t most) {
  Index sizes;
  for (std::size_t k = 0; k < rank; ++k)
    sizes.push_back(1 + static_cast<std::int64_t>(choices.below(static_cast<std::size_t>(most))));
  return sizes;
}

std::vector<Index> ranges_in(std::int64_t size, std::int64_t most_stride) {
  std::vector<Index> all;
  for (std::int64_t begin = 0; begin < size; ++begin) {
    for (std::int64_t end = begin + 1; end <= size; ++end) {
      for (std::int64_t stride = 1; stride <= most_stride; ++stride)
        all.push_back({begin, end, stride});
    }
  }
  return all;
}

std::vector<std::vector<std::vector<std::size_t>>> all_groups(std::size_t devices, bool few) {
  std::set<std::vector<std::vector<std::size_t>>> all;
  for (const Index& order : permutations(devices)) {
    for (std::size_t size = 1; size <= devices; ++size) {
      if (devices % size != 0) continue;
      std::vector<std::vector<std::size_t>> groups(devices / size);
      for (std::size_t k = 0; k < devices; ++k)
        groups[k / size].push_back(static_cast<std::size_t>(order[k]));
      if (few) {
        for (auto& group : groups) std::sort(group.begin(), group.end());
      }
      std::sort(groups.begin(), groups.end());
      all.insert(std::move(groups));
    }
  }
  if (devices > 2) all.insert({{0}, {1, 2}});
  if (devices == 4) all.insert({{0}, {1, 2, 3}});
  std::erase_if(all, [&](const auto& groups) {
    std::size_t members = 0;
    for (const auto& group : groups) members += group.size();
    return members != devices;
  });
  return {all.begin(), all.end()};
}

}  // namespace p2::hlo::small
