#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "p2/export.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {
namespace {

using nlohmann::json;

const std::string kSteps =
    "hierarchy 2,2\naxes 4\nreduce 0\n"
    "ReduceScatter(l0, InsideGroup); AllReduce(l0, Parallel(root)); AllGather(l0, InsideGroup)\n";

Ran exported(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "export");
  return run(arguments);
}

}  // namespace

TEST_CASE("a program becomes MSCCL XML that check accepts") {
  const TemporaryFolder folder;
  const std::string program = folder.put("blue connect.p2", kSteps);
  const std::string xml = folder.path("out.xml");
  const Ran ran = exported({program, "--to", "msccl", "--output", xml, "--protocol", "LL"});
  CHECK(ran.exit == kEstablished);
  CHECK(ran.out == xml +
                       ": allreduce of 4 chunks on 4 GPUs: 1 channel, at most 2 thread blocks "
                       "on a GPU, 28 steps, verified\n");
  CHECK(text_of(xml).find("name=\"blue connect\" coll=\"allreduce\" proto=\"LL\"") !=
        std::string::npos);
  CHECK(run({"check", xml}).exit == kEstablished);
  // Without --output the text itself.
  CHECK(exported({program, "--to", "msccl", "--protocol", "LL"}).out == text_of(xml));
}

TEST_CASE("a program becomes JSON that is the same program") {
  const TemporaryFolder folder;
  const std::string program = folder.put("program.p2", kSteps);
  const Ran ran = exported({program, "--to", "json"});
  CHECK(ran.exit == kEstablished);
  const std::string file = folder.put("program.json", ran.out);
  CHECK(run({"check", file}).exit == kEstablished);
  CHECK(exported({file, "--to", "json"}).out == ran.out);
  CHECK(json::parse(ran.out).at("steps").size() == 3);
}

TEST_CASE("several classes and programs become a folder with an index") {
  const TemporaryFolder folder;
  const std::string program =
      folder.put("two.p2", "devices 4\nclasses {0,2},{1,3}\nAllReduce{0,2},{1,3}\n");
  const Ran none = exported({program, "--to", "msccl"});
  CHECK(none.exit == kBadInput);
  CHECK(none.err.find("becomes 2 files") != std::string::npos);
  for (int times = 0; times < 2; ++times) {  // what was exported before is replaced
    const Ran ran =
        exported({program, "--to", "msccl", "--output", folder.path("two"), "--format", "json"});
    CHECK(ran.exit == kEstablished);
    const json results = json::parse(ran.out).at("results");
    REQUIRE(results.size() == 2);
    CHECK(results.at(1).at("class") == 2);
    for (const json& each : results) {
      CHECK(run({"check", each.at("file").get<std::string>()}).exit == kEstablished);
    }
  }
  CHECK(json::parse(text_of(folder.path("two/index.json"))).at("files").size() == 2);
  folder.put("mine/file", "kept");
  CHECK(exported({program, "--to", "msccl", "--output", folder.path("mine")}).exit == kBadInput);
  CHECK(text_of(folder.path("mine/file")) == "kept");
}

