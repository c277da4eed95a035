#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "p2/compare.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

nlohmann::json result_of(std::vector<std::string> arguments, int exit) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Ran ran = run(arguments);
  INFO(ran.err);
  CHECK(ran.exit == exit);
  return nlohmann::json::parse(ran.out).at("results").at(0);
}

const char* const kInterpreted =
    "module {\n"
    "  func.func @sum(%arg0 : tensor<2xi32>) -> tensor<2xi32> {\n"
    "    %0 = \"stablehlo.all_reduce\"(%arg0) ({\n"
    "      ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
    "        %1 = stablehlo.add %a, %b : tensor<i32>\n"
    "        stablehlo.return %1 : tensor<i32>\n"
    "    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}\n"
    "        : (tensor<2xi32>) -> tensor<2xi32>\n"
    "    return %0 : tensor<2xi32>\n"
    "  }\n"
    "  func.func @main() {\n"
    "    %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
    "    %y = stablehlo.constant dense<5> : tensor<2xi32>\n"
    "    %r:2 = \"interpreter.run_parallel\"(%x, %y) {programs = [[@sum], [@sum]]}\n"
    "        : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)\n"
    "    check.expect_eq_const %r#0, dense<[6, 7]> : tensor<2xi32>\n"
    "    check.expect_eq_const %r#1, dense<[6, 7]> : tensor<2xi32>\n"
    "    func.return\n"
    "  }\n"
    "}\n";

}  // namespace

TEST_CASE("the time limit holds for calls that double at every level") {
  const auto module = [](int rows, const std::string& sharding) {
    std::string text = fmt::format(
        "HloModule m, num_partitions=4\n\nc0 {{\n  p = f32[{0},64] parameter(0)\n"
        "  ROOT r = f32[{0},64] copy(p)\n}}\n\n",
        rows);
    for (int k = 1; k <= 60; ++k) {
      text += fmt::format(
          "c{0} {{\n  p = f32[{2},64] parameter(0)\n  a = f32[{2},64] call(p), to_apply=c{1}\n"
          "  ROOT b = f32[{2},64] call(a), to_apply=c{1}\n}}\n\n",
          k, k - 1, rows);
    }
    return text + fmt::format(
                      "ENTRY e {{\n  x = f32[{0},64] parameter(0){1}\n"
                      "  ROOT y = f32[{0},64] call(x), to_apply=c60{1}\n}}\n",
                      rows, sharding);
  };
  const TemporaryFile before(module(16, ", sharding={devices=[4,1]<=[4]}"), ".hlo");
  const TemporaryFile after(module(4, ""), ".hlo");
  for (const char* engine : {"explicit", "symbolic"}) {
    result_of({"check", "--before", before.path(), "--after", after.path(), "--timeout", "1",
               "--engine", engine},
              kUndecided);
  }
}

TEST_CASE("modules that are too large to be executed first are related node by node") {
  const auto module = [](bool is_whole, int rows, const std::string& sum) {
    const int hidden = is_whole ? 4 * rows : rows;
    const std::string shard = is_whole ? ", sharding={devices=[4,1]<=[4]}" : "";
    const std::string last = is_whole ? ", sharding={replicated}" : "";
    return fmt::format(
        "HloModule mlp, num_partitions=4\n\nadd {{\n  a = f32[] parameter(0)\n"
        "  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\n\nENTRY main {{\n"
        "  x = f32[64,{0}] parameter(0){1}\n  w = f32[{0},64] parameter(1){2}\n"
        "  part = f32[64,64] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        "{3}  ROOT y = f32[64,64] tanh({4}){5}\n}}\n",
        hidden, is_whole ? ", sharding={devices=[1,4]<=[4]}" : "", shard, is_whole ? "" : sum,
        is_whole || sum.empty() ? "part" : "down", last);
  };
  const std::string sum =
      "  down = f32[64,64] all-reduce(part), channel_id=1, replica_groups={{0,1,2,3}}, "
      "use_global_device_ids=true, to_apply=add\n";
  const auto engines = [&](int rows, const std::string& all_reduce, int exit) {
    const TemporaryFile before(module(true, rows, ""), ".hlo");
    const TemporaryFile after(module(false, rows, all_reduce), ".hlo");
    return result_of({"check", "--before", before.path(), "--after", after.path()}, exit)
        .at("engines");
  };
  CHECK(engines(1, sum, kEstablished).contains("interpreter"));
  CHECK(engines(4096, sum, kEstablished) == nlohmann::json{{"explicit", "valid"}});
  CHECK(engines(4096, "", kRefuted).at("explicit") == "invalid");
}

