#include <algorithm>
#include <memory>
#include <tuple>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/check/folder.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using nlohmann::json;

namespace {

const std::string kCollectiveFiles = std::string(P2_SOURCE_DIR) + "/examples/collectives/";
const std::string kScatter = kCollectiveFiles + "sound/scatter.p2c";
const std::string kAllToAll = kCollectiveFiles + "sound/alltoall.p2c";

const std::string kReduceThenScatter =
    std::string(P2_SOURCE_DIR) + "/examples/programs/defined/reduce-then-scatter.p2";

std::vector<std::string> synth(std::vector<std::string> more) {
  std::vector<std::string> words = {"synth",    "--hierarchy", "2,2",    "--axes", "4",
                                    "--reduce", "0",           "--size", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Exit 2, nothing on stdout, and one line on stderr that says this.
void refuses_saying(const std::vector<std::string>& arguments, const std::string& message) {
  const Ran ran = run(arguments);
  CHECK(ran.exit == 2);
  CHECK(ran.out.find("valid") == std::string::npos);
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  CHECK_MESSAGE(ran.err.find(message) != std::string::npos, ran.err);
}

}  // namespace

TEST_CASE("synth uses the collectives of --collectives and leads to the goal of --goal") {
  const Ran ran = run(synth({"--collectives", kScatter, "--goal", "reducescatter", "--verify"}));
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("dialect published, programs of at most 2 steps, with Scatter, goal "
                     "reducescatter\n") != std::string::npos);
  CHECK(ran.out.find("cnf: not asked, ") != std::string::npos);
  CHECK(ran.out.find("z3: the same 3 programs, and refuted that there is another\n"
                     "    1  ReduceScatter(root, InsideGroup)\n"
                     "    2  Reduce(root, InsideGroup); Scatter(root, InsideGroup)\n") !=
        std::string::npos);
}

TEST_CASE("the JSON of synth names goal and collectives, and check takes its programs") {
  const std::vector<std::string> terms = {"--collectives", kScatter, kAllToAll, "--goal",
                                          "reducescatter"};
  std::vector<std::string> words = synth({"--engine", "z3", "--format", "json"});
  words.insert(words.end(), terms.begin(), terms.end());
  const json answer = json::parse(run(words).out);
  CHECK(answer["goal"] == "reducescatter");
  CHECK(answer["collectives"] == json::parse(R"(["Scatter","AllToAll"])"));
  CHECK(!answer.contains("not_asked"));
  CHECK(answer["placements"][0]["begins"] == "contributions");
  REQUIRE(answer["placements"][0]["list"].size() == 3);
  for (const json& program : answer["placements"][0]["list"]) {
    CHECK(program["goal"] == "reducescatter");
    const TemporaryFile file(program.dump());
    const Ran ran = run(
        {"check", file.path(), "--collectives", kScatter, "--engine", "all", "--format", "json"});
    CHECK(ran.exit == 0);
    const json result = json::parse(ran.out)["results"][0];
    CHECK(result["goal"] == "reducescatter");
    CHECK(result["not_asked"] == json::parse(R"(["cnf"])"));
    CHECK(result["engines"] ==
          json::parse(R"({"explicit":"valid","z3":"valid","reference":"valid"})"));
    // Towards the paper's goal the same program leads nowhere.
    CHECK(run({"check", file.path(), "--collectives", kScatter, "--goal", "allreduce"}).exit == 1);
  }
}

TEST_CASE("the example of a program with a user's collective is valid") {
  const Ran ran = run({"check", kReduceThenScatter, "--collectives", kScatter, "--engine", "all"});
  CHECK(ran.exit == 0);
  CHECK(ran.out ==
        kReduceThenScatter +
            ": valid (8 devices, 2 steps, dialect published, goal reducescatter)\n"
            "explicit: valid\nreference: valid\nz3: valid\n"
            "cnf: not asked, it knows the five collectives and the goal allreduce only\n");
}

TEST_CASE("check says which premise of a user's collective refuses, and shows it") {
  const TemporaryFile file("devices 4\nclasses {0,1},{2,3}\nScatter{2,3}", ".p2");
  const Ran text = run({"check", "--collectives", kScatter, file.path(), "--engine", "all"});
  CHECK(text.exit == 1);
  CHECK(text.out.find("Step 1, Scatter on group {2,3}, is refused by premise root-alone: nobody "
                      "but the root holds anything, which is not so for i = device 3, r = chunk "
                      "0.\n") != std::string::npos);
  CHECK(text.out.find("z3: invalid at step 1 by root-alone\n") != std::string::npos);
  const json result =
      json::parse(run({"check", file.path(), "--collectives", kScatter, "--format", "json"}).out);
  CHECK(result["results"][0]["counterexample"] ==
        json::parse(R"({"rule":"root-alone","step":1,"group":[2,3],"witness":{"i":3,"r":0}})"));
}

TEST_CASE("goals begin where their collective may run") {
  for (const auto& [goal, begins, programs] :
       {std::tuple("allreduce", "contributions", 5),
        std::tuple("reducescatter", "contributions", 2), std::tuple("reduce", "contributions", 1),
        std::tuple("allgather", "shards", 3), std::tuple("alltoall", "shards", 0),
        std::tuple("broadcast", "root-sum", 1)}) {
    const json answer = json::parse(run(synth({"--goal", goal, "--format", "json"})).out);
    CHECK(answer["placements"][0]["begins"] == begins);
    CHECK_MESSAGE(answer["total_programs"] == programs, goal);
  }
  const Ran drawn = run(synth({"--goal", "alltoall", "--collectives", kAllToAll, "--explain"}));
  CHECK(drawn.out.find("start\n   d0    d1    d2    d3\n   ████  ····  ····  ····\n") !=
        std::string::npos);
  // A class of one device ends as it begins.
  const Ran alone =
      run({"synth", "--hierarchy", "4", "--axes", "4,1", "--reduce", "1", "--goal", "broadcast"});
  CHECK(alone.exit == 0);
  CHECK(alone.out.find("    1  skip\n") != std::string::npos);
}

TEST_CASE("definitions and goals that cannot be used end in exit 2 and one line") {
  const TemporaryFile five("devices 5\nclasses {0,1},{2,3,4}\nskip", ".p2");
  const std::string unsound = kCollectiveFiles + "wrong/reduce-subtracts.p2c";
  refuses_saying({"check", kReduceThenScatter},
                 "no collective is called 'Scatter', expected AllReduce");
  refuses_saying(synth({"--collectives", unsound}),
                 "SubtractingReduce is not sound, sums-whole, no-double-count, realisable refuted, "
                 "expected a sound definition (see p2-verify define " +
                     unsound + ")");
  refuses_saying(synth({"--goal", unsound}), "SubtractingReduce is not sound");
  refuses_saying(
      synth({"--collectives", std::string(P2_SOURCE_DIR) + "/engine/collective/reduce.p2c"}),
      "there is a collective Reduce already");
  refuses_saying(synth({"--collectives", kScatter, "--collectives", kScatter}),
                 "there is a collective Scatter already");
  refuses_saying(synth({"--collectives", "/no/such.p2c"}), "/no/such.p2c: cannot be read");
  refuses_saying(synth({"--goal", "/no/such.p2c"}), "/no/such.p2c: cannot be read");
  refuses_saying(synth({"--collectives", kScatter, "scatter"}),
                 "--collectives: 'scatter' is not a definition, expected FILE.p2c");
  refuses_saying(synth({"--goal", "scatter"}), "--goal: unknown 'scatter', expected allreduce, ");
  refuses_saying({"check", five.path(), "--goal", "reducescatter"},
                 "goal reducescatter: premise divisible refuses the class of device 0");
}

TEST_CASE("what knows the paper's terms alone refuses others in exit 2") {
  const std::string cnf = "--engine: cnf knows the five collectives and the goal allreduce only";
  const std::string certify = "--certify: certificates cover the five collectives and the goal";
  refuses_saying(synth({"--goal", "reduce", "--engine", "cnf"}), cnf);
  refuses_saying(synth({"--collectives", kScatter, "--engine", "cnf"}), cnf);
  refuses_saying(synth({"--goal", "reduce", "--certify", "/nowhere"}), certify);
  refuses_saying({"check", kReduceThenScatter, "--collectives", kScatter, "--engine", "cnf"}, cnf);
  refuses_saying({"check", kReduceThenScatter, "--collectives", kScatter, "--certify", "/nowhere"},
                 certify);
}

TEST_CASE("a definition that is not examined to the end leaves everything undecided") {
  const Ran ran = run(synth({"--collectives", kScatter, "--rlimit", "1"}));
  CHECK(ran.exit == 3);
  CHECK(ran.out.empty());
  CHECK(ran.err.find("Scatter is not known to be sound: ") != std::string::npos);
}

TEST_CASE("a definition that is unsound from five devices on is refused before it is used") {
  const TemporaryFile late(
      "collective Late \"A copy of the root in which larger groups invent contributions\"\n"
      "require informative \"somebody learns\": exists i in group, r in chunks, c in contributors: "
      "s(0, r, c) and not s(i, r, c)\n"
      "require contained \"nothing is lost\": forall i in group, r in chunks, c in contributors: "
      "s(i, r, c) implies s(0, r, c)\n"
      "ensure s'(i, r, c) = s(0, r, c) or n > 4\n"
      "measure count i in group, r in chunks, c in contributors: s(i, r, c)\n",
      ".p2c");
  const TemporaryFile small("devices 4\nLate{0,1,2,3}", ".p2");
  refuses_saying({"check", small.path(), "--collectives", late.path()}, "Late is not sound, ");
}

TEST_CASE("a step that claims the contributions of devices beyond the first 32 is found out") {
  const TemporaryFile boastful(
      "collective Boastful \"AllReduce that in groups of 32 claims what nobody in them has\"\n"
      "let held(i in group, r in chunks) = exists c in contributors: s(i, r, c)\n"
      "let amount(i in group, r in chunks) = count c in contributors: s(i, r, c)\n"
      "require same-chunks \"all hold the same chunks\":\n"
      "  forall i, j in group, r in chunks: held(i, r) iff held(j, r)\n"
      "require disjoint \"nothing is counted twice\":\n  forall i, j in group, r in chunks, c in "
      "contributors:\n"
      "    i < j implies not (s(i, r, c) and s(j, r, c))\n"
      "ensure s'(i, r, c) = (exists j in group: s(j, r, c)) or\n"
      "  ((sum a, b in group: a) = 1984 * 8 and held(i, r))\n"
      "measure sum i in group, r in chunks: amount(i, r) * amount(i, r)\n",
      ".p2c");
  const auto group = [](std::uint32_t first) {
    std::string text = "{" + std::to_string(first);
    for (std::uint32_t d = first + 1; d < first + 32; ++d) text += "," + std::to_string(d);
    return text + "}";
  };
  const TemporaryFile program("devices 64\nBoastful" + group(0) + "," + group(32), ".p2");
  refuses_saying({"check", program.path(), "--collectives", boastful.path()},
                 "Boastful is not sound for a group of 32, realisable refuted");
}

TEST_CASE(
    "a definition that is unsound in some larger groups is found out where a program uses it") {
  const TemporaryFile careless(
      "collective Careless \"AllReduce that says more than it has in groups of five\"\n"
      "require same-chunks \"all hold the same chunks\":\n  forall i, j in group, r in chunks:\n"
      "    (exists c in contributors: s(i, r, c)) iff (exists c in contributors: s(j, r, c))\n"
      "require disjoint \"nothing is counted twice\":\n  forall i, j in group, r in chunks, c in "
      "contributors:\n"
      "    i < j implies not (s(i, r, c) and s(j, r, c))\n"
      "ensure s'(i, r, c) = (exists j in group: s(j, r, c)) or (sum a, b in group: a) = 50\n"
      "measure count i in group, r in chunks, c in contributors: s(i, r, c)\n",
      ".p2c");
  const TemporaryFile small("devices 4\nCareless{0,1,2,3}", ".p2");
  CHECK(run({"check", small.path(), "--collectives", careless.path()}).exit == 0);
  const TemporaryFile large("devices 10\nCareless{0,1,2,3,4},{5,6,7,8,9}", ".p2");
  const std::string message = "Careless is not sound for a group of 5, realisable refuted";
  refuses_saying({"check", large.path(), "--collectives", careless.path()}, message);
  refuses_saying({"synth", "--hierarchy", "2,5", "--axes", "10", "--reduce", "0", "--size", "1",
                  "--collectives", careless.path()},
                 message);
}

TEST_CASE("run, cost, oracle and export take programs with collectives of --collectives") {
  const Ran ran = run({"run", kReduceThenScatter, "--collectives", kScatter, "--bytes", "4K"});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("step 2: Scatter") != std::string::npos);
  CHECK(ran.out.find("ReduceScatter alone") != std::string::npos);
  CHECK(ran.out.find("1 of 1 programs run, 0 wrong elements") != std::string::npos);

