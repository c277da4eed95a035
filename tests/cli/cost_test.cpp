#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/topology/system.h"
#include "p2/bytes.h"
#include "tests/base/complaint.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using nlohmann::json;

namespace {

const std::string kRack = kSystems + "figure2a-rack.json";

Ran cost(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "cost");
  return run(flags);
}

}  // namespace

TEST_CASE("cost ranks the programs of all placements together, fastest first") {
  const Ran ran = cost({"--system", kSystems + "a100-4nodes.json", "--axes", "8,8", "--reduce", "0",
                        "--format", "json"});
  CHECK(ran.exit == 0);
  const json answer = json::parse(ran.out);
  CHECK(answer["algorithm"] == "ring");
  CHECK(answer["bytes"] == 2147483648);
  CHECK(answer["complete"] == true);
  REQUIRE(answer["programs"].size() == 97);
  double before = 0;
  for (const json& each : answer["programs"]) {
    const double seconds = each["seconds"];
    CHECK(seconds >= before);
    before = seconds;
    double sum = 0;
    for (const json& step : each["steps"]) {
      sum += step["seconds"].get<double>();
      CHECK(!step["bottleneck"].get<std::string>().empty());
    }
    CHECK(sum == doctest::Approx(seconds));
    CHECK(each["program"]["steps"].size() == each["steps"].size());
    CHECK(each["program"]["placement"] == each["placement"]);
    CHECK(each["speedup"].get<double>() ==
          doctest::Approx(each["allreduce_seconds"].get<double>() / seconds));
    CHECK(each["allreduce_seconds"] >= answer["allreduce_seconds"]);
  }
  CHECK(answer["programs"][0]["placement"] == json::parse("[[1,8],[4,2]]"));
  CHECK(answer["programs"][0]["seconds"] == answer["allreduce_seconds"]);
}

TEST_CASE("one placement, its algorithm and size: 2 * 31/32 of the data through a NIC of 8 GB/s") {
  const json ring = json::parse(cost({"--system", kSystems + "a100-2nodes.json", "--axes", "32",
                                      "--reduce", "0", "--bytes", "1G", "--format", "json"})
                                    .out);
  CHECK(ring["allreduce_seconds"].get<double>() ==
        doctest::Approx(1073741824.0 * 2 * 31 / 32 / 8e9));
  CHECK(ring["programs"][0]["text"] ==
        "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); "
        "AllGather(node, InsideGroup)");
  CHECK(ring["programs"][0]["steps"][1]["bottleneck"] == "NIC of node 0, out");
  const json tree =
      json::parse(cost({"--system", kSystems + "a100-2nodes.json", "--axes", "32", "--reduce", "0",
                        "--bytes", "1G", "--algorithm", "tree", "--top", "3", "--format", "json"})
                      .out);
  CHECK(tree["allreduce_seconds"].get<double>() == doctest::Approx(1073741824.0 / 8e9));
  CHECK(tree["programs"].size() == 3);
}

TEST_CASE("the baseline is the single collective of the goal") {
  // Two nodes of 16 devices, whose NIC carries 8 GB/s each way. The ring crosses it twice: of the
  // 31/32 of the buffer that an edge carries both ways together, as much leaves a node. A chain in
  // each direction, with half of the buffer each, leaves or enters the node of the root. An
  // all-to-all sends the 32nd of a shard to each of the 16 devices of the other node: 1/4 in all.
  const double whole = 1073741824.0 / 8e9;
  const std::string collectives = std::string(P2_SOURCE_DIR) + "/examples/collectives/sound/";
  for (const auto& [goal, collective, part] :
       {std::tuple("reducescatter", "ReduceScatter", 31.0 / 32),
        std::tuple("allgather", "AllGather", 31.0 / 32), std::tuple("reduce", "Reduce", 1.0),
        std::tuple("broadcast", "Broadcast", 1.0), std::tuple("alltoall", "AllToAll", 0.25)}) {
    CAPTURE(goal);
    std::vector<std::string> words = {"--system",      kSystems + "a100-2nodes.json",
                                      "--axes",        "32",
                                      "--reduce",      "0",
                                      "--size",        "2",
                                      "--bytes",       "1G",
                                      "--goal",        goal,
                                      "--collectives", collectives + "alltoall.p2c"};
    const Ran text = cost(words);
    CHECK(text.exit == 0);
    CHECK(text.out.find("AllReduce, [[") == std::string::npos);
    CHECK(text.out.find("single " + std::string(collective) + ", [[2 16]]: ") != std::string::npos);
    words.insert(words.end(), {"--format", "json"});
    const json answer = json::parse(cost(words).out);
    CHECK(!answer.contains("allreduce_seconds"));
    CHECK(answer["baseline"] == collective);
    const double seconds = answer["baseline_seconds"];
    CHECK(seconds == doctest::Approx(whole * part));
    bool found = false;
    for (const json& each : answer["programs"]) {
      CHECK(!each.contains("allreduce_seconds"));
      CHECK(each["baseline"] == collective);
      CHECK(each["speedup"].get<double>() ==
            doctest::Approx(seconds / each["seconds"].get<double>()));
      found = found || (each["text"] == std::string(collective) + "(root, InsideGroup)" &&
                        each["seconds"] == seconds);
    }
    CHECK(found);
  }
}

