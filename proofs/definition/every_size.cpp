#include "proofs/definition/every_size.h"

#include <algorithm>

#include <z3++.h>

#include "proofs/definition/adequacy.h"
#include "proofs/definition/first_order.h"
#include "proofs/definition/step.h"
#include "proofs/definition/symbolic_step.h"

namespace p2::definition {
namespace {

using language::Definition;
using language::Expression;
using language::Kind;
using language::Sort;

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
