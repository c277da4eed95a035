// Which devices' pieces make up one element of an output.

#include "engine/hlo/explanation/explanation.h"

#include <algorithm>
#include <compare>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/explanation/related_modules.h"
#include "engine/hlo/flow.h"
#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/local_operations.h"

namespace p2::hlo {
namespace {

constexpr int kMaxDepth = 12;
constexpr std::size_t kMaxLines = 40;
constexpr std::size_t kMaxMembers = 8;

using Index = std::vector<std::int64_t>;

/// A module of which an element is drawn, and what is known of its arrays.
struct DrawnModule {
  const Module& subject;
  const Devices& devices;
  const Trace& trace;
  const char* other_word;  ///< `before` or `after`, which the other module is
  const HeldArrays& held;

  const TracedArray& array(std::uint32_t number) const { return trace.arrays[number]; }
};

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
  auto operator<=>(const Element&) const = default;
};

/// A tree of the operations that make up an element, back to products, reductions and
/// parameters, with the devices on which they run:
///
///     output 0 [0,0] on device 0
///     └ device 0: y[0,0] = add, y[0,0] before
///       ├ device 0: x[0,0] = parameter, x[0,0] before
///       └ device 0: down[0,0] = all-reduce (add), down[0,0] before
///         ├ device 0: part[0,0] = dot over 0:4 of dimension 1 of active before, …
///         └ device 1: part[0,0] = dot over 4:8 of dimension 1 of active before, …
class Drawing {
 public:
  explicit Drawing(const DrawnModule& module) : module_(module) {
    for (const TracedArray& array : module.trace.arrays) {
      const bool receives = moves_between_devices(*array.instruction);
      communicates_.push_back(receives || std::ranges::any_of(array.operands, [&](auto each) {
                                return communicates_[each];
                              }));
    }
  }

  std::string draw(std::uint32_t array, const OutputElement& from) {
    const Index& sizes = module_.array(array).shape.sizes;
    if (module_.array(array).shape.elements() == 0) return {};
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
    const TracedArray& array = module_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const Index index = interpreter::index_of(element.number, array.shape.sizes);
    std::string line;
    if (module_.devices.count() > 1) line += fmt::format("device {}: ", element.device);
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
    return to_string(reducer_of(module_.subject.computations[instruction.called[0]]));
  }

  /// The element that is moved here, through operations that only move elements.
  Element origin(Element element, std::string& moved) const {
    std::vector<std::string> steps;
    while (const auto source = source_of(element)) {
      const Instruction& instruction = *module_.array(element.array).instruction;
      if (moves_between_devices(instruction)) steps.push_back(instruction.name);
      element = *source;
    }
    if (!steps.empty()) moved = fmt::format(" by {}", fmt::join(steps, ", "));
    return element;
  }

  /// Where an element is moved from by its instruction; nothing for what computes.
  std::optional<Element> source_of(const Element& element) const {
    const TracedArray& array = module_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const auto operand = [&](std::size_t k) { return module_.array(array.operands.at(k)); };
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
    for (const std::uint32_t each : array.operands) shapes.push_back(module_.array(each).shape);
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
    const std::uint32_t array = module_.array(element.array).operands[operand];
    const Index strides = interpreter::strides_of(module_.array(array).shape.sizes);
    return {array, element.device, interpreter::offset_of(index, strides)};
  }

  /// The start of a dynamic slice, clamped; nothing if it depends on inputs.
  std::optional<Index> start_index(const Element& element, std::size_t first, const Index& sizes,
                                   const Index& window) const {
    const TracedArray& array = module_.array(element.array);
    Index start;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (first + i >= array.operands.size()) return std::nullopt;
      const auto value =
          module_.held.number(array_on(module_.trace, array.operands[first + i], element.device));
      if (!value) return std::nullopt;
      start.push_back(std::clamp<std::int64_t>(*value, 0, sizes[i] - window[i]));
    }
    return start;
  }

