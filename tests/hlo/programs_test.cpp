// Devices that run different programs: what is right, mistakes, and attempts at a wrong `valid`;
// relations whose whole is a reduction over the devices that hold an element.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/explanation/explanation.h"
#include "engine/hlo/text/hlo_text.h"
#include "p2/error.h"
#include "proofs/certificate/subject_certificates.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

struct Run {
  std::string before;
  std::vector<std::pair<std::string, std::string>> programs;  ///< devices, text
  std::string inputs;
  std::string outputs;
  int devices = 2;
};

std::string program(const std::string& entry, int partitions = 1, bool is_scheduled = true) {
  return fmt::format("HloModule stage, num_partitions={}{}\n", partitions,
                     is_scheduled ? ", is_scheduled=true" : "") +
         "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, "
         "b)\n}\n"
         "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, "
         "b)\n}\nENTRY main {\n  token = token[] after-all()\n" +
         entry + "}\n";
}

/// `explained`: a refutation is explained, with a search for what would repair it.
ModuleDecision decide(const Run& run, ModuleEngine engine = ModuleEngine::All,
                      bool explained = false) {
  std::string modules;
  for (std::size_t k = 0; k < run.programs.size(); ++k) {
    modules += fmt::format("{}\"{}\":\"{}.hlo\"", k == 0 ? "" : ",", run.programs[k].first, k);
  }
  ComparisonOptions options;
  options.relation = fmt::format(
      "{{\"format\":\"p2-relation/1\",\"devices\":{},\"mesh\":{{\"d\":{}}},\"modules\":{{{}}},"
      "\"inputs\":{{{}}},\"outputs\":{{{}}}}}",
      run.devices, run.devices, modules, run.inputs, run.outputs);
  options.relation_file = "relation.json";
  options.devices = {1, run.devices};
  options.engine = engine;
  std::vector<PlacedProgram> placed;
  const std::vector<PlacedFile> files = program_files("relation.json", *options.relation);
  for (std::size_t k = 0; k < files.size(); ++k) {
    placed.push_back({files[k].devices, std::make_shared<const Module>(
                                            read_hlo(files[k].file, run.programs[k].second))});
  }
  auto programs = linked(placed, options.devices);
  if (auto* decision = std::get_if<ModuleDecision>(&programs)) return *decision;
  const auto single = std::make_shared<const Module>(
      read_hlo("single.hlo", "HloModule single\nENTRY main {\n" + run.before + "}\n"));
  const auto several = std::get<std::shared_ptr<const Module>>(programs);
  const ModuleDecision decision = compare(single, several, options, {});
  if (explained) CHECK(explain(*single, *several, decision, {}).has_value());
  return decision;
}

std::string verdict(const Run& run) {
  const ModuleDecision all = decide(run);
  CAPTURE(all.reason);
  CHECK(all.outcome != Outcome::Disagreement);
  const bool is_valid = decide(run, ModuleEngine::Symbolic).outcome == Outcome::Established;
  if (is_valid) CHECK(all.outcome == Outcome::Established);
  return summary(all);
}

std::string context(const std::string& shape = "f32[4]") {
  return "(" + shape + ", u32[], token[])";
}
std::string pairs(const std::string& list) {
  return ", frontend_attributes={_xla_send_recv_source_target_pairs={" + list + "}}";
}

/// `name = …` sends `value`.
std::string send(const std::string& name, const std::string& value, int channel,
                 const std::string& list) {
  return fmt::format("  {0} = {1} send({2}, token), channel_id={3}{4}\n", name, context(), value,
                     channel, pairs(list)) +
         fmt::format("  {0}.done = token[] send-done({0}), channel_id={1}\n", name, channel);
}
std::string start_receive(const std::string& name, int channel, const std::string& list) {
  return fmt::format("  {}.start = {} recv(token), channel_id={}{}\n", name, context(), channel,
                     pairs(list));
}
std::string finish_receive(const std::string& name, int channel) {
  return fmt::format("  {0}.done = (f32[4], token[]) recv-done({0}.start), channel_id={1}\n", name,
                     channel) +
         fmt::format("  {0} = f32[4] get-tuple-element({0}.done), index=0\n", name);
}
std::string receive(const std::string& name, int channel, const std::string& list) {
  return start_receive(name, channel, list) + finish_receive(name, channel);
}

constexpr const char* kX = "  x = f32[4] parameter(0)\n";

/// Device 0 doubles its input, device 1 squares what it receives.
Run two_stages(const std::string& first, const std::string& second) {
  return {std::string(kX) + "  d = f32[4] add(x, x)\n  ROOT y = f32[4] multiply(d, d)\n",
          {{"0", program(first)}, {"1", program(second)}},
          "\"0\":{\"after\":{\"0\":0},\"relation\":\"replicated\"}",
          "\"0\":{\"after\":{\"1\":0},\"relation\":\"replicated\"}"};
}
const std::string kDouble = std::string(kX) + "  d = f32[4] add(x, x)\n";
const std::string kSquare = "  ROOT y = f32[4] multiply(r, r)\n";
const std::string kEnd = "  ROOT end = () tuple()\n";

