#include "engine/collective/language/interpreter.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::language {

std::uint64_t arithmetic(Kind kind, std::uint64_t a, std::uint64_t b) {
  switch (kind) {
    case Kind::Equal:
      return a == b;
    case Kind::Less:
      return a < b;
    case Kind::LessEqual:
      return a <= b;
    case Kind::Add:
      return a + b;
    case Kind::Subtract:
      return a < b ? 0 : a - b;
    case Kind::Multiply:
      return a * b;
    case Kind::Divide:
      return b == 0 ? 0 : a / b;
    case Kind::Modulo:
      return b == 0 ? a : a % b;
    default:
      invariant(false, "not an operation on integers");
      return 0;
  }
}

namespace {

/// The values of the variables in scope, by slot.
using Assignment = std::array<std::uint32_t, kMaxVariables>;

/// Evaluates the expressions of one definition on one state by structural recursion (definition.h).
/// Calls of lets are memoized by argument. Both arguments must outlive the evaluator.
class Evaluator {
 public:
  Evaluator(const Definition& definition, const GroupState& state)
      : definition_(definition), state_(state), known_(definition.lets.size()) {}

  /// Booleans are 0 and 1.
  std::uint64_t value(const Expression& expression, const Assignment& assignment);

  /// Enumerates the assignments to `variables` in lexicographic order, leaving other variables
  /// unchanged. False at the end.
  bool first(const std::vector<Variable>& variables, Assignment& assignment) const;
  bool next(const std::vector<Variable>& variables, Assignment& assignment) const;

 private:
  std::uint64_t operation(const Expression& expression, const Assignment& assignment);
  std::uint64_t fold(const Expression& expression, Assignment assignment);
  std::uint64_t holds(const Expression& expression, const Assignment& assignment);
  std::uint64_t call(const Expression& expression, const Assignment& assignment);
  std::uint32_t index(const Expression& argument, const Assignment& assignment) const;
  std::uint32_t size(Sort sort) const;

  const Definition& definition_;
  const GroupState& state_;
  /// The memoized values of each let by its arguments, in lexicographic order; allocated on first
  /// use.
  std::vector<std::vector<std::optional<std::uint64_t>>> known_;
};

/// Lets with more argument tuples than this are not memoized.
constexpr std::uint64_t kMaxMemoized = 1U << 20U;

std::uint64_t Evaluator::value(const Expression& expression, const Assignment& assignment) {
  switch (expression.kind) {
    case Kind::Truth:
    case Kind::Number:
      return expression.number;
    case Kind::GroupSize:
      return state_.devices();
    case Kind::ChunkCount:
      return state_.chunks();
    case Kind::Variable:
      return assignment[expression.index];
    case Kind::Holds:
      return holds(expression, assignment);
    case Kind::Call:
      return call(expression, assignment);
    case Kind::ForAll:
    case Kind::Exists:
    case Kind::Count:
    case Kind::Sum:
      return fold(expression, assignment);
    default:
      return operation(expression, assignment);
  }
}

std::uint64_t Evaluator::operation(const Expression& expression, const Assignment& assignment) {
  const std::uint64_t left = value(expression.operands[0], assignment);
  const auto right = [&] { return value(expression.operands[1], assignment); };
  switch (expression.kind) {
    case Kind::Not:
      return left == 0;
    case Kind::And:
      return left == 0 ? 0 : right();
    case Kind::Or:
      return left == 1 ? 1 : right();
    case Kind::Implies:
      return left == 0 ? 1 : right();
    case Kind::Iff:
      return left == right();
    default:
      return arithmetic(expression.kind, left, right());
  }
}

std::uint64_t Evaluator::fold(const Expression& expression, Assignment assignment) {
  const bool for_all = expression.kind == Kind::ForAll;
  const bool formula = for_all || expression.kind == Kind::Exists;
  std::uint64_t result = 0;
  for (bool more = first(expression.variables, assignment); more;
       more = next(expression.variables, assignment)) {
    const std::uint64_t body = value(expression.operands[0], assignment);
    if (formula && body != (for_all ? 1U : 0U)) return body;
    result += body;
  }
  return formula ? (for_all ? 1 : 0) : result;
}

bool Evaluator::first(const std::vector<Variable>& variables, Assignment& assignment) const {
  bool any = true;
  for (const Variable& variable : variables) {
    assignment[variable.slot] = 0;
    any = any && size(variable.sort) > 0;
  }
  return any;
}

bool Evaluator::next(const std::vector<Variable>& variables, Assignment& assignment) const {
  for (auto variable = variables.rbegin(); variable != variables.rend(); ++variable) {
    if (++assignment[variable->slot] < size(variable->sort)) return true;
    assignment[variable->slot] = 0;
  }
  return false;
}

std::uint64_t Evaluator::holds(const Expression& expression, const Assignment& assignment) {
  const std::vector<Expression>& at = expression.operands;
  return state_.holds(index(at[0], assignment), index(at[1], assignment), index(at[2], assignment));
}

std::uint64_t Evaluator::call(const Expression& expression, const Assignment& assignment) {
  const Let& let = definition_.lets[expression.index];
  Assignment inner{};
  std::uint64_t places = 1;
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < let.parameters.size(); ++i) {
    const std::uint64_t choices = size(let.parameters[i].sort);
    inner[i] = index(expression.operands[i], assignment);
    if (places > kMaxMemoized) continue;
    places *= choices;
    place = place * choices + inner[i];
  }
  if (places > kMaxMemoized) return value(let.body, inner);
  std::vector<std::optional<std::uint64_t>>& known = known_[expression.index];
  if (known.empty()) known.resize(places);
  if (!known[place]) known[place] = value(let.body, inner);
  return *known[place];
}