  const TemporaryFolder folder;
  const std::string vectors = folder.path("vectors");
  const Ran oracle =
      run({"oracle", kReduceThenScatter, "--collectives", kScatter, "--output", vectors});
  CHECK(oracle.exit == 0);
  const json index = json::parse(bytes_of(vectors + "/index.json"));
  CHECK(index["goal"] == "reducescatter");
  CHECK(index["steps"][1]["collective"] == "Scatter");
  const json state = json::parse(bytes_of(vectors + "/state-step-2.json"));
  CHECK(state["contributors"][3][3] == json::parse("[0,1,2,3,4,5,6,7]"));
  CHECK(state["contributors"][3][4].empty());

  refuses_saying({"export", kReduceThenScatter, "--collectives", kScatter, "--to", "json"},
                 "step 2: Scatter is not a sequence of built-in collectives there");
  const std::string quantised = kCollectiveFiles + "sound/quantised-";
  const TemporaryFile program(
      "devices 4\nQuantisedReduceScatter{0,1,2,3}; QuantisedAllGather{0,1,2,3}", ".p2");
  const Ran exported =
      run({"export", program.path(), "--collectives", quantised + "reducescatter.p2c",
           quantised + "allgather.p2c", "--to", "json"});
  CHECK(exported.exit == 0);
  CHECK(json::parse(exported.out)["text"] == "ReduceScatter{0,1,2,3}; AllGather{0,1,2,3}");
}

