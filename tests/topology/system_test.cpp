#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "engine/topology/system.h"
#include "tests/base/complaint.h"
#include "tests/file_bytes.h"

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
  CHECK(parse_hierarchy("f", "1024,1024").devices() == Hierarchy::kMaxDevices);
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

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t bandwidth(std::string_view text) { return parse_bandwidth(text, {"f", 2, 3}); }
std::int64_t latency(std::string_view text) { return parse_latency(text, {"f", 2, 3}); }

std::string bandwidth_complaint(std::string_view text) {
  return complaint([text] { bandwidth(text); });
}
std::string latency_complaint(std::string_view text) {
  return complaint([text] { latency(text); });
}

}  // namespace

TEST_CASE("bandwidths are read exactly, in decimal prefixes of bytes and bits") {
  CHECK(bandwidth("270 GB/s") == 270'000'000'000);
  CHECK(bandwidth("12.5 GB/s") == 12'500'000'000);
  CHECK(bandwidth("100 Gbit/s") == 12'500'000'000);
  CHECK(bandwidth("0.1 GB/s") == 100'000'000);
  CHECK(bandwidth("1.6 Tbit/s") == 200'000'000'000);
  CHECK(bandwidth("1 B/s") == 1);
  CHECK(bandwidth("1 KB/s") == 1'000);
  CHECK(bandwidth("1 MB/s") == 1'000'000);
  CHECK(bandwidth("1 TB/s") == 1'000'000'000'000);
  CHECK(bandwidth("8 bit/s") == 1);
  CHECK(bandwidth("1 Kbit/s") == 125);
  CHECK(bandwidth("1 Mbit/s") == 125'000);
  CHECK(bandwidth("8GB/s") == 8'000'000'000);
  CHECK(bandwidth("008.500   GB/s") == 8'500'000'000);
  CHECK(bandwidth("1.000000000000 B/s") == 1);
}

TEST_CASE("latencies are read exactly") {
  CHECK(latency("700 ns") == 700'000);
  CHECK(latency("0.3 ns") == 300);
  CHECK(latency("1.5 us") == 1'500'000);
  CHECK(latency("0.001 ns") == 1);
  CHECK(latency("5 ps") == 5);
  CHECK(latency("2 ms") == 2'000'000'000);
  CHECK(latency("1 s") == 1'000'000'000'000);
  CHECK(latency("0 ns") == 0);
  CHECK(latency("0.0000 ns") == 0);
}

TEST_CASE("a quantity that is not a whole number of units is refused") {
  CHECK(latency_complaint("0.0001 ns") ==
        "f:2:3: the latency \"0.0001 ns\" is not exact, expected a whole number of picoseconds");
  CHECK(bandwidth_complaint("1.5 B/s") ==
        "f:2:3: the bandwidth \"1.5 B/s\" is not exact, expected a whole number of bytes per "
        "second");
  CHECK(bandwidth_complaint("100 bit/s") ==
        "f:2:3: the bandwidth \"100 bit/s\" is not exact, expected a whole number of bytes per "
        "second");
}

TEST_CASE("a quantity is read up to 2^63 - 1 and refused beyond it") {
  CHECK(bandwidth("9223372036854775807 B/s") == kMost);
  CHECK(latency("9223372.036854775807 s") == kMost);
  for (const std::string text : {"9223372036854775808 B/s", "9223372036854775808 TB/s",
                                 "18446744073709551617 B/s", "99999999999999999999 bit/s"}) {
    CHECK(bandwidth_complaint(text) == "f:2:3: the bandwidth \"" + text +
                                           "\" is too large, expected less than 2^63 bytes per "
                                           "second");
  }
  CHECK(latency_complaint("9223372.036854775808 s") ==
        "f:2:3: the latency \"9223372.036854775808 s\" is too large, expected less than 2^63 "
        "picoseconds");
}

TEST_CASE("what is no quantity is refused with an example of one") {
  for (const std::string text :
       {"", "270", "GB/s", "270 GiB/s", "270 gb/s", "270 GB", "270 GB/s ", " 270 GB/s", "-1 GB/s",
        "+1 GB/s", "1. GB/s", ".5 GB/s", "1e3 GB/s", "1,5 GB/s", "1 2 GB/s", "0x1 GB/s", "700 ns",
        "nan GB/s"}) {
    CHECK(bandwidth_complaint(text) ==
          "f:2:3: \"" + text +
              "\" is not a bandwidth, expected one such as 270 GB/s or 100 Gbit/s");
  }
  for (const std::string text : {"", "700", "ns", "700 NS", "1 min", "-1 ns", "270 GB/s"}) {
    CHECK(latency_complaint(text) ==
          "f:2:3: \"" + text + "\" is not a latency, expected one such as 700 ns or 1.5 us");
  }
}

TEST_CASE("a bandwidth is positive") {
  CHECK(bandwidth_complaint("0.0 GB/s") ==
        "f:2:3: the bandwidth \"0.0 GB/s\" is zero, expected more");
}

TEST_CASE("quantities are written in their shortest notation") {
  CHECK(bandwidth_to_string(270'000'000'000) == "270 GB/s");
  CHECK(bandwidth_to_string(12'500'000'000) == "12.5 GB/s");
  CHECK(bandwidth_to_string(1'125'000'000) == "9 Gbit/s");
  CHECK(bandwidth_to_string(500'000'000) == "500 MB/s");
  CHECK(bandwidth_to_string(1) == "1 B/s");
  CHECK(latency_to_string(0) == "0 s");
  CHECK(latency_to_string(300) == "300 ps");
  CHECK(latency_to_string(700'000) == "700 ns");
  CHECK(latency_to_string(1'500'000) == "1.5 us");
}

TEST_CASE("parsing inverts writing") {
  std::uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto value = static_cast<std::int64_t>((state >> 1) >> (round % 63));
    CHECK(latency(latency_to_string(value)) == value);
    if (value > 0) CHECK(bandwidth(bandwidth_to_string(value)) == value);
  }
  for (std::int64_t value = 1; value < kMost / 10; value *= 10) {
    for (const std::int64_t near : {value - 1, value, value + 1, value * 5}) {
      CHECK(latency(latency_to_string(near)) == near);
      if (near > 0) CHECK(bandwidth(bandwidth_to_string(near)) == near);
    }
  }
  CHECK(latency(latency_to_string(kMost)) == kMost);
  CHECK(bandwidth(bandwidth_to_string(kMost)) == kMost);
}

namespace {

const std::string kShipped[] = {
    "a100-2nodes",       "a100-4nodes",           "v100-2nodes",        "v100-4nodes",
    "dgx-h100-superpod", "figure2a-rack",         "p3.8xlarge-5nodes",  "dgx-1v-2nodes",
    "dgx-a100-4nodes",   "dgx-h100-1node",        "dgx-h100-2nodes",    "dgx-h100-4nodes",
    "dgx-h100-8nodes",   "dgx-h100-16nodes",      "dgx-h100-32nodes",   "hgx-h200-8nodes",
    "dgx-b200-8nodes",   "gb200-nvl72",           "gb200-nvl72-8racks", "aws-p4d-4nodes",
    "aws-p5-4nodes",     "gcp-a3-megagpu-4nodes", "mi300x-4nodes",      "perlmutter-4nodes"};

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

TEST_CASE("a GPU and a fabric are named together, and only a switch reduces") {
  const System h100 = shipped("dgx-h100-4nodes");
  CHECK(h100.gpu == "H100-SXM");
  CHECK(h100.fabric == "ib-ndr");
  CHECK(h100.interconnects[0].reduces);
  CHECK_FALSE(h100.interconnects[1].reduces);
  const auto with_keys = [](const std::string& keys) {
    return text_complaint("{\"name\": \"s\", " + keys +
                          "\"hierarchy\": [{\"name\": \"gpu\", \"size\": 8}]}");
  };
  CHECK(with_keys(R"("gpu": "H100", )").find("a gpu without a fabric") != std::string::npos);
  CHECK(with_keys(R"("fabric": "efa", )").find("a fabric without a gpu") != std::string::npos);
  CHECK(with_keys(R"("gpu": "", "fabric": "efa", )").find("expected text") != std::string::npos);
  CHECK(link_complaint(R"("name": "N", "kind": "ring", "level": "gpu", "bandwidth": "1 B/s",
                          "reduces": true)")
            .find("only a switch reduces") != std::string::npos);
}

TEST_CASE("rails and oversubscription: of one switch, in a system that names its GPU") {
  const auto system = [](const std::string& gpu, const std::string& links) {
    return "{\"name\": \"s\", " + gpu +
           "\"hierarchy\": [{\"name\": \"node\", \"size\": 4}, {\"name\": \"gpu\", \"size\": 8}],\n"
           "\"interconnects\": [" +
           links + "]}";
  };
  const std::string named = R"("gpu": "H100-SXM", "fabric": "ib-ndr", )";
  const auto leaf = [](const std::string& keys, const std::string& name = "leaf",
                       const std::string& kind = "switch") {
    return R"({"level": "node", "bandwidth": "1 GB/s", "name": ")" + name + R"(", "kind": ")" +
           kind + "\"" + keys + "}";
  };
  const System read = parse_system(
      "f", system(named, leaf(R"(, "span": 2, "rails": true, "oversubscription": "3:2")")));
  CHECK(read.interconnects[0].rails);
  CHECK(read.interconnects[0].oversubscription == Oversubscription{3, 2});
  CHECK(parse_system("f", to_json(read)) == read);
  const System plain = parse_system("f", system(named, leaf("")));
  CHECK(!plain.interconnects[0].rails);
  CHECK(plain.interconnects[0].oversubscription == Oversubscription{1, 1});
  CHECK(to_json(plain).find("rails") == std::string::npos);
  CHECK(parse_system("f", system(named, leaf(R"(, "rails": false, "oversubscription": "1:1")"))) ==
        plain);
  const auto complaint_of = [&](const std::string& gpu, const std::string& links) {
    return text_complaint(system(gpu, links));
  };
  for (const char* ratio : {"2", "2:", ":1", "1:2", "0:0", "2:0", "-2:1", "02:1", "2:1 ", "2 : 1",
                            "1.5:1", "4294967297:1", "2000000:1"}) {
    CHECK(complaint_of(named, leaf(std::string(R"(, "oversubscription": ")") + ratio + "\"")) ==
          "f:2:114: \"" + std::string(ratio) +
              "\" is not an oversubscription, expected down:up of at least 1:1, such as 2:1");
  }
  CHECK(complaint_of(named, leaf(R"(, "oversubscription": 2)")).find("expected a string") !=
        std::string::npos);
  CHECK(complaint_of(named, leaf(R"(, "rails": "yes")")).find("f:2:") == 0);
  CHECK(
      complaint_of(named, leaf(R"(, "rails": true)", "leaf", "shared-medium")) ==
      "f:2:19: only a switch has leaves, expected the kind switch with rails or oversubscription");
  CHECK(complaint_of("", leaf(R"(, "rails": true)")) ==
        "f:2:19: rails and oversubscription without a gpu, expected a system with gpu and fabric");
  CHECK(complaint_of(named, leaf(R"(, "rails": true)", "a") + "," +
                                leaf(R"(, "oversubscription": "2:1")", "b"))
            .find("a second switch with rails or oversubscription") != std::string::npos);
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
  CHECK(
      refused(R"([{"name": "a", "size": 2, "sise": 2}])") ==
      "f:2:27: unknown key \"sise\" in a level, expected one of name, size; did you mean 'size'?");
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
        "hierarchy, interconnects, gpu, fabric; did you mean 'name'?");
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
        "bandwidth, latency, duplex, reduces, rails, oversubscription");
  CHECK(link_complaint(start + "8") ==
        "f:3:62: the bandwidth of an interconnect is a number, expected a string");
  CHECK(link_complaint(start + "\"8 GiB/s\"") ==
        "f:3:62: \"8 GiB/s\" is not a bandwidth, expected one such as 270 GB/s or 100 Gbit/s");
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
