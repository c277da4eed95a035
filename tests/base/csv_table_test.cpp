#include "engine/base/text_cursor.h"

#include <doctest/doctest.h>

#include "tests/base/complaint.h"

using namespace p2;

TEST_CASE("a table has named columns; comments, blank lines and blanks around values are skipped") {
  const CsvTable table("t.csv", "# times\r\n\naxes , seconds\n\"2,16\", 0.25\r\n# more\n32,1e-3");
  REQUIRE(table.rows() == 2);
  CHECK(table.text(0, "axes") == "2,16");
  CHECK(table.positive(0, "seconds") == 0.25);
  CHECK(table.text(1, "axes") == "32");
  CHECK(table.positive(1, "seconds") == 0.001);
  CHECK(table.has("axes"));
  CHECK(!table.has("bytes"));
  CHECK(table.position(1) == SourcePosition{"t.csv", 6, 1});
}

TEST_CASE("empty values are values, also at the end of a line") {
  const CsvTable table("t.csv", "a,b,c\n,\"\",");
  CHECK(table.text(0, "a").empty());
  CHECK(table.text(0, "b").empty());
  CHECK(table.text(0, "c").empty());
}

TEST_CASE("what is no table is refused with its line") {
  const auto refused = [](const char* text) {
    return complaint([text] {
      const CsvTable table("t.csv", text);
      table.only_columns({"a", "b"});
      if (table.rows() > 0) table.positive(0, "a");
    });
  };
  CHECK(refused("# nothing\n") == "t.csv: no table, expected a line of column names");
  CHECK(refused("a,b\n1\n") == "t.csv:2:1: 1 values, expected 2: a, b");
  CHECK(refused("a,b\n1,2,3\n") == "t.csv:2:1: 3 values, expected 2: a, b");
  CHECK(refused("a,a\n") == "t.csv:1:1: two columns are named \"a\", expected different names");
  CHECK(refused("a,z\n") == "t.csv:1:1: unknown column \"z\", expected a, b");
  CHECK(refused("b\n1\n") == "t.csv:1:1: no column \"a\", expected one");
  CHECK(refused("a\n\"1\n") == "t.csv:2:1: a quote is not closed, expected another \"");
  CHECK(refused("a\n\"1\"2\n") == "t.csv:2:1: text after a closing quote, expected a comma");
  for (const char* number : {"", "x", "1x", "-1", "0", "inf", "nan", "0x10", "1e999"}) {
    CHECK(refused((std::string("a,b\n") + number + ",1").c_str()) ==
          "t.csv:2:1: the a \"" + std::string(number) +
              "\" is not a positive number, expected one such as 0.25");
  }
}
