#include <algorithm>

#include <doctest/doctest.h>

#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;

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
          "--size:1:1: found 'f', expected a whole number from 0 to 32");
  refuses({"synth", "--hierarchy", "4", "--axes", "4", "--reduce", "0", "--size", "33"},
          "--size:1:1: found 33, expected a whole number from 0 to 32");
  refuses({"synth", "--hierarchy", "4", "--axes", "4", "--reduce", "0", "--dialect", "loud"},
          "--dialect: unknown 'loud', expected printed or published");
  refuses({"place", "--hierarchy", "4", "--axes", "4", "--format", "yaml"},
          "--format: unknown 'yaml', expected one of text, json");
  refuses({"check"}, "command line: no file, expected at least one");
  refuses({"check", "x", "--engine", "oracle"},
          "--engine: unknown 'oracle', expected explicit, z3, cnf or all");
  refuses({"conquer"},
          "command line: unknown command 'conquer', expected place, synth, check, cost, define, "
          "prove, run, oracle, parallelize, network, pipeline, reshard, "
          "export, completion or man (see --help)");
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
