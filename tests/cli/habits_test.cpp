#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
using nlohmann::json;

namespace {

const std::string kExamples = std::string(P2_SOURCE_DIR) + "/examples/";
const std::string kBlueConnect = kPrograms + "valid/figure10-blueconnect.p2";

/// Exit 2, nothing on stdout, and one line on stderr that ends with `ending`.
void refuses(const std::vector<std::string>& arguments, const std::string& ending) {
  const Ran ran = run(arguments);
  CAPTURE(ran.err);
  CHECK(ran.exit == 2);
  CHECK(ran.out.empty());
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  CHECK(ran.err.ends_with(ending + "\n"));
}

/// What a shell prints for a command line of the program itself.
Ran shell(const std::string& line) {
  FILE* pipe = ::popen((line + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ran ran;
  std::array<char, 4096> block{};
  for (std::size_t read = 0; (read = std::fread(block.data(), 1, block.size(), pipe)) > 0;) {
    ran.out.append(block.data(), read);
  }
  ran.exit = ::pclose(pipe) >> 8;
  return ran;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("-h is --help, for the program and for every command") {
  CHECK(run({"-h"}).out == run({"--help"}).out);
  for (const Command& command : command_list()) {
    const std::string name(command.name);
    CAPTURE(name);
    const Ran ran = run({name, "-h"});
    CHECK(ran.exit == 0);
    CHECK(ran.out == run({name, "--help"}).out);
  }
  CHECK(run({"check", "--", "-h"}).exit == 2);  // a file of that name
}

TEST_CASE("- is standard input") {
  const std::string program = std::string(P2_VERIFY);
  const Ran checked = shell(program + " check - < " + kBlueConnect);
  CHECK(checked.exit == 0);
  CHECK(checked.out == "-: valid (64 devices, 3 steps, dialect published)\n");
  const Ran refused = shell("echo 'devices x' | " + program + " check -");
  CHECK(refused.exit == 2);
  CHECK(refused.out.starts_with("p2-verify: -:1:9: "));
  // run and export read a file more than once.
  CHECK(shell(program + " run - --bytes 4K --iterations 1 < " + kPrograms +
              "valid/figure3a-allreduce.p2")
            .exit == 0);
  CHECK(shell(program + " export - --to json < " + kBlueConnect).exit == 0);
  CHECK(shell(program + " define - --max-group 2 < " + kExamples + "collectives/sound/gather.p2c")
            .exit == 0);
  CHECK(shell(program + " parallelize - < " + kExamples + "strategy/mlp.json").exit == 0);
  CHECK(shell(program + " place --system - --axes 32 < " + kSystems + "a100-2nodes.json").exit ==
        0);
  const Ran processes = shell(program + " run - --backend mpi < " + kBlueConnect);
  CHECK(processes.exit == 2);
  CHECK(processes.out == "p2-verify: -: every process reads its input, expected a file\n");
}

TEST_CASE("a mistyped command, flag, choice or name is answered with the nearest one") {
  refuses({"chekc"}, "; did you mean 'check'?");
  refuses({"place", "--axis", "4"}, "; did you mean '--axes'?");
  refuses({"place", "--hierarchy", "4", "--axes", "4", "--format", "jsn"},
          "; did you mean 'json'?");
  refuses({"synth", "--hierarchy", "4", "--axes", "4", "--reduce", "0", "--dialect", "publised"},
          "; did you mean 'published'?");
  refuses({"synth", "--hierarchy", "4", "--axes", "4", "--reduce", "0", "--synthesis-hierarchy",
           "colapsed"},
          "; did you mean 'collapsed'?");
  refuses({"synth", "--hierarchy", "4", "--axes", "4", "--reduce", "0", "--engine", "explict"},
          "; did you mean 'explicit'?");
  refuses({"synth", "--hierarchy", "4", "--axes", "4", "--reduce", "0", "--goal", "allreduse"},
          "; did you mean 'allreduce'?");
  refuses({"synth", "--hierarchy", "4", "--axes", "data=4", "--reduce", "date"},
          "; did you mean 'data'?");
  refuses({"prove", "lemma-b9"}, "; did you mean 'lemma-b1'?");
  refuses({"cost", "--system", kSystems + "a100-2nodes.json", "--axes", "32", "--reduce", "0",
           "--algorithm", "rings"},
          "; did you mean 'ring'?");
}

TEST_CASE("a mistyped word of a program is answered with the nearest one") {
  const auto refuses_program = [](const std::string& text, const std::string& ending) {
    const TemporaryFile file(text, ".p2");
    refuses({"check", file.path()}, ending);
  };
  const std::string instance = "hierarchy node=2,gpu=2\naxes data=4\nreduce data\n";
  refuses_program("hierachy 2,2\n", "; did you mean 'hierarchy'?");
  refuses_program(instance + "AllRedcue(root, InsideGroup)", "; did you mean 'AllReduce'?");
  refuses_program(instance + "AllReduce(nod, InsideGroup)", "; did you mean 'node'?");
  refuses_program(instance + "AllReduce(root, InsidGroup)", "; did you mean 'InsideGroup'?");
  refuses_program(R"({"devices": 2, "class": [[0,1]], "steps": []})", "; did you mean 'classes'?");
}

TEST_CASE("check takes definitions, systems and graphs, and says what options are not theirs") {
  const std::string sound = kExamples + "collectives/sound/scatter.p2c";
  const std::string wrong = kExamples + "collectives/wrong/reduce-subtracts.p2c";
  const std::string system = kSystems + "a100-2nodes.json";
  const std::string graph = kExamples + "strategy/mlp.json";
  const Ran ran = run({"check", sound, wrong, system, graph});
  CHECK(ran.exit == 1);
  CHECK(ran.out.find("scatter.p2c: Scatter: sound (") != std::string::npos);
  CHECK(ran.out.find("sums-whole is refuted") != std::string::npos);
  CHECK(ran.out.find(system + ": valid (system a100-2nodes, 32 devices, 3 interconnects)") !=
        std::string::npos);
  CHECK(ran.out.find(graph + ": valid (operation graph, 6 vertices, 6 edges)") !=
        std::string::npos);
  CHECK(ran.out.find("total: 4 files, 3 valid, 1 invalid") != std::string::npos);
  refuses({"check", system, "--certify", "x"}, "is a system file, expected no --certify");
  refuses({"check", sound, "--explain"}, "is a definition of a collective, expected no --explain");
}

TEST_CASE("a file of another kind is named as such, with the command that reads it") {
  const std::string definition = kExamples + "collectives/sound/gather.p2c";
  const std::string system = kSystems + "a100-2nodes.json";
  const std::string graph = kExamples + "strategy/mlp.json";
  const std::string tasks = kExamples + "reshard/greedy_misses.json";
  refuses(
      {"synth", "--system", definition, "--axes", "4", "--reduce", "0"},
      "gather.p2c: is a definition of a collective, expected a system file (see p2-verify define)");
  refuses({"check", tasks},
          "is a set of unit tasks, expected a program (see p2-verify reshard --tasks)");
  refuses({"define", kBlueConnect},
          "is a program, expected a definition of a collective (see p2-verify check)");
  refuses({"parallelize", system},
          "is a system file, expected an operation graph (see p2-verify cost --system)");
  refuses({"place", "--system", kBlueConnect, "--axes", "4"},
          "is a program, expected a system file (see p2-verify check)");
  refuses({"reshard", "--tasks", graph},
          "is an operation graph, expected a set of unit tasks (see p2-verify parallelize)");
  refuses({"check", kBlueConnect, "--collectives", definition, "--goal", kPrograms + "a.p2c"},
          "cannot be read, expected a readable file");
}

TEST_CASE("what a command writes never replaces what it reads") {
  const TemporaryFile program("devices 2\nAllReduce{0,1}\n", ".p2");
  const std::string path = program.path();
  const std::string text = text_of(path);
  const std::string message =
      "--output: '" + path + "' is an input of this command, expected another file";
  refuses({"check", path, "--output", path}, message);
  refuses({"export", path, "--to", "json", "--output", path}, message);
  refuses({"cost", "--system", path, "--output", path}, message);
  refuses({"check", path, "--smt2", path},
          "--smt2: '" + path + "' is an input of this command, expected another file");
  // By another name, and found by a pattern.
  const std::string link = path + ".link";
  std::filesystem::create_symlink(path, link);
  refuses({"check", path, "--output", link}, message);
  std::filesystem::remove(link);
  refuses({"check", path.substr(0, path.size() - 3) + "*", "--output", path}, message);
  CHECK(text_of(path) == text);
  const TemporaryFile other("", ".txt");
  CHECK(run({"check", path, "--output", other.path()}).exit == 0);
}

TEST_CASE("check sums up where it judged several files") {
  const TemporaryFile broken("devices x", ".p2");
  const Ran ran =
      run({"check", kPrograms + "valid/*.p2", kPrograms + "refused/*.p2", broken.path()});
  CHECK(ran.exit == 2);
  CHECK(ran.out.ends_with("\n\ntotal: 10 files, 5 valid, 4 invalid, 1 not judged\n"));
  CHECK(run({"check", kBlueConnect}).out.find("total") == std::string::npos);
}

TEST_CASE("place says that it leaves drawings out") {
  const Ran large = run({"place", "--hierarchy", "16,8", "--axes", "128"});
  CHECK(large.out.ends_with("\n\ndrawing left out: 128 devices, drawn are at most 64\n"));
  const Ran many = run({"place", "--hierarchy", "2,2,2,2,2,2", "--axes", "8,4,2"});
  CHECK(
      many.out.ends_with("\n\ndrawings left out: 60 placements, drawn are the first 64\n") ==
      (json::parse(
           run({"place", "--hierarchy", "2,2,2,2,2,2", "--axes", "8,4,2", "--format", "json"}).out)
           .at("count") > 64));
  const Ran more = run({"place", "--hierarchy", "2,2,2,2,2,2", "--axes", "4,4,4"});
  CHECK(more.out.ends_with("\n\ndrawings left out: 90 placements, drawn are the first 64\n"));
  const Ran small = run({"place", "--hierarchy", "2,2", "--axes", "4"});
  CHECK(small.out.find("left out") == std::string::npos);
}

TEST_CASE("values are named in one style: capitals, or the choices separated by bars") {
  for (const DescribedCommand& command : described_commands()) {
    for (const DescribedOption& option : command.options) {
      CAPTURE(command.name);
      CAPTURE(option.name);
      CAPTURE(option.value);
      if (!option.choices().empty()) continue;
      CHECK(std::none_of(option.value.begin(), option.value.end(),
                         [](char ch) { return ch >= 'a' && ch <= 'z'; }));
    }
  }
}

TEST_CASE("check judges every program that synth wrote") {
  const TemporaryFile listed("");
  REQUIRE(run({"synth", "--hierarchy", "2,4", "--axes", "8", "--reduce", "0", "--size", "3",
               "--format", "json", "--output", listed.path()})
              .exit == 0);
  const Ran ran = run({"check", listed.path(), "--format", "json"});
  CHECK(ran.exit == 0);
  const json results = json::parse(ran.out).at("results");
  CHECK(results.size() == 25);
  CHECK(results.at(2).at("file") == listed.path() + " program 3");
  CHECK(run({"check", listed.path()}).out.ends_with("\n\ntotal: 25 programs, 25 valid\n"));
  const Ran report = run({"check", listed.path(), "--format", "junit"});
  CHECK(report.out.find(listed.path() + " program 3 premises\"") != std::string::npos);
  CHECK(report.out.find("<testsuite name=\"" + listed.path() + "\"") != std::string::npos);

  const TemporaryFile counted("");
  REQUIRE(run({"synth", "--hierarchy", "2,4", "--axes", "8", "--reduce", "0", "--size", "3",
               "--format", "json", "--count", "--output", counted.path()})
              .exit == 0);
  refuses({"check", counted.path()},
          "lists no program, expected what synth --format json writes, without --count");
}

TEST_CASE("programs with collectives of one's own go from synth to check") {
  const std::string gather = kExamples + "collectives/sound/gather.p2c";
  const TemporaryFile listed("");
  REQUIRE(run({"synth", "--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--size", "3",
               "--collectives", gather, "--format", "json", "--output", listed.path()})
              .exit == 0);
  CHECK(text_of(listed.path()).find("\"Gather\"") != std::string::npos);
  CHECK(run({"check", listed.path(), "--collectives", gather}).exit == 0);
  const Ran without = run({"check", listed.path()});
  CHECK(without.exit == 2);
  CHECK(without.err.find("unknown 'Gather', expected AllReduce") != std::string::npos);
}