  std::optional<Element> moved_by_collective(const Element& element) const {
    const TracedArray& array = module_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const std::string_view opcode = base_opcode(instruction.opcode);
    const auto operand = communicated(array);
    if (!operand) return std::nullopt;
    const std::uint32_t from = array.operands[*operand];
    const Collective collective = resolve(instruction, module_.subject.language, module_.devices);
    if (opcode == "collective-permute" || opcode == kMatchedReceive) {
      const std::uint32_t source = collective.source[element.device];
      if (source == kNone) return std::nullopt;
      return Element{from, source, element.number};
    }
    const Index& own = module_.array(from).shape.sizes;
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
    const TracedArray& array = module_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const std::string_view opcode = base_opcode(instruction.opcode);
    std::vector<Element> parts;
    const auto operand = is_reduction(instruction) ? communicated(array) : std::nullopt;
    if (operand) {
      const Collective collective = resolve(instruction, module_.subject.language, module_.devices);
      const Index& own = module_.array(array.operands[*operand]).shape.sizes;
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
      const ArrayShape& shape = module_.array(each).shape;
      if (!module_.array(each).depends_on_inputs) continue;
      const bool is_scalar = shape.elements() == 1;
      if (!is_scalar && shape.sizes != array.shape.sizes) return {};
      const Element part{each, element.device, is_scalar ? 0 : element.number};
      if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
    }
    return parts;
  }

  /// Of a product or reduction, the range of the other module's tensor over which this device sums.
  std::string contracted(const Element& element) {
    const TracedArray& array = module_.array(element.array);
    const Instruction& instruction = *array.instruction;
    const bool is_dot = instruction.opcode == "dot";
    if ((!is_dot && instruction.opcode != "reduce") || array.operands.empty()) return {};
    std::vector<std::string> dimensions;
    std::string tensor;
    for (const std::int64_t d : is_dot ? interpreter::dot_dimensions(instruction).lhs_contracting
                                       : instruction.attributes.dimensions) {
      const auto held = module_.held.range(
          array_on(module_.trace, array.operands[0], element.device), static_cast<std::size_t>(d));
      if (!held) continue;
      std::vector<std::string> ranges;
      for (const auto& [begin, end] : held->ranges)
        ranges.push_back(fmt::format("{}:{}", begin, end));
      dimensions.push_back(fmt::format("{} of dimension {}", fmt::join(ranges, ","), d));
      tensor = held->tensor;
    }
    if (dimensions.empty()) return {};
    return fmt::format(" over {} of {} {}", fmt::join(dimensions, ", "), tensor,
                       module_.other_word);
  }

  /// Which element of the other module it is, if it is one.
  std::string known(const Element& element) {
    const TracedArray& array = module_.array(element.array);
    if (!array.depends_on_inputs) return {};
    const auto held =
        module_.held.element(array_on(module_.trace, element.array, element.device),
                             interpreter::index_of(element.number, array.shape.sizes));
    if (!held) return {};
    if (held->is_padding) return ", padding";
    if (held->tensor.empty()) return held->reducer == Reducer::Add ? ", a partial sum" : "";
    const std::string name =
        fmt::format("{}[{}] {}", held->tensor, fmt::join(held->index, ","), module_.other_word);
    if (held->reducer != Reducer::Unknown) {
      return held->reducer == Reducer::Add
                 ? fmt::format(", a partial sum of {}", name)
                 : fmt::format(", a partial result ({}) of {}", to_string(held->reducer), name);
    }
    if (held->factor != Number{1, 1})
      return fmt::format(", {} times {}", to_string(held->factor), name);
    return ", " + name;
  }

  const DrawnModule& module_;
  std::set<Element> followed_;
  std::vector<bool> communicates_;  ///< by array: whether it is computed from other devices'
  std::string text_;
  std::size_t lines_ = 0;
};

/// By the values of elements.
class HeldByExecution : public HeldArrays {
 public:
  explicit HeldByExecution(RelatedModules& modules) : modules_(modules) {}

