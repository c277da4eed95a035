#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "engine/msccl/sum.h"

namespace p2::msccl {

TEST_CASE("sums count as a map of contributions does") {
  std::mt19937 random(1);
  for (int run = 0; run < 300; ++run) {
    Sum sum;
    std::map<Contribution, std::uint32_t> counts;
    for (int i = 0; i < 12; ++i) {
      Sum other;
      std::map<Contribution, std::uint32_t> added;
      if (random() % 4 == 0) {
        const auto ranks = static_cast<std::uint32_t>(random() % 6 + 1);
        other = Sum::of_all(ranks, 1);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) ++added[{rank, 1}];
      } else {
        const Contribution one{static_cast<std::uint32_t>(random() % 6),
                               static_cast<std::uint32_t>(random() % 3)};
        other = Sum(one);
        ++added[one];
      }
      if (random() % 3 == 0) {
        other.add(sum);
        for (const auto& [contribution, count] : counts) added[contribution] += count;
      }
      sum.add(other);
      for (const auto& [contribution, count] : added) counts[contribution] += count;
      REQUIRE(sum.counts() == counts);
    }
  }
}

TEST_CASE("equal sums are equal, however they were made") {
  Sum one(Contribution{0, 4});
  one.add(Sum(Contribution{2, 4}));
  one.add(Sum(Contribution{1, 4}));
  CHECK(one == Sum::of_all(3, 4));
  CHECK(one != Sum::of_all(3, 5));
  one.add(Sum(Contribution{1, 4}));
  CHECK(one != Sum::of_all(3, 4));
}

TEST_CASE("counts stop at the largest number") {
  Sum sum(Contribution{0, 0});
  for (int i = 0; i < 40; ++i) {
    const Sum half = sum;
    sum.add(half);
  }
  CHECK(sum.counts().begin()->second == std::numeric_limits<std::uint32_t>::max());
}

}  // namespace p2::msccl
