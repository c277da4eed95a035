#include <algorithm>

#include <doctest/doctest.h>

#include "p2/error.h"
#include "p2/place.h"
#include "proofs/api/synthesize.h"

using namespace p2;

namespace {

SynthesizeRequest request_of(std::uint32_t size) {
  SynthesizeRequest request;
  request.instance.hierarchy = "2,2";
  request.instance.axes = "4";
  request.instance.reduce = "0";
  request.size = size;
  return request;
}

SynthesizeAnswer exists(const std::string& what, std::uint32_t size, Options options = {}) {
  SynthesizeRequest request = request_of(size);
  request.exists = what;
  request.engine = "all";
  return synthesize(request, options);
}

std::string refusal(const SynthesizeRequest& request) {
  try {
    synthesize(request, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// The built-in definitions, except that AllReduce may count a contribution twice.
std::vector<language::Definition> counting_twice() {
  std::vector<language::Definition> definitions = language::built_in_definitions();
  REQUIRE(definitions[0].name == "AllReduce");
  REQUIRE(definitions[0].premises.back().name == "disjoint");
  definitions[0].premises.pop_back();
  return definitions;
}

}  // namespace

TEST_CASE("place lists the parallelism matrices and draws them") {
  PlaceRequest request;
  request.instance.hierarchy = "node=2,gpu=4";
  request.instance.axes = "data=4,model=2";
  const PlaceAnswer answer = place(request, {});
  CHECK(answer.devices == 8);
  CHECK(answer.placements == std::vector<ParallelismMatrix>{{{1, 4}, {2, 1}}, {{2, 2}, {1, 2}}});
  CHECK(answer.outcome == Outcome::Established);
  CHECK(answer.document.json.dump() ==
        R"({"hierarchy":[{"name":"node","size":2},{"name":"gpu","size":4}],)"
        R"("axes":[{"name":"data","size":4},{"name":"model","size":2}],"count":2,)"
        R"("placements":[[[1,4],[2,1]],[[2,2],[1,2]]]})");
  const std::string text = write_document(answer.document, DocumentFormat::Text);
  CHECK(
      text.starts_with("8 devices: node=2,gpu=4   axes data=4,model=2\n\nplacement 1 of 2   "
                       "[[1 4] [2 1]]\n"));
  request.max_placements = 1;
  CHECK_THROWS_AS(place(request, {}), InputError);
  request.instance.axes.reset();
  CHECK_THROWS_WITH_AS(place(request, {}), "command line: no parallelism axes, expected --axes",
                       InputError);
}

TEST_CASE("synthesize lists the programs, and the solvers confirm the list") {
  SynthesizeRequest request = request_of(3);
  request.engine = "all";
  const SynthesizeAnswer answer = synthesize(request, {});
  CHECK(answer.outcome == Outcome::Established);
  CHECK(answer.complete);
  CHECK(answer.total == 25);
  REQUIRE(answer.placements.size() == 1);
  const SynthesizedPlacement& placement = answer.placements[0];
  CHECK(placement.matrix == ParallelismMatrix{{2, 2}});
  CHECK(placement.programs.size() == 25);
  CHECK(placement.programs[0] == "AllReduce(root, InsideGroup)");
  REQUIRE(placement.comparisons.size() == 2);
  for (const ListComparison& comparison : placement.comparisons) {
    CHECK(comparison.complete);
    CHECK(comparison.found == 25);
    CHECK(!comparison.differs());
  }
  REQUIRE(answer.results.size() == 1);
  CHECK(answer.results[0].subject == "placement [[2 2]]");
  CHECK(answer.results[0].engines ==
        std::vector<EngineAnswer>{{"z3", Outcome::Established}, {"cnf", Outcome::Established}});
  const Json* list = answer.document.json.find("placements");
  REQUIRE(list != nullptr);
  CHECK((*list->if_array())[0].find("list")->if_array()->size() == 25);
}

TEST_CASE("a wrong rule of Z3 is a disagreement, and the reference shows who is wrong") {
  SynthesizeRequest request = request_of(3);
  request.engine = "all";
  request.count_only = true;
  request.json = false;
  const SynthesizeAnswer answer = synthesize(request, {}, nullptr, counting_twice());
  CHECK(answer.outcome == Outcome::Disagreement);
  CHECK(!answer.document.json.is_null());
  REQUIRE(answer.placements[0].comparisons.size() == 2);
  const ListComparison& z3 = answer.placements[0].comparisons[0];
  CHECK(z3.engine == "z3");
  REQUIRE(!z3.missing.empty());
  CHECK(z3.replays.size() == std::min<std::size_t>(z3.missing.size(), 16));
  for (const ListComparison::Replay& replay : z3.replays) {
    CHECK(std::ranges::find(z3.missing, replay.program) != z3.missing.end());
    CHECK(replay.answer.outcome == Outcome::Refuted);
    CHECK(replay.answer.rule == "disjoint");
  }
  CHECK(!answer.placements[0].comparisons[1].differs());
}

TEST_CASE("exists is answered by all engines, with a shortest program") {
  const SynthesizeAnswer found = exists("Broadcast", 2);
  CHECK(found.outcome == Outcome::Established);
  REQUIRE(found.placements[0].existence.size() == 3);
  CHECK(found.placements[0].existence[0].program ==
        "Reduce(root, InsideGroup); Broadcast(root, InsideGroup)");
  CHECK(found.placements[0].programs.empty());
  CHECK(exists("Broadcast", 1).outcome == Outcome::Refuted);
  CHECK(exists("no-AllReduce", 2).placements[0].existence.size() ==
        2);  // cnf cannot exclude a step
  Options options;
  options.limits.work = 1;
  CHECK(exists("Broadcast", 1, options).outcome == Outcome::Undecided);
}

TEST_CASE("synthesize refuses what it cannot answer") {
  SynthesizeRequest request = request_of(2);
  request.exists = "Brodcast";
  CHECK(refusal(request).starts_with("--exists: nothing is called 'Brodcast'"));
  request.exists = "Broadcast";
  request.explain = true;
  CHECK(refusal(request) == "--exists: asks a question of its own, expected no --explain");
  request = request_of(33);
  CHECK(refusal(request) == "--size: 33 steps, expected at most 32");
  request = request_of(0);
  request.smt2 = true;
  CHECK(refusal(request).starts_with("--smt2: asks for programs"));
  request = request_of(2);
  request.engine = "z4";
  CHECK(refusal(request).starts_with("--engine: unknown 'z4'"));
  request = request_of(2);
  request.instance.reduce.reset();
  CHECK(refusal(request) == "command line: no reduction axes, expected --reduce");
}

TEST_CASE("synthesize returns the query whether there are other programs") {
  SynthesizeRequest request = request_of(2);
  request.smt2 = true;
  const SynthesizeAnswer answer = synthesize(request, {});
  REQUIRE(answer.smt2);
  CHECK(answer.smt2->starts_with("; query synthesis, dialect published, 2 steps"));
}

TEST_CASE("every engine prints what the explicit one prints, but for its name") {
  const auto printed = [](SynthesizeRequest request, const char* engine, const char* dialect) {
    request.engine = engine;
    request.instance.dialect = dialect;
    return synthesize(request, {});
  };
  const auto text_of = [](const SynthesizeAnswer& answer) {
    return write_document(answer.document, DocumentFormat::Text);
  };
  SynthesizeRequest one = request_of(4);
  one.instance.hierarchy = "2,6,6";
  one.instance.axes = "72";
  SynthesizeRequest two = request_of(3);
  two.instance.hierarchy = "12,12";
  two.instance.axes = "36,4";
  for (const SynthesizeRequest& request : {one, two}) {
    for (const auto& [dialect, name] :
         {std::pair{"published", "machine"}, std::pair{"printed", "bracket"}}) {
      const SynthesizeAnswer automatic = printed(request, "auto", dialect);
      const SynthesizeAnswer all = printed(request, "explicit", dialect);
      CHECK(text_of(automatic) == text_of(all));
      std::string json = automatic.document.json.dump();
      const std::string field = std::string(R"("engine":")") + name + '"';
      CHECK(json.find(field) != std::string::npos);
      for (const std::string engine : {"machine", "bracket"}) {
        const std::string wanted = R"("engine":")" + engine + '"';
        for (std::size_t at; (at = json.find(wanted)) != std::string::npos;) {
          json.replace(at, wanted.size(), R"("engine":"explicit")");
        }
      }
      CHECK(json == all.document.json.dump());
    }
  }
}

TEST_CASE("sizes are left open in the flags, and the answer is about all of them") {
  SynthesizeRequest request = request_of(3);
  request.instance.hierarchy = "node=*,gpu=4";
  request.instance.axes = "data=*";
  request.instance.reduce = "data";
  for (const char* dialect : {"published", "printed"}) {
    request.instance.dialect = dialect;
    const SynthesizeAnswer answer = synthesize(request, {});
    CHECK(answer.outcome == Outcome::Established);
    const std::string json = answer.document.json.dump();
    CHECK(json.find(R"("hierarchy":[{"name":"node","size":"*"},{"name":"gpu","size":4}])") !=
          std::string::npos);
    CHECK(json.find(R"("all_sizes":{"outcome":"valid","of":["node.data"])") != std::string::npos);
    SynthesizeRequest sized = request_of(3);
    sized.instance.hierarchy = "node=6,gpu=4";
    sized.instance.axes = "data=24";
    sized.instance.reduce = "data";
    sized.instance.dialect = dialect;
    CHECK(answer.placements[0].programs == synthesize(sized, {}).placements[0].programs);
  }
  request.instance.axes = "data=*,model=4";
  CHECK(refusal(request).find("expected a placement whose open factors are *") !=
        std::string::npos);
  request.instance.placement = "[[* 1] [1 4]]";
  CHECK(synthesize(request, {}).outcome == Outcome::Established);
  request.instance.placement = "[[* 1 1] [1 4 1]]";
  CHECK(refusal(request).find("expected 2 rows of 2 factors") != std::string::npos);
  request.instance.placement = "[[2 1] [1 4]]";
  CHECK(refusal(request).find("expected both or neither") != std::string::npos);
  request.instance.placement = "[[* 1] [1 4]]";
  request.engine = "z3";
  CHECK(refusal(request).find("leaves sizes open (*), expected no --engine") != std::string::npos);
}
