// Which devices' pieces make up one element of an output.

#include "engine/hlo/explanation/drawing.h"

#include <algorithm>
#include <compare>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/local_operations.h"

namespace p2::hlo {
namespace {

constexpr int kMaxDepth = 12;
constexpr std::size_t kMaxLines = 40;
constexpr std::size_t kMaxMembers = 8;

using Index = DrawnModule::Index;

/// An element of an array on a device.
struct Element {
  std::uint32_t array = 0;
  std::uint32_t device = 0;
  std::int64_t number = 0;
  auto operator<=>(const Element&) const = default;
};

class Drawing {
 public:
  explicit Drawing(DrawnModule& modules) : modules_(modules) {
    for (const TracedArray& array : modules.arrays()) {
      const bool receives = moves_between_devices(*array.instruction);
      communicates_.push_back(receives || std::ranges::any_of(array.operands, [&](auto each) {
                                return communicates_[each];
                              }));
    }
  }

  std::string draw(std::uint32_t array, const OutputElement& from) {
    const Index& sizes = modules_.array(array).shape.sizes;
    if (modules_.array(array).shape.elements() == 0) return {};
    const Index index = from.index.size() == sizes.size() ? from.index : Index(sizes.size(), 0);
    const Element element{array, from.device,
                          interpreter::offset_of(index, interpreter::strides_of(sizes))};
    text_ = fmt::format("output {} [{}] on device {}\n", from.output, fmt::join(index, ","),
                        from.device);
    add(element, "", true, 0);
    return text_;
  }

 private:
  /// `prefix`: what stands before the branch.
  void add(Element element, const std::string& prefix, bool is_last, int depth) {
    if (lines_ == kMaxLines) {
      text_ += prefix + "└ …\n";
    }
    if (lines_++ >= kMaxLines) return;
    std::string moved;
    element = origin(element, moved);
    const TracedArray& array = modules_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const Index index = interpreter::index_of(element.number, array.shape.sizes);
    std::string line;
    if (modules_.devices().count() > 1) line += fmt::format("device {}: ", element.device);
    line += fmt::format("{}[{}]{}", instruction.name, fmt::join(index, ","), moved);
    const std::string inner = prefix + (is_last ? "  " : "│ ");
    const std::string branch = prefix + (is_last ? "└ " : "├ ");
    // What other devices have no part in is not followed beyond the first step.
    const bool is_followed = depth < kMaxDepth && (depth == 0 || communicates_[element.array]);
    std::vector<Element> parts = is_followed ? parts_of(element) : std::vector<Element>{};
    const bool is_again = !parts.empty() && !followed_.insert(element).second;
    if (is_again) parts.clear();
    const std::string what = is_reduction(instruction) ? fmt::format("{} ({})", instruction.opcode,
                                                                     reducer_text(instruction))
                                                       : instruction.opcode;
    text_ += fmt::format("{}{} = {}{}{}{}\n", branch, line, what,
                         parts.empty() ? contracted(element) : "", known(element),
                         is_again ? ", as above" : "");
    std::size_t shown = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts.size() > kMaxMembers && i >= kMaxMembers / 2 && i + 1 < parts.size()) {
        if (shown++ == 0) text_ += inner + "├ …\n";
        continue;
      }
      add(parts[i], inner, i + 1 == parts.size(), depth + 1);
    }
  }

  static bool moves_between_devices(const Instruction& instruction) {
    return is_collective(base_opcode(instruction.opcode)) || instruction.opcode == kMatchedReceive;
  }

  static bool is_reduction(const Instruction& instruction) {
    return instruction.called.size() == 1 && (base_opcode(instruction.opcode) == "all-reduce" ||
                                              base_opcode(instruction.opcode) == "reduce-scatter");
  }

  std::string_view reducer_text(const Instruction& instruction) const {
    return to_string(reducer_of(modules_.subject().computations[instruction.called[0]]));
  }

  /// The element that is moved here, through operations that only move elements.
  Element origin(Element element, std::string& moved) const {
    std::vector<std::string> steps;
    while (const auto source = source_of(element)) {
      const Instruction& instruction = *modules_.array(element.array).instruction;
      if (moves_between_devices(instruction)) steps.push_back(instruction.name);
      element = *source;
    }
    if (!steps.empty()) moved = fmt::format(" by {}", fmt::join(steps, ", "));
    return element;
  }

