#include "engine/base/files.h"

#include <doctest/doctest.h>

using namespace p2;

TEST_CASE("a text is recognized by its beginning or its top-level keys") {
  CHECK(recognized_kind("# a comment\n\nhierarchy 2,4\n") == FileKind::Program);
  CHECK(recognized_kind("\xef\xbb\xbf{\"steps\": []}") == FileKind::Program);
  CHECK(recognized_kind("{\"placements\": []}") == FileKind::Programs);
  CHECK(recognized_kind("# text\ncollective X \"\"") == FileKind::Definition);
  CHECK(recognized_kind("{\"name\": \"x\", \"hierarchy\": []}") == FileKind::System);
  CHECK(recognized_kind("{\"interconnects\": 0}") == FileKind::System);
  CHECK(recognized_kind("{\"format\": \"operation-graph/1\"}") == FileKind::OperationGraph);
  CHECK(recognized_kind("{\"format\": \"pairwise-strategy-graph/1\"}") == FileKind::OperationGraph);
  CHECK(recognized_kind("{\"format\": \"reshard-plan/1\"}") == FileKind::Plan);
  CHECK(recognized_kind("{\"tasks\": []}") == FileKind::Tasks);
  CHECK(recognized_kind("{\"schema\": \"p2-verify-baseline/1\"}") == FileKind::Baseline);
  CHECK(recognized_kind(" <algo>") == FileKind::Xml);
  CHECK(recognized_kind("HloModule x") == FileKind::Module);
}

TEST_CASE("other texts are of no kind") {
  for (const char* text :
       {"", "# only a comment", "{", "{}", "[]", "{\"format\": 3}", "AllReduce", "\xff\x00"}) {
    CAPTURE(text);
    CHECK(!recognized_kind(text));
  }
}

TEST_CASE("the error names both kinds and the command; an error in the kind expected stays") {
  const auto fail = [] { throw InputError({"f", 1, 2}, "wrong"); };
  CHECK_THROWS_WITH(
      read_as({FileKind::Program}, "f", "collective X", fail),
      "f: is a definition of a collective, expected a program (see p2-verify define)");
  CHECK_THROWS_WITH(read_as({FileKind::Program}, "f", "devices x", fail), "f:1:2: wrong");
  CHECK_THROWS_WITH(
      read_as({FileKind::Program, FileKind::Programs}, "f", "{\"placements\":0}", fail),
      "f:1:2: wrong");
  CHECK_THROWS_WITH(read_as({FileKind::System}, "f", "text", fail), "f:1:2: wrong");
}
