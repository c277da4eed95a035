#include "proofs/kernel/lrat.h"

#include <charconv>

namespace p2::kernel {
namespace {

/// Numbers separated by one space or line end each.
class Reader {
 public:
  Reader(const std::string& text, std::size_t begin, const char* name)
      : at_(text.data() + begin), end_(text.data() + text.size()), name_(name) {}

  bool at_end() const { return at_ == end_; }
  std::int32_t number() {
    std::int32_t value = 0;
    const auto [after, error] = std::from_chars(at_, end_, value);
    const bool ended = after != end_ && (*after == ' ' || *after == '\n');
    if (error != std::errc() || !ended || value == INT32_MIN) {
      malformed(std::string(name_) + " has something else than numbers");
    }
    at_ = after + 1;
    return value;
  }
  /// Numbers up to a 0.
  void list(Clause& numbers, Budget& budget) {
    numbers.clear();
    for (std::int32_t value = number(); value != 0; value = number()) numbers.push_back(value);
    budget.spend(2 * numbers.size() + 8);
  }

 private:
  const char* at_;
  const char* end_;
  const char* name_;
};

std::size_t variable(std::int32_t literal) {
  return static_cast<std::size_t>(literal < 0 ? -std::int64_t{literal} : literal);
}

/// Which literals are false in the step being checked.
class Assignment {
 public:
  explicit Assignment(std::int32_t variables) : value_(variable(variables) + 1, 0) {}

  bool known(std::int32_t literal) const { return variable(literal) < value_.size(); }
  bool is_false(std::int32_t literal) const {
    return value_[variable(literal)] == (literal < 0 ? 1 : -1);
  }
  bool is_true(std::int32_t literal) const { return is_false(-literal); }
  void make_true(std::int32_t literal) {
    value_[variable(literal)] = literal < 0 ? -1 : 1;
    trail_.push_back(literal);
  }
  void clear() {
    for (const std::int32_t literal : trail_) value_[variable(literal)] = 0;
    trail_.clear();
  }

 private:
  std::vector<std::int8_t> value_;
  Clause trail_;
};

/// Makes the one literal of the clause that is not false true; false if there is none. Objects if
/// there are more.
bool propagate(const Clause& clause, Assignment& assignment, const std::string& where) {
  std::int32_t open = 0;
  for (const std::int32_t literal : clause) {
    if (assignment.is_false(literal)) continue;
    if (open != 0 || assignment.is_true(literal)) reject(where + "a hint is not unit");
    open = literal;
  }
  if (open != 0) assignment.make_true(open);
  return open != 0;
}

}  // namespace

Cnf read_cnf(const std::string& text, Budget& budget) {
  constexpr const char* kHeader = "p cnf ";
  if (!text.starts_with(kHeader)) malformed("problem.cnf has no header");
  Reader reader(text, std::string(kHeader).size(), "problem.cnf");
  Cnf cnf;
  cnf.variables = reader.number();
  const std::int32_t count = reader.number();
  if (cnf.variables < 0) malformed("problem.cnf has a wrong header");
  budget.spend(static_cast<std::uint64_t>(cnf.variables));
  while (!reader.at_end()) reader.list(cnf.clauses.emplace_back(), budget);
  if (std::ssize(cnf.clauses) != count) malformed("problem.cnf has more or fewer clauses");
  return cnf;
}

void check_lrat(const Cnf& cnf, const std::string& lrat, Budget& budget) {
  Reader reader(lrat, 0, "proof.lrat");
  Assignment assignment(cnf.variables);
  std::vector<Clause> clauses = cnf.clauses;
  Clause hints;
  while (!reader.at_end()) {
    const std::int32_t number = reader.number();
    const std::string where = "proof.lrat, step " + std::to_string(number) + ": ";
    if (number != std::ssize(clauses) + 1) reject(where + "it is not the next number");
    Clause clause;
    reader.list(clause, budget);
    reader.list(hints, budget);
    for (const std::int32_t literal : clause) {
      if (!assignment.known(literal)) reject(where + "a variable is unknown");
      if (assignment.is_true(literal)) reject(where + "it says two things of one variable");
      if (!assignment.is_false(literal)) assignment.make_true(-literal);
    }
    bool conflict = false;
    for (const std::int32_t hint : hints) {
      if (conflict) reject(where + "a hint too many");
      if (hint < 1 || hint >= number) reject(where + "a hint is no earlier clause");
      const Clause& used = clauses[static_cast<std::size_t>(hint) - 1];
      budget.spend(used.size());
      conflict = !propagate(used, assignment, where);
    }
    if (!conflict) reject(where + "its hints do not end in a contradiction");
    assignment.clear();
    if (clause.empty() && reader.at_end()) return;
    clauses.push_back(std::move(clause));
  }
  reject("proof.lrat does not derive the empty clause");
}

}  // namespace p2::kernel
