// Operations without a form of their own: what they make at one index of a dimension may be made
// of what is there, as in a sort of every row. Such a dimension may be cut.

#include <algorithm>
#include <string_view>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// A dimension of the result, and by operand the one that has the same indices, if any.
struct IndependentDimension {
  std::size_t result = 0;
  std::vector<std::optional<std::size_t>> operands;
};

/// Along these the result at an index is the function of what operands have there, and of operands
/// that have no such dimension. Other dimensions may be, too.
std::vector<IndependentDimension> independent_dimensions(const Node& node,
                                                         const std::vector<Index>& operands) {
  const Instruction& instruction = *node.instruction;
  const std::string& opcode = instruction.opcode;
  const std::size_t rank = operands.at(0).size();
  std::vector<IndependentDimension> all;
  const auto add = [&](std::size_t dimension, std::size_t result, std::size_t first_operands) {
    all.push_back({result, std::vector<std::optional<std::size_t>>(operands.size())});
    for (std::size_t k = 0; k < first_operands; ++k) all.back().operands[k] = dimension;
  };
  const auto add_all_but_last = [&](std::size_t last) {
    for (std::size_t i = 0; i + last < rank; ++i) add(i, i, operands.size());
  };
  const auto add_windows = [&](std::size_t first_operands) {
    const auto window = window_of(instruction, rank);
    for (std::size_t i = 0; i < rank; ++i) {
      if (window[i].is_single()) add(i, i, first_operands);
    }
  };
  if (is_one_of(opcode, {"complex", "imag", "map", "mulhi", "real"})) {
    add_all_but_last(0);
  } else if (is_one_of(opcode, {"cholesky", "triangular-solve"})) {
    add_all_but_last(2);
  } else if (opcode == "fft") {
    add_all_but_last(instruction.numbers("fft_length").size());
  } else if (opcode == "topk") {
    add_all_but_last(1);
  } else if (opcode == "sort" && is_stable_sort(instruction)) {
    // In which order equal elements are then does not depend on other lines.
    for (std::size_t i = 0; i < rank; ++i) {
      if (i != sorted_dimension(instruction)) add(i, i, operands.size());
    }
  } else if (opcode == "reduce") {
    const Index along = instruction.numbers("dimensions");
    for (std::size_t i = 0, next = 0; i < rank; ++i) {
      if (!contains(along, i)) add(i, next++, operands.size() / 2);
    }
  } else if (opcode == "reduce-window") {
    add_windows(operands.size() / 2);
  } else if (opcode == "select-and-scatter") {
    add_windows(2);
  } else if (opcode == "convolution") {
    const ConvolutionLabels labels(instruction);
    const auto find = ConvolutionLabels::find;
    const auto window = window_of(instruction, labels.in.size() - 2);
    if (instruction.number("batch_group_count", 1) == 1)
      add(find(labels.in, 'b'), find(labels.out, 'b'), 1);
    for (std::size_t i = 0; i < window.size(); ++i) {
      const auto label = static_cast<char>('0' + i);
      if (window[i].is_single()) add(find(labels.in, label), find(labels.out, label), 1);
    }
  }
  return all;
}

}  // namespace

/// Windows that are one element apart, of elements that are so in the whole, are those of the
/// whole.
std::optional<std::size_t> RelatedModules::places_of_windows(const WindowDimension& window,
                                                             std::size_t place) {
  const auto fixed = places_.fixed(place);
  if (!fixed || !window.is_sliding() || window.low != 0 || window.high != 0 || window.size < 1)
    return std::nullopt;
  const Place of = places_.at(*fixed);
  const std::int64_t less = window.size - 1;
  if (of.size <= less || of.whole <= less) return std::nullopt;
  std::vector<Segments> devices;
  for (const Segments& each : of.devices) {
    Segments own;
    for (const Segment& segment : each) {
      if (segment.size > less) own.push_back({segment.at, segment.of, segment.size - less});
    }
    devices.push_back(std::move(own));
  }
  return places_.segments(of.size - less, of.whole - less, std::move(devices));
}

