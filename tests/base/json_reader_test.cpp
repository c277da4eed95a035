#include "engine/base/json_reader.h"

#include <doctest/doctest.h>
#include <chrono>
#include <limits>
#include <string>

#include "tests/base/complaint.h"

namespace p2 {
namespace {

using namespace std::string_literals;

std::string read_complaint(const std::string& text) {
  return complaint([&] { JsonDocument("f", text); });
}

std::string integer_complaint(const std::string& text) {
  return complaint([&] { JsonDocument("f", text).root().integer("the size", -1, 10); });
}

SourcePosition at(std::size_t line, std::size_t column) { return {"f", line, column}; }

}  // namespace

TEST_CASE("every value knows the position of its first byte") {
  const JsonDocument document(
      "f", "{ \"a\" : [ 10,-2 ,\"x\\n\", null],\n  \"b\":{\"c\":true,\"d\":[]}\n}");
  const JsonValue root = document.root();
  CHECK(root.position() == at(1, 1));
  const auto elements = root.member("a", "it").array("a");
  REQUIRE(elements.size() == 4);
  CHECK(root.member("a", "it").position() == at(1, 9));
  CHECK(elements[0].position() == at(1, 11));
  CHECK(elements[1].position() == at(1, 14));
  CHECK(elements[2].position() == at(1, 18));
  CHECK(elements[3].position() == at(1, 25));
  const JsonValue inner = root.member("b", "it");
  CHECK(inner.position() == at(2, 7));
  CHECK(inner.member("c", "it").position() == at(2, 12));
  CHECK(inner.member("d", "it").position() == at(2, 21));
}

TEST_CASE("a number at the end of the text, or next to a bracket, has its own position") {
  CHECK(JsonDocument("f", " 12").root().position() == at(1, 2));
  const JsonDocument document("f", "[[1],2]");
  const auto elements = document.root().array("it");
  CHECK(elements[0].array("it")[0].position() == at(1, 3));
  CHECK(elements[1].position() == at(1, 6));
}

TEST_CASE("a byte order mark is no part of the first value") {
  const JsonDocument document("f", "\xef\xbb\xbf[1]");
  CHECK(document.root().position() == at(1, 4));
  CHECK(document.root().array("it")[0].position() == at(1, 5));
}

TEST_CASE("values are what the text says") {
  const JsonDocument document(
      "f", R"({"s": "aA\"\u00e9", "n": -9223372036854775808, "m": 9223372036854775807,
                            "z": null, "e": [], "o": {}})");
  const JsonValue root = document.root();
  constexpr auto low = std::numeric_limits<std::int64_t>::min();
  constexpr auto high = std::numeric_limits<std::int64_t>::max();
  CHECK(root.is_object());
  CHECK(root.member("s", "it").string("s") == "aA\"\xc3\xa9");
  CHECK(root.member("n", "it").integer("n", low, high) == low);
  CHECK(root.member("m", "it").integer("m", low, high) == high);
  CHECK(root.find("z").has_value());
  CHECK(root.member("e", "it").array("e").empty());
  CHECK_FALSE(root.member("o", "it").find("s").has_value());
}

TEST_CASE("an integer is a whole number in its range and nothing else") {
  const std::string range = ", expected a whole number from -1 to 10";
  CHECK(JsonDocument("f", "10").root().integer("the size", -1, 10) == 10);
  CHECK(integer_complaint("\n 12") == "f:2:2: the size is 12" + range);
  for (const std::string number : {"11", "-2", "4.0", "1e0", "9223372036854775808",
                                   "18446744073709551615", "-9223372036854775809"}) {
    CHECK(integer_complaint(number) == "f:1:1: the size is " + number + range);
  }
  CHECK(integer_complaint("1" + std::string(40, '0')) ==
        "f:1:1: the size is 1" + std::string(29, '0') + " …" + range);
  CHECK(integer_complaint("\"4\"") == "f:1:1: the size is a string" + range);
  CHECK(integer_complaint("true") == "f:1:1: the size is true or false" + range);
}

TEST_CASE("a value of another type is refused with both types") {
  const JsonDocument document("f", "{\"a\": [1, null]}");
  const JsonValue root = document.root();
  const JsonValue array = root.member("a", "it");
  const JsonValue null = array.array("a")[1];
  CHECK(complaint([&] { root.string("it"); }) == "f:1:1: it is an object, expected a string");
  CHECK(complaint([&] { root.array("it"); }) == "f:1:1: it is an object, expected an array");
  CHECK(complaint([&] { array.member("k", "it"); }) == "f:1:7: it is an array, expected an object");
  CHECK(complaint([&] { array.only_keys({}, "it"); }) ==
        "f:1:7: it is an array, expected an object");
  CHECK(complaint([&] { null.find("k"); }) == "f:1:11: the value is null, expected an object");
}

TEST_CASE("a missing key is told at the object, an unknown one at the key") {
  const JsonDocument document("f", "[\n {\"size\": 1,\n  \"sise\": 2}]");
  const JsonValue level = document.root().array("it")[0];
  CHECK(complaint([&] { level.member("name", "a level"); }) ==
        "f:2:2: a level lacks the key \"name\"");
  CHECK(complaint([&] {
          level.only_keys({"name", "size"}, "a level");
        }) ==
        "f:3:3: unknown key \"sise\" in a level, expected one of name, size; did you mean 'size'?");
  CHECK_NOTHROW(level.only_keys({"sise", "size"}, "a level"));
}

