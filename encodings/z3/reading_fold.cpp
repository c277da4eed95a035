#include "encodings/z3/reading.h"

/// Quantifiers and aggregates.
namespace p2::z3_encoding {

using language::Expression;
using language::Kind;
using language::Sort;

bool Reading::on_lanes(Slots free, const Assignment& assignment) const {
  for (std::size_t slot = 0; slot < assignment.size(); ++slot) {
    if ((free >> slot & 1U) != 0 && assignment[slot] == kLanes) return true;
  }
  return false;
}

Value Reading::fold(const Expression& expression, Assignment assignment) {
  const Expression& body = expression.operands[0];
  // A variable of our own becomes lanes unless there are lanes already.
  const bool taken = on_lanes(rule_.usage.of(expression).free, assignment);
  bool over_lanes = false;
  for (const language::Variable& variable : expression.variables) {
    assignment[variable.slot] = 0;
    const bool single = (rule_.usage.of(body).single >> variable.slot & 1U) != 0;
    if (taken || over_lanes || single || variable.sort != Sort::Contributor) continue;
    if (expression.kind == Kind::Sum) continue;
    assignment[variable.slot] = kLanes;
    over_lanes = true;
  }
  return joined(expression.kind, parts(expression, assignment), over_lanes);
}

std::vector<Reading::Choice> Reading::choices(const language::Variable& variable,
                                              const Expression& body) const {
  std::vector<Choice> all;
  const bool numeric = (rule_.usage.of(body).numeric >> variable.slot & 1U) != 0;
  if (variable.sort == Sort::Chunk && !numeric) {
    for (const GroupRows::Class& alike : rows_.classes()) all.push_back({alike.first, alike.count});
    return all;
  }
  const std::uint32_t count = variable.sort == Sort::Position ? rows_.positions()
                              : variable.sort == Sort::Chunk  ? rows_.chunks()
                                                              : rows_.contributors();
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({i, 1});
  return all;
}

std::vector<Reading::Part> Reading::parts(const Expression& expression, Assignment& assignment) {
  const Expression& body = expression.operands[0];
  // One value that settles the whole: false for `forall`, true for `exists`.
  const bool settles = expression.kind == Kind::ForAll || expression.kind == Kind::Exists;
  const std::uint64_t settling = expression.kind == Kind::ForAll ? 0 : 1;
  std::vector<Part> all;
  const auto walk = [&](const auto& self, std::size_t depth, std::uint64_t weight) -> bool {
    if (depth == expression.variables.size()) {
      Value part = value(body, assignment);
      if (settles && part.is(1 - settling)) return true;
      if (settles && part.is(settling)) all.clear();
      const bool go_on = !settles || !part.is(settling);
      all.push_back({std::move(part), weight});
      return go_on;
    }
    const language::Variable& variable = expression.variables[depth];
    if (assignment[variable.slot] == kLanes) return self(self, depth + 1, weight);
    for (const Choice& choice : choices(variable, body)) {
      assignment[variable.slot] = choice.value;
      if (!self(self, depth + 1, weight * choice.weight)) return false;
    }
    assignment[variable.slot] = 0;
    return true;
  };
  walk(walk, 0, 1);
  return all;
}

Value Reading::joined(Kind kind, const std::vector<Part>& parts, bool over_lanes) const {
  if (kind == Kind::Count || kind == Kind::Sum) return total(parts, over_lanes);
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const Part& part : parts) values.push_back(part.value);
  const bool for_all = kind == Kind::ForAll;
  Value value = for_all ? truth_.conjunction(values) : truth_.disjunction(values);
  if (!over_lanes) return value;
  return for_all ? truth_.all_lanes(value) : truth_.any_lane(value);
}

Value Reading::total(const std::vector<Part>& parts, bool over_lanes) const {
  std::vector<Value> values;
  for (const auto& [value, weight] : parts) {
    const bool lanes = over_lanes && value.term && value.term->is_bv();
    const bool boolean = value.term && value.term->is_bool();
    Value amount = lanes     ? arithmetic_.count_lanes(*value.term)
                   : boolean ? arithmetic_.from_boolean(value)
                             : value;
    // A body that does not speak of its contributor counts once for each.
    if (over_lanes && !lanes) {
      amount = arithmetic_.multiply(amount, Value::of(rows_.contributors()));
    }
    values.push_back(arithmetic_.multiply(amount, Value::of(weight)));
  }
  return arithmetic_.sum(values);
}

}  // namespace p2::z3_encoding
