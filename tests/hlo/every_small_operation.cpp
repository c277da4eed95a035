// Every small program of elementwise operations, movements and contractions.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/every_small_program.h"

namespace p2::hlo::small {
namespace {

std::vector<Index> subsets(std::size_t count) {
  std::vector<Index> all;
  for (std::size_t bits = 0; bits < std::size_t{1} << count; ++bits) {
    Index& list = all.emplace_back();
    for (std::size_t k = 0; k < count; ++k) {
      if ((bits >> k & 1U) != 0) list.push_back(static_cast<std::int64_t>(k));
    }
  }
  return all;
}

/// All lists with one element of each of these.
std::vector<Index> product(const std::vector<Index>& of) {
  std::vector<Index> all = {{}};
  for (const Index& each : of) {
    std::vector<Index> next;
    for (const Index& begin : all) {
      for (const std::int64_t last : each) {
        next.push_back(begin);
        next.back().push_back(last);
      }
    }
    all = std::move(next);
  }
  return all;
}

Index whole_of(const std::vector<Axis>& axes) {
  Index sizes;
  for (const Axis& each : axes) sizes.push_back(each.whole);
  return sizes;
}

std::int64_t count_of(const Index& sizes) {
  std::int64_t all = 1;
  for (const std::int64_t each : sizes) all *= each;
  return all;
}

/// All sizes of a rank with so many elements.
std::vector<Index> factored(std::int64_t elements, std::size_t rank) {
  if (rank == 0) return elements == 1 ? std::vector<Index>{{}} : std::vector<Index>();
  std::vector<Index> all;
  for (std::int64_t first = 1; first <= elements; ++first) {
    if (elements % first != 0) continue;
    for (Index rest : factored(elements / first, rank - 1)) {
      rest.insert(rest.begin(), first);
      all.push_back(rest);
    }
  }
  return all;
}

std::size_t one_held(SmallProgram& program, Choices& choices, std::size_t most_rank,
                     const std::vector<std::string>& types, bool few_parts) {
  const std::string& type = choices.of(types);
  const std::size_t rank = choices.below(most_rank + 1);
  const Index sizes = chosen_sizes(choices, rank, rank > 2 ? 2 : 3);
  const auto axes = chosen_axes(program, choices, sizes, rank > 1);
  return held(program, type, axes, chosen_parts(program, choices, type, few_parts));
}

void make_unary(SmallProgram& program, Choices& choices) {
  const std::size_t x = one_held(program, choices, 2, kTypes, false);
  const std::string type = program.at(x).type;
  if (type != "f32") program.apply("not", {x});
  if (type == "pred") return;
  program.apply("negate", {x});
  program.apply("abs", {x});
  for (const char* to : {"f32", "bf16", "s32"}) {
    if (type != "f32" || std::string(to) != "s32") program.apply("convert", {x}, to);
  }
  if (type == "f32") {
    for (const char* opcode : {"exponential", "tanh", "rsqrt", "log"}) program.apply(opcode, {x});
  }
}

void apply_both_ways(SmallProgram& program, const std::string& type, std::size_t x,
                     const std::vector<std::size_t>& others) {
  std::vector<std::string> names = {"add", "multiply", "maximum", "minimum"};
  if (type != "pred") names.push_back("subtract");
  if (type == "f32") names.insert(names.end(), {"divide", "power"});
  if (type != "f32") names.insert(names.end(), {"and", "or", "xor"});
  for (const std::size_t y : others) {
    for (const std::string& name : names) {
      program.apply(name, {x, y});
      if (y != x) program.apply(name, {y, x});
    }
    for (const char* direction : {"EQ", "LT", "GE"}) {
      if (type != "pred") program.apply("compare", {x, y}, "pred", direction);
    }
  }
}

/// With constants, some of them infinite or zero by what they are computed from.
void make_with_constant(SmallProgram& program, Choices& choices) {
  const std::string type = choices.of(kTypes);
  const Index sizes = chosen_sizes(choices, choices.below(3), 2);
  const auto axes = chosen_axes(program, choices, sizes, sizes.size() > 1);
  const std::size_t x = held(program, type, axes, chosen_parts(program, choices, type, true));
  std::vector<std::string> values = {"0", "1", "3"};
  if (type == "pred") values = {"true", "false"};
  if (type == "f32") values = {"0", "1", "2", "inf", "-inf", "nan"};
  std::vector<std::size_t> others;
  for (const std::string& value : values) others.push_back(program.splat(type, value, axes));
  if (type == "f32") {
    const std::size_t zero = others[0], one = others[1];
    others.push_back(program.apply("divide", {one, zero}));
    others.push_back(program.apply("log", {zero}));
    others.push_back(program.apply("subtract", {one, one}));
    others.push_back(program.apply("rsqrt", {others.back()}));
  }
  apply_both_ways(program, type, x, others);
}

void make_binary(SmallProgram& program, Choices& choices) {
  const std::string type = choices.of(kTypes);
  const std::size_t rank = choices.below(type == "f32" ? 3 : 2);
  const Index sizes(rank, 2);
  const auto axes = chosen_axes(program, choices, sizes, rank > 1);
  const auto parts = chosen_parts(program, choices, type, true);
  const std::size_t x = held(program, type, axes, parts);
  auto theirs = axes;
  const bool is_other = rank > 0 && choices.below(2) == 1;
  if (is_other) theirs[0] = choices.of(ways_to_hold(sizes[0], program.devices(), rank > 1));
  const auto other = is_other ? (choices.below(2) == 0 ? HeldParts() : parts)
                              : chosen_parts(program, choices, type, true);
  apply_both_ways(program, type, x, {x, held(program, type, theirs, other)});
}

void make_choice_of_two(SmallProgram& program, Choices& choices) {
  const std::string& type = choices.of<std::string>({"f32", "s32"});
  const Index sizes(choices.below(2), 2);
  const auto axes = chosen_axes(program, choices, sizes, false);
  const auto parts = chosen_parts(program, choices, type, true);
  const auto other = [&](const std::string& kind, bool may_be_parts) {
    auto theirs = axes;
    if (!sizes.empty() && choices.below(2) == 1)
      theirs = chosen_axes(program, choices, sizes, true);
    const bool are_parts = may_be_parts && parts.reducer && choices.below(2) == 1;
    return held(program, kind, theirs, are_parts ? parts : HeldParts());
  };
  const std::size_t x = held(program, type, axes, parts);
  const std::size_t y = other(type, true);
  const std::size_t zero = program.splat(type, "0", axes);
  const std::size_t scalar = program.parameter("pred", {}, std::nullopt, {});
  const std::size_t full = other("pred", false);
  for (const std::size_t condition : {scalar, full}) {
    for (const std::size_t second : {y, zero}) {
      program.apply("select", {condition, x, second});
      program.apply("select", {condition, second, x});
    }
  }
  const std::size_t low = program.parameter(type, {}, std::nullopt, {});
  program.apply("clamp", {low, x, low});
  program.apply("clamp", {y, x, zero});
}

/// Of a broadcast whose new dimensions of one index may be parts of what the operand has.
std::vector<Index> wider_hints(const Step& wide, const Index& whole) {
  Index ones;
  for (std::size_t k = 0; k < wide.sizes.size(); ++k) {
    const bool is_new = !contains_number(wide.form.numbers[0], k);
    if (is_new && wide.sizes[k] == 1) ones.push_back(static_cast<std::int64_t>(k));
  }
  std::vector<Index> hints;
  for (const Index& chosen : subsets(ones.size())) {
    Index dimensions;
    for (const std::int64_t each : chosen)
      dimensions.push_back(ones[static_cast<std::size_t>(each)]);
    Index list = wide.form.numbers[0];
    list.insert(list.end(), dimensions.begin(), dimensions.end());
    std::sort(list.begin(), list.end());
    if (dimensions.empty()) continue;
    for (const Index& sizes : factored(count_of(whole), list.size())) {
      Index hint = wide.sizes;
      for (std::size_t k = 0; k < list.size(); ++k)
        hint[static_cast<std::size_t>(list[k])] = sizes[k];
      hint.insert(hint.end(), dimensions.begin(), dimensions.end());
      hints.push_back(std::move(hint));
    }
  }
  return hints;
}

void make_broadcast(SmallProgram& program, Choices& choices) {
  const std::size_t x = one_held(program, choices, 2, {"f32", "s32"}, true);
  const Step from = program.at(x);
  for (std::size_t rank = from.sizes.size(); rank <= 3; ++rank) {
    for (Index order : permutations(rank)) {
      order.resize(from.sizes.size());
      for (const Index& more : product(std::vector<Index>(rank - order.size(), {1, 2}))) {
        std::vector<Axis> axes;
        for (std::size_t k = 0, next = 0; k < rank; ++k) {
          const auto found = std::find(order.begin(), order.end(), static_cast<std::int64_t>(k));
          axes.push_back(found != order.end()
                             ? from.axes[static_cast<std::size_t>(found - order.begin())]
                             : Axis{more[next++], 2, {}});
        }
        const std::size_t wide = program.broadcast(x, order, axes);
        program.hint(wide, wider_hints(program.at(wide), whole_of(from.axes)));
      }
    }
  }
}

void make_iota(SmallProgram& program, Choices& choices) {
  const std::string type = choices.of<std::string>({"f32", "s32"});
  const Index sizes = chosen_sizes(choices, 1 + choices.below(2), 3);
  for (std::size_t along = 0; along < sizes.size(); ++along) {
    Step step{"iota", type, {"iota", "", {{static_cast<std::int64_t>(along)}, sizes}},
              sizes,  {},   fmt::format(", iota_dimension={}", along),
              {},     {}};
    for (const Index& whole : product(std::vector<Index>(sizes.size(), {1, 2, 3, 5}))) {
      step.hints.push_back(whole);
      if (type == "f32") continue;
      step.hints.push_back({1, static_cast<std::int64_t>(along)});
      step.hints.back().insert(step.hints.back().end(), whole.begin(), whole.end());
    }
    program.add(std::move(step));
  }
}

/// Of a reshape to `sizes` in the whole that moves one part of a dimension, of one index here.
std::vector<Index> hints_by_parts(const Step& from, const Index& sizes) {
  Index whole, own;
  for (std::size_t k = 0; k < from.sizes.size(); ++k) {
    const std::int64_t here = from.sizes[k], all = from.axes[k].whole;
    if (here > 0 && all % here == 0) {
      whole.push_back(all / here);
      own.push_back(1);
    }
    whole.push_back(here > 0 && all % here == 0 ? here : all);
    own.push_back(here);
  }
  std::vector<Index> hints;
  for (std::size_t k = 0; k < own.size(); ++k) {
    for (std::size_t to = 0; to < own.size(); ++to) {
      Index order;
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (i != k) order.push_back(static_cast<std::int64_t>(i));
      }
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(k));
      Index hint = sizes;
      for (const Index& list : {whole, own, order})
        hint.insert(hint.end(), list.begin(), list.end());
      hints.push_back(std::move(hint));
    }
  }
  return hints;
}

