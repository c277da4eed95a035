#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/collective/language/definition.h"
#include "p2/error.h"
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

namespace {

struct Mistake {
  std::string text;
  std::string message;
};

std::string error_of(const std::string& text) {
  try {
    parse_definition("x.p2c", text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// Each text starts on line 2, after `collective C "c"`.
void check_each(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.text);
    CHECK(error_of("collective C \"c\"\n" + mistake.text) == "x.p2c:" + mistake.message);
  }
}

/// The same inside a premise whose formula starts at 2:15.
void check_formulas(std::vector<Mistake> mistakes) {
  for (Mistake& mistake : mistakes) {
    mistake.text =
        "require a \"\": " + mistake.text + "\nensure s'(i, r, c) = true measure 0 # end";
  }
  check_each(mistakes);
}

}  // namespace

TEST_CASE("a definition starts with its name and description") {
  CHECK(error_of("") ==
        "x.p2c:1:1: found the end, expected 'collective' at the start of a definition");
  CHECK(error_of("let") ==
        "x.p2c:1:1: found 'let', expected 'collective' at the start of a definition");
  CHECK(error_of("collective \"c\"") ==
        "x.p2c:1:12: found a text, expected the name of the collective");
  CHECK(error_of("collective sum \"c\"") ==
        "x.p2c:1:12: found 'sum', expected the name of the collective; 'sum' is a word of the "
        "language");
  CHECK(error_of("collective C\n  let") ==
        "x.p2c:2:3: found 'let', expected a description of the collective in double quotes");
}

TEST_CASE("what is no token is named with its place") {
  CHECK(error_of("collective C \"\xff\"") ==
        "x.p2c:1:15: found the byte 0xff, expected text in UTF-8");
  CHECK(error_of("collective C \"c\" # \xe9t\xe9").starts_with("x.p2c:1:20: found the byte 0xe9"));
  check_each({
      {"  \xe2\x88\x80",
       "2:3: found '\xe2\x88\x80', expected a name, a number, a text or one of != "
       "<= >= < > = + - * / % ( ) , :"},
      {"require a \"open\n\"",
       "2:11: found '\"', expected a text that ends with '\"' on the same line"},
      {"require a \"open",
       "2:11: found '\"', expected a text that ends with '\"' on the same line"},
  });
}

TEST_CASE("traffic names a collective, and a part that is more than 0 for every group") {
  const std::string before = "collective C \"c\" ensure s'(i, r, c) = true measure 0\n";
  CHECK(!parse_definition("x.p2c", before).traffic);
  const auto text_of = [&](const std::string& traffic) {
    const Definition parsed = parse_definition("x.p2c", before + traffic);
    return to_string(parsed.traffic.value());
  };
  CHECK(text_of("traffic AllReduce") == "AllReduce");
  CHECK(text_of("traffic AllToAll of 1/4") == "AllToAll of 1 / 4");
  CHECK(text_of("traffic Broadcast of (n - 1) / n * 2 - 1 / 3") ==
        "Broadcast of (((n - 1) / n) * 2) - (1 / 3)");
  const Definition part =
      parse_definition("x.p2c", before + "traffic Reduce of 3 * (n - 1) / (4 * n)");
  CHECK(traffic_part(part, 2) == Rational(3, 8));
  CHECK(traffic_part(part, 3) == Rational(1, 2));
  for (const auto& [traffic, message] : {
           std::pair("traffic",
                     "2:8: found the end, expected one of AllReduce, ReduceScatter, "
                     "AllGather, Reduce, Broadcast, AllToAll after 'traffic'"),
           std::pair("traffic Scatter",
                     "2:9: found 'Scatter', expected one of AllReduce, "
                     "ReduceScatter, AllGather, Reduce, Broadcast, AllToAll after "
                     "'traffic'"),
           std::pair("traffic \"AllReduce\"",
                     "2:9: found a text, expected one of AllReduce, "
                     "ReduceScatter, AllGather, Reduce, Broadcast, AllToAll "
                     "after 'traffic'"),
           std::pair("traffic Reduce of",
                     "2:18: found the end, expected a number, n or '(' in the "
                     "part of the traffic"),
           std::pair("traffic Reduce of k / n",
                     "2:19: found 'k', expected a number, n or '(' in the "
                     "part of the traffic"),
           std::pair("traffic Reduce of (n - 1",
                     "2:25: found the end, expected an operator or ')'"),
           std::pair("traffic Reduce of 4294967296",
                     "2:19: found '4294967296', expected a number from 0 to 4294967295"),
           std::pair("traffic Reduce of 0",
                     "2:19: the part of the traffic is 0 for n = 2, expected more than 0"),
           std::pair("traffic Reduce of n - 3",
                     "2:19: the part of the traffic is -1 for n = 2, expected more than 0"),
           std::pair("traffic Reduce of 1 / (n - 5)",
                     "2:19: the part of the traffic is -1/3 for n = 2, expected more than 0"),
           std::pair(
               "traffic Reduce of 1 / ((n - 5) * (n - 5))",
               "2:19: the part of the traffic is a division by 0 for n = 5, expected more than "
               "0"),
           std::pair(
               "traffic Reduce of 1 / 2 measure 0",
               "2:25: found 'measure', expected an operator or the end: the traffic is the last "
               "clause"),
       }) {
    CAPTURE(traffic);
    CHECK(error_of(before + traffic) == std::string("x.p2c:") + message);
  }
}

TEST_CASE("clauses stand in order and are complete") {
  check_each({
      {"", "2:1: found the end, expected 'let', 'require' or 'ensure'"},
      {"measure 0", "2:1: found 'measure', expected 'let', 'require' or 'ensure'"},
      {"ensure s'(i, r, c) = true", "2:26: found the end, expected 'measure' after the post-state"},
      {"ensure s'(i, r, c) = true ensure",
       "2:27: found 'ensure', expected 'measure' after the post-state"},
      {"ensure s'(i, r, c) = true measure 0 let",
       "2:37: found 'let', expected an operator, 'traffic' or the end"},
      {"require \"a\"", "2:9: found a text, expected the name of a premise"},
      {"require a: true",
       "2:10: found ':', expected a description of the premise in double quotes"},
      {"require a \"\" true", "2:14: found 'true', expected ':' before the formula of a premise"},
      {"let = n", "2:5: found '=', expected the name of a let"},
      {"let f() = n", "2:7: found ')', expected the name of a variable"},
      {"let f(i in group = n", "2:18: found '=', expected ')' after the parameters of a let"},
      {"let f(i in group) n", "2:19: found 'n', expected '=' before the body of a let"},
      {"ensure s(i, r, c) = true", "2:8: found 's', expected 's'' after 'ensure'"},
      {"ensure s'(i, r) = true",
       "2:15: found ')', expected ',' and the next of the three variables of 's''"},
      {"ensure s'(i, r, c, d) = true",
       "2:18: found ',', expected ')' after the three variables of 's''"},
      {"ensure s'(0, r, c) = true", "2:11: found '0', expected the name of a variable"},
  });
}

TEST_CASE("no name is given a second meaning") {
  check_each({
      {"let f = n let f = k", "2:15: 'f' is already a let here, expected another name"},
      {"let f(f in group) = f", "2:5: 'f' is already a variable here, expected another name"},
      {"let f = n require a \"\": forall f in group: true",
       "2:32: 'f' is already a let here, expected another name"},
      {"let f(i, i in group) = n", "2:10: 'i' is already a variable here, expected another name"},
      {"ensure s'(i, r, r) = true", "2:17: 'r' is already a variable here, expected another name"},
      {"ensure s'(i, r, c) = exists c in chunks: true",
       "2:29: 'c' is already a variable here, expected another name"},
      {"require a-b \"\": true require a-b \"\": true",
       "2:30: 'a-b' is already a premise, expected another name"},
      {"let n = 1", "2:5: found 'n', expected the name of a let; 'n' is a word of the language"},
  });
}

TEST_CASE("every name means something before it is used") {
  check_formulas({
      {"nobody", "2:15: found 'nobody', expected a variable in scope or a let defined above"},
      {"(exists i in group: true) and i = 0",
       "2:45: found 'i', expected a variable in scope or a let defined above"},
      {"s(0, q, q)", "2:20: found 'q', expected a variable in scope or a let defined above"},
      {"exists i in group: s'(i, i, i)",
       "2:34: found 's'', expected 's': formulas speak of the state before the step"},
  });
  check_each({
      {"let f = g let g = n",
       "2:9: found 'g', expected a name defined above: its let comes only later"},
      {"let f = f", "2:9: found 'f', expected a variable in scope or a let defined above"},
  });
}

TEST_CASE("operands have the type of their operator") {
  check_formulas({
      {"n", "2:15: found an integer, expected a boolean as the formula of a premise"},
      {"n and true", "2:15: found an integer, expected a boolean to the left of 'and'"},
      {"true implies (k)", "2:28: found an integer, expected a boolean to the right of 'implies'"},
      {"not n", "2:19: found an integer, expected a boolean after 'not'"},
      {"true = false", "2:15: found a boolean, expected an integer to the left of '='"},
      {"1 + (not true) = 1", "2:19: found a boolean, expected an integer to the right of '+'"},
      {"forall i in group: i",
       "2:34: found an integer, expected a boolean as the body of 'forall'"},
      {"1 = sum i in group: i = 1",
       "2:35: found a boolean, expected an integer as the body of 'sum'"},
      {"n < k < 3",
       "2:21: found '<', expected the end of the comparison: comparisons do not chain"},
  });
  check_each({
      {"ensure s'(i, r, c) = i measure 0",
       "2:22: found an integer, expected a boolean as the formula of the post-state"},
      {"ensure s'(i, r, c) = true measure true",
       "2:35: found a boolean, expected an integer as the measure"},
  });
}

TEST_CASE("arguments have the number and sorts of their place") {
  const std::string let = "let f(i in group, r in chunks) = true let t = n ";
  check_each({
      {let + "let g(i in group) = f(i)",
       "2:72: found ')', expected ',' and argument 2 of 'f', a chunk"},
      {let + "let g(i in group, r in chunks) = f(i, r, r)",
       "2:88: found ',', expected ')' after 2 arguments of 'f'"},
      {let + "let g = f and true", "2:59: found 'and', expected '(' and 2 arguments of 'f'"},
      {let + "let g = t(0)", "2:58: found '(', expected no arguments: 't' takes none"},
      {let + "let g(r in chunks) = f(1, r)",
       "2:72: found '1', expected argument 1 of 'f', a position: a variable in group or 0"},
      {let + "let g(i in group) = f(i, 0)",
       "2:74: found '0', expected argument 2 of 'f', a chunk: a variable in chunks"},
      {let + "let g(i in group) = f(i, i)",
       "2:74: found 'i', a position, expected argument 2 of 'f', a chunk: a variable in chunks"},
      {let + "let g(r in chunks) = f(t, r)",
       "2:72: found 't', expected argument 1 of 'f', a position: a variable in group or 0"},
      {let + "let g(r in chunks) = f(n, r)",
       "2:72: found 'n', expected argument 1 of 'f', a position: a variable in group or 0; 'n' is "
       "a word of the language"},
      {let + "let g(i in group, r in chunks) = s(i + 1, r, r)",
       "2:86: found '+', expected ',' and argument 2 of 's', a chunk"},
  });
}

TEST_CASE("expressions are complete") {
  check_formulas({
      {"", "3:1: found 'ensure', expected an expression; 'ensure' is a word of the language"},
      {"n + = 1", "2:19: found '=', expected an expression"},
      {"(true", "3:1: found 'ensure', expected an operator or ')'"},
      {"forall i: true", "2:23: found ':', expected ',' or 'in' after the name of a variable"},
      {"forall i in chunk: true",
       "2:27: found 'chunk', expected 'group', 'chunks' or 'contributors'"},
      {"forall i in group true",
       "2:33: found 'true', expected ':' after the variables of 'forall'"},
      {"n = 4294967296", "2:19: found '4294967296', expected a number from 0 to 4294967295"},
      {"true false", "2:20: found 'false', expected 'let', 'require' or 'ensure'"},
  });
}

namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string limit_message(const std::string& clauses) {
  try {
    with_clauses(clauses);
  } catch (const InputError& error) {
    const std::string message = error.what();
    return message.substr(message.find(": ") + 2);
  }
  return "accepted";
}

/// Lets f0, f1, …, each of which joins two calls of the one before.
std::string doubling(std::size_t lets) {
  std::string clauses = "let f0 = true ";
  for (std::size_t i = 1; i < lets; ++i) {
    clauses += fmt::format("let f{0} = f{1} and f{1}\n", i, i - 1);
  }
  return clauses;
}

const std::string kTooDeep = "nested deeper than 100";
const std::string kTooDeepTree = "the expression is nested deeper than 100, lets inlined";
const std::string kTooLarge =
    "the definition has more than 10000 operations and operands, lets inlined";
const std::string kTooManyVariables = "more than 8 variables bound at one place, lets inlined";

}  // namespace

