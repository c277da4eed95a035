#include "encodings/z3/clauses.h"

#include <string_view>

namespace p2::z3_encoding {
namespace {

z3::expr literal(const z3::expr& row, unsigned bit, bool value) {
  return row.extract(bit, bit) == row.ctx().bv_val(value ? 1 : 0, 1);
}

/// The operands of nested conjunctions or disjunctions of rows.
void collect(const z3::expr& row, Z3_decl_kind kind, std::vector<z3::expr>& operands) {
  if (!row.is_app() || row.decl().decl_kind() != kind) return operands.push_back(row);
  for (unsigned i = 0; i < row.num_args(); ++i) collect(row.arg(i), kind, operands);
}

}  // namespace

void Clauses::add(const std::vector<z3::expr>& guards, const z3::expr* consequence) {
  z3::expr_vector literals((consequence != nullptr ? *consequence : guards.front()).ctx());
  for (const z3::expr& guard : guards) literals.push_back(guard.is_not() ? guard.arg(0) : !guard);
  if (consequence != nullptr) literals.push_back(*consequence);
  clauses_.push_back(literals.size() == 1 ? literals[0] : z3::mk_or(literals));
}

void Clauses::demand(const std::vector<z3::expr>& guards, const z3::expr& condition, bool value) {
  if (condition.is_true() || condition.is_false()) {
    if (condition.is_true() != value) add(guards, nullptr);
    return;
  }
  if (condition.is_not()) return demand(guards, condition.arg(0), !value);
  if (value ? condition.is_and() : condition.is_or()) {
    for (unsigned i = 0; i < condition.num_args(); ++i) demand(guards, condition.arg(i), value);
    return;
  }
  if (value && condition.is_eq() && condition.arg(1).is_bv() && condition.arg(1).is_numeral()) {
    return demand_equal(guards, condition.arg(0), condition.arg(1));
  }
  const z3::expr consequence = value ? condition : !condition;
  add(guards, &consequence);
}

void Clauses::demand_equal(const std::vector<z3::expr>& guards, const z3::expr& row,
                           const z3::expr& constant) {
  // Its binary digits, from the highest bit down.
  const std::string_view digits = Z3_get_numeral_binary_string(constant.ctx(), constant);
  const unsigned width = constant.get_sort().bv_size();
  for (unsigned bit = 0; bit < width; ++bit) {
    const bool value = bit < digits.size() && digits[digits.size() - 1 - bit] == '1';
    demand_bit(guards, row, bit, value);
  }
}

void Clauses::demand_same(const z3::expr& guard, const z3::expr& symbol, const z3::expr& row) {
  if (row.is_numeral()) return demand_equal({guard}, symbol, row);
  for (unsigned bit = 0; bit < symbol.get_sort().bv_size(); ++bit) {
    demand_bit({guard, literal(symbol, bit, true)}, row, bit, true);
    demand_bit({guard, literal(symbol, bit, false)}, row, bit, false);
  }
}

void Clauses::demand_bit(std::vector<z3::expr> guards, const z3::expr& row, unsigned bit,
                         bool value) {
  if (row.is_numeral()) {
    const z3::expr held = row.extract(bit, bit).simplify();
    if ((held.get_numeral_uint() == 1) != value) add(guards, nullptr);
    return;
  }
  const Z3_decl_kind kind = row.decl().decl_kind();
  if (kind == Z3_OP_BNOT) return demand_bit(std::move(guards), row.arg(0), bit, !value);
  if (kind == Z3_OP_ITE) {
    guards.push_back(row.arg(0));
    demand_bit(guards, row.arg(1), bit, value);
    guards.back() = !row.arg(0);
    return demand_bit(std::move(guards), row.arg(2), bit, value);
  }
  if (kind != Z3_OP_BAND && kind != Z3_OP_BOR) {
    const z3::expr consequence = literal(row, bit, value);
    return add(guards, &consequence);
  }
  std::vector<z3::expr> operands;
  collect(row, kind, operands);
  if (value == (kind == Z3_OP_BAND)) {
    for (const z3::expr& operand : operands) demand_bit(guards, operand, bit, value);
    return;
  }
  // One of several: all others being otherwise are more guards.
  for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
    guards.push_back(literal(operands[i], bit, !value));
  }
  demand_bit(std::move(guards), operands.back(), bit, value);
}

}  // namespace p2::z3_encoding