TEST_CASE(
    "a user's goal is compared with the built-in collective that does the same, or with none") {
  const std::string collectives = std::string(P2_SOURCE_DIR) + "/examples/collectives/sound/";
  const std::vector<std::string> words = {"--system",      kSystems + "a100-2nodes.json",
                                          "--axes",        "16,2",
                                          "--reduce",      "0",
                                          "--placement",   "[[1 16] [2 1]]",
                                          "--size",        "1",
                                          "--collectives", collectives + "scatter.p2c",
                                          "--plot",        "/dev/null"};
  const auto with_goal = [&](const std::string& goal, const std::string& format) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--goal", collectives + goal, "--format", format});
    return cost(all).out;
  };
  const json same = json::parse(with_goal("quantised-reducescatter.p2c", "json"));
  CHECK(same["baseline"] == "ReduceScatter");
  CHECK(same["programs"][0]["speedup"] == 1);
  const std::string text = with_goal("scatter.p2c", "text");
  CHECK(
      text.find("no single collective, [[1 16] [2 1]]: no built-in one does what goal Scatter asks "
                "for\n") != std::string::npos);
  CHECK(text.find("  -  ") != std::string::npos);
  const json none = json::parse(with_goal("scatter.p2c", "json"));
  CHECK(none["baseline"].is_null());
  CHECK(none["baseline_seconds"].is_null());
  CHECK(none["programs"][0]["speedup"].is_null());
  const std::string page = with_goal("scatter.p2c", "html");
  CHECK(page.find("AllReduce") == std::string::npos);
  CHECK(with_goal("quantised-reducescatter.p2c", "html").find("single ReduceScatter") !=
        std::string::npos);
}

TEST_CASE("the text is a table that says what every program waits for") {
  const Ran ran = cost({"--system", kSystems + "v100-2nodes.json", "--axes", "8,2", "--reduce", "0",
                        "--placement", "[[1 8] [2 1]]", "--bytes", "1M"});
  CHECK(ran.exit == 0);
  CHECK(
      ran.out ==
      "v100-2nodes: node=2,gpu=8   ring, 1M bytes per device\n\n"
      "single AllReduce, [[1 8] [2 1]]: 13.59 us\n\n"
      "rank      time  speedup  placement      slowest step waits for                     program\n"
      "   1  13.59 us    1.00x  [[1 8] [2 1]]  NVLink ring, node 0 gpu 0 to node 0 gpu 1  "
      "AllReduce(root, InsideGroup)\n"
      "   2  13.59 us    1.00x  [[1 8] [2 1]]  NVLink ring, node 0 gpu 0 to node 0 gpu 1  "
      "ReduceScatter(root, InsideGroup); AllGather(root, InsideGroup)\n"
      "   3  15.53 us    0.88x  [[1 8] [2 1]]  NVLink ring, node 0 gpu 1 to node 0 gpu 0  "
      "Reduce(root, InsideGroup); Broadcast(root, InsideGroup)\n");
}

TEST_CASE("program files are ranked; a refused one is explained, not priced, and exits 1") {
  const std::string allreduce = kPrograms + "valid/figure3a-allreduce.p2";
  const std::string three = kPrograms + "valid/figure3c-reduce-allreduce-broadcast.p2";
  const std::string refused = kPrograms + "refused/figure4b-counted-twice.p2";
  const Ran fine = cost({"--system", kRack, allreduce, three, "--format", "json"});
  CHECK(fine.exit == 0);
  const json answer = json::parse(fine.out);
  REQUIRE(answer["programs"].size() == 2);
  CHECK(answer["programs"][0]["file"] == three);
  CHECK(answer["programs"][1]["seconds"] == answer["allreduce_seconds"]);
  CHECK(answer["refused"].empty());

  const Ran mixed = cost({"--system", kRack, allreduce, refused, "--format", "json"});
  CHECK(mixed.exit == 1);
  const json both = json::parse(mixed.out);
  CHECK(both["programs"].size() == 1);
  REQUIRE(both["refused"].size() == 1);
  CHECK(both["refused"][0]["file"] == refused);
  CHECK(both["refused"][0]["step"] == 2);
  CHECK(both["refused"][0]["verdict"] == "invalid");
  const Ran text = cost({"--system", kRack, refused});
  CHECK(text.exit == 1);
  CHECK(text.out.find("is refused by premise disjoint") != std::string::npos);
}

