#include "proofs/claims/witnesses.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "engine/program/notation.h"
#include "proofs/claims/forms.h"

namespace p2::claims {
namespace {

/// A claim about single instructions, refuted by one of them: the program of that step alone.
Answer refuted_by(const Subject& subject, const GroupShape& shape, std::string why) {
  const std::vector<Step> steps{{Collective::AllReduce, {}, shape}};
  return {Outcome::Refuted, 1, to_string(steps, &subject.from), 1, std::move(why)};
}

Answer holds(const Bounds& bounds) { return {Outcome::Holds, bounds.size, {}, 0, {}}; }

/// The level of (b) that carries factor x_i0 (or, with `last`, x_im) of level i of (a).
std::uint32_t factor_level(const Subject& subject, std::uint32_t level, bool last) {
  const auto axes = static_cast<std::uint32_t>(subject.from.grid.axes().count());
  return level == 0 ? 0 : (level - 1) * axes + (last ? axes : 1);
}

/// Every instruction of (a) against the one over (b): slice x_i0 or x_im, form up to x_jm.
Answer compare_factors(const Subject& subject, const Bounds& bounds, bool last) {
  const SynthesisHierarchy& columns = subject.to->hierarchy;
  for (const GroupShape& shape : named_shapes(subject.from.hierarchy)) {
    const std::uint32_t slice = factor_level(subject, shape.slice[0], last);
    const std::uint32_t ancestor =
        shape.ancestor.empty() ? 0 : factor_level(subject, shape.ancestor[0], true);
    const GroupShape witness = linear_shape(columns, slice, shape.form, ancestor);
    if (witness.pattern == shape.pattern) continue;
    return refuted_by(
        subject, shape,
        fmt::format(
            "({}) forms {}, the witness ({}) forms {}", to_string(shape, subject.from.hierarchy),
            p2::to_string(lower(subject.from.grid, shape, {}).groups), to_string(witness, columns),
            witness.pattern.reduced == 0
                ? "groups of one device"
                : p2::to_string(lower(subject.from.grid, witness, {}).groups)));
  }
  return holds(bounds);
}

std::uint64_t product(const SynthesisHierarchy& hierarchy, std::uint32_t begin, std::uint32_t end) {
  std::uint64_t size = 1;
  for (std::uint32_t i = begin; i < end; ++i) size *= hierarchy.levels()[i].size;
  return size;
}

/// Which factors the devices of a group differ in, told from their ids.
FactorSet varied(const DeviceGrid& grid, const Group& group) {
  FactorSet factors = 0;
  for (std::size_t f = 0; f < grid.factors().size(); ++f) {
    const Factor& factor = grid.factors()[f];
    const auto differs = [&](std::uint32_t device) {
      return grid.digit(device, factor) != grid.digit(group[0], factor);
    };
    if (std::any_of(group.begin(), group.end(), differs)) factors |= FactorSet{1} << f;
  }
  return factors;
}

FactorSet factors_of(const SynthesisHierarchy& hierarchy, std::uint32_t begin, std::uint32_t end) {
  FactorSet factors = 0;
  for (std::uint32_t i = begin; i < end; ++i) factors |= hierarchy.levels()[i].factors;
  return factors;
}

/// Whether the groups are one per assignment of the levels outside begin … end−1, as large as these
/// levels, and partitioned over them.
Answer measure_groups(const Subject& subject, const Bounds& bounds, Form form) {
  const SynthesisHierarchy& hierarchy = subject.from.hierarchy;
  const auto levels = static_cast<std::uint32_t>(hierarchy.levels().size());
  for (const GroupShape& shape : named_shapes(hierarchy)) {
    if (shape.form != form) continue;
    const bool inside = form == Form::InsideGroup;
    const std::uint32_t begin = (inside ? shape.slice[0] : shape.ancestor[0]) + 1;
    const std::uint32_t end = inside ? levels : shape.slice[0] + 1;
    const std::uint64_t size = product(hierarchy, begin, end);
    const std::vector<Group> groups = lower(subject.from.grid, shape, {}).groups;
    const bool as_said = std::all_of(groups.begin(), groups.end(), [&](const Group& group) {
      return group.size() == size &&
             varied(subject.from.grid, group) == factors_of(hierarchy, begin, end);
    });
    if (as_said && groups.size() * size == product(hierarchy, 0, levels)) continue;
    return refuted_by(subject, shape, "its groups are " + p2::to_string(groups));
  }
  return holds(bounds);
}

/// The level of `hierarchy` whose only factor is the one of `level`, a level of (b) or (c); root
/// where there is none.
std::uint32_t same_factor(const SynthesisHierarchy& hierarchy, const SynthesisLevel& level) {
  return hierarchy.level_called(level.name).value_or(0);
}

/// The levels of `from` between which the shape reduces and that are reduction factors above 1:
/// the e_i … e_j of the proofs.
std::vector<std::uint32_t> covered(const Subject& subject, const GroupShape& shape) {
  std::vector<std::uint32_t> levels;
  const auto& all = subject.from.hierarchy.levels();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const bool reduced = (all[i].factors & shape.pattern.reduced & subject.reduction()) != 0;
    if (reduced) levels.push_back(i);
  }
  return levels;
}

/// The form that the constructed instruction has for each form of the given one.
struct Forms {
  Form of_inside_group = Form::InsideGroup;
  Form of_master = Form::Master;