TEST_CASE("what a device receives is what its peer sends") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const std::string second = receive("r", 1, "{0,1}") + kSquare;
  CHECK(verdict(two_stages(first, second)) == "valid");
  CHECK(verdict(two_stages(kDouble + send("s", "x", 1, "{0,1}") + kEnd, second)) ==
        "invalid value");
  CHECK(verdict(two_stages(first, receive("r", 1, "{0,1}") + "  ROOT y = f32[4] add(r, r)\n")) ==
        "invalid value");
  CHECK(verdict(two_stages(first, receive("r", 2, "{0,1}") + kSquare)) == "invalid unmatched");
  CHECK(verdict(two_stages(kDouble + kEnd, second)) == "invalid unmatched");
  CHECK(verdict(two_stages(first, "  ROOT r = f32[4] broadcast(token), dimensions={}\n")) !=
        "valid");
  // Both are one device: no pairs are needed.
  const auto plain = [](std::string text) { return replaced(text, pairs("{0,1}"), ""); };
  CHECK(verdict(two_stages(plain(first), plain(second))) == "valid");
  const std::string older = replaced(first, "{{0,1}}}", "\"{{0,1}}\"}");
  CHECK(verdict(two_stages(older, second)) == "valid");
}

TEST_CASE("repairs use what a device's own program computes") {
  // The values of device 0 have the shape of those of device 1, and come before them.
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  for (const char* wrong : {"  ROOT y = f32[4] add(r, r)\n", "  ROOT y = f32[4] copy(r)\n",
                            "  n = f32[4] negate(r)\n  ROOT y = f32[4] multiply(n, r)\n"}) {
    const Run run = two_stages(first, receive("r", 1, "{0,1}") + wrong);
    CHECK(summary(decide(run, ModuleEngine::Default, true)) == "invalid value");
  }
  // Of what is received the device that sends has another value; that of the other has none.
  const Run early =
      two_stages(kDouble + "  t = f32[4] tanh(d)\n" + send("s", "t", 1, "{0,1}") + kEnd,
                 "  z = f32[4] iota(), iota_dimension=0\n" + receive("r", 1, "{0,1}") + kSquare);
  CHECK(summary(decide(early, ModuleEngine::Default, true)) == "invalid value");
  // A reduction that both programs take part in is scaled wrongly.
  const auto reduced = [](const std::string& after) {
    return program(std::string(kX) +
                       "  s = f32[4] all-reduce(x), channel_id=1, replica_groups={{0,1}}, "
                       "use_global_device_ids=true, to_apply=add\n" +
                       after,
                   2);
  };
  const std::string root = "  ROOT y = f32[4] add(s, s)\n";
  const Run sum = {"  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n",
                   {{"0", reduced(root)}, {"1", reduced("  c = f32[4] copy(s)\n" + root)}},
                   "\"0\":{\"after\":0,\"relation\":\"replicated\"}",
                   "\"0\":{\"after\":0,\"relation\":\"replicated\"}"};
  CHECK(summary(decide(sum, ModuleEngine::Default, true)) == "invalid value");
}

TEST_CASE("messages have the shape, the type and the layout of what is sent") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const auto received = [&](const std::string& shape) {
    return fmt::format(
        "  r.start = {0} recv(token), channel_id=1{1}\n  r.done = ({2}, token[]) "
        "recv-done(r.start), channel_id=1\n  g = {2} get-tuple-element(r.done), index=0\n  r = "
        "f32[4] reshape(g)\n",
        context(shape), pairs("{0,1}"), shape);
  };
  CHECK(verdict(two_stages(first, received("f32[4]") + kSquare)) == "valid");
  CHECK(verdict(two_stages(first, received("f32[2,2]") + kSquare)) == "invalid shapes");
  CHECK(verdict(two_stages(first, received("s32[4]") + kSquare)) == "invalid shapes");
  Run run = two_stages("  x = f32[2,2] parameter(0)\n  s = " + context("f32[2,2]{1,0}") +
                           " send(x, token), channel_id=1" + pairs("{0,1}") +
                           "\n  s.done = token[] send-done(s), channel_id=1\n" + kEnd,
                       "  r.start = " + context("f32[2,2]{0,1}") + " recv(token), channel_id=1" +
                           pairs("{0,1}") +
                           "\n  r.done = (f32[2,2]{0,1}, token[]) recv-done(r.start), "
                           "channel_id=1\n  ROOT y = f32[2,2]{0,1} get-tuple-element(r.done), "
                           "index=0\n");
  run.before = "  x = f32[2,2] parameter(0)\n  ROOT y = f32[2,2] copy(x)\n";
  CHECK(verdict(run) == "unknown");
}

TEST_CASE("programs are well-formed each") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const Run run = two_stages(first, receive("r", 1, "{0,1}") + "  ROOT y = f32[4] multiply(r)\n");
  for (const ModuleEngine engine : {ModuleEngine::Default, ModuleEngine::Interpreter}) {
    CHECK(summary(decide(run, engine)) == "invalid shapes");
  }
}

