#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "encodings/z3/terms.h"
#include "engine/collective/language/definition.h"

namespace p2::z3_encoding {

/// The symbolic states of a group's devices: for every position and chunk one row, a bit-vector in
/// which bit c says whether the contribution of device c is held.
class GroupRows {
 public:
  /// `rows` is ordered by position, then by chunk; at least one position, rows of equal width.
  GroupRows(std::vector<z3::expr> rows, std::uint32_t positions);

  std::uint32_t positions() const { return positions_; }
  std::uint32_t chunks() const { return static_cast<std::uint32_t>(alike_.size()); }
  std::uint32_t contributors() const { return contributors_; }
  const z3::expr& row(std::uint32_t position, std::uint32_t chunk) const {
    return rows_[std::size_t{position} * alike_.size() + chunk];
  }

  /// Chunks whose rows are the same terms at every position: the first of them stands for all.
  struct Class {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  const std::vector<Class>& classes() const { return classes_; }
  /// The chunk that stands for `chunk`.
  std::uint32_t first_alike(std::uint32_t chunk) const { return alike_[chunk]; }

  /// Whether every row is a constant, so that everything about the group can be simplified away.
  bool constant() const { return constant_; }

 private:
  std::vector<z3::expr> rows_;
  std::uint32_t positions_;
  std::uint32_t contributors_ = 0;
  std::vector<std::uint32_t> alike_;
  std::vector<Class> classes_;
  bool constant_ = true;
};

/// A set of variables of a definition: bit s stands for the variable in slot s.
using Slots = std::uint8_t;
static_assert(language::kMaxVariables <= 8);

/// How an expression depends on the variables around it.
struct Usage {
  Slots free = 0;     ///< those it depends on
  Slots numeric = 0;  ///< those whose index matters, not only which row of the state it picks
  Slots chunk = 0;    ///< those that pick a chunk of the state
  Slots single = 0;   ///< those that need one value at a time: for any other contributor the
                      ///< expression has a value for all contributors at once
};

/// The usage of every expression of one definition, by the expression's address: the definition
/// must outlive this and stay where it is.
class UsageTable {
 public:
  explicit UsageTable(const language::Definition& definition);

  const Usage& of(const language::Expression& expression) const { return usages_.at(&expression); }

 private:
  Usage note(const language::Expression& expression);
  Usage of_call(const language::Expression& expression) const;
  Usage of_parts(const language::Expression& expression);

  const language::Definition& definition_;
  std::unordered_map<const language::Expression*, Usage> usages_;
};

/// A definition and what was found out about it; the definition must outlive this.
struct Rule {
  const language::Definition& definition;
  UsageTable usage;

  explicit Rule(const language::Definition& text) : definition(text), usage(text) {}
};

/// What a definition says of one group in a symbolic state, as terms: the compiler from the
/// language to bit-vectors. It knows no collective by name, so that a new definition needs no new
/// encoder.
///
/// Positions, chunks, n and k are known when a term is built. A contributor that is only looked up
/// in rows is not expanded but read as lanes of a bit-vector. Chunks whose rows are the same terms
/// are looked at once. Where all rows are constants, every quantifier is simplified by Z3 as soon
/// as it is built, so that a group of a concrete state costs few and small terms.
class Reading {
 public:
  /// All must outlive the reading. There is at least one chunk. With a meter, everything throws
  /// LimitReached.
  Reading(z3::context& context, const Rule& rule, const GroupRows& rows,
          const Meter* meter = nullptr);

  /// Whether the definition's premise number `index` holds.
  z3::expr premise(std::size_t index);
  /// The row that `position` holds in `chunk` after the step.
  z3::expr row_after(std::uint32_t position, std::uint32_t chunk);
  /// The measure of the state.
  Value measure();

 private:
  /// The values of the variables in scope, by slot; kLanes stands for all contributors at once.
  using Assignment = std::array<std::uint32_t, language::kMaxVariables>;
  static constexpr std::uint32_t kLanes = std::numeric_limits<std::uint32_t>::max();

  struct Question {
    const language::Expression* expression;
    Assignment assignment;
    bool operator==(const Question&) const = default;
  };
  struct QuestionHash {
    std::size_t operator()(const Question& question) const;
  };

  /// One value that a bound variable takes, and how many others it stands for.
  struct Choice {
    std::uint32_t value = 0;
    std::uint32_t weight = 1;
  };
  /// What a quantifier or aggregate is folded from.
  struct Part {
    Value value;
    std::uint64_t weight = 1;
  };

  Value value(const language::Expression& expression, const Assignment& assignment);
  Value connective(const language::Expression& expression, const Assignment& assignment);
  Value operation(const language::Expression& expression, const Assignment& assignment);
  Value holds(const language::Expression& expression, const Assignment& assignment) const;
  Value call(const language::Expression& expression, const Assignment& assignment);
  /// The value at the assignment that stands for all that cannot differ from it, computed once.
  Value remembered(const language::Expression& expression, const Assignment& assignment);
  Value fold(const language::Expression& expression, Assignment assignment);
  std::vector<Part> parts(const language::Expression& expression, Assignment& assignment);
  Value joined(language::Kind kind, const std::vector<Part>& parts, bool over_lanes) const;
  Value total(const std::vector<Part>& parts, bool over_lanes) const;

  bool on_lanes(Slots free, const Assignment& assignment) const;
  std::vector<Choice> choices(const language::Variable& variable,
                              const language::Expression& body) const;
  static std::uint32_t index(const language::Expression& argument, const Assignment& assignment);
  Value simplified(const Value& value, language::Type type) const;

  const Rule& rule_;
  const GroupRows& rows_;
  const Meter* meter_;
  Truth truth_;
  Arithmetic arithmetic_;
  std::unordered_map<Question, Value, QuestionHash> known_;
};

}  // namespace p2::z3_encoding
