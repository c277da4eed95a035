#include "proofs/definition/every_size.h"

#include <algorithm>

#include <z3++.h>

#include "engine/base/invariant.h"
#include "engine/collective/language/definition.h"
#include "proofs/definition/first_order.h"
#include "proofs/definition/step.h"
#include "proofs/definition/symbolic_step.h"

namespace p2::definition {
namespace {

using language::Sort;

/// The numbers that are added up.
class Monoid {
 public:
  Monoid(z3::context& context, const Assumptions& assumptions, Carrier carrier)
      : context_(context),
        known_(carrier != Carrier::AnyMonoid),
        sort_(carrier == Carrier::Integers ? context.int_sort()
              : carrier == Carrier::Words  ? context.bv_sort(32)
                                           : context.uninterpreted_sort("Number")),
        zero_(carrier == Carrier::Integers ? context.int_val(0)
              : carrier == Carrier::Words  ? context.bv_val(0, 32)
                                           : context.constant("zero", sort_)),
        plus_(context.function("plus", sort_, sort_, sort_)),
        laws_(context.bool_val(true)) {
    const z3::expr a = number("a");
    const z3::expr b = number("b");
    const z3::expr c = number("c");
    if (known_) return;
    const auto law = [&](bool assumed, const z3::expr& formula) {
      if (assumed) laws_ = laws_ && formula;
    };
    law(assumptions.commutative, z3::forall(a, b, plus(a, b) == plus(b, a)));
    law(assumptions.associative, z3::forall(a, b, c, plus(plus(a, b), c) == plus(a, plus(b, c))));
    law(assumptions.neutral, z3::forall(a, plus(a, zero_) == a && plus(zero_, a) == a));
  }

  z3::expr number(const char* name) const { return context_.constant(name, sort_); }
  const z3::expr& zero() const { return zero_; }
  const z3::sort& sort() const { return sort_; }
  const z3::expr& laws() const { return laws_; }
  z3::expr plus(const z3::expr& a, const z3::expr& b) const { return known_ ? a + b : plus_(a, b); }
  /// One more contributor: its number if the row holds it.
  z3::expr extended(const z3::expr& sum, const z3::expr& held, const z3::expr& number) const {
    return plus(sum, z3::ite(held, number, zero_));
  }

