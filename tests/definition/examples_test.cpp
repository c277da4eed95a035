#include <filesystem>
#include <set>

#include "tests/definition/examined.h"

namespace p2::definition {
namespace {

struct Example {
  std::string file;
  std::string refuted;  ///< the checks that are
};

const std::vector<Example> kExamples = {
    {"sound/alltoall", ""},
    {"sound/gather", ""},
    {"sound/quantised-allgather", ""},
    {"sound/quantised-allreduce", ""},
    {"sound/quantised-reducescatter", ""},
    {"sound/ring-reducescatter", ""},
    {"sound/scatter", ""},
    {"wrong/allgather-invents", "nothing-invented chunks-apart realisable"},
    {"wrong/allgather-never-runs", "satisfiable"},
    {"wrong/allreduce-counts-twice", "no-double-count realisable"},
    {"wrong/allreduce-positions-as-devices", "equivariant"},
    {"wrong/broadcast-overwrites", "keeps-all"},
    {"wrong/gather-measure-stands-still", "measure"},
    {"wrong/reduce-subtracts", "sums-whole no-double-count realisable"},
    {"wrong/reducescatter-off-by-one", "keeps-all measure"},
    {"wrong/reducescatter-packs", "chunks-apart sums-whole realisable keeps-all"},
    {"wrong/scatter-drops-remainder", "keeps-all"},
};

std::string path_of(const std::string& file) { return "examples/collectives/" + file + ".p2c"; }

}  // namespace

TEST_CASE("every example has the verdict that its comment gives") {
  for (const Example& example : kExamples) {
    CAPTURE(example.file);
    CHECK(refuted(examined(definition_in(path_of(example.file)))) == example.refuted);
  }
}

TEST_CASE("every example in the folders is tested, and the wrong ones name their mistake") {
  std::set<std::string> tested;
  for (const Example& example : kExamples) tested.insert(path_of(example.file));
  const std::filesystem::path root = P2_SOURCE_DIR;
  std::set<std::string> shipped;
  for (const char* folder : {"sound", "wrong"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(root / "examples/collectives" / folder)) {
      const std::string path = std::filesystem::relative(entry.path(), root).generic_string();
      shipped.insert(path);
      if (folder == std::string("wrong")) CHECK(text_of(path).rfind("# Wrong: ", 0) == 0);
    }
  }
  CHECK(shipped == tested);
}

TEST_CASE("the five collectives of the paper are sound, and which of their positions are alike") {
  struct Expected {
    std::string name, keeps, positions;
  };
  const std::vector<Expected> all = {
      {"AllReduce", "every position keeps what it held", "all positions alike"},
      {"ReduceScatter", "any position may drop copies", "no positions alike"},
      {"AllGather", "every position keeps what it held", "all positions alike"},
      {"Reduce", "positions but the root may drop copies", "all positions but the root alike"},
      {"Broadcast", "every position keeps what it held", "all positions but the root alike"}};
  for (const Expected& expected : all) {
    CAPTURE(expected.name);
    const Findings findings = examined(language::built_in(expected.name));
    CHECK(refuted(findings).empty());
    CHECK(check_called(findings, "keeps-all").detail == expected.keeps);
    CHECK(check_called(findings, "equivariant").detail == expected.positions);
    CHECK(check_called(findings, "measure").settled_by == SettledBy::SolverOnly);
    CHECK(check_called(findings, "measure").exhausted_to == 2);
    CHECK(check_called(findings, "satisfiable").settled_by == SettledBy::Both);
  }
}

TEST_CASE("in groups of two the interpreter looks at every state that Z3 is asked about") {
  const Findings findings = examined(language::built_in("ReduceScatter"), 2);
  for (const Check& check : findings.checks) {
    if (check.settled_by == SettledBy::Construction || check.name == "relations") continue;
    CAPTURE(check.name);
    CHECK(check.settled_by == SettledBy::Both);
    CHECK(check.by_states == Outcome::Established);
    CHECK(check.z3 == Outcome::Established);
  }
}

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
