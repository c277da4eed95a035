#include "encodings/z3/reading.h"

#include <doctest/doctest.h>

#include "engine/collective/language/built_in.h"
#include "engine/collective/language/interpreter.h"
#include "tests/collective/language_states.h"

namespace p2::z3_encoding {
namespace {

using language::Definition;
using language::GroupState;

struct Shape {
  std::uint32_t devices;
  std::uint32_t chunks;
  std::uint32_t contributors;
};

std::uint32_t bits(const Shape& shape) { return shape.devices * shape.chunks * shape.contributors; }

GroupState state_of(const Shape& shape, std::uint64_t number) {
  GroupState state(shape.devices, shape.chunks, shape.contributors);
  for (std::uint32_t i = 0; i < shape.devices; ++i) {
    for (std::uint32_t r = 0; r < shape.chunks; ++r) {
      for (std::uint32_t c = 0; c < shape.contributors; ++c) {
        state.set(i, r, c, (number & 1U) != 0);
        number >>= 1U;
      }
    }
  }
  return state;
}

/// The definition on constant rows, which Z3 simplifies as they come.
class ConstantRows {
 public:
  explicit ConstantRows(const Definition& definition) : rule_(definition) {}

  void compare(const GroupState& before) {
    const GroupRows rows = rows_of(before);
    Reading reading(context_, rule_, rows);
    const auto failed = first_failed_premise(rule_.definition, before);
    for (std::size_t p = 0; p < rule_.definition.premises.size(); ++p) {
      if (failed && p > failed->premise) break;
      const bool holds = reading.premise(p).simplify().is_true();
      CHECK_MESSAGE(holds == !(failed && failed->premise == p), rule_.definition.name, " ",
                    rule_.definition.premises[p].name, " ", drawn(before));
    }
    const GroupRows after = rows_of(post_state(rule_.definition, before));
    for (std::uint32_t i = 0; i < before.devices(); ++i) {
      for (std::uint32_t r = 0; r < before.chunks(); ++r) {
        const bool equal = z3::eq(reading.row_after(i, r).simplify(), after.row(i, r));
        CHECK_MESSAGE(equal, rule_.definition.name, " ", drawn(before));
      }
    }
    const Value measured = reading.measure();
    REQUIRE(!measured.term);
    CHECK(measured.known == measure(rule_.definition, before));
  }

 private:
  GroupRows rows_of(const GroupState& state) {
    std::vector<z3::expr> rows;
    for (std::uint32_t i = 0; i < state.devices(); ++i) {
      for (std::uint32_t r = 0; r < state.chunks(); ++r) {
        std::uint64_t row = 0;
        for (std::uint32_t c = 0; c < state.contributors(); ++c) {
          row |= std::uint64_t{state.holds(i, r, c)} << c;
        }
        rows.push_back(context_.bv_val(row, state.contributors()));
      }
    }
    return {std::move(rows), state.devices()};
  }