TEST_CASE("an operation with too few operands is not executed") {
  for (const char* opcode : {"add", "power", "select", "clamp"}) {
    const std::string entry =
        fmt::format("  x = f32[4] parameter(0)\n  ROOT y = f32[4] {}(x)\n", opcode);
    ComparisonOptions options;
    options.engine = ModuleEngine::Interpreter;
    options.relation =
        "{\"format\":\"p2-relation/1\",\"devices\":2,\"inputs\":{\"0\":{\"after\":0,\"relation\":"
        "\"replicated\"}},\"outputs\":{\"0\":{\"after\":0,\"relation\":\"replicated\"}}}";
    options.relation_file = "relation.json";
    const std::string verdict = summary(
        compared("HloModule single\nENTRY main {\n" + entry + "}\n", program(entry, 2), options));
    CHECK((verdict == "unknown" || verdict == "invalid shapes"));
  }
}

TEST_CASE("devices that wait for each other in a cycle are a deadlock") {
  // Device 1 returns the square, which device 0 adds.
  const auto run = [](const std::string& first, const std::string& second, bool scheduled) {
    return Run{std::string(kX) +
                   "  d = f32[4] add(x, x)\n  q = f32[4] multiply(d, d)\n  ROOT y = "
                   "f32[4] add(d, q)\n",
               {{"0", program(first, 1, scheduled)}, {"1", program(second, 1, scheduled)}},
               "\"0\":{\"after\":{\"0\":0},\"relation\":\"replicated\"}",
               "\"0\":{\"after\":{\"0\":0},\"relation\":\"replicated\"}"};
  };
  const std::string there = send("s", "d", 1, "{0,1}");
  const std::string back = receive("b", 2, "{1,0}");
  const std::string sum = "  ROOT y = f32[4] add(d, b)\n";
  const std::string second = receive("r", 1, "{0,1}") + "  q = f32[4] multiply(r, r)\n" +
                             send("s", "q", 2, "{1,0}") + kEnd;
  CHECK(verdict(run(kDouble + there + back + sum, second, true)) == "valid");
  CHECK(verdict(run(kDouble + back + there + sum, second, true)) == "invalid deadlock");
  // The order is not that of execution: only what is computed from what is certain.
  CHECK(verdict(run(kDouble + there + back + sum, second, false)) == "valid");
  CHECK(verdict(run(kDouble + back + there + sum, second, false)) == "unknown");
  const std::string circle = kDouble + back + send("s", "b", 1, "{0,1}") + sum;
  CHECK(verdict(run(circle, second, false)) == "invalid deadlock");
  // Control dependencies are an order, too.
  const std::string after_back =
      kDouble + back + replaced(there, "channel_id=1,", "channel_id=1, control-predecessors={%b},");
  CHECK(verdict(run(after_back + sum, second, false)) == "invalid deadlock");
  CHECK_THROWS_WITH_AS(
      decide(run(kDouble +
                     replaced(there, "channel_id=1,", "channel_id=1, control-predecessors={b},") +
                     back + sum,
                 second, false)),
      doctest::Contains("no instruction 'b' before this one"), InputError);
  // All that a permutation connects wait for each other.
  const auto permuted = [](const std::string& earlier, const std::string& later) {
    return program(std::string(kX) + earlier +
                       "  p = f32[4] collective-permute(x), channel_id=7, "
                       "source_target_pairs={{0,1},{1,2},{2,0}}\n" +
                       later + "  ROOT y = f32[4] negate(p)\n",
                   3);
  };
  const auto ring = [&](const std::string& sent, const std::string& received) {
    return Run{std::string(kX) + "  ROOT y = f32[4] negate(x)\n",
               {{"0", permuted(sent, "")}, {"1", permuted("", "")}, {"2", permuted("", received)}},
               "\"0\":{\"after\":0,\"relation\":\"replicated\"}",
               "\"0\":{\"after\":0,\"relation\":\"replicated\"}",
               3};
  };
  const std::string to_last = send("s", "x", 9, "{0,2}");
  CHECK(verdict(ring("", "")) == "valid");
  CHECK(verdict(ring(to_last, receive("r", 9, "{0,2}"))) == "invalid deadlock");
  // A send waits for its receive: two messages in crossed order.
  const auto two = [&](const std::string& receives) {
    return Run{
        std::string(kX) + "  d = f32[4] add(x, x)\n  ROOT y = f32[4] add(x, d)\n",
        {{"0", program(kDouble + send("s", "x", 1, "{0,1}") + send("t", "d", 2, "{0,1}") + kEnd)},
         {"1", program(receives + "  ROOT y = f32[4] add(a, b)\n")}},
        "\"0\":{\"after\":{\"0\":0},\"relation\":\"replicated\"}",
        "\"0\":{\"after\":{\"1\":0},\"relation\":\"replicated\"}"};
  };
  CHECK(verdict(two(receive("a", 1, "{0,1}") + receive("b", 2, "{0,1}"))) == "valid");
  CHECK(verdict(two(receive("b", 2, "{0,1}") + receive("a", 1, "{0,1}"))) == "invalid deadlock");
  CHECK(verdict(two(start_receive("b", 2, "{0,1}") + receive("a", 1, "{0,1}") +
                    finish_receive("b", 2))) == "valid");
  const ModuleDecision decision = decide(two(receive("b", 2, "{0,1}") + receive("a", 1, "{0,1}")));
  CHECK(
      decision.violation->explanation ==
      "Devices wait for each other: send s of device 0 (0.hlo:16) waits for recv a.start of device "
      "1 (1.hlo:17), which waits for send t of device 0 (0.hlo:18), which waits for the first.");
}