namespace {

/// The text of a file as another definition, whose name starts with `My`, and with this clause.
std::string with_traffic(const std::string& file, const std::string& name,
                         const std::string& traffic) {
  std::string text = bytes_of(std::string(P2_SOURCE_DIR) + "/" + file);
  const std::string head = "collective " + name + "\n";
  text.replace(text.find(head), head.size(), "collective My" + name + "\n");
  return text + "traffic " + traffic + "\n";
}

double seconds_of(const std::vector<std::string>& arguments) {
  const json answer = json::parse(run(arguments).out);
  REQUIRE(answer["programs"].size() == 1);
  return answer["programs"][0]["seconds"];
}

}  // namespace

TEST_CASE("a step whose definition states the traffic of a built-in collective costs as much") {
  const std::string root = std::string(P2_SOURCE_DIR) + "/";
  const auto own = [&](const std::string& file, const std::string& name) {
    return std::make_unique<TemporaryFile>(with_traffic(file, name, name), ".p2c");
  };
  const auto all = own("engine/collective/allreduce.p2c", "AllReduce");
  const auto scatter = own("engine/collective/reducescatter.p2c", "ReduceScatter");
  const auto gather = own("engine/collective/allgather.p2c", "AllGather");
  const auto reduce = own("engine/collective/reduce.p2c", "Reduce");
  const auto broadcast = own("engine/collective/broadcast.p2c", "Broadcast");
  const auto exchange = own("examples/collectives/sound/alltoall.p2c", "AllToAll");

  struct Case {
    std::string mine;  ///< without My: the same of built-in collectives
    std::vector<std::string> definitions;
  };
  const std::vector<Case> cases = {
      {"MyAllReduce(root, InsideGroup)", {all->path()}},
      {"MyReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); MyAllGather(node, "
       "InsideGroup)",
       {scatter->path(), gather->path()}},
      {"MyReduce(root, InsideGroup); MyBroadcast(root, InsideGroup)",
       {reduce->path(), broadcast->path()}},
      {"goal alltoall\nMyAllToAll(root, InsideGroup)", {exchange->path(), kAllToAll}},
  };
  const auto compare = [&](const std::string& system, const std::string& algorithm,
                           const std::string& header, const Case& each) {
    CAPTURE(system);
    CAPTURE(algorithm);
    CAPTURE(each.mine);
    std::string plain = each.mine;
    for (std::size_t at = plain.find("My"); at != std::string::npos; at = plain.find("My")) {
      plain.erase(at, 2);
    }
    const TemporaryFile mine_file(header + each.mine, ".p2");
    const TemporaryFile plain_file(header + plain, ".p2");
    std::vector<std::string> words = {"cost",
                                      "--system",
                                      root + "examples/systems/" + system,
                                      mine_file.path(),
                                      plain_file.path(),
                                      "--format",
                                      "json",
                                      "--algorithm",
                                      algorithm,
                                      "--max-group",
                                      "2",
                                      "--collectives"};
    words.insert(words.end(), each.definitions.begin(), each.definitions.end());
    const json answer = json::parse(run(words).out);
    REQUIRE(answer["programs"].size() == 2);
    const json& first = answer["programs"][0];
    const json& second = answer["programs"][1];
    CHECK(first["text"].get<std::string>().starts_with("My") !=
          second["text"].get<std::string>().starts_with("My"));
    CHECK(first["seconds"].get<double>() > 0);
    CHECK(first["seconds"] == second["seconds"]);
    CHECK(first["steps"] == second["steps"]);
  };
  const std::string two = "hierarchy node=2,gpu=16\naxes a=32\nreduce a\n";
  const std::string four = "hierarchy node=4,gpu=8\naxes a=32\nreduce a\n";
  compare("a100-2nodes.json", "tree", two, cases[0]);
  for (const Case& each : cases) {
    compare("a100-2nodes.json", "ring", two, each);
    compare("dgx-h100-4nodes.json", "auto", four, each);
  }
}

