#include "encodings/z3/unrolling.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace p2::z3_encoding {
namespace {

constexpr std::size_t kBetweenCheckpoints = 1024;

/// The operands of nested conjunctions or disjunctions of rows.
void collect(const z3::expr& row, Z3_decl_kind kind, std::vector<z3::expr>& operands) {
  if (!row.is_app() || row.decl().decl_kind() != kind) return operands.push_back(row);
  for (unsigned i = 0; i < row.num_args(); ++i) collect(row.arg(i), kind, operands);
}

/// Whether this is `row != 0`.
bool says_some_bit(const z3::expr& condition) {
  if (condition.decl().decl_kind() != Z3_OP_DISTINCT || !condition.arg(1).is_bv()) return false;
  const z3::expr constant = condition.arg(1);
  return constant.is_numeral() &&
         std::string_view(Z3_get_numeral_binary_string(constant.ctx(), constant)) == "0";
}

}  // namespace

void Clauses::imply(const std::vector<z3::expr>& guards, const z3::expr* consequence) {
  if (++made_ % kBetweenCheckpoints == 0) meter_.checkpoint();
  z3::expr_vector literals((consequence != nullptr ? *consequence : guards.front()).ctx());
  for (const z3::expr& guard : guards) literals.push_back(guard.is_not() ? guard.arg(0) : !guard);
  if (consequence != nullptr) literals.push_back(*consequence);
  clauses_.push_back(literals.size() == 1 ? literals[0] : z3::mk_or(literals));
}

void Clauses::demand(const std::vector<z3::expr>& guards, const z3::expr& condition, bool value) {
  if (condition.is_true() || condition.is_false()) {
    if (condition.is_true() != value) imply(guards, nullptr);
    return;
  }
  if (condition.is_not()) return demand(guards, condition.arg(0), !value);
  if (value ? condition.is_and() : condition.is_or()) {
    for (unsigned i = 0; i < condition.num_args(); ++i) demand(guards, condition.arg(i), value);
    return;
  }
  if (condition.is_ite()) {
    std::vector<z3::expr> inner = guards;
    inner.push_back(condition.arg(0));
    demand_leaf(inner, condition.arg(1), value);
    inner.back() = !condition.arg(0);
    return demand_leaf(inner, condition.arg(2), value);
  }
  if (condition.is_eq() && condition.arg(0).is_bool()) {
    std::vector<z3::expr> inner = guards;
    inner.push_back(condition.arg(0));
    demand_leaf(inner, condition.arg(1), value);
    inner.back() = !condition.arg(0);
    return demand_leaf(inner, condition.arg(1), !value);
  }
  if (value && condition.is_eq() && condition.arg(1).is_bv() && condition.arg(1).is_numeral()) {
    return demand_equal(guards, condition.arg(0), condition.arg(1));
  }
  const z3::expr consequence = value ? condition : !condition;
  imply(guards, &consequence);
}

void Clauses::demand_leaf(const std::vector<z3::expr>& guards, const z3::expr& condition,
                          bool value) {
  if (condition.is_ite() || condition.is_true() || condition.is_false()) {
    return demand(guards, condition, value);
  }
  const z3::expr consequence = value ? condition : !condition;
  imply(guards, &consequence);
}

void Clauses::demand_witnessed(const z3::expr& guard, const z3::expr& condition,
                               const std::function<z3::expr()>& fresh) {
  if (!says_some_bit(condition)) return demand({guard}, condition, true);
  z3::expr_vector one_of(condition.ctx());
  one_of.push_back(!guard);
  std::vector<z3::expr> rows;
  collect(condition.arg(0), Z3_OP_BOR, rows);
  for (const z3::expr& row : rows) {
    for (unsigned bit = 0; bit < row.get_sort().bv_size(); ++bit) {
      one_of.push_back(row.num_args() == 0 ? literal(row, bit, true) : fresh());
      if (row.num_args() > 0) demand_bit({guard, one_of.back()}, row, bit, true);
    }
  }
  clauses_.push_back(z3::mk_or(one_of));
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

z3::expr Clauses::literal(const z3::expr& row, unsigned bit, bool value) {
  z3::context& context = row.ctx();
  if (row.decl().decl_kind() == Z3_OP_ITE && row.arg(1).is_numeral() && row.arg(2).is_numeral()) {
    const bool then = row.arg(1).extract(bit, bit).simplify().get_numeral_uint() == 1;
    const bool otherwise = row.arg(2).extract(bit, bit).simplify().get_numeral_uint() == 1;
    if (then == otherwise) return context.bool_val(then == value);
    return then == value ? named(row.arg(0)) : !named(row.arg(0));
  }
  return row.extract(bit, bit) == context.bv_val(value ? 1 : 0, 1);
}

z3::expr Clauses::named(const z3::expr& condition) {
  if (condition.is_not()) return !named(condition.arg(0));
  if (!condition.is_ite() && !condition.is_and() && !condition.is_or()) return condition;
  if (const auto found = names_.find(condition.id()); found != names_.end()) {
    return found->second.second;
  }
  const std::string text = fmt::format("case{}", names_.size());
  z3::expr name = condition.ctx().bool_const(text.c_str());
  names_.emplace(condition.id(), std::pair(condition, name));
  demand({name}, condition, true);
  demand({!name}, condition, false);
  return name;
}

void Clauses::demand_bit(std::vector<z3::expr> guards, const z3::expr& row, unsigned bit,
                         bool value) {
  if (row.is_numeral()) {
    const z3::expr held = row.extract(bit, bit).simplify();
    if ((held.get_numeral_uint() == 1) != value) imply(guards, nullptr);
    return;
  }
  const Z3_decl_kind kind = row.decl().decl_kind();
  if (kind == Z3_OP_BNOT) return demand_bit(std::move(guards), row.arg(0), bit, !value);
  if (kind == Z3_OP_ITE) {
    const z3::expr condition = named(row.arg(0));
    guards.push_back(condition);
    demand_bit(guards, row.arg(1), bit, value);
    guards.back() = !condition;
    return demand_bit(std::move(guards), row.arg(2), bit, value);
  }
  if (kind != Z3_OP_BAND && kind != Z3_OP_BOR) {
    const z3::expr consequence = literal(row, bit, value);
    return imply(guards, &consequence);
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
