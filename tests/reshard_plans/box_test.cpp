#include <doctest/doctest.h>

#include <random>

#include "engine/execution/plans/region.h"
#include "engine/reshard/plans/box.h"

using namespace p2::reshard;

namespace {

Box random_box(std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> pick(0, 4);
  Box box{{0, 0}, {0, 0}};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t a = pick(random);
    const std::int64_t b = pick(random);
    box.low[i] = std::min(a, b);
    box.high[i] = std::max(a, b) + 1;
  }
  return box;
}

}  // namespace

TEST_CASE("what boxes leave uncovered, element by element") {
  std::mt19937 random(1);
  std::size_t uncovered = 0;
  for (int i = 0; i < 2000; ++i) {
    const Box box = random_box(random);
    std::vector<Box> cover;
    for (int k = 0; k < i % 7; ++k) cover.push_back(random_box(random));
    const auto is_covered = [&](const Element& at) {
      return std::any_of(cover.begin(), cover.end(), [&](const Box& c) { return c.contains(at); });
    };
    bool all = true;
    for (std::int64_t a = box.low[0]; a < box.high[0]; ++a) {
      for (std::int64_t b = box.low[1]; b < box.high[1]; ++b) all = all && is_covered({a, b});
    }
    const auto rest = first_uncovered(box, cover);
    REQUIRE(rest.has_value() != all);
    if (!rest) continue;
    ++uncovered;
    CHECK(box.contains(*rest));
    CHECK(rest->elements() > 0);
    for (const Box& each : cover) CHECK(!overlap(*rest, each));
  }
  CHECK(uncovered > 500);
  CHECK(uncovered < 1900);
}

TEST_CASE("elements are counted as far as anybody has to know") {
  const std::int64_t long_side = std::int64_t{1} << 32U;
  CHECK(Box{{0, 0}, {3, 5}}.elements() == 15);
  CHECK(Box{{0, 7}, {3, 2}}.elements() == 0);
  CHECK(Box{{0}, {long_side}}.elements() == long_side);
  CHECK(Box{{0, 0}, {long_side, long_side}}.elements() == kMostCounted);
  CHECK(Box{{0, 0, 0}, {long_side, long_side / 8, 1}}.elements() == kMostCounted);
  CHECK(Box{{0, 0, 0}, {long_side, long_side / 8 - 1, 1}}.elements() == kMostCounted - long_side);
  CHECK(Box{{0, 0, 4}, {long_side, long_side, 4}}.elements() == 0);
  const Element far(16, 2'000'000'000'000);
  CHECK(Box{Element(16, -1'000'000'000'000), far}.elements() == kMostCounted);
}

TEST_CASE("split: as many parts as asked for, as equal as can be, nothing lost") {
  CHECK(split({{0, 0}, {4, 6}}, 2) == std::vector<Box>{{{0, 0}, {2, 6}}, {{2, 0}, {4, 6}}});
  CHECK(split({{0, 0}, {2, 6}}, 3).size() == 3);
  CHECK(split({{0, 0}, {2, 3}}, 5).size() == 5);
  CHECK(split({{0, 0}, {2, 3}}, 50).size() == 6);
  CHECK(split({{1}, {1}}, 3).empty());
  for (std::int64_t parts = 1; parts < 40; ++parts) {
    const Box whole{{1, 2, 0}, {4, 5, 3}};
    const auto all = split(whole, parts);
    CHECK(all.size() == std::min<std::size_t>(static_cast<std::size_t>(parts), 27));
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(whole.contains(all[i]));
      elements += all[i].elements();
      for (std::size_t j = 0; j < i; ++j) CHECK(!overlap(all[i], all[j]));
    }
    CHECK(elements == 27);
  }
}

TEST_CASE("a message is the box in row-major order, and comes to the places it names") {
  const Box region{{1, 0, 0}, {3, 2, 3}};
  std::vector<Word> buffer;
  for (Word i = 1; i <= 12; ++i) buffer.push_back(i);
  CHECK(packed(buffer.data(), region, {{1, 0, 1}, {3, 1, 3}}) == std::vector<Word>{2, 3, 8, 9});
  CHECK(packed(buffer.data(), region, {{2, 0, 0}, {3, 2, 3}}) ==
        std::vector<Word>{7, 8, 9, 10, 11, 12});
  // What is outside the buffer is nothing.
  CHECK(packed(buffer.data(), region, {{0, 0, 2}, {2, 1, 4}}) == std::vector<Word>{0, 0, 3, 0});
  std::vector<Word> other(12, 0);
  unpack(std::vector<Word>{5, 6, 7}, {{1, 0, 1}, {3, 1, 3}}, other.data(), region);
  CHECK(other == std::vector<Word>{0, 5, 6, 0, 0, 0, 0, 7, 0, 0, 0, 0});
  copy_box(buffer.data(), region, other.data(), region, {{2, 1, 0}, {3, 2, 3}});
  CHECK(other == std::vector<Word>{0, 5, 6, 0, 0, 0, 0, 7, 0, 10, 11, 12});
  CHECK(value_of({2, 3}, {1, 2}) == 6);
}