TEST_CASE("the JSON of large systems leaves out groups that slice and form make") {
  // 16^4 devices; 16 switches of 16 parts and so on, all links alike.
  std::string levels;
  std::string links;
  for (const std::string level : {"a", "b", "c", "d"}) {
    levels += (levels.empty() ? "" : ",") + ("{\"name\":\"" + level + "\",\"size\":16}");
    links += (links.empty() ? "" : ",") +
             ("{\"name\":\"" + level + "\",\"kind\":\"switch\",\"level\":\"" + level +
              "\",\"bandwidth\":\"10 GB/s\"}");
  }
  const TemporaryFile system(
      "{\"name\":\"large\",\"hierarchy\":[" + levels + "],\"interconnects\":[" + links + "]}",
      ".json");
  const Ran ran = cost({"--system", system.path(), "--axes", "65536", "--reduce", "0", "--size",
                        "4", "--format", "json"});
  CHECK(ran.exit == 0);
  const json answer = json::parse(ran.out);
  CHECK(answer["groups_left_out"] == true);
  REQUIRE(answer["programs"].size() == 708);
  // As many bytes for a program as it takes to write it down, whatever the number of devices.
  CHECK(ran.out.size() < 1500 * answer["programs"].size());
  for (const json& each : answer["programs"]) {
    CHECK(!each["program"].contains("classes"));
    for (const json& step : each["program"]["steps"]) {
      CHECK(!step.contains("groups"));
      CHECK(step.contains("slice"));
      CHECK(step.contains("form"));
    }
  }
  const TemporaryFile program(answer["programs"][7]["program"].dump(), ".json");
  const json again =
      json::parse(cost({"--system", system.path(), program.path(), "--format", "json"}).out);
  REQUIRE(again["programs"].size() == 1);
  CHECK(again["programs"][0]["text"] == answer["programs"][7]["text"]);
  CHECK(again["programs"][0]["seconds"] == answer["programs"][7]["seconds"]);
  // A single program lists 65536 devices in each of few steps: it stays complete.
  CHECK(!again.contains("groups_left_out"));
  CHECK(again["programs"][0]["program"]["classes"][0].size() == 65536);
}

TEST_CASE("bare groups are priced too, on a system of as many devices") {
  const TemporaryFile program("devices 16\nclasses " +
                                  std::string("{0,1},{2,3},{4,5},{6,7},{8,9},{10,11},{12,13},") +
                                  "{14,15}\nAllReduce{0,1},{2,3},{4,5},{6,7},{8,9},{10,11},"
                                  "{12,13},{14,15}",
                              ".p2");
  const json answer =
      json::parse(cost({"--system", kRack, program.path(), "--format", "json"}).out);
  CHECK(answer["programs"][0]["speedup"] == 1);
  const Ran other = cost({"--system", kSystems + "a100-2nodes.json", program.path()});
  CHECK(other.exit == 2);
  CHECK(other.err.find("a program for 16 devices, expected 32: those of a100-2nodes") !=
        std::string::npos);
}

TEST_CASE("--sizes says where the fastest program changes, without gaps") {
  const json answer = json::parse(cost({"--system", kRack, "--axes", "16", "--reduce", "0",
                                        "--sizes", "1:1G", "--format", "json"})
                                      .out);
  const json& sizes = answer["sizes"];
  REQUIRE(sizes.size() > 1);
  CHECK(sizes.front()["from"] == 1);
  CHECK(sizes.back()["to"] == 1073741824);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    CHECK(sizes[i]["from"].get<std::uint64_t>() == sizes[i - 1]["to"].get<std::uint64_t>() + 1);
    CHECK(sizes[i]["text"] != sizes[i - 1]["text"]);
  }
  // Asking at one of the sizes gives the same program.
  for (const json& each : sizes) {
    const json there = json::parse(
        cost({"--system", kRack, "--axes", "16", "--reduce", "0", "--bytes",
              std::to_string(each["to"].get<std::uint64_t>()), "--top", "1", "--format", "json"})
            .out);
    CHECK(there["programs"][0]["seconds"] == each["seconds"][1]);
  }
  const Ran text = cost({"--system", kRack, "--axes", "16", "--reduce", "0", "--sizes", "1:1G"});
  CHECK(text.out.find("the fastest program by size, in bytes per device") != std::string::npos);
}

