#include "engine/topology/system.h"

#include <doctest/doctest.h>
#include <string>

#include "tests/file_bytes.h"
#include "tests/base/complaint.h"

namespace p2 {
namespace {

const std::string kShipped[] = {"a100-2nodes",      "a100-4nodes",       "v100-2nodes",
                                "v100-4nodes",      "dgx-h100-superpod", "figure2a-rack",
                                "p3.8xlarge-5nodes"};

System shipped(const std::string& name) {
  const std::string path = std::string(P2_SOURCE_DIR) + "/examples/systems/" + name + ".json";
  return parse_system(path, bytes_of(path));
}

std::string text_complaint(const std::string& text) {
  return complaint([&] { parse_system("f", text); });
}

/// A system of one level whose interconnects are `links`, which start at line 3, column 1.
std::string with_links(const std::string& links) {
  return "{\"name\": \"s\", \"hierarchy\": [{\"name\": \"gpu\", \"size\": 8}], "
         "\"interconnects\":\n[\n" +
         links + "]}";
}

std::string link_complaint(const std::string& members) {
  return text_complaint(with_links("{" + members + "}"));
}

}  // namespace

TEST_CASE("every shipped system is read, carries its file's name and survives a round trip") {
  for (const std::string& name : kShipped) {
    const System system = shipped(name);
    CHECK(system.name == name);
    CHECK_FALSE(system.interconnects.empty());
    CHECK(parse_system("again", to_json(system)) == system);
  }
}

TEST_CASE("shipped systems have the devices and bandwidths of the paper") {
  CHECK(to_string(shipped("a100-2nodes").hierarchy) == "node=2,gpu=16");
  CHECK(to_string(shipped("a100-4nodes").hierarchy) == "node=4,gpu=16");
  CHECK(to_string(shipped("v100-2nodes").hierarchy) == "node=2,gpu=8");
  CHECK(to_string(shipped("v100-4nodes").hierarchy) == "node=4,gpu=8");
  CHECK(to_string(shipped("figure2a-rack").hierarchy) == "rack=1,server=2,cpu=2,gpu=4");
  CHECK(shipped("dgx-h100-superpod").hierarchy.devices() == 256);
  for (const std::string name : {"a100-2nodes", "a100-4nodes"}) {
    const auto links = shipped(name).interconnects;
    REQUIRE(links.size() == 3);
    CHECK(links[0] == Interconnect{"NVSwitch", InterconnectKind::Switch, "gpu", 16, 270'000'000'000,
                                   0, Duplex::Full});
    CHECK(links[1] == Interconnect{"NIC", InterconnectKind::SharedNic, "gpu", 16, 8'000'000'000, 0,
                                   Duplex::Full});
  }
  for (const std::string name : {"v100-2nodes", "v100-4nodes"}) {
    const auto links = shipped(name).interconnects;
    REQUIRE(links.size() == 6);
    CHECK(links[0] == Interconnect{"NVLink ring", InterconnectKind::Ring, "gpu", 8, 135'000'000'000,
                                   0, Duplex::Full});
    CHECK(links[1] == Interconnect{"PCIe switch", InterconnectKind::Switch, "gpu", 2,
                                   32'000'000'000, 0, Duplex::Full});
    CHECK(links[2] == Interconnect{"CPU memory", InterconnectKind::SharedMedium, "gpu", 4,
                                   8'000'000'000, 0, Duplex::Full});
    CHECK(links[4] == Interconnect{"NIC", InterconnectKind::SharedNic, "gpu", 8, 8'000'000'000, 0,
                                   Duplex::Full});
  }
}

TEST_CASE("an interconnect spans its whole level, at no latency and full duplex, unless told") {
  const std::string required =
      R"("name": "N", "kind": "ring", "level": "gpu", "bandwidth": "1 B/s")";
  const System plain = parse_system("f", with_links("{" + required + "}"));
  REQUIRE(plain.interconnects.size() == 1);
  CHECK(plain.interconnects[0] ==
        Interconnect{"N", InterconnectKind::Ring, "gpu", 8, 1, 0, Duplex::Full});
  const System full = parse_system(
      "f", with_links("{" + required + R"(, "span": 2, "latency": "0.3 ns", "duplex": "half"})"));
  CHECK(full.interconnects[0] ==
        Interconnect{"N", InterconnectKind::Ring, "gpu", 2, 1, 300, Duplex::Half});
  CHECK(parse_system("again", to_json(full)) == full);
}

TEST_CASE("a system without interconnects is a system") {
  const System system = parse_system(
      "f", R"({"$schema": "s", "name": "\"é\"", "hierarchy": [{"size": 3, "name": "a"}]})");
  CHECK(system.name == "\"é\"");
  CHECK(system.interconnects.empty());
  CHECK(parse_system("again", to_json(system)) == system);
}

TEST_CASE("a mistake in the hierarchy is told where it is") {
  const auto refused = [](const std::string& levels) {
    return text_complaint("{\"name\": \"s\", \"hierarchy\":\n" + levels + "}");
  };
  const std::string range = ", expected a whole number from 1 to 1048576";
  CHECK(refused("[]") == "f:2:1: a hierarchy without levels, expected at least one");
  CHECK(refused("4") == "f:2:1: the hierarchy is a number, expected an array");
  CHECK(refused("[4]") == "f:2:2: a level is a number, expected an object");
  CHECK(refused(R"([{"name": "a"}])") == "f:2:2: a level lacks the key \"size\"");
  CHECK(refused(R"([{"size": 4}])") == "f:2:2: a level lacks the key \"name\"");
  CHECK(refused(R"([{"name": 7, "size": 4}])") ==
        "f:2:11: the name of a level is a number, expected a string");
  CHECK(refused(R"([{"name": "a", "size": 0}])") == "f:2:24: the size of a level is 0" + range);
  CHECK(refused(R"([{"name": "a", "size": 1000000000000}])") ==
        "f:2:24: the size of a level is 1000000000000" + range);
  CHECK(refused(R"([{"name": "a", "size": "4"}])") ==
        "f:2:24: the size of a level is a string" + range);
  CHECK(refused(R"([{"name": "a", "size": 1024}, {"name": "b", "size": 1025}])") ==
        "f:2:1: too many devices, expected at most 1048576");
  CHECK(refused(R"([{"name": "a", "size": 2}, {"name": "a", "size": 2}])") ==
        "f:2:1: two levels are named a, expected different names");
  CHECK(refused(R"([{"name": "a", "size": 2, "sise": 2}])") ==
        "f:2:27: unknown key \"sise\" in a level, expected one of name, size");
}

TEST_CASE("a mistake in a system's own keys is told where it is") {
  CHECK(text_complaint("[]") == "f:1:1: a system is an array, expected an object");
  CHECK(text_complaint("{}") == "f:1:1: a system lacks the key \"name\"");
  CHECK(text_complaint("{\"name\": \"s\"}") == "f:1:1: a system lacks the key \"hierarchy\"");
  CHECK(text_complaint("{\"name\": \"\"}") ==
        "f:1:10: the name of a system is empty, expected text");
  CHECK(text_complaint("{\"description\": 1}") ==
        "f:1:17: the description of a system is a number, expected a string");
  CHECK(text_complaint("{\"name\": \"s\",\n\"name\": \"t\"}") ==
        "f:2:1: duplicate key \"name\" in an object");
  CHECK(text_complaint("{\"names\": \"s\"}") ==
        "f:1:2: unknown key \"names\" in a system, expected one of $schema, name, description, "
        "hierarchy, interconnects");
  CHECK(text_complaint("{\"name\": \"s\"") ==
        "f:1:13: found the end of the text, expected ',' or '}'");
}

TEST_CASE("a mistake in an interconnect is told where it is") {
  const std::string start = R"("level": "gpu", "name": "N", "kind": "switch", "bandwidth": )";
  CHECK(link_complaint("") == "f:3:1: an interconnect lacks the key \"level\"");
  CHECK(link_complaint(R"("level": "gpu")") ==
        "f:3:1: an interconnect lacks the key \"bandwidth\"");
  CHECK(link_complaint(R"("level": "cpu")") ==
        "f:3:11: no level is named \"cpu\", expected a level of the hierarchy gpu=8");
  CHECK(link_complaint(R"("lanes": 2)") ==
        "f:3:2: unknown key \"lanes\" in an interconnect, expected one of name, kind, level, span, "
        "bandwidth, latency, duplex");
  CHECK(link_complaint(start + "8") ==
        "f:3:62: the bandwidth of an interconnect is a number, expected a string");
  CHECK(link_complaint(start + "\"8 GiB/s\"") ==
        "f:3:62: \"8 GiB/s\" is no bandwidth, expected one such as 270 GB/s or 100 Gbit/s");
  CHECK(link_complaint(R"("level": "gpu", "bandwidth": "1 B/s", "name": "N", "kind": "bus")") ==
        "f:3:61: the kind of an interconnect is \"bus\", expected one of switch, ring, shared-nic, "
        "shared-medium");
  const std::string complete = start + "\"8 GB/s\", ";
  CHECK(link_complaint(complete + "\"span\": 3") ==
        "f:3:80: the span of an interconnect is 3, expected a divisor of 8, the size of level gpu");
  CHECK(link_complaint(complete + "\"span\": 16") ==
        "f:3:80: the span of an interconnect is 16, expected a whole number from 1 to 8");
  CHECK(link_complaint(complete + "\"span\": 0") ==
        "f:3:80: the span of an interconnect is 0, expected a whole number from 1 to 8");
  CHECK(link_complaint(complete + "\"latency\": \"0.0001 ns\"") ==
        "f:3:83: the latency \"0.0001 ns\" is not exact, expected a whole number of picoseconds");
  CHECK(link_complaint(complete + "\"duplex\": \"both\"") ==
        "f:3:82: the duplex of an interconnect is \"both\", expected one of full, half");
  const std::string link = "{" + complete + "\"span\": 8}";
  CHECK(text_complaint(with_links(link + ",\n" + link)) ==
        "f:4:1: two interconnects are named \"N\", expected different names");
}

}  // namespace p2
