#include "proofs/definition/symbolic_step.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "encodings/z3/queries.h"
#include "encodings/z3/terms.h"
#include "proofs/definition/step.h"

namespace p2::definition {

using z3_encoding::GroupRows;

namespace {

GroupRows rows_after(z3_encoding::Reading& reading, const GroupRows& before) {
  std::vector<z3::expr> rows;
  for (std::uint32_t i = 0; i < before.positions(); ++i) {
    for (std::uint32_t r = 0; r < before.chunks(); ++r) rows.push_back(reading.row_after(i, r));
  }
  return {std::move(rows), before.positions()};
}

}  // namespace

SymbolicStep::SymbolicStep(z3::context& context, const z3_encoding::Rule& rule, GroupRows before)
    : context_(context),
      rule_(rule),
      before_(std::move(before)),
      reading_(context, rule, before_),
      after_(rows_after(reading_, before_)) {}

z3::expr SymbolicStep::legal() {
  z3::expr_vector all(context_);
  for (std::size_t i = 0; i < rule_.definition.premises.size(); ++i) all.push_back(premise(i));
  all.push_back(holds_something(before_));
  return z3::mk_and(all);
}

z3::expr SymbolicStep::measure_rises() {
  z3_encoding::Reading reading_after(context_, rule_, *after_);
  const z3_encoding::Arithmetic arithmetic(context_);
  const z3_encoding::Value rises = arithmetic.less(reading_.measure(), reading_after.measure());
  return rises.term ? *rises.term : context_.bool_val(rises.known == 1);
}

GroupRows symbolic_rows(z3::context& context, const Shape& shape) {
  std::vector<z3::expr> rows;
  for (std::uint32_t i = 0; i < shape.devices; ++i) {
    for (std::uint32_t r = 0; r < shape.chunks; ++r) {
      const std::string name = fmt::format("position{}.chunk{}", i, r);
      rows.push_back(context.bv_const(name.c_str(), shape.contributors));
    }
  }
  return {std::move(rows), shape.devices};
}

language::GroupState state_in(const z3::model& model, const GroupRows& rows) {
  language::GroupState state(rows.positions(), rows.chunks(), rows.contributors());
  for (std::uint32_t i = 0; i < rows.positions(); ++i) {
    for (std::uint32_t r = 0; r < rows.chunks(); ++r) {
      const std::uint64_t held = model.eval(rows.row(i, r), true).get_numeral_uint64();
      for (std::uint32_t c = 0; c < rows.contributors(); ++c) {
        state.set(i, r, c, (held >> c & 1U) == 1);
      }
    }
  }
  return state;
}

z3::expr holds_something(const GroupRows& rows) {
  z3::expr_vector any(rows.row(0, 0).ctx());
  for (std::uint32_t i = 0; i < rows.positions(); ++i) {
    for (std::uint32_t r = 0; r < rows.chunks(); ++r) any.push_back(rows.row(i, r) != 0);
  }
  return z3::mk_or(any);
}

z3::expr same_rows(const GroupRows& a, const GroupRows& b) {
  z3::expr_vector all(a.row(0, 0).ctx());
  for (std::uint32_t i = 0; i < a.positions(); ++i) {
    for (std::uint32_t r = 0; r < a.chunks(); ++r) all.push_back(a.row(i, r) == b.row(i, r));
  }
  return z3::mk_and(all);
}

namespace {

/// Z3's units of work after which a claim with quantifiers is given up: it may not end otherwise.
constexpr std::uint64_t kWorkOfProof = 300'000;

/// How many contributions the state holds.
z3_encoding::Value amount_in(z3::context& context, const z3_encoding::GroupRows& rows) {
  const z3_encoding::Arithmetic arithmetic(context);
  std::vector<z3_encoding::Value> counts;
  for (std::uint32_t i = 0; i < rows.positions(); ++i) {
    for (std::uint32_t r = 0; r < rows.chunks(); ++r) {
      counts.push_back(arithmetic.count_lanes(rows.row(i, r)));
    }
  }
  return arithmetic.sum(counts);
}

}  // namespace

StateAnswer find_state(z3::context& context, const z3_encoding::GroupRows& rows,
                       const z3::expr& condition, const Limits& limits, bool smallest) {
  const z3_encoding::Meter meter(context, limits);
  const z3_encoding::Arithmetic arithmetic(context);
  z3::solver solver(context, "QF_BV");
  const auto check = [&] { return meter.check(solver, z3::expr_vector(context)); };
  solver.add(condition);
  z3::check_result result = check();
  StateAnswer answer{result != z3::unknown, std::nullopt};
  while (result == z3::sat) {
    answer.state = state_in(solver.get_model(), rows);
    const std::uint32_t held = amount(*answer.state);
    if (!smallest || held == 0) break;
    const z3_encoding::Value fewer =
        arithmetic.less(amount_in(context, rows), z3_encoding::Value::of(held));
    if (!fewer.term) break;
    solver.add(*fewer.term);
    result = check();
  }
  return answer;
}

bool prove(z3::context& context, const z3::expr& claim, const Limits& limits) {
  Limits bounded = limits;
  if (!bounded.work) bounded.work = kWorkOfProof;
  const z3_encoding::Meter meter(context, bounded);
  z3::solver solver(context);
  solver.add(!claim);
  return meter.check(solver, z3::expr_vector(context)) == z3::unsat;
}

namespace {

using z3_encoding::GroupRows;

z3::expr none(const z3::expr& like) { return like.ctx().bv_val(0, like.get_sort().bv_size()); }

/// The union of rows; there is one at least.
z3::expr united(const std::vector<z3::expr>& rows) {
  z3::expr all = rows[0];
  for (std::size_t i = 1; i < rows.size(); ++i) all = all | rows[i];
  return all;
}

std::vector<z3::expr> rows_of(const GroupRows& group, std::uint32_t chunk) {
  std::vector<z3::expr> rows;
  for (std::uint32_t i = 0; i < group.positions(); ++i) rows.push_back(group.row(i, chunk));
  return rows;
}

z3::expr all_of(const GroupRows& group) {
  std::vector<z3::expr> chunks;
  for (std::uint32_t r = 0; r < group.chunks(); ++r) chunks.push_back(united(rows_of(group, r)));
  return united(chunks);
}

/// The union of those rows that are no more than `wanted`.
z3::expr of_whole_rows(const std::vector<z3::expr>& rows, const z3::expr& wanted) {
  std::vector<z3::expr> parts;
  parts.reserve(rows.size());
  for (const z3::expr& row : rows) {
    parts.push_back(z3::ite((row & ~wanted) == none(row), row, none(row)));
  }
  return united(parts);
}

/// Whether no disjoint rows make `wanted`, which is a union of rows, because two rows that overlap
/// are needed for it: each has a contribution that no other row within `wanted` has. There may be
/// other reasons.
z3::expr needs_overlapping(const std::vector<z3::expr>& rows, const z3::expr& wanted) {
  z3::expr once = none(wanted);
  z3::expr twice = none(wanted);
  std::vector<z3::expr> parts;
  for (const z3::expr& row : rows) {
    parts.push_back(z3::ite((row & ~wanted) == none(row), row, none(row)));
    twice = twice | (once & parts.back());
    once = once | parts.back();
  }
  z3::expr needed = none(wanted);
  z3::expr overlap = wanted.ctx().bool_val(false);
  for (const z3::expr& part : parts) {
    const z3::expr row = z3::ite((part & once & ~twice) != none(part), part, none(part));
    overlap = overlap || (row & needed) != none(row);
    needed = needed | row;
  }
  return overlap;
}

/// What adding can make of the rows of one chunk: for every subset of the positions its union, and
/// whether it is disjoint. Of groups larger than kMaxGroup only some rows that it cannot make are
/// known, by needs_overlapping.
class Additions {
 public:
  explicit Additions(const std::vector<z3::expr>& rows) : rows_(rows) {
    if (rows.size() > kMaxGroup) return;
    sums_.push_back({none(rows[0]), rows[0].ctx().bool_val(true)});
    for (const z3::expr& row : rows) {
      const std::size_t without = sums_.size();
      for (std::size_t i = 0; i < without; ++i) {
        const Sum part = sums_[i];
        sums_.push_back({part.row | row, part.disjoint && (part.row & row) == none(row)});
      }
    }
  }

