#include "tests/hlo/small_programs.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/small_claims.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Op;
using kernel::xla::Segment;

std::string shape(const std::string& type, const Index& sizes) {
  return fmt::format("{}[{}]", type, fmt::join(sizes, ","));
}

constexpr const char* kReducers[] = {"add", "maximum", "minimum",  "multiply", "and",
                                     "or",  "xor",     "subtract", "ge"};

}  // namespace

std::string reducer_text(const std::string& opcode, const std::string& type) {
  const std::string result = opcode == "ge" ? "pred[] compare(a, b), direction=GE"
                                            : fmt::format("{}[] {}(a, b)", type, opcode);
  return fmt::format(
      "{0}_{1} {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n"
      "  ROOT c = {2}\n}}\n\n",
      opcode, type, result);
}

std::string listed(const Index& list) { return fmt::format("{{{}}}", fmt::join(list, ",")); }

SmallProgram::SmallProgram(std::uint32_t seed, std::size_t devices)
    : random_(seed), devices_(devices) {
  const std::size_t kind = below(4);
  for (std::size_t device = 0; device < devices; ++device)
    parts_.push_back(static_cast<std::uint32_t>(kind == 0   ? device
                                                : kind == 1 ? device % 2
                                                : kind == 2 ? device / 2
                                                            : below(2)));
  is_of_parts_ = once_in(2);
  reducer_ = once_in(2) ? "add" : one_of<std::string>({"maximum", "multiply", "minimum", "add"});
}

std::size_t SmallProgram::below(std::size_t end) { return random_() % end; }

std::int64_t SmallProgram::from_to(std::int64_t first, std::int64_t last) {
  return first + static_cast<std::int64_t>(below(static_cast<std::size_t>(last - first + 1)));
}

Axis SmallProgram::axis(std::int64_t size) {
  std::vector<Axis> known;
  for (const Axis& each : pool_) {
    if (each.size == size) known.push_back(each);
  }
  if (!known.empty() && !once_in(3)) return one_of(known);
  Axis axis{size, size, {}};
  // With what is not cut, all devices are one group for sums.
  const std::size_t kind = is_of_parts_ && !once_in(4) ? below(4) : below(10);
  if (kind < 2) {
    axis.whole = from_to(1, 4);
  } else if (kind < 4) {
    axis = uncut(size);
  } else if (kind < 8) {
    const std::int64_t tiles = once_in(4) ? 3 : 2;
    axis.whole = size * tiles;
    const std::size_t way = below(4);
    for (std::size_t device = 0; device < devices_; ++device) {
      const auto tile = static_cast<std::int64_t>(way == 0   ? device
                                                  : way == 1 ? device / 2
                                                  : way == 2 ? device + 1
                                                             : below(3)) %
                        tiles;
      axis.devices.push_back({{0, tile * size, size}});
    }
  } else {
    axis.whole = from_to(1, 6);
    for (std::size_t device = 0; device < devices_; ++device) {
      Segments all;
      for (std::int64_t at = 0; at < size;) {
        Segment each{at + from_to(0, 1), 0, from_to(1, 3)};
        each.of = from_to(0, axis.whole - 1);
        each.size = std::min({each.size, size - each.at, axis.whole - each.of});
        if (each.size > 0) all.push_back(each);
        at = each.at + std::max<std::int64_t>(each.size, 1);
      }
      axis.devices.push_back(all);
    }
  }
  pool_.push_back(axis);
  return axis;
}

Axis SmallProgram::uncut(std::int64_t size) const {
  return {size, size, std::vector<Segments>(devices_, {{0, 0, size}})};
}

Axis SmallProgram::tied(const Axis& other) {
  if (is_of_parts_ ? !once_in(12) : !once_in(6)) return other;
  if (once_in(2)) return axis(other.size);
  Axis free = other;
  free.devices.clear();
  return free;
}

Index SmallProgram::any_of(std::size_t rank) {
  Index all;
  for (std::size_t i = 0; i < rank; ++i) {
    if (once_in(2)) all.push_back(static_cast<std::int64_t>(i));
  }
  return all;
}

Index SmallProgram::order_of(std::size_t rank) {
  Index all(rank);
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), random_);
  return all;
}

