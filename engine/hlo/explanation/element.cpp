// Which devices' pieces make up one element of an output.

#include "engine/hlo/explanation/explanation.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/explanation/related_modules.h"
#include "engine/hlo/interpreter/dimension_numbers.h"

namespace p2::hlo {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxLines = 40;
constexpr std::size_t kMaxMembers = 8;

using Index = std::vector<std::int64_t>;

/// An element of an output on a device, by its index there; without one the first.
struct OutputElement {
  std::size_t output = 0;
  std::uint32_t device = 0;
  Index index = {};
};

/// An element of an array on a device.
struct Element {
  std::uint32_t array = 0;
  std::uint32_t device = 0;
  std::int64_t number = 0;
};

/// A tree of the operations that make up an element, back to products, reductions and parameters,
/// with the devices on which they run:
///
///     output 0 [0,0] on device 0
///     └ device 0: y[0,0] = add, y[0,0] before
///       ├ device 0: x[0,0] = parameter, x[0,0] before
///       └ device 0: down[0,0] = all-reduce (add), down[0,0] before
///         ├ device 0: part[0,0] = dot over 0:4 of dimension 1 of active before, …
///         └ device 1: part[0,0] = dot over 4:8 of dimension 1 of active before, …
class Drawing {
 public:
  explicit Drawing(RelatedModules& modules) : modules_(modules) {}

  std::string draw(const OutputElement& from) {
    const std::uint32_t array = modules_.output(from.output, from.device);
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
    const Index index = index_of(element.number, array.shape.sizes);
    std::string line;
    if (modules_.devices().count() > 1) line += fmt::format("device {}: ", element.device);
    line += fmt::format("{}[{}]{}", instruction.name, fmt::join(index, ","), moved);
    const std::string inner = prefix + (is_last ? "  " : "│ ");
    const std::string branch = prefix + (is_last ? "└ " : "├ ");
    const std::vector<Element> parts =
        depth < kMaxDepth ? parts_of(element) : std::vector<Element>{};
    const std::string what = is_reduction(instruction) ? fmt::format("{} ({})", instruction.opcode,
                                                                     reducer_text(instruction))
                                                       : instruction.opcode;
    text_ += fmt::format("{}{} = {}{}{}\n", branch, line, what,
                         parts.empty() ? contracted(element) : "", known(element));
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
    if (array.operands.empty() || instruction.shape.is_tuple) return std::nullopt;
    const std::string_view opcode = base_opcode(instruction.opcode);
    if (moves_between_devices(instruction)) return moved_by_collective(element);
    if (opcode == "dynamic-slice") {
      const auto start = start_index(element, 1, operand(0).shape.sizes, array.shape.sizes);
      if (!start) return std::nullopt;
      Index index = index_of(element.number, array.shape.sizes);
      for (std::size_t i = 0; i < index.size(); ++i) index[i] += (*start)[i];
      return at(element, 0, index);
    }
    if (opcode == "dynamic-update-slice") {
      const Index& window = operand(1).shape.sizes;
      const auto start = start_index(element, 2, array.shape.sizes, window);
      if (!start) return std::nullopt;
      Index index = index_of(element.number, array.shape.sizes);
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
    const auto sources = interpreter::sources_of(instruction, shapes, array.shape);
    if (!sources) return std::nullopt;
    const interpreter::Source& source = (*sources)[static_cast<std::size_t>(element.number)];
    return Element{array.operands.at(static_cast<std::size_t>(source.operand)), element.device,
                   source.element};
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
      const Cells& cells = modules_.array(array.operands[first + i]).cells[element.device];
      if (!cells || cells->size() != 1 || (*cells)[0].low != (*cells)[0].high) return std::nullopt;
      const auto value = static_cast<std::int64_t>((*cells)[0].low);
      start.push_back(std::clamp<std::int64_t>(value, 0, sizes[i] - window[i]));
    }
    return start;
  }