TEST_CASE("where a relation ends is said with the line of the instruction") {
  const auto module = [](const std::string& by) {
    return "HloModule m\n\nENTRY e {\n  x = f32[8] parameter(0)\n  c = f32[] constant(" + by +
           ")\n  b = f32[8] broadcast(c), dimensions={}\n\n  ROOT y = f32[8] divide(x, b)\n}\n";
  };
  const TemporaryFile before(module("5.65685415"), ".hlo");
  const TemporaryFile after(module("5.65685463"), ".hlo");
  const Ran ran = run({"check", "--before", before.path(), "--after", after.path()});
  INFO(ran.out);
  CHECK(ran.exit == kUndecided);
  CHECK(ran.out.find(fmt::format("output 0 is not related, beginning with divide y ({}:8).",
                                 after.path())) != std::string::npos);
}

TEST_CASE("check --before --after answers with the keys of the contract") {
  const TemporaryFile before(by_host().before, ".hlo");
  const TemporaryFile after(by_host().after, ".hlo");
  const TemporaryFile wrong(
      replaced(by_host().after, "[4,2]<=[2,4]T(1,0)", "{{0,5},{1,4},{2,6},{3,7}}"), ".hlo");
  const auto compared = [&](const TemporaryFile& file, int exit) {
    return result_of({"check", "--before", before.path(), "--after", file.path()}, exit);
  };
  const nlohmann::json valid = compared(after, kEstablished);
  CHECK(valid.at("verdict") == "valid");
  CHECK(valid.at("format") == "hlo");
  CHECK(valid.at("before") == before.path());
  CHECK(valid.at("engines") ==
        nlohmann::json{{"explicit", "valid"}, {"interpreter", "unknown"}, {"symbolic", "valid"}});
  CHECK(valid.at("partitions") == 8);
  CHECK(valid.at("counterexample").is_null());
  const nlohmann::json invalid = compared(wrong, kRefuted);
  CHECK(invalid.at("verdict") == "invalid");
  CHECK(invalid.at("counterexample") ==
        nlohmann::json{{"rule", "contributions"},
                       {"device", 0},
                       {"replica", 0},
                       {"partition", 0},
                       {"output", 0},
                       {"index", {0, 0}},
                       {"before", "x[0,0] of devices 0–7"},
                       {"after", "x[0,0] of devices 0–3 + x[2,0] of devices 4–7"}});
  const Ran order = run({"check", "--before", before.path(), "--after", after.path(), "--order"});
  CHECK(order.exit == kRefuted);
  CHECK(order.out.find("invalid, order") != std::string::npos);
}

TEST_CASE("a module on its own is listed, or compared with a goal") {
  const TemporaryFile file(folded().before, ".hlo");
  const nlohmann::json alone = result_of({"check", file.path()}, kEstablished);
  CHECK(alone.at("collectives").size() == 2);
  CHECK(alone.at("collectives").at(0).at("groups") == "{0,1} {2,3}");
  CHECK(result_of({"check", file.path(), "--reduces", "0"}, kEstablished).at("goal") ==
        "allreduce");
  result_of({"check", file.path(), "--reduces", "0,1", "--axes", "2,2"}, kEstablished);
  result_of({"check", file.path(), "--reduces", "0", "--axes", "2,2"}, kRefuted);
  const TemporaryFile scattered(scatter_made().before, ".hlo");
  result_of({"check", scattered.path(), "--reduces", "0", "--goal", "reducescatter"}, kRefuted);
  const TemporaryFile bad(replaced(folded().before, "{{0,2},{1,3}}", "{{0,2},{1,2}}"), ".hlo");
  const nlohmann::json ill = result_of({"check", bad.path()}, kRefuted);
  CHECK(ill.at("counterexample").at("rule") == "groups");
  CHECK(ill.at("counterexample").at("line") == 36);
}

