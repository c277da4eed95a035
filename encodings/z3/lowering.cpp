#include "encodings/z3/lowering.h"

#include <algorithm>
#include <bit>
#include <map>

#include "engine/base/invariant.h"

namespace p2::z3_encoding {
namespace {

constexpr unsigned kFormWidth = 2;

unsigned width_of(std::uint32_t most) {
  return std::max(1U, static_cast<unsigned>(std::bit_width(most)));
}

}  // namespace

Formation::Formation(z3::context& context, const Instance& instance)
    : context_(&context),
      lattice_(instance.hierarchy.is_lattice()),
      levels_(static_cast<std::uint32_t>(instance.hierarchy.levels().size())),
      factors_(instance.grid.factors()),
      reduction_(instance.grid.factors_of(instance.reduction)),
      devices_(instance.grid.devices()),
      device_width_(width_of(devices_)),
      level_width_(lattice_ ? levels_ : width_of(levels_)),
      slice_(context.bv_const("slice", level_width_)),
      form_(context.bv_const("form", kFormWidth)),
      level_(context.bv_const("level", level_width_)) {
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    Choice choice{context.bool_val(false), context.bool_val(false)};
    for (std::uint32_t l = 0; l < levels_; ++l) {
      const bool member = (instance.hierarchy.levels()[l].factors >> f & 1U) != 0;
      if (member) choice = choice_of_level(l);
    }
    choices_.push_back(choice);
  }
}

Formation::Choice Formation::choice_of_level(std::uint32_t level) const {
  if (lattice_) {
    const z3::expr one = context_->bv_val(1, 1);
    return {slice_.extract(level, level) == one, level_.extract(level, level) == one};
  }
  const z3::expr at = context_->bv_val(level, level_width_);
  const z3::expr below_slice = z3::ult(slice_, at);
  const z3::expr between = z3::ult(level_, at) && z3::ule(at, slice_);
  return {z3::ite(form_ == form_value(Form::InsideGroup), below_slice, between),
          form_ == form_value(Form::Master) && below_slice};
}

z3::expr Formation::form_value(Form form) const {
  return context_->bv_val(static_cast<unsigned>(form), kFormWidth);
}

z3::expr Formation::levels_value(const std::vector<std::uint32_t>& levels) const {
  if (!lattice_) return context_->bv_val(levels.empty() ? 0U : levels[0], level_width_);
  std::uint64_t set = 0;
  for (const std::uint32_t level : levels) set |= std::uint64_t{1} << level;
  return context_->bv_val(set, level_width_);
}

z3::expr Formation::well_formed() const {
  if (lattice_) {
    const z3::expr empty = context_->bv_val(0, level_width_);
    return (slice_ & level_) == empty &&
           form_ == z3::ite(level_ == empty, form_value(Form::Parallel), form_value(Form::Master));
  }
  const z3::expr inside = form_ == form_value(Form::InsideGroup);
  const z3::expr others = form_ == form_value(Form::Parallel) || form_ == form_value(Form::Master);
  return z3::ult(slice_, context_->bv_val(levels_, level_width_)) &&
         (inside || (others && z3::ult(level_, slice_)));
}

z3::expr Formation::digit(const z3::expr& device, const Factor& factor) const {
  const z3::expr stride = context_->bv_val(factor.stride, device_width_);
  const z3::expr size = context_->bv_val(factor.size, device_width_);
  return z3::urem(z3::udiv(device, stride), size);
}

z3::expr Formation::exists(const z3::expr& device) const {
  return z3::ult(device, context_->bv_val(devices_, device_width_));
}

z3::expr Formation::takes_part(const z3::expr& device) const {
  const z3::expr zero = context_->bv_val(0, device_width_);
  z3::expr all = context_->bool_val(true);
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    all = all && z3::implies(choices_[f].zero, digit(device, factors_[f]) == zero);
  }
  return all;
}

z3::expr Formation::same_group(const z3::expr& one, const z3::expr& other) const {
  z3::expr all = takes_part(one) && takes_part(other);
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    all = all && (choices_[f].varies || digit(one, factors_[f]) == digit(other, factors_[f]));
  }
  return all;
}

z3::expr Formation::position(const z3::expr& device) const {
  z3::expr place = context_->bv_val(0, device_width_);
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    const z3::expr size = context_->bv_val(factors_[f].size, device_width_);
    place = z3::ite(choices_[f].varies, place * size + digit(device, factors_[f]), place);
  }
  return place;
}

