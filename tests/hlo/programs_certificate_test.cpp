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

#include "proofs/kernel/xla/related_programs.h"
#include "tests/hlo/several_programs.h"

namespace p2::hlo::several {
namespace {

TEST_CASE("what a device receives is what its peer sends, and nothing else") {
  const std::string first = kDouble + send("s", "d", 1, "{0,1}") + kEnd;
  const std::string second = receive("r", 1, "{0,1}") + kSquare;
  CHECK(answer(two_stages(first, second)) == "accepted");
  CHECK(answer(two_stages(kDouble + send("s", "x", 1, "{0,1}") + kEnd, second)) ==
        "output 0 is not related, beginning with multiply y");
  CHECK(answer(two_stages(first, receive("r", 1, "{0,1}") + "  ROOT y = f32[4] add(r, r)\n")) ==
        "output 0 is not related, beginning with add y");
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
  CHECK(stages("{0,1}", {1, 2}) == "output 0 is not related, beginning with multiply y");
  CHECK(stages("{0,2}", {1}) == "output 0 is not related, beginning with multiply y");
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

TEST_CASE("two arrays that are cut alike come to where each is sent") {
  const std::string half = "f32[2]", all = "{0,2},{1,3}", crossed = "{0,3},{1,2}";
  const auto product = [&](const std::string& first, const std::string& second) {
    return answer(
        {kX + "  n = f32[4] negate(x)\n  d = f32[4] add(x, x)\n"
              "  ROOT y = f32[4] multiply(n, d)\n",
         {{{{0, 1}},
           program("  x = f32[2] parameter(0)\n  n = f32[2] negate(x)\n"
                   "  d = f32[2] add(x, x)\n" +
                       send("s", "n", 1, first, half) + send("t", "d", 2, second, half) + kEnd,
                   2)},
          {{{2, 3}},
           program(receive("r", 1, first, half) + receive("q", 2, second, half) +
                       "  ROOT y = f32[2] multiply(r, q)\n",
                   2)}},
         {{{0, 1}, {{0, 0}}, true}},
         {{{2, 3}, {{1, 0}}, true}},
         4});
  };
  CHECK(product(all, all) == "accepted");
  CHECK(product(all, crossed) != "accepted");
  CHECK(product(crossed, all) != "accepted");
  CHECK(product(crossed, crossed) != "accepted");
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

TEST_CASE("collectives that follow each other wait for all members, each where it stands") {
  // Devices 0 and 1 run one program. What device 1 receives is sent after what device 0 sends.
  const auto all = [](const std::string& name, const std::string& of,
                      const std::string& groups = "{0,1}") {
    return "  " + name + " = f32[4] all-reduce(" + of + "), channel_id=9, replica_groups={" +
           groups + "}, use_global_device_ids=true, to_apply=max\n";
  };
  const std::string pairs = "{2,0},{3,1}", out = send("s", "x", 2, "{0,2}");
  const std::string begin = start_receive("r", 1, pairs), end = finish_receive("r", 1);
  const auto program_of_two = [&](const std::string& steps) {
    return answer({kX + "  ROOT y = f32[4] add(x, x)\n",
                   {{{{0, 1}}, program(kX + steps + "  ROOT y = f32[4] add(n, r)\n", 2)},
                    {{{2, 2}},
                     program(kX + send("s", "x", 1, pairs) + receive("q", 2, "{0,2}") +
                             send("t", "x", 3, "{2,3}") + "  ROOT y = f32[4] add(x, q)\n")},
                    {{{3, 3}},
                     program(kX + receive("t", 3, "{2,3}") + send("s", "x", 1, pairs) +
                             "  ROOT y = f32[4] add(x, t)\n")}},
                   {{{0, 1, 2, 3}, {{0, 0}, {1, 0}, {2, 0}}}},
                   {{{0, 1, 2, 3}, {{0, 0}, {1, 0}, {2, 0}}}},
                   4});
  };
  const std::string first = all("m", "x"), second = all("n", "m");
  const std::string forever = "devices wait for each other forever";
  CHECK(program_of_two(first + second + begin + end + out) == "accepted");
  CHECK(program_of_two(first + begin + end + out + second) == "accepted");
  CHECK(program_of_two(begin + first + second + out + end) == "accepted");
  CHECK(program_of_two(begin + first + out + second + end) == "accepted");
  CHECK(program_of_two(first + begin + end + second + out) == forever);
  CHECK(program_of_two(begin + first + end + second + out) == forever);
  CHECK(program_of_two(begin + end + first + second + out) == forever);
  const std::string alone = all("m", "x", "{0},{1}");
  CHECK(program_of_two(alone + second + begin + end + out) == "accepted");
  CHECK(program_of_two(alone + begin + end + out + second) == "accepted");
  CHECK(program_of_two(begin + end + alone + second + out) == forever);
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