TEST_CASE("StableHLO is read, compared with XLA and, where it is a test, run") {
  const TemporaryFile test(kInterpreted, ".mlir");
  CHECK(result_of({"check", test.path()}, kEstablished).at("replicas") == 2);
  const TemporaryFile wrong(replaced(kInterpreted, "%r#1, dense<[6, 7]>", "%r#1, dense<[6, 8]>"),
                            ".mlir");
  const nlohmann::json refuted = result_of({"check", wrong.path()}, kRefuted);
  CHECK(refuted.at("counterexample").at("device") == 1);
  CHECK(refuted.at("counterexample").at("index") == nlohmann::json{1});
  CHECK(refuted.at("counterexample").at("after") == "7");

  const std::string pretty =
      "module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  func.func public @main(%x: tensor<8xf32> {mhlo.sharding = \"{replicated}\"}) -> "
      "(tensor<8xf32> {jax.result_info = \"\"}) {\n"
      "    %0 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<2x4xf32>\n"
      "    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>\n"
      "    %2 = \"stablehlo.all_reduce\"(%1) <{channel_handle = #stablehlo.channel_handle<handle = "
      "1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, "
      "use_global_device_ids}> ({\n"
      "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "      %s = stablehlo.add %a, %b : tensor<f32>\n"
      "      stablehlo.return %s : tensor<f32>\n"
      "    }) : (tensor<4x2xf32>) -> tensor<4x2xf32>\n"
      "    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>\n"
      "    %4 = func.call @flat(%3) : (tensor<2x4xf32>) -> tensor<8xf32>\n"
      "    return %4 : tensor<8xf32>\n"
      "  }\n"
      "  func.func private @flat(%x: tensor<2x4xf32>) -> tensor<8xf32> {\n"
      "    %0 = stablehlo.reshape %x : (tensor<2x4xf32>) -> tensor<8xf32>\n"
      "    return %0 : tensor<8xf32>\n"
      "  }\n"
      "}\n";
  const TemporaryFile mlir(pretty, ".mlir");
  const TemporaryFile hlo(folded().after, ".hlo");
  result_of({"check", "--before", hlo.path(), "--after", mlir.path()}, kEstablished);
  const TemporaryFile turned(replaced(pretty,
                                      "%3 = stablehlo.transpose %2, dims = [1, 0] : "
                                      "(tensor<4x2xf32>)",
                                      "%3 = stablehlo.reshape %2 : (tensor<4x2xf32>)"),
                             ".mlir");
  result_of({"check", "--before", hlo.path(), "--after", turned.path()}, kRefuted);
}

