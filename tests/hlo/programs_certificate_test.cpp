// Certificates of several programs: wrong programs have none, and no altered one is accepted that
// is false.

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "proofs/kernel/xla/related_programs.h"
#include "tests/hlo/modules.h"

namespace p2::hlo::several {
namespace {

using Json = nlohmann::ordered_json;
using kernel::Verdict;

/// Whole arrays f32[4] on these devices, of the programs' inputs or outputs of this number.
struct Held {
  std::vector<int> devices;
  std::vector<std::pair<int, int>> numbers;  ///< program, number
  bool is_cut = false;                       ///< in as many pieces as devices
  bool is_sum = false;                       ///< in as many parts as devices
};

struct Programs {
  std::string before;
  std::vector<std::pair<Json, std::string>> programs;  ///< ranges of devices, text
  std::vector<Held> inputs, outputs;
  int devices = 2;
};

constexpr const char* kReducers =
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
    "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, "
    "b)\n}\n";

std::string program(const std::string& entry, int partitions = 1) {
  return fmt::format("HloModule stage, num_partitions={}, is_scheduled=true\n", partitions) +
         kReducers + "ENTRY main {\n  token = token[] after-all()\n" + entry + "}\n";
}

std::string single(const std::string& entry) {
  return std::string("HloModule single\n") + kReducers + "ENTRY main {\n" + entry + "}\n";
}

std::string problem(const Programs& programs) {
  Json json = {{"before", single(programs.before)},
               {"devices", programs.devices},
               {"programs", Json::array()},
               {"placements", Json::array()}};
  for (const auto& [devices, text] : programs.programs)
    json["programs"].push_back({{"devices", devices}, {"module", text}});
  for (const bool of_inputs : {true, false}) {
    Json& list = json[of_inputs ? "inputs" : "outputs"] = Json::array();
    for (const Held& held : of_inputs ? programs.inputs : programs.outputs) {
      const int count = static_cast<int>(held.devices.size());
      Json pieces = Json::array();
      for (int k = 0; k < count; ++k) {
        const int size = held.is_cut ? 4 / count : 4;
        pieces.push_back({held.devices[static_cast<std::size_t>(k)], held.is_sum ? k : 0,
                          held.is_cut ? k * size : 0, 0, size});
      }
      list.push_back({{"placement", json["placements"].size()}, {"numbers", held.numbers}});
      json["placements"].push_back({{"parts", held.is_sum ? count : 1},
                                    {"reducer", held.is_sum ? "add" : ""},
                                    {"pieces", std::move(pieces)}});
    }
  }
  return json.dump();
}

/// The certificate, or why there is none; no engine has looked at the programs.
std::variant<CertificateFiles, std::string> certified(const std::string& problem) {
  CertificateFiles files = {{"problem.json", problem}};
  auto evidence = programs_evidence(files);
  if (evidence.index() != 0) return std::get<1>(evidence);
  files["relation.json"] = std::get<0>(evidence);
  add_manifest("programs-equal", {}, files);
  const kernel::Result result = check_certificate(files);
  if (result.verdict != Verdict::Accepted) return result.reason;
  return files;
}

/// `accepted`, or why not.
std::string answer(const Programs& programs) {
  const auto made = certified(problem(programs));
  return made.index() == 0 ? "accepted" : std::get<1>(made);
}

std::string pairs(const std::string& list) {
  return ", frontend_attributes={_xla_send_recv_source_target_pairs={" + list + "}}";
}
std::string send(const std::string& name, const std::string& value, int channel,
                 const std::string& list, const std::string& shape = "f32[4]") {
  return fmt::format("  {0} = ({4}, u32[], token[]) send({1}, token), channel_id={2}{3}\n", name,
                     value, channel, pairs(list), shape) +
         fmt::format("  {0}.done = token[] send-done({0}), channel_id={1}\n", name, channel);
}
std::string start_receive(const std::string& name, int channel, const std::string& list,
                          const std::string& shape = "f32[4]") {
  return fmt::format("  {}.start = ({}, u32[], token[]) recv(token), channel_id={}{}\n", name,
                     shape, channel, pairs(list));
}
std::string finish_receive(const std::string& name, int channel,
                           const std::string& shape = "f32[4]") {
  return fmt::format("  {0}.done = ({2}, token[]) recv-done({0}.start), channel_id={1}\n", name,
                     channel, shape) +
         fmt::format("  {0} = {1} get-tuple-element({0}.done), index=0\n", name, shape);
}
std::string receive(const std::string& name, int channel, const std::string& list) {
  return start_receive(name, channel, list) + finish_receive(name, channel);
}

const std::string kX = "  x = f32[4] parameter(0)\n";
const std::string kEnd = "  ROOT end = () tuple()\n";
const Json kFirst = {{0, 0}};
const Json kSecond = {{1, 1}};

/// Device 0 doubles its input, device 1 squares what it receives.
Programs two_stages(const std::string& first, const std::string& second) {
  return {kX + "  d = f32[4] add(x, x)\n  ROOT y = f32[4] multiply(d, d)\n",
          {{kFirst, program(first)}, {kSecond, program(second)}},
          {{{0}, {{0, 0}}}},
          {{{1}, {{1, 0}}}}};
}
const std::string kDouble = kX + "  d = f32[4] add(x, x)\n";
const std::string kSquare = "  ROOT y = f32[4] multiply(r, r)\n";

TEST_CASE("what a device receives is what its peer sends, and nothing else") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const std::string second = receive("r", 1, "{0,1}") + kSquare;
  CHECK(answer(two_stages(first, second)) == "accepted");
  CHECK(answer(two_stages(kDouble + send("s", "x", 1, "{0,1}") + kEnd, second)) ==
        "output 0 is related up to multiply y");
  CHECK(answer(two_stages(first, receive("r", 1, "{0,1}") + "  ROOT y = f32[4] add(r, r)\n")) ==
        "output 0 is related up to add y");
  const std::string unmatched = "device 0 and device 1: a message without its counterpart";
  CHECK(answer(two_stages(first, receive("r", 2, "{0,1}") + kSquare)) == unmatched);
  CHECK(answer(two_stages(kDouble + kEnd, second)) == unmatched);
  // A receive from another device than the one that sends.
  CHECK(answer(two_stages(first, receive("r", 1, "{1,1}") + kSquare)) != "accepted");
  // Two arrays, of which each comes on a channel of its own.
  const auto two = [](int a, int b) {
    Programs programs = two_stages(
        kDouble + send("s", "x", 1, "{0,1}") + send("t", "d", 2, "{0,1}") + kEnd,
        receive("q", a, "{0,1}") + receive("r", b, "{0,1}") + "  ROOT y = f32[4] subtract(q, r)\n");
    programs.before = kX + "  d = f32[4] add(x, x)\n  ROOT y = f32[4] subtract(x, d)\n";
    return answer(programs);
  };
  CHECK(two(1, 2) == "accepted");
  CHECK(two(2, 1) != "accepted");
}

TEST_CASE("devices that are sent nothing hold nothing") {
  const auto stages = [](const std::string& sent, std::vector<int> holding) {
    return answer({kX + "  d = f32[4] add(x, x)\n  ROOT y = f32[4] multiply(d, d)\n",
                   {{kFirst, program(kDouble + send("s", "d", 1, sent) + kEnd)},
                    {{{1, 2}}, program(receive("r", 1, sent) + kSquare, 2)}},
                   {{{0}, {{0, 0}}}},
                   {{std::move(holding), {{1, 0}}}},
                   3});
  };
  CHECK(stages("{0,1}", {1}) == "accepted");
  CHECK(stages("{0,1}", {1, 2}) == "output 0 is related up to multiply y");
  CHECK(stages("{0,2}", {1}) == "output 0 is related up to multiply y");
  CHECK(stages("{0,1},{0,2}", {1, 2}) == "two messages of one device in one instruction");
  // A number has no dimension along which it could be absent.
  const std::string context = "(f32[], u32[], token[])";
  const auto scalars = [&](const std::string& sent, int devices) {
    Programs programs = {
        "  x = f32[] parameter(0)\n  ROOT y = f32[] negate(x)\n",
        {{{{0, 1}},
          program("  x = f32[] parameter(0)\n" + send("s", "x", 1, sent, "f32[]") + kEnd, 2)},
         {{{2, 3}},
          program(start_receive("r", 1, sent, "f32[]") + finish_receive("r", 1, "f32[]") +
                      "  ROOT y = f32[] negate(r)\n",
                  2)}},
        {{{0, 1}, {{0, 0}}}},
        {{{2, 3}, {{1, 0}}}},
        4};
    if (devices == 1) programs.outputs[0].devices = {2};
    Json json = Json::parse(problem(programs));
    for (auto& placement : json["placements"]) {
      for (auto& piece : placement["pieces"]) piece = {piece[0], 0};
    }
    const auto made = certified(json.dump());
    return made.index() == 0 ? "accepted" : std::get<1>(made);
  };
  CHECK(scalars("{0,2},{1,3}", 2) == "accepted");
  CHECK(scalars("{0,2}", 2) != "accepted");
  CHECK(scalars("{0,2}", 1) != "accepted");
}

TEST_CASE("pieces go where the pairs say") {
  const auto stages = [](const std::string& sent) {
    Programs programs = {
        kX + "  ROOT y = f32[4] negate(x)\n",
        {{{{0, 1}},
          program("  x = f32[2] parameter(0)\n" + send("s", "x", 1, sent, "f32[2]") + kEnd, 2)},
         {{{2, 3}},
          program(start_receive("r", 1, sent, "f32[2]") + finish_receive("r", 1, "f32[2]") +
                      "  ROOT y = f32[2] negate(r)\n",
                  2)}},
        {{{0, 1}, {{0, 0}}, true}},
        {{{2, 3}, {{1, 0}}, true}},
        4};
    return answer(programs);
  };
  CHECK(stages("{0,2},{1,3}") == "accepted");
  CHECK(stages("{0,3},{1,2}") != "accepted");
  CHECK(stages("{0,2},{0,3}") != "accepted");
  CHECK(stages("{0,2}") != "accepted");
}

TEST_CASE("what a device is not sent it does not have, though it is the same everywhere") {
  using kernel::xla::Fact;
  using kernel::xla::RelatedPrograms;
  /// Whether all devices have it, where that which is sent has the same elements all along.
  const auto is_everywhere = [](const std::string& sent) {
    const Programs programs = {
        kX + "  ROOT y = f32[4] negate(x)\n",
        {{{{0, 1}}, program(kX + send("s", "x", 1, sent) + kEnd, 2)},
         {{{2, 3}}, program(receive("r", 1, sent) + "  ROOT y = f32[4] negate(r)\n", 2)}},
        {{{0, 1}, {{0, 0}}}},
        {{{2, 3}, {{1, 0}}}},
        4};
    bool is_so = false;
    kernel::xla::with_related_programs(
        {{"problem.json", problem(programs)}}, [&](RelatedPrograms& related, const auto&) {
          std::size_t node = 0;
          while (related.origins({1, node}).empty()) ++node;
          auto& places = related.at(0).places();
          const Fact same{related.origins({1, node})[0].second,
                          related.whole().outputs[0],
                          {places.free(4, 4)},
                          {}};
          const auto fact = related.follows({1, node}, {{0, related.at(0).add(same)}}, {});
          is_so = fact && related.at(1).places().is_free(fact->places[0]);
        });
    return is_so;
  };
  CHECK(is_everywhere("{0,2},{1,3}"));
  CHECK(!is_everywhere("{0,2}"));
  CHECK(!is_everywhere("{0,3}"));
}

TEST_CASE("a program receives from two others what they have of one tensor") {
  const std::string half = "f32[2]", all = "{0,2},{1,3}", crossed = "{0,3},{1,2}";
  const auto gathered = [&](const std::string& sent, const std::string& first,
                            const std::string& second) {
    const auto sender = [&](const std::string& of) {
      return program("  x = f32[2] parameter(0)\n  n = f32[2] negate(x)\n" +
                     send("s", of, 1, sent, half) + kEnd);
    };
    return answer({kX + "  n = f32[4] negate(x)\n  ROOT y = f32[4] negate(n)\n",
                   {{kFirst, sender(first)},
                    {kSecond, sender(second)},
                    {{{2, 3}},
                     program(start_receive("r", 1, sent, half) + finish_receive("r", 1, half) +
                                 "  ROOT y = f32[2] negate(r)\n",
                             2)}},
                   {{{0, 1}, {{0, 0}, {1, 0}}, true}},
                   {{{2, 3}, {{2, 0}}, true}},
                   4});
  };
  CHECK(gathered(all, "n", "n") == "accepted");
  CHECK(gathered(crossed, "n", "n") != "accepted");
  CHECK(gathered(all, "n", "x") != "accepted");
  CHECK(gathered(all, "x", "n") != "accepted");
}

TEST_CASE("no device waits forever") {
  // Both send what they have, and add what they receive.
  const auto both = [](const std::string& first, const std::string& second) {
    return answer({kX + "  ROOT y = f32[4] add(x, x)\n",
                   {{kFirst, program(kX + first + "  ROOT y = f32[4] add(x, r)\n")},
                    {kSecond, program(kX + second + "  ROOT y = f32[4] add(x, r)\n")}},
                   {{{0, 1}, {{0, 0}, {1, 0}}}},
                   {{{0, 1}, {{0, 0}, {1, 0}}}}});
  };
  const auto sends = [](int device) {
    return send("s", "x", 1 + device, device == 0 ? "{0,1}" : "{1,0}");
  };
  const auto starts = [](int device) {
    return start_receive("r", 2 - device, device == 0 ? "{1,0}" : "{0,1}");
  };
  const auto ends = [](int device) { return finish_receive("r", 2 - device); };
  const std::string forever = "devices wait for each other forever";
  CHECK(both(starts(0) + sends(0) + ends(0), starts(1) + sends(1) + ends(1)) == "accepted");
  CHECK(both(sends(0) + starts(0) + ends(0), starts(1) + sends(1) + ends(1)) == "accepted");
  CHECK(both(sends(0) + starts(0) + ends(0), sends(1) + starts(1) + ends(1)) == forever);
  CHECK(both(starts(0) + ends(0) + sends(0), starts(1) + ends(1) + sends(1)) == forever);
  CHECK(both(starts(0) + ends(0) + sends(0), starts(1) + sends(1) + ends(1)) == "accepted");
  CHECK(both(starts(0) + ends(0) + sends(0), sends(1) + starts(1) + ends(1)) == "accepted");
  // A collective of both, and messages around it.
  const std::string all =
      "  m = f32[4] all-reduce(x), channel_id=9, replica_groups={{0,1}}, "
      "use_global_device_ids=true, to_apply=max\n";
  const auto ranks = [&](const std::string& first, const std::string& second) {
    return answer({kX + "  ROOT y = f32[4] add(x, x)\n",
                   {{kFirst, program(kX + first + "  ROOT y = f32[4] add(m, r)\n", 2)},
                    {kSecond, program(kX + second + "  ROOT y = f32[4] add(m, r)\n", 2)}},
                   {{{0, 1}, {{0, 0}, {1, 0}}}},
                   {{{0, 1}, {{0, 0}, {1, 0}}}}});
  };
  const auto whole = [&](int device) { return starts(device) + sends(device) + ends(device); };
  CHECK(ranks(all + whole(0), all + whole(1)) == "accepted");
  CHECK(ranks(starts(0) + all + sends(0) + ends(0), all + whole(1)) == "accepted");
  CHECK(ranks(all + whole(0), whole(1) + all) == forever);
  CHECK(ranks(starts(0) + ends(0) + all + sends(0), all + whole(1)) == forever);
}

TEST_CASE("every device runs one program, and every element of every output is held") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const Programs right = two_stages(first, receive("r", 1, "{0,1}") + kSquare);
  const auto altered = [&](const auto& alter) {
    Json json = Json::parse(problem(right));
    alter(json);
    const auto made = certified(json.dump());
    return made.index() == 0 ? "accepted" : std::get<1>(made);
  };
  CHECK(altered([](Json&) {}) == "accepted");
  CHECK(altered([](Json& json) {
          json["programs"][0]["devices"] = {{0, 1}};
        }) == "a program for another number of devices");
  CHECK(altered([](Json& json) { json["programs"][0]["devices"] = kSecond; }) ==
        "a device runs two programs");
  CHECK(altered([](Json& json) { json["devices"] = 3; }) == "a device runs no program");
  CHECK(altered([](Json& json) { json["devices"] = 1; }) != "accepted");
  CHECK(altered([](Json& json) { json["placements"][1]["pieces"] = Json::array(); }) ==
        "an element of a whole tensor is held by no device");
  CHECK(altered([](Json& json) { json["placements"][1]["pieces"][0][4] = 3; }) ==
        "an element of a whole tensor is held by no device");
  CHECK(altered([](Json& json) { json["placements"][1]["pieces"][0][0] = 0; }) ==
        "a piece on a device without the tensor");
  CHECK(altered([](Json& json) { json["outputs"][0]["numbers"] = Json::array(); }) != "accepted");
  CHECK(altered([](Json& json) { json["outputs"] = Json::array(); }) ==
        "an input or output is not related");
  CHECK(altered([](Json& json) { json["inputs"] = Json::array(); }) ==
        "an input or output is not related");
  CHECK(altered([](Json& json) {
          json["inputs"][0]["numbers"].push_back({0, 0});
        }) == "a tensor is related twice");
  CHECK(altered([](Json& json) {
          json["placements"][1]["parts"] = 2;
          json["placements"][1]["pieces"] = {{1, 0, 0, 0, 4}, {1, 1, 0, 0, 4}};
        }) == "parts of a tensor");
  CHECK(altered([](Json& json) { json["placements"][1]["parts"] = 0; }) == "parts of a tensor");
  CHECK(altered([](Json& json) { json["placements"][0]["pieces"][0][3] = 1; }) ==
        "a piece lies beyond its tensor");
  for (const Json& ranges :
       {Json{{0}}, Json{{0, 0, 0}}, Json{{1, 0}}, Json{{0, 0}, {0, 0}}, Json::array()})
    CHECK(altered([&](Json& json) { json["programs"][0]["devices"] = ranges; }) != "accepted");
  // Two inputs, or outputs, of which one is not there, or both are one.
  Programs two =
      two_stages(kX + "  ROOT y = f32[4] add(x, x)\n", kX + "  ROOT y = f32[4] copy(x)\n");
  two.before = kX + "  z = f32[4] parameter(1)\n  ROOT y = f32[4] add(x, z)\n";
  two.inputs = {{{0}, {{0, 0}}}, {{0}, {{0, 0}}}};
  two.outputs = {{{0}, {{0, 0}}}};
  CHECK(answer(two) == "a tensor is related twice");
  two.inputs = {{{0}, {{0, 0}}}, {{1}, {{1, 0}}}};
  two.before = kX +
               "  z = f32[4] parameter(1)\n  s = f32[4] add(x, x)\n"
               "  ROOT y = (f32[4], f32[4], f32[4]) tuple(s, z, x)\n";
  two.outputs = {{{0}, {{0, 0}}}, {{1}, {{1, 0}}}};
  CHECK(answer(two) == "an input or output is not related");
  two.before = replaced(two.before, "(f32[4], f32[4], f32[4]) tuple(s, z, x)",
                        "(f32[4], f32[4]) tuple(s, z)");
  CHECK(answer(two) == "accepted");
  for (const char* type : {"f32[4,1]", "bf16[4]"}) {
    Programs other = two;
    for (const char* text : {"f32[4] parameter(1)", "f32[4]) tuple"})
      other.before = replaced(other.before, text, type + std::string(text).substr(6));
    CHECK(answer(other) == (type[0] == 'b' ? "tensors of other types or dimensions are related"
                                           : "a piece of a tensor"));
  }
  // Facts that say nothing of the outputs, and those of other programs.
  auto files = std::get<0>(certified(problem(right)));
  for (const char* outputs : {"[[]]", "[]", "[[0]]", "[[1]]", "[[99]]", "[[2,2]]"}) {
    Json evidence = Json::parse(files.at("relation.json"));
    evidence["outputs"] = Json::parse(outputs);
    CertificateFiles forged = files;
    forged.erase("manifest.json");
    forged["relation.json"] = evidence.dump();
    add_manifest("programs-equal", {}, forged);
    const bool is_same = evidence["outputs"] == Json::parse("[[2,2]]");
    CHECK((check_certificate(forged).verdict == Verdict::Accepted) <= is_same);
  }
}