TEST_CASE("what nobody sends to a device is arbitrary") {
  const auto run = [](const std::string& list, const std::string& rest, const std::string& held) {
    return Run{std::string(kX) + "  ROOT y = f32[4] copy(x)\n",
               {{"0-1", program(std::string(kX) + send("s", "x", 1, list) + kEnd, 2)},
                {"2-3", program(receive("r", 1, list) + rest, 2)}},
               "\"0\":{\"after\":{\"0-1\":0},\"relation\":\"replicated\"}",
               "\"0\":{\"after\":{\"2-3\":0},\"relation\":" + held + "}",
               4};
  };
  const std::string copy = "  ROOT y = f32[4] copy(r)\n";
  const std::string root =
      "  ROOT y = f32[4] collective-broadcast(r), channel_id=7, replica_groups={{0,1}}\n";
  CHECK(verdict(run("{0,2},{1,3}", copy, "\"replicated\"")) == "valid");
  CHECK(verdict(run("{0,2}", copy, "\"replicated\"")) != "valid");
  CHECK(verdict(run("{0,2}", copy, "{\"device\":2}")) == "valid");
  CHECK(verdict(run("{0,2}", copy, "{\"device\":3}")) != "valid");
  CHECK(verdict(run("{0,2}", root, "\"replicated\"")) == "valid");
  CHECK(verdict(run("{0,3}", root, "\"replicated\"")) != "valid");
  // Nor is it the same on two devices, or zero.
  const std::string none = "  n = f32[4] subtract(r, r)\n  ROOT y = f32[4] add(r, n)\n";
  CHECK(verdict(run("{0,2}", none, "\"replicated\"")) != "valid");
}

TEST_CASE("ids are those of a program's own devices, or of all, as its header counts them") {
  const auto run = [](const std::string& text) {
    return Run{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] copy(x)\n",
               {{"0-1", program(kEnd, 2)}, {"2-3", text}},
               "\"0\":{\"after\":{\"2-3\":0},\"relation\":{\"boxes\":["
               "{\"device\":2,\"of\":[[0,2]],\"at\":[[0,2]]},"
               "{\"device\":3,\"of\":[[2,4]],\"at\":[[0,2]]}]}}",
               "\"0\":{\"after\":{\"2-3\":0},\"relation\":\"replicated\"}",
               4};
  };
  const std::string gather =
      "  x = f32[2] parameter(0)\n  ROOT y = f32[4] all-gather(x), "
      "channel_id=1, use_global_device_ids=true, dimensions={0}, ";
  CHECK(verdict(run(program(gather + "replica_groups={{0,1}}\n", 2))) == "valid");
  CHECK(verdict(run(program(gather + "replica_groups={{1,0}}\n", 2))) == "invalid value");
  CHECK(verdict(run(program(gather + "replica_groups={{2,3}}\n", 2))) == "invalid groups");
  CHECK(verdict(run(program(gather + "replica_groups={{0,1},{2,3}}\n", 4))) == "valid");
  CHECK(verdict(run(program(gather + "replica_groups={{0,1},{3,2}}\n", 4))) == "invalid value");
  CHECK_THROWS_AS(verdict(run(program(gather + "replica_groups={{0,1}}\n", 3))), InputError);
  // The same by the number of the partition.
  const auto placed = [](const std::string& number) {
    return "  x = f32[2] parameter(0)\n  zero = f32[] constant(0)\n  z = f32[8] broadcast(zero), "
           "dimensions={}\n  id = u32[] partition-id()\n  two = u32[] constant(2)\n  at = u32[] "
           "multiply(id, two)\n  w = f32[8] dynamic-update-slice(z, x, at)\n  all = f32[8] "
           "all-reduce(w), channel_id=1, use_global_device_ids=true, to_apply=add, "
           "replica_groups=" +
           number;
  };
  const std::string low = "  ROOT y = f32[4] slice(all), slice={[0:4]}\n";
  const std::string high = "  ROOT y = f32[4] slice(all), slice={[4:8]}\n";
  CHECK(verdict(run(program(placed("{{0,1}}\n") + low, 2))) == "valid");
  CHECK(verdict(run(program(placed("{{0,1}}\n") + high, 2))) == "invalid value");
  CHECK(verdict(run(program(placed("{{0,1},{2,3}}\n") + high, 4))) == "valid");
  CHECK(verdict(run(program(placed("{{0,1},{2,3}}\n") + low, 4))) == "invalid value");
}