  /// Whether the rows do not make `wanted`.
  z3::expr fail(const z3::expr& wanted) const {
    if (sums_.empty()) {
      return of_whole_rows(rows_, wanted) != wanted || needs_overlapping(rows_, wanted);
    }
    z3::expr_vector any(wanted.ctx());
    for (const Sum& sum : sums_) any.push_back(sum.disjoint && sum.row == wanted);
    return !z3::mk_or(any);
  }

 private:
  struct Sum {
    z3::expr row;
    z3::expr disjoint;
  };
  std::vector<z3::expr> rows_;
  std::vector<Sum> sums_;
};

/// Of a chunk's rows before and one of its rows after, whether it breaks the claim.
z3::expr row_broken(Claim claim, const std::vector<z3::expr>& before, const Additions& additions,
                    const z3::expr& all, const z3::expr& after) {
  const z3::expr from_chunk = (after & ~united(before)) == none(after);
  const z3::expr whole = of_whole_rows(before, after) == after;
  switch (claim) {
    case Claim::NothingInvented:
      return (after & ~all) != none(after);
    case Claim::ChunksApart:
      return (after & all & ~united(before)) != none(after);
    case Claim::SumsWhole:
      return from_chunk && !whole;
    case Claim::NoDoubleCount:
      return whole && additions.fail(after);
    default:
      return additions.fail(after);
  }
}

z3::expr some_row_broken(Claim claim, const SymbolicStep& step) {
  const z3::expr all = all_of(step.before());
  z3::expr_vector any(all.ctx());
  for (std::uint32_t r = 0; r < step.before().chunks(); ++r) {
    const std::vector<z3::expr> before = rows_of(step.before(), r);
    const Additions additions(before);
    for (const z3::expr& after : rows_of(step.after(), r)) {
      any.push_back(row_broken(claim, before, additions, all, after));
    }
  }
  return z3::mk_or(any);
}

z3::expr something_lost(const SymbolicStep& step) {
  z3::expr_vector any(step.before().row(0, 0).ctx());
  for (std::uint32_t r = 0; r < step.before().chunks(); ++r) {
    const z3::expr held = united(rows_of(step.before(), r));
    any.push_back((held & ~united(rows_of(step.after(), r))) != none(held));
  }
  return z3::mk_or(any);
}

/// That one of the positions from `first` to before `end` has less in a chunk afterwards.
z3::expr some_position_drops(const SymbolicStep& step, std::uint32_t first, std::uint32_t end) {
  z3::expr_vector any(step.before().row(0, 0).ctx());
  for (std::uint32_t i = first; i < end; ++i) {
    for (std::uint32_t r = 0; r < step.before().chunks(); ++r) {
      const z3::expr& held = step.before().row(i, r);
      any.push_back((held & ~step.after().row(i, r)) != none(held));
    }
  }
  return z3::mk_or(any);
}

using Exchange = std::function<GroupRows(const GroupRows&)>;

/// `order[i]` is what comes to place i.
std::vector<std::uint32_t> exchanged_order(std::uint32_t size, std::uint32_t first) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  std::swap(order[first], order[first + 1]);
  return order;
}

Exchange positions_from(std::uint32_t first) {
  return [first](const GroupRows& group) {
    std::vector<z3::expr> rows;
    for (const std::uint32_t i : exchanged_order(group.positions(), first)) {
      for (std::uint32_t r = 0; r < group.chunks(); ++r) rows.push_back(group.row(i, r));
    }
    return GroupRows(std::move(rows), group.positions());
  };
}

Exchange contributors_from(std::uint32_t first) {
  return [first](const GroupRows& group) {
    const std::vector<std::uint32_t> order = exchanged_order(group.contributors(), first);
    std::vector<z3::expr> rows;
    for (std::uint32_t i = 0; i < group.positions(); ++i) {
      for (std::uint32_t r = 0; r < group.chunks(); ++r) {
        const z3::expr& row = group.row(i, r);
        z3::expr bits = row.extract(order[0], order[0]);
        for (std::size_t c = 1; c < order.size(); ++c) {
          bits = z3::concat(row.extract(order[c], order[c]), bits);
        }
        rows.push_back(bits);
      }
    }
    return GroupRows(std::move(rows), group.positions());
  };
}

/// Whether one of `exchanges` does not commute with the step.
z3::expr some_exchange_matters(z3::context& context, SymbolicStep& step,
                               const std::vector<Exchange>& exchanges) {
  z3::expr_vector any(context);
  for (const Exchange& exchange : exchanges) {
    SymbolicStep other(context, step.rule(), exchange(step.before()));
    any.push_back(!(other.legal() && same_rows(other.after(), exchange(step.after()))));
  }
  return z3::mk_or(any);
}

}  // namespace