z3::expr Formation::leader(const z3::expr& device) const {
  const z3::expr zero = context_->bv_val(0, device_width_);
  z3::expr first = zero;
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    const z3::expr stride = context_->bv_val(factors_[f].stride, device_width_);
    first = first + z3::ite(choices_[f].varies, zero, digit(device, factors_[f]) * stride);
  }
  return first;
}

z3::expr Formation::class_leader(const z3::expr& device) const {
  z3::expr first = context_->bv_val(0, device_width_);
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    if ((reduction_ >> f & 1U) != 0) continue;
    const z3::expr stride = context_->bv_val(factors_[f].stride, device_width_);
    first = first + digit(device, factors_[f]) * stride;
  }
  return first;
}

namespace {

/// An application of a function without meaning, that keeps terms together.
z3::expr together(z3::context& context, const std::vector<z3::expr>& terms) {
  z3::sort_vector sorts(context);
  z3::expr_vector arguments(context);
  for (const z3::expr& term : terms) {
    sorts.push_back(term.get_sort());
    arguments.push_back(term);
  }
  return context.function("together", sorts, context.bool_sort())(arguments);
}

std::uint32_t number(const z3::expr& numeral) {
  invariant(numeral.is_numeral(), "the simplifier leaves a device's place open");
  return static_cast<std::uint32_t>(numeral.get_numeral_uint64());
}

std::vector<Group> in_order(const std::map<std::uint32_t, Group>& by_leader, std::size_t least) {
  std::vector<Group> groups;
  for (const auto& [leader, members] : by_leader) {
    if (members.size() >= least) groups.push_back(members);
  }
  return groups;
}

}  // namespace

std::vector<z3::expr> simplify_all(z3::context& context, const std::vector<z3::expr>& terms) {
  if (terms.empty()) return {};
  const z3::expr simple = together(context, terms).simplify();
  std::vector<z3::expr> all;
  for (unsigned i = 0; i < simple.num_args(); ++i) all.push_back(simple.arg(i));
  return all;
}

Lowering::Lowering(z3::context& context, const Instance& instance)
    : formation_(context, instance), devices_(instance.grid.devices()) {
  std::vector<z3::expr> places;
  for (std::uint32_t d = 0; d < devices_; ++d) {
    const z3::expr device = formation_.device(d);
    places.push_back(formation_.takes_part(device));
    places.push_back(formation_.leader(device));
    places.push_back(formation_.position(device));
  }
  places_ = together(context, places).simplify();
}

Formed Lowering::form(const GroupShape& shape) const {
  z3::context& context = places_->ctx();
  z3::expr_vector symbols(context);
  z3::expr_vector values(context);
  symbols.push_back(formation_.slice());
  values.push_back(formation_.slice_value(shape));
  symbols.push_back(formation_.form());
  values.push_back(formation_.form_value(shape.form));
  symbols.push_back(formation_.level());
  values.push_back(formation_.level_value(shape));
  z3::expr places = *places_;
  places = places.substitute(symbols, values).simplify();
  Formed formed;
  std::map<std::uint32_t, Group> by_leader;
  for (std::uint32_t d = 0; d < devices_; ++d) {
    const z3::expr takes_part = places.arg(3 * d);
    invariant(takes_part.is_true() || takes_part.is_false(),
              "the simplifier leaves it open who "
              "takes part");
    formed.everyone = formed.everyone && takes_part.is_true();
    if (takes_part.is_false()) continue;
    Group& group = by_leader[number(places.arg(3 * d + 1))];
    const std::uint32_t position = number(places.arg(3 * d + 2));
    if (group.size() <= position) group.resize(position + 1, devices_);
    group[position] = d;
  }
  formed.groups = in_order(by_leader, 2);
  return formed;
}

std::vector<Group> Lowering::classes() const {
  std::vector<z3::expr> leaders;
  for (std::uint32_t d = 0; d < devices_; ++d) {
    leaders.push_back(formation_.class_leader(formation_.device(d)));
  }
  std::map<std::uint32_t, Group> by_leader;
  const std::vector<z3::expr> simple = simplify_all(places_->ctx(), leaders);
  for (std::uint32_t d = 0; d < devices_; ++d) by_leader[number(simple[d])].push_back(d);
  return in_order(by_leader, 1);
}

}  // namespace p2::z3_encoding