  Form operator()(Form form) const {
    if (form == Form::InsideGroup) return of_inside_group;
    return form == Form::Master ? of_master : form;
  }
};

/// The pattern of the constructed instruction; an empty one where there is none.
Pattern constructed(const Subject& subject, const GroupShape& shape, const Forms& forms) {
  const std::vector<std::uint32_t> levels = covered(subject, shape);
  if (levels.empty()) return {};
  const SynthesisHierarchy& target = subject.to->hierarchy;
  const auto& all = subject.from.hierarchy.levels();
  const std::uint32_t before = same_factor(target, all[levels.front()]) - 1;
  const Form form = forms(shape.form);
  if (form == Form::InsideGroup) return linear_shape(target, before, form, 0).pattern;
  const std::uint32_t slice = same_factor(target, all[levels.back()]);
  if (slice <= before) return {};
  return linear_shape(target, slice, form, before).pattern;
}

std::vector<bool> misses_witness(const Subject& subject, const Forms& forms) {
  std::vector<bool> forbidden;
  for (std::size_t move = 0; move < subject.moves.size(); ++move) {
    const GroupShape& shape = subject.shape(move);
    forbidden.push_back(constructed(subject, shape, forms) != shape.pattern);
  }
  return forbidden;
}

}  // namespace

Answer first_factor_of_level(const Subject& subject, const Bounds& bounds) {
  return compare_factors(subject, bounds, false);
}
Answer last_factor_of_level(const Subject& subject, const Bounds& bounds) {
  return compare_factors(subject, bounds, true);
}
Answer parallel_groups(const Subject& subject, const Bounds& bounds) {
  return measure_groups(subject, bounds, Form::Parallel);
}
Answer inside_groups(const Subject& subject, const Bounds& bounds) {
  return measure_groups(subject, bounds, Form::InsideGroup);
}

std::vector<bool> misses_row_witness(const Subject& subject) { return misses_witness(subject, {}); }

std::vector<bool> misses_row_witness_as_printed(const Subject& subject) {
  return misses_witness(subject, {Form::InsideGroup, Form::Parallel});
}

std::vector<bool> misses_parallel_witness(const Subject& subject) {
  std::vector<bool> forbidden = misses_witness(subject, {Form::Parallel, Form::Master});
  for (std::size_t move = 0; move < forbidden.size(); ++move) {
    forbidden[move] = forbidden[move] && subject.shape(move).form != Form::Master;
  }
  return forbidden;
}

std::vector<bool> misses_reduction_witness(const Subject& subject) {
  return misses_witness(subject, {});
}

}  // namespace p2::claims