TEST_CASE("what p2-check does not understand of messages it does not accept") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const std::string second = receive("r", 1, "{0,1}") + kSquare;
  const auto changed = [&](const std::string& from, const std::string& to) {
    return answer(two_stages(replaced(first, from, to), replaced(second, from, to)));
  };
  CHECK(changed("channel_id=1,", "channel_id=1, is_host_transfer=true,") ==
        "not covered by this checker: a transfer with the host");
  CHECK(
      changed("frontend_attributes={", "frontend_attributes={_xla_send_recv_validation={{0,1}},") ==
      "not covered by this checker: messages with _xla_send_recv_validation");
  CHECK(changed("channel_id=1,", "channel_id=1, priority=2,") != "accepted");
  CHECK(changed(pairs("{0,1}"), "") ==
        "not covered by this checker: messages without pairs of devices");
  CHECK(changed("{0,1}", "{0,2}") == "a pair of a message");
  // A done of another channel, two of them, and a use of what is not received yet.
  CHECK(answer(two_stages(first, start_receive("r", 1, "{0,1}") + finish_receive("r", 2) +
                                     kSquare)) != "accepted");
  CHECK(
      answer(two_stages(first, receive("r", 1, "{0,1}") +
                                   "  more = (f32[4], token[]) recv-done(r.start), channel_id=1\n" +
                                   kSquare)) == "two recv-dones of one recv");
  CHECK(answer(two_stages(first, receive("q", 1, "{0,1}") +
                                     "  r = f32[4] get-tuple-element(q.start), index=0\n" +
                                     kSquare)) == "only a recv-done may use a recv");
  // Two messages of one pair of devices on one channel.
  CHECK(answer(two_stages(kDouble + send("s", "d", 1, "{0,1}") + send("t", "x", 1, "{0,1}") + kEnd,
                          receive("r", 1, "{0,1}") + receive("q", 1, "{0,1}") + kSquare)) ==
        "not covered by this checker: two messages of one pair of devices on one channel");
  // Another shape or layout.
  const auto received = [&](const std::string& shape) {
    return answer(two_stages(first, start_receive("q", 1, "{0,1}", shape) +
                                        finish_receive("q", 1, shape) +
                                        "  r = f32[4] reshape(q)\n" + kSquare));
  };
  CHECK(received("f32[4]") == "accepted");
  for (const char* shape : {"f32[2,2]", "bf16[4]", "f32[4]{0:T(2)}"})
    CHECK(received(shape) == "what is received has another shape than what is sent");
  // In a call, and against a control dependency.
  Programs inside = two_stages(first, second);
  inside.programs[1].second =
      replaced(program("  r = f32[4] call(token), to_apply=inside\n" + kSquare), "ENTRY",
               "inside {\n  token = token[] parameter(0)\n" + start_receive("q", 1, "{0,1}") +
                   replaced(finish_receive("q", 1), "  q =", "  ROOT q =") + "}\nENTRY");
  CHECK(answer(inside) == "not covered by this checker: recv inside of a loop or a call");
  CHECK(answer(two_stages(replaced(first, "add(x, x)", "add(x, x), control-predecessors={s}"),
                          second)) ==
        "not covered by this checker: a control dependency against the order of the text");
  CHECK(answer(two_stages(replaced(first, "add(x, x)", "add(x, x), control-predecessors={%x}"),
                          second)) == "accepted");
}

