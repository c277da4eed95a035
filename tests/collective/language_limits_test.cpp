#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "p2/error.h"
#include "tests/collective/language_states.h"

namespace p2::language {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string complaint(const std::string& clauses) {
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
const std::string kTooDeepTree = "the expression is nested deeper than 100, lets written out";
const std::string kTooLarge =
    "the definition has more than 10000 operations and operands, lets written out";
const std::string kTooManyVariables = "more than 8 variables bound at one place, lets written out";

}  // namespace

TEST_CASE("an expression is nested at most 100 deep") {
  CHECK(complaint("let f = " + repeated("(", 100) + "1" + repeated(")", 100)) == "accepted");
  CHECK(complaint("let f = " + repeated("(", 101) + "1") == kTooDeep);
  CHECK(complaint("let f = " + repeated("not ", 99) + "true") == "accepted");
  CHECK(complaint("let f = " + repeated("not ", 100) + "true") == kTooDeepTree);
  CHECK(complaint("let f = " + repeated("not ", 1'000'000)) == kTooDeep);
  CHECK(complaint("let f = " + repeated("true implies ", 1'000'000)) == kTooDeep);
  CHECK(complaint("let f = 1" + repeated(" + 1", 99)) == "accepted");
  CHECK(complaint("let f = 1" + repeated(" + 1", 100)) == kTooDeepTree);
}

TEST_CASE("the depth of a call counts the let it calls") {
  std::string chain = "let f0 = true ";
  for (int i = 1; i < 100; ++i) {
    chain += fmt::format("let f{} = f{}\n", i, i - 1);
  }
  CHECK(complaint(chain) == "accepted");
  CHECK(complaint(chain + "let last = f99") == kTooDeepTree);
}

TEST_CASE("a definition has at most 10 000 nodes, lets written out") {
  std::string full = fmt::format("let last = 1{}\n", repeated("+1", 48));
  for (int i = 0; i < 98; ++i) full += fmt::format("let f{} = 1{}\n", i, repeated("+1", 50));
  CHECK(complaint(full) == "accepted");  // 97 + 98 * 101 + 4 for s(i, r, c) + 1 for the measure
  CHECK(complaint(full + "let more = 0") == kTooLarge);
  CHECK(complaint(doubling(11)) == "accepted");
  CHECK(complaint(doubling(12)) == kTooLarge);
  CHECK(complaint(doubling(10'000)) == kTooLarge);
}

TEST_CASE("at most 8 variables are bound at one place, lets written out") {
  const std::string lets = "let f(i in group) = exists a, b, c in chunks: true\n";
  CHECK(complaint("let g = forall a, b, c, d, e, f, g, h in group: true") == "accepted");
  CHECK(complaint("let g = forall a, b, c, d, e, f, g, h, i in group: true") == kTooManyVariables);
  CHECK(complaint(lets + "let g = forall p, q, u, v, w in group: f(p)") == "accepted");
  CHECK(complaint(lets + "let g = forall p, q, u, v, w, x in group: f(p)") == kTooManyVariables);
  CHECK(
      complaint(lets + "let g(p in group) = f(p) let h = forall p, q, u, v, w, x in group: g(p)") ==
      kTooManyVariables);
}

}  // namespace p2::language
