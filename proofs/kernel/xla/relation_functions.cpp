// Operations without a form of their own: what they make at one index of a dimension may be made
// of what is there, as in a sort of every row. Such a dimension may be cut.

#include <algorithm>
#include <string_view>
#include <utility>

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
  const std::string_view opcode = instruction.opcode;
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

constexpr std::string_view kLabels = ", dim_labels=";

/// Of the text of a convolution; nothing of any other.
std::optional<ConvolutionLabels> labels_of(const std::string& text) {
  const std::size_t at = text.find(kLabels);
  if (!text.starts_with("convolution,") || at == std::string::npos ||
      text.find(kLabels, at + 1) != std::string::npos)
    return std::nullopt;
  const std::size_t begin = at + kLabels.size();
  return ConvolutionLabels(
      std::string_view(text).substr(begin, text.find_first_of(", ", begin) - begin));
}

/// Where the window of a function's text stands; nothing where that is not certain.
std::optional<std::pair<std::size_t, std::size_t>> range_of_window(const std::string& text) {
  constexpr std::string_view kKey = ", window={";
  const std::size_t at = text.find(kKey);
  if (at == std::string::npos || text.find(kKey, at + 1) != std::string::npos) return std::nullopt;
  const std::size_t begin = at + kKey.size() - 1;
  const std::size_t end = text.find('}', begin);
  return end == std::string::npos ? std::nullopt : std::optional(std::pair(begin, end + 1 - begin));
}

/// In place of the window of a function; whether it has one.
bool set_window(Form& form, const std::vector<WindowDimension>& window) {
  const auto range = range_of_window(form.text);
  if (range) form.text.replace(range->first, range->second, window_text(window));
  return range.has_value();
}

}  // namespace

/// Windows of elements that follow each other in the whole are windows of the whole, if they begin
/// where these do.
std::optional<std::size_t> RelatedModules::places_of_windows(const WindowDimension& window,
                                                             std::size_t place) {
  const auto fixed = places_.fixed(place);
  if (!fixed || !window.is_plain()) return std::nullopt;
  const Place of = places_.at(*fixed);
  const std::int64_t count = window.positions(of.size), whole = window.positions(of.whole);
  if (count < 1 || whole < 1) return std::nullopt;
  const std::int64_t stride = window.stride;
  std::vector<Segments> devices;
  for (const Segments& each : of.devices) {
    Segments own;
    for (const Segment& segment : each) {
      if ((segment.of - segment.at) % stride != 0) continue;
      const std::int64_t first = (segment.at + stride - 1) / stride;
      const std::int64_t skipped = first * stride - segment.at;
      const std::int64_t inside = window.positions(segment.size - skipped);
      if (segment.size > skipped && inside > 0)
        own.push_back({first, first + (segment.of - segment.at) / stride, inside});
    }
    devices.push_back(std::move(own));
  }
  return places_.segments(count, whole, std::move(devices));
}

/// Where a device has the elements that windows side by side choose from, if it has all of these
/// windows, and what is scattered to them.
std::optional<std::size_t> RelatedModules::places_of_tiles(const WindowDimension& window,
                                                           std::size_t place, std::size_t windows) {
  const auto fixed = places_.fixed(place), own = places_.fixed(windows);
  const std::int64_t size = window.size;
  if (!fixed || !own || !window.is_plain() || window.stride != size || window.window_dilation != 1)
    return std::nullopt;
  const auto are_tiles = [&](const Segments& segments) {
    return std::ranges::all_of(segments, [&](const Segment& each) {
      return each.at % size == 0 && each.of % size == 0 && each.size % size == 0;
    });
  };
  const bool is_kept = std::ranges::all_of(places_.at(*fixed).devices, are_tiles) &&
                       places_of_windows(window, *fixed) == own;
  return is_kept ? fixed : std::nullopt;
}