TEST_CASE("messages that are malformed, or of which a part is missing, are refused") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const std::string second = receive("r", 1, "{0,1}") + kSquare;
  CHECK(answer(two_stages(first, second)) == "accepted");
  const auto sent = [&](const std::string& from, const std::string& to) {
    return answer(two_stages(replaced(first, from, to), second));
  };
  const auto received = [&](const std::string& from, const std::string& to) {
    return answer(two_stages(first, replaced(second, from, to)));
  };
  const std::string shape = "the operands or the shape of a ";
  const std::string triple = "(f32[4], u32[], token[])";
  CHECK(sent("send(d, token)", "send(d)") == shape + "send");
  CHECK(sent(triple, "(f32[4], u32[])") == shape + "send");
  CHECK(sent(triple, "((f32[4]), u32[], token[])") == shape + "send");
  CHECK(sent(triple, "(f32[4], s32[], token[])") == shape + "send");
  CHECK(sent(triple, "(f32[4], u32[], u32[])") == shape + "send");
  CHECK(sent(triple, "(f32[5], u32[], token[])") ==
        "what is received has another shape than what is sent");
  CHECK(sent(kEnd, "  g = f32[4] get-tuple-element(s), index=0\n" + kEnd) ==
        "only a send-done may use a send");
  CHECK(received("recv-done(r.start)", "recv-done(t)") != "accepted");
  // Both send, and one ends what it sends as if it received it.
  CHECK(
      answer({kX + "  ROOT y = f32[4] copy(x)\n",
              {{kFirst, program(kX + start_receive("r", 1, "{1,0}") + send("s", "x", 1, "{0,1}") +
                                "  q.done = (f32[4], token[]) recv-done(s), channel_id=1\n"
                                "  ROOT y = f32[4] get-tuple-element(q.done), index=0\n")},
               {kSecond, program(kX + start_receive("r", 1, "{0,1}") + send("s", "x", 1, "{1,0}") +
                                 finish_receive("r", 1) + "  ROOT y = f32[4] copy(r)\n")}},
              {{{0, 1}, {{0, 0}, {1, 0}}}},
              {{{0, 1}, {{0, 0}, {1, 0}}}}}) == "only a send-done may use a send");
  CHECK(received("recv(token)", "recv(token, token)") == shape + "recv");
  CHECK(received(triple, "(f32[4], u32[])") == shape + "recv");
  CHECK(received("(f32[4], token[]) recv-done", "(f32[4], u32[]) recv-done") ==
        "the shape of a recv-done");
  CHECK(received("(f32[4], token[]) recv-done", "(f32[4]) recv-done") ==
        "the shape of a recv-done");
  CHECK(received("(f32[4], token[]) recv-done", "(f32[5], token[]) recv-done") ==
        "the shape of a recv-done");
  CHECK(received("recv-done(r.start)", "recv-done(token)") == "recv-done of another operation");
  CHECK(received("recv-done(r.start)", "recv-done(r.start, token)") == "the operands of recv-done");
  CHECK(sent("send-done(s)", "send-done(d)") == "send-done of another operation");
  CHECK(sent("send-done(s), channel_id=1", "send-done(s), channel_id=2") ==
        "send-done of another operation");
  const auto both = [&](const std::string& from, const std::string& to) {
    return answer(two_stages(replaced(first, from, to), replaced(second, from, to)));
  };
  CHECK(both("token), channel_id=1,", "token),") ==
        "not covered by this checker: a message without a channel");
  CHECK(both("token), channel_id=1,", "token), channel_id=1, priority=2,") ==
        "not covered by this checker: send[priority] in one of several programs");
  CHECK(both("{{0,1}}", "{{0,1,1}}") == "a pair of a message");
  CHECK(both("{{0,1}}", "{{0}}") == "a pair of a message");
  CHECK(both("{{0,1}}", "{{0,1},{2,1}}") == "a pair of a message");
  CHECK(both("{{0,1}}", "{{2,1}}") == "a pair of a message");
  // Arrays that lie in memory in another order.
  const auto laid_out = [](const std::string& there, const std::string& here) {
    Programs programs = two_stages(kX + "  d = f32[2,2]" + there + " reshape(x)\n" +
                                       send("s", "d", 1, "{0,1}", "f32[2,2]" + there) + kEnd,
                                   start_receive("q", 1, "{0,1}", "f32[2,2]" + here) +
                                       finish_receive("q", 1, "f32[2,2]" + here) +
                                       "  y = f32[4] reshape(q)\n  ROOT o = f32[4] copy(y)\n");
    programs.before = kX + "  ROOT y = f32[4] copy(x)\n";
    return answer(programs);
  };
  CHECK(laid_out("", "") == "accepted");
  CHECK(laid_out("{1,0}", "") == "accepted");
  CHECK(laid_out("{0,1}", "") == "what is received has another shape than what is sent");
  // Of programs, as many devices as there are.
  for (const char* count : {"0", "3", "1048577"}) {
    Programs programs = two_stages(first, second);
    programs.programs[0].second = replaced(programs.programs[0].second, "num_partitions=1",
                                           std::string("num_partitions=") + count);
    CHECK(answer(programs) != "accepted");
  }
}

