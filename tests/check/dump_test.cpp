#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "engine/hlo/text/xla_dump.h"
#include "p2/error.h"
#include "proofs/api/subject_check.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const std::string kAll = "{{0,1,2,3}}";
const std::string kAcross = "{{0,2},{1,3}}";
const std::string kInside = "{{0,1},{2,3}}";

/// A module of one all-reduce for every list of groups.
std::string module_of(const Words& groups, const std::string& metadata = "") {
  std::string body = "  %x0 = f32[8] parameter(0)" + metadata + "\n";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    body += (i + 1 == groups.size() ? "  ROOT %x" : "  %x") + std::to_string(i + 1) +
            " = f32[8] all-reduce(%x" + std::to_string(i) +
            "), channel_id=1, replica_groups=" + groups[i] +
            ", use_global_device_ids=true, to_apply=%sum" + metadata + "\n";
  }
  return "HloModule jit_f, num_partitions=4\n\n"
         "%sum (a: f32[], b: f32[]) -> f32[] {\n"
         "  %a = f32[] parameter(0)\n"
         "  %b = f32[] parameter(1)\n"
         "  ROOT %add = f32[] add(%a, %b)\n"
         "}\n\n"
         "ENTRY %main (x0: f32[8]) -> f32[8] {\n" +
         body + "}\n";
}

/// Some number that no engine knows: equal to nothing.
std::string random_module() {
  return "HloModule jit_f, num_partitions=4\n\n"
         "ENTRY %main (x0: f32[8]) -> f32[8] {\n"
         "  %x0 = f32[8] parameter(0)\n"
         "  ROOT %y = f32[8] custom-call(%x0), custom_call_target=\"unheard_of\"\n"
         "}\n";
}

const std::string kOne = module_of({kAll});
const std::string kTwo = module_of({kInside, kAcross});
const std::string kTwoTurned = module_of({kAcross, kInside});
const std::string kWrong = module_of({kInside, kInside});

/// Text after the table headings of XLA, which are metadata.
std::string with_tables(std::string text, const std::string& file) {
  const std::string tables = "\nFileNames\n1 \"" + file +
                             "\"\n\nFunctionNames\n1 \"<module>\"\n\nFileLocations\n"
                             "1 {file_name_id=1 function_name_id=1 line=1}\n\nStackFrames\n"
                             "1 {file_location_id=1 parent_frame_id=1}\n\n";
  return text.insert(text.find('\n') + 1, tables);
}

const std::string kModule = "module_0001.jit_f.";
const std::string kSplit = kModule + "0002.optimization.after_splitter.before_reorder.txt";
const std::string kReorder = kModule + "0003.optimization.after_reorder.before_pipeline-end.txt";

/// Two passes, of which the second is right or not.
void put_two_passes(const TemporaryFolder& folder, const std::string& last) {
  folder.put(kModule + "before_optimizations.txt", kOne);
  folder.put(
      kModule + "0001.optimization.after_pipeline-start.before_splitter.txt",
      with_tables(module_of({kAll}, ", metadata={op_name=\"a}{\" stack_frame_id=1}"), "m.py"));
  folder.put(kSplit, kTwo);
  folder.put(kReorder, last);
  folder.put(kModule + "sm_9.0a_gpu_after_optimizations.txt", with_tables(last, "other.py"));
  folder.put(kModule + "sm_9.0a_gpu_after_optimizations-buffer-assignment.txt",
             "BufferAssignment:\n");
  folder.put(kModule + "debug_options", "xla_dump_to: \"x\"\n");
  folder.put(kModule + "thunk_sequence.txt", "000: kKernel\n");
  folder.put(kModule + "ir-no-opt.ll", "HloModule, or rather LLVM\n");
  folder.put("shardy/" + kModule + "0000.a.after_b.txt", "module {}\n");
}

Ran check_dump(const TemporaryFolder& folder, Words more = {}) {
  more.insert(more.begin(), {"check", "--dump", folder.path()});
  return run(more);
}

json json_of(const TemporaryFolder& folder, int exit, Words more = {}) {
  more.insert(more.end(), {"--format", "json"});
  const Ran ran = check_dump(folder, more);
  INFO(ran.out << ran.err);
  CHECK(ran.exit == exit);
  return json::parse(ran.out);
}

