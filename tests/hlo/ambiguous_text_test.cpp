// Texts that XLA's parser takes for another module than a hasty reader does: white space, comments,
// strings. (Each was read by jaxlib's parser.) Neither the engines nor p2-check may take them for
// what they are not.

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proofs/kernel/xla/module.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

std::string with_lines(const std::string& lines) {
  return "HloModule m, num_partitions=2\n\nENTRY e {\n  p = f32[4] parameter(0)\n" + lines + "}\n";
}

/// Neither is known to be equal.
bool is_taken_for_equal(const std::string& before, const std::string& after) {
  if (is_certified(before, after)) return true;
  try {
    return compared(before, after).outcome == Outcome::Established;
  } catch (const InputError&) {
    return false;
  }
}

TEST_CASE("what follows an attribute is the next instruction, with or without white space") {
  const std::string sum = with_lines("  ROOT a = f32[4] add(p, p)\n");
  for (const char* follows : {" ROOT %b = f32[4] negate(%a)", "ROOT%b=f32[4]negate(%a)",
                              "\tROOT\t%b\t=\tf32[4] negate(a)", "\rROOT %b = f32[4] negate(%a)",
                              "%b=f32[4]negate(%a)"}) {
    CAPTURE(std::string(follows));
    for (const char* value :
         {"metadata={op_name=\"x\"}", "origin={{\"x\"}}", "execution_thread=\"x\"",
          "schedule_config={}", "is_composite=true"}) {
      CAPTURE(std::string(value));
      CHECK_FALSE(is_taken_for_equal(
          sum, with_lines("  a = f32[4] add(p, p), " + std::string(value) + follows + "\n")));
    }
  }
  CHECK_FALSE(is_taken_for_equal(
      sum, with_lines("  a = f32[4] add(p, p)\n  ROOT%b = f32[4] negate(%a)\n")));
}

TEST_CASE("elements of tuples are named behind these, in both readers alike") {
  const auto named = [](const std::string& first, const std::string& second) {
    return with_lines(
        "  q = f32[4] parameter(1)\n  u = (f32[4], f32[4]) tuple(q, p)\n"
        "  t = (f32[4], (f32[4], f32[4])) tuple(p, u)\n  ROOT r = f32[4] subtract(" +
        first + ", " + second + ")\n");
  };
  const std::string plain = named("q", "p");
  for (const auto& [first, second] :
       {std::pair("%t#1#0", "%t#0"), std::pair("f32[4] %u#0", "/*index=1*/t#1#1"),
        std::pair("u#00", "%t#1#1")}) {
    CHECK(is_certified(plain, named(first, second)));
    CHECK(compared(plain, named(first, second)).outcome == Outcome::Established);
  }
  for (const auto& [first, second] :
       {std::pair("%t#0", "%t#1#0"), std::pair("%t#1#0", "%t#1#0"), std::pair("u#1", "u#0"),
        std::pair("u#2", "p"), std::pair("q#0", "p"), std::pair("u#", "p"), std::pair("#0", "p"),
        std::pair("t#1", "p"), std::pair("u#0x0", "p"), std::pair("u#+0", "p"),
        std::pair("u#0#0", "p"), std::pair("u#4294967296", "p"),
        std::pair("u#18446744073709551616", "p")}) {
    CAPTURE(std::string(first));
    CHECK_FALSE(is_taken_for_equal(plain, named(first, second)));
  }
}

TEST_CASE("comments end where XLA ends them, and are none in strings") {
  const std::string sum = with_lines("  ROOT a = f32[4] add(p, p)\n");
  const char* const others[] = {
      "  %a = f32[4] add(%p, %p)\n  // x\r ROOT %b = f32[4] negate(%a)\n",
      "  %a = f32[4] add(%p, %p) , metadata={op_name=\"x\"} /*\n"
      "  ROOT %r = f32[4] multiply(%a, %p) /* */\n  ROOT %b = f32[4] negate(%a)\n"};
  for (const char* other : others) {
    CAPTURE(std::string(other));
    CHECK_FALSE(is_taken_for_equal(sum, with_lines(other)));
  }
  const auto reversed = [](const std::string& dimensions) {
    return "HloModule m, num_partitions=2\nENTRY e {\n  p = f32[4,4] parameter(0)\n"
           "  ROOT r = f32[4,4] reverse(p), dimensions={" +
           dimensions + "\n}\n";
  };
  CHECK_FALSE(is_taken_for_equal(reversed("0,1}"), reversed("0} // 1")));
  CHECK_FALSE(is_taken_for_equal(reversed("0,1}"), reversed("0} /* ,1 */")));
  const auto called = [](const std::string& target) {
    return with_lines("  ROOT c = f32[4] custom-call(p), custom_call_target=\"" + target + "\"\n");
  };
  CHECK(is_taken_for_equal(called("f"), called("f")));
  CHECK_FALSE(is_taken_for_equal(called("f/*1*/g"), called("f/*2*/g")));
  CHECK_FALSE(is_taken_for_equal(called("f//1"), called("f//2")));
  const auto second = [](const std::string& first, const std::string& other) {
    return "HloModule m, num_partitions=2\n" + first + "{\n  p = f32[4] parameter(0)\n" +
           "  ROOT a = f32[4] add(p, p)\n}\n" + other + "{\n  p = f32[4] parameter(0)\n" +
           "  ROOT a = f32[4] negate(p)\n}\n";
  };
  CHECK(is_taken_for_equal(second("ENTRY e ", "f "), sum));
  CHECK_FALSE(is_taken_for_equal(second("/* ENTRY */ e ", "ENTRY\n f "), sum));
  CHECK_FALSE(is_taken_for_equal(second("/*\nENTRY e {\n}\n*/\ne ", "ENTRY f "), sum));
}

