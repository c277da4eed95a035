#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"
#include "tests/collective/language_states.h"
#include "tests/file_bytes.h"

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

namespace {

/// `disjoint i=0 j=1 r=2 c=3`, or `legal`.
std::string refusal(std::string_view collective, std::string_view before) {
  const Definition& definition = built_in(collective);
  const auto failed = first_failed_premise(definition, group(before));
  if (!failed) return "legal";
  std::string text = definition.premises[failed->premise].name;
  for (const Binding& binding : failed->witness) {
    text += fmt::format(" {}={}", binding.name, binding.value);
  }
  return text;
}

}  // namespace

TEST_CASE("a reduction refuses devices that hold different chunks") {
  for (const char* collective : {"AllReduce", "Reduce", "ReduceScatter"}) {
    CAPTURE(collective);
    CHECK(refusal(collective, "100 100|010 000|001 000") == "same-chunks i=0 j=1 r=1");
    CHECK(refusal(collective, "100 100|010 010|000 001") == "same-chunks i=0 j=2 r=0");
    CHECK(refusal(collective, "000 000|000 100|000 000") == "same-chunks i=0 j=1 r=1");
    CHECK(refusal(collective, "100 100|010 010|001 001") != "same-chunks");
  }
}

TEST_CASE("a reduction refuses to count a contribution twice") {
  for (const char* collective : {"AllReduce", "Reduce", "ReduceScatter"}) {
    CAPTURE(collective);
    CHECK(refusal(collective, "1000 1000|0100 0100|0010 0101") == "disjoint i=1 j=2 r=1 c=1");
    CHECK(refusal(collective, "1010 1000|0111 1100|0010 0101") == "disjoint i=0 j=1 r=0 c=2");
    CHECK(refusal(collective, "11|11") == "disjoint i=0 j=1 r=0 c=0");
  }
}

TEST_CASE("different chunks are reported before contributions counted twice") {
  CHECK(refusal("AllReduce", "10 10|10 00") == "same-chunks i=0 j=1 r=1");
}

TEST_CASE("ReduceScatter refuses a number of chunks that the group size does not divide") {
  CHECK(refusal("ReduceScatter", "10 10 10|01 01 01") == "divisible");
  CHECK(refusal("ReduceScatter", "10 00 10|01 00 01") == "legal");
  CHECK(refusal("ReduceScatter", "100 100|010 010|001 001") == "divisible");
  CHECK(refusal("AllReduce", "10 10 10|01 01 01") == "legal");
}

TEST_CASE("AllGather refuses a chunk that two devices hold") {
  CHECK(refusal("AllGather", "10 00 00|00 10 00|00 01 00") == "disjoint-chunks i=1 j=2 r=1");
  CHECK(refusal("AllGather", "10 01|01 10") == "disjoint-chunks i=0 j=1 r=0");
}

TEST_CASE("AllGather refuses devices that hold unequally many chunks") {
  CHECK(refusal("AllGather", "10 00 00|00 10 00|00 00 00") == "equal-count i=0 j=2");
  CHECK(refusal("AllGather", "00 00 00|00 10 10|00 00 00") == "equal-count i=0 j=1");
  CHECK(refusal("AllGather", "10 00 00|00 10 00|00 00 01") == "legal");
}

TEST_CASE("Broadcast refuses a root that lacks what another device holds") {
  CHECK(refusal("Broadcast", "110 110|100 110|010 111") == "contained i=2 r=1 c=2");
  CHECK(refusal("Broadcast", "000 000|000 000|010 011") == "contained i=2 r=0 c=1");
}

TEST_CASE("Broadcast refuses to teach nobody anything") {
  CHECK(refusal("Broadcast", "110 110|110 110|110 110") == "informative");
  CHECK(refusal("Broadcast", "000|000") == "informative");
  CHECK(refusal("Broadcast", "110 110|110 110|110 100") == "legal");
}

namespace {

/// The group after the step, or the name of the premise that fails.
std::string outcome(std::string_view collective, std::string_view before) {
  const Definition& definition = built_in(collective);
  const GroupState state = group(before);
  if (const auto failed = first_failed_premise(definition, state)) {
    return definition.premises[failed->premise].name;
  }
  return drawn(post_state(definition, state));
}

std::vector<std::string> premises(std::string_view collective) {
  std::vector<std::string> names;
  for (const Premise& premise : built_in(collective).premises) names.push_back(premise.name);
  return names;
}

}  // namespace