std::size_t SmallProgram::add(Step step) {
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

std::size_t SmallProgram::constant(const std::string& type, const std::string& text) {
  return add({"constant", type, {"constant", text, {}}, {}, {}, "", {}});
}

std::size_t SmallProgram::by_device(const std::string& type, const Index& numbers) {
  const auto count = static_cast<std::int64_t>(devices_);
  const std::size_t id = add({"partition-id", "u32", {}, {}, {}, "", {}});
  const std::size_t table = add({"constant",
                                 type,
                                 {"constant", fmt::format("{}", fmt::join(numbers, " ")), {}},
                                 {count},
                                 {},
                                 "",
                                 {}});
  const std::size_t one = add({"dynamic-slice",
                               type,
                               {"dynamic-slice", "", {{1}}},
                               {1},
                               {table, id},
                               ", dynamic_slice_sizes={1}",
                               {}});
  return add({"reshape", type, {"reshape", "", {{}}}, {}, {one}, "", {}});
}

std::size_t SmallProgram::parameter(const std::string& type, const std::vector<Axis>& axes,
                                    bool may_be_parts) {
  if (!may_be_parts || once_in(is_of_parts_ ? 3 : 4) == is_of_parts_)
    return parameter(type, axes, std::nullopt, {});
  static const std::map<std::string, Op> kOps = {{"add", Op::Add},
                                                 {"maximum", Op::Maximum},
                                                 {"minimum", Op::Minimum},
                                                 {"multiply", Op::Multiply}};
  const Op op =
      type == "pred" ? one_of<Op>({Op::And, Op::Or, Op::Xor, Op::Add}) : kOps.at(reducer_);
  return parameter(type, axes, op, parts_);
}

std::size_t SmallProgram::parameter(const std::string& type, const std::vector<Axis>& axes,
                                    std::optional<Op> reducer, std::vector<std::uint32_t> parts) {
  Step step{"parameter", type, {}, {}, {}, "", axes};
  step.reducer = reducer;
  step.parts = std::move(parts);
  Index whole;
  for (const Axis& each : axes) {
    step.sizes.push_back(each.size);
    whole.push_back(each.whole);
  }
  kernel::xla::Relation relation;
  relation.number = relations_.size();
  relation.reducer = step.reducer;
  for (std::size_t device = 0; device < devices_; ++device) {
    kernel::xla::Piece piece;
    piece.device = device;
    if (step.reducer) piece.part = step.parts[device];
    relation.parts = std::max(relation.parts, piece.part + 1);
    std::vector<kernel::xla::Piece> all = {piece};
    for (const Axis& each : axes) {
      std::vector<kernel::xla::Piece> next;
      for (const auto& begin : all) {
        for (const Segment& segment : each.devices[device]) {
          next.push_back(begin);
          next.back().of.push_back(segment.of);
          next.back().at.push_back(segment.at);
          next.back().sizes.push_back(segment.size);
        }
      }
      all = std::move(next);
    }
    relation.pieces.insert(relation.pieces.end(), all.begin(), all.end());
  }
  relations_.push_back(std::move(relation));
  wholes_.push_back({whole, {}});
  return add(std::move(step));
}

std::size_t SmallProgram::operand(const std::string& type, const std::vector<Axis>& axes,
                                  bool may_be_parts) {
  std::vector<Axis> held;
  Index dimensions;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k].is_free()) continue;
    held.push_back(axes[k]);
    dimensions.push_back(static_cast<std::int64_t>(k));
  }
  const std::size_t base = parameter(type, held, may_be_parts);
  return held.size() == axes.size() ? base : broadcast(base, dimensions, axes);
}

std::size_t SmallProgram::splat(const std::string& type, const std::string& text,
                                const std::vector<Axis>& axes) {
  std::vector<Axis> free = axes;
  for (Axis& each : free) each.devices.clear();
  return broadcast(constant(type, text), {}, free);
}

std::size_t SmallProgram::broadcast(std::size_t operand, const Index& dimensions,
                                    const std::vector<Axis>& axes) {
  Step step{"broadcast", at(operand).type, {"broadcast", "", {dimensions, {}}},
            {},          {operand},        ", dimensions=" + listed(dimensions),
            axes};
  Index hint;
  for (const Axis& each : axes) {
    step.sizes.push_back(each.size);
    hint.push_back(each.whole);
  }
  step.form.numbers[1] = step.sizes;
  step.hints = {hint};
  if (step.type[0] == 's' || step.type[0] == 'u') {
    // Of a number that devices know.
    step.hints.push_back({0});
    step.hints.back().insert(step.hints.back().end(), hint.begin(), hint.end());
  }
  if (once_in(4) && !hint.empty()) {
    hint[below(hint.size())] = from_to(0, 5);
    step.hints.push_back(hint);
  }
  return add(std::move(step));
}