z3::expr broken(z3::context& context, Claim claim, SymbolicStep& step) {
  std::vector<Exchange> exchanges;
  switch (claim) {
    case Claim::KeepsAll:
      return something_lost(step);
    case Claim::RootKeeps:
      return some_position_drops(step, 0, 1);
    case Claim::OthersKeep:
      return some_position_drops(step, 1, step.before().positions());
    case Claim::MeasureRises:
      return !step.measure_rises();
    case Claim::ContributorsAlike:
      for (std::uint32_t c = 0; c + 1 < step.before().contributors(); ++c) {
        exchanges.push_back(contributors_from(c));
      }
      return some_exchange_matters(context, step, exchanges);
    case Claim::PositionsAlike:
    case Claim::NonRootsAlike:
      for (std::uint32_t i = claim == Claim::PositionsAlike ? 0 : 1;
           i + 1 < step.before().positions(); ++i) {
        exchanges.push_back(positions_from(i));
      }
      return some_exchange_matters(context, step, exchanges);
    default:
      return some_row_broken(claim, step);
  }
}

namespace {

using language::Expression;
using language::Kind;
using language::Type;
using z3_encoding::Value;

Expression number(std::uint64_t value) { return {Kind::Number, Type::Integer, value, 0, {}, {}}; }

Expression operation(Kind kind, Type type, Expression left, Expression right) {
  Expression result{kind, type, 0, 0, {}, {}};
  result.operands.push_back(std::move(left));
  result.operands.push_back(std::move(right));
  return result;
}

/// 1 − ((r − chunk) + (chunk − r)): 1 for r = chunk and 0 for any other, as differences end at 0.
Expression one_if(const Expression& r, std::uint32_t chunk) {
  const Type integer = Type::Integer;
  Expression distance =
      operation(Kind::Add, integer, operation(Kind::Subtract, integer, r, number(chunk)),
                operation(Kind::Subtract, integer, number(chunk), r));
  return operation(Kind::Subtract, integer, number(1), std::move(distance));
}

/// The measure before and after the step as the rule sees it, and the term that compares them.
struct Compared {
  Value before;
  Value after;
};

Compared compared(z3::context& context, const z3_encoding::Rule& rule, const SymbolicStep& step) {
  z3_encoding::Reading before(context, rule, step.before());
  z3_encoding::Reading after(context, rule, step.after());
  return {before.measure(), after.measure()};
}

bool may_wrap(const Value& value) {
  return value.term && value.most == std::numeric_limits<std::uint64_t>::max();
}

z3::expr boolean(z3::context& context, const Value& value) {
  return value.term ? *value.term : context.bool_val(value.known == 1);
}

}  // namespace

