// The query `module-equality`: which operation is what term, what Z3 is asked, and its answer.

#include <set>

#include <fmt/format.h>

#include "encodings/z3/module_terms.h"
#include "encodings/z3/queries.h"

namespace p2::z3_encoding {
namespace {

using hlo::SolverAnswer;
using hlo::interpreter::OutputElement;
using hlo::interpreter::OutputExpressions;

/// Units of Z3's work for the elements of one pair of modules, and of these for one element.
constexpr std::uint64_t kMaxWork = 60'000'000;
constexpr std::uint64_t kMaxWorkOfElement = 6'000'000;
/// Larger pairs of modules are not asked about.
constexpr std::size_t kMaxExpressions = 300'000;

double number_in(const z3::model& model, const z3::expr& symbol) {
  const z3::expr value = model.eval(symbol, true);
  if (value.is_true()) return 1;
  return value.is_numeral() ? Z3_get_numeral_double(value.ctx(), value) : 0;
}

/// The answer about all elements; one that is open does not keep others from being different.
SolverAnswer answer_about(const OutputExpressions& outputs, z3::context& context,
                          const Meter& meter, const Limits& limits) {
  SolverAnswer answer;
  answer.outcome = Outcome::Established;
  Translation translation(context, outputs.expressions, meter);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (std::size_t k = 0; k < outputs.elements.size(); ++k) {
    const OutputElement& element = outputs.elements[k];
    const std::pair<std::uint32_t, std::uint32_t> both = {element.before.value,
                                                          element.after.value};
    if (both.first == both.second || !seen.insert(both).second) continue;
    const Term before = translation.of(both.first);
    const Term after = translation.of(both.second);
    const z3::expr difference = translation.difference(before, after, element.type);
    if (difference.is_false()) continue;
    meter.checkpoint();
    Limits own = limits;
    own.work = std::min(kMaxWorkOfElement, *limits.work - std::min(*limits.work, meter.work()));
    const Meter of_element(context, own);
    z3::solver solver(context);
    z3::params params(context);
    params.set("arith.solver", 2U);  // the other one does not end on remainders modulo 2^64
    solver.set(params);
    const auto inputs = translation.add_to(solver, difference);
    const z3::check_result result = of_element.check(solver, z3::expr_vector(context));
    if (result == z3::unsat) continue;
    if (result == z3::unknown && answer.outcome == Outcome::Undecided) continue;
    answer.element = k;
    answer.outcome = Outcome::Undecided;
    if (result == z3::unknown) continue;
    answer.outcome = Outcome::Refuted;
    const z3::model model = solver.get_model();
    for (const auto& [input, symbol] : inputs) answer.inputs[input] = number_in(model, symbol);
    return answer;
  }
  return answer;
}

}  // namespace

Term Translation::operation(const Expressions::Node& node, const std::vector<Term>& operands) {
  const ElementType to = node.type;
  const ElementType from = node.from;
  const Term& a = operands[0];
  switch (node.code) {
    case Element::Compare:
      if (node.total_order && (a.special || operands[1].special)) {
        return function(fmt::format("total order {}", static_cast<int>(node.direction)),
                        {{a, from}, {operands[1], from}}, to);
      }
      return {normal(compared(node, a, operands[1]))};
    case Element::Select:
      return choice(a.value, operands[1], operands[2], to);
    case Element::Convert:
      return converted(a, from, to);
    case Element::IsFinite: {
      if (is_finite(a, from)) return {truth(true)};
      Term finite = a;
      finite.special.reset();
      Term term = function("is finite", {{finite, from}}, to);
      if (a.special) term.value = ordinary(*a.special) && term.value;
      return term;
    }
    case Element::BitcastConvert: {
      if (from == to) return a;
      if (!from.is_integer() || !to.is_integer()) {
        return function(fmt::format("bits of {}", from.name()), {{a, from}}, to);
      }
      Term term = a;
      term.in_range = false;
      return term;
    }
    case Element::Maximum:
    case Element::Minimum:
      if (!is_boolean(to)) return extreme(operands, node.code == Element::Maximum, to);
      break;
    default:
      break;
  }
  if (is_boolean(to)) return boolean_function(node.code, operands, to);
  if (to.is_integer()) return integer_function(node.code, operands, to);
  return real_function(node.code, operands, to);
}

/// What an operation on results of the same operation is of in the end.
std::vector<std::uint32_t> Translation::leaves_of(std::uint32_t expression) const {
  const Expressions::Node& root = expressions_.node(expression);
  std::vector<std::uint32_t> leaves;
  std::vector<std::uint32_t> open = {expression};
  std::set<std::uint32_t> seen;
  while (!open.empty()) {
    const std::uint32_t each = open.back();
    open.pop_back();
    if (!seen.insert(each).second) continue;
    step();
    const Expressions::Node& node = expressions_.node(each);
    if (node.kind == root.kind && node.code == root.code && node.type == root.type) {
      for (const std::uint32_t operand : expressions_.operands(each)) open.push_back(operand);
    } else {
      leaves.push_back(each);
    }
  }
  std::ranges::sort(leaves);
  return leaves;
}

/// The expressions of whose terms one is made: of a largest of largest ones, those.
std::vector<std::uint32_t> Translation::parts_of(std::uint32_t expression) const {
  const Expressions::Node& node = expressions_.node(expression);
  const bool is_extreme = node.code == Element::Maximum || node.code == Element::Minimum;
  if (node.kind == Expressions::Kind::Operation && is_extreme && !is_boolean(node.type)) {
    return leaves_of(expression);
  }
  const auto operands = expressions_.operands(expression);
  return {operands.begin(), operands.end()};
}

Term Translation::translated(std::uint32_t expression, const std::vector<std::uint32_t>& parts) {
  const Expressions::Node& node = expressions_.node(expression);
  switch (node.kind) {
    case Expressions::Kind::Input:
      return input(node.name, node.type);
    case Expressions::Kind::Real:
      return constant(node.real);
    case Expressions::Kind::Integer:
      if (is_boolean(node.type)) return {truth(node.integer != 0)};
      return integer_constant(node.integer, node.type);
    case Expressions::Kind::Function: {
      Operands typed;
      for (const std::uint32_t part : parts) {
        typed.emplace_back(*terms_[part], expressions_.node(part).type);
      }
      Term term = function("named " + expressions_.function_name(node.name), typed, node.type);
      term.steps = node.type.is_integer();
      return term;
    }
    case Expressions::Kind::Operation:
      break;
  }
  std::vector<Term> operands;
  for (const std::uint32_t part : parts) operands.push_back(*terms_[part]);
  return operation(node, operands);
}

const Term& Translation::of(std::uint32_t expression) {
  std::vector<std::uint32_t> open = {expression};
  while (!open.empty()) {
    const std::uint32_t each = open.back();
    step();
    if (terms_[each]) {
      open.pop_back();
      continue;
    }
    const std::size_t before = open.size();
    const std::vector<std::uint32_t> parts = parts_of(each);
    for (const std::uint32_t part : parts) {
      if (!terms_[part]) open.push_back(part);
    }
    if (open.size() > before) continue;
    open.pop_back();
    terms_[each] = translated(each, parts);
  }
  return *terms_[expression];
}

z3::expr Translation::difference(const Term& a, const Term& b, ElementType type) {
  if (is_boolean(type)) return normal(a.value != b.value);
  if (type.is_integer()) {
    const z3::expr apart = normal(a.value - b.value);
    if (apart.is_numeral() && normal(z3::mod(apart, power_of_two(type.bits())) == 0).is_true()) {
      return truth(false);
    }
    return normal(wrapped(a, type) != wrapped(b, type));
  }
  z3::expr apart = normal(normal(a.value - b.value) != 0);
  if (!a.special && !b.special) return apart;
  const Special x = special_of(a);
  const Special y = special_of(b);
  return normal(x.above != y.above || x.below != y.below || x.nan != y.nan ||
                (ordinary(x) && ordinary(y) && apart));
}

z3::expr Translation::product_of(const z3::expr& term, const std::vector<z3::expr>& factors) {
  std::vector<z3::expr> numbers;
  std::vector<z3::expr> others;
  for (const z3::expr& each : factors) (each.is_numeral() ? numbers : others).push_back(each);
  std::ranges::sort(others, {}, [](const z3::expr& each) { return each.id(); });
  const z3::sort sort = term.get_sort();
  const z3::func_decl times = context_.function("times", sort, sort, sort);
  while (others.size() > 1) {
    const z3::expr last = others.back();
    others.pop_back();
    others.back() = times(others.back(), last);
  }
  for (const z3::expr& each : numbers) {
    others = {others.empty() ? each : each * others[0]};
  }
  return others[0];
}

z3::expr Translation::linear(const z3::expr& term) {
  std::vector<z3::expr> open = {term};
  while (!open.empty()) {
    const z3::expr each = open.back();
    step();
    if (linear_.contains(each.id())) {
      open.pop_back();
      continue;
    }
    const std::size_t before = open.size();
    std::vector<z3::expr> arguments;
    for (unsigned i = 0; i < each.num_args(); ++i) {
      const auto found = linear_.find(each.arg(i).id());
      if (found == linear_.end()) {
        open.push_back(each.arg(i));
      } else {
        arguments.push_back(found->second.to);
      }
    }
    if (open.size() > before) continue;
    open.pop_back();
    z3::expr result = each;
    if (each.decl().decl_kind() == Z3_OP_MUL) {
      result = product_of(each, arguments);
    } else if (!arguments.empty()) {
      std::vector<Z3_ast> all(arguments.begin(), arguments.end());
      result = z3::expr(
          context_, Z3_update_term(context_, each, static_cast<unsigned>(all.size()), all.data()));
      context_.check_error();
    }
    linear_.emplace(each.id(), Replacement{each, result});
  }
  return linear_.at(term.id()).to;
}

std::map<std::uint32_t, z3::expr> Translation::add_to(z3::solver& solver, const z3::expr& term) {
  std::map<std::uint32_t, z3::expr> inputs;
  std::set<unsigned> seen;
  solver.add(linear(term));
  std::vector<z3::expr> open = {term};
  while (!open.empty()) {
    const z3::expr each = open.back();
    open.pop_back();
    if (!seen.insert(each.id()).second || !each.is_app()) continue;
    step();
    for (unsigned i = 0; i < each.num_args(); ++i) open.push_back(each.arg(i));
    if (!is_symbol(each)) continue;
    const auto input = inputs_.find(each.id());
    if (input != inputs_.end()) inputs.emplace(input->second.number, each);
    const auto facts = facts_.find(each.id());
    if (facts == facts_.end()) continue;
    for (const z3::expr& fact : facts->second) {
      solver.add(linear(fact));
      open.push_back(fact);
    }
  }
  return inputs;
}

SolverAnswer judge(const OutputExpressions& outputs, const Limits& limits) {
  if (outputs.expressions.size() > kMaxExpressions) {
    SolverAnswer answer;
    answer.reason = fmt::format("the outputs have {} expressions, more than {} for Z3",
                                outputs.expressions.size(), kMaxExpressions);
    return answer;
  }
  Limits own = limits;
  own.work = std::min(limits.work.value_or(kMaxWork), kMaxWork);
  try {
    return guarded([&] {
      z3::context context;
      const Meter meter(context, own);
      try {
        return answer_about(outputs, context, meter, own);
      } catch (const z3::exception&) {
        meter.checkpoint();  // says which limit it was
        throw;
      }
    });
  } catch (const LimitReached& limit) {
    SolverAnswer answer;
    answer.reason = limit.what();
    return answer;
  }
}

}  // namespace p2::z3_encoding