/// Two ranks with a program each, which add their halves of a sum.
Run two_ranks(const std::string& first, const std::string& second) {
  return {"  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  ROOT z = f32[4] add(x, y)\n",
          {{"0", first}, {"1", second}},
          "\"0\":{\"after\":{\"0\":0},\"relation\":\"replicated\"},"
          "\"1\":{\"after\":{\"1\":0},\"relation\":\"replicated\"}",
          "\"0\":{\"after\":0,\"relation\":\"replicated\"}"};
}

TEST_CASE("a collective may span programs: it is one by its channel") {
  const auto rank = [](int channel, const std::string& groups, const std::string& reducer = "add") {
    return program(std::string(kX) +
                       fmt::format("  ROOT y = f32[4] all-reduce(x), channel_id={}, "
                                   "use_global_device_ids=true, replica_groups={}, to_apply={}\n",
                                   channel, groups, reducer),
                   2);
  };
  CHECK(verdict(two_ranks(rank(1, "{{0,1}}"), rank(1, "{{0,1}}"))) == "valid");
  CHECK(verdict(two_ranks(rank(1, "{{0,1}}", "max"), rank(1, "{{0,1}}", "max"))) ==
        "invalid value");
  CHECK(verdict(two_ranks(rank(1, "{{0,1}}"), rank(1, "{{0,1}}", "max"))) == "invalid operands");
  CHECK(verdict(two_ranks(rank(1, "{{0,1}}"), rank(2, "{{0,1}}"))) == "invalid unmatched");
  CHECK(verdict(two_ranks(rank(1, "{{0,1}}"), rank(1, "{{1,0}}"))) == "invalid groups");
  CHECK(verdict(two_ranks(rank(1, "{{0,1}}"), rank(1, "{{0},{1}}"))) == "invalid groups");
  CHECK(verdict(two_ranks(rank(1, "{{0},{1}}"), rank(1, "{{0},{1}}"))) == "invalid value");
  const std::string none = program(std::string(kX) +
                                   "  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, "
                                   "to_apply=add\n");
  const auto replicas = [&] { return replaced(none, "num_partitions=1", "replica_count=2"); };
  CHECK(verdict(two_ranks(replicas(), replicas())) == "unknown");
  const std::string copy = program(std::string(kX) + "  ROOT y = f32[4] copy(x)\n", 2);
  CHECK(verdict(two_ranks(rank(1, "{{0,1}}"), copy)) == "invalid unmatched");
}

TEST_CASE("what a program sends is its own value, whatever others have") {
  // Ranks 0 and 1 add up; the one sends its own input, the other the sum.
  const std::string sum =
      "  a = f32[4] all-reduce(x), channel_id=1, use_global_device_ids=true, "
      "replica_groups={{0,1},{2},{3}}, to_apply=add\n";
  const auto run = [&](const std::string& first, const std::string& second) {
    return Run{
        "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  s = f32[4] add(x, y)\n  "
        "ROOT t = (f32[4], f32[4]) tuple(x, s)\n",
        {{"0", program(kX + sum + send("s", first, 2, "{0,2},{1,3}") + kEnd, 4)},
         {"1", program(kX + sum + send("s", second, 2, "{0,2},{1,3}") + kEnd, 4)},
         {"2-3", program(receive("r", 2, "{0,2},{1,3}") + "  ROOT y = f32[4] copy(r)\n", 2)}},
        "\"0\":{\"after\":{\"0\":0},\"relation\":\"replicated\"},"
        "\"1\":{\"after\":{\"1\":0},\"relation\":\"replicated\"}",
        "\"0\":{\"after\":{\"2\":0},\"relation\":\"replicated\"},"
        "\"1\":{\"after\":{\"3\":0},\"relation\":\"replicated\"}",
        4};
  };
  CHECK(verdict(run("x", "a")) == "valid");
  CHECK(verdict(run("a", "a")) == "invalid value");
  CHECK(verdict(run("x", "x")) == "invalid value");
}

TEST_CASE("collectives that span programs are executed in the order of each text") {
  const auto rank = [](const std::string& a, const std::string& b, bool scheduled) {
    const std::string sum = ", use_global_device_ids=true, replica_groups={{0,1}}, to_apply=add\n";
    return program(std::string(kX) + "  n = f32[4] negate(x)\n  a = f32[4] all-reduce(x), " + a +
                       sum + "  b = f32[4] all-reduce(n), " + b + sum +
                       "  ROOT y = f32[4] subtract(a, b)\n",
                   2, scheduled);
  };
  Run run = two_ranks(rank("channel_id=1", "channel_id=2", true),
                      rank("channel_id=1", "channel_id=2", true));
  run.before =
      "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  s = f32[4] add(x, y)\n  ROOT z = "
      "f32[4] add(s, s)\n";
  CHECK(verdict(run) == "valid");
  run.programs[1].second = rank("channel_id=2", "channel_id=1", true);
  CHECK(verdict(run) == "invalid deadlock");
  run.programs[0].second = rank("channel_id=1", "channel_id=2", false);
  run.programs[1].second = rank("channel_id=2", "channel_id=1", false);
  CHECK(verdict(run) == "unknown");
}