TEST_CASE("--plot draws the times and the timeline of the fastest program") {
  const TemporaryFile svg("", ".svg");
  const Ran ran = cost({"--system", kSystems + "a100-4nodes.json", "--axes", "4,16", "--reduce",
                        "1", "--plot", svg.path()});
  CHECK(ran.exit == 0);
  const std::string text = bytes_of(svg.path());
  CHECK(text.starts_with("<svg"));
  CHECK(text.ends_with("</svg>\n"));
  CHECK(text.find("[[4 1] [1 16]]") != std::string::npos);
  CHECK(text.find("NVSwitch of node 0 gpu 0, out +127") != std::string::npos);
  CHECK(text.find("step 1: AllReduce(root, InsideGroup)") != std::string::npos);
}

TEST_CASE("numbers of bytes are read and written in binary units") {
  CHECK(parse_bytes("--bytes", "4096") == 4096);
  CHECK(parse_bytes("--bytes", "1K") == 1024);
  CHECK(parse_bytes("--bytes", "64M") == 64U << 20);
  CHECK(parse_bytes("--bytes", "2G") == std::uint64_t{2} << 30);
  CHECK(parse_bytes("--bytes", "1T") == std::uint64_t{1} << 40);
  for (const char* text : {"2G", "1536K", "1000", "1", "1T"}) {
    CHECK(bytes_to_string(parse_bytes("--bytes", text)) == text);
  }
  for (const char* text : {"", "0", "G", "1KB", "-1", "1.5G", "2000000T"}) {
    CHECK(complaint([text] { parse_bytes("--bytes", text); }) != "no complaint");
  }
}

TEST_CASE("the programs that synth wrote are priced and run from its file") {
  const TemporaryFile file("", ".json");
  run({"synth", "--hierarchy", "2,4", "--axes", "8", "--reduce", "0", "--size", "2", "--format",
       "json", "--output", file.path()});
  const TemporaryFile system(
      R"({"name":"s","hierarchy":[{"name":"l0","size":2},{"name":"l1","size":4}],"interconnects":[
      {"name":"S","kind":"switch","level":"l1","span":4,"bandwidth":"8 GB/s"},
      {"name":"N","kind":"switch","level":"l0","span":2,"bandwidth":"1 GB/s"}]})",
      ".json");
  const Ran priced = run({"cost", "--system", system.path(), file.path()});
  CHECK_MESSAGE(priced.exit == 0, priced.err);
  CHECK(priced.out.find("AllReduce(root, InsideGroup)") != std::string::npos);
  const Ran ran = run({"run", file.path(), "--bytes", "1K", "--iterations", "1"});
  CHECK_MESSAGE(ran.exit == 0, ran.err);
  CHECK(ran.out.find(" programs run, 0 wrong elements") != std::string::npos);
}

TEST_CASE("the list of synth on a large system has no groups, and is read back") {
  const TemporaryFile list("", ".json");
  const std::vector<std::string> asked = {"synth", "--hierarchy", "256,256", "--axes",
                                          "65536", "--reduce",    "0",       "--format",
                                          "json",  "--size"};
  const auto synth = [&](const std::string& size) {
    std::vector<std::string> words = asked;
    words.insert(words.end(), {size, "--output", list.path()});
    CHECK(run(words).exit == 0);
    return json::parse(bytes_of(list.path()))["placements"][0];
  };
  const json small = synth("1");
  CHECK(!small.contains("groups_left_out"));
  CHECK(small["list"][0]["steps"][0]["groups"][0].size() == 65536);
  const json large = synth("3");
  CHECK(large["groups_left_out"] == true);
  for (const json& each : large["list"]) {
    CHECK(!each.contains("classes"));
    for (const json& step : each["steps"]) CHECK(!step.contains("groups"));
  }
  const Ran checked = run({"check", list.path(), "--format", "json"});
  CHECK(checked.exit == 0);
  CHECK(json::parse(checked.out)["results"].size() == large["programs"]);
}

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
       "--sizes: \"1K\" is not a range, expected one such as 1K:1G"},
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
