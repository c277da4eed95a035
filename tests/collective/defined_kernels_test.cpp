#include "engine/collective/defined_kernels.h"

#include <stdexcept>

#include <doctest/doctest.h>

#include "engine/collective/kernels.h"
#include "engine/collective/language/parser.h"

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
  CHECK_THROWS_AS(kernels.apply(with_copy_all().all().back(), group, after), std::length_error);
}
