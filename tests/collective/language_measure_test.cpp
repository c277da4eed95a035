#include <cstdint>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"
#include "tests/collective/language_states.h"

namespace p2::language {
namespace {

struct Sizes {
  std::uint32_t devices, chunks, contributors;
  std::uint32_t bits() const { return devices * chunks * contributors; }
};

/// The state whose contributions are the bits of `number`.
GroupState numbered(const Sizes& sizes, std::uint64_t number) {
  GroupState state(sizes.devices, sizes.chunks, sizes.contributors);
  for (std::uint32_t bit = 0; bit < sizes.bits(); ++bit) {
    const std::uint32_t row = bit / sizes.contributors;
    state.set(row / sizes.chunks, row % sizes.chunks, bit % sizes.contributors,
              (number >> bit & 1U) == 1);
  }
  return state;
}

/// The disjoint state in which digit number `chunk * contributors + contributor` of `number`, to
/// the base devices + 1, is the position that holds the contribution; `devices` means nobody.
GroupState dealt(const Sizes& sizes, std::uint64_t number) {
  GroupState state(sizes.devices, sizes.chunks, sizes.contributors);
  for (std::uint32_t row = 0; row < sizes.chunks * sizes.contributors; ++row) {
    const auto owner = static_cast<std::uint32_t>(number % (sizes.devices + 1));
    number /= sizes.devices + 1;
    if (owner < sizes.devices) {
      state.set(owner, row / sizes.contributors, row % sizes.contributors, true);
    }
  }
  return state;
}

struct Tally {
  std::uint64_t legal = 0;    ///< steps from a state in which somebody holds something
  std::uint64_t no_gain = 0;  ///< those that do not raise the measure