TEST_CASE("what linked programs may not have is not understood") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const std::string second = receive("r", 1, "{0,1}");
  const auto with = [&](const std::string& more) {
    return verdict(two_stages(first, second + more));
  };
  CHECK(with("  c = f32[4] constant({...})\n  ROOT y = f32[4] multiply(r, c)\n") == "unknown");
  CHECK(with("  ROOT y = f32[4] custom-call(r), custom_call_target=\"Foo\"\n") == "unknown");
  CHECK(with("  ROOT y = f32[4] custom-call(r), custom_call_target=\"Foo\", "
             "custom_call_has_side_effect=true\n") == "unknown");
  // Two messages from one device to another on one channel: which is which?
  const std::string twice =
      kDouble + send("s", "d", 1, "{0,1}") + send("t", "x", 1, "{0,1}") + kEnd;
  CHECK(verdict(two_stages(twice, receive("r", 1, "{0,1}") + receive("q", 1, "{0,1}") + kSquare)) ==
        "unknown");
  const std::string host = replaced(first, "send(d, token), channel_id=1",
                                    "send(d, token), channel_id=1, is_host_transfer=true");
  CHECK(verdict(two_stages(host, second + kSquare)) == "unknown");
  // Opcodes of linked programs cannot be written.
  CHECK_THROWS_AS(with("  ROOT y = f32[4] matched receive(r)\n"), InputError);
  CHECK_THROWS_AS(with("  ROOT y = f32[4] value of each program(r)\n"), InputError);
  // A context is for its done alone.
  CHECK(with("  ROOT y = f32[4] get-tuple-element(r.start), index=0\n") == "invalid operands");
  CHECK(with("  again = (f32[4], token[]) recv-done(r.start), channel_id=1\n" + kSquare) ==
        "invalid operands");
  // In a loop it would be many messages.
  const std::string loop = replaced(
      program(""), "ENTRY main {\n  token = token[] after-all()\n}\n",
      "body {\n  s = (s32[], f32[4]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  v "
      "= "
      "f32[4] get-tuple-element(s), index=1\n  token = token[] after-all()\n" +
          send("s1", "v", 1, "{0,1}") +
          "  one = s32[] constant(1)\n  n = s32[] add(i, one)\n  ROOT t = (s32[], f32[4]) tuple(n, "
          "v)\n}\ncondition {\n  s = (s32[], f32[4]) parameter(0)\n  i = s32[] "
          "get-tuple-element(s), index=0\n  one = s32[] constant(1)\n  ROOT p = pred[] compare(i, "
          "one), direction=LT\n}\nENTRY main {\n  x = f32[4] parameter(0)\n  d = f32[4] add(x, "
          "x)\n  zero = s32[] constant(0)\n  t = (s32[], f32[4]) tuple(zero, d)\n  w = (s32[], "
          "f32[4]) while(t), condition=condition, body=body\n  ROOT end = () tuple()\n}\n");
  Run run = two_stages(first, second + kSquare);
  run.programs[0].second = loop;
  CHECK(verdict(run) == "unknown");
}

