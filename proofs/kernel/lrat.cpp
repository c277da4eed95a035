#include "proofs/kernel/claims.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace p2::kernel {
namespace {

struct Cnf {
  std::int32_t variables = 0;
  std::vector<Clause> clauses;
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Words apart by white space.
class Reader {
 public:
  Reader(const std::string& text, std::string name, Budget& budget)
      : begin_(text.data()),
        at_(begin_),
        end_(begin_ + text.size()),
        name_(std::move(name)),
        budget_(budget) {}

  /// Passes over white space and over comments, lines that begin with the word `c`.
  bool at_end() {
    skip_space();
    while (at_ != end_ && (at_ == begin_ || at_[-1] == '\n') && take("c")) {
      at_ = std::find(at_, end_, '\n');
      skip_space();
    }
    return at_ == end_;
  }
  /// Whether the next word is this one, which is then passed over.
  bool take(std::string_view word) {
    skip_space();
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    if (!rest.starts_with(word) || rest.size() == word.size() || !is_space(rest[word.size()])) {
      return false;
    }
    at_ += word.size();
    return true;
  }
  /// A number as DIMACS has it; there is no `-0`, and no 0 before other digits.
  std::int32_t number() {
    skip_space();
    std::int32_t value = 0;
    const auto [after, error] = std::from_chars(at_, end_, value);
    const bool ended = after != end_ && is_space(*after);
    const bool plain =
        error == std::errc() && (value == 0 ? after == at_ + 1 : first_digit() != '0');
    if (!plain || !ended || value == INT32_MIN) {
      malformed(name_ + ": expected a number, and white space after it");
    }
    at_ = after;
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
  void skip_space() { at_ = std::find_if_not(at_, end_, is_space); }
  char first_digit() const { return *at_ == '-' ? at_[1] : *at_; }

  const char* begin_;
  const char* at_;
  const char* end_;
  std::string name_;
  Budget& budget_;
};

/// The clauses of problem.cnf, from 1, and those derived from them, by ascending number.
class Clauses {
 public:
  explicit Clauses(std::vector<Clause> given) {
    for (Clause& clause : given) add(last() + 1, std::move(clause));
  }

  std::int32_t last() const { return all_.empty() ? 0 : all_.back().number; }
  /// Whether one is empty.
  bool refuted() const { return refuted_; }

  /// `number` is above last().
  void add(std::int32_t number, Clause clause) {
    refuted_ = refuted_ || clause.empty();
    all_.push_back({number, std::move(clause)});
  }
  /// Rejects a number that no clause has, or one that is deleted; `user`, which names it, is said.
  std::optional<Clause>& find(std::int32_t number, const std::string& user) {
    // No clause stands behind the place that its number is.
    const auto end = all_.begin() + std::clamp<std::ptrdiff_t>(number, 0, std::ssize(all_));
    const auto found = std::ranges::lower_bound(all_.begin(), end, number, {}, &Entry::number);
    if (found == end || found->number != number) {
      reject(user + " refers to no earlier clause");
    }
    if (!found->clause) reject(user + " refers to a deleted clause");
    return found->clause;
  }

 private:
  struct Entry {
    std::int32_t number = 0;
    std::optional<Clause> clause;  ///< none if deleted
  };

  std::vector<Entry> all_;
  bool refuted_ = false;
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
  Reader reader(text, "problem.cnf", budget);
  if (reader.at_end() || !reader.take("p") || !reader.take("cnf")) {
    malformed("problem.cnf: missing header");
  }
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
  Reader reader(files.at("proof.lrat"), "proof.lrat", budget);
  Assignment assignment(cnf.variables);
  Clauses clauses(std::move(cnf.clauses));
  while (!reader.at_end()) {
    const std::int32_t number = reader.number();
    const std::string where = "proof.lrat, step " + std::to_string(number) + ": ";
    if (reader.take("d")) {
      for (const std::int32_t deleted : reader.list())
        clauses.find(deleted, where + "deletion").reset();
      continue;
    }
    if (number <= clauses.last()) reject(where + "step number is not above those before");
    Clause clause = reader.list();
    for (const std::int32_t literal : clause) {
      if (assignment.is_false(-literal)) reject(where + "clause is a tautology");
      assignment.make_false(literal);
    }
    bool open = true;
    for (const std::int32_t hint : reader.list()) {
      if (!open) reject(where + "hint after a conflict");
      const Clause& used = *clauses.find(hint, where + "hint");
      budget.spend(used.size());
      open = propagate(used, assignment, where);
    }
    if (open) reject(where + "hints do not end in a conflict");
    assignment.clear();
    clauses.add(number, std::move(clause));
  }
  if (!clauses.refuted()) reject("proof.lrat does not derive the empty clause");
}

}  // namespace p2::kernel
