#include <algorithm>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
using nlohmann::json;

namespace {

const std::string kValid =
    R"({"devices":4,"classes":[[0,1,2,3]],"steps":[{"collective":"AllReduce","groups":[[0,1,2,3]]}]})";
const std::string kInvalid =
    R"({"devices":4,"classes":[[0,1,2,3]],"steps":[{"collective":"AllReduce","groups":[[0,1],[2,3]]},)"
    R"({"collective":"AllReduce","groups":[[0,1],[2,3]]}]})";

}  // namespace

TEST_CASE("place lists the matrices as JSON and draws them as text") {
  const Ran ran = run({"place", "--hierarchy", "4,16", "--axes", "8,8", "--format", "json"});
  CHECK(ran.exit == 0);
  CHECK(json::parse(ran.out)["placements"] ==
        json::parse("[[[1,8],[4,2]],[[2,4],[2,4]],[[4,2],[1,8]]]"));
  const Ran text = run({"place", "--hierarchy", "node=2,gpu=2", "--axes", "data=2,shard=2"});
  CHECK(text.out ==
        "4 devices: node=2,gpu=2   axes data=2,shard=2\n\n"
        "placement 1 of 2   [[1 2] [2 1]]\n"
        "        node    gpu\n"
        "data       1      2\n"
        "shard      2      1\n\n"
        "node 0 0/0 1/0\n"
        "node 1 0/1 1/1\n\n"
        "placement 2 of 2   [[2 1] [1 2]]\n"
        "        node    gpu\n"
        "data       2      1\n"
        "shard      1      2\n\n"
        "node 0 0/0 0/1\n"
        "node 1 1/0 1/1\n");
}

TEST_CASE("synth counts, lists and names its dialect; --count leaves the lists out") {
  const std::vector<std::string> question = {"synth",  "--system", kSystems + "a100-4nodes.json",
                                             "--axes", "8,8",      "--reduce",
                                             "1",      "--format", "json"};
  const json all = json::parse(run(question).out);
  CHECK(all["dialect"] == "published");
  CHECK(all["total_programs"] == 97);
  CHECK(all["complete"] == true);
  REQUIRE(all["placements"].size() == 3);
  std::size_t listed = 0;
  for (const json& placement : all["placements"]) {
    CHECK(placement["programs"] == placement["list"].size());
    listed += placement["list"].size();
  }
  CHECK(listed == 97);
  const json& program = all["placements"][1]["list"][0];
  CHECK(program["devices"] == 64);
  CHECK(program["classes"].size() == 8);
  CHECK(program["steps"][0]["collective"] == "AllReduce");

  auto counted = question;
  counted.push_back("--count");
  const json count = json::parse(run(counted).out);
  CHECK(count["total_programs"] == 97);
  CHECK(!count["placements"][0].contains("list"));
}

TEST_CASE("every program that synth lists is valid for check, as it stands in the JSON") {
  const json all = json::parse(
      run({"synth", "--hierarchy", "2,4", "--axes", "4,2", "--reduce", "0", "--format", "json"})
          .out);
  for (const json& placement : all["placements"]) {
    for (const json& program : placement["list"]) {
      const TemporaryFile file(program.dump());
      CHECK(run({"check", file.path()}).exit == 0);
    }
  }
}

TEST_CASE("synth in text shows matrix, count and readable programs") {
  const Ran ran = run({"synth", "--hierarchy", "node=2,gpu=2", "--axes", "data=4", "--reduce",
                       "data", "--size", "2"});
  CHECK(ran.exit == 0);
  CHECK(ran.out ==
        "4 devices: node=2,gpu=2   axes data=4   reduce data\n"
        "dialect published, programs of at most 2 steps\n\n"
        "placement 1 of 1   [[2 2]]\n"
        "       node    gpu\n"
        "data      2      2\n"
        "synthesis hierarchy root 1 > node 2 > gpu 2: 5 programs\n"
        "    1  AllReduce(root, InsideGroup)\n"
        "    2  ReduceScatter(root, InsideGroup); AllGather(root, InsideGroup)\n"
        "    3  Reduce(root, InsideGroup); Broadcast(root, InsideGroup)\n"
        "    4  AllReduce(node, InsideGroup); AllReduce(node, Parallel(root))\n"
        "    5  AllReduce(node, Parallel(root)); AllReduce(node, InsideGroup)\n\n"
        "total: 5 programs over 1 placement\n");
  const Ran explained =
      run({"synth", "--hierarchy", "2", "--axes", "2", "--reduce", "0", "--explain"});
  CHECK(explained.out.find("after step 1: ReduceScatter(root, InsideGroup)\n"
                           "   d0  d1\n"
                           "   ██  ··\n"
                           "   ··  ██\n") != std::string::npos);
}