  /// Where an element is moved from by its instruction; nothing for what computes.
  std::optional<Element> source_of(const Element& element) const {
    const TracedArray& array = modules_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const auto operand = [&](std::size_t k) { return modules_.array(array.operands.at(k)); };
    if (array.operands.empty()) return std::nullopt;
    const std::string_view opcode = base_opcode(instruction.opcode);
    if (moves_between_devices(instruction)) return moved_by_collective(element);
    if (instruction.shape.is_tuple) return std::nullopt;
    if (opcode == "dynamic-slice") {
      const auto start = start_index(element, 1, operand(0).shape.sizes, array.shape.sizes);
      if (!start) return std::nullopt;
      Index index = interpreter::index_of(element.number, array.shape.sizes);
      for (std::size_t i = 0; i < index.size(); ++i) index[i] += (*start)[i];
      return at(element, 0, index);
    }
    if (opcode == "dynamic-update-slice") {
      const Index& window = operand(1).shape.sizes;
      const auto start = start_index(element, 2, array.shape.sizes, window);
      if (!start) return std::nullopt;
      Index index = interpreter::index_of(element.number, array.shape.sizes);
      bool is_inside = true;
      for (std::size_t i = 0; i < index.size(); ++i) {
        is_inside = is_inside && index[i] >= (*start)[i] && index[i] < (*start)[i] + window[i];
      }
      if (!is_inside) return at(element, 0, index);
      for (std::size_t i = 0; i < index.size(); ++i) index[i] -= (*start)[i];
      return at(element, 1, index);
    }
    std::vector<ArrayShape> shapes;
    for (const std::uint32_t each : array.operands) shapes.push_back(modules_.array(each).shape);
    const auto source = interpreter::source_of(instruction, shapes, array.shape, element.number);
    if (!source) return std::nullopt;
    return Element{array.operands.at(static_cast<std::size_t>(source->operand)), element.device,
                   source->element};
  }

  /// A collective makes of every operand a result.
  std::optional<std::size_t> communicated(const TracedArray& array) const {
    const std::size_t operand = array.operands.size() == 1 ? 0 : array.part;
    return operand < array.operands.size() ? std::optional(operand) : std::nullopt;
  }

  Element at(const Element& element, std::size_t operand, const Index& index) const {
    const std::uint32_t array = modules_.array(element.array).operands[operand];
    const Index strides = interpreter::strides_of(modules_.array(array).shape.sizes);
    return {array, element.device, interpreter::offset_of(index, strides)};
  }