/// Ranks have halves of x, and output its sum.
std::string ranks(const std::string& first, const std::string& second, bool is_sum = false) {
  const std::string begin =
      "  x = f32[2] parameter(0)\n  zero = f32[] constant(0)\n"
      "  p = f32[] reduce(x, zero), dimensions={0}, to_apply=add\n";
  Programs programs = {kX + "  zero = f32[] constant(0)\n"
                            "  ROOT s = f32[] reduce(x, zero), dimensions={0}, to_apply=add\n",
                       {{kFirst, program(begin + first, 2)}, {kSecond, program(begin + second, 2)}},
                       {{{0, 1}, {{0, 0}, {1, 0}}, true}},
                       {{{0, 1}, {{0, 0}, {1, 0}}, false, is_sum}}};
  Json json = Json::parse(problem(programs));
  for (auto& piece : json["placements"][1]["pieces"]) piece = {piece[0], piece[1]};
  const auto made = certified(json.dump());
  return made.index() == 0 ? "accepted" : std::get<1>(made);
}

TEST_CASE("collectives that span programs") {
  const auto sum = [](const std::string& of, const std::string& rest = "") {
    return "  s = f32[] all-reduce(" + of +
           "), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add\n" +
           rest;
  };
  const std::string root = "  ROOT y = f32[] copy(s)\n";
  const std::string right = sum("p") + root;
  CHECK(ranks(right, right) == "accepted");
  const std::string none = "  ROOT y = f32[] copy(p)\n";
  CHECK(ranks(none, none) != "accepted");
  CHECK(ranks(right, none) == "a collective without its counterpart");
  const auto both = [&](const std::string& from, const std::string& to) {
    return ranks(replaced(right, from, to), replaced(right, from, to));
  };
  CHECK(both("to_apply=add", "to_apply=max") != "accepted");
  CHECK(both("{{0,1}}", "{{0},{1}}") != "accepted");
  CHECK(both("all-reduce(p)", "all-reduce(zero)") != "accepted");
  CHECK(both("channel_id=1, ", "") != "accepted");
  CHECK(ranks(right, replaced(right, "to_apply=add", "to_apply=max")) != "accepted");
  CHECK(ranks(right, replaced(right, "{{0,1}}", "{{1,0}}")) ==
        "programs have a group of a collective differently");
  CHECK(ranks(right, replaced(right, "channel_id=1", "channel_id=2")) ==
        "a collective without its counterpart");
  // Begun by both, and ended.
  const auto begun = [&](const std::string& end) {
    return replaced(replaced(sum("p"), " s =", " b ="), "all-reduce(", "all-reduce-start(") +
           "  s = f32[] " + end + "\n" + root;
  };
  const std::string ended = begun("all-reduce-done(b)");
  CHECK(ranks(ended, ended) == "accepted");
  CHECK(ranks(ended, right) != "accepted");
  CHECK(ranks(ended, begun("all-gather-done(b)")) != "accepted");
  CHECK(ranks(ended, begun("all-reduce-done(p)")) == "all-reduce-done of another operation");
  // Both have it twice, or one of them for itself.
  CHECK(ranks(sum("p") + replaced(sum("s"), " s =", " t =") + root,
              sum("p") + replaced(sum("s"), " s =", " t =") + root) ==
        "not covered by this checker: several collectives of one channel");
  CHECK(ranks(right, replaced(right, "{{0,1}}", "{{0},{1}}")) ==
        "programs have a group of a collective differently");
  CHECK(ranks(right, replaced(right, "to_apply=add", "to_apply=max")) ==
        "not covered by this checker: a reducer of a collective that spans programs");
  CHECK(ranks(right, replaced(right, "to_apply=add", "to_apply=add, constrain_layout=true")) ==
        "a collective that programs have differently");
  const std::string narrow = "  h = bf16[] convert(p)\n" +
                             replaced(replaced(sum("h"), "f32[]", "bf16[]"), " s =", " n =") +
                             "  s = f32[] convert(n)\n" + root;
  CHECK(ranks(right, narrow) == "a collective that programs have differently");
  const std::string twice = sum("p") +
                            "  t = f32[] all-reduce(s), channel_id=2, "
                            "replica_groups={{0,1}}, use_global_device_ids=true, "
                            "to_apply=add\n  ROOT y = f32[] copy(t)\n";
  CHECK(ranks(twice, twice) != "accepted");
  const std::string half = "  q = f32[] add(p, p)\n";
  CHECK(ranks(right, half + replaced(right, "all-reduce(p)", "all-reduce(q)")) != "accepted");
  // What they hold in parts.
  CHECK(ranks(none, none, true) == "accepted");
  CHECK(ranks(right, right, true) != "accepted");
  CHECK(ranks(none, half + "  ROOT y = f32[] copy(q)\n", true) != "accepted");
}