TEST_CASE("usual comments, tables and line ends are read") {
  const std::string sum = with_lines("  ROOT a = f32[4] add(p, p)\n");
  const std::string same[] = {
      "HloModule m, num_partitions=2\n\nFileNames\n1 \"a b//c.py\"\n\nFunctionNames\n1 "
      "\"<module>\"\n"
      "\nFileLocations\n1 {file_name_id=1 function_name_id=1 line=3}\n\nStackFrames\n"
      "1 {file_location_id=1}\n\n\n%e (p: f32[4]) -> f32[4] {\n  %p = f32[4]{0} parameter(0)\n"
      "  ROOT %n = f32[4]{0} add(%p, %p)\n}, execution_thread=\"main\"\n\n"
      "ENTRY %main (p: f32[4]) -> f32[4] {\n  %p = f32[4]{0} parameter(0)\n"
      "  // a comment\n  ROOT %r = f32[4]{0} call(/*index=0*/%p), to_apply=%e, "
      "metadata={op_name=\"a/*b*/ c\" source_file=\"/x//y\"}\n}\n",
      "HloModule m, num_partitions=2\r\n\r\nENTRY e {\r\n  p = f32[4] parameter(0)\r\n"
      "  ROOT a = f32[4] add(p, p)\r\n}\r\n"};
  for (const std::string& text : same) {
    CAPTURE(text);
    CHECK(compared(sum, text).outcome == Outcome::Established);
    CHECK(is_certified(sum, text));
  }
}

TEST_CASE("groups by a mesh are read, with what stands behind a space") {
  const auto summed = [](const std::string& groups) {
    return "HloModule m, num_partitions=2\nadd {\n  a = f32[] parameter(0)\n  b = f32[] "
           "parameter(1)\n  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  p = f32[4] parameter(0)\n"
           "  ROOT r = f32[4] all-reduce(p), channel_id=1, replica_groups=" +
           groups + ", use_global_device_ids=true, to_apply=add\n}\n";
  };
  const std::string both = summed("{{0,1}}");
  for (const char* groups : {"mesh['a'=2,'b'=1] {'a'}", "mesh['a'=1,'b'=2] {'a','b'}",
                             "mesh['a'=2,'b'=1], device_ids=([2,1]T(1,0)) {'a'}", "[1,2]<=[2]"}) {
    CAPTURE(std::string(groups));
    CHECK(is_certified(both, summed(groups)));
  }
  CHECK_FALSE(is_taken_for_equal(both, summed("mesh['a'=2,'b'=1] {'b'}")));
}