void make_reshape(SmallProgram& program, Choices& choices) {
  const std::size_t x = one_held(program, choices, 3, {"f32"}, true);
  const Step from = program.at(x);
  const std::int64_t own = count_of(from.sizes), whole = count_of(whole_of(from.axes));
  for (std::size_t rank = 0; rank <= 3; ++rank) {
    for (const Index& sizes : factored(own, rank)) {
      Step step = step_of("reshape", from, x);
      step.form.numbers = {sizes};
      step.sizes = sizes;
      step.axes.assign(rank, {});
      step.hints = factored(whole, rank);
      // A dimension of one index may be wider in the whole.
      for (const Index& hint : factored(whole, rank)) {
        for (std::size_t k = 0; k < rank; ++k) {
          step.hints.push_back(hint);
          step.hints.back()[k] *= 2;
        }
        if (rank > 2) continue;
        for (Index& parts : hints_by_parts(from, hint)) step.hints.push_back(std::move(parts));
      }
      if (!step.hints.empty()) program.add(std::move(step));
    }
  }
}

void make_order(SmallProgram& program, Choices& choices) {
  const std::size_t x = one_held(program, choices, 3, {"f32"}, true);
  const Step from = program.at(x);
  for (const Index& order : permutations(from.sizes.size())) {
    Step step = step_of("transpose", from, x);
    for (std::size_t k = 0; k < order.size(); ++k)
      step.sizes[k] = from.sizes[static_cast<std::size_t>(order[k])];
    step.form.numbers = {order};
    step.attributes = ", dimensions=" + listed(order);
    program.add(std::move(step));
  }
  for (const Index& turned : subsets(from.sizes.size())) {
    Step step = step_of("reverse", from, x);
    step.form.numbers = {turned};
    step.attributes = ", dimensions=" + listed(turned);
    program.add(std::move(step));
  }
  if (from.sizes.size() == 2 && from.sizes[0] == from.sizes[1]) {
    Step step = step_of("cholesky", from, x);
    step.form.opcode = "function";
    step.attributes = ", lower=true";
    program.add(std::move(step));
  }
}

