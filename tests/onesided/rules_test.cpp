#include <doctest/doctest.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "engine/onesided/text_plan.h"
#include "p2/error.h"
#include "tests/base/complaint.h"

namespace p2::onesided {
namespace {

std::string verdict(const std::string& text) {
  const PlanDecision decision = judge(read_text_plan("plan", text), "plan", {});
  if (decision.violation) return std::string(to_string(decision.violation->rule));
  return decision.open.empty() ? "valid" : decision.open;
}

/// An exchange of one cell between two ranks; `meet` stands before the put, `end` after it.
std::string exchange_plan(const std::string& meet, const std::string& end,
                          const std::string& declarations = "") {
  return "plan sendrecv ranks 2\ncounter c per peer\n" + declarations + "rank all:\n" + meet +
         "  put o@(1-r)[0] <- i[0]\n" + end;
}

constexpr const char* kMeet = "  signal c @1-r relaxed\n  wait c from 1-r relaxed\n";
constexpr const char* kEnd = "  signal c @1-r\n  wait c from 1-r\n";

}  // namespace

TEST_CASE("each rule has a plan that breaks it and a neighbour that does not") {
  CHECK(verdict(exchange_plan(kMeet, kEnd)) == "valid");
  CHECK(verdict(exchange_plan("", kEnd)) == "early-access");
  CHECK(verdict(exchange_plan(kMeet, "")) == "late-access");
  CHECK(verdict(exchange_plan(kMeet, "  signal c @1-r relaxed\n  wait c from 1-r relaxed\n")) ==
        "relaxed-order");
  CHECK(verdict(exchange_plan(kMeet, "  signal c @1-r relaxed\n  wait c from 1-r\n")) ==
        "relaxed-order");
  CHECK(verdict(exchange_plan(kMeet, "  signal c @1-r\n  wait c from 1-r relaxed\n")) ==
        "relaxed-order");
  CHECK(verdict(exchange_plan(
            kMeet, "  signal c @1-r\n  wait c from 1-r relaxed\n  fence acquire\n")) == "valid");
  CHECK(verdict(exchange_plan(
            kMeet, "  fence release\n  signal c @1-r relaxed\n  wait c from 1-r\n")) == "valid");
  CHECK(verdict(exchange_plan(kMeet,
                              "  fence release gpu\n  signal c @1-r relaxed\n"
                              "  wait c from 1-r\n")) == "relaxed-order");
  CHECK(verdict(exchange_plan(kMeet, "  signal c @1-r gpu\n  wait c from 1-r\n")) ==
        "relaxed-order");
  CHECK(verdict(exchange_plan(kMeet, kEnd, "threads\n")) == "missing-sync");
  CHECK(verdict(exchange_plan(kMeet + std::string("  sync\n"), "  sync\n" + std::string(kEnd),
                              "threads\n")) == "valid");
  CHECK(verdict(exchange_plan(kMeet, std::string(kEnd) + "  signal c @1-r\n")) == "signal-surplus");
  CHECK(verdict(exchange_plan(kMeet, std::string(kEnd) + "  wait c from 1-r\n")) ==
        "unmatched-wait");
  CHECK(verdict(exchange_plan("  wait c from 1-r\n  signal c @1-r\n", kEnd)) == "deadlock");
  CHECK(verdict(exchange_plan(kMeet, "  put o@(1-r)[0] <- i[0]\n" + std::string(kEnd))) == "valid");
}

TEST_CASE("two ranks that end with the input of one are no exchange") {
  CHECK(verdict("plan sendrecv ranks 2\ncounter c\nrank 0:\n  wait c relaxed\n  copy o[0] <- i[0]\n"
                "  put o@1[0] <- i[0]\n  signal c @1\n"
                "rank 1:\n  signal c @0 relaxed\n  wait c\n") == "wrong-result");
}

TEST_CASE("transfers of the proxy end with a flush or an answer") {
  const auto text = [](const std::string& end) {
    return "plan sendrecv ranks 2\ncounter c per peer\ncounter d per peer\nrank all:\n" +
           std::string(kMeet) +
           "  async put o@(1-r)[0] <- i[0]\n  async signal d @1-r\n  wait d from 1-r\n" + end;
  };
  CHECK(verdict(text("")) == "missing-flush");
  CHECK(verdict(text("  flush\n")) == "valid");
  CHECK(verdict(text("  signal c @1-r\n  wait c from 1-r\n")) == "valid");
}

TEST_CASE("packets carry their value only") {
  const auto text = [](const std::string& buffer, const std::string& body) {
    return "plan sendrecv ranks 2\n" + buffer + "rank all:\n" + body;
  };
  const std::string exchange_of_packets = "  put_packets s@(1-r)[0] <- i[0]\n  poll o[0] <- s[0]\n";
  CHECK(verdict(text("buffer s 1 packets double\n", exchange_of_packets)) == "valid");
  CHECK(verdict(text("buffer s 1 packets\n", exchange_of_packets)) == "scratch-reuse");
  CHECK(verdict(text("buffer s 2 packets double\n",
                     "  put_packets s@(1-r)[1] <- i[0]\n  poll o[0] <- s[0]\n")) ==
        "packet-never-written");
  CHECK(verdict(text("buffer s 1 packets double\n",
                     "  put_packets s@(1-r)[0] <- i[0]\n" + exchange_of_packets)) ==
        "packet-overwritten");
  // A packet does not make other memory visible.
  CHECK(verdict(text("buffer s 1 packets double\nbuffer t 1 double\n",
                     "  put t@(1-r)[0] <- i[0]\n  put_packets s@(1-r)[0] <- i[0]\n"
                     "  poll o[0] <- s[0]\n  copy o[0] <- t[0]\n")) == "data-race");
}

TEST_CASE("a store to a group that writes back its own source feeds nobody") {
  const auto plan = [](const std::string& first, const std::string& second) {
    const std::string ops = first + ",\n" + second;
    const auto gpu = [&](int id) {
      return R"({"id":)" + std::to_string(id) + R"(,"input_chunks":1,"output_chunks":2,)" +
             R"("scratch_chunks":2,"threadblocks":[{"id":0,"ops":[
{"name":"cpkt","src_buff":[{"type":"o","index":)" +
             std::to_string(id) + R"(,"size":1}],"dst_buff":[{"type":"s","index":)" +
             std::to_string(id) + R"(,"size":1}]}],"channels":[]},{"id":1,"ops":[)" +
             (id == 0 ? ops : second + ",\n" + first) +
             R"(],"channels":[{"channel_type":"switch","channel_ids":[0]}]}],)" +
             R"("channels":[{"channel_type":"switch","buffer_type":"s","rank_groups":)" +
             R"([{"size":2,"ranks":[0,1]}]}],"remote_buffers":[]})";
    };
    std::string text = R"({"name":"x","collective":"allgather","protocol":"LL","inplace":true,)"
                       R"("use_double_scratch_buffer":true,"gpus":[)" +
                       gpu(0) + "," + gpu(1) + "]}";
    // Each GPU stores its own packet and unpacks both.
    std::size_t at = 0;
    for (int id = 0; (at = text.find("gstorepkt", at)) != std::string::npos; ++id) {
      for (int i = 0; i < 2; ++i) {
        at = text.find("INDEX", at);
        text.replace(at, 5, std::to_string(id));
      }
    }
    return text;
  };
  const std::string store =
      R"({"name":"gstorepkt","src_buff":[{"type":"s","index":INDEX,"size":1}],)"
      R"("dst_buff":[{"switch_channel_id":0,"index":INDEX,"size":1}],"channel_type":"switch"})";
  const std::string unpack = R"({"name":"upkt","src_buff":[{"type":"s","index":0,"size":1}],)"
                             R"("dst_buff":[{"type":"o","index":0,"size":1}]})";
  const auto read = read_plan("plan.json", plan(store, unpack));
  const auto* const swapped = std::get_if<Plan>(&read);
  REQUIRE(swapped != nullptr);
  const PlanDecision decision = judge(*swapped, "plan.json", {});
  REQUIRE(decision.violation.has_value());
  // It is wrong, but nothing stops: the poll sees what cpkt wrote.
  CHECK(decision.violation->rule != Rule::Deadlock);
  CHECK(decision.violation->rule != Rule::PacketNeverWritten);
}

TEST_CASE("results are compared with the collective") {
  const auto text = [](const std::string& body) {
    return "plan allreduce ranks 2 inplace\nbuffer i 2\nbuffer s 2\ncounter c per peer\n"
           "rank all:\n  signal c @1-r relaxed\n  wait c from 1-r relaxed\n  put s@(1-r)[0..1] <- "
           "i[0..1]\n  signal c @1-r\n  wait c from 1-r\n" +
           body + "  signal c @1-r\n  wait c from 1-r\n";
  };
  CHECK(verdict(text("  reduce i[0..1] <- i[0..1] + s[0..1]\n")) == "valid");
  CHECK(verdict(text("  reduce i[0] <- i[0] + s[0]\n")) == "lost-contribution");
  CHECK(verdict(text("  reduce i[0..1] <- i[0..1] + s[0..1] + s[0..1]\n")) == "double-count");
  CHECK(verdict(text("  reduce i[0] <- i[0] + s[1]\n")) == "wrong-chunk");
  CHECK(verdict("plan allreduce ranks 1\nbuffer t 1\nrank 0:\n  copy o[0] <- t[0]\n") ==
        "missing-data");
  CHECK(verdict("plan allreduce ranks 1\nbuffer t 1\nrank 0:\n  copy o[0] <- t[0]\n"
                "  copy t[0] <- i[0]\n") == "missing-data");
  CHECK(verdict("plan test ranks 1\nrank 0:\n  copy o[0] <- i[0]\n") == "unknown-collective");
}

TEST_CASE("bounds, peers and barriers") {
  CHECK(verdict("plan allreduce ranks 1\nbuffer t 1\nrank 0:\n  copy t[1] <- i[0]\n") ==
        "out-of-bounds");
  CHECK(verdict("plan allreduce ranks 1\nbuffer t 2\nrank 0:\n  copy t[0..1] <- i[0]\n") ==
        "size-mismatch");
  CHECK(verdict("plan sendrecv ranks 2\nrank all:\n  put o@(r+1)[0] <- i[0]\n") == "no-peer");
  CHECK(verdict("plan allreduce ranks 1\nrank 0 block 0:\n  barrier 0..1\nrank 0 block 1:\n"
                "  copy o[0] <- i[0]\n") == "barrier-mismatch");
  CHECK(verdict("plan allreduce ranks 1\nbuffer t 1\nrank 0 block 0:\n  copy t[0] <- i[0]\n"
                "  barrier 0..1\nrank 0 block 1:\n  barrier 0..1\n  copy o[0] <- t[0]\n") ==
        "valid");
}

TEST_CASE("mistakes in a text are reported where they stand") {
  const auto complaint_of = [](const std::string& text) {
    return complaint([&] { judge(read_text_plan("plan", text), "plan", {}); });
  };
  CHECK(complaint_of("plan allreduce ranks 0\n").starts_with("plan:1:22: "));
  CHECK(complaint_of("plan allreduce ranks 2\nrank all:\n  copy o[0] <- q[0]\n")
            .starts_with("plan:3:16: unknown buffer q"));
  CHECK(complaint_of("plan allreduce ranks 2\nrank all:\n  signal c @1\n")
            .starts_with("plan:3:3: unknown counter c"));
  CHECK(complaint_of("plan allreduce ranks 2\nrank all:\n  frobnicate\n")
            .starts_with("plan:3:3: found 'frobnicate', expected a statement"));
  CHECK(complaint_of("plan allreduce ranks 2\nrank all:\n  copy o[launch] <- i[0]\n")
            .starts_with("plan:3:10: launch is used where every launch has to be the same"));
}

TEST_CASE("JSON without a field is refused, text that is no JSON is an input error") {
  const auto read = read_plan("plan.json", R"({"gpus":[],"inplace":true})");
  const auto* const violation = std::get_if<Violation>(&read);
  REQUIRE(violation != nullptr);
  CHECK(violation->rule == Rule::Malformed);
  CHECK_THROWS_AS(read_plan("plan.json", "{\"gpus\":"), InputError);
}

TEST_CASE("what is expected of a counter rises with what it gets, in every launch") {
  const auto text = [](const std::string& waits) {
    return "plan sendrecv ranks 2\ncounter c per peer\ncounter d per peer\nrank 0:\n"
           "  loop 10: signal c @1 relaxed\nrank all:\n  signal d @1-r relaxed\n"
           "  wait d from 1-r relaxed\n  put o@(1-r)[0] <- i[0]\n  signal d @1-r\n"
           "  wait d from 1-r\nrank 1:\n" +
           waits;
  };
  CHECK(verdict(text("  wait c from 0 >= 10*launch+10 relaxed\n")) == "valid");
  // Enough for nine launches.
  CHECK(verdict(text("  wait c from 0 >= 11*launch+1 relaxed\n")) == "unmatched-wait");
  // Two that rise differently would hide each other.
  CHECK(complaint([&] {
          verdict(text("  wait c from 0 >= 11*launch+1 relaxed\n  wait c from 0 >= 12 relaxed\n"));
        }).find("different multiples of launch") != std::string::npos);
  CHECK(complaint([&] {
          verdict(text("  wait c from 0 += 10 relaxed\n  wait c from 0 >= 10*launch relaxed\n"));
        }).find("different multiples of launch") != std::string::npos);
  CHECK(complaint([&] {
          verdict(text("  wait c from 0 >= 9-launch relaxed\n"));
        }).find("falls with the launch") != std::string::npos);
  // A wait for the same number in every launch proves nothing but for the first.
  CHECK(verdict(exchange_plan(kMeet, "  signal d @1-r\n  wait d from 1-r >= 1\n",
                              "counter d per peer\n")) == "signal-surplus");
  CHECK(verdict(exchange_plan(kMeet, "  signal d @1-r\n  wait d from 1-r >= launch+1\n",
                              "counter d per peer\n")) == "valid");
}

TEST_CASE("names that have a meaning are no variables, and launches are no ranks") {
  for (const std::string name : {"r", "b", "n", "launch"}) {
    CHECK(complaint([&] {
            verdict("plan allreduce ranks 2\nrank all:\n  for " + name +
                    " in all: copy o[0] <- i[0]\n");
          }).find("which has a meaning") != std::string::npos);
  }
  for (const std::string block : {"rank 0..launch:", "rank 0 block launch:"}) {
    CHECK(complaint([&] {
            verdict("plan allreduce ranks 1\n" + block + "\n  copy o[0] <- i[0]\n");
          }).find("launch is used where") != std::string::npos);
  }
}

TEST_CASE("a fence of a thread orders what this thread signals and has seen") {
  const auto text = [](const std::string& meet) {
    return "plan sendrecv ranks 2\nthreads\nbuffer s 1\ncounter c per peer\n"
           "counter d per peer\ncounter e per peer\nrank all block 0:\n"
           "  signal d @(1-r) relaxed\n  wait d from (1-r) relaxed\n  sync\n"
           "  put s@(1-r)[0] <- i[0]\n  sync\n  for p in all: signal c @p\n  wait e from r\n"
           "  sync\n  copy o[0] <- s[0]\nrank all block 1:\n"
           "  for p in all: wait c from p relaxed\n  fence acquire\n" +
           meet + "  signal e @r\n";
  };
  CHECK(verdict(text("  sync\n")) == "valid");
  // Thread 0 signals while thread 1 still waits.
  CHECK(verdict(text("")) == "missing-sync");
  const auto release = [](const std::string& fence) {
    return "plan sendrecv ranks 2\nthreads\nbuffer s 1\ncounter c per peer\n"
           "counter d per peer\nrank all:\n  signal d @(1-r) relaxed\n"
           "  wait d from (1-r) relaxed\n  sync\n  put s@(1-r)[0] <- i[0]\n  sync\n" +
           fence +
           "  for p in all: signal c @p relaxed\n  for p in all: wait c from p\n  sync\n"
           "  copy o[0] <- s[0]\n";
  };
  CHECK(verdict(release("  fence release\n")) == "valid");
  CHECK(verdict(release("  for p in all: fence release\n")) == "valid");
  CHECK(verdict(release("  for p in 0..0: fence release\n")) == "relaxed-order");
}

TEST_CASE("an element that has seen its packet knows nothing of the others") {
  const auto text = [](const std::string& poll) {
    return "plan test ranks 3\nbuffer s 2 packets double\nbuffer o 2\ncounter c per peer\n"
           "counter d per peer\nrank 0:\n  put_packets s@2[0] <- i[0]\n  wait c from 2\n"
           "  signal d @2 relaxed\nrank 1:\n  put_packets s@2[1] <- i[0]\n  wait c from 2\n"
           "  signal d @2 relaxed\nrank 2:\n" +
           poll + "  for p in 0..1: signal c @p\n  for p in 0..1: wait d from p\n";
  };
  // o[1] of rank 0 is written when rank 1 has begun.
  CHECK(verdict(text("  put o@0[0..1] <- s[0..1]\n")) == "early-access");
  CHECK(verdict(text("  put o@0[0] <- s[0]\n  put o@0[1] <- s[1]\n")) == "unknown-collective");
}

}  // namespace p2::onesided
