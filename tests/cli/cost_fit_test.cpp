#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/topology/system.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using nlohmann::json;

namespace {

const std::string kSystems = std::string(P2_SOURCE_DIR) + "/examples/systems/";

Ran cost(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "cost");
  return run(flags);
}

}  // namespace

TEST_CASE("--fit finds the bandwidth behind measured times and says how well rows were held out") {
  const std::string header = "system,axes,reduce,placement,algorithm,program,bytes,seconds,use\n";
  // Times of a NIC of 10 GB/s for 1 GiB; the last row is not of this system.
  const TemporaryFile csv(
      header +
          "a100-2nodes,32,0,[[2 16]],ring,AllReduce,1G,0.2080374784,fit\n"
          "a100-2nodes,\"2,16\",0,[[2 1] [1 16]],ring,AllReduce,1G,1.7179869184,fit\n"
          "a100-2nodes,32,0,[[2 16]],tree,\"AllReduce(root, InsideGroup)\",1G,"
          "0.1073741824,hold-out\n"
          "other,7,0,[[7]],ring,AllReduce,1G,1,fit\n",
      ".csv");
  const TemporaryFile fitted("");
  const std::string a100 = kSystems + "a100-2nodes.json";
  const Ran ran = cost({"--system", a100, "--fit", csv.path(), "--fit-links", "NIC", "--output",
                        fitted.path(), "--format", "json"});
  CHECK(ran.err == "");
  CHECK(ran.exit == 0);
  const json report = json::parse(ran.out);
  CHECK(report["links"][0]["name"] == "NIC");
  CHECK(report["links"][0]["after"] == "10 GB/s");
  CHECK(report["fitted_to"]["rows"] == 2);
  CHECK(report["held_out"]["rows"] == 1);
  CHECK(report["held_out"]["median_error"][0].get<double>() == doctest::Approx(0.25));
  CHECK(report["held_out"]["median_error"][1].get<double>() < 1e-6);
  System expected = parse_system(a100, bytes_of(a100));
  expected.interconnects[1].bytes_per_second = 10'000'000'000;
  CHECK(parse_system("fitted", bytes_of(fitted.path())) == expected);
  CHECK(
      cost({"--system", a100, "--fit", csv.path(), "--fit-links", "NIC", "--output", fitted.path()})
          .out.starts_with("NIC: 8 GB/s -> 10 GB/s\nfitted to     2 rows   median error 25.0 %"));
}

TEST_CASE("what cannot be priced or fitted is bad input, in one line") {
  struct Bad {
    std::vector<std::string> flags;
    const char* complaint;
  };
  const TemporaryFile wrong(
      "axes,reduce,placement,algorithm,program,bytes,seconds\n"
      "32,0,[[2 16]],ring,AllReduce(gpu,1G,1\n",
      ".csv");
  const TemporaryFile invalid(
      "axes,reduce,placement,algorithm,program,bytes,seconds\n"
      "32,0,[[2 16]],ring,\"AllReduce(node, InsideGroup)\",1G,1\n",
      ".csv");
  const std::string a100 = kSystems + "a100-2nodes.json";
  const std::vector<Bad> table = {
      {{"--hierarchy", "4,16", "--axes", "64", "--reduce", "0"},
       "command line: a system without interconnects cannot be priced, expected --system with a "
       "file that names them"},
      {{"--axes", "64", "--reduce", "0"},
       "command line: no system, expected --hierarchy or --system"},
      {{"--system", a100, "--axes", "32"}, "command line: no reduction axes, expected --reduce"},
      {{"--system", a100, "--axes", "32", "--reduce", "0", "--algorithm", "star"},
       "--algorithm: unknown 'star', expected ring or tree"},
      {{"--system", a100, "--axes", "32", "--reduce", "0", "--sizes", "1K"},
       "--sizes: \"1K\" is no range, expected one such as 1K:1G"},
      {{"--system", a100, "--axes", "32", "--reduce", "0", "--sizes", "2K:1K"},
       "--sizes: the first size is larger than the last, expected SMALL:LARGE"},
      {{"--system", a100, "--axes", "32", "--reduce", "0", "--fit-links", "NIC"},
       "--fit-links: given without measurements, expected --fit as well"},
      {{"--system", a100, "--fit", wrong.path()},
       "--fit: no file for the fitted system, expected --output"},
      {{"--system", a100, "--fit", wrong.path(), "--output", "/nowhere"},
       "--fit: no bandwidth to fit, expected --fit-links with names of interconnects of the "
       "system"},
      {{"--system", a100, "--fit", wrong.path(), "--output", "/nowhere", "--fit-links", "IB"},
       "--fit-links: no other interconnect of a100-2nodes is named \"IB\", expected names of its "
       "interconnects, each once"},
      {{"--system", a100, "--fit", wrong.path(), "--output", "/nowhere", "--fit-links", "NIC",
        "--axes", "32"},
       "--fit: the measurements say what was run, expected no --axes"},
  };
  for (const Bad& bad : table) {
    const Ran ran = cost(bad.flags);
    CHECK(ran.exit == 2);
    CHECK(ran.out == "");
    CHECK(ran.err == std::string("p2-verify: ") + bad.complaint + "\n");
  }
  const TemporaryFile axes(
      "axes,reduce,placement,algorithm,program,bytes,seconds\n"
      "3x2,0,[[2 16]],ring,AllReduce,1G,1\n",
      ".csv");
  const TemporaryFile columns("axes,reduce\n32,0\n", ".csv");
  CHECK(cost({"--system", a100, "--fit", columns.path(), "--fit-links", "NIC", "--output",
              "/nowhere"})
            .err ==
        "p2-verify: " + columns.path() + ":1:1: no column \"algorithm\", expected one\n");
  for (const TemporaryFile* file : {&wrong, &invalid, &axes}) {
    const Ran ran = cost(
        {"--system", a100, "--fit", file->path(), "--fit-links", "NIC", "--output", "/nowhere"});
    CHECK(ran.exit == 2);
    CHECK(ran.err.starts_with("p2-verify: " + file->path() + ":2:1: "));
  }
}