TEST_CASE("an entry of a list is what stands under its name, wherever else the name stands") {
  const auto manual = [](const std::string& meshes, const std::string& before_shardings) {
    return "HloModule whole, num_partitions=4, frontend_attributes={" + meshes +
           "}\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
           "  ROOT s = f32[] add(a, b)\n}\n\nENTRY main {\n  x = f32[4,6] parameter(0)\n"
           "  m = f32[2,6] custom-call(x), custom_call_target=\"xla.sdy.GlobalToLocalShape\", "
           "frontend_attributes={" +
           before_shardings +
           "xla.sdy.in_shardings=\"#sdy.sharding_per_value<[<@mesh, [{\\\"a\\\"}, {}]>]>\","
           "xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"a\\\", \\\"b\\\"}>\"}\n"
           "  r = f32[2,6] all-reduce(m), replica_groups={{0,1},{2,3}}, channel_id=1, "
           "use_global_device_ids=true, to_apply=add\n"
           "  ROOT g = f32[4,6] custom-call(r), custom_call_target=\"xla.sdy.LocalToGlobalShape\", "
           "frontend_attributes={xla.sdy.out_shardings=\"#sdy.sharding_per_value<[<@mesh, "
           "[{\\\"a\\\"}, {}]>]>\",xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"a\\\", "
           "\\\"b\\\"}>\"}\n}\n";
  };
  // Devices 0 and 1 have the first rows, the sum over which is twice these.
  const std::string right = "xla.sdy.meshes={mesh = #sdy.mesh<[\"a\"=2, \"b\"=2]>}";
  const std::string twice =
      "HloModule after, num_partitions=4\n\nENTRY main {\n  x = f32[4,6] parameter(0)\n"
      "  ROOT r = f32[4,6] add(x, x)\n}\n";
  const std::string sum_of_rows =
      "HloModule after, num_partitions=4\n\nENTRY main {\n  x = f32[4,6] parameter(0)\n"
      "  a = f32[2,6] slice(x), slice={[0:2],[0:6]}\n  b = f32[2,6] slice(x), slice={[2:4],[0:6]}\n"
      "  s = f32[2,6] add(a, b)\n  ROOT c = f32[4,6] concatenate(s, s), dimensions={0}\n}\n";
  const auto on_four_devices = [](const std::string& before, const std::string& after) {
    const std::string held = R"({"after":0,"relation":{"dims":[[],[]]}})";
    const std::string relation =
        R"({"format":"p2-relation/1","devices":4,"mesh":{"u":4},"inputs":{"0":)" + held +
        R"(},"outputs":{"0":)" + held + "}}";
    const Devices devices{1, 4};
    const ModuleRelation read =
        read_relation("relation.json", relation, *module_of(before), *module_of(after), devices);
    ModuleDecision decision;
    decision.outcome = Outcome::Established;
    decision.devices = devices;
    decision.relation = std::make_shared<const ModuleRelation>(read);
    return std::holds_alternative<CertificateFiles>(
        module_certificate({before, after}, decision, {}));
  };
  CHECK(on_four_devices(manual(right, ""), twice));
  CHECK_FALSE(on_four_devices(manual(right, ""), sum_of_rows));
  const std::string decoys[] = {
      "xla.sdy.meshes={xmesh = #sdy.mesh<[\"b\"=2, \"a\"=2]>, mesh = #sdy.mesh<[\"a\"=2, "
      "\"b\"=2]>}",
      "aa=\"{mesh = #sdy.mesh<[\\\"b\\\"=2, \\\"a\\\"=2]>}\", xla.sdy.meshes=\"{mesh=#sdy.mesh<["
      "\\\"a\\\"=2, \\\"b\\\"=2]>}\""};
  for (const std::string& decoy : decoys) {
    CAPTURE(decoy);
    CHECK_FALSE(on_four_devices(manual(decoy, ""), sum_of_rows));
  }
  CHECK_FALSE(on_four_devices(
      manual(right, "aa=\"xla.sdy.in_shardings=sharding_per_value<[<@mesh, [{\\\"b\\\"}]>]>\","),
      sum_of_rows));
}

TEST_CASE("a constant without elements is that of its name only where no other has it") {
  const std::string before =
      "HloModule a, num_partitions=2\nf {\n  c = f32[4] constant({...})\n  q = f32[4] "
      "parameter(0)\n  ROOT b = f32[4] subtract(q, c)\n}\nENTRY e {\n  p = f32[4] parameter(0)\n"
      "  c = f32[4] constant({...})\n  s = f32[4] multiply(p, c)\n"
      "  ROOT r = f32[4] fusion(s), kind=kLoop, calls=f\n}\n";
  const std::string after = with_lines(
      "  c = f32[4] constant({...})\n  s = f32[4] multiply(p, c)\n  ROOT r = f32[4] subtract(s, "
      "c)\n");
  CHECK(common_elided_constants(before, after).empty());
  CHECK(common_elided_constants(after, after).size() == 1);
}

TEST_CASE("a constant of which some elements are shown is none that is of its name") {
  const auto module = [](const std::string& elements) {
    return with_lines("  c = f32[4] constant({" + elements +
                      "})\n"
                      "  ROOT r = f32[4] multiply(p, c)\n");
  };
  const auto certificate = [&](const std::string& before, const std::string& after) {
    const std::string problem =
        R"({"before":)" + nlohmann::json(module(before)).dump() + R"(,"after":)" +
        nlohmann::json(module(after)).dump() +
        R"(,"replicas":1,"partitions":2,"relation":{"kind":"devices"},"constants":["c"]})";
    return relation_evidence({{"problem.json", problem}}, {}).index() == 0;
  };
  CHECK(certificate("...", "..."));
  CHECK_FALSE(certificate("1, 2, ...", "3, 4, ..."));
  CHECK_FALSE(certificate("...", "1, ..."));
  CHECK_THROWS_AS(module_of(module("1, 2, ...")), InputError);
}

