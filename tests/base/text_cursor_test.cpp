#include "engine/base/text_cursor.h"

#include <doctest/doctest.h>
#include <limits>
#include <string>

#include "tests/base/complaint.h"

namespace p2 {

TEST_CASE("blanks and comments stand between tokens and count in positions") {
  TextCursor cursor("f", "  # first\n a # b\n\t,7#end");
  CHECK(cursor.position() == SourcePosition{"f", 2, 2});
  CHECK(cursor.name("a name") == "a");
  CHECK(cursor.accept(","));
  CHECK(cursor.position() == SourcePosition{"f", 3, 3});
  CHECK(cursor.integer("a number", 0, 9) == 7);
  CHECK(cursor.at_end());
  CHECK(cursor.peek() == '\0');
}

TEST_CASE("a token that does not follow is not consumed") {
  TextCursor cursor("f", "=>b");
  CHECK_FALSE(cursor.accept("=="));
  CHECK(cursor.peek_name().empty());
  CHECK(cursor.peek() == '=');
  CHECK(cursor.accept("=>"));
  CHECK(cursor.peek_name() == "b");
  CHECK(cursor.peek_name() == "b");
}

TEST_CASE("a name has letters, digits, _, - and . and starts with a letter or _") {
  TextCursor cursor("f", "_node-0.data(");
  CHECK(cursor.name("a name") == "_node-0.data");
  CHECK(cursor.peek() == '(');
  for (const std::string text : {"1a", "-a", ".a", "", "(", "\xc3\xa9"}) {
    CHECK(TextCursor("f", text).peek_name().empty());
  }
}

TEST_CASE("what is found and what was expected are both told") {
  TextCursor cursor("f", "a\n  ;");
  cursor.name("a name");
  CHECK(complaint([&] { cursor.expect(")", "after a group"); }) ==
        "f:2:3: found ';', expected ')' after a group");
  CHECK(complaint([&] { cursor.name("a level"); }) == "f:2:3: found ';', expected a level");
  CHECK(complaint([&] { expect_end(cursor, "the program"); }) ==
        "f:2:3: unexpected ';' after the program, expected the end");
  CHECK(complaint([] { TextCursor("f", "a ").expect(")", "after a group"); }) ==
        "f:1:1: found 'a', expected ')' after a group");
  CHECK(complaint([] { TextCursor("f", " ").name("a level"); }) ==
        "f:1:2: found the end, expected a level");
}

TEST_CASE("an integer is read exactly or refused with its range") {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  CHECK(TextCursor("f", "18446744073709551615").integer("n", 0, most) == most);
  CHECK(TextCursor("f", "0007").integer("n", 0, 9) == 7);
  const auto refused = [](std::string_view text, std::uint64_t low, std::uint64_t high) {
    return complaint([&] { TextCursor("f", text).integer("a size", low, high); });
  };
  CHECK(refused("18446744073709551616", 0, most) ==
        "f:1:1: found 18446744073709551616, expected a size from 0 to 18446744073709551615");
  CHECK(refused(" 11", 1, 10) == "f:1:2: found 11, expected a size from 1 to 10");
  CHECK(refused("0", 1, 10) == "f:1:1: found 0, expected a size from 1 to 10");
  CHECK(refused("-1", 1, 10) == "f:1:1: found '-', expected a size from 1 to 10");
  CHECK(refused("", 1, 10) == "f:1:1: found the end, expected a size from 1 to 10");
}

TEST_CASE("an integer above a bound of one digit is refused") {
  CHECK(complaint([] { TextCursor("f", "7").integer("a size", 0, 3); }) ==
        "f:1:1: found 7, expected a size from 0 to 3");
}

TEST_CASE("an error is one line, whatever the input held") {
  const std::string message = complaint([] { TextCursor("f\n", "a").fail("b\x1b\n"); });
  CHECK(message == "f\\u{a}:1:1: b\\u{1b}\\u{a}");
}

TEST_CASE("the first byte that is not UTF-8") {
  for (const std::string good :
       {"", "ASCII \x7f", "\xc2\x80 \xc3\xa9 \xdf\xbf", "\xe0\xa0\x80 \xe2\x88\x80",
        "\xed\x9f\xbf \xee\x80\x80", "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"}) {
    CAPTURE(good);
    CHECK(first_not_utf8(good) == good.size());
    for (const std::string bad :
         {"\x80", "\xff", "\xe9t", "\xc3", "\xc3(", "\xe2\x88", "\xe2\x88(",
          "\xf0\x9f\x98",                                              // torn
          "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",  // longer than needed
          "\xed\xa0\x80", "\xed\xbf\xbf",                              // surrogates
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {                   // beyond U+10FFFF
      CAPTURE(bad);
      CHECK(first_not_utf8(good + bad) == good.size());
      CHECK(first_not_utf8(good + bad + " and more") == good.size());
    }
  }
}

}  // namespace p2