TEST_CASE("a folder with anything but an export in it is left alone") {
  const TemporaryFolder folder;
  const std::string program =
      folder.put("two.p2", "devices 4\nclasses {0,2},{1,3}\nAllReduce{0,2},{1,3}\n");
  const std::vector<std::string> words = {program, "--to", "msccl", "--output", folder.path("two")};
  REQUIRE(exported(words).exit == kEstablished);
  const std::string index = text_of(folder.path("two/index.json"));
  const auto is_left = [&](const std::string& name) {
    const Ran ran = exported(words);
    CHECK(ran.exit == kBadInput);
    CHECK(ran.err.find("is there and no export, expected a new folder") != std::string::npos);
    CHECK(std::filesystem::exists(folder.path(name)));
  };
  SUBCASE("a file of somebody else") { is_left((folder.put("two/mine", "kept"), "two/mine")); }
  SUBCASE("a folder") { is_left((folder.put("two/mine/file", "kept"), "two/mine/file")); }
  SUBCASE("a folder with the name of an exported file") {
    std::filesystem::remove(folder.path("two/program0001-class1.xml"));
    folder.put("two/program0001-class1.xml/file", "kept");
    is_left("two/program0001-class1.xml/file");
  }
  SUBCASE("an index that names no files") {
    folder.put("two/index.json", R"({"schema":"p2-verify-export/1","files":[7,{"file":7}]})");
    is_left("two/program0001-class1.xml");
  }
  SUBCASE("a text that has the schema somewhere") {
    folder.put("two/index.json", "notes on p2-verify-export/1");
    is_left("two/index.json");
  }
  SUBCASE("what was exported alone, and nothing at all") {
    CHECK(exported(words).exit == kEstablished);
    std::filesystem::remove_all(folder.path("two"));
    std::filesystem::create_directory(folder.path("two"));
    CHECK(exported(words).exit == kEstablished);
    CHECK(text_of(folder.path("two/index.json")) == index);
  }
}

TEST_CASE("what synth lists can be exported, all of it or one program") {
  const TemporaryFolder folder;
  const Ran synth = run({"synth", "--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--size",
                         "3", "--format", "json"});
  const std::string list = folder.put("list.json", synth.out);
  const Ran all =
      exported({list, "--to", "msccl", "--output", folder.path("all"), "--format", "json"});
  CHECK(all.exit == kEstablished);
  const std::size_t total = json::parse(synth.out).at("total_programs");
  CHECK(json::parse(all.out).at("results").size() == total);
  CHECK(run({"check", folder.path("all/program*.xml")}).exit == kEstablished);

  const Ran third = exported({list, "--to", "json", "--program", "3"});
  CHECK(third.exit == kEstablished);
  CHECK(json::parse(third.out).at("steps") ==
        json::parse(synth.out).at("placements").at(0).at("list").at(2).at("steps"));
  CHECK(exported({list, "--to", "json", "--program", "9999"}).exit == kBadInput);
  const Ran counted = run({"synth", "--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--count",
                           "--format", "json"});
  CHECK(exported({folder.put("count.json", counted.out), "--to", "json"}).exit == kBadInput);
}

TEST_CASE("only valid programs are exported, and nothing is written otherwise") {
  const TemporaryFolder folder;
  const std::string out = folder.path("out.xml");
  const Ran refused = exported({kRefusedProgram, "--to", "msccl", "--output", out});
  CHECK(refused.exit == kRefuted);
  CHECK(refused.err.find("only valid programs are exported. Step 2") != std::string::npos);
  const std::string large = folder.put("large.p2",
                                       "hierarchy 16,16\naxes 256\nreduce 0\n"
                                       "AllReduce(root, InsideGroup)\n");
  const Ran unknown = exported({large, "--to", "msccl", "--memory", "1", "--output", out});
  CHECK(unknown.exit == kUndecided);
  CHECK(unknown.err.find("limit") != std::string::npos);
  CHECK(!std::filesystem::exists(out));
}

TEST_CASE("mistakes of the command line are named") {
  const TemporaryFolder folder;
  const std::string program = folder.put("program.p2", kSteps);
  CHECK(exported({program}).err.find("--to: is missing") != std::string::npos);
  CHECK(exported({program, "--to", "xla"}).exit == kBadInput);
  CHECK(exported({program, program, "--to", "json"}).exit == kBadInput);
  CHECK(exported({"--to", "json"}).exit == kBadInput);
}

namespace {

const std::string kTwoAxes =
    "hierarchy 2,2,2\naxes 4,2\nreduce 0\nplacement [[2 2 1] [1 1 2]]\n"
    "ReduceScatter(root, InsideGroup); AllGather(root, InsideGroup)\n";

}  // namespace