Words names_of(const hlo::DumpModule& module) {
  Words names;
  for (const hlo::DumpFile& file : module.versions) names.push_back(file.name);
  return names;
}

Words passes_of(const hlo::DumpModule& module) {
  Words names;
  for (const hlo::DumpFile& file : module.versions) names.push_back(file.pass);
  return names;
}

/// How often a text stands in another.
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("the page of a dump has a row per comparison, with its pass") {
  const TemporaryFolder folder;
  put_two_passes(folder, kWrong);
  const Ran ran = check_dump(folder, {"--format", "html"});
  CHECK(ran.exit == 1);
  CHECK(ran.out.find("3 comparisons: 1 valid, 2 invalid.") != std::string::npos);
  CHECK(ran.out.find("<td>module_0001.jit_f: splitter of pipeline optimization</td>") !=
        std::string::npos);
  CHECK(ran.out.find("<td>module_0001.jit_f: end to end</td>") != std::string::npos);
}

TEST_CASE("a clean dump is valid, and what no pass changed is skipped") {
  const TemporaryFolder folder;
  put_two_passes(folder, kTwoTurned);
  const Ran ran = check_dump(folder);
  CHECK(ran.exit == kEstablished);
  CHECK(ran.err.empty());
  CHECK(ran.out == folder.path() +
                       ": valid (1 module, 5 files, 2 unchanged, 2 steps: 2 valid, as real "
                       "numbers)\n"
                       "\n"
                       "steps  valid  invalid  unknown  pass\n"
                       "    1      1        0        0  splitter\n"
                       "    1      1        0        0  reorder\n"
                       "\n"
                       "files  unchanged  steps  valid  invalid  unknown  end to end  module\n"
                       "    5          2      2      2        0        0  valid       "
                       "module_0001.jit_f\n");
  const json answer = json_of(folder, kEstablished);
  CHECK(answer.at("verdict") == "valid");
  CHECK(answer.at("first_wrong").is_null());
  CHECK(answer.at("first_wrong_pass").is_null());
  CHECK(answer.at("results").size() == 3);
}

TEST_CASE("the first wrong file and its pass are named, whatever the number of threads") {
  const TemporaryFolder folder;
  put_two_passes(folder, kWrong);
  const Ran ran = check_dump(folder);
  CHECK(ran.exit == kRefuted);
  const std::string beginning =
      folder.path() +
      ": invalid (1 module, 5 files, 2 unchanged, 2 steps: 1 valid, 1 invalid)\n"
      "first wrong file: " +
      kReorder + "\npass: reorder of pipeline optimization\n" + folder.path(kReorder) + ": invalid";
  CHECK(ran.out.starts_with(beginning));
  CHECK(ran.out.find("On device 0") < ran.out.find("splitter\n"));
  CHECK(ran.out.find("    1      0        1        0  reorder\n") != std::string::npos);
  for (const char* jobs : {"1", "2", "7"})
    CHECK(check_dump(folder, {"--jobs", jobs}).out == ran.out);

  const json answer = json_of(folder, kRefuted);
  CHECK(answer.at("verdict") == "invalid");
  CHECK(answer.at("first_wrong") == kReorder);
  CHECK(answer.at("first_wrong_pass") == "reorder");
  const json& results = answer.at("results");
  REQUIRE(results.size() == 3);
  const Words keys = {"file",           "before", "verdict",  "engines", "step",      "reason",
                      "counterexample", "module", "pipeline", "pass",    "end_to_end"};
  for (const json& result : results) {
    for (const std::string& key : keys) CHECK(result.contains(key));
  }
  CHECK(results.at(0).at("verdict") == "valid");
  CHECK(results.at(0).at("pass") == "splitter");
  CHECK(results.at(0).at("before") == folder.path(kModule + "before_optimizations.txt"));
  CHECK(results.at(1).at("file") == folder.path(kReorder));
  CHECK(results.at(1).at("verdict") == "invalid");
  CHECK(results.at(1).at("counterexample").at("rule").is_string());
  CHECK(results.at(2).at("end_to_end") == true);
  CHECK(results.at(2).at("verdict") == "invalid");
  CHECK(answer.at("modules") == json::array({{{"module", "module_0001.jit_f"},
                                              {"verdict", "invalid"},
                                              {"files", 5},
                                              {"unchanged", 2},
                                              {"steps", 2},
                                              {"valid", 1},
                                              {"invalid", 1},
                                              {"unknown", 0},
                                              {"end_to_end", "invalid"}}}));
}

