// The reader and the writer of JSON of p2-check, against nlohmann's.

#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "proofs/kernel/input.h"

namespace p2::kernel {
namespace {

/// What p2-check makes of a text; nothing where it refuses it.
std::optional<Json> read(const std::string& text) {
  try {
    return parse_json({{"a file", text}}, "a file");
  } catch (const CheckFailure& failure) {
    CHECK(failure.verdict == Verdict::NotACertificate);
    return std::nullopt;
  }
}

/// The same by the library.
std::optional<Json> read_by_library(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? std::nullopt : std::optional(std::move(value));
}

bool are_same(const std::optional<Json>& a, const std::optional<Json>& b) {
  if (!a || !b) return !a && !b;
  return *a == *b && a->type() == b->type() && a->dump() == b->dump();
}

}  // namespace

TEST_CASE("p2-check reads what is JSON, and nothing else") {
  for (const char* text : {"",
                           " ",
                           "0",
                           "-0",
                           "00",
                           "01",
                           "-",
                           "1.",
                           "1.5",
                           ".5",
                           "1e5",
                           "1e",
                           "1E+2",
                           "1e-400",
                           "1e400",
                           "18446744073709551615",
                           "18446744073709551616",
                           "-9223372036854775808",
                           "-9223372036854775809",
                           "+1",
                           "nul",
                           "null",
                           "nulls",
                           "true",
                           "false",
                           "True",
                           "[",
                           "[]",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[1,2]x",
                           " [ 1 , 2 ] ",
                           "{",
                           "{}",
                           "{\"a\":1}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\" 1}",
                           "{\"a\":1 \"b\":2}",
                           "\"",
                           "\"a",
                           "\"\\n\\t\\b\\f\\r\\/\\\\\\\"\"",
                           "\"\\x\"",
                           "\"\\",
                           "\"\\u00e9\"",
                           "\"\\u12\"",
                           "\"\\uD83D\\uDE00\"",
                           "\"\\uD83D\"",
                           "\"\\uDE00\"",
                           "\"\\uD83D\\n\"",
                           "\"\\uD83Dx\"",
                           "\"\\u+123\"",
                           "\"\\u0000\"",
                           "\"\n\"",
                           "\"\x7f\"",
                           "\"\xc3\xa9\"",
                           "\"\xc3\"",
                           "\"\xc0\xaf\"",
                           "\"\xed\xa0\x80\"",
                           "\"\xf0\x9f\x98\x80\"",
                           "\"\xf4\x90\x80\x80\"",
                           "\"\xff\"",
                           "// 1",
                           "1 // 2",
                           "NaN"}) {
    CAPTURE(text);
    CHECK(are_same(read(text), read_by_library(text)));
  }
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  CHECK(read(nested(11)));
  CHECK_FALSE(read(nested(12)));
  CHECK_FALSE(read("{\"a\":1,\"b\":2,\"\\u0061\":3}"));
}

TEST_CASE("p2-check reads altered JSON as the library does, and writes it as that does") {
  std::mt19937_64 random(20261129);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  const std::vector<std::string> pieces = {"\"",
                                           "\\",
                                           "\\n",
                                           "\\u",
                                           "\\u00",
                                           "\\ud83d",
                                           "\\ude00",
                                           "{",
                                           "}",
                                           "[",
                                           "]",
                                           ",",
                                           ":",
                                           "1",
                                           "-",
                                           "0",
                                           ".",
                                           "e",
                                           "null",
                                           "true",
                                           "\n",
                                           " ",
                                           "\x01",
                                           "\x7f",
                                           "\xc3\xa9",
                                           "\xe2\x80\xa8",
                                           "\xf0\x9f\x98\x80",
                                           "\xed\xa0\x80",
                                           "\xc3",
                                           "\xff",
                                           "a",
                                           "\"a\":",
                                           "\"b\":",
                                           "18446744073709551616",
                                           "-5",
                                           "[1,2]"};
  const std::vector<std::string> whole = {
      R"({"a":[1,-2,3.5e3,"x\n\"\\é"],"b":{"c":null,"d":[true,false,{}]},"e":"\ud83d\ude00\u0001"})",
      R"([[],"HloModule m\n\nENTRY e {\n  x = f32[4]{0} parameter(0), metadata={op_name=\"a\"}\n}\n"])",
      R"("")", R"(12345678901234567890)"};
  std::size_t accepted = 0;
  for (int k = 0; k < 200'000; ++k) {
    std::string text = whole[below(whole.size())];
    for (std::size_t n = below(4); n > 0; --n) {
      const std::size_t at = below(text.size() + 1);
      const std::size_t removed = below(3);
      text.replace(at, removed, below(3) == 0 ? "" : pieces[below(pieces.size())]);
    }
    CAPTURE(text);
    const auto own = read(text);
    const auto expected = read_by_library(text);
    // The library takes the last of equal keys.
    const bool is_refused_more = !own && expected;
    if (is_refused_more) {
      CHECK(text.find("\":") != std::string::npos);
      continue;
    }
    REQUIRE(are_same(own, expected));
    if (!own) continue;
    ++accepted;
    REQUIRE(json_text(*own) == own->dump());
  }
  CHECK(accepted > 50'000);
}

}  // namespace p2::kernel