TEST_CASE("the output is the same for any number of threads") {
  const auto printed = [](const char* jobs) {
    return run({"synth", "--hierarchy", "4,16", "--axes", "4,2,8", "--reduce", "0,2", "--format",
                "json", "--jobs", jobs})
        .out;
  };
  CHECK(printed("1") == printed("7"));
}

TEST_CASE("check exits 0 for valid, 1 for refuted, and says why in text and in JSON") {
  const TemporaryFile valid(kValid);
  const TemporaryFile invalid(kInvalid);
  const Ran both = run({"check", valid.path(), invalid.path(), "--format", "json"});
  CHECK(both.exit == 1);
  const json results = json::parse(both.out)["results"];
  REQUIRE(results.size() == 2);
  CHECK(results[0]["verdict"] == "valid");
  CHECK(results[0]["engines"]["explicit"] == "valid");
  CHECK(results[0]["step"].is_null());
  CHECK(results[0]["counterexample"].is_null());
  CHECK(results[1]["file"] == invalid.path());
  CHECK(results[1]["verdict"] == "invalid");
  CHECK(results[1]["step"] == 2);
  CHECK(results[1]["counterexample"] == json::parse(R"({"rule":"disjoint","step":2,"group":[0,1],
      "devices":[0,1],"chunk":0,"contributor":0})"));
  CHECK(run({"check", valid.path()}).exit == 0);
  CHECK(run({"check", invalid.path()}).out ==
        invalid.path() +
            ": invalid (4 devices, 2 steps, dialect published)\n"
            "Step 2, AllReduce on group {0,1}, is refused by premise disjoint: no contribution may "
            "be "
            "counted twice, but devices 0 and 1 both hold the contribution of device 0 in chunk "
            "0.\n");
}

TEST_CASE("check takes .p2 programs and an instance from the command line") {
  const TemporaryFile file(
      "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); "
      "AllGather(node, InsideGroup)\n",
      ".p2");
  CHECK(run({"check", file.path(), "--hierarchy", "node=4,gpu=16", "--axes", "64", "--reduce", "0"})
            .exit == 0);
  CHECK(run({"check", file.path()}).exit == 2);
}

TEST_CASE(
    "synth --verify has both solvers find the same programs and refute that there are others") {
  const std::vector<std::string> question = {"synth",    "--hierarchy", "2,2",      "--axes", "4",
                                             "--reduce", "0",           "--verify", "--count"};
  const Ran text = run(question);
  CHECK(text.exit == 0);
  CHECK(text.out.find("z3: the same 47 programs, and refuted that there is another\n"
                      "cnf: the same 47 programs, and refuted that there is another\n") !=
        std::string::npos);
  auto machine = question;
  machine.insert(machine.end(), {"--format", "json"});
  CHECK(json::parse(run(machine).out)["placements"][0]["verified"] ==
        json::parse(
            R"([{"engine":"z3","complete":true,"settled_size":5,"found":47,"missing":[],"extra":[]},
                        {"engine":"cnf","complete":true,"settled_size":5,"found":47,"missing":[],"extra":[]}])"));
}