TEST_CASE("files are ordered by pass, modules by name") {
  const TemporaryFolder folder;
  const std::string odd = "module_0002.jit_g.0012.x.";  // a module may have numbers in its name
  folder.put(odd + "before_optimizations.txt", kOne);
  folder.put(odd + "10000.late.after_c.txt", kTwo);
  folder.put(odd + "9999.early.after_b.before_c.txt", kOne + "// changed\n");
  folder.put(odd + "0003.after_first.after_a.before_b.txt", kTwoTurned);
  folder.put(odd + "cpu_after_optimizations.txt", kOne);
  folder.put(kModule + "sm_9.0a_gpu_after_optimizations.txt", kOne);
  folder.put(kModule + "after_spmd_partitioner.txt", kOne);
  const hlo::Dump dump = hlo::read_dump(folder.path(), {});
  REQUIRE(dump.modules.size() == 2);
  CHECK(dump.modules[0].name == "module_0001.jit_f");
  CHECK(passes_of(dump.modules[0]) == Words{"after_optimizations"});
  CHECK(dump.modules[1].name == "module_0002.jit_g.0012.x");
  CHECK(names_of(dump.modules[1]) ==
        Words{odd + "before_optimizations.txt", odd + "0003.after_first.after_a.before_b.txt",
              odd + "9999.early.after_b.before_c.txt", odd + "10000.late.after_c.txt",
              odd + "cpu_after_optimizations.txt"});
  CHECK(passes_of(dump.modules[1]) ==
        Words{"before_optimizations", "a", "b", "c", "after_optimizations"});
  CHECK(dump.modules[1].versions[1].pipeline == "after_first");
  CHECK(dump.left_out == Words{kModule + "after_spmd_partitioner.txt"});
  const Ran ran = check_dump(folder);
  CHECK(ran.exit == kEstablished);
  CHECK(ran.out.find("left out, no place among the passes: module_0001.jit_f.after_spmd") !=
        std::string::npos);
}

TEST_CASE("a pass that runs a pipeline is named before its own file") {
  const TemporaryFolder folder;
  folder.put(kModule + "0000.spmd.after_shardy.before_partitioning.txt", kOne);
  folder.put(kModule + "0001.cleanup.after_pipeline-start.before_dce.txt", kWrong);
  folder.put(kModule + "0002.cleanup.after_dce.before_pipeline-end.txt", kTwo);
  folder.put(kModule + "0003.spmd.after_partitioning.before_pipeline-end.txt", kTwo);
  folder.put(kModule + "0004.schedule.after_pipeline-start.before_sort.txt", kOne);
  const hlo::Dump dump = hlo::read_dump(folder.path(), {});
  REQUIRE(dump.modules.size() == 1);
  CHECK(passes_of(dump.modules[0]) == Words{"shardy", "partitioning", "dce", "pipeline-start"});
  CHECK(json_of(folder, kRefuted).at("first_wrong_pass") == "partitioning");
  CHECK(check_dump(folder).out.find("pass: partitioning of pipeline spmd\n") != std::string::npos);

  folder.put(kModule + "0004.schedule.after_pipeline-start.before_sort.txt", kWrong);
  folder.put(kModule + "0001.cleanup.after_pipeline-start.before_dce.txt", kOne);
  CHECK(check_dump(folder).out.find("pass: one before pipeline schedule\n") != std::string::npos);
}

TEST_CASE("a pass that is undone later is still the first wrong one") {
  const TemporaryFolder folder;
  put_two_passes(folder, kTwo);
  folder.put(kSplit, kWrong);
  const Ran ran = check_dump(folder);
  CHECK(ran.exit == kRefuted);
  CHECK(ran.out.find("first wrong file: " + kSplit + "\n") != std::string::npos);
  CHECK(ran.out.find("1 module: valid end to end though a step is invalid") != std::string::npos);
}

