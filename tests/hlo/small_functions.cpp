// Operations without a form of their own: sorts, windows and convolutions of small programs, and
// what they compute.

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/small_programs.h"

namespace p2::hlo::small {
namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// A function of all these numbers, of which nothing else is known.
std::vector<double> unknown_numbers(std::uint64_t hash, const std::vector<double>& of,
                                    std::size_t count) {
  for (const double each : of)
    hash = (hash ^ std::hash<double>()(each)) * 0x9E3779B97F4A7C15U + (hash >> 29U);
  std::vector<double> results;
  for (std::size_t k = 0; k < count; ++k) {
    hash = hash * 6364136223846793005U + 1442695040888963407U;
    results.push_back(static_cast<double>(hash >> 44U));
  }
  return results;
}

/// `1x2` or `0_1x2_0`.
Index numbers_between(const std::string& text) {
  Index all;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = 0;
    all.push_back(std::stoll(text.substr(at), &end));
    at += end + 1;
  }
  return all;
}

std::vector<Window> windows_of(const std::string& text) {
  const std::string all = text_between(text, "window={", '}') + " ";
  const Index sizes = numbers_between(text_between(all, "size=", ' '));
  const auto under = [&](const char* key, std::size_t count, std::int64_t otherwise) {
    const Index numbers = numbers_between(text_between(all, key, ' '));
    return numbers.empty() ? Index(count * sizes.size(), otherwise) : numbers;
  };
  const Index strides = under("stride=", 1, 1), pads = under("pad=", 2, 0),
              bases = under("lhs_dilate=", 1, 1), dilations = under("rhs_dilate=", 1, 1),
              reversals = under("rhs_reversal=", 1, 0);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    windows.push_back({sizes[i], strides.at(i), pads.at(2 * i), pads.at(2 * i + 1), bases.at(i),
                       dilations.at(i), reversals.at(i) != 0});
  return windows;
}

/// An unknown function of every line along a dimension.
Array of_lines(const Array& x, std::size_t along) {
  Array result = x;
  Index first = x.sizes;
  first.at(along) = 1;
  for (const Index& begin : indices_of(first)) {
    std::vector<double> line;
    const auto at = [&](std::int64_t i) {
      Index index = begin;
      index[along] = i;
      return index;
    };
    for (std::int64_t i = 0; i < x.sizes[along]; ++i) line.push_back(x.at(at(i)));
    const auto values = unknown_numbers(along, line, line.size());
    for (std::int64_t i = 0; i < x.sizes[along]; ++i) result.at(at(i)) = values[as_size(i)];
  }
  return result;
}

Array of_windows(const std::string& text, const Array& x, const Array& first, const Index& sizes,
                 const std::string& type) {
  const auto windows = windows_of(text);
  const bool is_maximum = text.find("maximum") != std::string::npos;
  Index offsets;
  for (const Window& each : windows) offsets.push_back(each.size);
  Array result{sizes, {}};
  for (const Index& index : indices_of(sizes)) {
    double total = first.at(Index{});
    for (const Index& offset : indices_of(offsets)) {
      Index at;
      for (std::size_t i = 0; i < index.size(); ++i)
        at.push_back(windows.at(i).element(index[i], offset[i], x.sizes[i]));
      if (std::find(at.begin(), at.end(), -1) == at.end())
        total = reduced(is_maximum ? "maximum" : "add", total, x.at(at), type);
    }
    result.cells.push_back(total);
  }
  return result;
}

/// Of every window the first greatest element gets what `source` has for it.
Array selected_and_scattered(const std::string& text, const Array& x, const Array& source,
                             const Array& first, const std::string& type) {
  const auto windows = windows_of(text);
  Index offsets;
  for (const Window& each : windows) offsets.push_back(each.size);
  Array result{x.sizes, std::vector<double>(x.cells.size(), first.at(Index{}))};
  for (const Index& index : indices_of(source.sizes)) {
    std::optional<Index> greatest;
    for (const Index& offset : indices_of(offsets)) {
      Index at;
      for (std::size_t i = 0; i < index.size(); ++i)
        at.push_back(windows.at(i).element(index[i], offset[i], x.sizes[i]));
      const bool is_inside = std::find(at.begin(), at.end(), -1) == at.end();
      if (is_inside && (!greatest || !(x.at(*greatest) >= x.at(at)))) greatest = at;
    }
    if (greatest)
      result.at(*greatest) = reduced("add", result.at(*greatest), source.at(index), type);
  }
  return result;
}