TEST_CASE("a key may stand once in an object and again in another") {
  CHECK(read_complaint("{\"a\": 1,\n \"a\": 2}") == "f:2:2: duplicate key \"a\" in an object");
  CHECK(read_complaint("{\"a\": 1, \"\\u0061\": 2}") == "f:1:10: duplicate key \"a\" in an object");
  CHECK(read_complaint("{\"a\": {\"a\": {\"b\": 1}}, \"b\": [{\"a\": 1}]}") == "no complaint");
}

TEST_CASE("nesting ends at 64 levels") {
  CHECK(read_complaint(std::string(64, '[') + std::string(64, ']')) == "no complaint");
  CHECK(read_complaint(std::string(65, '[')) ==
        "f:1:65: nested too deeply, expected at most 64 levels");
  CHECK(read_complaint(std::string(1000000, '[')) ==
        "f:1:65: nested too deeply, expected at most 64 levels");
  CHECK(read_complaint("{\"a\":" + std::string(64, '[')) ==
        "f:1:69: nested too deeply, expected at most 64 levels");
}

TEST_CASE("a syntax error names the first byte that is wrong and what was expected there") {
  CHECK(read_complaint("") == "f:1:1: found the end of the text, expected a value");
  CHECK(read_complaint("[1,\n") == "f:2:1: found the end of the text, expected a value");
  CHECK(read_complaint("[") == "f:1:2: found the end of the text, expected a value or ']'");
  CHECK(read_complaint("[1") == "f:1:3: found the end of the text, expected ',' or ']'");
  CHECK(read_complaint("[1,]") == "f:1:4: found ']', expected a value");
  CHECK(read_complaint("[1 2]") == "f:1:4: found 2, expected ',' or ']'");
  CHECK(read_complaint("{1:2}") == "f:1:2: found 1, expected a key in double quotes or '}'");
  CHECK(read_complaint("{\"a\" 1}") == "f:1:6: found 1, expected ':'");
  CHECK(read_complaint("{\"a\":1,}") == "f:1:8: found '}', expected a key in double quotes");
  CHECK(read_complaint("{\"a\":1;") == "f:1:7: found ';', expected ',' or '}'");
  CHECK(read_complaint("[NaN]") == "f:1:2: found NaN, expected a value or ']'");
  CHECK(read_complaint("truth") == "f:1:1: found truth, expected a value");
  CHECK(read_complaint("// no\n1") == "f:1:1: found '/', expected a value");
  CHECK(read_complaint("[\xff]") == "f:1:2: found byte 0xff, expected a value or ']'");
}

TEST_CASE("nothing may follow the value") {
  CHECK(read_complaint("{} []") == "f:1:4: found '[', expected the end of the text");
  CHECK(read_complaint("01") == "f:1:2: found 1, expected the end of the text");
  CHECK(read_complaint("[1]\0 "s) == "f:1:4: found byte 0x00, expected the end of the text");
  CHECK(read_complaint("[1]\n\t\r ") == "no complaint");
}

TEST_CASE("a mistake inside a string or number is told where it is") {
  CHECK(read_complaint("[1.x]") == "f:1:4: invalid number; expected digit after '.'");
  CHECK(read_complaint("[\"\\q\"]") ==
        "f:1:4: invalid string: forbidden character after backslash");
  CHECK(read_complaint("[\"a\xff\"]") == "f:1:4: invalid string: ill-formed UTF-8 byte");
  CHECK(read_complaint("[\"a") == "f:1:4: invalid string: missing closing quote");
  CHECK(read_complaint("[\"a\n\"]").starts_with("f:1:4: invalid string: control character U+000A"));
}

TEST_CASE("a number beyond the range of a double is refused") {
  const std::string message = ":1: the number is too large, expected one in the range of a double";
  CHECK(read_complaint("\n1e999") == "f:2" + message);
  CHECK(read_complaint(std::string(1000000, '9')) == "f:1" + message);
  CHECK(read_complaint("1e-999") == "no complaint");
}

TEST_CASE("every cut of a document is refused, and none brings the reader down") {
  const std::string text =
      "{\"a\": [1, -2.5e3, \"x\\u00e9\", {}], \"b\": {\"c\": null, \"d\": true}}";
  CHECK(read_complaint(text) == "no complaint");
  for (std::size_t length = 0; length < text.size(); ++length) {
    CHECK(read_complaint(text.substr(0, length)) != "no complaint");
  }
}

TEST_CASE("the position of every value of a long text costs little") {
  constexpr int kLines = 200000;
  std::string text = "[0";
  for (int line = 1; line < kLines; ++line) text += ",\n1";
  const JsonDocument document("f", text + "]");
  const auto start = std::chrono::steady_clock::now();
  std::size_t line = 0;
  for (const JsonValue& value : document.root().array("it")) {
    ++line;
    if (value.position().line != line) FAIL("element " << line << " is on another line");
  }
  CHECK(line == kLines);
  // Counting the lines before each value anew would take minutes.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

}  // namespace p2