TEST_CASE("the step that partitions a module says what devices hold") {
  const TemporaryFolder folder;
  const auto negation = [](const std::string& size, const std::string& sharding) {
    return "HloModule jit_f, num_partitions=4\n\nENTRY %main (x: f32[" + size + "]) -> f32[" +
           size + "] {\n  %x = f32[" + size + "] parameter(0)" + sharding + "\n  ROOT %y = f32[" +
           size + "] negate(%x)" + sharding + "\n}\n";
  };
  folder.put(kModule + "before_optimizations.txt", negation("8", ", sharding={devices=[4]<=[4]}"));
  folder.put(kModule + "0001.spmd.after_spmd-partitioning.txt", negation("2", ""));
  const Ran ran = check_dump(folder);
  CHECK(ran.exit == kEstablished);
  CHECK(
      ran.out.find("module_0001.jit_f: partitioned by spmd-partitioning of pipeline spmd; devices "
                   "hold: x in 4; output 0 in 4\n") != std::string::npos);
  // Which is no comparison of two partitioned modules, as other steps may be.
  const Ran of_said_inputs = check_dump(folder, {"--replicated-inputs"});
  CHECK(of_said_inputs.exit == kEstablished);
  CHECK(of_said_inputs.err.find("--replicated-inputs") == std::string::npos);
}

TEST_CASE("a file that cannot be read makes its pairs unknown, and hides no other") {
  const TemporaryFolder folder;
  put_two_passes(folder, kTwoTurned);
  folder.put(kSplit, kTwo.substr(0, kTwo.size() / 2));
  const json answer = json_of(folder, kUndecided);
  CHECK(answer.at("verdict") == "unknown");
  CHECK_FALSE(answer.contains("not_judged"));
  const json& results = answer.at("results");
  REQUIRE(results.size() == 3);
  for (const std::size_t i : {0, 1}) {
    CHECK(results.at(i).at("verdict") == "unknown");
    CHECK(results.at(i).at("reason").get<std::string>().starts_with(folder.path(kSplit) + ":"));
  }
  CHECK(results.at(2).at("verdict") == "valid");
  CHECK(check_dump(folder).out.find("unknown, 2") == std::string::npos);

  folder.put(kSplit, "nothing of the kind\n");
  const Ran ran = check_dump(folder);
  CHECK(ran.exit == kUndecided);
  CHECK(ran.out.find("is not a module of XLA or StableHLO") != std::string::npos);

  folder.put(kReorder, kWrong);  // the pass cannot be told
  folder.put(kModule + "sm_9.0a_gpu_after_optimizations.txt", kWrong);
  const json wrong = json_of(folder, kRefuted);
  CHECK(wrong.at("first_wrong").is_null());
  CHECK(wrong.at("modules").at(0).at("end_to_end") == "invalid");
}

TEST_CASE("elided constants are named once, with the flag that keeps them") {
  const TemporaryFolder folder;
  const std::string elided =
      "HloModule jit_f\n\nENTRY %main (x: f32[8]) -> f32[8] {\n  %x = f32[8] parameter(0)\n"
      "  %c = f32[8] constant({...})\n  ROOT %y = f32[8] add(%x, %c)\n}\n";
  folder.put(kModule + "before_optimizations.txt", elided);
  folder.put(kModule + "cpu_after_optimizations.txt", elided + "// changed\n");
  const Ran ran = check_dump(folder);
  CHECK(ran.exit == kUndecided);
  CHECK(ran.err.starts_with("p2-verify: " + folder.path() + ": 2 files with elided constants"));
  CHECK(count(ran.err, "--xla_dump_large_constants=true") == 1);
  CHECK(json_of(folder, kUndecided).at("with_elided_constants") == 2);
}

TEST_CASE("steps compose: valid end to end although that comparison is undecided") {
  hlo::Dump dump{.folder = "d", .modules = {}, .left_out = {}, .with_elided_constants = 0};
  dump.modules.push_back({.name = "m", .versions = {}, .files = 3});
  for (const char* name : {"a", "b", "c"}) {
    dump.modules[0].versions.push_back({.path = name, .name = name, .pipeline = {}, .pass = name});
  }
  std::vector<DumpPair> pairs = pairs_of(dump);
  REQUIRE(pairs.size() == 3);
  REQUIRE(pairs[2].end_to_end);
  std::vector<SubjectCheck> checks(3);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].check = &checks[i];
  checks[1].result.outcome = Outcome::Established;
  checks[2].result.outcome = Outcome::Undecided;
  checks[2].json = Json::object({{"verdict", "unknown"}, {"reason", "a limit"}});
  checks[2].report.properties = {{"end to end equal", Property::Status::Undecided}};

  checks[0].result.outcome = Outcome::Undecided;
  compose_steps(pairs);
  CHECK(pairs[2].outcome() == Outcome::Undecided);

  checks[0].result.outcome = Outcome::Established;
  compose_steps(pairs);
  CHECK(pairs[2].outcome() == Outcome::Established);
  CHECK(checks[2].json.dump() == R"({"verdict":"valid","reason":null,"composed":true})");
  CHECK(checks[2].report.properties.at(0).status == Property::Status::Established);
  Document document;
  add_dump(dump, pairs, true, document);
  CHECK(write_document(document, DocumentFormat::Text)
            .find("1 module: end to end by composition of valid steps") != std::string::npos);
}