  /// The start of a dynamic slice, clamped; nothing if it depends on inputs.
  std::optional<Index> start_index(const Element& element, std::size_t first, const Index& sizes,
                                   const Index& window) const {
    const TracedArray& array = modules_.array(element.array);
    Index start;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (first + i >= array.operands.size()) return std::nullopt;
      const auto value = modules_.number(array.operands[first + i], element.device);
      if (!value) return std::nullopt;
      start.push_back(std::clamp<std::int64_t>(*value, 0, sizes[i] - window[i]));
    }
    return start;
  }

  std::optional<Element> moved_by_collective(const Element& element) const {
    const TracedArray& array = modules_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const std::string_view opcode = base_opcode(instruction.opcode);
    const auto operand = communicated(array);
    if (!operand) return std::nullopt;
    const std::uint32_t from = array.operands[*operand];
    const Collective collective =
        resolve(instruction, modules_.subject().language, modules_.devices());
    if (opcode == "collective-permute" || opcode == kMatchedReceive) {
      const std::uint32_t source = collective.source[element.device];
      if (source == kNone) return std::nullopt;
      return Element{from, source, element.number};
    }
    const Index& own = modules_.array(from).shape.sizes;
    Index index = interpreter::index_of(element.number, array.shape.sizes);
    const auto& along = instruction.attributes.dimensions;
    if (collective.group[element.device] == kNone) return std::nullopt;
    const auto& group = collective.group_of(element.device);
    if (opcode == "collective-broadcast") {
      return Element{from, group[0], element.number};
    }
    if (along.size() != 1) return std::nullopt;
    if (opcode == "all-gather") {
      const auto d = static_cast<std::size_t>(along[0]);
      const auto member = static_cast<std::size_t>(index[d] / own[d]);
      index[d] %= own[d];
      Element source = at(element, *operand, index);
      source.device = group.at(member);
      return source;
    }
    if (opcode == "all-to-all") {
      const auto split = static_cast<std::size_t>(along[0]);
      const auto joined =
          static_cast<std::size_t>(instruction.attributes.concat_dimension.value_or(along[0]));
      const auto count = static_cast<std::int64_t>(group.size());
      // Parts have the operand's sizes, but for the dimension that is split.
      Index part = own;
      part[split] /= count;
      const std::int64_t member = index[joined] / part[joined];
      index[joined] %= part[joined];
      index[split] += collective.position[element.device] * part[split];
      Element source = at(element, *operand, index);
      source.device = group.at(static_cast<std::size_t>(member));
      return source;
    }
    return std::nullopt;
  }

  /// What an element is computed from, one element each; empty for products, reductions and what
  /// is given.
  std::vector<Element> parts_of(const Element& element) const {
    const TracedArray& array = modules_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const std::string_view opcode = base_opcode(instruction.opcode);
    std::vector<Element> parts;
    const auto operand = is_reduction(instruction) ? communicated(array) : std::nullopt;
    if (operand) {
      const Collective collective =
          resolve(instruction, modules_.subject().language, modules_.devices());
      const Index& own = modules_.array(array.operands[*operand]).shape.sizes;
      Index index = interpreter::index_of(element.number, array.shape.sizes);
      if (opcode == "reduce-scatter") {
        const auto d = static_cast<std::size_t>(instruction.attributes.dimensions.at(0));
        index[d] += collective.position[element.device] * array.shape.sizes[d];
      }
      const std::int64_t number = interpreter::offset_of(index, interpreter::strides_of(own));
      for (const std::uint32_t member : collective.group_of(element.device)) {
        parts.push_back({array.operands[*operand], member, number});
      }
      return parts;
    }
    if (instruction.shape.is_tuple || !interpreter::element_of(opcode)) return parts;
    for (const std::uint32_t each : array.operands) {
      const ArrayShape& shape = modules_.array(each).shape;
      if (!modules_.array(each).depends_on_inputs) continue;
      const bool is_scalar = shape.elements() == 1;
      if (!is_scalar && shape.sizes != array.shape.sizes) return {};
      const Element part{each, element.device, is_scalar ? 0 : element.number};
      if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
    }
    return parts;
  }

  /// Of a product or reduction, the range of the other module's tensor over which this device sums.
  std::string contracted(const Element& element) {
    const TracedArray& array = modules_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const bool is_dot = instruction.opcode == "dot";
    if ((!is_dot && instruction.opcode != "reduce") || array.operands.empty()) return {};
    std::vector<std::string> dimensions;
    std::string tensor;
    for (const std::int64_t d : is_dot ? interpreter::dot_dimensions(instruction).lhs_contracting
                                       : instruction.attributes.dimensions) {
      const auto held =
          modules_.range(array.operands[0], element.device, static_cast<std::size_t>(d));
      if (!held) continue;
      std::vector<std::string> ranges;
      for (const auto& [begin, end] : held->ranges)
        ranges.push_back(fmt::format("{}:{}", begin, end));
      dimensions.push_back(fmt::format("{} of dimension {}", fmt::join(ranges, ","), d));
      tensor = held->tensor;
    }
    if (dimensions.empty()) return {};
    return fmt::format(" over {} of {} {}", fmt::join(dimensions, ", "), tensor,
                       modules_.other_word());
  }

  /// Which element of the other module it is, if it is one.
  std::string known(const Element& element) {
    const TracedArray& array = modules_.array(element.array);
    if (!array.depends_on_inputs) return {};
    const auto held = modules_.element(element.array, element.device,
                                       interpreter::index_of(element.number, array.shape.sizes));
    if (!held) return {};
    if (held->is_padding) return ", padding";
    if (held->tensor.empty()) return held->reducer == Reducer::Add ? ", a partial sum" : "";
    const std::string name =
        fmt::format("{}[{}] {}", held->tensor, fmt::join(held->index, ","), modules_.other_word());
    if (held->reducer != Reducer::Unknown) {
      return held->reducer == Reducer::Add
                 ? fmt::format(", a partial sum of {}", name)
                 : fmt::format(", a partial result ({}) of {}", to_string(held->reducer), name);
    }
    if (held->factor != Number{1, 1})
      return fmt::format(", {} times {}", to_string(held->factor), name);
    return ", " + name;
  }

  DrawnModule& modules_;
  std::set<Element> followed_;
  std::vector<bool> communicates_;  ///< by array: whether it is computed from other devices'
  std::string text_;
  std::size_t lines_ = 0;
};