TEST_CASE("every tensor of every device is related, once") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const std::string second = receive("r", 1, "{0,1}") + kSquare;
  const auto refused = [&](const std::string& inputs, const std::string& outputs) {
    Run run = two_stages(first, second);
    run.inputs = inputs;
    run.outputs = outputs;
    try {
      verdict(run);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string in = "\"0\":{\"after\":{\"0\":0},\"relation\":\"replicated\"}";
  const std::string out = "\"0\":{\"after\":{\"1\":0},\"relation\":\"replicated\"}";
  const auto says = [](const std::string& text, const std::string& what) {
    CAPTURE(text);
    return text.find(what) != std::string::npos;
  };
  CHECK(refused(in, out) == "accepted");
  CHECK(
      says(refused("\"0\":{\"after\":0,\"relation\":\"replicated\"}", out), "tensor of device 1"));
  CHECK(refused("\"0\":{\"after\":0,\"relation\":{\"device\":0}}", out) == "accepted");
  CHECK(refused("\"0\":{\"after\":0,\"relation\":{\"boxes\":[{\"device\":0,\"of\":[[0,4]],\"at\":"
                "[[0,4]]}]}}",
                out) == "accepted");
  CHECK(says(refused("\"0\":{\"after\":{\"0\":0},\"relation\":{\"device\":1}}", out), "device 1"));
  CHECK(says(refused(in, "\"0\":{\"after\":{\"0\":0},\"relation\":\"replicated\"}"), "device 0"));
  CHECK(says(refused("\"0\":{\"after\":{\"0,0\":0},\"relation\":\"replicated\"}", out), "0,0"));
  CHECK(says(refused("\"0\":{\"after\":{\"0-9\":0},\"relation\":\"replicated\"}", out), "0-9"));
  CHECK(says(refused("\"0\":{\"after\":{\"\":0},\"relation\":\"replicated\"}", out), "''"));
  const auto modules = [](const std::string& text) {
    try {
      program_files("r.json", "{\"devices\":4,\"modules\":{" + text + "}}");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(modules("\"0-2\":\"a\",\"3\":\"b\"") == "accepted");
  CHECK(modules("\"0,2\":\"a\",\"1,3\":\"b\"") == "accepted");
  CHECK(says(modules("\"0-2\":\"a\""), "device 3 has no module"));
  CHECK(says(modules("\"0-2\":\"a\",\"2-3\":\"b\""), "device 2 has two modules"));
  CHECK(says(modules("\"3-0\":\"a\""), "3-0"));
  CHECK(says(modules("\"0-4\":\"a\""), "0-4"));
}

TEST_CASE("one parameter of a program may be another tensor on every device") {
  const auto run = [](const std::string& inputs, const std::string& outputs) {
    return Run{
        "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  a = f32[4] add(x, x)\n  b = "
        "f32[4] add(y, y)\n  ROOT t = (f32[4], f32[4]) tuple(a, b)\n",
        {{"0-1", program(kDouble + "  ROOT r = f32[4] copy(d)\n", 2)}},
        inputs,
        outputs};
  };
  const auto on = [](int tensor, int device) {
    return fmt::format("\"{}\":{{\"after\":{{\"{}\":0}},\"relation\":\"replicated\"}}", tensor,
                       device);
  };
  CHECK(verdict(run(on(0, 0) + "," + on(1, 1), on(0, 0) + "," + on(1, 1))) == "valid");
  CHECK(verdict(run(on(0, 1) + "," + on(1, 0), on(0, 1) + "," + on(1, 0))) == "valid");
  CHECK(verdict(run(on(0, 1) + "," + on(1, 0), on(0, 0) + "," + on(1, 1))) == "invalid value");
}

TEST_CASE("padding of short shards is arbitrary in every program") {
  // Five elements: three on device 0, two and one that is arbitrary on device 1.
  const std::string boxes =
      "{\"boxes\":[{\"device\":0,\"of\":[[0,3]],\"at\":[[0,3]]},{\"device\":1,\"of\":[[3,5]],"
      "\"at\":[[0,2]]}]}";
  const auto run = [&](const std::string& rank0, const std::string& rank1) {
    return Run{
        "  x = f32[5] parameter(0)\n  zero = f32[] constant(0)\n  o = f32[] constant(1)\n  b = "
        "f32[5] broadcast(o), dimensions={}\n  ROOT s = f32[] dot(x, b), "
        "lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
        {{"0", program(rank0, 2)}, {"1", program(rank1, 2)}},
        "\"0\":{\"after\":0,\"relation\":" + boxes + "}",
        "\"0\":{\"after\":0,\"relation\":\"replicated\"}"};
  };
  const auto rank = [](int count) {
    return fmt::format(
        "  x = f32[3] parameter(0)\n  zero = f32[] constant(0)\n  v = f32[{0}] slice(x), "
        "slice={{[0:{0}]}}\n  s = f32[] reduce(v, zero), dimensions={{0}}, to_apply=add\n  ROOT r "
        "= "
        "f32[] all-reduce(s), channel_id=1, use_global_device_ids=true, "
        "replica_groups={{{{0,1}}}}, "
        "to_apply=add\n",
        count);
  };
  CHECK(verdict(run(rank(3), rank(2))) == "valid");
  CHECK(verdict(run(rank(3), rank(3))) != "valid");
  CHECK(verdict(run(rank(2), rank(2))) == "invalid value");
}

std::string reduced_verdict(const std::string& before, const std::string& after,
                            const std::string& input, const std::string& output, int devices = 2) {
  ComparisonOptions options;
  options.relation = fmt::format(
      "{{\"format\":\"p2-relation/1\",\"devices\":{},\"mesh\":{{\"d\":{}}},\"inputs\":{{\"0\":{{"
      "\"after\":0,\"relation\":{}}}}},\"outputs\":{{\"0\":{{\"after\":0,\"relation\":{}}}}}}}",
      devices, devices, input, output);
  options.relation_file = "relation.json";
  options.engine = ModuleEngine::All;
  const std::string first = "HloModule single\nENTRY main {\n" + before + "}\n";
  const std::string second = program(after, devices);
  const std::string all = summary(compared(first, second, options));
  options.engine = ModuleEngine::Symbolic;
  if (summary(compared(first, second, options)) == "valid") CHECK(all == "valid");
  return all;
}

TEST_CASE("a whole may be the reduction over the devices that hold an element") {
  // Elements 0 to 3 on device 0, 2 to 5 on device 1: 2 and 3 are sums of both.
  const auto boxes = [](const std::string& reduction) {
    return "{\"boxes\":[{\"device\":0,\"of\":[[0,4]],\"at\":[[0,4]]},{\"device\":1,\"of\":[[2,6]],"
           "\"at\":[[0,4]]}],\"" +
           reduction + "\":true}";
  };
  const std::string x = "  x = f32[6] parameter(0)\n";
  const std::string own = "  x = f32[4] parameter(0)\n";
  const std::string twice = "  ROOT y = f32[6] add(x, x)\n";
  const std::string own_twice = "  ROOT y = f32[4] add(x, x)\n";
  CHECK(reduced_verdict(x + twice, own + own_twice, boxes("sum"), boxes("sum")) == "valid");
  CHECK(reduced_verdict(x + twice, own + own_twice, boxes("sum"), boxes("max")) != "valid");
  CHECK(reduced_verdict(x + "  ROOT y = f32[6] multiply(x, x)\n",
                        own + "  ROOT y = f32[4] multiply(x, x)\n", boxes("sum"),
                        boxes("sum")) == "invalid value");
  CHECK(reduced_verdict(x + "  ROOT y = f32[6] multiply(x, x)\n",
                        own + "  ROOT y = f32[4] multiply(x, x)\n", boxes("product"),
                        boxes("product")) == "valid");
  CHECK(reduced_verdict(x + "  ROOT y = f32[6] copy(x)\n", own + "  ROOT y = f32[4] copy(x)\n",
                        boxes("max"), boxes("max")) == "valid");
  CHECK(reduced_verdict(x + "  ROOT y = f32[6] copy(x)\n", own + "  ROOT y = f32[4] copy(x)\n",
                        boxes("min"), boxes("max")) != "valid");
  // The sum on every device needs both parts where there are two.
  const auto gathered = [&](const std::string& reducer) {
    return own +
           "  zero = f32[] constant(0)\n  a = f32[6] pad(x, zero), padding=0_2\n  b = f32[6] "
           "pad(x, "
           "zero), padding=2_0\n  id = u32[] partition-id()\n  first = u32[] constant(0)\n  p = "
           "pred[] compare(id, first), direction=EQ\n  m = pred[6] broadcast(p), dimensions={}\n  "
           "w "
           "= f32[6] select(m, a, b)\n  ROOT y = f32[6] all-reduce(w), channel_id=1, "
           "use_global_device_ids=true, replica_groups={{0,1}}, to_apply=" +
           reducer + "\n";
  };
  const std::string copy = x + "  ROOT y = f32[6] copy(x)\n";
  CHECK(reduced_verdict(copy, gathered("add"), boxes("sum"), "\"replicated\"") == "valid");
  CHECK(reduced_verdict(copy, gathered("max"), boxes("sum"), "\"replicated\"") == "invalid value");
  CHECK(reduced_verdict(copy, gathered("add"), boxes("max"), "\"replicated\"") != "valid");
  // Without a reduction what both hold is equal: then the sum is wrong.
  const std::string same =
      "{\"boxes\":[{\"device\":0,\"of\":[[0,4]],\"at\":[[0,4]]},{\"device\":1,\"of\":[[2,6]],"
      "\"at\":[[0,4]]}]}";
  CHECK(reduced_verdict(copy, gathered("add"), same, "\"replicated\"") == "invalid value");
  // p2-check does not know such a relation.
  ComparisonOptions options;
  options.relation = fmt::format(
      "{{\"format\":\"p2-relation/"
      "1\",\"devices\":2,\"inputs\":{{\"0\":{{\"after\":0,\"relation\":{0}}}"
      "}},\"outputs\":{{\"0\":{{\"after\":0,\"relation\":{0}}}}}}}",
      boxes("sum"));
  const std::string first = "HloModule single\nENTRY main {\n" + x + twice + "}\n";
  const std::string second = program(own + own_twice, 2);
  const ModuleDecision decision = compared(first, second, options);
  CHECK(summary(decision) == "valid");
  CHECK(std::get<std::string>(module_certificate({first, second}, decision, {})) ==
        "p2-check does not know this relation");
  // What one device holds twice, or none, is no relation.
  const auto refused = [&](const std::string& list) {
    CHECK_THROWS_AS(reduced_verdict(copy, gathered("add"),
                                    "{\"boxes\":[" + list + "],\"sum\":true}", "\"replicated\""),
                    InputError);
  };
  refused(
      "{\"device\":0,\"of\":[[0,2]],\"at\":[[0,2]]},{\"device\":0,\"of\":[[1,3]],\"at\":[[2,4]]},"
      "{\"device\":1,\"of\":[[2,6]],\"at\":[[0,4]]}");
  refused(
      "{\"device\":0,\"of\":[[0,2]],\"at\":[[0,2]]},{\"device\":1,\"of\":[[3,6]],\"at\":[[0,3]]}");
  CHECK_THROWS_AS(reduced_verdict(copy, gathered("add"), "{\"sum\":true}", "\"replicated\""),
                  InputError);
  CHECK_THROWS_AS(reduced_verdict(copy, gathered("add"), replaced(boxes("sum"), "true", "false"),
                                  "\"replicated\""),
                  InputError);
}

}  // namespace
}  // namespace p2::hlo
