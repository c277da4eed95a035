#include "tests/definition/examined.h"

namespace p2::definition {

TEST_CASE("a user's copy of AllReduce is recognised, alone and as two steps") {
  std::string text = text_of("engine/collective/allreduce.p2c");
  text.replace(text.find("AllReduce\n"), 9, "Mine");
  CHECK(relations(language::parse_definition("mine.p2c", text)) ==
        "= AllReduce | = ReduceScatter; AllGather, with a weaker premise | = Reduce; Broadcast");
}

TEST_CASE("a premise that is missing or too many is told from the same premises") {
  Definition weaker = language::built_in("AllGather");
  weaker.premises.pop_back();
  CHECK(relations(weaker) ==
        "= AllGather, with a weaker premise | = Broadcast where both are defined");
  Definition stronger = language::built_in("AllReduce");
  stronger.premises.push_back(language::built_in("ReduceScatter").premises.back());
  stronger.lets = language::built_in("ReduceScatter").lets;
  CHECK(relations(stronger) ==
        "= AllReduce, with a stronger premise | = ReduceScatter; AllGather | = Reduce; Broadcast, "
        "with a stronger premise");
}

TEST_CASE(
    "the two phases of a quantised AllReduce make the whole, and AllReduce on what it takes") {
  const Definition whole = definition_in("examples/collectives/sound/quantised-allreduce.p2c");
  const Definition first = definition_in("examples/collectives/sound/quantised-reducescatter.p2c");
  const Definition second = definition_in("examples/collectives/sound/quantised-allgather.p2c");
  const std::string found = relations(whole, {&first, &second});
  CHECK(found.find("= QuantisedReduceScatter; QuantisedAllGather") != std::string::npos);
  CHECK(found.find("= AllReduce, with a stronger premise") != std::string::npos);
  CHECK(relations(first) == "= ReduceScatter, with a stronger premise");
}

TEST_CASE("rooted collectives compose to the others") {
  const Definition gather = definition_in("examples/collectives/sound/gather.p2c");
  const Definition scatter = definition_in("examples/collectives/sound/scatter.p2c");
  CHECK(relations(language::built_in("AllGather"), {&gather}) ==
        "= AllGather | = Gather; Broadcast");
  CHECK(relations(language::built_in("ReduceScatter"), {&scatter}) ==
        "= ReduceScatter | = Reduce; Scatter");
}

TEST_CASE("permuted shards are no ReduceScatter, and make an AllReduce all the same") {
  const Definition ring = definition_in("examples/collectives/sound/ring-reducescatter.p2c");
  CHECK(relations(ring).empty());
  CHECK(relations(language::built_in("AllReduce"), {&ring})
            .find("= RingReduceScatter; AllGather, with a weaker premise") != std::string::npos);
}

}  // namespace p2::definition