std::size_t SmallProgram::some(const std::string& type) {
  if (!steps_.empty() && !once_in(3)) {
    const Step& last = steps_.back();
    const bool fits = type.empty() ? last.type != "bf16" && last.type != "u32" : last.type == type;
    if (fits && last.axes.size() == last.sizes.size()) return steps_.size() - 1;
  }
  std::vector<Axis> axes;
  for (std::size_t rank = one_of<std::size_t>({0, 1, 1, 2, 2, 2, 3}); rank > 0; --rank)
    axes.push_back(axis(from_to(1, rank > 2 ? 2 : 4)));
  return operand(type.empty() ? one_of<std::string>({"f32", "f32", "f32", "s32", "pred"}) : type,
                 axes);
}

std::size_t SmallProgram::apply(const std::string& opcode, std::vector<std::size_t> operands,
                                const std::string& type, const std::string& direction) {
  const Step& last = at(operands.back());
  const std::size_t full = opcode == "clamp" ? 1 : operands.size() - 1;
  Step step{opcode,
            type.empty() ? last.type : type,
            {opcode, direction, {}},
            at(operands[full]).sizes,
            operands,
            direction.empty() ? "" : ", direction=" + direction,
            at(operands[full]).axes};
  return add(std::move(step));
}

std::vector<std::vector<std::size_t>> SmallProgram::groups() {
  if (once_in(2)) {
    // One of every part in each.
    std::map<std::uint32_t, std::size_t> next;
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t device = 0; device < devices_; ++device) {
      const std::size_t group = next[parts_[device]]++;
      groups.resize(std::max(groups.size(), group + 1));
      groups[group].push_back(device);
    }
    if (groups[0].size() == groups.back().size()) return groups;
  }
  const std::size_t way = below(6);
  std::vector<std::size_t> all(devices_);
  std::iota(all.begin(), all.end(), 0);
  if (way == 0) std::shuffle(all.begin(), all.end(), random_);
  const std::size_t size = way == 1                    ? devices_
                           : way == 2 && devices_ == 3 ? 1
                           : devices_ % 2 == 0         ? 2
                                                       : devices_;
  std::vector<std::vector<std::size_t>> groups(devices_ / size);
  for (std::size_t k = 0; k < all.size(); ++k)
    groups[way % 2 == 0 ? k / size : k % groups.size()].push_back(all[k]);
  if (once_in(12) && devices_ == 4) groups = {{0}, {1, 2, 3}};
  return groups;
}

double SmallProgram::drawn(const std::string& type) {
  if (type == "pred") return static_cast<double>(below(2));
  if (type == "f32") {
    const auto value = static_cast<double>(from_to(1, 8));
    return once_in(2) ? -value : value;
  }
  if (once_in(12)) {
    return in_type(one_of<double>({2147483647.0, -2147483648.0, -2147483647.0, 1073741824.0}),
                   type);
  }
  return in_type(static_cast<double>(from_to(-2, 9)), type);
}

std::vector<std::vector<Array>> SmallProgram::executed() {
  std::vector<std::vector<Array>> arrays;
  std::size_t next = 0;
  for (const Step& step : steps_) {
    if (step.opcode != "parameter") {
      arrays.push_back(result(step, arrays));
      continue;
    }
    Array& whole = wholes_[next];
    const auto& relation = relations_[next++];
    std::vector<Array> parts(relation.parts, whole);
    for (Array& part : parts) {
      part.cells.clear();
      for (std::size_t k = indices_of(whole.sizes).size(); k > 0; --k)
        part.cells.push_back(drawn(step.type));
    }
    whole = parts[0];
    static const std::map<Op, std::string> kNames = {
        {Op::Add, "add"}, {Op::Maximum, "maximum"}, {Op::Minimum, "minimum"},  {Op::Or, "or"},
        {Op::And, "and"}, {Op::Xor, "xor"},         {Op::Multiply, "multiply"}};
    for (std::size_t k = 1; k < parts.size(); ++k) {
      for (std::size_t i = 0; i < whole.cells.size(); ++i)
        whole.cells[i] =
            reduced(kNames.at(*step.reducer), whole.cells[i], parts[k].cells[i], step.type);
    }
    std::vector<Array> all(devices_, Array{step.sizes, {}});
    for (Array& array : all) {
      for (std::size_t k = indices_of(step.sizes).size(); k > 0; --k)
        array.cells.push_back(drawn(step.type));
    }
    for (const auto& piece : relation.pieces) {
      for (const Index& offset : indices_of(piece.sizes)) {
        Index own = piece.at, of = piece.of;
        for (std::size_t i = 0; i < offset.size(); ++i) {
          own[i] += offset[i];
          of[i] += offset[i];
        }
        all[piece.device].at(own) = parts[piece.part].at(of);
      }
    }
    arrays.push_back(std::move(all));
  }
  return arrays;
}

