#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/collective/language_states.h"

namespace p2::language {

TEST_CASE("operators bind by the precedence of the grammar") {
  const std::vector<std::pair<std::string, std::string>> same_meaning = {
      {"true iff false iff true", "(true iff false) iff true"},
      {"true implies false implies true", "true implies (false implies true)"},
      {"true iff false implies true", "true iff (false implies true)"},
      {"true implies false iff true", "(true implies false) iff true"},
      {"true or false implies true", "(true or false) implies true"},
      {"true or false and true", "true or (false and true)"},
      {"true and false or true", "(true and false) or true"},
      {"not true and false", "(not true) and false"},
      {"not n = k", "not (n = k)"},
      {"not not true", "not (not true)"},
      {"n < k and k <= n", "(n < k) and (k <= n)"},
      {"n + 1 = k", "(n + 1) = k"},
      {"n - 1 - k = 0", "((n - 1) - k) = 0"},
      {"n / 2 * k % 3 = 0", "(((n / 2) * k) % 3) = 0"},
      {"1 + n * k - 2 = 0", "((1 + (n * k)) - 2) = 0"},
  };
  for (const auto& pair : same_meaning) {
    CAPTURE(pair.first);
    CHECK(formula(pair.first) == formula(pair.second));
  }
}

TEST_CASE("the body of a quantifier or aggregate reaches as far right as it can") {
  CHECK(formula("true and exists i in group: i = 0 or true implies false") ==
        formula("true and (exists i in group: ((i = 0 or true) implies false))"));
  CHECK(formula("not forall i in group: i < n and i < k") ==
        formula("not (forall i in group: (i < n and i < k))"));
  CHECK(term("1 + count q in chunks: q < 2 and q < n") ==
        term("1 + (count q in chunks: (q < 2 and q < n))"));
  CHECK(term("sum q in chunks: q + 1") == term("sum q in chunks: (q + 1)"));
  CHECK(term("(sum q in chunks: q) + 1") != term("sum q in chunks: q + 1"));
}

TEST_CASE("three comparisons are written with the other three") {
  CHECK(formula("n != k") == formula("not (n = k)"));
  CHECK(formula("n > k") == formula("k < n"));
  CHECK(formula("n >= k") == formula("k <= n"));
}

TEST_CASE("blanks and comments mean nothing") {
  CHECK(formula("n<=k and(1)!=2") == formula("n   <= # a comment\n\tk and (1) != 2\r\n"));
  CHECK(formula("n-1=0") == formula("n - 1 = 0"));
}

TEST_CASE("variables in scope together have different slots, counted from the outside") {
  const Definition parsed = with_clauses(
      "let f(i in group, r in chunks) = exists c in contributors: s(i, r, c)\n"
      "require a \"\": forall i, j in group, r in chunks: (exists c in contributors: s(i, r, c))"
      " or exists q in chunks: f(j, q)");
  CHECK(parsed.lets[0].parameters ==
        std::vector<Variable>{{"i", Sort::Position, 0}, {"r", Sort::Chunk, 1}});
  CHECK(parsed.lets[0].body.variables == std::vector<Variable>{{"c", Sort::Contributor, 2}});
  const Expression& all = parsed.premises[0].formula;
  CHECK(all.variables == std::vector<Variable>{{"i", Sort::Position, 0},
                                               {"j", Sort::Position, 1},
                                               {"r", Sort::Chunk, 2}});
  const Expression& either = all.operands[0];
  CHECK(either.operands[0].variables == std::vector<Variable>{{"c", Sort::Contributor, 3}});
  CHECK(either.operands[1].variables == std::vector<Variable>{{"q", Sort::Chunk, 3}});
  const Expression& call = either.operands[1].operands[0];
  CHECK(call.kind == Kind::Call);
  CHECK(call.operands[0].index == 1);
  CHECK(call.operands[1].index == 3);
}

TEST_CASE("calls name their let by its number and have its type") {
  const Definition parsed = with_clauses(
      "let yes = true let size = n let at(i in group) = i require a \"\": yes and size = at(0)");
  const Expression& both = parsed.premises[0].formula;
  CHECK(both.operands[0].kind == Kind::Call);
  CHECK(both.operands[0].index == 0);
  CHECK(both.operands[0].type == Type::Boolean);
  const Expression& equal = both.operands[1];
  CHECK(equal.operands[0].index == 1);
  CHECK(equal.operands[0].type == Type::Integer);
  CHECK(equal.operands[1].index == 2);
  CHECK(equal.operands[1].operands[0].kind == Kind::Number);
}

TEST_CASE("a definition keeps its names, descriptions and premises in order") {
  const Definition parsed = parse_definition(
      "x.p2c",
      "collective Shift \"left # no comment\"\n"
      "require not-first-2 \"one\": true let unused = 1 require b \"two\": false\n"
      "ensure s'(to, chunk, from) = s(to, chunk, from) measure sum x in contributors: x");
  CHECK(parsed.name == "Shift");
  CHECK(parsed.description == "left # no comment");
  REQUIRE(parsed.premises.size() == 2);
  CHECK(parsed.premises[0].name == "not-first-2");
  CHECK(parsed.premises[0].description == "one");
  CHECK(parsed.premises[1].name == "b");
  CHECK(parsed.post_state.variables[0] == Variable{"to", Sort::Position, 0});
  CHECK(parsed.post_state.variables[1] == Variable{"chunk", Sort::Chunk, 1});
  CHECK(parsed.post_state.variables[2] == Variable{"from", Sort::Contributor, 2});
  CHECK(parsed.measure.kind == Kind::Sum);
}

}  // namespace p2::language
