#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include "engine/collective/language/interpreter.h"
#include "tests/collective/language_states.h"

namespace p2::language {
namespace {

std::uint64_t value(const std::string& integer, const GroupState& state = group("1 0|1 1|0 0")) {
  Definition definition = with_clauses("");
  definition.measure = term(integer);
  return measure(definition, state);
}

bool holds(const std::string& boolean, const GroupState& state = group("1 0|1 1|0 0")) {
  return !first_failed_premise(with_clauses("require a \"\": " + boolean), state);
}

}  // namespace

TEST_CASE("every arithmetic operation has a value for all operands") {
  CHECK(value("7 / 2") == 3);
  CHECK(value("7 % 4") == 3);
  CHECK(value("7 / 0") == 0);
  CHECK(value("7 % 0") == 7);
  CHECK(value("0 % 0") == 0);
  CHECK(value("2 - 3") == 0);
  CHECK(value("3 - 2") == 1);
  CHECK(value("4294967295 * 4294967295 + 2 * 4294967295") == UINT64_MAX);
  CHECK(value("4294967295 * 4294967295 + 2 * 4294967295 + 1") == 0);
  CHECK(value("sum i in group: i * 4294967295 * 4294967295 * 4") ==
        3 * 4 * (std::uint64_t{4'294'967'295} * 4'294'967'295));
}

TEST_CASE("quotient and remainder belong together, for any divisor but 0") {
  CHECK(rc::check("(a / b) * b + a % b = a and a % b < b", [] {
    const auto a = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
    const auto b = *rc::gen::inRange<std::uint64_t>(1, 1'000);
    RC_ASSERT(holds(fmt::format("{0} / {1} * {1} + {0} % {1} = {0} and {0} % {1} < {1}", a, b)));
  }));
}

TEST_CASE("the connectives have their truth tables") {
  const auto table = [](const std::string& connective) {
    std::string row;
    for (const char* left : {"false ", "true "}) {
      for (const char* right : {" false", " true"}) {
        row += holds(left + connective + right) ? '1' : '0';
      }
    }
    return row;
  };
  CHECK(table("and") == "0001");
  CHECK(table("or") == "0111");
  CHECK(table("implies") == "1101");
  CHECK(table("iff") == "1001");
  CHECK(holds("not false"));
  CHECK_FALSE(holds("not true"));
}

TEST_CASE("comparisons compare") {
  const auto row = [](const std::string& comparison) {
    std::string truths;
    for (const char* left : {"1 ", "2 ", "3 "}) {
      truths += holds(left + comparison + " 2") ? '1' : '0';
    }
    return truths;
  };
  CHECK(row("=") == "010");
  CHECK(row("!=") == "101");
  CHECK(row("<") == "100");
  CHECK(row("<=") == "110");
  CHECK(row(">") == "001");
  CHECK(row(">=") == "011");
}

TEST_CASE("n, k, s and index variables speak of the group") {
  CHECK(value("n") == 3);
  CHECK(value("k") == 2);
  CHECK(value("sum i in group: i") == 3);
  CHECK(value("sum c in contributors: c + 1") == 1);
  CHECK(value("count i in group, r in chunks, c in contributors: s(i, r, c)") == 3);
  CHECK(value("count r in chunks, c in contributors: s(0, r, c)") == 1);
  CHECK(value("count i in group, r in chunks, c in contributors: s(i, r, c) and r = 1") == 1);
}

TEST_CASE("quantifiers and aggregates over nothing have their neutral values") {
  const GroupState no_chunks(2, 0, 3);
  CHECK(holds("forall r in chunks: false", no_chunks));
  CHECK_FALSE(holds("exists r in chunks: true", no_chunks));
  CHECK_FALSE(holds("exists i in group, r in chunks: true", no_chunks));
  CHECK(value("count r in chunks, i in group: true", no_chunks) == 0);
  CHECK(value("sum r in chunks: 1", no_chunks) == 0);
  CHECK(post_state(with_clauses(""), no_chunks) == no_chunks);
}

TEST_CASE("a let means its body with the arguments put in") {
  const std::string lets =
      "let has(i in group, r in chunks) = exists c in contributors: s(i, r, c)\n"
      "let many(i in group) = count r in chunks: has(i, r)\n"
      "let before(r in chunks, q in chunks) = r < q\n";
  const auto first = [&](const std::string& boolean) {
    return !first_failed_premise(with_clauses(lets + "require a \"\": " + boolean),
                                 group("1 0|1 1|0 0"));
  };
  CHECK(first("forall i in group: many(i) = (i + 1) % 3"));
  CHECK(first("many(0) = 1"));
  CHECK(first("forall r, q in chunks: before(r, q) iff r < q"));
  CHECK(first("forall r, q in chunks: before(q, r) iff q < r"));
}

TEST_CASE("a let of many arguments is computed rather than remembered, with the same result") {
  const Definition definition = with_clauses(
      "let far(i, j in group, r in chunks) = i + j + r\n"
      "require a \"\": forall r in chunks: far(0, 0, r) = r");
  CHECK_FALSE(first_failed_premise(definition, GroupState(2, 2, 1)));
  CHECK_FALSE(first_failed_premise(definition, GroupState(128, 128, 1)));
}

TEST_CASE("the first premise that fails is reported with its first witness") {
  // The device at position i has to hold the contribution of device i, chunk after chunk.
  const auto failed = [](std::string_view drawing) {
    return first_failed_premise(
        with_clauses(
            "require fine \"\": true\n"
            "require own \"\": forall r in chunks, i in group, c in contributors:"
            " i = c implies s(i, r, c)\n"
            "require last \"\": forall c in contributors, r in chunks: c = 0 or not s(0, r, c)"),
        group(drawing));
  };
  const auto own = [](std::uint32_t r, std::uint32_t i, std::uint32_t c) {
    return FailedPremise{
        1, {{"r", Sort::Chunk, r}, {"i", Sort::Position, i}, {"c", Sort::Contributor, c}}};
  };
  CHECK(failed("10 10|01 01") == std::nullopt);
  CHECK(failed("10 00|01 00") == own(1, 0, 0));
  CHECK(failed("10 00|00 00") == own(0, 1, 1));
  CHECK(failed("01 00|00 00") == own(0, 0, 0));
  CHECK(failed("11 10|01 01") ==
        FailedPremise{2, {{"c", Sort::Contributor, 1}, {"r", Sort::Chunk, 0}}});
}

TEST_CASE("a premise that is no forall fails without a witness") {
  const Definition definition = with_clauses(
      "require fine \"\": forall i in group: i < n\n"
      "require not-fine \"\": exists i in group: i = "
      "n");
  CHECK(first_failed_premise(definition, group("1|1")) == FailedPremise{1, {}});
}

TEST_CASE("the post-state is what ensure says of every position, chunk and contributor") {
  const Definition turn = parse_definition(
      "turn.p2c",
      "collective Turn \"each device sends to the next\" ensure s'(to, r, c) = exists from in "
      "group: to = (from + 1) % n and s(from, r, c) measure 0");
  CHECK(drawn(post_state(turn, group("10 11|00 01|00 00"))) == "00 00|10 11|00 01");
}

}  // namespace p2::language