std::optional<language::Definition> measuring_chunk(const language::Definition& definition,
                                                    std::uint32_t chunk) {
  language::Definition part = definition;
  Expression& measure = part.measure;
  if (measure.kind != Kind::Sum && measure.kind != Kind::Count) return std::nullopt;
  const auto r = std::find_if(
      measure.variables.begin(), measure.variables.end(),
      [](const language::Variable& variable) { return variable.sort == language::Sort::Chunk; });
  if (r == measure.variables.end()) return std::nullopt;
  const Expression variable{Kind::Variable, Type::Integer, 0, r->slot, {}, {}};
  Expression& body = measure.operands[0];
  body = measure.kind == Kind::Sum
             ? operation(Kind::Multiply, Type::Integer, one_if(variable, chunk), std::move(body))
             : operation(Kind::And, Type::Boolean,
                         operation(Kind::Equal, Type::Boolean, variable, number(chunk)),
                         std::move(body));
  return part;
}

std::optional<z3::expr> measure_stuck_by_chunk(z3::context& context, SymbolicStep& step) {
  const Compared whole = compared(context, step.rule(), step);
  if (may_wrap(whole.before) || may_wrap(whole.after)) return std::nullopt;
  const z3_encoding::Arithmetic arithmetic(context);
  z3::expr_vector some_falls(context);
  z3::expr_vector none_rises(context);
  for (std::uint32_t chunk = 0; chunk < step.before().chunks(); ++chunk) {
    const auto definition = measuring_chunk(step.rule().definition, chunk);
    if (!definition) return std::nullopt;
    const z3_encoding::Rule rule(*definition);
    const Compared part = compared(context, rule, step);
    some_falls.push_back(boolean(context, arithmetic.less(part.after, part.before)));
    none_rises.push_back(!boolean(context, arithmetic.less(part.before, part.after)));
  }
  return z3::mk_or(some_falls) || z3::mk_and(none_rises);
}

}  // namespace p2::definition
