#include "proofs/claims/claim.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/base/invariant.h"

namespace p2::claims {
namespace {

using Sizes = std::vector<std::uint32_t>;

/// Collecting so many takes milliseconds.
constexpr std::size_t kMaxUncheckedSystems = 700;

void factor(std::uint32_t rest, Sizes& prefix, std::vector<Sizes>& all) {
  if (rest == 1) return all.push_back(prefix);
  for (std::uint32_t part = 2; part <= rest; ++part) {
    if (rest % part != 0) continue;
    prefix.push_back(part);
    factor(rest / part, prefix, all);
    prefix.pop_back();
  }
}

/// The ordered factorisations of `product` into parts greater than 1, the shortest first.
std::vector<Sizes> factorisations(std::uint32_t product) {
  std::vector<Sizes> all;
  Sizes prefix;
  factor(product, prefix, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Sizes& a, const Sizes& b) { return a.size() < b.size(); });
  return all;
}

template <typename Part>
std::vector<Part> named(const Sizes& sizes, char letter) {
  std::vector<Part> parts;
  for (const std::uint32_t size : sizes) {
    parts.push_back({fmt::format("{}{}", letter, parts.size()), size});
  }
  return parts;
}

void append_placed(const Hierarchy& hierarchy, const Axes& axes, std::vector<PlacedSystem>& all) {
  for (const Placement& placement : enumerate_placements(hierarchy, axes, {"all systems"})) {
    const DeviceGrid grid(hierarchy, axes, placement);
    for (std::uint32_t chosen = 1; chosen < 1U << axes.count(); ++chosen) {
      ReductionAxes reduction;
      for (std::uint32_t axis = 0; axis < axes.count(); ++axis) {
        if ((chosen >> axis & 1U) != 0) reduction.push_back(axis);
      }
      all.push_back({grid, std::move(reduction)});
    }
  }
}

}  // namespace

bool PlacedSystem::several_axes() const {
  return std::count_if(reduction.begin(), reduction.end(),
                       [&](std::uint32_t axis) { return grid.axes()[axis].size > 1; }) > 1;
}

RowOrder row_order(const PlacedSystem& system) {
  std::vector<bool> reduced;  // by axis greater than 1
  for (std::uint32_t axis = 0; axis < system.grid.axes().count(); ++axis) {
    if (system.grid.axes()[axis].size == 1) continue;
    reduced.push_back(std::find(system.reduction.begin(), system.reduction.end(), axis) !=
                      system.reduction.end());
  }
  if (std::find(reduced.begin(), reduced.end(), false) == reduced.end()) return RowOrder::All;
  if (std::is_sorted(reduced.begin(), reduced.end())) return RowOrder::Last;
  return std::is_sorted(reduced.rbegin(), reduced.rend()) ? RowOrder::First : RowOrder::Between;
}

std::string_view to_string(RowOrder order) {
  constexpr std::array<std::string_view, 4> kNames = {"first", "between", "last", "all"};
  return kNames[static_cast<std::size_t>(order)];
}

std::vector<PlacedSystem> placed_systems(std::uint32_t most, const Limits& limits) {
  std::vector<PlacedSystem> all;
  for (std::uint32_t devices = 2; devices <= most; ++devices) {
    const std::vector<Sizes> products = factorisations(devices);
    for (const Sizes& levels : products) {
      const Hierarchy hierarchy(named<Level>(levels, 'l'), {"all systems"});
      for (const Sizes& axes : products) {
        if (all.size() > kMaxUncheckedSystems) {
          limits.require(all.size() * sizeof(PlacedSystem),
                         "collecting the systems (nothing was settled)");
        }
        append_placed(hierarchy, Axes(named<Axis>(axes, 'a'), {"all systems"}), all);
      }
    }
  }
  return all;
}

std::string to_string(const PlacedSystem& system) {
  std::string reduced;
  for (const std::uint32_t axis : system.reduction) {
    reduced += (reduced.empty() ? "" : ",") + system.grid.axes()[axis].name;
  }
  return fmt::format("{}  axes {}  reduce {}  {}", to_string(system.grid.hierarchy()),
                     to_string(system.grid.axes()), reduced, to_string(system.grid.placement()));
}

Subject::Subject(const PlacedSystem& system, HierarchyKind from_kind,
                 std::optional<HierarchyKind> to_kind, Dialect rules)
    : from(system.over(from_kind)), dialect(rules), named(make_problem(from, rules)) {
  if (to_kind) to.emplace(system.over(*to_kind));
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    moves.push_back({shape(move).pattern, named.problem.moves[move].collective});
  }
}

std::vector<Step> Subject::steps(const std::vector<std::uint32_t>& program) const {
  std::vector<Step> steps;
  for (const std::uint32_t move : program) {
    steps.push_back({moves[move].collective, {}, shape(move)});
  }
  return steps;
}

std::vector<Move> instructions(const Instance& instance, Dialect dialect) {
  std::vector<Move> moves;
  for (const GroupShape& shape : all_shapes(instance.hierarchy)) {
    for (const Collective collective : kCollectives) {
      if (allows(dialect, shape.pattern, collective)) moves.push_back({shape.pattern, collective});
    }
  }
  std::sort(moves.begin(), moves.end());
  return moves;
}

std::vector<GroupShape> named_shapes(const SynthesisHierarchy& hierarchy) {
  invariant(!hierarchy.is_lattice(), "a lattice has no slices and ancestors");
  const auto levels = static_cast<std::uint32_t>(hierarchy.levels().size());
  std::vector<GroupShape> shapes;
  const auto add = [&](GroupShape shape) {
    if (shape.pattern.reduced != 0) shapes.push_back(std::move(shape));
  };
  for (std::uint32_t slice = 0; slice < levels; ++slice) {
    add(linear_shape(hierarchy, slice, Form::InsideGroup, 0));
  }
  for (const Form form : {Form::Parallel, Form::Master}) {
    for (std::uint32_t slice = 0; slice < levels; ++slice) {
      for (std::uint32_t ancestor = 0; ancestor < slice; ++ancestor) {
        add(linear_shape(hierarchy, slice, form, ancestor));
      }
    }
  }
  return shapes;
}

}  // namespace p2::claims