TEST_CASE("a program of several classes becomes one module that check accepts") {
  const TemporaryFolder folder;
  const std::string program = folder.put("two.p2", kTwoAxes);
  for (const std::string to : {"hlo", "stablehlo"}) {
    const std::string file = folder.path("out." + to);
    const Ran ran = run({"export", program, "--to", to, "--output", file});
    CAPTURE(ran.err);
    CHECK(ran.exit == kEstablished);
    CHECK(ran.out == file + ": f32[8] on 8 partitions, 2 collectives, verified\n");
    CHECK(run({"check", file}).exit == kEstablished);
    CHECK(run({"export", program, "--to", to}).out == text_of(file));
  }
  CHECK(run({"check", "--before", folder.path("out.hlo"), "--after", folder.path("out.stablehlo")})
            .exit == kEstablished);
}

TEST_CASE("all programs that synth lists become modules in a folder") {
  const TemporaryFolder folder;
  const Ran synth = run({"synth", "--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--size",
                         "3", "--format", "json"});
  const std::string list = folder.put("list.json", synth.out);
  const Ran ran = run(
      {"export", list, "--to", "stablehlo", "--output", folder.path("all"), "--format", "json"});
  CHECK(ran.exit == kEstablished);
  const nlohmann::json results = nlohmann::json::parse(ran.out).at("results");
  CHECK(results.size() == nlohmann::json::parse(synth.out).at("total_programs"));
  for (const nlohmann::json& each : results) {
    CHECK(each.at("verdict") == "valid");
    CHECK(run({"check", each.at("file").get<std::string>(), "--reduces", "0"}).exit ==
          kEstablished);
  }
}

TEST_CASE("what is refused is not written as a module") {
  const TemporaryFolder folder;
  const std::string out = folder.path("out.hlo");
  const Ran refused = run({"export", kRefusedProgram, "--to", "hlo", "--output", out});
  CHECK(refused.exit == kRefuted);
  CHECK(refused.err.find("only valid programs are exported. Step 2") != std::string::npos);
  const std::string scattered = folder.put("scatter.p2", "devices 4\nReduceScatter{0,1,2,3}\n");
  const Ran goal =
      run({"export", scattered, "--to", "hlo", "--goal", "reducescatter", "--output", out});
  CHECK(goal.exit == kBadInput);
  CHECK(goal.err.find("has the goal reducescatter, expected allreduce") != std::string::npos);
  const std::string large =
      folder.put("large.p2",
                 "hierarchy 16,16\naxes 256\nreduce 0\n"
                 "ReduceScatter(root, InsideGroup); AllGather(root, InsideGroup)\n");
  const Ran unknown = run({"export", large, "--to", "hlo", "--memory", "1", "--output", out});
  CHECK(unknown.exit == kUndecided);
  CHECK(!std::filesystem::exists(out));
}

TEST_CASE("export_programs answers with texts and results, and writes nothing by itself") {
  const TemporaryFolder folder;
  ExportRequest request;
  request.file = folder.put("program.p2", kSteps);
  request.format = ExportFormat::Hlo;
  const ExportAnswer answer = export_programs(request, {});
  CHECK(answer.outcome == Outcome::Established);
  REQUIRE(answer.texts.size() == 1);
  CHECK(answer.texts[0].name == "program0001.hlo");
  CHECK(answer.texts[0].text == write_document(answer.document, DocumentFormat::Text));
  CHECK_FALSE(answer.texts[0].reduction_class.has_value());
  request.file = kRefusedProgram;
  const ExportAnswer refused = export_programs(request, {});
  CHECK(refused.outcome == Outcome::Refuted);
  CHECK(refused.texts.empty());
  REQUIRE(refused.results.size() == 1);
  CHECK(refused.results[0].engines.at(0).step == 2);
  CHECK(refused.diagnostics.size() == 1);
}

}  // namespace p2