  void add(const Definition& definition, const GroupState& before) {
    if (before == GroupState(before.devices(), before.chunks(), before.contributors())) return;
    if (first_failed_premise(definition, before)) return;
    ++legal;
    const GroupState after = post_state(definition, before);
    if (measure(definition, after) <= measure(definition, before)) ++no_gain;
  }
};

Tally all_states(std::string_view collective, const Sizes& sizes) {
  Tally tally;
  for (std::uint64_t number = 0; number < std::uint64_t{1} << sizes.bits(); ++number) {
    tally.add(built_in(collective), numbered(sizes, number));
  }
  return tally;
}

Tally all_disjoint_states(std::string_view collective, const Sizes& sizes) {
  std::uint64_t states = 1;
  for (std::uint32_t i = 0; i < sizes.chunks * sizes.contributors; ++i) states *= sizes.devices + 1;
  Tally tally;
  for (std::uint64_t number = 0; number < states; ++number) {
    tally.add(built_in(collective), dealt(sizes, number));
  }
  return tally;
}

struct Expected {
  std::string_view collective;
  Sizes sizes;
  std::uint64_t legal;
};

/// A sum that a reduction may form: the contributions to every held chunk are dealt out so that
/// each device has one at least and none is dealt twice.
GroupState reducible(const Sizes& sizes, std::uint32_t held) {
  GroupState state(sizes.devices, sizes.chunks, sizes.contributors);
  for (std::uint32_t r = 0; r < held; ++r) {
    for (std::uint32_t c = 0; c < sizes.contributors; ++c) {
      // Position n means that nobody holds the contribution.
      const auto owner =
          c < sizes.devices ? c : *rc::gen::inRange<std::uint32_t>(0, sizes.devices + 1);
      if (owner < sizes.devices) state.set(owner, sizes.chunks - 1 - r, c, true);
    }
  }
  return state;
}

/// Each device holds `share` chunks that nobody else holds.
GroupState gatherable(const Sizes& sizes, std::uint32_t share) {
  GroupState state(sizes.devices, sizes.chunks, sizes.contributors);
  for (std::uint32_t r = 0; r < sizes.devices * share; ++r) {
    state.set(r % sizes.devices, r, *rc::gen::inRange<std::uint32_t>(0, sizes.contributors), true);
    state.set(r % sizes.devices, r, *rc::gen::inRange<std::uint32_t>(0, sizes.contributors), true);
  }
  return state;
}

/// The root holds a random state, the others parts of it, and the last device nothing.
GroupState broadcastable(const Sizes& sizes) {
  GroupState state(sizes.devices, sizes.chunks, sizes.contributors);
  state.set(0, 0, 0, true);
  for (std::uint32_t r = 0; r < sizes.chunks; ++r) {
    for (std::uint32_t c = 0; c < sizes.contributors; ++c) {
      if (*rc::gen::inRange(0, 3) == 0) state.set(0, r, c, true);
      for (std::uint32_t i = 1; i + 1 < sizes.devices; ++i) {
        state.set(i, r, c, state.holds(0, r, c) && *rc::gen::inRange(0, 2) == 0);
      }
    }
  }
  return state;
}

void assert_gain(std::string_view collective, const GroupState& before) {
  const Definition& definition = built_in(collective);
  RC_ASSERT(!first_failed_premise(definition, before));
  const GroupState after = post_state(definition, before);
  RC_ASSERT(measure(definition, after) > measure(definition, before));
}

}  // namespace

TEST_CASE("the measure counts each device's contributions to a chunk, squared") {
  const GroupState state = group("110 000|111 001");
  for (const Definition& definition : built_in_definitions()) {
    CHECK(measure(definition, state) == 4 + 9 + 1);
  }
}

TEST_CASE("every legal step of a group that is not empty raises the measure: all small states") {
  const std::vector<Expected> all = {
      {"AllReduce", {2, 2, 2}, 8},  // a chunk is held in 2 ways or not at all: 3 * 3 - 1
      {"Reduce", {2, 2, 2}, 8},
      {"ReduceScatter", {2, 2, 2}, 4},
      {"AllGather", {2, 2, 2}, 18},    // 2 ways to give out the chunks, 3 * 3 to fill them
      {"Broadcast", {2, 2, 2}, 65},    // 3^4 with s_1 <= s_0, less 2^4 with s_1 = s_0
      {"AllReduce", {2, 2, 4}, 2600},  // (50 + 1)^2 - 1
      {"ReduceScatter", {2, 2, 4}, 2500},
      {"ReduceScatter", {2, 4, 2}, 40},  // 6 pairs of chunks at 2^2, all four at 2^4
      {"AllGather", {2, 4, 2}, 594},     // 12 pairs of chunks at 3^2, 6 halves at 3^4
      {"AllGather", {3, 3, 2}, 162},     // 6 ways to give out the chunks, 3^3 to fill them
      {"Broadcast", {3, 2, 2}, 609},     // 5^4 - 2^4
  };
  for (const Expected& expected : all) {
    CAPTURE(expected.collective);
    const Tally tally = all_states(expected.collective, expected.sizes);
    CHECK(tally.legal == expected.legal);
    CHECK(tally.no_gain == 0);
  }
}

TEST_CASE("every legal step of a group that is not empty raises the measure: all sums of three") {
  const std::vector<Expected> all = {
      {"AllReduce", {3, 2, 3}, 48},  // a chunk is held in 6 ways or not at all: 7^2 - 1
      {"Reduce", {3, 2, 3}, 48},
      {"ReduceScatter", {3, 3, 3}, 216},
  };
  for (const Expected& expected : all) {
    CAPTURE(expected.collective);
    const Tally tally = all_disjoint_states(expected.collective, expected.sizes);
    CHECK(tally.legal == expected.legal);
    CHECK(tally.no_gain == 0);
  }
}

TEST_CASE("a step of an empty group raises nothing") {
  const GroupState empty(3, 3, 3);
  for (const char* collective : {"AllReduce", "ReduceScatter", "AllGather", "Reduce"}) {
    CHECK_FALSE(first_failed_premise(built_in(collective), empty));
    CHECK(measure(built_in(collective), post_state(built_in(collective), empty)) == 0);
  }
}

TEST_CASE("every legal step of a group that is not empty raises the measure: larger groups") {
  CHECK(rc::check("the measure rises", [] {
    const auto devices = *rc::gen::inRange<std::uint32_t>(2, 6);
    const auto share = *rc::gen::inRange<std::uint32_t>(1, 3);
    const auto spare = *rc::gen::inRange<std::uint32_t>(0, 4);
    const auto others = *rc::gen::inRange<std::uint32_t>(0, 4);
    const Sizes sizes = {devices, devices * share + spare, devices + others};
    const GroupState summands = reducible(sizes, devices * share);
    for (const char* name : {"AllReduce", "Reduce", "ReduceScatter"}) assert_gain(name, summands);
    assert_gain("AllGather", gatherable(sizes, share));
    assert_gain("Broadcast", broadcastable(sizes));
  }));
}

}  // namespace p2::language
