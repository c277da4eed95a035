#include "engine/placement/axes.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/text_cursor.h"
#include "engine/topology/hierarchy.h"

namespace p2 {
namespace {

constexpr std::size_t kMostAxes = 64;

}  // namespace

Axes::Axes(std::vector<Axis> axes, const SourcePosition& where) : axes_(std::move(axes)) {
  if (axes_.empty()) throw InputError(where, "no parallelism axis, expected at least one");
  if (axes_.size() > kMostAxes) {
    throw InputError(where, fmt::format("{} axes, expected at most {}", axes_.size(), kMostAxes));
  }
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Axis& axis = axes_[i];
    if (axis.size == 0) {
      throw InputError(where, fmt::format("axis {} has size 0, expected at least 1", axis.name));
    }
    if (!is_plain_name(axis.name)) {
      throw InputError(where, fmt::format("\"{}\" cannot name an axis, expected letters, digits, "
                                          "'_' and '-', starting with a letter or '_'",
                                          axis.name));
    }
    const auto same_name = [&](const Axis& other) { return other.name == axis.name; };
    if (std::any_of(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(i), same_name)) {
      throw InputError(where,
                       fmt::format("two axes are called {}, expected distinct names", axis.name));
    }
  }
}

Axes parse_axes(std::string_view source, std::string_view text) {
  TextCursor cursor(source, text);
  const SourcePosition where = cursor.position();
  std::vector<Axis> axes;
  const bool named = !cursor.peek_name().empty();
  do {
    Axis axis{fmt::format("a{}", axes.size()), 1};
    if (named) {
      axis.name = cursor.name("the name of an axis");
      cursor.expect("=", "after the name of an axis");
    }
    axis.size = static_cast<std::uint32_t>(
        cursor.integer("the size of an axis", 1, Hierarchy::kMostDevices));
    axes.push_back(std::move(axis));
  } while (cursor.accept(","));
  expect_end(cursor, "the axes");
  return Axes(std::move(axes), where);
}

std::uint32_t axis_index(const Axes& axes, std::string_view name, const SourcePosition& where) {
  for (std::uint32_t i = 0; i < axes.count(); ++i) {
    if (axes[i].name == name) return i;
  }
  throw InputError(
      where, fmt::format("no axis is called '{}', expected one of {}", name, to_string(axes)));
}

ReductionAxes parse_reduction(std::string_view source, std::string_view text, const Axes& axes) {
  TextCursor cursor(source, text);
  ReductionAxes reduction;
  do {
    const SourcePosition where = cursor.position();
    const std::uint32_t axis = cursor.peek_name().empty()
                                   ? static_cast<std::uint32_t>(cursor.integer(
                                         "the index of a reduction axis", 0, axes.count() - 1))
                                   : axis_index(axes, cursor.name("an axis name"), where);
    if (std::find(reduction.begin(), reduction.end(), axis) != reduction.end()) {
      throw InputError(
          where, fmt::format("axis {} is listed twice, expected each axis once", axes[axis].name));
    }
    reduction.push_back(axis);
  } while (cursor.accept(","));
  expect_end(cursor, "the reduction axes");
  std::sort(reduction.begin(), reduction.end());
  return reduction;
}

std::string to_string(const Axes& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  }
  return text;
}

}  // namespace p2