TEST_CASE("a valid verdict says in which sense it holds") {
  const TemporaryFile before(by_host().before, ".hlo");
  const TemporaryFile after(by_host().after, ".hlo");
  const TemporaryFile wrong(
      replaced(by_host().after, "[4,2]<=[2,4]T(1,0)", "{{0,5},{1,4},{2,6},{3,7}}"), ".hlo");
  const auto arguments = [&](const TemporaryFile& file, std::vector<std::string> more) {
    more.insert(more.begin(), {"check", "--before", before.path(), "--after", file.path()});
    return more;
  };
  const auto text = [&](const std::vector<std::string>& more) {
    return run(arguments(after, more)).out;
  };
  CHECK(text({}).find("8 partitions, as real numbers)") != std::string::npos);
  CHECK(text({"--numbers", "reassociated"}).find("8 partitions, up to the order of sums)") !=
        std::string::npos);
  CHECK(run(arguments(before, {"--numbers", "bitwise"})).out.find("8 partitions, bit for bit)") !=
        std::string::npos);
  CHECK(result_of(arguments(after, {}), kEstablished).at("numbers") == "real");
  const auto reassociated =
      result_of(arguments(after, {"--numbers", "reassociated"}), kEstablished);
  CHECK(reassociated.at("numbers") == "reassociated");
  const auto bitwise = result_of(arguments(after, {"--numbers", "bitwise"}), kUndecided);
  CHECK(bitwise.at("numbers") == "bitwise");
  CHECK(bitwise.at("numbers_shown") == "reassociated");
  CHECK(bitwise.at("reason").get<std::string>().find(
            "The first instruction after with a value that none before has is reduce-scatter "
            "part") != std::string::npos);
  const auto refuted = result_of(arguments(wrong, {"--numbers", "bitwise"}), kRefuted);
  CHECK(refuted.at("numbers") == "real");

  const auto refused = [](const std::vector<std::string>& call, const char* why) {
    const Ran ran = run(call);
    INFO(ran.err);
    CHECK(ran.exit == kBadInput);
    CHECK(ran.err.find(why) != std::string::npos);
  };
  refused(arguments(after, {"--numbers", "bitwis"}), "did you mean 'bitwise'?");
  refused(arguments(after, {"--numbers", "bitwise", "--order"}), "expected one of the two");
  refused(arguments(after, {"--numbers", "bitwise", "--engine", "symbolic"}),
          "expected --engine interpreter");
  refused({"check", after.path(), "--numbers", "bitwise"}, "expected --before and --after");

  CompareRequest request{before.path(), after.path()};
  request.numbers = FloatEquality::Bitwise;
  const CompareAnswer answer = p2::compare(request, {});
  CHECK(answer.outcome == Outcome::Undecided);
  CHECK(answer.numbers == FloatEquality::Bitwise);
  CHECK(answer.shown == FloatEquality::Reassociated);
}

TEST_CASE("a certificate says nothing of rounding, so there is none in a stricter sense") {
  const TemporaryFile module(by_host().before, ".hlo");
  const TemporaryFile folder("");
  const Ran ran = run({"check", "--before", module.path(), "--after", module.path(), "--numbers",
                       "bitwise", "--certify", folder.path() + ".d"});
  CHECK(ran.exit == kEstablished);
  CHECK(ran.out.find("no certificate: p2-check compares real numbers, not what is bitwise") !=
        std::string::npos);
}

TEST_CASE("a refutation is of real numbers, also where rounding hides it") {
  const auto scaled = [](const char* factor) {
    return module_text(
        fmt::format("  h = bf16[4] parameter(0)\n  x = f32[4] convert(h)\n"
                    "  s = f32[] constant({})\n"
                    "  t = f32[4] broadcast(s), dimensions={{}}\n"
                    "  y = f32[4] multiply(x, t)\n"
                    "  ROOT r = bf16[4] convert(y)\n",
                    factor));
  };
  ComparisonOptions options;
  options.equality = FloatEquality::Bitwise;
  const ModuleDecision decision = compared(scaled("1"), scaled("1.0009765625"), options);
  CHECK(decision.outcome == Outcome::Refuted);
  CHECK(decision.equality == FloatEquality::Real);
}

