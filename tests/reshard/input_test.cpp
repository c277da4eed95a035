#include <set>

#include <doctest/doctest.h>

#include "engine/reshard/sharding.h"
#include "p2/error.h"

using namespace p2;

namespace {

Slice slice(std::vector<std::int64_t> low, std::vector<std::int64_t> high,
            std::vector<std::uint32_t> hosts) {
  return {std::move(low), std::move(high), std::move(hosts)};
}

bool operator==(const Slice& a, const Slice& b) {
  return a.low == b.low && a.high == b.high && a.hosts == b.hosts;
}

void check_slices(const char* spec, const TensorShape& shape, const std::vector<Slice>& expected) {
  CAPTURE(spec);
  const auto slices = slices_of(shape, parse_sharding("spec", spec, shape.size()));
  REQUIRE(slices.size() == expected.size());
  for (std::size_t i = 0; i < slices.size(); ++i) CHECK(slices[i] == expected[i]);
}

/// Which hosts hold each element of a tensor of two dimensions.
std::vector<std::set<std::uint32_t>> holders(const TensorShape& shape, const Sharding& sharding) {
  std::vector<std::set<std::uint32_t>> held(static_cast<std::size_t>(shape[0] * shape[1]));
  for (const Slice& each : slices_of(shape, sharding)) {
    for (std::int64_t i = each.low[0]; i < each.high[0]; ++i) {
      for (std::int64_t j = each.low[1]; j < each.high[1]; ++j) {
        held[static_cast<std::size_t>(i * shape[1] + j)].insert(each.hosts.begin(),
                                                                each.hosts.end());
      }
    }
  }
  return held;
}

}  // namespace

TEST_CASE("slices, worked out by hand") {
  check_slices("2x2:R", {6}, {slice({0}, {6}, {0, 1})});
  check_slices("2x2:S0", {6}, {slice({0}, {3}, {0}), slice({3}, {6}, {1})});
  check_slices("2x2:S1", {6}, {slice({0}, {3}, {0, 1}), slice({3}, {6}, {0, 1})});
  check_slices(
      "2x2:S01", {4},
      {slice({0}, {1}, {0}), slice({1}, {2}, {0}), slice({2}, {3}, {1}), slice({3}, {4}, {1})});
  check_slices(
      "2x2:S10", {4},
      {slice({0}, {1}, {0}), slice({1}, {2}, {1}), slice({2}, {3}, {0}), slice({3}, {4}, {1})});
  check_slices("2x2:S1,S0", {2, 4},
               {slice({0, 0}, {1, 2}, {0}), slice({0, 2}, {1, 4}, {1}), slice({1, 0}, {2, 2}, {0}),
                slice({1, 2}, {2, 4}, {1})});
  // Uneven: shards of ⌈5/4⌉ = 2, of which the third is shorter and the last is empty.
  check_slices("4x1:S0", {5}, {slice({0}, {2}, {0}), slice({2}, {4}, {1}), slice({4}, {5}, {2})});
}

TEST_CASE("padding makes both meshes divide evenly") {
  const Sharding from = parse_sharding("from", "2x4:S0,S1", 2);
  const Sharding to = parse_sharding("to", "3x4:S0,R", 2);
  CHECK(padded({1024, 8}, from, to, "shape") == TensorShape{1026, 8});
  CHECK(padded({1, 9}, from, to, "shape") == TensorShape{6, 12});
}

TEST_CASE("tasks of two decompositions, worked out by hand") {
  const Sharding from = parse_sharding("from", "2x1:S0,R", 2);
  const Sharding to = parse_sharding("to", "2x2:S1,S0", 2);
  CHECK(decompose({4, 6}, from, to, Decomposition::Intersection, "shape") ==
        UnitTasks{{6, {0}, {0}}, {6, {0}, {1}}, {6, {1}, {0}}, {6, {1}, {1}}});
  CHECK(decompose({4, 6}, from, to, Decomposition::Source, "shape") ==
        UnitTasks{{12, {0}, {0, 1}}, {12, {1}, {0, 1}}});
}

TEST_CASE("tasks move what the slices of the destination need; slices leave nothing out") {
  const char* const specs[] = {"2x2:R,R",   "2x2:S0,R", "2x3:S1,S0", "3x2:R,S01",
                               "2x2:S10,R", "3x1:R,S0", "1x4:S1,R",  "4x2:S0,S1"};
  for (const TensorShape& shape : {TensorShape{4, 6}, TensorShape{5, 7}, TensorShape{1, 3}}) {
    for (const char* source : specs) {
      for (const char* destination : specs) {
        const Sharding from = parse_sharding("from", source, 2);
        const Sharding to = parse_sharding("to", destination, 2);
        const auto tasks = decompose(shape, from, to, Decomposition::Intersection, "shape");
        std::int64_t moved = 0;
        for (const UnitTask& task : tasks) {
          moved += task.size * static_cast<std::int64_t>(task.receiver_hosts.size());
        }
        std::int64_t needed = 0;
        for (const Slice& each : slices_of(shape, to)) {
          needed += each.elements() * static_cast<std::int64_t>(each.hosts.size());
        }
        CHECK(moved == needed);
        for (const auto& hosts : holders(shape, from)) CHECK(!hosts.empty());
        for (const auto& hosts : holders(shape, to)) CHECK(!hosts.empty());
      }
    }
  }
}

TEST_CASE("tasks are read, hosts in any order") {
  const UnitTasks tasks =
      read_tasks("t", R"({"tasks":[{"size":3,"sender_hosts":[2,1],"receiver_hosts":[0]},
                        {"size":1,"sender_hosts":[0],"receiver_hosts":[7,0]}]})");
  CHECK(tasks == UnitTasks{{3, {1, 2}, {0}}, {1, {0}, {0, 7}}});
}

TEST_CASE("mistakes in a file of tasks are told with their place") {
  const std::pair<const char*, const char*> bad[] = {
      {R"({})", "t:1:1: "},
      {R"({"tasks":[]})", "t:1:10: no task"},
      {R"({"tasks":[],"hosts":2})", "t:1:13: "},
      {R"({"tasks":[{"size":0,"sender_hosts":[1],"receiver_hosts":[0]}]})", "t:1:19: "},
      {R"({"tasks":[{"size":1.5,"sender_hosts":[1],"receiver_hosts":[0]}]})", "t:1:19: "},
      {R"({"tasks":[{"size":1,"sender_hosts":[],"receiver_hosts":[0]}]})", "t:1:36: no host"},
      {R"({"tasks":[{"size":1,"sender_hosts":[1,1],"receiver_hosts":[0]}]})",
       "t:1:39: duplicate host 1"},
      {R"({"tasks":[{"size":1,"sender_hosts":[1],"receiver_hosts":[-1]}]})", "t:1:58: "},
      {R"({"tasks":[{"size":1,"sender_hosts":[1]}]})", "t:1:11: "},
      {R"({"tasks":[{"size":1,"sender_hosts":[1],"receiver_hosts":[0],"to":1}]})", "t:1:61: "},
  };
  for (const auto& [text, message] : bad) {
    CAPTURE(text);
    try {
      read_tasks("t", text);
      FAIL("no error");
    } catch (const InputError& error) {
      CAPTURE(error.what());
      CHECK(std::string(error.what()).rfind(message, 0) == 0);
    }
  }
}
