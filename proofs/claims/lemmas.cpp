// Section 3 and appendix B of "P²: Synthesizing Optimal Parallelism Placement and Reduction
// Strategies on Hierarchical Systems": expressiveness, the lemmas about valid instructions, and the
// witnesses of the proofs.
#include "proofs/claims/statements.h"

#include <algorithm>
#include <bit>
#include <set>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/program/program.h"

namespace p2::claims {
namespace {

std::vector<bool> not_expressible_in(const Subject& subject, Form form) {
  std::vector<bool> forbidden = not_expressible(subject);
  for (std::size_t move = 0; move < forbidden.size(); ++move) {
    forbidden[move] = forbidden[move] && subject.shape(move).form == form;
  }
  return forbidden;
}

}  // namespace

std::vector<bool> not_expressible(const Subject& subject) {
  invariant(subject.to.has_value(), "expressiveness compares two hierarchies");
  const std::vector<Move> known = instructions(*subject.to, subject.dialect);
  std::vector<bool> forbidden;
  for (const Move& move : subject.moves) {
    forbidden.push_back(!std::binary_search(known.begin(), known.end(), move));
  }
  return forbidden;
}

std::vector<bool> inside_group_not_expressible(const Subject& subject) {
  return not_expressible_in(subject, Form::InsideGroup);
}
std::vector<bool> parallel_not_expressible(const Subject& subject) {
  return not_expressible_in(subject, Form::Parallel);
}
std::vector<bool> master_not_expressible(const Subject& subject) {
  return not_expressible_in(subject, Form::Master);
}

namespace {

/// The patterns that instructions of this form give.
std::set<Pattern> patterns_of(const Subject& subject, Form form) {
  std::set<Pattern> patterns;
  for (const GroupShape& shape : named_shapes(subject.from.hierarchy)) {
    if (shape.form == form) patterns.insert(shape.pattern);
  }
  return patterns;
}

template <typename Breaks>
std::vector<bool> moves_that(const Subject& subject, Breaks breaks) {
  std::vector<bool> forbidden;
  for (const Move& move : subject.moves) forbidden.push_back(breaks(move.pattern));
  return forbidden;
}

std::vector<bool> form_reduces_outside(const Subject& subject, Form form) {
  const std::set<Pattern> patterns = patterns_of(subject, form);
  return moves_that(subject, [&](const Pattern& pattern) {
    return patterns.contains(pattern) && (pattern.reduced & ~subject.reduction()) != 0;
  });
}

}  // namespace

std::vector<bool> reduces_outside(const Subject& subject) {
  return moves_that(subject, [&](const Pattern& pattern) {
    return (pattern.reduced & ~subject.reduction()) != 0;
  });
}

std::vector<bool> parallel_reduces_outside(const Subject& subject) {
  return form_reduces_outside(subject, Form::Parallel);
}

std::vector<bool> inside_group_reduces_outside(const Subject& subject) {
  return form_reduces_outside(subject, Form::InsideGroup);
}

std::vector<bool> master_reaches_outside(const Subject& subject) {
  const std::set<Pattern> patterns = patterns_of(subject, Form::Master);
  return moves_that(subject, [&](const Pattern& pattern) {
    return patterns.contains(pattern) &&
           ((pattern.reduced | pattern.pinned) & ~subject.reduction()) != 0;
  });
}

namespace {

/// The counterexample to a claim about single instructions: the program of that step alone.
Settlement refuted_by(const Subject& subject, const GroupShape& shape, std::string why) {
  const std::vector<Step> steps{{Collective::AllReduce, {}, shape}};
  return {Outcome::Refuted, 1, to_string(steps, &subject.from), 1, std::move(why)};
}

/// The level of (b) that carries factor x_i0 (or, with `last`, x_im) of level i of (a).
std::uint32_t factor_level(const Subject& subject, std::uint32_t level, bool last) {
  const auto axes = static_cast<std::uint32_t>(subject.from.grid.axes().count());
  return level == 0 ? 0 : (level - 1) * axes + (last ? axes : 1);
}

/// Every instruction of (a) against the one over (b): slice x_i0 or x_im, form up to x_jm.
Settlement compare_factors(const Subject& subject, const Bounds& bounds, bool last) {
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
  return established(bounds);
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
Settlement measure_groups(const Subject& subject, const Bounds& bounds, Form form) {
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
  return established(bounds);
}

/// The level of `hierarchy` whose only factor is the one of `level`, a level of (b) or (c); root
/// where there is none.
std::uint32_t same_factor(const SynthesisHierarchy& hierarchy, const SynthesisLevel& level) {
  return hierarchy.find_level(level.name).value_or(0);
}

/// The levels over which the shape reduces that are reduction factors above 1: the e_i … e_j of the
/// proofs.
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

/// The pattern of the constructed instruction; empty if there is none.
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

Settlement first_factor_of_level(const Subject& subject, const Bounds& bounds) {
  return compare_factors(subject, bounds, false);
}
Settlement last_factor_of_level(const Subject& subject, const Bounds& bounds) {
  return compare_factors(subject, bounds, true);
}
Settlement parallel_groups(const Subject& subject, const Bounds& bounds) {
  return measure_groups(subject, bounds, Form::Parallel);
}
Settlement inside_groups(const Subject& subject, const Bounds& bounds) {
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