  std::optional<HeldElement> element(const Array& array, const Index& index) const override {
    const auto& holding = modules_.holding(array.number);
    if (!holding) return std::nullopt;
    const TracedArray& whole = modules_.other_trace().arrays[holding->array];
    const Index& start = holding->starts[array.device];
    if (start.size() != whole.shape.sizes.size() || start.size() != index.size())
      return std::nullopt;
    HeldElement held{whole.instruction->name, index, false, holding->reducer, holding->factor};
    for (std::size_t i = 0; i < index.size(); ++i) {
      held.index[i] += start[i];
      held.is_padding = held.is_padding || held.index[i] >= whole.shape.sizes[i];
    }
    return held;
  }

  std::optional<HeldRange> range(const Array& array, std::size_t dimension) const override {
    const auto& holding = modules_.holding(array.number);
    if (!holding || !holding->is_plain() || holding->is_whole) return std::nullopt;
    const TracedArray& whole = modules_.other_trace().arrays[holding->array];
    const Index& start = holding->starts[array.device];
    const Index& sizes = array.shape.sizes;
    if (start.size() != sizes.size()) return std::nullopt;
    const std::int64_t all = whole.shape.sizes.at(dimension);
    if (sizes[dimension] == all) return std::nullopt;
    const std::int64_t begin = start[dimension];
    return HeldRange{whole.instruction->name, {{begin, std::min(begin + sizes[dimension], all)}}};
  }

  std::optional<std::int64_t> number(const Array& array) const override {
    const Cells& cells = modules_.array(array.number).cells[array.device];
    if (!cells || cells->size() != 1 || (*cells)[0].low != (*cells)[0].high) return std::nullopt;
    return static_cast<std::int64_t>((*cells)[0].low);
  }

 private:
  RelatedModules& modules_;
};

/// The one that differs, else the first; nothing where there are no outputs.
std::optional<OutputElement> drawn_element(const ModuleDecision& decision, const Trace& trace) {
  if (trace.outputs.empty()) return std::nullopt;
  if (decision.violation && decision.violation->element) {
    const ElementDifference& differing = *decision.violation->element;
    return OutputElement{differing.output, differing.device, differing.index};
  }
  if (!decision.relation->is_mixed()) return OutputElement{};
  const auto& pieces = decision.relation->outputs.at(0).pieces;
  const auto held = std::ranges::find_if(pieces, [](const auto& own) { return !own.empty(); });
  return OutputElement{0, static_cast<std::uint32_t>(held - pieces.begin())};
}

std::string draw(const DrawnModule& module, const ModuleDecision& decision) {
  const auto element = drawn_element(decision, module.trace);
  if (!element) return {};
  return Drawing(module).draw(
      output_on(module.trace, *decision.relation, element->output, element->device), *element);
}

}  // namespace

std::string draw_output(const Module& before, const Module& after, const ModuleDecision& decision,
                        const Limits& limits) {
  const auto drawing =
      explain_within(decision, limits, [&](const Limits& bounded) -> std::optional<std::string> {
        RelatedModules modules(before, after, decision, bounded);
        const HeldByExecution held(modules);
        return draw(
            {modules.subject(), modules.devices(), modules.trace(), modules.other_word(), held},
            decision);
      });
  return drawing.value_or("");
}

std::string draw_output(const std::shared_ptr<const Module>& before,
                        const std::shared_ptr<const Module>& after, const ModuleDecision& decision,
                        const HeldArrays& held, const Limits& limits) {
  const bool is_of_before = decision.relation->is_reversed();
  Fingerprints fingerprints;
  const Flow flow = flow_of(is_of_before ? before : after, decision.devices, fingerprints, limits);
  const Trace trace = trace_of(flow);
  return draw({*flow.module, flow.devices, trace, is_of_before ? "after" : "before", held},
              decision);
}

}  // namespace p2::hlo
