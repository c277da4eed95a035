#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/collective/language/definition.h"

/// Definitions as Coq: every let, premise and effect a function of the group's size n, the number
/// of chunks k, the number of contributors m and the state s before the step. The operators are
/// those of proofs/theory/language.v.
namespace p2::language {
namespace {

/// Names that mean something in the text that is written, or in Coq.
constexpr std::array<std::string_view, 60> kCoqWords{
    "n",      "k",       "m",         "s",       "state",   "all",  "some",  "count",      "sum",
    "divide", "modulo",  "legal",     "after",   "measure", "negb", "implb", "true",       "false",
    "bool",   "nat",     "Bool",      "Nat",     "andb",    "orb",  "as",    "at",         "cofix",
    "do",     "else",    "end",       "exists",  "exists2", "fix",  "for",   "forall",     "fun",
    "if",     "IF",      "in",        "let",     "match",   "mod",  "Prop",  "return",     "Set",
    "then",   "Type",    "SProp",     "using",   "where",   "with", "by",    "Definition", "Module",
    "End",    "Section", "Variables", "Theorem", "Qed",     "_"};

/// The name in Coq: one that would be taken for something else gets a prime, which no name of a
/// definition has.
std::string coq_name(const std::string& name) {
  const bool reserved = std::ranges::find(kCoqWords, name) != kCoqWords.end() ||
                        name.starts_with("premise_") || name.front() == '_';
  if (!reserved) return name;
  return (name.front() == '_' ? "u" : "") + name + "'";
}

/// Premises whose names differ in hyphens only are numbered.
std::string premise_name(const Definition& definition, const Premise& premise) {
  const auto without_hyphens = [](std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
  };
  const std::string name = without_hyphens(premise.name);
  std::size_t earlier = 0;
  for (const Premise& each : definition.premises) {
    if (&each == &premise) break;
    if (without_hyphens(each.name) == name) ++earlier;
  }
  return "premise_" + name + (earlier == 0 ? "" : fmt::format("'{}", earlier + 1));
}

std::string_view size_of(Sort sort) {
  switch (sort) {
    case Sort::Position:
      return "n";
    case Sort::Chunk:
      return "k";
    case Sort::Contributor:
      break;
  }
  return "m";
}

class Writer {
 public:
  explicit Writer(const Definition& definition) : definition_(definition) {}

  /// `Definition NAME (n k m : nat) (s : state) (PARAMETERS : nat) : TYPE := BODY.`
  std::string function(const std::string& name, const std::vector<Variable>& parameters,
                       std::string_view type, const Expression& body) {
    names_.clear();
    std::string header = fmt::format("Definition {} (n k m : nat) (s : state)", name);
    if (!parameters.empty()) {
      std::vector<std::string> list;
      for (const Variable& each : parameters) list.push_back(bind(each));
      header += fmt::format(" ({} : nat)", fmt::join(list, " "));
    }
    return fmt::format("{} : {} :=\n  {}.\n", header, type, text(body));
  }

 private:
  std::string bind(const Variable& variable) {
    if (names_.size() <= variable.slot) names_.resize(variable.slot + 1);
    names_[variable.slot] = coq_name(variable.name);
    return names_[variable.slot];
  }

  /// An operand: in parentheses unless it is one word.
  std::string operand(const Expression& expression) {
    std::string inner = text(expression);
    return inner.find(' ') == std::string::npos ? inner : "(" + inner + ")";
  }

  std::string operands(std::string head, const Expression& expression) {
    for (const Expression& each : expression.operands) head += " " + operand(each);
    return head;
  }

  std::string infix(std::string_view symbol, const Expression& expression) {
    return fmt::format("{} {} {}", operand(expression.operands[0]), symbol,
                       operand(expression.operands[1]));
  }

  /// The variables from the outside inwards: all but the innermost one of a count are summed over.
  std::string bound(std::string_view outer, std::string_view inner, const Expression& expression) {
    std::string head;
    std::string tail;
    for (const Variable& variable : expression.variables) {
      const bool last = &variable == &expression.variables.back();
      head += fmt::format("{} {} (fun {} => ", last ? inner : outer, size_of(variable.sort),
                          bind(variable));
      tail += ")";
    }
    return head + text(expression.operands[0]) + tail;
  }

  std::string text(const Expression& expression) {
    switch (expression.kind) {
      case Kind::Truth:
        return expression.number == 0 ? "false" : "true";
      case Kind::Number:
        return std::to_string(expression.number);
      case Kind::GroupSize:
        return "n";
      case Kind::ChunkCount:
        return "k";
      case Kind::Variable:
        return names_[expression.index];
      case Kind::Holds:
        return operands("s", expression);
      case Kind::Call:
        return operands(coq_name(definition_.lets[expression.index].name) + " n k m s", expression);
      case Kind::Not:
        return operands("negb", expression);
      case Kind::And:
        return infix("&&", expression);
      case Kind::Or:
        return infix("||", expression);
      case Kind::Implies:
        return operands("implb", expression);
      case Kind::Iff:
        return operands("Bool.eqb", expression);
      case Kind::Equal:
        return infix("=?", expression);
      case Kind::Less:
        return infix("<?", expression);
      case Kind::LessEqual:
        return infix("<=?", expression);
      case Kind::Add:
        return infix("+", expression);
      case Kind::Subtract:
        return infix("-", expression);
      case Kind::Multiply:
        return infix("*", expression);
      case Kind::Divide:
        return operands("divide", expression);
      case Kind::Modulo:
        return operands("modulo", expression);
      case Kind::ForAll:
        return bound("all", "all", expression);
      case Kind::Exists:
        return bound("some", "some", expression);
      case Kind::Count:
        return bound("sum", "count", expression);
      case Kind::Sum:
        return bound("sum", "sum", expression);
    }
    return {};
  }

  const Definition& definition_;
  std::vector<std::string> names_;  ///< in Coq, by slot
};

std::string_view type_name(const Expression& expression) {
  return expression.type == Type::Boolean ? "bool" : "nat";
}

}  // namespace

std::string coq_text(const Definition& definition) {
  Writer writer(definition);
  const std::string module = coq_name(definition.name);
  std::string text = fmt::format("Module {}.\n", module);
  if (definition.traffic) {
    text += "(* Its traffic is left out: it says what a step costs, not what it does. *)\n";
  }
  for (const Let& let : definition.lets) {
    text +=
        writer.function(coq_name(let.name), let.parameters, type_name(let.body), let.body) + "\n";
  }
  std::string legal;
  for (const Premise& premise : definition.premises) {
    const std::string name = premise_name(definition, premise);
    text += writer.function(name, {}, "bool", premise.formula) + "\n";
    legal += (legal.empty() ? "" : " && ") + name + " n k m s";
  }
  text += fmt::format("Definition legal (n k m : nat) (s : state) : bool :=\n  {}.\n\n",
                      legal.empty() ? "true" : legal);
  const auto& [i, r, c] = definition.post_state.variables;
  text += writer.function("after", {i, r, c}, "bool", definition.post_state.formula) + "\n";
  text += writer.function("measure", {}, "nat", definition.measure);
  return text + fmt::format("End {}.\n", module);
}

}  // namespace p2::language
