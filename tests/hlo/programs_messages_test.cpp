// Messages and collectives between programs, and shares of sums: what p2-check understands of them,
// and refuses.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/hlo/several_programs.h"

namespace p2::hlo::several {
namespace {

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

}  // namespace
}  // namespace p2::hlo::several
