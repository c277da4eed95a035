#include "proofs/definition/symbolic_step.h"

#include <fmt/format.h>

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

}  // namespace p2::definition
