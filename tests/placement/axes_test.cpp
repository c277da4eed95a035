#include "engine/placement/axes.h"

#include <doctest/doctest.h>

#include "tests/base/complaint.h"

using namespace p2;

TEST_CASE("axes are read with and without names and printed back") {
  CHECK(to_string(parse_axes("--axes", "8,4")) == "a0=8,a1=4");
  const Axes named = parse_axes("--axes", "data=8, shard=4");
  CHECK(to_string(named) == "data=8,shard=4");
  CHECK(parse_axes("--axes", to_string(named)) == named);
}

TEST_CASE("reduction axes are a set of indices or names") {
  const Axes axes = parse_axes("--axes", "data=2,pipe=2,shard=4");
  CHECK(parse_reduction("--reduce", "2,0", axes) == ReductionAxes{0, 2});
  CHECK(parse_reduction("--reduce", "shard,data", axes) == ReductionAxes{0, 2});
  CHECK(parse_reduction("--reduce", "1", axes) == ReductionAxes{1});
}

TEST_CASE("wrong axes are refused where they stand") {
  const Axes axes = parse_axes("--axes", "data=2,shard=4");
  CHECK(complaint([] { parse_axes("--axes", "8,0"); }) ==
        "--axes:1:3: found 0, expected the size of an axis from 1 to 1048576");
  CHECK(complaint([] { parse_axes("--axes", "a=2,a=4"); }) ==
        "--axes:1:1: two axes are called a, expected distinct names");
  CHECK(complaint([] { parse_axes("--axes", "a.b=2"); }) ==
        "--axes:1:1: \"a.b\" cannot name an axis, expected letters, digits, '_' and '-', starting "
        "with a letter or '_'");
  CHECK(complaint([&] { parse_reduction("--reduce", "0,data", axes); }) ==
        "--reduce:1:3: axis data is listed twice, expected each axis once");
  CHECK(complaint([&] { parse_reduction("--reduce", "2", axes); }) ==
        "--reduce:1:1: found 2, expected the index of a reduction axis from 0 to 1");
  CHECK(complaint([&] { parse_reduction("--reduce", "batch", axes); }) ==
        "--reduce:1:1: no axis is called 'batch', expected one of data=2,shard=4");
}
