#include "encodings/z3/lowering.h"

#include <map>

#include "engine/base/invariant.h"

namespace p2::z3_encoding {
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