TEST_CASE("a permutation of devices that run different programs") {
  // Both have a piece of x, and each outputs what it gets.
  const auto pieces = [](const std::string& first, const std::string& second, bool is_crossed) {
    const auto text = [](const std::string& permuted) {
      return program("  x = f32[2] parameter(0)\n  s = f32[2] collective-permute(x), channel_id=1" +
                         (permuted.empty() ? "" : ", source_target_pairs={" + permuted + "}") +
                         "\n  ROOT y = f32[2] negate(s)\n",
                     2);
    };
    Programs programs = {kX + "  ROOT y = f32[4] negate(x)\n",
                         {{kFirst, text(first)}, {kSecond, text(second)}},
                         {{{0, 1}, {{0, 0}, {1, 0}}, true}},
                         {{{0, 1}, {{0, 0}, {1, 0}}, true}}};
    if (is_crossed) programs.outputs[0].devices = {1, 0};
    return answer(programs);
  };
  const std::string swap = "{0,1},{1,0}";
  CHECK(pieces(swap, swap, true) == "accepted");
  CHECK(pieces(swap, swap, false) != "accepted");
  CHECK(pieces("{0,1}", "{0,1}", true) != "accepted");
  // One waits for what the other does not send.
  const std::string otherwise = "programs have the pairs of a collective differently";
  CHECK(pieces(swap, "{0,1}", true) == otherwise);
  CHECK(pieces("{0,1}", swap, true) == otherwise);
  CHECK(pieces("{0,1}", "{1,0}", true) == otherwise);
  CHECK(pieces("{0,0},{1,1}", "{0,0},{1,1}", false) == "accepted");
  CHECK(pieces("{0,0},{1,1}", "{0,0},{1,1}", true) != "accepted");
}