 private:
  z3::context& context_;
  bool known_;  // how to add them
  z3::sort sort_;
  z3::expr zero_;
  z3::func_decl plus_;
  z3::expr laws_;
};

/// sum(A ∪ B) = sum(A) + sum(B) of the first c contributors implies it of the first c + 1.
z3::expr union_step(z3::context& context, const Monoid& monoid, bool disjoint) {
  const z3::expr in_a = context.bool_const("inA");
  const z3::expr in_b = context.bool_const("inB");
  const z3::expr a = monoid.number("sumA");
  const z3::expr b = monoid.number("sumB");
  const z3::expr both = monoid.number("sumOfUnion");
  const z3::expr x = monoid.number("x");
  const z3::expr apart = disjoint ? !(in_a && in_b) : context.bool_val(true);
  return z3::implies(apart && both == monoid.plus(a, b),
                     monoid.extended(both, in_a || in_b, x) ==
                         monoid.plus(monoid.extended(a, in_a, x), monoid.extended(b, in_b, x)));
}

/// The numbers of the first m devices add up to the sum of the union of their rows; the same of the
/// first m + 1, by the union of two rows.
z3::expr group_step(z3::context& context, const Monoid& monoid, bool disjoint) {
  const z3::sort row = context.array_sort(context.int_sort(), context.bool_sort());
  const z3::func_decl held = context.function("row", context.int_sort(), row);
  const z3::func_decl sum = context.function("sum", row, monoid.sort());
  const z3::expr m = context.int_const("m");
  const z3::expr i = context.int_const("i");
  const z3::expr j = context.int_const("j");
  const z3::expr c = context.int_const("c");
  const z3::expr of_group = context.constant("unionOfRows", row);
  const z3::expr of_all = context.constant("unionWithOneMore", row);
  const z3::expr number = monoid.number("number");
  const z3::expr first = z3::exists(i, 0 <= i && i < m && z3::select(held(i), c));
  const z3::expr unions =
      z3::forall(c, z3::select(of_group, c) == first) &&
      z3::forall(c, z3::select(of_all, c) == (z3::select(of_group, c) || z3::select(held(m), c)));
  const z3::expr apart = z3::forall(
      i, j, c,
      z3::implies(0 <= i && i < j && j <= m, !(z3::select(held(i), c) && z3::select(held(j), c))));
  const z3::expr lemma =
      z3::implies(z3::forall(c, !(z3::select(of_group, c) && z3::select(held(m), c))),
                  sum(of_all) == monoid.plus(sum(of_group), sum(held(m))));
  const z3::expr assumed = disjoint ? apart : context.bool_val(true);
  return z3::implies(0 <= m && unions && assumed && lemma && number == sum(of_group),
                     monoid.plus(number, sum(held(m))) == sum(of_all));
}

}  // namespace

std::vector<Obligation> sum_obligations(const Limits& limits, const Assumptions& assumptions,
                                        Carrier carrier) {
  z3::context context;
  const Monoid monoid(context, assumptions, carrier);
  const z3::expr& zero = monoid.zero();
  const auto proved = [&](const z3::expr& claim) {
    return prove(context, z3::implies(monoid.laws(), claim), limits);
  };
  const z3::expr none = context.bool_val(false);
  return {
      {"the empty row of one contributor more is zero",
       proved(monoid.extended(zero, none, monoid.number("x")) == zero)},
      {"union, without contributors", proved(zero == monoid.plus(zero, zero))},
      {"union, one contributor more", proved(union_step(context, monoid, assumptions.disjoint))},
      {"group, one device more", proved(group_step(context, monoid, assumptions.disjoint))},
  };
}

bool row_is_number(const language::Definition& definition, const Limits& limits) {
  z3::context context;
  FirstOrder formulas(context, definition);
  const z3::expr i = formulas.integer("position");
  const z3::expr r = formulas.integer("chunk");
  const z3::expr j = formulas.integer("first");
  const z3::expr l = formulas.integer("second");
  const z3::expr c = formulas.integer("contributor");
  const z3::expr root = context.int_val(0);
  const auto for_all = [&](const z3::expr& claim) {
    return z3::forall(c, z3::implies(formulas.within(c, Sort::Contributor), claim));
  };
  const z3::expr after = formulas.after(i, r, c);
  const z3::expr some =
      z3::exists(j, formulas.within(j, Sort::Position) && formulas.before(j, r, c));
  const z3::expr two = formulas.within(j, Sort::Position) && formulas.within(l, Sort::Position) &&
                       j < l && formulas.before(j, r, c) && formulas.before(l, r, c);
  const z3::expr sum = for_all(after == some) && z3::forall(j, l, for_all(!two));
  const z3::expr copy =
      for_all(after == formulas.before(root, r, c)) || for_all(after == formulas.before(i, r, c));
  const z3::expr place = formulas.within(i, Sort::Position) && formulas.within(r, Sort::Chunk);
  return prove(context, z3::implies(formulas.legal() && place, sum || copy || for_all(!after)),
               limits);
}

namespace {

using language::Definition;
using language::Expression;
using language::Kind;

/// The sorts of the variables in scope, by slot.
using Sorts = std::array<Sort, language::kMaxVariables>;

/// Whether the value of the expression depends on the number of a contributor, rather than only on
/// what is held of it. `sorts` are those of the variables in scope.
bool numbers_contributors(const Expression& expression, Sorts sorts) {
  // Arguments pick a row or a contributor; the bodies of lets are looked at on their own.
  if (expression.kind == Kind::Holds || expression.kind == Kind::Call) return false;
  if (expression.kind == Kind::Variable) return sorts[expression.index] == Sort::Contributor;
  for (const language::Variable& variable : expression.variables) {
    sorts[variable.slot] = variable.sort;
  }
  return std::ranges::any_of(expression.operands, [&](const Expression& operand) {
    return numbers_contributors(operand, sorts);
  });
}

/// Whether no premise, let or post-state speaks of the number of a contributor. Then exchanging two
/// contributors in a state renames the values of bound variables and changes nothing else:
/// `forall`, `exists`, `count` and `sum` do not depend on an order.
bool contributors_alike(const Definition& definition) {
  for (const language::Let& let : definition.lets) {
    Sorts sorts{};
    for (const language::Variable& parameter : let.parameters) {
      sorts[parameter.slot] = parameter.sort;
    }
    if (numbers_contributors(let.body, sorts)) return false;
  }
  for (const language::Premise& premise : definition.premises) {
    if (numbers_contributors(premise.formula, {})) return false;
  }
  Sorts sorts{};
  for (const language::Variable& variable : definition.post_state.variables) {
    sorts[variable.slot] = variable.sort;
  }
  return !numbers_contributors(definition.post_state.formula, sorts);
}

/// The claims about what is held before and after, of one position, chunk and contributor.
class CellClaims {
 public:
  CellClaims(const Definition& definition, const Limits& limits)
      : formulas_(context_, definition),
        limits_(limits),
        position_(formulas_.integer("position")),
        chunk_(formulas_.integer("chunk")),
        contributor_(formulas_.integer("contributor")),
        before_(formulas_.before(position_, chunk_, contributor_)) {}