  std::optional<Element> moved_by_collective(const Element& element) const {
    const TracedArray& array = modules_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const std::string_view opcode = base_opcode(instruction.opcode);
    if (array.operands.size() != 1) return std::nullopt;
    const Collective collective =
        resolve(instruction, modules_.subject().language, modules_.devices());
    if (opcode == "collective-permute" || opcode == kMatchedReceive) {
      const std::uint32_t source = collective.source[element.device];
      if (source == kNone) return std::nullopt;
      return Element{array.operands[0], source, element.number};
    }
    const Index& own = modules_.array(array.operands[0]).shape.sizes;
    Index index = index_of(element.number, array.shape.sizes);
    const auto& along = instruction.attributes.dimensions;
    if (collective.group[element.device] == kNone) return std::nullopt;
    const auto& group = collective.group_of(element.device);
    if (opcode == "collective-broadcast") {
      return Element{array.operands[0], group[0], element.number};
    }
    if (along.size() != 1) return std::nullopt;
    if (opcode == "all-gather") {
      const auto d = static_cast<std::size_t>(along[0]);
      const auto member = static_cast<std::size_t>(index[d] / own[d]);
      index[d] %= own[d];
      Element source = at(element, 0, index);
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
      Element source = at(element, 0, index);
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
    if (instruction.shape.is_tuple) return parts;
    if (is_reduction(instruction) && array.operands.size() == 1) {
      const Collective collective =
          resolve(instruction, modules_.subject().language, modules_.devices());
      const Index& own = modules_.array(array.operands[0]).shape.sizes;
      Index index = index_of(element.number, array.shape.sizes);
      if (opcode == "reduce-scatter") {
        const auto d = static_cast<std::size_t>(instruction.attributes.dimensions.at(0));
        index[d] += collective.position[element.device] * array.shape.sizes[d];
      }
      const std::int64_t number = interpreter::offset_of(index, interpreter::strides_of(own));
      for (const std::uint32_t member : collective.group_of(element.device)) {
        parts.push_back({array.operands[0], member, number});
      }
      return parts;
    }
    if (!interpreter::element_of(opcode)) return parts;
    for (const std::uint32_t operand : array.operands) {
      const ArrayShape& shape = modules_.array(operand).shape;
      if (!modules_.array(operand).depends_on_inputs) continue;
      const bool is_scalar = shape.elements() == 1;
      if (!is_scalar && shape.sizes != array.shape.sizes) return {};
      parts.push_back({operand, element.device, is_scalar ? 0 : element.number});
    }
    return parts;
  }

  /// Of a product, the range of the other module's tensor over which this device sums.
  std::string contracted(const Element& element) {
    const TracedArray& array = modules_.array(element.array);
    const Instruction& instruction = *array.instruction;
    if (instruction.opcode != "dot" || array.operands.empty()) return {};
    const std::uint32_t operand = array.operands[0];
    const auto& holding = modules_.holding(operand);
    if (!holding || !holding->is_plain() || holding->is_whole) return {};
    const Index& start = holding->starts[element.device];
    const TracedArray& whole = modules_.other_trace().arrays[holding->array];
    const Index& sizes = modules_.array(operand).shape.sizes;
    if (start.size() != sizes.size()) return {};
    std::string text;
    for (const std::int64_t d : interpreter::dot_dimensions(instruction).lhs_contracting) {
      const auto i = static_cast<std::size_t>(d);
      if (sizes[i] == whole.shape.sizes[i]) continue;
      text += fmt::format(" over {}:{} of dimension {} of {} {}", start[i],
                          std::min(start[i] + sizes[i], whole.shape.sizes[i]), d,
                          whole.instruction->name, modules_.other_word());
    }
    return text;
  }

  /// Which element of the other module it is, if it is one.
  std::string known(const Element& element) {
    const TracedArray& array = modules_.array(element.array);
    if (!array.depends_on_inputs) return {};
    const auto& holding = modules_.holding(element.array);
    if (!holding) return {};
    const TracedArray& whole = modules_.other_trace().arrays[holding->array];
    const Index& start = holding->starts[element.device];
    if (start.size() != whole.shape.sizes.size() || start.size() != array.shape.sizes.size())
      return {};
    Index index = index_of(element.number, array.shape.sizes);
    for (std::size_t i = 0; i < index.size(); ++i) {
      index[i] += start[i];
      if (index[i] >= whole.shape.sizes[i]) return ", padding";
    }
    const std::string name = fmt::format("{}[{}] {}", whole.instruction->name,
                                         fmt::join(index, ","), modules_.other_word());
    if (holding->reducer != Reducer::Unknown) {
      return holding->reducer == Reducer::Add
                 ? fmt::format(", a partial sum of {}", name)
                 : fmt::format(", a partial result ({}) of {}", to_string(holding->reducer), name);
    }
    if (holding->factor != Number{1, 1}) {
      return fmt::format(", {} times {}", to_string(holding->factor), name);
    }
    return ", " + name;
  }

  RelatedModules& modules_;
  std::string text_;
  std::size_t lines_ = 0;
};

}  // namespace

std::string draw_output(const Module& before, const Module& after, const ModuleDecision& decision,
                        const Limits& limits) {
  const auto drawing =
      explain_within(decision, limits, [&](const Limits& bounded) -> std::optional<std::string> {
        RelatedModules modules(before, after, decision, bounded);
        OutputElement element{0, modules.holder_of(0)};
        if (decision.violation && decision.violation->element) {
          const ElementDifference& differing = *decision.violation->element;
          element = {differing.output, differing.device, differing.index};
        }
        return Drawing(modules).draw(element);
      });
  return drawing.value_or("");
}

}  // namespace p2::hlo