TEST_CASE("an unknown answer names what is not understood, and the outputs that depend on it") {
  const auto calls = [](const char* target) {
    return module_text(
        fmt::format("  x = f32[4] parameter(0)\n"
                    "  y = f32[4] custom-call(x), custom_call_target=\"{}\"\n"
                    "  z = f32[4] negate(x)\n"
                    "  ROOT t = (f32[4], f32[4], f32[4]) tuple(z, y, x)\n",
                    target));
  };
  const TemporaryFile before(calls("F"), ".hlo");
  const TemporaryFile after(calls("G"), ".hlo");
  const std::vector<std::string> question = {"check", "--before", before.path(), "--after",
                                             after.path()};
  const nlohmann::json open = result_of(question, kUndecided).at("not_understood");
  REQUIRE(open.size() == 2);
  CHECK(open[0] == nlohmann::json{{"file", before.path()},
                                  {"line", 35},
                                  {"instruction", "y"},
                                  {"operation", "custom-call F"},
                                  {"why", nullptr},
                                  {"outputs", {1}}});
  CHECK(open[1].at("operation") == "custom-call G");
  CHECK(run(question).out.find("not understood: custom-call G y (" + after.path() +
                               ":35); output 1 depends on it") != std::string::npos);

  const TemporaryFile drawn(
      module_text("  z = f32[] parameter(0)\n  w = f32[4] rng(z, z), distribution=rng_uniform\n"
                  "  ROOT t = (f32[], f32[4]) tuple(z, w)\n"),
      ".hlo");
  const nlohmann::json effect =
      result_of({"check", "--before", drawn.path(), "--after", drawn.path()}, kUndecided);
  CHECK(effect.at("not_understood") == nlohmann::json::array({{{"file", drawn.path()},
                                                               {"line", 35},
                                                               {"instruction", "w"},
                                                               {"operation", "rng"},
                                                               {"why", "it has a side effect"},
                                                               {"outputs", {1}}}}));
}

TEST_CASE("the examples have the verdicts that the documents show") {
  const std::string folder = P2_SOURCE_DIR "/examples/hlo/";
  const auto compared = [&](const char* after) {
    return run({"check", "--before", folder + "all-reduce.hlo", "--after", folder + after});
  };
  CHECK(compared("by-host.hlo").exit == kEstablished);
  const Ran refused = compared("refused/crossed-hosts.hlo");
  CHECK(refused.exit == kRefuted);
  CHECK(refused.out.find("element [0,0] of output 0 is x[0,0] of devices 0–7 before, and x[0,0] of "
                         "devices 0–3 + x[2,0] of devices 4–7 after.") != std::string::npos);
}

TEST_CASE("a relation names the programs of devices, in files beside it") {
  const std::string folder = P2_SOURCE_DIR "/examples/hlo/";
  const auto related = [&](const std::string& relation, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"check", "--before", folder + "pipeline.hlo", "--relate",
                                    folder + relation};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const auto certificate =
      std::filesystem::temp_directory_path() / fmt::format("p2-pipeline-{}", ::getpid());
  std::filesystem::remove_all(certificate);
  const Ran valid =
      related("pipeline-relation.json", {"--explain", "--certify", certificate.string()});
  CHECK(valid.exit == kEstablished);
  CHECK(valid.out.find("2 programs on 4 devices") != std::string::npos);
  CHECK(valid.out.find("device 0: y[0,0] by received = add, y0[0,0] before") != std::string::npos);
  CHECK(valid.out.find("\ncertificate: ") != std::string::npos);
  std::filesystem::remove_all(certificate);
  const Ran wrong = related("refused/pipeline-relation.json");
  CHECK(wrong.exit == kRefuted);
  CHECK(wrong.out.find("An all-reduce (add) over axis model after part (line 19) is missing") !=
        std::string::npos);
  const auto refused = [](const Ran& ran, const char* why) {
    INFO(ran.err);
    CHECK(ran.exit == kBadInput);
    CHECK(ran.err.find(why) != std::string::npos);
  };
  refused(related("pipeline-relation.json", {"--after", folder + "pipeline-stage0.hlo"}),
          "names the modules that devices run, expected no --after");
  refused(related("pipeline-relation.json", {"--partitions", "4"}), "expected it alone");
  refused(related("qkv-relation.json"), "names no modules, expected --after");
}

