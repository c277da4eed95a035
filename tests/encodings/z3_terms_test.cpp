#include <bit>
#include <string>

#include <doctest/doctest.h>

#include "encodings/z3/lowering.h"
#include "encodings/z3/reading.h"
#include "encodings/z3/terms.h"
#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"
#include "engine/program/program.h"
#include "tests/collective/language_states.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"
#include "tests/synthesis/appendix.h"

using p2::z3_encoding::Arithmetic;
using p2::z3_encoding::Value;

namespace {

/// Counts of symbols, and what terms over them are worth where the symbols are the bits of a
/// number.
class Counted {
 public:
  static constexpr unsigned kSymbols = 5;

  explicit Counted(z3::context& context) : context_(context), symbols_(context) {
    for (unsigned i = 0; i < kSymbols; ++i) {
      symbols_.push_back(context.bool_const(("b" + std::to_string(i)).c_str()));
    }
  }

  /// How many of the first `symbols` hold.
  Value count(unsigned symbols) const {
    const Arithmetic arithmetic(context_);
    std::vector<Value> ones;
    for (unsigned i = 0; i < symbols; ++i) {
      ones.push_back(arithmetic.from_boolean(Value::truth(symbols_[static_cast<int>(i)])));
    }
    return arithmetic.sum(ones);
  }
  bool holds(const Value& value, unsigned bits) const {
    if (!value.term) return value.known == 1;
    z3::expr_vector values(context_);
    for (unsigned i = 0; i < kSymbols; ++i)
      values.push_back(context_.bool_val((bits >> i) % 2 == 1));
    z3::expr term = *value.term;
    const z3::expr worth = term.substitute(symbols_, values).simplify();
    REQUIRE((worth.is_true() || worth.is_false()));
    return worth.is_true();
  }

 private:
  z3::context& context_;
  z3::expr_vector symbols_;
};

std::uint64_t ones(unsigned bits, unsigned symbols) {
  return static_cast<std::uint64_t>(std::popcount(bits & ((1U << symbols) - 1)));
}

}  // namespace

TEST_CASE("counts compare as numbers: with multiples of each other, remainders and constants") {
  z3::context context;
  const Arithmetic arithmetic(context);
  const Counted counted(context);
  const Value all = counted.count(Counted::kSymbols);
  const Value some = counted.count(3);
  REQUIRE(all.unary);
  for (std::uint64_t k = 1; k < 5; ++k) {
    const Value multiple = arithmetic.multiply(some, Value::of(k));
    const Value other = arithmetic.multiply(Value::of(3), all);
    const Value rest = arithmetic.modulo(all, Value::of(k));
    REQUIRE(multiple.unary);
    const Value equal = arithmetic.equal(multiple, all);
    const Value less = arithmetic.less(multiple, other);
    const Value at_most = arithmetic.less_equal(other, multiple);
    const Value divides = arithmetic.equal(rest, Value::of(0));
    const Value same_rest = arithmetic.equal(rest, arithmetic.modulo(some, Value::of(k)));
    for (unsigned bits = 0; bits < 1U << Counted::kSymbols; ++bits) {
      const std::uint64_t a = ones(bits, 3) * k;
      const std::uint64_t b = ones(bits, Counted::kSymbols);
      CHECK(counted.holds(equal, bits) == (a == b));
      CHECK(counted.holds(less, bits) == (a < b * 3));
      CHECK(counted.holds(at_most, bits) == (b * 3 <= a));
      CHECK(counted.holds(divides, bits) == (b % k == 0));
      CHECK(counted.holds(same_rest, bits) == (b % k == ones(bits, 3) % k));
    }
  }
}

TEST_CASE("a count and a constant, below, within and above its range") {
  z3::context context;
  const Arithmetic arithmetic(context);
  const Counted counted(context);
  const Value twice = arithmetic.multiply(counted.count(3), Value::of(2));
  for (std::uint64_t constant : {0ULL, 1ULL, 2ULL, 3ULL, 5ULL, 6ULL, 7ULL, ~0ULL}) {
    const Value number = Value::of(constant);
    for (unsigned bits = 0; bits < 8; ++bits) {
      const std::uint64_t value = 2 * ones(bits, 3);
      CHECK(counted.holds(arithmetic.equal(twice, number), bits) == (value == constant));
      CHECK(counted.holds(arithmetic.less(twice, number), bits) == (value < constant));
      CHECK(counted.holds(arithmetic.less(number, twice), bits) == (constant < value));
      CHECK(counted.holds(arithmetic.less_equal(twice, number), bits) == (value <= constant));
      CHECK(counted.holds(arithmetic.less_equal(number, twice), bits) == (constant <= value));
    }
  }
}

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