TEST_CASE("check --engine all asks Z3, CaDiCaL and the reference interpreter as well") {
  const TemporaryFile valid(kValid);
  const TemporaryFile invalid(kInvalid);
  const Ran both =
      run({"check", valid.path(), invalid.path(), "--engine", "all", "--format", "json"});
  CHECK(both.exit == 1);
  const json results = json::parse(both.out)["results"];
  CHECK(results[0]["engines"] == json::parse(R"({"explicit":"valid","z3":"valid","cnf":"valid",
      "reference":"valid"})"));
  CHECK(results[1]["engines"] == json::parse(R"({"explicit":"invalid","z3":"invalid",
      "cnf":"invalid","reference":"invalid"})"));
  const json& found = results[1]["findings"];
  for (const char* engine : {"explicit", "z3", "cnf", "reference"}) {
    CHECK(found[engine] == json::parse(R"({"verdict":"invalid","step":2,"rule":"disjoint"})"));
  }
  const Ran one = run({"check", valid.path(), "--engine", "cnf", "--format", "json"});
  CHECK(json::parse(one.out)["results"][0]["engines"] ==
        json::parse(R"({"explicit":"valid","cnf":"valid"})"));
}

TEST_CASE("--dialect goes before the dialect that a file names") {
  const std::string text = "hierarchy 2,2\naxes 4\nreduce 0\n";
  const std::string program =
      "Reduce(l0, InsideGroup); Reduce(l0, Master(root)); Broadcast(root, InsideGroup)";
  const TemporaryFile printed(text + "dialect printed\n" + program, ".p2");
  CHECK(run({"check", printed.path()}).exit == 0);
  CHECK(run({"check", printed.path(), "--dialect", "published"}).exit == 1);
}

TEST_CASE("--output replaces the file behind a link and writes into pipes as they are") {
  const TemporaryFile target("");
  const std::string link = target.path() + ".link";
  std::filesystem::create_symlink(target.path(), link);
  CHECK(run({"place", "--hierarchy", "4", "--axes", "4", "--format", "json", "--output", link})
            .exit == 0);
  CHECK(std::filesystem::is_symlink(link));
  std::ifstream file(target.path());
  CHECK(json::parse(file)["count"] == 1);
  std::filesystem::remove(link);
  CHECK(run({"place", "--hierarchy", "4", "--axes", "4", "--output", "/dev/null"}).exit == 0);
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("the shipped example programs are valid or refused as their folder says") {
  for (const auto& [folder, exit] : {std::pair("valid", 0), std::pair("refused", 1)}) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(P2_SOURCE_DIR) +
                                                                 "/examples/programs/" + folder)) {
      CHECK_MESSAGE(run({"check", entry.path().string()}).exit == exit, entry.path().string());
      ++files;
    }
    CHECK(files >= 4);
  }
}

TEST_CASE("one unreadable file does not swallow the verdicts on the others") {
  const TemporaryFile valid(kValid);
  const Ran ran = run({"check", "/nonexistent/program.json", valid.path(), "--format", "json"});
  CHECK(ran.exit == 2);
  CHECK(json::parse(ran.out)["results"].size() == 1);
  CHECK(ran.err ==
        "p2-verify: /nonexistent/program.json: cannot be read, expected a readable file\n");
}

TEST_CASE("limits end in exit 3 with what was settled so far") {
  const Ran ran = run({"synth", "--hierarchy", "8,8,8", "--axes", "512", "--reduce", "0", "--size",
                       "8", "--memory", "1", "--count", "--format", "json"});
  CHECK(ran.exit == 3);
  const json result = json::parse(ran.out);
  CHECK(result["complete"] == false);
  CHECK(result["placements"][0]["settled_size"] < 8);
}

TEST_CASE("--output writes a whole file and leaves no partial one behind") {
  const TemporaryFile target("");
  CHECK(run({"place", "--hierarchy", "4", "--axes", "4", "--format", "json", "--output",
             target.path()})
            .out.empty());
  std::ifstream file(target.path());
  CHECK(json::parse(file)["count"] == 1);
  const std::string folder = std::filesystem::path(target.path()).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CHECK(entry.path().string().find(target.path() + ".partial") == std::string::npos);
  }
}

TEST_CASE("help and version exist for the program and help for every command") {
  CHECK(run({"--version"}).out.rfind("p2-verify ", 0) == 0);
  for (const char* part : {"Z3", "CaDiCaL", "CUDA", "NCCL", "MPI", "Coq"}) {
    CHECK(run({"--version"}).out.find(part) != std::string::npos);
  }
  CHECK(run({"--help"}).out.find("synth") != std::string::npos);
  for (const char* command : {"place", "synth", "check"}) {
    const Ran ran = run({command, "--help"});
    CHECK(ran.exit == 0);
    CHECK(ran.out.rfind("usage: p2-verify " + std::string(command), 0) == 0);
  }
}