  z3::context context_;
  Rule rule_;
};

void compare_on_all_states(const Definition& definition, const Shape& shape) {
  ConstantRows constant(definition);
  for (std::uint64_t number = 0; number >> bits(shape) == 0; ++number) {
    constant.compare(state_of(shape, number));
  }
}

/// The definition on rows that are symbols: the terms are built once, and a state is put in.
void compare_symbolic(const Definition& definition, const Shape& shape, std::uint64_t stride) {
  z3::context context;
  const Rule rule(definition);
  std::vector<z3::expr> symbols;
  for (std::uint32_t i = 0; i < shape.devices * shape.chunks; ++i) {
    symbols.push_back(context.bv_const(("row" + std::to_string(i)).c_str(), shape.contributors));
  }
  const GroupRows rows(symbols, shape.devices);
  Reading reading(context, rule, rows);
  z3::expr_vector from(context);
  for (const z3::expr& symbol : symbols) from.push_back(symbol);
  const Value measured = reading.measure();
  for (std::uint64_t number = 0; number >> bits(shape) == 0; number += stride) {
    const GroupState before = state_of(shape, number);
    z3::expr_vector to(context);
    for (std::uint32_t place = 0; place < symbols.size(); ++place) {
      const std::uint64_t row = number >> (place * shape.contributors);
      const std::uint64_t mask = (std::uint64_t{1} << shape.contributors) - 1;
      to.push_back(context.bv_val(row & mask, shape.contributors));
    }
    const auto put_in = [&](z3::expr term) { return term.substitute(from, to).simplify(); };
    const auto failed = first_failed_premise(definition, before);
    for (std::size_t p = 0; p < definition.premises.size(); ++p) {
      if (failed && p > failed->premise) break;
      CHECK(put_in(reading.premise(p)).is_true() == !(failed && failed->premise == p));
    }
    const GroupState after = post_state(definition, before);
    for (std::uint32_t i = 0; i < shape.devices; ++i) {
      for (std::uint32_t r = 0; r < shape.chunks; ++r) {
        std::uint64_t row = 0;
        for (std::uint32_t c = 0; c < shape.contributors; ++c) {
          row |= std::uint64_t{after.holds(i, r, c)} << c;
        }
        CHECK(put_in(reading.row_after(i, r)).get_numeral_uint64() == row);
      }
    }
    const z3::expr amount = Arithmetic(context).bits(measured, 64);
    CHECK(put_in(amount).get_numeral_uint64() == language::measure(definition, before));
  }
}

void compare_everywhere(const Definition& definition) {
  compare_on_all_states(definition, {1, 2, 2});
  compare_on_all_states(definition, {2, 2, 2});
  compare_on_all_states(definition, {3, 2, 1});
  compare_on_all_states(definition, {2, 4, 1});
  compare_symbolic(definition, {2, 2, 2}, 1);
  compare_symbolic(definition, {3, 3, 2}, 911);
  compare_symbolic(definition, {2, 4, 2}, 317);
}

/// Nothing like it is built in: the last device is the root, premises count, divide and wrap, and a
/// contributor is looked up, compared and counted.
constexpr const char* kForeign = R"(
collective Foreign "the last device gets the sum, by other premises than any built-in's"
let held(i in group, r in chunks) = exists c in contributors: s(i, r, c)
let both(i, j in group, c in contributors) = exists r in chunks: s(i, r, c) and s(j, r, c)
let copies(c in contributors) = count i in group, r in chunks: s(i, r, c)
let twice(r in chunks, c, d in contributors) = s(0, r, c) and s(0, r, d)
let all = count i in group, r in chunks, c in contributors: s(i, r, c)
require odd "": all % 2 = 1 or all / (n - 1) > all * 4294967295 * 4294967295 * 3
require apart "": forall i, j in group, c in contributors: i + 1 = j implies not both(i, j, c)
require few "": forall c in contributors: copies(c) <= k - 1 + c % 2
require one "": forall c, d in contributors, r in chunks: twice(r, c, d) implies c = d
require self "": forall c in contributors, r in chunks: twice(r, c, c) iff s(0, r, c)
require some "": (sum r in chunks: r * (count c in contributors: held(0, r) and c < 2)) != 3
ensure s'(i, r, c) = (i = n - 1 and exists j in group: s(j, r, c))
  or (c = r and not s(i, r, c)) or ((count q in chunks: q < r and held(i, q)) > i * all / 3)
measure sum i in group, c in contributors: copies(c) * copies(c) - (i + 1)
)";

}  // namespace

TEST_CASE("the built-in collectives are compiled to what the interpreter says") {
  for (const Definition& definition : language::built_in_definitions()) {
    CAPTURE(definition.name);
    compare_everywhere(definition);
  }
}

TEST_CASE("a definition that is not built in needs no new encoder") {
  compare_everywhere(language::parse_definition("foreign.p2c", kForeign));
}

TEST_CASE("AllReduce with a premise forgotten is compiled as it stands") {
  Definition wrong = language::built_in("AllReduce");
  wrong.premises.pop_back();
  compare_everywhere(wrong);
}

TEST_CASE("integers are total and wrap at 2^64, with terms for operands as for numbers") {
  for (const char* term :
       {"a / b", "b / a", "a % b", "b % a", "a - b", "b - a", "a * b - 3", "(a - b) / (b - a)",
        "(a - 2) % 3", "a * 4294967295 * 4294967295 * 4294967295 + b", "7 / b + 7 % b", "7 - a",
        "(a + 4294967295 * 4294967295) * (b + 4294967295 * 4294967295) / 5 % 7"}) {
    CAPTURE(term);
    const Definition definition = language::parse_definition(
        "test.p2c",
        std::string(
            "collective Test \"\" "
            "let a = count r in chunks, c in contributors: s(0, r, c) "
            "let b = count i in group, r in chunks, c in contributors: c = 0 and s(i, r, c) "
            "ensure s'(i, r, c) = a < b or a = i + b or b <= 2 measure ") +
            term);
    compare_symbolic(definition, {2, 2, 2}, 1);
  }
}

}  // namespace p2::z3_encoding