void make_slice(SmallProgram& program, Choices& choices) {
  const std::string type = "f32";
  const Index sizes = chosen_sizes(choices, 1 + choices.below(2), 3);
  const auto axes = chosen_axes(program, choices, sizes, sizes.size() > 1);
  const std::size_t x = held(program, type, axes, chosen_parts(program, choices, type, true));
  const Step from = program.at(x);
  const std::size_t rank = sizes.size();
  std::vector<std::vector<Index>> all = {{}};
  for (const std::int64_t size : sizes) {
    std::vector<std::vector<Index>> next;
    for (const auto& begin : all) {
      for (const Index& range : ranges_in(size, rank == 1 ? 3 : 2)) {
        next.push_back(begin);
        next.back().push_back(range);
      }
    }
    all = std::move(next);
  }
  const Index whole = whole_of(axes);
  for (const auto& ranges : all) {
    Step step = step_of("slice", from, x);
    step.form.numbers.assign(3, {});
    step.sizes.clear();
    std::string text;
    for (const Index& each : ranges) {
      for (std::size_t k = 0; k < 3; ++k) step.form.numbers[k].push_back(each[k]);
      step.sizes.push_back((each[1] - each[0] + each[2] - 1) / each[2]);
      text += fmt::format("{}[{}:{}:{}]", text.empty() ? "" : ", ", each[0], each[1], each[2]);
    }
    step.attributes = ", slice={" + text + "}";
    if (rank == 1) {
      for (const Index& each : ranges_in(whole[0], 2)) step.hints.push_back(each);
      step.hints.push_back({ranges[0]});
    } else {
      Index hint;
      for (const Index& each : step.form.numbers) hint.insert(hint.end(), each.begin(), each.end());
      step.hints.push_back(hint);
      for (std::size_t k = 0; k < rank; ++k) {
        Index wider = hint;
        wider[rank + k] = whole[k];
        step.hints.push_back(wider);
        wider[k] = 0;
        step.hints.push_back(wider);
      }
    }
    program.add(std::move(step));
  }
}

