#include "engine/collective/device_state.h"

#include <set>

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace p2;

namespace {

using Set = std::set<std::uint32_t>;

IndexSetId store(IndexSetTable& table, const Set& set) {
  const std::vector<std::uint32_t> members(set.begin(), set.end());
  return table.of(members);
}

Set members(const IndexSetTable& table, IndexSetId id) {
  Set set;
  for (const Run& run : table.runs(id)) {
    for (std::uint32_t index = run.begin; index < run.end; ++index) set.insert(index);
  }
  return set;
}

Set random_set(std::uint32_t most) {
  return *rc::gen::container<Set>(rc::gen::inRange<std::uint32_t>(0, most));
}

}  // namespace

TEST_CASE("equal sets have equal ids and runs are maximal") {
  IndexSetTable table;
  const IndexSetId a = store(table, {1, 2, 3, 7});
  CHECK(table.runs(a).size() == 2);
  CHECK(table.size(a) == 4);
  const IndexSetId parts[] = {table.range(7, 8), table.range(1, 4)};
  CHECK(table.unite(parts) == a);
  CHECK(table.range(5, 5) == 0);
  CHECK(table.size(0) == 0);
}

TEST_CASE("the operations agree with sets of numbers") {
  CHECK(rc::check("index sets against std::set", [] {
    const auto most = *rc::gen::element<std::uint32_t>(8, 40, 200, 3000);
    IndexSetTable table;
    const Set a = random_set(most);
    const Set b = random_set(most);
    const Set c = random_set(most);
    const IndexSetId ids[] = {store(table, a), store(table, b), store(table, c)};
    Set all = a;
    all.insert(b.begin(), b.end());
    all.insert(c.begin(), c.end());
    Set common;
    Set rest;
    for (const std::uint32_t index : a) (b.contains(index) ? common : rest).insert(index);
    RC_ASSERT(members(table, table.unite(ids)) == all);
    RC_ASSERT(table.unite(ids) == store(table, all));
    RC_ASSERT(members(table, table.intersect(ids[0], ids[1])) == common);
    RC_ASSERT(members(table, table.subtract(ids[0], ids[1])) == rest);
    RC_ASSERT(table.subset(ids[0], ids[1]) == rest.empty());
    const auto first = *rc::gen::inRange<std::size_t>(0, a.size() + 1);
    const auto count = *rc::gen::inRange<std::size_t>(0, a.size() - first + 1);
    const auto begin = std::next(a.begin(), static_cast<std::ptrdiff_t>(first));
    const Set slice(begin, std::next(begin, static_cast<std::ptrdiff_t>(count)));
    RC_ASSERT(members(table, table.slice(ids[0], static_cast<std::uint32_t>(first),
                                         static_cast<std::uint32_t>(count))) == slice);
  }));
}

TEST_CASE("sets that stride over a large range are united exactly") {
  IndexSetTable table;
  std::vector<IndexSetId> strides;
  for (std::uint32_t offset = 0; offset < 64; ++offset) {
    std::vector<std::uint32_t> stride;
    for (std::uint32_t i = 0; i < 64; ++i) stride.push_back(i * 64 + offset);
    strides.push_back(table.of(stride));
  }
  CHECK(table.unite(strides) == table.range(0, 4096));
  strides.erase(strides.begin() + 5);
  const IndexSetId all_but_one = table.unite(strides);
  CHECK(table.size(all_but_one) == 4096 - 64);
  CHECK(table.runs(all_but_one).size() == 65);
}