TEST_CASE("a step that states a part costs as much as the collective on that part of the data") {
  // 32 devices of two nodes, whose NIC carries 8 GB/s each way. Of a buffer S, an AllReduce over
  // all takes 2 * 31/32 * S over the NIC; an AllGather of a 32nd of it half of that.
  const std::string system = std::string(P2_SOURCE_DIR) + "/examples/systems/a100-2nodes.json";
  const auto priced = [&](const std::string& traffic, const std::string& text) {
    const TemporaryFile definition(
        with_traffic("engine/collective/allreduce.p2c", "AllReduce", traffic), ".p2c");
    const TemporaryFile program(text, ".p2");
    return seconds_of({"cost", "--system", system, program.path(), "--format", "json", "--bytes",
                       "1G", "--max-group", "2", "--collectives", definition.path()});
  };
  const std::string header = "hierarchy node=2,gpu=16\naxes a=32\nreduce a\n";
  const double whole = 1073741824.0 / 8e9 * 2 * 31 / 32;
  const std::string all = header + "MyAllReduce(root, InsideGroup)";
  CHECK(priced("AllReduce of 1 / 4", all) == doctest::Approx(whole / 4));
  CHECK(priced("AllGather of 1 / n", all) == doctest::Approx(whole / 2));
  // What is held counts: after a ReduceScatter over 16 devices a 16th, of which each of 16 groups
  // of two sends the half both ways.
  CHECK(priced("AllReduce of 1 / 4",
               header + "ReduceScatter(node, InsideGroup); "
                        "MyAllReduce(node, Parallel(root)); AllGather(node, InsideGroup)") -
            priced("AllReduce of 1 / 8",
                   header + "ReduceScatter(node, InsideGroup); "
                            "MyAllReduce(node, Parallel(root)); AllGather(node, InsideGroup)") ==
        doctest::Approx(1073741824.0 / 8e9 / 8));
  // Everything but the price is as without the clause.
  const TemporaryFile definition(
      with_traffic("engine/collective/allreduce.p2c", "AllReduce", "AllReduce of 1 / 4"), ".p2c");
  const TemporaryFile program(all, ".p2");
  CHECK(run({"run", program.path(), "--collectives", definition.path(), "--bytes", "4K",
             "--iterations", "1"})
            .exit == 0);
  const Ran exported =
      run({"export", program.path(), "--collectives", definition.path(), "--to", "json"});
  CHECK(json::parse(exported.out)["text"] == "AllReduce(root, InsideGroup)");
}

TEST_CASE("a program of user-defined collectives is priced by what stands for it, or by its rows") {
  const std::string system = std::string(P2_SOURCE_DIR) + "/examples/systems/a100-2nodes.json";
  const auto priced = [&](const std::string& steps, std::vector<std::string> more) {
    const TemporaryFile program(
        "hierarchy node=2,gpu=16\naxes a=32\nreduce a\ngoal reducescatter\n" + steps, ".p2");
    std::vector<std::string> words = {"cost",         "--system", system,
                                      program.path(), "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const json answer = json::parse(run(words).out);
    return answer["programs"][0]["seconds"].get<double>();
  };
  const double plain = priced("ReduceScatter(root, InsideGroup)", {});
  CHECK(priced("QuantisedReduceScatter(root, InsideGroup)",
               {"--collectives", kCollectiveFiles + "sound/quantised-reducescatter.p2c"}) == plain);
  CHECK(priced("Reduce(root, InsideGroup); Scatter(root, InsideGroup)",
               {"--collectives", kScatter}) > plain);
}
