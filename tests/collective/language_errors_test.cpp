#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/collective/language/parser.h"
#include "p2/error.h"

namespace p2::language {
namespace {

struct Mistake {
  std::string text;
  std::string message;
};

std::string complaint(const std::string& text) {
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
    CHECK(complaint("collective C \"c\"\n" + mistake.text) == "x.p2c:" + mistake.message);
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
  CHECK(complaint("") ==
        "x.p2c:1:1: found the end, expected 'collective' at the start of a definition");
  CHECK(complaint("let") ==
        "x.p2c:1:1: found 'let', expected 'collective' at the start of a definition");
  CHECK(complaint("collective \"c\"") ==
        "x.p2c:1:12: found a text, expected the name of the collective");
  CHECK(complaint("collective sum \"c\"") ==
        "x.p2c:1:12: found 'sum', expected the name of the collective; 'sum' is a word of the "
        "language");
  CHECK(complaint("collective C\n  let") ==
        "x.p2c:2:3: found 'let', expected a description of the collective in double quotes");
}

TEST_CASE("what is no token is named with its place") {
  CHECK(complaint("collective C \"\xff\"") ==
        "x.p2c:1:15: found the byte 0xff, expected text in UTF-8");
  CHECK(complaint("collective C \"c\" # \xe9t\xe9").starts_with("x.p2c:1:20: found the byte 0xe9"));
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

TEST_CASE("clauses stand in order and are complete") {
  check_each({
      {"", "2:1: found the end, expected 'let', 'require' or 'ensure'"},
      {"measure 0", "2:1: found 'measure', expected 'let', 'require' or 'ensure'"},
      {"ensure s'(i, r, c) = true", "2:26: found the end, expected 'measure' after the post-state"},
      {"ensure s'(i, r, c) = true ensure",
       "2:27: found 'ensure', expected 'measure' after the post-state"},
      {"ensure s'(i, r, c) = true measure 0 let",
       "2:37: found 'let', expected an operator or the end: the measure is the last clause"},
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

}  // namespace p2::language