TEST_CASE("the built-in definitions are the five of the paper, in the order of figure 8") {
  std::vector<std::string> names;
  for (const Definition& definition : built_in_definitions()) names.push_back(definition.name);
  CHECK(names ==
        std::vector<std::string>{"AllReduce", "ReduceScatter", "AllGather", "Reduce", "Broadcast"});
}

TEST_CASE("the program holds the definition files as they are in the repository") {
  for (const BuiltInText& built_in : built_in_texts()) {
    CHECK(bytes_of(P2_SOURCE_DIR "/" + std::string(built_in.source)) == built_in.text);
  }
}

TEST_CASE("the premises have the names and the order of figure 8") {
  using Names = std::vector<std::string>;
  CHECK(premises("AllReduce") == Names{"same-chunks", "disjoint"});
  CHECK(premises("ReduceScatter") == Names{"same-chunks", "disjoint", "divisible"});
  CHECK(premises("AllGather") == Names{"disjoint-chunks", "equal-count"});
  CHECK(premises("Reduce") == Names{"same-chunks", "disjoint"});
  CHECK(premises("Broadcast") == Names{"contained", "informative"});
}

TEST_CASE("AllReduce gives everyone the sum") {
  CHECK(outcome("AllReduce", "1000 1000 1000 1000|0100 0100 0100 0100") ==
        "1100 1100 1100 1100|1100 1100 1100 1100");
  CHECK(outcome("AllReduce", "1000 0000 1010 0000|0100 0000 0101 0000") ==
        "1100 0000 1111 0000|1100 0000 1111 0000");
  CHECK(outcome("AllReduce", "100|010|001") == "111|111|111");
  CHECK(outcome("AllReduce", "00|00") == "00|00");
}

TEST_CASE("Reduce gives the root the sum and empties the others") {
  CHECK(outcome("Reduce", "1000 1000 0000 0000|0100 0010 0000 0000") ==
        "1100 1010 0000 0000|0000 0000 0000 0000");
  CHECK(outcome("Reduce", "100|010|001") == "111|000|000");
}

TEST_CASE("ReduceScatter cuts the non-empty chunks of the sum into equal runs") {
  CHECK(outcome("ReduceScatter", "1000 1000 1000 1000|0100 0100 0100 0100") ==
        "1100 1100 0000 0000|0000 0000 1100 1100");
  CHECK(outcome("ReduceScatter", "0000 1000 0000 1010|0000 0100 0000 0101") ==
        "0000 1100 0000 0000|0000 0000 0000 1111");
  CHECK(outcome("ReduceScatter", "100 100 100|010 010 010|001 001 001") ==
        "111 000 000|000 111 000|000 000 111");
  CHECK(outcome("ReduceScatter", "10 10 00 10 10|01 01 00 01 01") ==
        "11 11 00 00 00|00 00 00 11 11");
  CHECK(outcome("ReduceScatter", "00 00|00 00") == "00 00|00 00");
}

TEST_CASE("AllGather gives everyone the chunks of all") {
  CHECK(outcome("AllGather", "1100 1100 0000 0000|0000 0000 1100 1100") ==
        "1100 1100 1100 1100|1100 1100 1100 1100");
  CHECK(outcome("AllGather", "0000 1000 0000|0001 0000 0000") == "0001 1000 0000|0001 1000 0000");
}

TEST_CASE("Broadcast gives everyone what the root holds") {
  CHECK(outcome("Broadcast", "1100 1100|0000 0000") == "1100 1100|1100 1100");
  CHECK(outcome("Broadcast", "1110 0100|1010 0000|1110 0100") == "1110 0100|1110 0100|1110 0100");
}

TEST_CASE("ReduceScatter and then AllGather do what AllReduce does") {
  const GroupState before = group("1000 0000 1001 0010 0100|0100 0000 0100 0001 1000");
  const GroupState scattered = post_state(built_in("ReduceScatter"), before);
  REQUIRE_FALSE(first_failed_premise(built_in("AllGather"), scattered));
  CHECK(post_state(built_in("AllGather"), scattered) == post_state(built_in("AllReduce"), before));
}

TEST_CASE("Reduce and then Broadcast do what AllReduce does") {
  const GroupState before = group("1000 0000 1001|0100 0000 0100|0010 0000 0010");
  const GroupState reduced = post_state(built_in("Reduce"), before);
  REQUIRE_FALSE(first_failed_premise(built_in("Broadcast"), reduced));
  CHECK(post_state(built_in("Broadcast"), reduced) == post_state(built_in("AllReduce"), before));
}

}  // namespace p2::language