std::vector<Array> SmallProgram::result(const Step& step,
                                        const std::vector<std::vector<Array>>& before) {
  std::vector<Array> all;
  const auto x = [&](std::size_t device) -> const Array& {
    return before[step.operands[0]][device];
  };
  if (step.groups.empty() && step.opcode != "collective-permute") {
    for (std::size_t device = 0; device < devices_; ++device) {
      std::vector<const Array*> operands;
      for (const std::size_t each : step.operands) operands.push_back(&before[each][device]);
      all.push_back(step.opcode == "partition-id"
                        ? Array{{}, {static_cast<double>(device)}}
                        : evaluate(step.form, operands, step.sizes, step.type));
    }
    return all;
  }
  all.assign(devices_, Array{step.sizes, {}});
  for (Array& each : all) each.cells.assign(indices_of(step.sizes).size(), 0);
  for (const auto& [source, target] : pairs_) {
    if (step.opcode == "collective-permute") all[target] = x(source);
  }
  for (const auto& group : step.groups) {
    for (std::size_t k = 0; k < group.size(); ++k) {
      for (const Index& index : indices_of(step.sizes)) {
        Index at = index;
        if (step.opcode == "all-gather") {
          const std::int64_t size = x(0).sizes.at(step.along);
          at[step.along] %= size;
          all[group[k]].at(index) =
              x(group[static_cast<std::size_t>(index[step.along] / size)]).at(at);
          continue;
        }
        if (step.opcode == "all-to-all") {
          // Of every member what is at this one's place in it.
          const std::int64_t size = step.sizes.at(step.along) / std::ssize(group);
          at[step.along] = static_cast<std::int64_t>(k) * size + index[step.along] % size;
          all[group[k]].at(index) =
              x(group[static_cast<std::size_t>(index[step.along] / size)]).at(at);
          continue;
        }
        if (step.opcode == "reduce-scatter")
          at[step.along] += static_cast<std::int64_t>(k) * step.sizes[step.along];
        double total = x(group[0]).at(at);
        for (std::size_t other = 1; other < group.size(); ++other)
          total = reduced(step.form.text, total, x(group[other]).at(at), step.type);
        all[group[k]].at(index) = total;
      }
    }
  }
  return all;
}

std::string SmallProgram::local_text() const {
  std::string text = fmt::format("HloModule local, num_partitions={}\n\n", devices_);
  for (const char* type : {"f32", "s32", "pred"}) {
    for (const char* reducer : kReducers) {
      const std::string name = fmt::format("{}_{}", reducer, type);
      const bool is_used = std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
        return step.attributes.find("=" + name) != std::string::npos;
      });
      if (is_used) text += reducer_text(reducer, type);
    }
  }
  text += "ENTRY main {\n";
  std::size_t number = 0;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    std::string operands;
    for (const std::size_t each : step.operands)
      operands += fmt::format("{}v{}", operands.empty() ? "" : ", ", each);
    if (step.opcode == "parameter") operands = fmt::format("{}", number++);
    if (step.opcode == "constant") {
      operands = step.form.text;
      std::replace(operands.begin(), operands.end(), ' ', ',');
      if (!step.sizes.empty()) operands = "{" + operands + "}";
    }
    text += fmt::format("  {}v{} = {} {}({}){}\n", k + 1 == steps_.size() ? "ROOT " : "", k,
                        shape(step.type, step.sizes), step.opcode, operands, step.attributes);
  }
  return text + "}\n";
}

std::string SmallProgram::whole_text() const {
  std::string text = "HloModule whole\n\nENTRY main {\n  z = f32[] constant(0)\n";
  std::size_t number = 0;
  for (const Step& step : steps_) {
    if (step.opcode != "parameter") continue;
    text += fmt::format("  p{0} = {1} parameter({0})\n", number,
                        shape(step.type, wholes_[number].sizes));
    ++number;
  }
  return text + "  ROOT r = f32[] negate(z)\n}\n";
}

std::map<std::size_t, Array> SmallProgram::inputs() const {
  std::map<std::size_t, Array> inputs;
  for (std::size_t k = 0; k < wholes_.size(); ++k) inputs[k] = wholes_[k];
  return inputs;
}

