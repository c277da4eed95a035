#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "encodings/z3/arithmetic.h"
#include "encodings/z3/group_rows.h"
#include "encodings/z3/truth.h"
#include "encodings/z3/usage.h"

namespace p2::z3_encoding {

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
  /// All must outlive the reading. There is at least one chunk.
  Reading(z3::context& context, const Rule& rule, const GroupRows& rows);

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
  Truth truth_;
  Arithmetic arithmetic_;
  std::unordered_map<Question, Value, QuestionHash> known_;
};

}  // namespace p2::z3_encoding