TEST_CASE("computations that differ in where their arrays lie are not the same") {
  const auto applied = [](const std::string& layout) {
    return "HloModule a, num_partitions=2\nc {\n  q = f32[2,3]{" + layout +
           "} parameter(0)\n  ROOT b = f32[3,2]{1,0} bitcast(q)\n}\nENTRY e {\n"
           "  p = f32[2,3] parameter(0)\n  ROOT r = f32[3,2] custom-call(p), "
           "custom_call_target=\"apply\", called_computations={c}\n}\n";
  };
  CHECK(is_taken_for_equal(applied("1,0"), applied("1,0")));
  CHECK_FALSE(is_taken_for_equal(applied("1,0"), applied("0,1")));
}

/// What p2-check reads of an instruction, in words.
std::string words_of(const kernel::xla::Instruction& each) {
  std::string text = fmt::format("{} = {} {} {} [{}] of {}:", each.name, each.opcode,
                                 each.shape.type.name, fmt::join(each.shape.sizes, "x"),
                                 fmt::join(each.shape.layout, ","), fmt::join(each.operands, " "));
  for (const auto& tile : each.shape.tiles) text += fmt::format(" T({})", fmt::join(tile, ","));
  for (const auto& part : each.shape.parts) text += fmt::format(" part {}", part.type.name);
  for (const auto& [key, value] : each.attributes) text += fmt::format(", {}={}", key, value);
  return text + each.text;
}

/// A line is read again only if no other is written like it but for names and operands, which have
/// no types.
TEST_CASE("lines that are written alike are read as each alone") {
  const auto module = [](bool has_types) {
    const auto with_types = [&](const std::string& type, const std::string& name) {
      return has_types ? type + " " + name : name;
    };
    std::string lines = "  %t = (f32[4,8], f32[4,8]) parameter(1)\n";
    std::string last = "p";
    int count = 0;
    const auto add = [&](const std::string& shape, const std::string& opcode,
                         const std::vector<std::string>& operands, const std::string& after) {
      std::string list;
      for (const std::string& each : operands)
        list += (list.empty() ? "" : ", ") + with_types("f32[4]{0}", each);
      last = fmt::format("v.{}", count++);
      lines += fmt::format("  {} = {} {}({}){}\n", last, shape, opcode, list, after);
    };
    for (int k = 0; k < 3; ++k) {
      const std::string before = last;
      add("f32[4]{0}", "add", {before, "%p"}, "");
      add("f32[4]{0}", "add", {"p", "p"}, fmt::format(", metadata={{op_name=\"a{}, b={{\"}}", k));
      add("f32[4]{0}", "add", {"p"},
          fmt::format(", metadata={{x={}}}, sharding={{replicated}}", k));
      add("f32[4]{0}", "add", {"p"},
          fmt::format(", sharding={{replicated}}, metadata={{x={}}}", k));
      add("f32[4]{0}", "custom-call", {before},
          fmt::format(", custom_call_target=\"f, metadata={{{}}}\", api_version=1", k));
      add("f32[4]{0}", "custom-call", {before},
          fmt::format(", custom_call_target=\"f\", dims=(x{}, metadata={{{}}})", k, k));
      add("f32[4,8]{1,0:T(8,128)}", "negate", {before}, "");
      add("f32[4,8]{1,0:T(8,128)}", "negate", {"p"}, "");
      add("f32[4,8]{1,0:T(4,128)}", "negate", {"p"}, "");
      add("()", "tuple", {}, "");
      add("()", "custom-call", {before}, ", custom_call_target=\"f\"");
      add("(token, token)", "custom-call", {before}, ", custom_call_target=\"f\"");
      add("token[]", "after-all", {}, "");
      add("s32[]", "constant", {std::to_string(k)}, "");
      add("f32[4,8]{1,0}", "copy", {fmt::format("t#{}", k % 2)}, "");
    }
    return kernel::xla::read_module(with_lines(lines), "a module");
  };
  const auto plain = module(false);
  const auto typed = module(true);
  const auto& first = plain.main().instructions;
  const auto& second = typed.main().instructions;
  REQUIRE(first.size() == second.size());
  std::map<std::uint32_t, std::string> kinds;
  std::size_t alike = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    CAPTURE(i);
    CHECK((second[i].kind == 0 || second[i].operands.empty()));
    if (first[i].opcode != "constant") CHECK(words_of(first[i]) == words_of(second[i]));
    if (first[i].kind == 0) continue;
    kernel::xla::Instruction rest = first[i];
    rest.name.clear();
    rest.operands.clear();
    const auto known = kinds.emplace(first[i].kind, words_of(rest));
    alike += known.second ? 0 : 1;
    CHECK(known.first->second == words_of(rest));
  }
  CHECK(alike >= 10);
}

}  // namespace
}  // namespace p2::hlo