/// Of one spatial dimension.
Array convolved(const std::string& text, const Array& x, const Array& y, const Index& sizes,
                const std::string& type) {
  const std::string labels = text_between(text + ",", "dim_labels=", ',');
  const std::size_t under = labels.find('_');
  const std::string in = labels.substr(0, under), kernel = labels.substr(under + 1, 3),
                    out = labels.substr(labels.size() - 3);
  const Window window = windows_of(text).at(0);
  const auto count = [&](const char* key) {
    const std::string given = text_between(text + ",", key, ',');
    return given.empty() ? 1 : std::stoll(given);
  };
  const std::int64_t groups = count("feature_group_count="),
                     batch_groups = count("batch_group_count=");
  const std::int64_t features = y.sizes.at(kernel.find('o'));
  Array result{sizes, {}};
  for (const Index& index : indices_of(sizes)) {
    const std::int64_t feature = index.at(out.find('f'));
    double total = 0;
    for (std::int64_t c = 0; c < y.sizes.at(kernel.find('i')); ++c) {
      for (std::int64_t offset = 0; offset < window.size; ++offset) {
        const std::int64_t at =
            window.element(index.at(out.find('0')), offset, x.sizes.at(in.find('0')));
        if (at < 0) continue;
        Index of_x(3), of_y(3);
        of_x.at(in.find('b')) =
            index.at(out.find('b')) +
            feature / (features / batch_groups) * (x.sizes.at(in.find('b')) / batch_groups);
        of_x.at(in.find('f')) = feature / (features / groups) * y.sizes.at(kernel.find('i')) + c;
        of_x.at(in.find('0')) = at;
        of_y.at(kernel.find('o')) = feature;
        of_y.at(kernel.find('i')) = c;
        of_y.at(kernel.find('0')) = offset;
        total = reduced("add", total, reduced("multiply", x.at(of_x), y.at(of_y), type), type);
      }
    }
    result.cells.push_back(total);
  }
  return result;
}

}  // namespace

