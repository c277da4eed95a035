#include <stdexcept>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "engine/collective/kernels.h"
#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"

using namespace p2;
using language::GroupState;

namespace {

/// The compressed states of a group, one per position.
std::vector<StateId> compress(const GroupState& group, StateTable& states) {
  std::vector<StateId> ids;
  for (std::uint32_t i = 0; i < group.devices(); ++i) {
    std::vector<Piece> pieces;
    for (std::uint32_t r = 0; r < group.chunks(); ++r) {
      std::vector<std::uint32_t> row;
      for (std::uint32_t c = 0; c < group.contributors(); ++c) {
        if (group.holds(i, r, c)) row.push_back(c);
      }
      pieces.push_back({states.sets().range(r, r + 1), states.sets().of(row)});
    }
    ids.push_back(states.intern(pieces));
  }
  return ids;
}

/// Whether the refusal's devices, chunk and contributor show what its premise forbids.
bool is_witness(const Refusal& refusal, const GroupState& group) {
  const auto held = [&](std::uint32_t i, std::uint32_t r) {
    for (std::uint32_t c = 0; c < group.contributors(); ++c) {
      if (group.holds(i, r, c)) return true;
    }
    return false;
  };
  const auto count = [&](std::uint32_t i) {
    std::uint32_t chunks = 0;
    for (std::uint32_t r = 0; r < group.chunks(); ++r) chunks += held(i, r) ? 1 : 0;
    return chunks;
  };
  const auto [premise, i, j, r, c, first_count, second_count] = refusal;
  if (count(i) != first_count || count(j) != second_count) return false;
  switch (premise) {
    case Premise::SameChunks:
      return held(i, r) && !held(j, r);
    case Premise::Disjoint:
      return i != j && group.holds(i, r, c) && group.holds(j, r, c);
    case Premise::Divisible:
      return first_count % group.devices() != 0;
    case Premise::DisjointChunks:
      return i != j && held(i, r) && held(j, r);
    case Premise::EqualCount:
      return first_count != second_count;
    case Premise::Contained:
      return i == 0 && group.holds(j, r, c) && !group.holds(0, r, c);
    case Premise::Informative:
      return true;
  }
  return false;
}

/// Compares kernel, refusal and definition on one group; returns whether the step was legal.
bool compare(Collective collective, const GroupState& group, StateTable& states, Kernels& kernels) {
  const auto& definition = language::built_in(to_string(collective));
  const auto failed = language::first_failed_premise(definition, group);
  const std::vector<StateId> before = compress(group, states);
  std::vector<StateId> after(before.size());
  const bool legal = kernels.apply(collective, before, after);
  const auto refusal = find_refusal(collective, before, states);
  REQUIRE(legal == !failed.has_value());
  REQUIRE(legal == !refusal.has_value());
  if (legal) {
    REQUIRE(after == compress(language::post_state(definition, group), states));
  } else {
    REQUIRE(name_of(refusal->premise) == definition.premises[failed->premise].name);
    REQUIRE(is_witness(*refusal, group));
  }
  return legal;
}

/// Every state of a group of this shape, for every collective.
void compare_all(std::uint32_t devices, std::uint32_t chunks, std::uint32_t contributors) {
  const std::uint32_t bits = devices * chunks * contributors;
  for (const Collective collective : kCollectives) {
    StateTable states(chunks);
    Kernels kernels(states);
    std::uint32_t legal = 0;
    for (std::uint32_t code = 0; code < 1U << bits; ++code) {
      GroupState group(devices, chunks, contributors);
      for (std::uint32_t bit = 0; bit < bits; ++bit) {
        group.set(bit / (chunks * contributors), bit / contributors % chunks, bit % contributors,
                  (code >> bit & 1U) != 0);
      }
      legal += compare(collective, group, states, kernels) ? 1 : 0;
    }
    if (devices == 1) continue;  // alone, Broadcast never and the others always run
    CHECK_MESSAGE(legal > 0, "no legal state for ", to_string(collective));
    CHECK(legal < 1U << bits);
  }
}

/// A state that is often legal: rows with a common content, dealt out disjointly, and then, in half
/// of the cases, one bit flipped.
GroupState random_group() {
  const auto devices = *rc::gen::inRange<std::uint32_t>(2, 7);
  const auto chunks = *rc::gen::inRange<std::uint32_t>(1, 13);
  const auto contributors = *rc::gen::inRange<std::uint32_t>(devices, 11);
  GroupState group(devices, chunks, contributors);
  const bool dealt_by_chunk = *rc::gen::arbitrary<bool>();
  const auto root_also = *rc::gen::inRange(0, 3);
  for (std::uint32_t r = 0; r < chunks; ++r) {
    const bool empty = *rc::gen::inRange(0, 4) == 0;
    for (std::uint32_t c = 0; c < contributors && !empty; ++c) {
      const std::uint32_t owner = dealt_by_chunk ? r % devices
                                  : c < devices  ? c
                                                 : *rc::gen::inRange<std::uint32_t>(0, devices);
      group.set(owner, r, c, true);
      if (root_also == 0) group.set(0, r, c, true);
    }
  }
  if (*rc::gen::arbitrary<bool>()) {
    const auto i = *rc::gen::inRange<std::uint32_t>(0, devices);
    const auto r = *rc::gen::inRange<std::uint32_t>(0, chunks);
    const auto c = *rc::gen::inRange<std::uint32_t>(0, contributors);
    group.set(i, r, c, !group.holds(i, r, c));
  }
  return group;
}

}  // namespace