namespace {

/// Exit 2, nothing on stdout, and exactly this line on stderr.
void refuses(const std::vector<std::string>& arguments, const std::string& message) {
  const Ran ran = run(arguments);
  CHECK(ran.exit == 2);
  CHECK(ran.out.empty());
  CHECK(ran.err == "p2-verify: " + message + "\n");
}

void synth_refuses(const std::string& hierarchy, const std::string& axes, const std::string& reduce,
                   const std::string& message) {
  refuses({"synth", "--hierarchy", hierarchy, "--axes", axes, "--reduce", reduce}, message);
}

}  // namespace

TEST_CASE("wrong instances end in exit 2 and one line") {
  synth_refuses("0,4", "4", "0",
                "--hierarchy:1:1: found 0, expected the size of a level from 1 to 1048576");
  synth_refuses("4,16", "8,4", "0",
                "--axes: the axes a0=8,a1=4 multiply to 32, expected 64: the number of devices of "
                "l0=4,l1=16");
  synth_refuses("1000000,1000000", "2", "0",
                "--hierarchy:1:1: too many devices, expected at most 1048576");
  synth_refuses(
      "1000000000000", "2", "0",
      "--hierarchy:1:1: found 1000000000000, expected the size of a level from 1 to 1048576");
  synth_refuses("4", "4", "1",
                "--reduce:1:1: found 1, expected the index of a reduction axis from 0 to 0");
  synth_refuses("4", "4", "",
                "--reduce:1:1: found the end, expected the index of a reduction axis "
                "from 0 to 0");
  synth_refuses("4;4", "16", "0",
                "--hierarchy:1:2: unexpected ';' after the hierarchy, expected the end");
}

TEST_CASE("wrong flags end in exit 2 and one line") {
  refuses({"synth", "--axes", "4", "--reduce", "0"},
          "command line: no system, expected --hierarchy or --system");
  refuses({"synth", "--hierarchy", "4", "--axes", "4"},
          "command line: no reduction axes, expected --reduce");
  refuses({"synth", "--hierarchy", "4", "--axes", "4", "--reduce", "0", "--size", "five"},
          "--size:1:1: found 'five', expected a whole number from 0 to 32");
  refuses({"synth", "--hierarchy", "4", "--axes", "4", "--reduce", "0", "--size", "33"},
          "--size:1:1: found '33', expected a whole number from 0 to 32");
  refuses({"synth", "--hierarchy", "4", "--axes", "4", "--reduce", "0", "--dialect", "loud"},
          "--dialect: unknown 'loud', expected printed or published");
  refuses({"place", "--hierarchy", "4", "--axes", "4", "--format", "yaml"},
          "--format: unknown 'yaml', expected one of text, json, html");
  refuses({"check"}, "command line: no file, expected at least one");
  refuses(
      {"check", "x", "--engine", "oracle"},
      "--engine: unknown 'oracle', expected auto, explicit, z3, cnf, symbolic, interpreter or all");
  refuses({"conquer"},
          "command line: unknown command 'conquer', expected place, synth, check, cost, define, "
          "prove, campaign, merge, run, oracle, parallelize, network, pipeline, reshard, "
          "export, system, completion or man (see --help)");
  const Ran unknown = run({"place", "--colour", "red"});
  CHECK(unknown.exit == 2);
  CHECK(std::count(unknown.err.begin(), unknown.err.end(), '\n') == 1);
  CHECK(unknown.err.find("--colour") != std::string::npos);
}

TEST_CASE("wrong files end in exit 2 and one line with line and column") {
  const TemporaryFile system(R"({"name": "x",
 "hierarchy": [{"name": "node", "size": "4"}]})");
  const Ran ran = run({"place", "--system", system.path(), "--axes", "4"});
  CHECK(ran.exit == 2);
  CHECK(ran.err.rfind("p2-verify: " + system.path() + ":2:41: ", 0) == 0);
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  const TemporaryFile binary(std::string("\x00\xff{\n\x1b[31m", 8), ".p2");
  const Ran garbage = run({"check", binary.path()});
  CHECK(garbage.exit == 2);
  CHECK(std::count(garbage.err.begin(), garbage.err.end(), '\n') == 1);
  CHECK(garbage.err.find('\x1b') == std::string::npos);
}