/// Of a convolution whose window is cut: where a device has the kernel along a dimension, if it has
/// the elements of the input that these are multiplied with at all positions.
std::optional<std::size_t> RelatedModules::places_of_cut_window(const WindowDimension& window,
                                                                std::size_t input,
                                                                std::size_t kernel) {
  const auto of_input = places_.fixed(input), of_kernel = places_.fixed(kernel);
  if (!of_input || !of_kernel || !window.is_plain() || window.is_reversed) return std::nullopt;
  const Place& x = places_.at(*of_input);
  const Place& k = places_.at(*of_kernel);
  WindowDimension whole = window;
  whole.size = k.whole;
  if (whole.positions(x.whole) != window.positions(x.size)) return std::nullopt;
  const auto has_all = [](const Segments& segments, std::int64_t size) {
    return segments.size() == 1 && segments[0].at == 0 && segments[0].size == size;
  };
  for (std::size_t device = 0; device < k.devices.size(); ++device) {
    if (!has_all(k.devices[device], k.size) || !has_all(x.devices[device], x.size) ||
        x.devices[device][0].of != k.devices[device][0].of * window.window_dilation)
      return std::nullopt;
  }
  return of_kernel;
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
  const bool is_product =
      instruction.opcode == "convolution" && instruction.number("feature_group_count", 1) == 1;
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
  const auto slide = [&](const WindowDimension& window, std::size_t from, std::size_t to) {
    const std::size_t place = place_of(0, from);
    if (window.is_single() || places_.is_identity(place)) return true;
    const auto moved = places_of_windows(window, place);
    if (!moved) return false;
    places.at(to) = *moved;
    form.numbers.back().at(to) = places_.at(*moved).whole;
    return true;
  };
  if (instruction.opcode == "reduce-window" && facts.size() == 2) {
    const auto window = window_of(instruction, own[0].size());
    for (std::size_t i = 0; i < window.size(); ++i) {
      if (!slide(window[i], i, i)) return std::nullopt;
    }
  }
  if (instruction.opcode == "select-and-scatter" && facts.size() == 3) {
    const auto window = window_of(instruction, own[0].size());
    for (std::size_t i = 0; i < window.size(); ++i) {
      const std::size_t place = place_of(0, i);
      if (window[i].is_single() ||
          (places_.is_identity(place) && places_.is_identity(facts[1]->places.at(i))))
        continue;
      const auto kept = places_of_tiles(window[i], place, place_of(1, i));
      if (!kept) return std::nullopt;
      places.at(i) = *kept;
      form.numbers.back().at(i) = places_.at(*kept).whole;
    }
  }
  if (instruction.opcode == "convolution") {
    const ConvolutionLabels labels(instruction);
    auto window = window_of(instruction, labels.in.size() - 2);
    for (std::size_t i = 0; i < window.size(); ++i) {
      const auto label = static_cast<char>('0' + i);
      const std::size_t in = ConvolutionLabels::find(labels.in, label);
      const std::size_t kernel = ConvolutionLabels::find(labels.kernel, label);
      const std::size_t cut = facts[1]->places.at(kernel);
      if (places_.is_identity(cut)) {
        if (!slide(window[i], in, ConvolutionLabels::find(labels.out, label))) return std::nullopt;
        continue;
      }
      const auto all = places_of_cut_window(window[i], place_of(0, in), place_of(1, kernel));
      if (!is_product || !all) return std::nullopt;
      along.push_back(*all);
      window[i].size = places_.at(*all).whole;
      if (!set_window(form, window)) return std::nullopt;
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

/// As a convolution without padding, of what is padded with zeros: a product with zero is zero
/// where the kernel is finite.
std::optional<std::size_t> Tensors::convolution_of_padded(const Form& form,
                                                          const std::vector<std::size_t>& operands,
                                                          const std::string& kind) {
  const auto labels = labels_of(form.text);
  const auto range = range_of_window(form.text);
  if (!labels || !range || operands.size() != 2 || form.numbers.size() != 3 ||
      (may_be_infinite(operands[1]) && !is_finite(operands[1])) || at(operands[0]).kind != kind)
    return std::nullopt;
  auto window = window_of(std::string_view(form.text).substr(range->first, range->second),
                          labels->in.size() - 2);
  Form pad{"pad", "", std::vector<Index>(3, Index(labels->in.size(), 0))};
  Form plain = form;
  bool is_padded = false;
  for (std::size_t i = 0; i < window.size(); ++i) {
    WindowDimension& each = window[i];
    if (each.base_dilation != 1 || each.low < 0 || each.high < 0) continue;
    const std::size_t in = ConvolutionLabels::find(labels->in, static_cast<char>('0' + i));
    is_padded = is_padded || each.low > 0 || each.high > 0;
    pad.numbers[0].at(in) = std::exchange(each.low, 0);
    pad.numbers[1].at(in) = std::exchange(each.high, 0);
    plain.numbers[0].at(in) += pad.numbers[0][in] + pad.numbers[1][in];
  }
  set_window(plain, window);
  if (!is_padded && plain.text == form.text) return std::nullopt;
  const auto padded = is_padded ? make(pad, {operands[0], zeros_of(kind, {})}, kind) : operands[0];
  return padded ? make(plain, {*padded, operands[1]}, kind) : std::nullopt;
}

/// A convolution with any order of dimensions is one of transposed operands, transposed, with the
/// order that XLA's backends prefer: batch, space, features; and space, features, results.
std::optional<std::size_t> Tensors::canonical_convolution(const Form& form,
                                                          const std::vector<std::size_t>& operands,
                                                          const std::string& kind) {
  const auto found = labels_of(form.text);
  if (!found || operands.size() != 2 || form.numbers.size() != 3) return std::nullopt;
  const std::size_t begin = form.text.find(kLabels) + kLabels.size();
  const std::size_t end = form.text.find_first_of(", ", begin);
  const ConvolutionLabels& labels = *found;
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
  const auto result = make(canonical, std::move(turned), kind);
  return result ? make({"transpose", "", {back}}, {*result}, kind) : std::nullopt;
}

}  // namespace p2::kernel::xla