/// One device sums the rows of x in two parts.
std::string rows(const std::string& whole, const std::string& parts,
                 const std::string& shape = "f32[4]") {
  const auto sum = [](const std::string& name, const std::string& of) {
    return "  " + name + " = f32[4] reduce(" + of + ", zero), dimensions={0}, to_apply=add\n";
  };
  const std::string begin = "  x = f32[2,4] parameter(0)\n  zero = f32[] constant(0)\n";
  const std::string sliced =
      "  x1 = f32[1,4] slice(x), slice={[0:1], [0:4]}\n"
      "  x2 = f32[1,4] slice(x), slice={[1:2], [0:4]}\n";
  Json json = {{"before", single(begin + sum("s", "x") + whole)}, {"devices", 1}};
  json["programs"] = {
      {{"devices", {{0, 0}}},
       {"module", program(begin + sliced + sum("p", "x1") + sum("q", "x2") + parts)}}};
  json["placements"] = {{{"parts", 1}, {"reducer", ""}, {"pieces", {{0, 0, 0, 0, 0, 0, 2, 4}}}},
                        {{"parts", 1}, {"reducer", ""}, {"pieces", {{0, 0, 0, 0, 4}}}}};
  if (shape == "f32[4,4]") json["placements"][1]["pieces"] = {{0, 0, 0, 0, 0, 0, 4, 4}};
  json["inputs"] = {{{"placement", 0}, {"numbers", {{0, 0}}}}};
  json["outputs"] = {{{"placement", 1}, {"numbers", {{0, 0}}}}};
  const auto made = certified(json.dump());
  return made.index() == 0 ? "accepted" : std::get<1>(made);
}