using namespace p2;

namespace {

/// Every shape of the instance: the groups that the solver reads off the formulas are those of the
/// engine's lowering, and so are the classes.
std::size_t compare(const Instance& instance) {
  z3::context context;
  const z3_encoding::Lowering lowering(context, instance);
  CHECK(lowering.classes() == instance.classes());
  const std::vector<GroupShape> shapes = all_shapes(instance.hierarchy);
  for (const GroupShape& shape : shapes) {
    const z3_encoding::Formed formed = lowering.form(shape);
    const bool equal = formed.groups == lower(instance.grid, shape, Collective::AllReduce).groups;
    CHECK_MESSAGE(equal, to_string(instance.hierarchy), " ", to_string(instance.grid.placement()),
                  " ", to_string(shape, instance.hierarchy));
    CHECK(formed.everyone == (shape.pattern.pinned == 0));
  }
  return shapes.size();
}

/// Proves, for all slices, forms, levels and devices at once, what reading groups off leaders and
/// positions rests on: that devices are in one group exactly if they have the same leader, that the
/// leader stands at position 0, and that positions rise with device ids.
void prove_groups(const Instance& instance) {
  z3::context context;
  const z3_encoding::Formation formation(context, instance);
  const z3::sort device = formation.device(0).get_sort();
  const z3::expr d = context.constant("d", device);
  const z3::expr e = context.constant("e", device);
  const z3::expr same = formation.same_group(d, e);
  const z3::expr both = formation.takes_part(d) && formation.takes_part(e);
  const z3::expr first = formation.leader(d);
  z3::solver solver(context);
  solver.add(formation.well_formed() && formation.exists(d) && formation.exists(e));
  solver.add(!(
      (same == (both && first == formation.leader(e))) &&
      z3::implies(formation.takes_part(d), formation.same_group(d, first) &&
                                               formation.position(first) == formation.device(0)) &&
      z3::implies(same, z3::ult(d, e) == z3::ult(formation.position(d), formation.position(e)))));
  CHECK_MESSAGE(solver.check() == z3::unsat, to_string(instance.hierarchy));
}

}  // namespace

TEST_CASE("the solver forms the groups of the lowering: all systems of at most 8 devices") {
  std::size_t shapes = 0;
  for (std::uint32_t devices = 2; devices <= 8; ++devices) {
    for_each_instance(devices, [&](const Hierarchy& hierarchy, const Axes& axes,
                                   const ReductionAxes& reduction, const Placement& placement) {
      for (const HierarchyKind kind : kHierarchyKinds) {
        shapes += compare({DeviceGrid(hierarchy, axes, placement), reduction, kind});
      }
    });
  }
  CHECK(shapes > 1000);
}

TEST_CASE("the solver forms the groups of the lowering: the paper's systems of 64 devices") {
  for (const AppendixRow& row : kAppendix) {
    const Hierarchy hierarchy = parse_hierarchy("h", row.hierarchy);
    if (hierarchy.devices() != 64) continue;
    const Axes axes = parse_axes("a", row.axes);
    for (const Placement& placement : enumerate_placements(hierarchy, axes, {"a"})) {
      for (const HierarchyKind kind : kHierarchyKinds) {
        compare(
            {DeviceGrid(hierarchy, axes, placement), parse_reduction("r", row.reduce, axes), kind});
      }
    }
  }
}

TEST_CASE("leaders and positions mean groups, for all slices, forms, levels and devices") {
  for (const HierarchyKind kind : kHierarchyKinds) {
    prove_groups(instance_of("2,2", "2,2", "0", "[[2 1] [1 2]]", kind));
    prove_groups(instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", kind));
    prove_groups(instance_of("3,2", "2,3", "1", "[[1 2] [3 1]]", kind));
  }
}