void make_concatenate(SmallProgram& program, Choices& choices) {
  const Index sizes = chosen_sizes(choices, 1 + choices.below(2), 2);
  const auto axes = chosen_axes(program, choices, sizes, sizes.size() > 1);
  const auto parts = chosen_parts(program, choices, "f32", true);
  const std::size_t x = held(program, "f32", axes, parts);
  const std::size_t along = choices.below(sizes.size());
  auto theirs = axes;
  const auto ways = ways_to_hold(1 + static_cast<std::int64_t>(choices.below(2)), program.devices(),
                                 sizes.size() > 1);
  theirs[along] = choices.of(ways);
  const bool is_freer = sizes.size() > 1 && choices.below(2) == 1;
  if (is_freer) theirs[1 - along].devices.clear();
  const std::size_t y =
      held(program, "f32", theirs, is_freer || choices.below(2) == 0 ? parts : HeldParts());
  const std::vector<std::vector<std::size_t>> lists = {{x}, {x, x}, {x, y}, {y, x}, {x, y, x}};
  for (const auto& operands : lists) {
    Step step = step_of("concatenate", program.at(x), x);
    step.operands = operands;
    step.sizes[along] = 0;
    for (const std::size_t each : operands) step.sizes[along] += program.at(each).sizes[along];
    step.form.numbers = {{static_cast<std::int64_t>(along)}};
    step.attributes = fmt::format(", dimensions={{{}}}", along);
    step.hints = {{}, {1}};
    program.add(std::move(step));
  }
}