TEST_CASE("sums of microbatches have every summand once") {
  const std::string copy = "  ROOT y = f32[4] copy(s)\n";
  const auto added = [](const std::string& a, const std::string& b) {
    return "  ROOT y = f32[4] add(" + a + ", " + b + ")\n";
  };
  CHECK(rows(copy, added("p", "q")) == "accepted");
  CHECK(rows(copy, added("q", "p")) == "accepted");
  CHECK(rows(copy, added("p", "p")) != "accepted");
  CHECK(rows(copy, "  ROOT y = f32[4] copy(p)\n") != "accepted");
  CHECK(rows(copy, "  t = f32[4] add(p, q)\n" + added("t", "p")) != "accepted");
  CHECK(rows(copy, "  ROOT y = f32[4] subtract(p, q)\n") != "accepted");
  CHECK(rows(copy, "  n = f32[4] negate(q)\n" + added("p", "n")) != "accepted");
  // Operations that commute with a sum, of both.
  const auto doubled = [&](const std::string& opcode, const std::string& of) {
    return "  a = f32[4] " + opcode + "(p, " + of + ")\n  b = f32[4] " + opcode + "(q, " + of +
           ")\n" + added("a", "b");
  };
  const std::string two = "  k = f32[] constant(3)\n  two = f32[4] broadcast(k), dimensions={}\n";
  const auto whole = [&](const std::string& opcode) {
    return two + "  ROOT y = f32[4] " + opcode + "(s, two)\n";
  };
  CHECK(rows(whole("multiply"), two + doubled("multiply", "two")) == "accepted");
  CHECK(rows(whole("divide"), two + doubled("divide", "two")) == "accepted");
  CHECK(rows(whole("multiply"), two + "  a = f32[4] multiply(p, two)\n" + added("a", "q")) !=
        "accepted");
  for (const char* opcode : {"add", "subtract", "maximum", "power"})
    CHECK(rows(whole(opcode), two + doubled(opcode, "two")) != "accepted");
  CHECK(rows("  ROOT y = f32[4] multiply(s, s)\n", doubled("multiply", "p")) != "accepted");
  CHECK(rows("  ROOT y = f32[4] exponential(s)\n",
             "  a = f32[4] exponential(p)\n  b = f32[4] exponential(q)\n" + added("a", "b")) !=
        "accepted");
  const std::string infinite = replaced(two, "constant(3)", "constant(inf)");
  CHECK(rows(infinite + "  ROOT y = f32[4] multiply(s, two)\n",
             infinite + doubled("multiply", "two")) != "accepted");
  // s sᵀ is p sᵀ + q sᵀ, and is not p sᵀ + s qᵀ.
  const auto outer = [](const std::string& name, const std::string& a, const std::string& b) {
    return "  " + name + " = f32[4,4] dot(" + a + ", " + b + ")\n";
  };
  const std::string sum = "  s = f32[4] add(p, q)\n";
  const std::string both = "  ROOT y = f32[4,4] add(a, b)\n";
  const std::string square = "  ROOT y = f32[4,4] dot(s, s)\n";
  const std::string shape = "f32[4,4]";
  CHECK(rows(square, sum + outer("a", "p", "s") + outer("b", "q", "s") + both, shape) ==
        "accepted");
  CHECK(rows(square, sum + outer("a", "s", "p") + outer("b", "s", "q") + both, shape) ==
        "accepted");
  CHECK(rows(square, sum + outer("a", "p", "s") + outer("b", "s", "q") + both, shape) !=
        "accepted");
  CHECK(rows(square, outer("a", "p", "p") + outer("b", "q", "q") + both, shape) != "accepted");
}

struct Counts {
  int accepted = 0, refused = 0;
};

/// What the engines find by execution.
Outcome executed(const Programs& programs) {
  const auto entries = [&](const std::vector<Held>& list) {
    std::string text;
    for (std::size_t k = 0; k < list.size(); ++k) {
      std::string boxes, numbers;
      const int count = static_cast<int>(list[k].devices.size());
      for (int i = 0; i < count; ++i) {
        const int size = list[k].is_cut ? 4 / count : 4;
        const int from = list[k].is_cut ? i * size : 0;
        boxes +=
            fmt::format("{}{{\"device\":{},\"of\":[[{},{}]],\"at\":[[0,{}]]}}", i == 0 ? "" : ",",
                        list[k].devices[static_cast<std::size_t>(i)], from, from + size, size);
      }
      for (const auto& [program, number] : list[k].numbers) {
        const Json& ranges = programs.programs[static_cast<std::size_t>(program)].first;
        numbers += fmt::format("{}\"{}-{}\":{}", numbers.empty() ? "" : ",",
                               ranges[0][0].get<int>(), ranges[0][1].get<int>(), number);
      }
      text += fmt::format("{}\"{}\":{{\"after\":{{{}}},\"relation\":{{\"boxes\":[{}]}}}}",
                          k == 0 ? "" : ",", k, numbers, boxes);
    }
    return text;
  };
  ComparisonOptions options;
  options.devices = {1, programs.devices};
  options.engine = ModuleEngine::Interpreter;
  options.relation = fmt::format(
      "{{\"format\":\"p2-relation/1\",\"devices\":{},\"inputs\":{{{}}},\"outputs\":{{{}}}}}",
      programs.devices, entries(programs.inputs), entries(programs.outputs));
  options.relation_file = "relation.json";
  std::vector<PlacedProgram> placed;
  for (const auto& [ranges, text] : programs.programs) {
    std::vector<std::uint32_t> devices;
    for (int each = ranges[0][0]; each <= ranges[0][1].get<int>(); ++each)
      devices.push_back(static_cast<std::uint32_t>(each));
    placed.push_back({devices, module_of(text)});
  }
  auto several = linked(placed, options.devices);
  if (auto* decision = std::get_if<ModuleDecision>(&several)) return decision->outcome;
  return compare(module_of(single(programs.before)),
                 std::get<std::shared_ptr<const Module>>(several), options, {})
      .outcome;
}