TEST_CASE("an expression is nested at most 100 deep") {
  CHECK(limit_message("let f = " + repeated("(", 100) + "1" + repeated(")", 100)) == "accepted");
  CHECK(limit_message("let f = " + repeated("(", 101) + "1") == kTooDeep);
  CHECK(limit_message("let f = " + repeated("not ", 99) + "true") == "accepted");
  CHECK(limit_message("let f = " + repeated("not ", 100) + "true") == kTooDeepTree);
  CHECK(limit_message("let f = " + repeated("not ", 1'000'000)) == kTooDeep);
  CHECK(limit_message("let f = " + repeated("true implies ", 1'000'000)) == kTooDeep);
  CHECK(limit_message("let f = 1" + repeated(" + 1", 99)) == "accepted");
  CHECK(limit_message("let f = 1" + repeated(" + 1", 100)) == kTooDeepTree);
}

TEST_CASE("the depth of a call counts the let it calls") {
  std::string chain = "let f0 = true ";
  for (int i = 1; i < 100; ++i) {
    chain += fmt::format("let f{} = f{}\n", i, i - 1);
  }
  CHECK(limit_message(chain) == "accepted");
  CHECK(limit_message(chain + "let last = f99") == kTooDeepTree);
}

TEST_CASE("a definition has at most 10 000 nodes, lets inlined") {
  std::string full = fmt::format("let last = 1{}\n", repeated("+1", 48));
  for (int i = 0; i < 98; ++i) full += fmt::format("let f{} = 1{}\n", i, repeated("+1", 50));
  CHECK(limit_message(full) == "accepted");  // 97 + 98 * 101 + 4 for s(i, r, c) + 1 for the measure
  CHECK(limit_message(full + "let more = 0") == kTooLarge);
  CHECK(limit_message(doubling(11)) == "accepted");
  CHECK(limit_message(doubling(12)) == kTooLarge);
  CHECK(limit_message(doubling(10'000)) == kTooLarge);
}

TEST_CASE("at most 8 variables are bound at one place, lets inlined") {
  const std::string lets = "let f(i in group) = exists a, b, c in chunks: true\n";
  CHECK(limit_message("let g = forall a, b, c, d, e, f, g, h in group: true") == "accepted");
  CHECK(limit_message("let g = forall a, b, c, d, e, f, g, h, i in group: true") ==
        kTooManyVariables);
  CHECK(limit_message(lets + "let g = forall p, q, u, v, w in group: f(p)") == "accepted");
  CHECK(limit_message(lets + "let g = forall p, q, u, v, w, x in group: f(p)") ==
        kTooManyVariables);
  CHECK(limit_message(lets +
                      "let g(p in group) = f(p) let h = forall p, q, u, v, w, x in group: g(p)") ==
        kTooManyVariables);
}

}  // namespace p2::language