/// Modules that were executed.
class ExecutedModule : public DrawnModule {
 public:
  explicit ExecutedModule(RelatedModules& modules)
      : DrawnModule(modules.subject(), modules.devices(), modules.trace(), modules.other_word()),
        modules_(modules) {}

  std::optional<HeldElement> element(std::uint32_t array, std::uint32_t device,
                                     const Index& index) override {
    const auto& holding = modules_.holding(array);
    if (!holding) return std::nullopt;
    const TracedArray& whole = modules_.other_trace().arrays[holding->array];
    const Index& start = holding->starts[device];
    if (start.size() != whole.shape.sizes.size() || start.size() != index.size())
      return std::nullopt;
    HeldElement held{whole.instruction->name, index, false, holding->reducer, holding->factor};
    for (std::size_t i = 0; i < index.size(); ++i) {
      held.index[i] += start[i];
      held.is_padding = held.is_padding || held.index[i] >= whole.shape.sizes[i];
    }
    return held;
  }

  std::optional<HeldRange> range(std::uint32_t array, std::uint32_t device,
                                 std::size_t dimension) override {
    const auto& holding = modules_.holding(array);
    if (!holding || !holding->is_plain() || holding->is_whole) return std::nullopt;
    const TracedArray& whole = modules_.other_trace().arrays[holding->array];
    const Index& start = holding->starts[device];
    const Index& sizes = this->array(array).shape.sizes;
    const std::int64_t all = whole.shape.sizes.at(dimension);
    if (start.size() != sizes.size() || sizes[dimension] == all) return std::nullopt;
    const std::int64_t begin = start[dimension];
    return HeldRange{whole.instruction->name, {{begin, std::min(begin + sizes[dimension], all)}}};
  }

  std::optional<std::int64_t> number(std::uint32_t array, std::uint32_t device) override {
    const Cells& cells = this->array(array).cells[device];
    if (!cells || cells->size() != 1 || (*cells)[0].low != (*cells)[0].high) return std::nullopt;
    return static_cast<std::int64_t>((*cells)[0].low);
  }

 private:
  RelatedModules& modules_;
};

}  // namespace

OutputElement drawn_element(const ModuleDecision& decision) {
  if (decision.violation && decision.violation->element) {
    const ElementDifference& differing = *decision.violation->element;
    return {differing.output, differing.device, differing.index};
  }
  if (!decision.relation->is_mixed()) return {};
  const auto& pieces = decision.relation->outputs[0].pieces;
  const auto held = std::ranges::find_if(pieces, [](const auto& own) { return !own.empty(); });
  return {0, static_cast<std::uint32_t>(held - pieces.begin())};
}

std::string draw(DrawnModule& module, std::uint32_t array, const OutputElement& element) {
  return Drawing(module).draw(array, element);
}

std::string draw_output(const Module& before, const Module& after, const ModuleDecision& decision,
                        const Limits& limits) {
  const auto drawing =
      explain_within(decision, limits, [&](const Limits& bounded) -> std::optional<std::string> {
        RelatedModules modules(before, after, decision, bounded);
        const OutputElement element = drawn_element(decision);
        ExecutedModule executed(modules);
        return draw(executed, modules.output(element.output, element.device), element);
      });
  return drawing.value_or("");
}

}  // namespace p2::hlo