/// One place of a text is altered: a digit, a name, an operation, or a line that moves.
std::string altered(const std::string& text, std::mt19937& random) {
  const auto below = [&](std::size_t end) { return std::size_t{random()} % end; };
  static constexpr const char* kWords[] = {"add(", "subtract(", "multiply(", "negate(", "maximum("};
  std::string result = text;
  const std::size_t entry = result.find("ENTRY");
  if (below(3) == 0) {
    const std::string from = kWords[below(std::size(kWords))];
    const std::size_t at = result.find(from, entry);
    if (at != std::string::npos) return result.replace(at, from.size(), kWords[below(3)]);
  }
  if (below(4) == 0) {
    std::vector<std::size_t> lines;
    for (std::size_t at = entry; (at = result.find('\n', at + 1)) != std::string::npos;)
      lines.push_back(at);
    const std::size_t k = below(lines.size() - 2);
    const std::string line = result.substr(lines[k], lines[k + 1] - lines[k]);
    result.erase(lines[k], line.size());
    if (below(2) == 0) return result.insert(lines[0], line);
    return result.insert(
        result.rfind("\n}") == std::string::npos ? result.size() : result.rfind("\n}"), line);
  }
  std::vector<std::size_t> digits;
  for (std::size_t at = entry; at < result.size(); ++at) {
    if (std::string("0123456789srtqxd").find(result[at]) != std::string::npos) digits.push_back(at);
  }
  const std::size_t at = digits[below(digits.size())];
  result[at] = result[at] <= '9' ? static_cast<char>('0' + below(4)) : "srtqxd"[below(6)];
  return result;
}

TEST_CASE("no altered certificate of programs is accepted whose statement is false") {
  const std::string half = "f32[2]";
  const std::string both = "{0,2},{1,3}";
  const std::vector<Programs> right = {
      two_stages(kDouble + send("s", "d", 1, "{0,1}") + send("t", "x", 2, "{0,1}") + kEnd,
                 receive("r", 1, "{0,1}") + receive("q", 2, "{0,1}") +
                     "  d = f32[4] add(q, q)\n  ROOT y = f32[4] multiply(r, d)\n"),
      {kX + "  d = f32[4] add(x, x)\n  ROOT y = f32[4] subtract(d, x)\n",
       {{{{0, 1}},
         program("  x = f32[2] parameter(0)\n  d = f32[2] add(x, x)\n" +
                     send("s", "x", 1, both, half) + send("t", "d", 2, both, half) + kEnd,
                 2)},
        {{{2, 3}},
         program(start_receive("r", 1, both, half) + start_receive("q", 2, both, half) +
                     finish_receive("r", 1, half) + finish_receive("q", 2, half) +
                     "  ROOT y = f32[2] subtract(q, r)\n",
                 2)}},
       {{{0, 1}, {{0, 0}}, true}},
       {{{2, 3}, {{1, 0}}, true}},
       4}};
  std::vector<CertificateFiles> certificates;
  for (const Programs& each : right) {
    CHECK(executed(each) == Outcome::Established);
    certificates.push_back(std::get<0>(certified(problem(each))));
  }
  const char* const more = std::getenv("P2_RELATION_TIMES");
  const int times = 1500 * (more == nullptr ? 1 : std::stoi(more));
  Counts searched, forged, rewritten;
  for (int k = 0; k < times; ++k) {
    std::mt19937 random(static_cast<std::uint32_t>(k));
    const std::size_t which = random() % right.size();
    Programs programs = right[which];
    for (std::size_t changes = 1 + random() % 2; changes > 0; --changes) {
      auto& text = programs.programs[random() % programs.programs.size()].second;
      text = altered(text, random);
    }
    CAPTURE(problem(programs));
    const auto expect_true = [&](bool is_accepted, Counts& counts) {
      ++(is_accepted ? counts.accepted : counts.refused);
      if (!is_accepted) return;
      try {
        REQUIRE(executed(programs) != Outcome::Refuted);
      } catch (const Error&) {
        FAIL("p2-check reads what is no program");
      }
    };
    expect_true(certified(problem(programs)).index() == 0, searched);
    // With the old evidence.
    CertificateFiles files = certificates[which];
    files.erase("manifest.json");
    files["problem.json"] = problem(programs);
    add_manifest("programs-equal", {}, files);
    expect_true(check_certificate(files).verdict == Verdict::Accepted, forged);
    // Evidence that is altered proves no other statement.
    files = certificates[which];
    files.erase("manifest.json");
    Json evidence = Json::parse(files["relation.json"]);
    auto& line = evidence["facts"][random() % evidence["facts"].size()];
    line[random() % line.size()] = random() % 12;
    files["problem.json"] = problem(programs);
    files["relation.json"] = evidence.dump();
    add_manifest("programs-equal", {}, files);
    expect_true(check_certificate(files).verdict == Verdict::Accepted, rewritten);
  }
  MESSAGE(searched.accepted, " accepted, ", searched.refused, " refused; with old evidence ",
          forged.accepted, " and ", forged.refused, "; with altered evidence ", rewritten.accepted,
          " and ", rewritten.refused);
  CHECK(searched.accepted > 0);
  CHECK(searched.refused > searched.accepted);
}

}  // namespace
}  // namespace p2::hlo::several