  bool nothing_from_elsewhere() {
    return proved(formulas_.after(position_, chunk_, contributor_), some(&FirstOrder::before));
  }
  bool keeps_all() { return proved(before_, some(&FirstOrder::after)); }
  bool root_keeps() { return keeps(position_ == 0); }
  bool others_keep() { return keeps(position_ > 0); }

 private:
  using Held = z3::expr (FirstOrder::*)(const z3::expr&, const z3::expr&, const z3::expr&);

  /// That some device of the group holds the contribution.
  z3::expr some(Held held) {
    const z3::expr other = formulas_.integer("other");
    return z3::exists(other, formulas_.within(other, Sort::Position) &&
                                 (formulas_.*held)(other, chunk_, contributor_));
  }
  bool keeps(const z3::expr& position) {
    return proved(position && before_, formulas_.after(position_, chunk_, contributor_));
  }
  bool proved(const z3::expr& assumed, const z3::expr& claim) {
    const z3::expr cell = formulas_.within(position_, Sort::Position) &&
                          formulas_.within(chunk_, Sort::Chunk) &&
                          formulas_.within(contributor_, Sort::Contributor);
    return prove(context_, z3::implies(formulas_.legal() && cell && assumed, claim), limits_);
  }

  z3::context context_;
  FirstOrder formulas_;
  const Limits& limits_;
  z3::expr position_;
  z3::expr chunk_;
  z3::expr contributor_;
  z3::expr before_;
};

}  // namespace

ProvedClaims proved_for_every_size(const Definition& definition, const Limits& limits) {
  ProvedClaims proved{};
  const auto note = [&](Claim claim, bool holds) { proved[index_of(claim)] = holds; };
  CellClaims cells(definition, limits);
  const bool is_number = row_is_number(definition, limits);
  const bool nothing_new = is_number || cells.nothing_from_elsewhere();
  note(Claim::NothingInvented, nothing_new);
  note(Claim::ChunksApart, nothing_new);
  for (const Claim claim : {Claim::SumsWhole, Claim::NoDoubleCount, Claim::Realisable}) {
    note(claim, is_number);
  }
  note(Claim::KeepsAll, cells.keeps_all());
  note(Claim::RootKeeps, cells.root_keeps());
  note(Claim::OthersKeep, cells.others_keep());
  note(Claim::ContributorsAlike, contributors_alike(definition));
  return proved;
}

bool never_legal(const Definition& definition, const std::vector<std::size_t>& premises,
                 std::optional<std::uint32_t> devices, const Limits& limits) {
  if (limits.exceeded(0)) return false;
  z3::context context;
  FirstOrder formulas(context, definition, devices);
  const z3::expr i = formulas.integer("position");
  const z3::expr r = formulas.integer("chunk");
  const z3::expr c = formulas.integer("contributor");
  z3::expr all = formulas.group_size() >= static_cast<int>(kMinGroup);
  for (const std::size_t premise : premises) all = all && formulas.premise(premise);
  const z3::expr holds_something =
      formulas.within(i, Sort::Position) && formulas.within(r, Sort::Chunk) &&
      formulas.within(c, Sort::Contributor) && formulas.before(i, r, c);
  // Quantifiers are instantiated by the terms that occur. The group has a second position: an
  // uninterpreted predicate, of which nothing is assumed, makes what it holds occur.
  const z3::expr other = formulas.integer("other");
  const z3::func_decl occurs = context.function("occurs", context.bool_sort(), context.bool_sort());
  const z3::expr second =
      formulas.within(other, Sort::Position) && other != i && occurs(formulas.before(other, r, c));
  return prove(context, !(all && holds_something && second), limits);
}

}  // namespace p2::definition