void make_pad(SmallProgram& program, Choices& choices) {
  const std::size_t x = one_held(program, choices, 2, {"f32"}, true);
  const Step from = program.at(x);
  if (from.sizes.empty()) return;
  const std::size_t value = program.parameter("f32", {}, std::nullopt, {});
  const std::size_t zero = program.constant("f32", "0");
  std::vector<Index> edges;
  for (const Index& each : product({{-1, 0, 1}, {-1, 0, 1}, {0, 1}})) edges.push_back(each);
  const std::size_t rank = from.sizes.size();
  for (std::size_t along = 0; along < rank; ++along) {
    for (const Index& edge : edges) {
      Step step = step_of("pad", from, x);
      step.operands.push_back(edge[0] == 1 ? value : zero);
      step.form.numbers.assign(3, Index(rank, 0));
      for (std::size_t k = 0; k < 3; ++k) step.form.numbers[k][along] = edge[k];
      step.sizes[along] += edge[0] + edge[1] + (from.sizes[along] - 1) * edge[2];
      if (step.sizes[along] < 1) continue;
      std::string text;
      for (std::size_t k = 0; k < rank; ++k)
        text += fmt::format("{}{}_{}_{}", k == 0 ? "" : "x", step.form.numbers[0][k],
                            step.form.numbers[1][k], step.form.numbers[2][k]);
      step.attributes = ", padding=" + text;
      step.hints.push_back({0});
      program.add(std::move(step));
    }
  }
}

/// Dimensions of one operand: a batch, a contraction and one that stays.
void make_dot(SmallProgram& program, Choices& choices) {
  const std::string type = choices.of<std::string>({"f32", "s32"});
  const bool has_batch = choices.below(2) == 1;
  const std::size_t contracted = choices.below(has_batch ? 2 : 3);
  const bool stays = choices.below(2) == 1;
  std::vector<Axis> axes;
  const auto main_way = [&](std::int64_t size) {
    const auto ways = ways_to_hold(size, program.devices(), true);
    return ways[choices.below(3)];
  };
  if (has_batch) axes.push_back(main_way(2));
  for (std::size_t k = 0; k < contracted; ++k)
    axes.push_back(choices.of(ways_to_hold(k == 0 ? 2 : 1, program.devices(), true)));
  // Of the other operand the dimension that stays comes first, others in the other order.
  std::vector<Axis> theirs = axes;
  std::reverse(theirs.begin(), theirs.end());
  if (stays) axes.push_back(main_way(2));
  const std::size_t changed = choices.below(theirs.size() + 1);
  if (changed < theirs.size()) {
    if (choices.below(2) == 0)
      theirs[changed].devices.clear();
    else
      theirs[changed] = choices.of(ways_to_hold(theirs[changed].size, program.devices(), true));
  }
  const bool has_own = choices.below(2) == 1;
  if (has_own) theirs.insert(theirs.begin(), main_way(2));
  const std::size_t whose = changed + has_own == theirs.size() ? choices.below(4) : 0;
  const HeldParts parts = whose > 0 ? chosen_parts(program, choices, type, true) : HeldParts();
  const std::size_t x = held(program, type, axes, whose == 2 ? HeldParts() : parts);
  const std::size_t y = held(program, type, theirs, whose == 1 ? HeldParts() : parts);
  Step step{"dot", type, {"dot", "", {{}, {}, {}, {}}}, {}, {x, y}, "", {}};
  const std::size_t shared = theirs.size() - (has_own ? 1 : 0);
  for (std::size_t k = 0; k < shared; ++k) {
    const bool is_batch = has_batch && k == 0;
    step.form.numbers[is_batch ? 0 : 2].push_back(static_cast<std::int64_t>(k));
    step.form.numbers[is_batch ? 1 : 3].push_back(static_cast<std::int64_t>(theirs.size() - 1 - k));
    if (is_batch) step.axes.push_back(axes[k]);
  }
  if (stays) step.axes.push_back(axes.back());
  if (has_own) step.axes.push_back(theirs[0]);
  step.sizes = sizes_of(step.axes);
  const char* const kNames[] = {"lhs_batch_dims", "rhs_batch_dims", "lhs_contracting_dims",
                                "rhs_contracting_dims"};
  for (std::size_t i = 0; i < 4; ++i)
    step.attributes += fmt::format(", {}={}", kNames[i], listed(step.form.numbers[i]));
  program.add(std::move(step));
}

