#include "engine/topology/hierarchy.h"

#include <doctest/doctest.h>
#include <string>

#include "tests/base/complaint.h"

namespace p2 {
namespace {

std::string parse_complaint(std::string_view text) {
  return complaint([text] { parse_hierarchy("--hierarchy", text); });
}

std::string build_complaint(const std::vector<Level>& levels) {
  return complaint([&] { Hierarchy(levels, {"f", 2, 3}); });
}

}  // namespace

TEST_CASE("levels without names are l0, l1, … from the outside in") {
  const Hierarchy hierarchy = parse_hierarchy("f", "4,16");
  CHECK(hierarchy.levels() == std::vector<Level>{{"l0", 4}, {"l1", 16}});
  CHECK(hierarchy.devices() == 64);
}

TEST_CASE("named levels keep their names, and blanks do not matter") {
  const Hierarchy hierarchy = parse_hierarchy("f", " rack = 1, server=2 ,c-p_u2=2,gpu=4 ");
  CHECK(hierarchy.levels() ==
        std::vector<Level>{{"rack", 1}, {"server", 2}, {"c-p_u2", 2}, {"gpu", 4}});
  CHECK(hierarchy.devices() == 16);
}

TEST_CASE("parse_hierarchy inverts to_string") {
  for (const std::string text : {"node=4,gpu=16", "only=1", "a=1,b=1,c=3", "_=1048576"}) {
    CHECK(to_string(parse_hierarchy("f", text)) == text);
  }
  const Hierarchy unnamed = parse_hierarchy("f", "2,8");
  CHECK(to_string(unnamed) == "l0=2,l1=8");
  CHECK(parse_hierarchy("f", to_string(unnamed)) == unnamed);
}

TEST_CASE("a hierarchy has a level, and every level an instance") {
  const std::string size = ", expected the size of a level from 1 to 1048576";
  CHECK(parse_complaint("") == "--hierarchy:1:1: found the end" + size);
  CHECK(parse_complaint("0") == "--hierarchy:1:1: found 0" + size);
  CHECK(parse_complaint("4,0") == "--hierarchy:1:3: found 0" + size);
  CHECK(parse_complaint("node=4,gpu=0") == "--hierarchy:1:12: found 0" + size);
  CHECK(parse_complaint("4,") == "--hierarchy:1:3: found the end" + size);
  CHECK(parse_complaint("4,-2") == "--hierarchy:1:3: found '-'" + size);
  CHECK(build_complaint({}) == "f:2:3: a hierarchy without levels, expected at least one");
  CHECK(build_complaint({{"a", 2}, {"b", 0}}) == "f:2:3: level b has size 0, expected at least 1");
}

TEST_CASE("either all levels have names or none") {
  CHECK(parse_complaint("node=4,16") == "--hierarchy:1:8: found '1', expected the name of a level");
  CHECK(parse_complaint("4,gpu=16") ==
        "--hierarchy:1:3: found 'g', expected the size of a level from 1 to 1048576");
  CHECK(parse_complaint("node") ==
        "--hierarchy:1:5: found the end, expected '=' after the name of a level");
  CHECK(parse_complaint("4 16") ==
        "--hierarchy:1:3: unexpected '1' after the hierarchy, expected the end");
}

TEST_CASE("devices are counted without overflow up to the limit and refused beyond it") {
  const std::string many = "too many devices, expected at most 1048576";
  CHECK(parse_hierarchy("f", "1024,1024").devices() == Hierarchy::kMostDevices);
  CHECK(parse_complaint("1024,1025") == "--hierarchy:1:1: " + many);
  CHECK(parse_complaint("1000,1000,1000,1000") == "--hierarchy:1:1: " + many);
  CHECK(parse_complaint("1000000000000") ==
        "--hierarchy:1:1: found 1000000000000, expected the size of a level from 1 to 1048576");
  CHECK(build_complaint({{"a", 1u << 20}, {"b", 0xffffffff}, {"c", 0xffffffff}}) ==
        "f:2:3: " + many);
  // 2^16 * 2^16 * 2^16 * 2^16 is 0 in 64 bits.
  CHECK(parse_complaint("65536,65536,65536,65536") == "--hierarchy:1:1: " + many);
}

TEST_CASE("levels of size 1 are legal, up to 64 levels in all") {
  std::string text = "2";
  for (int level = 1; level < 64; ++level) text += ",1";
  CHECK(parse_hierarchy("f", text).devices() == 2);
  CHECK(parse_complaint(text + ",1") == "--hierarchy:1:1: 65 levels, expected at most 64");
}

TEST_CASE("names of levels are distinct names without a dot, and none is root") {
  CHECK(parse_complaint("node=2,node=2") ==
        "--hierarchy:1:1: two levels are named node, expected different names");
  CHECK(parse_complaint("node=2,root=2") ==
        "--hierarchy:1:1: a level is named root, expected another name: root is reserved");
  const std::string rule =
      " cannot name a level, expected letters, digits, '_' and '-', starting with a letter or '_'";
  CHECK(parse_complaint("node.data=2") == "--hierarchy:1:1: \"node.data\"" + rule);
  for (const std::string name : {"", "1a", "-a", "a b", "a.b", "gpü", "a=b", "a,b"}) {
    CHECK(build_complaint({{name, 2}}) == "f:2:3: \"" + name + "\"" + rule);
  }
  CHECK(build_complaint({{"_", 2}, {"Root", 2}, {"a-1", 2}}) == "no complaint");
}

}  // namespace p2