std::uint32_t Evaluator::index(const Expression& argument, const Assignment& assignment) const {
  return argument.kind == Kind::Variable ? assignment[argument.index] : 0;
}

std::uint32_t Evaluator::size(Sort sort) const {
  switch (sort) {
    case Sort::Position:
      return state_.devices();
    case Sort::Chunk:
      return state_.chunks();
    case Sort::Contributor:
      return state_.contributors();
  }
  invariant(false, "not a sort");
  return 0;
}

/// The falsifying assignment to the variables of an outermost `forall`; nothing if `formula` holds.
std::optional<std::vector<Binding>> refutation(const Expression& formula, Evaluator& evaluator) {
  Assignment assignment{};
  if (formula.kind != Kind::ForAll) {
    if (evaluator.value(formula, assignment) == 1) return std::nullopt;
    return std::vector<Binding>();
  }
  for (bool more = evaluator.first(formula.variables, assignment); more;
       more = evaluator.next(formula.variables, assignment)) {
    if (evaluator.value(formula.operands[0], assignment) == 1) continue;
    std::vector<Binding> witness;
    for (const Variable& variable : formula.variables) {
      witness.push_back({variable.name, variable.sort, assignment[variable.slot]});
    }
    return witness;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FailedPremise> first_failed_premise(const Definition& definition,
                                                  const GroupState& before) {
  Evaluator evaluator(definition, before);
  for (std::size_t i = 0; i < definition.premises.size(); ++i) {
    if (auto witness = refutation(definition.premises[i].formula, evaluator)) {
      return FailedPremise{i, std::move(*witness)};
    }
  }
  return std::nullopt;
}

GroupState post_state(const Definition& definition, const GroupState& before) {
  Evaluator evaluator(definition, before);
  GroupState after(before.devices(), before.chunks(), before.contributors());
  Assignment assignment{};
  for (std::uint32_t position = 0; position < before.devices(); ++position) {
    for (std::uint32_t chunk = 0; chunk < before.chunks(); ++chunk) {
      for (std::uint32_t contributor = 0; contributor < before.contributors(); ++contributor) {
        assignment[0] = position;
        assignment[1] = chunk;
        assignment[2] = contributor;
        const bool held = evaluator.value(definition.post_state.formula, assignment) == 1;
        after.set(position, chunk, contributor, held);
      }
    }
  }
  return after;
}

std::uint64_t measure(const Definition& definition, const GroupState& state) {
  return Evaluator(definition, state).value(definition.measure, Assignment{});
}

std::uint64_t value_for_sizes(const Definition& definition, const Expression& expression,
                              std::uint32_t devices, std::uint32_t chunks) {
  return Evaluator(definition, GroupState(devices, chunks, 1)).value(expression, Assignment{});
}

std::string state_json(const GroupState& state) {
  std::vector<std::string> positions;
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    std::vector<std::string> chunks;
    for (std::uint32_t r = 0; r < state.chunks(); ++r) {
      std::vector<std::uint32_t> held;
      for (std::uint32_t c = 0; c < state.contributors(); ++c) {
        if (state.holds(i, r, c)) held.push_back(c);
      }
      chunks.push_back(fmt::format("[{}]", fmt::join(held, ",")));
    }
    positions.push_back(fmt::format("[{}]", fmt::join(chunks, ",")));
  }
  return fmt::format("[{}]", fmt::join(positions, ","));
}

}  // namespace p2::language