TEST_CASE("an undecided step makes a dump unknown") {
  const TemporaryFolder folder;
  put_two_passes(folder, random_module());
  const Ran ran = check_dump(folder);
  CHECK(ran.exit == kUndecided);
  CHECK(ran.out.starts_with(folder.path() +
                            ": unknown (1 module, 5 files, 2 unchanged, 2 steps: 1 valid, "
                            "1 unknown)\n"));
}

TEST_CASE("a dump without a second file to compare with is undecided") {
  const TemporaryFolder folder;
  folder.put(kModule + "before_optimizations.txt", kOne);
  const Ran ran = check_dump(folder);
  CHECK(ran.exit == kUndecided);
  CHECK(
      ran.out.starts_with(folder.path() + ": unknown (1 module, 1 file, 0 unchanged, 0 steps)\n"));
  CHECK(ran.err.find("--xla_dump_hlo_pass_re=.*") != std::string::npos);

  folder.put(kModule + "cpu_after_optimizations.txt", kOne);  // no pass changed it
  CHECK(check_dump(folder).exit == kEstablished);
  CHECK(json_of(folder, kEstablished).at("modules").at(0).at("end_to_end") == "valid");
}

TEST_CASE("reports for CI have every pair, and a baseline lets known ones pass") {
  const TemporaryFolder folder;
  put_two_passes(folder, kWrong);
  const Ran junit = check_dump(folder, {"--format", "junit"});
  CHECK(junit.exit == kRefuted);
  CHECK(count(junit.out, "<testsuite ") == 3);
  CHECK(count(junit.out, "<failure ") == 2);
  CHECK(junit.out.find("end to end equal") != std::string::npos);
  const json sarif = json::parse(check_dump(folder, {"--format", "sarif"}).out);
  CHECK(sarif.at("runs").at(0).at("results").size() == 2);

  const TemporaryFolder other;
  const std::string known = other.path("known.json");
  CHECK(check_dump(folder, {"--baseline", known, "--update-baseline"}).exit == kEstablished);
  CHECK(check_dump(folder, {"--baseline", known}).exit == kEstablished);
  folder.put(kSplit, kWrong);
  CHECK(check_dump(folder, {"--baseline", known}).exit == kRefuted);
}

TEST_CASE("a folder without modules, and flags that ask something else, are bad input") {
  const TemporaryFolder folder;
  const auto refused = [&](const Words& words, const std::string& message) {
    const Ran ran = run(words);
    INFO(ran.err);
    CHECK(ran.exit == kBadInput);
    CHECK(ran.out.empty());
    CHECK(ran.err.find(message) != std::string::npos);
  };
  refused({"check", "--dump", folder.path("none")}, "is not a folder, expected the one of XLA's");
  refused({"check", "--dump", folder.path()}, "has no module of a dump, expected what XLA writes");
  folder.put(kModule + "before_optimizations.txt", "not what the name says\n");
  refused({"check", "--dump", folder.path()}, "has no module of a dump");

  put_two_passes(folder, kTwoTurned);
  const std::string first = folder.path(kModule + "before_optimizations.txt");
  const auto refused_with = [&](Words more, const std::string& named) {
    more.insert(more.begin(), {"check", "--dump", folder.path()});
    refused(more, "--dump: is a check of its own, expected no " + named);
  };
  refused_with({first}, "FILE");
  refused_with({"--before", first, "--after", first}, "--before");
  refused_with({"--after", first}, "--after");
  refused_with({"--reduces", "0"}, "--reduces");
  refused_with({"--explain"}, "--explain");
  refused_with({"--engine", "z3"}, "--engine z3");
  refused({"check", "--dump", folder.path(), "--output", first}, "is an input of this command");
}

}  // namespace p2
