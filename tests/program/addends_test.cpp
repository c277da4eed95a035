#include "engine/program/goal.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace p2;

namespace {

Contributors members(std::uint32_t bits) {
  Contributors all;
  for (std::uint32_t c = 0; c < 32; ++c) {
    if ((bits >> c & 1U) != 0) all.push_back(c);
  }
  return all;
}

/// Whether some pairwise disjoint rows unite to `wanted`, by trying all sets of rows.
bool some_cover(const std::vector<std::uint32_t>& rows, std::uint32_t wanted) {
  for (std::uint32_t chosen = 0; chosen < 1U << rows.size(); ++chosen) {
    std::uint32_t sum = 0;
    bool disjoint = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if ((chosen >> i & 1U) == 0) continue;
      disjoint = disjoint && (sum & rows[i]) == 0;
      sum |= rows[i];
    }
    if (disjoint && sum == wanted) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("addends are disjoint rows with the wanted union, found exactly where there are some") {
  CHECK(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(1, 9);
    std::vector<std::uint32_t> bits;
    for (std::size_t i = 0; i < n; ++i) bits.push_back(*rc::gen::inRange<std::uint32_t>(0, 64));
    const auto wanted = *rc::gen::inRange<std::uint32_t>(1, 64);
    const auto self = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(n));
    std::vector<Contributors> rows;
    for (const std::uint32_t each : bits) rows.push_back(members(each));
    const auto found = addends(rows, members(wanted), self);
    RC_ASSERT(found.has_value() == some_cover(bits, wanted));
    if (!found) return;
    std::uint32_t sum = 0;
    for (const std::uint32_t position : *found) {
      RC_ASSERT((sum & bits[position]) == 0U);
      sum |= bits[position];
    }
    RC_ASSERT(sum == wanted);
    if (bits[self] == wanted) RC_ASSERT(*found == std::vector{self});
  }));
}

TEST_CASE("equal rows are taken from the next position, so that the sends are spread") {
  const std::vector<Contributors> rows = {{0, 1}, {}, {0, 1}, {}};
  CHECK(addends(rows, {0, 1}, 1) == std::vector<std::uint32_t>{2});
  CHECK(addends(rows, {0, 1}, 3) == std::vector<std::uint32_t>{0});
  CHECK(addends(rows, {0, 1}, 2) == std::vector<std::uint32_t>{2});
  CHECK_FALSE(addends(rows, {0}, 0));
}