std::string text_between(const std::string& text, const std::string& begin, char end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t from = at + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

std::string window_text(const std::vector<Window>& windows) {
  std::vector<std::string> sizes, strides, pads, bases, dilations, reversals;
  for (const Window& each : windows) {
    sizes.push_back(std::to_string(each.size));
    strides.push_back(std::to_string(each.stride));
    pads.push_back(fmt::format("{}_{}", each.low, each.high));
    bases.push_back(std::to_string(each.base));
    dilations.push_back(std::to_string(each.dilation));
    reversals.push_back(each.is_reversed ? "1" : "0");
  }
  return fmt::format(
      "window={{size={} stride={} pad={} lhs_dilate={} rhs_dilate={} rhs_reversal={}}}",
      fmt::join(sizes, "x"), fmt::join(strides, "x"), fmt::join(pads, "x"), fmt::join(bases, "x"),
      fmt::join(dilations, "x"), fmt::join(reversals, "x"));
}

Array function_of(const Form& form, const std::vector<const Array*>& x, const Index& sizes,
                  const std::string& type) {
  const std::string& text = form.text;
  if (text.find("dim_labels=") != std::string::npos)
    return convolved(text, *x.at(0), *x.at(1), sizes, type);
  if (text.find("select") != std::string::npos)
    return selected_and_scattered(text, *x.at(0), *x.at(1), *x.at(2), type);
  if (text.find("window=") != std::string::npos)
    return of_windows(text, *x.at(0), *x.at(1), sizes, type);
  if (text.find("is_stable=true") != std::string::npos)
    return of_lines(*x.at(0),
                    as_size(numbers_between(text_between(text, "dimensions={", '}')).at(0)));
  std::vector<double> cells;
  for (const Array* each : x) cells.insert(cells.end(), each->cells.begin(), each->cells.end());
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= as_size(size);
  return {sizes,
          unknown_numbers(text.find("dimensions={0}") == std::string::npos ? 1 : 0, cells, count)};
}

void SmallProgram::make_sort() {
  const std::size_t x = some("f32");
  const Step from = at(x);
  if (from.axes.empty()) return make("elementwise");
  const std::size_t along = below(from.axes.size());
  Step step{"sort", "f32", {"function", "", {}}, from.sizes, {x}, "", from.axes};
  step.attributes = fmt::format(", dimensions={{{}}}{}, to_apply=subtract_f32", along,
                                once_in(4) ? "" : ", is_stable=true");
  step.form.text = step.attributes;
  add(std::move(step));
}

void SmallProgram::make_windows() {
  const std::size_t x = some("f32");
  const Step from = at(x);
  if (from.axes.empty()) return make("elementwise");
  std::vector<Window> windows(from.axes.size());
  Step step{"reduce-window", "f32", {"function", "", {}}, {}, {x}, "", from.axes};
  for (std::size_t i = 0; i < windows.size(); ++i) {
    Window& each = windows[i];
    if (once_in(3)) {
      each.size = from_to(2, 3);
    } else if (once_in(2)) {
      each = {from_to(1, 3), from_to(1, 2), from_to(-1, 1), from_to(-1, 1),
              from_to(1, 2), from_to(1, 2), once_in(2)};
    }
    if (each.positions(from.sizes[i]) < 1) each = {};
    step.sizes.push_back(each.positions(from.sizes[i]));
    if (step.sizes.back() != from.sizes[i]) step.axes[i] = uncut(step.sizes.back());
  }
  step.operands.push_back(once_in(2) ? constant("f32", "0")
                                     : parameter("f32", {}, std::nullopt, {}));
  step.attributes = fmt::format(", {}, to_apply={}_f32", window_text(windows),
                                one_of<std::string>({"add", "maximum"}));
  step.form.text = step.attributes;
  add(std::move(step));
}

void SmallProgram::make_convolution() {
  // Batch, features, one spatial dimension; features of the result.
  const Axis batch = axis(from_to(1, 2)), features = axis(from_to(1, 3)),
             line = axis(from_to(1, 3)), result = axis(from_to(1, 2));
  Window window;
  if (!once_in(3)) {
    window = {from_to(1, 2), from_to(1, 2), from_to(0, 1), from_to(-1, 1),
              from_to(1, 2), from_to(1, 2), once_in(2)};
  }
  if (window.positions(line.size) < 1) window = {};
  const std::string in = one_of<std::string>({"bf0", "b0f", "0bf"}),
                    kernel = one_of<std::string>({"oi0", "0io", "i0o"}),
                    out = one_of<std::string>({"bf0", "b0f", "f0b"});
  const bool has_groups = once_in(6) && result.size % features.size == 0;
  const bool has_batch_groups = once_in(6) && batch.size == 2 && result.size == 2;
  std::vector<Axis> of_x, of_y, of_result;
  for (const char each : in) of_x.push_back(each == 'b' ? batch : each == 'f' ? features : line);
  Axis channels = once_in(4) ? axis(features.size) : tied(features);
  if (has_groups) channels = uncut(1);
  for (const char each : kernel)
    of_y.push_back(each == 'o' ? result : each == 'i' ? channels : uncut(window.size));
  const std::int64_t count = window.positions(line.size);
  const Axis positions = count == line.size ? line : uncut(count);
  const Axis batches = has_batch_groups ? uncut(1) : batch;
  for (const char each : out)
    of_result.push_back(each == 'b' ? batches : each == 'f' ? result : positions);
  const std::size_t x = operand("f32", of_x), y = operand("f32", of_y, once_in(2));
  Step step{"convolution", "f32", {"function", "", {}}, sizes_of(of_result), {x, y}, "", of_result};
  step.attributes =
      fmt::format(", {}, dim_labels={}_{}->{}", window_text({window}), in, kernel, out);
  if (has_groups) step.attributes += fmt::format(", feature_group_count={}", features.size);
  if (has_batch_groups) step.attributes += ", batch_group_count=2";
  step.form.text = step.attributes;
  add(std::move(step));
}

}  // namespace p2::hlo::small