void make_reduce(SmallProgram& program, Choices& choices) {
  const std::string& type = choices.of(kTypes);
  const std::size_t rank = 1 + choices.below(2);
  const Index sizes = rank == 1 ? Index{2} : Index{2, choices.below(2) == 0 ? 1 : 2};
  const auto axes = chosen_axes(program, choices, sizes, rank > 1);
  const std::size_t x = held(program, type, axes, chosen_parts(program, choices, type, false));
  const std::vector<std::string> values = type == "pred" ? std::vector<std::string>{"true", "false"}
                                                         : std::vector<std::string>{"0", "1", "3"};
  std::vector<std::size_t> firsts = {program.parameter(type, {}, std::nullopt, {})};
  for (const std::string& value : values) firsts.push_back(program.constant(type, value));
  const std::vector<std::string> names =
      type == "pred" ? std::vector<std::string>{"and", "or", "xor", "add"}
                     : std::vector<std::string>{"add", "maximum", "minimum", "multiply"};
  for (const Index& along : subsets(rank)) {
    for (const std::string& name : names) {
      for (const std::size_t first : firsts) program.add(reduction(program, x, first, along, name));
    }
  }
}

/// Reductions over dimensions of one index, or two, and others: those may be counted with others.
void make_reduce_of_one(SmallProgram& program, Choices& choices) {
  const std::string type = choices.of<std::string>({"f32", "s32"});
  const std::size_t one = choices.below(3);
  Index sizes = {2, 2};
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(one), choices.below(4) == 0 ? 2 : 1);
  const auto axes = chosen_axes(program, choices, sizes);
  const std::size_t x = held(program, type, axes, chosen_parts(program, choices, type, true));
  for (const char* const value : {"0", "1"}) {
    const std::size_t first = program.constant(type, value);
    for (const std::size_t kept : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      if (kept == one) continue;
      Index along = {0, 1, 2};
      along.erase(along.begin() + static_cast<std::ptrdiff_t>(kept));
      for (const char* const name : {"add", "maximum"}) {
        const std::size_t step = program.add(reduction(program, x, first, along, name));
        program.hint(step, {{axes[one].whole * axes[kept].whole}, {axes[kept].whole}});
      }
    }
  }
}

}  // namespace

std::vector<Operations> computing_operations() {
  return {{"one operand",
           {"not", "negate", "abs", "convert", "exponential", "tanh", "rsqrt", "log"},
           make_unary},
          {"two operands",
           {"add", "multiply", "maximum", "minimum", "subtract", "divide", "power", "and", "or",
            "xor", "compare"},
           make_binary},
          {"two operands, constants",
           {"add", "multiply", "maximum", "minimum", "subtract", "divide", "power", "and", "or",
            "xor", "compare", "rsqrt", "log"},
           make_with_constant},
          {"three operands", {"select", "clamp"}, make_choice_of_two},
          {"broadcast", {"broadcast"}, make_broadcast},
          {"iota", {"iota"}, make_iota},
          {"reshape", {"reshape"}, make_reshape},
          {"transpose, reverse, function", {"transpose", "reverse", "cholesky"}, make_order},
          {"slice", {"slice"}, make_slice},
          {"concatenate", {"concatenate"}, make_concatenate},
          {"pad", {"pad"}, make_pad},
          {"dot", {"dot"}, make_dot},
          {"reduce", {"reduce"}, make_reduce},
          {"reduce, also what is one index", {"reduce"}, make_reduce_of_one}};
}

}  // namespace p2::hlo::small
