#include "proofs/kernel/claims.h"

#include <charconv>
#include <cstdlib>

namespace p2::kernel {
namespace {

struct Cnf {
  std::int32_t variables = 0;
  std::vector<Clause> clauses;
};

/// Numbers, each followed by one space or line end.
class Reader {
 public:
  Reader(const std::string& text, std::size_t begin, const char* name, Budget& budget)
      : at_(text.data() + begin), end_(text.data() + text.size()), name_(name), budget_(budget) {}

  bool at_end() const { return at_ == end_; }
  std::int32_t number() {
    std::int32_t value = 0;
    const auto [after, error] = std::from_chars(at_, end_, value);
    const bool ended = after != end_ && (*after == ' ' || *after == '\n');
    if (error != std::errc() || !ended || value == INT32_MIN) {
      malformed(std::string(name_) + ": expected a number followed by a space or newline");
    }
    at_ = after + 1;
    return value;
  }
  /// Numbers up to a 0.
  Clause list() {
    Clause numbers;
    for (std::int32_t value = number(); value != 0; value = number()) numbers.push_back(value);
    budget_.spend(2 * numbers.size() + 8);
    return numbers;
  }

 private:
  const char* at_;
  const char* end_;
  const char* name_;
  Budget& budget_;
};

/// Which literals are false in the step being checked.
class Assignment {
 public:
  explicit Assignment(std::int32_t variables)
      : false_(2 * static_cast<std::size_t>(variables) + 2) {}

  std::vector<bool>::reference is_false(std::int32_t literal) {
    const std::size_t index = 2 * static_cast<std::size_t>(std::abs(literal)) + (literal < 0);
    if (index >= false_.size()) reject("proof.lrat: unknown variable");
    return false_[index];
  }
  void make_false(std::int32_t literal) {
    is_false(literal) = true;
    trail_.push_back(literal);
  }
  void clear() {
    for (const std::int32_t literal : trail_) is_false(literal) = false;
    trail_.clear();
  }

 private:
  std::vector<bool> false_;
  Clause trail_;
};

/// Makes the only literal of the clause that is not false true; false if there is none.
bool propagate(const Clause& clause, Assignment& assignment, const std::string& where) {
  std::int32_t open = 0;
  for (const std::int32_t literal : clause) {
    if (assignment.is_false(literal)) continue;
    if (open != 0 || assignment.is_false(-literal)) reject(where + "hint is not unit");
    open = literal;
  }
  if (open != 0) assignment.make_false(-open);
  return open != 0;
}

Cnf read_cnf(const std::string& text, Budget& budget) {
  const std::string header = "p cnf ";
  if (!text.starts_with(header)) malformed("problem.cnf: missing header");
  Reader reader(text, header.size(), "problem.cnf", budget);
  Cnf cnf;
  cnf.variables = reader.number();
  const std::int32_t count = reader.number();
  if (cnf.variables < 0) malformed("problem.cnf: malformed header");
  budget.spend(static_cast<std::uint64_t>(cnf.variables));
  while (!reader.at_end()) cnf.clauses.push_back(reader.list());
  if (std::ssize(cnf.clauses) != count) malformed("problem.cnf: clause count mismatch");
  return cnf;
}

/// Rejects unless every clause is one of the maker's, in their order.
void compare_clauses(const Cnf& cnf, const ClauseMaker& encode, Budget& budget) {
  std::size_t matched = 0;
  const std::int32_t variables = encode([&](const Clause& clause) {
    budget.spend(clause.size());
    if (matched < cnf.clauses.size() && clause == cnf.clauses[matched]) ++matched;
  });
  if (matched < cnf.clauses.size()) {
    reject("clause " + std::to_string(matched + 1) +
           " of problem.cnf is not in the CNF of the claim");
  }
  if (variables != cnf.variables) reject("problem.cnf: variable count mismatch");
}

}  // namespace

void check_refutation(const Files& files, const ClauseMaker& encode, Budget& budget) {
  Cnf cnf = read_cnf(files.at("problem.cnf"), budget);
  compare_clauses(cnf, encode, budget);
  const std::string& lrat = files.at("proof.lrat");
  Reader reader(lrat, 0, "proof.lrat", budget);
  Assignment assignment(cnf.variables);
  std::vector<Clause>& clauses = cnf.clauses;
  while (!reader.at_end()) {
    const std::int32_t number = reader.number();
    const std::string where = "proof.lrat, step " + std::to_string(number) + ": ";
    if (number != std::ssize(clauses) + 1) reject(where + "step number is not consecutive");
    const Clause clause = reader.list();
    for (const std::int32_t literal : clause) {
      if (assignment.is_false(-literal)) reject(where + "clause is a tautology");
      assignment.make_false(literal);
    }
    bool open = true;
    for (const std::int32_t hint : reader.list()) {
      if (!open) reject(where + "hint after a conflict");
      if (hint < 1 || hint >= number) reject(where + "hint refers to no earlier clause");
      const Clause& used = clauses[static_cast<std::size_t>(hint) - 1];
      budget.spend(used.size());
      open = propagate(used, assignment, where);
    }
    if (open) reject(where + "hints do not end in a conflict");
    assignment.clear();
    clauses.push_back(clause);
  }
  if (clauses.empty() || !clauses.back().empty())
    reject("proof.lrat does not end in the empty clause");
}

}  // namespace p2::kernel