std::optional<Fact> RelatedModules::applied(const Node& node, Form form, const Facts& facts) {
  std::vector<Index> own(form.numbers.begin(), form.numbers.end() - 1);
  if (own.empty()) return std::nullopt;
  std::vector<std::size_t> places;
  for (const std::int64_t size : node.shape.sizes) places.push_back(places_.identity(size));
  std::vector<std::vector<bool>> is_cut;
  for (const Index& sizes : own) is_cut.emplace_back(sizes.size(), false);
  const auto place_of = [&](std::size_t operand, std::size_t dimension) {
    is_cut.at(operand).at(dimension) = true;
    return facts[operand]->places.at(dimension);
  };
  auto dimensions = independent_dimensions(node, own);
  std::vector<std::size_t> along;
  const Instruction& instruction = *node.instruction;
  // Of every group of batches all features are added up.
  const bool is_product = instruction.opcode == "convolution" &&
                          instruction.number("feature_group_count", 1) == 1;
  if (is_product) {
    const ConvolutionLabels labels(instruction);
    const auto find = ConvolutionLabels::find;
    if (instruction.number("batch_group_count", 1) == 1)
      dimensions.push_back({find(labels.out, 'f'), {std::nullopt, find(labels.kernel, 'o')}});
    const auto both =
        places_.meet(place_of(0, find(labels.in, 'f')), place_of(1, find(labels.kernel, 'i')));
    if (!both) return std::nullopt;
    along.push_back(*both);
  }
  for (const IndependentDimension& each : dimensions) {
    std::optional<std::size_t> place;
    for (std::size_t k = 0; k < facts.size(); ++k) {
      if (!each.operands[k]) continue;
      const std::size_t its = place_of(k, *each.operands[k]);
      place = place ? places_.meet(*place, its) : its;
      if (!place) return std::nullopt;
    }
    places.at(each.result) = place.value();
    form.numbers.back().at(each.result) = places_.at(*place).whole;
  }
  if (instruction.opcode == "reduce-window" && facts.size() == 2) {
    const auto window = window_of(instruction, own[0].size());
    for (std::size_t i = 0; i < window.size(); ++i) {
      const std::size_t place = place_of(0, i);
      if (window[i].is_single() || places_.is_identity(place)) continue;
      const auto moved = places_of_windows(window[i], place);
      if (!moved) return std::nullopt;
      places.at(i) = *moved;
      form.numbers.back().at(i) = places_.at(*moved).whole;
    }
  }
  for (std::size_t k = 0; k < facts.size(); ++k) {
    if (facts[k]->partial && !is_product) return std::nullopt;
    for (std::size_t i = 0; i < own[k].size(); ++i) {
      if (!is_cut[k][i] && !places_.is_identity(facts[k]->places[i])) return std::nullopt;
    }
    form.numbers[k] = tensors_.at(facts[k]->tensor).sizes;
  }
  return is_product ? product(node, form, facts, std::move(places), std::move(along))
                    : made(node, std::move(form), facts, std::move(places));
}

/// A convolution with any order of dimensions is one of transposed operands, transposed, with the
/// order that XLA's backends prefer: batch, space, features; and space, features, results.
std::optional<std::size_t> Tensors::canonical_convolution(const Form& form,
                                                          const std::vector<std::size_t>& operands,
                                                          const std::string& kind) {
  constexpr std::string_view kKey = ", dim_labels=";
  const std::size_t at_labels = form.text.find(kKey);
  if (!form.text.starts_with("convolution,") || at_labels == std::string::npos ||
      form.text.find(kKey, at_labels + 1) != std::string::npos || operands.size() != 2 ||
      form.numbers.size() != 3)
    return std::nullopt;
  const std::size_t begin = at_labels + kKey.size();
  const std::size_t end = form.text.find_first_of(", ", begin);
  const ConvolutionLabels labels(std::string_view(form.text).substr(begin, end - begin));
  const std::size_t rank = labels.in.size();
  const std::string space = std::string("0123456789").substr(0, rank - 2);
  const std::string own[] = {labels.in, labels.kernel, labels.out};
  const std::string wanted[] = {"b" + space + "f", space + "io", "b" + space + "f"};
  if (std::ranges::equal(own, wanted)) return std::nullopt;
  Form canonical = form;
  canonical.text.replace(begin, end - begin, wanted[0] + "_" + wanted[1] + "->" + wanted[2]);
  std::vector<std::size_t> turned;
  Index back(rank);
  for (std::size_t k = 0; k < 3; ++k) {
    if (form.numbers[k].size() != rank) return std::nullopt;
    Index order;
    for (const char label : wanted[k])
      order.push_back(static_cast<std::int64_t>(ConvolutionLabels::find(own[k], label)));
    for (std::size_t i = 0; i < rank; ++i) {
      canonical.numbers[k][i] = element_of(form.numbers[k], order[i]);
      if (k == 2) back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    if (k == 2) continue;
    const auto transposed = make({"transpose", "", {order}}, {operands[k]}, at(operands[k]).kind);
    if (!transposed) return std::nullopt;
    turned.push_back(*transposed);
  }
  const auto result = make(std::move(canonical), std::move(turned), kind);
  return result ? make({"transpose", "", {back}}, {*result}, kind) : std::nullopt;
}

}  // namespace p2::kernel::xla