TEST_CASE("the kernels agree with the definitions on every state of small groups") {
  compare_all(1, 2, 2);
  compare_all(2, 2, 2);
  compare_all(2, 2, 3);
  compare_all(2, 3, 2);
  compare_all(2, 4, 1);
  compare_all(3, 2, 2);
  compare_all(3, 3, 1);
  compare_all(4, 1, 3);
}

TEST_CASE(
    "the kernels agree with the definitions on every state of 2 devices, 2 chunks, 4 "
    "contributors") {
  compare_all(2, 2, 4);
}

TEST_CASE("the kernels agree with the definitions on random larger groups") {
  for (const Collective collective : kCollectives) {
    std::uint32_t legal = 0;
    CHECK(rc::check(std::string("kernel of ") + std::string(to_string(collective)), [&] {
      const GroupState group = random_group();
      StateTable states(group.chunks());
      Kernels kernels(states);
      legal += compare(collective, group, states, kernels) ? 1 : 0;
    }));
    CHECK(legal > 0);
  }
}

TEST_CASE("asking a kernel again gives the same answer") {
  StateTable states(6);
  Kernels kernels(states);
  std::vector<StateId> group;
  for (std::uint32_t d = 0; d < 3; ++d)
    group.push_back(states.whole(states.sets().range(d, d + 1)));
  for (const Collective collective : kCollectives) {
    std::vector<StateId> once(3);
    std::vector<StateId> twice(3);
    const bool legal = kernels.apply(collective, group, once);
    CHECK(kernels.apply(collective, group, twice) == legal);
    if (legal) CHECK(once == twice);
  }
}

using namespace p2;

namespace {

constexpr const char* kCopyAll = R"(
collective CopyAll "Everybody gets what the root has, all contributions of the system."
require complete "the root holds every contribution":
  forall r in chunks, c in contributors: s(0, r, c)
ensure s'(i, r, c) = s(0, r, c)
measure count i in group, r in chunks, c in contributors: s(i, r, c)
)";

CollectiveSet with_copy_all() {
  return CollectiveSet({language::parse_definition("test.p2c", kCopyAll)});
}

}  // namespace

TEST_CASE("a set of collectives finds the five and those that users define by name") {
  const CollectiveSet five;
  CHECK(!five.extended());
  CHECK(five.all().size() == 5);
  CHECK(five.called("Reduce") == Collective::Reduce);
  CHECK(!five.called("CopyAll"));
  CHECK(five.names() == "AllReduce, ReduceScatter, AllGather, Reduce or Broadcast");
  const CollectiveSet six = with_copy_all();
  CHECK(six.extended());
  const Collective own = six.all().back();
  CHECK(!is_built_in(own));
  CHECK(six.called("CopyAll") == own);
  CHECK(six.name_of(own) == "CopyAll");
  CHECK(six.definition_of(Collective::Reduce).name == "Reduce");
  CHECK(six.names() == "AllReduce, ReduceScatter, AllGather, Reduce, Broadcast or CopyAll");
}

TEST_CASE("the interpreter runs users' collectives among all contributors of the system") {
  const Collective own = with_copy_all().all().back();
  StateTable states(3);
  const StateId all = states.whole(states.sets().range(0, 2));
  const StateId one = states.whole(states.sets().range(1, 2));
  const StateId group[] = {all, one, kHoldsNothing};
  StateId after[3];
  Kernels two(states, with_copy_all(), 2);
  for (int again = 0; again < 2; ++again) {
    REQUIRE(two.apply(own, group, after));
    for (const StateId state : after) CHECK(state == all);
  }
  Kernels three(states, with_copy_all(), 3);
  for (int again = 0; again < 2; ++again) CHECK(!three.apply(own, group, after));
  const DefinedRefusal refusal = three.defined().refusal(own, group);
  CHECK(refusal.premise == "complete");
  CHECK(refusal.description == "the root holds every contribution");
  CHECK(refusal.witness == std::vector<language::Binding>{{"r", language::Sort::Chunk, 0},
                                                          {"c", language::Sort::Contributor, 2}});
}

TEST_CASE("a group that is too large to be written out is refused as too large") {
  constexpr std::uint32_t kDevices = 1024;
  StateTable states(kDevices);
  Kernels kernels(states, with_copy_all(), kDevices);
  const std::vector<StateId> group(kDevices, states.whole(states.sets().range(0, 1)));
  std::vector<StateId> after(kDevices);
  CHECK_THROWS_AS(kernels.apply(with_copy_all().all().back(), group, after), LimitReached);
}