DerivedFacts::DerivedFacts(const SmallProgram& program)
    : DerivedFacts(program, program.whole_text(), program.local_text()) {}

DerivedFacts::DerivedFacts(const SmallProgram& program, const std::string& whole_text,
                           const std::string& local_text)
    : whole(kernel::xla::read_module(whole_text, "whole")),
      local(kernel::xla::read_module(local_text, "local")),
      modules(whole, local, {1, static_cast<std::int64_t>(program.devices())}, program.relations(),
              {}, budget) {
  // By step; of a gather or scatter there may be a reshape, too. A reshape back is none.
  std::map<std::string, std::vector<std::size_t>> nodes;
  for (std::size_t k = 0; k < modules.local().nodes.size(); ++k)
    nodes[modules.local().nodes[k].instruction->name].push_back(k);
  std::map<std::size_t, std::vector<std::size_t>> facts;  // by node
  for (std::size_t k = 0; k < modules.facts().size(); ++k) {
    const std::size_t node = modules.facts()[k].node;
    const auto& name = modules.local().nodes[node].instruction->name;
    facts[node].push_back(k);
    all.emplace_back(static_cast<std::size_t>(std::stoi(name.substr(1))), modules.facts()[k]);
  }
  for (std::size_t k = 0; k < program.count(); ++k) {
    const Step& step = program.at(k);
    if (step.opcode == "parameter") continue;
    const auto& own = nodes[fmt::format("v{}", k)];
    for (const std::size_t number : own) {
      const kernel::xla::Node& node = modules.local().nodes[number];
      const bool is_last = number == own.back();
      std::vector<Index> hints = step.hints;
      if (node.instruction->opcode == "reshape" && step.opcode != "reshape") {
        hints = {node.shape.sizes};
        if (is_last) hints.emplace_back();
        for (const Axis& each : step.axes) {
          if (is_last) hints.back().push_back(each.whole);
        }
        for (const std::size_t each : facts[node.operands[0]]) {
          Index sizes = modules.tensors().at(modules.facts()[each].tensor).sizes;
          while (sizes.size() > node.shape.sizes.size() && sizes.back() == 1) sizes.pop_back();
          hints.push_back(sizes);
        }
      }
      const std::size_t most = step.seen.empty() && step.hints.size() < 5 ? 3 : 8;
      const auto take = [&](const std::vector<std::size_t>& from, const Index& hint) {
        auto fact = modules.follows(number, from, hint);
        if (!fact) return;
        if (is_last) all.emplace_back(k, *fact);
        if (facts[number].size() < most) facts[number].push_back(modules.add(std::move(*fact)));
      };
      const std::size_t count = node.operands.size();
      std::set<std::pair<std::size_t, std::size_t>> ranges = {{0, count}, {0, 0}};
      if (count > 0) ranges.insert({{0, 1}, {1, count}});
      for (const auto& [begin, end] : ranges) {
        std::vector<std::vector<std::size_t>> choices = {{}};
        for (std::size_t i = begin; i < end; ++i) {
          std::vector<std::vector<std::size_t>> next;
          for (const auto& choice : choices) {
            for (const std::size_t fact : facts[node.operands[i]]) {
              if (next.size() == 6) break;
              next.push_back(choice);
              next.back().push_back(fact);
            }
          }
          choices = std::move(next);
        }
        for (const auto& choice : choices) {
          for (const Index& hint : hints) take(choice, hint);
        }
      }
      // The same array: of one other fact, and of two.
      std::vector<std::vector<std::size_t>> others;
      for (const std::size_t fact : facts[number]) others.push_back({fact});
      for (const Index& hint : step.seen) {
        if (hint.size() == 1) continue;
        for (const auto& choice : others) take(choice, hint);
      }
      others.clear();
      for (const std::size_t one : facts[number]) {
        for (const std::size_t other : facts[number]) others.push_back({one, other});
      }
      for (const Index& hint : step.seen) {
        if (hint.size() != 1) continue;
        for (const auto& choice : others) take(choice, hint);
      }
    }
  }
}

void SmallProgram::for_each_fact(const Found& found) {
  const auto arrays = executed();
  const DerivedFacts derived(*this);
  WholeTensors tensors(derived.modules.tensors(), inputs());
  for (const auto& [step, fact] : derived.all) {
    std::string why;
    try {
      why = contradiction(derived.modules, fact, arrays[step], tensors);
    } catch (const std::out_of_range& error) {
      why = error.what();
    }
    found(steps_[step], fact, why);
  }
}

}  // namespace p2::hlo::small