TEST_CASE("questions that cannot be asked are refused in one sentence") {
  const TemporaryFile file(folded().before, ".hlo");
  const TemporaryFile all(
      "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] "
      "parameter(1)\n  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[8] "
      "parameter(0)\n  ROOT y = f32[8] all-reduce(x), replica_groups={}, "
      "to_apply=add\n}\n",
      ".hlo");
  const auto refused = [](const std::vector<std::string>& arguments, const char* why) {
    const Ran ran = run(arguments);
    INFO(ran.err);
    CHECK(ran.exit == kBadInput);
    CHECK(ran.err.find(why) != std::string::npos);
  };
  refused({"check", "--before", file.path()}, "expected --before and --after");
  refused({"check", "--before", file.path(), "--after", P2_SOURCE_DIR "/README.md"},
          "is not a module of XLA or StableHLO");
  refused({"check", "--before", all.path(), "--after", all.path()},
          "expected --replicas or --partitions");
  refused({"check", file.path(), "--certify", "/tmp/never-written"},
          "expected --before and --after");
  refused({"check", file.path(), "--engine", "cnf"}, "expected the check without");
  refused({"check", file.path(), "--engine", "z3"}, "expected --before and --after");
  refused({"check", "--before", file.path(), "--after", file.path(), "--engine", "z3", "--order"},
          "expected no --order");
  refused({"check", file.path(), "--goal", "allgather"}, "--goal does not apply");
  refused({"check", file.path(), "--order"}, "expected --before and --after");
  refused({"check", file.path(), "--reduces", "0", "--goal", "reduce"},
          "is not a goal of a module");
  refused({"check", file.path(), "--reduces", "0", "--axes", "2,4"}, "multiply to 8, expected 4");
  const Ran given =
      run({"check", "--before", all.path(), "--after", all.path(), "--replicas", "4"});
  CHECK(given.exit == kEstablished);
  CHECK(given.out.find("4 replicas × 1 partition") != std::string::npos);
}

TEST_CASE("compare answers with typed data, a result and a document") {
  const TemporaryFile before(by_host().before, ".hlo");
  const TemporaryFile after(by_host().after, ".hlo");
  const TemporaryFile wrong(
      replaced(by_host().after, "[4,2]<=[2,4]T(1,0)", "{{0,5},{1,4},{2,6},{3,7}}"), ".hlo");
  const CompareAnswer equal = p2::compare({before.path(), after.path()}, {});
  CHECK(equal.outcome == Outcome::Established);
  CHECK(equal.partitions == 8);
  CHECK_FALSE(equal.devices_assumed);
  CHECK_FALSE(equal.element.has_value());
  const CompareAnswer refuted = p2::compare({before.path(), wrong.path()}, {});
  CHECK(refuted.outcome == Outcome::Refuted);
  REQUIRE(refuted.element.has_value());
  CHECK(refuted.element->device == 0);
  CHECK(refuted.element->index == std::vector<std::int64_t>{0, 0});
  CHECK(refuted.element->before == "x[0,0] of devices 0–7");
  REQUIRE(refuted.results.size() == 1);
  CHECK(refuted.results[0].subject == wrong.path());
  CHECK(refuted.results[0].counterexample->rule == "contributions");
  REQUIRE(refuted.document.json.find("results") != nullptr);
  CHECK(refuted.document.reports.at(0).properties.back().rule == "contributions");
  CompareRequest ordered{before.path(), after.path()};
  ordered.ordered = true;
  CHECK(p2::compare(ordered, {}).results.at(0).counterexample->rule == "order");
}

TEST_CASE("a limit leaves a comparison undecided, with the reason") {
  Options options;
  options.limits.memory_bytes = 0;
  std::string many = "HloModule m, num_partitions=1\nENTRY e {\n  x0 = f32[8] parameter(0)\n";
  for (int i = 1; i <= 4000; ++i) {
    many += "  x" + std::to_string(i) + " = f32[8] exponential(x" + std::to_string(i - 1) + ")\n";
  }
  const TemporaryFile chain(many + "}\n", ".hlo");
  const CompareAnswer answer = p2::compare({chain.path(), chain.path()}, options);
  CHECK(answer.outcome == Outcome::Undecided);
  REQUIRE(answer.results.at(0).undecided.has_value());
  CHECK(answer.results[0].undecided->reason == Undecided::Reason::Limit);
  CHECK(answer.results[0].undecided->explanation.find("memory limit") != std::string::npos);
}

}  // namespace p2::hlo