TEST_CASE("files and folders without a name, and reports of no kind, are bad input") {
  const std::vector<std::string> instance = {"synth", "--hierarchy", "2", "--axes",
                                             "2",     "--reduce",    "0"};
  auto words = instance;
  words.insert(words.end(), {"--output", ""});
  refuses(words, "--output: names no file, expected a path");
  words = instance;
  words.insert(words.end(), {"--certify", ""});
  CHECK(run(words).exit == 2);
  refuses({"prove", "lemma-b1", "--report", "x.pdf"},
          "--report: 'x.pdf', expected a name that ends in .md or .html");
}

namespace {

/// Too much for the solvers within any of the limits below, and nothing for the explicit engine.
Ran synth_within(const std::string& engine, const std::string& limit, const std::string& value) {
  return run({"synth", "--hierarchy", "8,8", "--axes", "64", "--reduce", "0", "--placement",
              "[[8 8]]", "--count", "--format", "json", "--engine", engine, limit, value});
}

const std::string kBlueConnect =
    std::string(P2_SOURCE_DIR) + "/examples/programs/valid/figure10-blueconnect.p2";

}  // namespace

TEST_CASE("every limit ends a solver's synthesis in exit 3, with what it settled") {
  const std::string memory = std::to_string((resident_memory() >> 20U) + 60);
  for (const auto& [limit, value] :
       {std::pair("--memory", memory.c_str()), std::pair("--rlimit", "100000"),
        std::pair("--timeout", "1")}) {
    CAPTURE(limit);
    const Ran ran = synth_within("z3", limit, value);
    CHECK(ran.exit == 3);
    const json result = json::parse(ran.out);
    CHECK(result["total_programs"] == 47);
    const json& solver = result["placements"][0]["verified"][0];
    CHECK(solver["complete"] == false);
    CHECK((solver["settled_size"].is_null() || solver["settled_size"] < 5));
    CHECK(solver["found"] < 47);
    CHECK(solver["missing"].empty());
    CHECK(solver["extra"].empty());
  }
}

TEST_CASE("--rlimit stops at the same place in every run, and says where") {
  const std::vector<std::string> command = {
      "synth",       "--hierarchy", "2,2",      "--axes", "4",        "--reduce", "0",
      "--placement", "[[2 2]]",     "--engine", "z3",     "--rlimit", "300000",   "--count"};
  const Ran ran = run(command);
  CHECK(ran.exit == 3);
  CHECK(ran.out.find("z3: stopped at a limit: programs of at most ") != std::string::npos);
  CHECK(ran.out.find(" found so far, all in the list\n") != std::string::npos);
  CHECK(ran.out == run(command).out);
}

TEST_CASE("a limit leaves a solver's verdict open and says how many steps are legal") {
  for (const auto& [limit, value] : {std::pair("--rlimit", "1"), std::pair("--memory", "1")}) {
    const Ran ran = run({"check", kBlueConnect, "--engine", "z3", limit, value});
    CHECK(ran.exit == 3);
    CHECK(ran.out.find("z3: unknown after 0 legal steps") != std::string::npos);
  }
  const Ran ran = run({"check", kBlueConnect, "--engine", "z3", "--rlimit", "20000000"});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("z3: valid\n") != std::string::npos);
}

TEST_CASE("a limit that is no limit is bad input") {
  CHECK(run({"check", kBlueConnect, "--rlimit", "0"}).exit == 2);
  CHECK(run({"check", kBlueConnect, "--rlimit", "many"}).exit == 2);
}

TEST_CASE("a campaign whose questions alone take too long ends at its limit") {
  const Ran ran =
      run({"prove", "expressiveness", "--max-devices", "40", "--size", "1", "--memory", "1"});
  CHECK(ran.exit == 3);
  CHECK(ran.out.empty());
  CHECK(ran.err.find("nothing was settled") != std::string::npos);
}
