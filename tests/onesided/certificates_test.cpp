#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "engine/onesided/text_plan.h"
#include "p2/error.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/onesided/plans.h"
#include "tests/shared_data.h"

namespace p2::onesided {
namespace {

using kernel::Verdict;

Outcome judged(const std::string& text) {
  if (is_text_plan(text)) return judge(read_text_plan("plan", text), "plan", {}).outcome;
  const auto read = read_plan("plan", text);
  if (std::holds_alternative<Violation>(read)) return Outcome::Refuted;
  return judge(std::get<Plan>(read), "plan", {}).outcome;
}

std::optional<CertificateFiles> certified(const std::string& text, bool valid) {
  auto made = onesided_certificate(text, valid, {});
  if (auto* const files = std::get_if<CertificateFiles>(&made)) return std::move(*files);
  return std::nullopt;
}

/// The plan as its file has it.
std::string plan_of(const CertificateFiles& files) {
  const auto json = nlohmann::json::parse(files.at("plan.json"), nullptr, false);
  const bool is_text = json.is_object() && json.contains("text") && json["text"].is_string();
  return is_text ? json["text"].get<std::string>() : files.at("plan.json");
}

std::string resealed(const std::string& claim, CertificateFiles& files) {
  add_manifest(claim, {}, files);
  return claim;
}

/// Changes the plan, the fault or the claim; returns the claim.
std::string forge(CertificateFiles& files, const std::string& claim, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string& plan = files.at("plan.json");
  const bool has_fault = files.contains("fault.json");
  switch (random() % 6) {
    case 4: {  // a member that is called otherwise
      const std::size_t at = plan.find("\":", random() % plan.size());
      if (at != std::string::npos) plan[at - 1] = static_cast<char>('a' + random() % 26);
      return resealed(claim, files);
    }
    case 0: {  // what is claimed
      if (has_fault) {
        files.erase("fault.json");
        return resealed("onesided-valid", files);
      }
      files["fault.json"] = "{\"chunk\":1,\"fault\":\"a fault\"}\n";
      return resealed("onesided-invalid", files);
    }
    case 1:
      if (has_fault) {
        auto fault = nlohmann::json::parse(files["fault.json"]);
        if (const std::uint64_t draw = random() % 3; draw == 0) {
          fault["chunk"] = 1 + random() % 6;
        } else if (draw == 1) {
          fault["interleaving"] = random() % 300;
        } else {
          auto text = fault["fault"].get<std::string>();
          text[random() % text.size()] = static_cast<char>('0' + random() % 10);
          fault["fault"] = text;
        }
        files["fault.json"] = fault.dump();
        return resealed(claim, files);
      }
      [[fallthrough]];
    case 2: {  // a place of the plan's text
      const std::size_t at = plan.find_first_of("0123456789", random() % plan.size());
      if (at != std::string::npos) plan[at] = static_cast<char>('0' + random() % 4);
      return resealed(claim, files);
    }
    case 3:  // a byte
      plan[random() % plan.size()] = static_cast<char>(' ' + random() % 95);
      return resealed(claim, files);
    default: {
      if (const std::string text = plan_of(files); text != plan) {
        plan = nlohmann::json({{"text", mutated(text, random())}}).dump();
        return resealed(claim, files);
      }
      const auto read = read_plan("plan", plan);
      if (const auto* const original = std::get_if<Plan>(&read))
        plan = to_json(mutated(*original, random()));
      // A fault in words may well be that of the changed plan, too.
      return resealed(claim, files);
    }
  }
}

/// Every certificate that is accepted says what the engine finds.
void check_claim(const std::string& claim, const CertificateFiles& files, std::size_t& accepted) {
  const kernel::Result result = check_certificate(files);
  if (result.verdict != Verdict::Accepted) return;
  ++accepted;
  std::optional<Outcome> outcome;  // nothing: no plan
  try {
    outcome = judged(plan_of(files));
  } catch (const InputError&) {
  }
  CHECK_MESSAGE(outcome == (claim == "onesided-valid" ? Outcome::Established : Outcome::Refuted),
                result.reason << "\n"
                              << files.at("plan.json"));
}

}  // namespace

TEST_CASE("every small execution plan is certified valid, and its mutants as the engine judges") {
  std::map<std::pair<bool, bool>, std::size_t>
      counts;  // by verdict, whether there is a certificate
  for (const Plan& plan : small_execution_plans()) {
    const std::string text = to_json(plan);
    REQUIRE_MESSAGE(judged(text) == Outcome::Established, text);
    const auto made = onesided_certificate(text, true, {});
    CHECK_MESSAGE(std::holds_alternative<CertificateFiles>(made),
                  text << (made.index() == 1 ? std::get<std::string>(made) : ""));
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const std::string mutant = to_json(mutated(plan, seed));
      const Outcome outcome = judged(mutant);
      for (const bool valid : {true, false}) {
        const bool is_certified = certified(mutant, valid).has_value();
        if (is_certified) {
          CHECK_MESSAGE(outcome == (valid ? Outcome::Established : Outcome::Refuted), mutant);
        }
        if (outcome == (valid ? Outcome::Established : Outcome::Refuted)) {
          ++counts[{valid, is_certified}];
        }
      }
    }
  }
  MESSAGE(counts[{true, true}] << " valid and " << counts[{false, true}] << " invalid certified, "
                               << counts[{true, false}] << " and " << counts[{false, false}]
                               << " not");
  CHECK(counts[{true, true}] > 100);
  CHECK(counts[{false, true}] > 100);
  CHECK(counts[{true, false}] + counts[{false, false}] < 30);
}

TEST_CASE("plans in the text format and mutants of them are certified as the engines judge") {
  const char* const wanted = std::getenv("P2_MUTANTS");
  const std::uint64_t mutants = wanted == nullptr ? 60 : std::strtoull(wanted, nullptr, 10);
  std::map<std::pair<bool, bool>, std::size_t> counts;  // as above
  std::size_t unread = 0, explored = 0;
  std::map<std::string, std::size_t> reasons;
  for (const std::string& plan : small_plans()) {
    for (std::uint64_t seed = 0; seed < mutants; ++seed) {
      const std::string text = seed == 0 ? plan : mutated(plan, seed);
      std::optional<Outcome> outcome;  // nothing: no plan
      try {
        outcome = judged(text);
      } catch (const InputError&) {
        ++unread;
      }
      for (const bool valid : {true, false}) {
        const auto made = onesided_certificate(text, valid, {});
        const bool is_certified = made.index() == 0;
        const bool is_so = outcome == (valid ? Outcome::Established : Outcome::Refuted);
        if (is_certified) CHECK_MESSAGE(is_so, text);
        if (is_so) ++counts[{valid, is_certified}];
        if (is_so && !is_certified) ++reasons[std::get<std::string>(made)];
        if (!is_certified || !valid) continue;
        const TextPlan read = read_text_plan("plan", text);
        const auto unrolled = unroll(read, "plan", launches_to_check(read));
        const Limits limits;
        LimitWatch watch(limits, "exploration");
        const auto seen = explore(std::get<Unrolling>(unrolled), {.max_states = 5'000}, watch);
        CHECK_MESSAGE(!seen.violation, text);
        if (!seen.open) ++explored;
      }
    }
  }
  for (const auto& [reason, count] : reasons) MESSAGE(count << ": " << reason);
  MESSAGE(counts[{true, true}] << " valid and " << counts[{false, true}] << " invalid certified, "
                               << counts[{true, false}] << " and " << counts[{false, false}]
                               << " not, " << unread << " unread, " << explored
                               << " valid explored");
  CHECK(counts[{true, true}] > 100);
  CHECK(counts[{false, true}] > 100);
}

TEST_CASE("rules about execution plans have plans that break them, and these have certificates") {
  const std::vector<Plan> plans = small_execution_plans();
  const Plan& memory = plans[0];
  const Plan& port = plans[3];
  const Plan& blocks = plans[6];
  struct Broken {
    const char* rule;
    const Plan& original;
    std::function<void(Plan&)> change;
  };
  const auto ops = [](Plan& plan) -> std::vector<Op>& { return plan.gpus[0].blocks[0].ops; };
  const std::vector<Broken> all = {
      {"malformed", memory, [&](Plan& plan) { ops(plan)[3].targets.clear(); }},
      {"executor-limit", memory, [&](Plan& plan) { ops(plan).resize(65); }},
      {"no-channel", memory, [&](Plan& plan) { ops(plan)[0].channels = {5}; }},
      {"no-buffer", memory, [&](Plan& plan) { ops(plan)[3].targets[0].id = 7; }},
      {"no-peer", memory, [&](Plan& plan) { plan.gpus[0].memory_peers = {9}; }},
      {"wrong-peer", port, [&](Plan& plan) { plan.gpus[0].remote_buffers[2].rank = 0; }},
      {"size-mismatch", memory, [&](Plan& plan) { ops(plan)[3].sources[0].size = 0; }},
      {"out-of-bounds", memory, [&](Plan& plan) { ops(plan)[3].sources[0].index = 1; }},
      {"barrier-mismatch", blocks, [&](Plan& plan) { ops(plan).push_back(ops(plan).back()); }},
      {"unmatched-wait", memory, [&](Plan& plan) { ops(plan).push_back(ops(plan)[1]); }},
      {"signal-surplus", memory,
       [&](Plan& plan) {
         ops(plan).push_back(ops(plan)[0]);
         ops(plan).back().type = OpType::Signal;
       }},
      {"packet-never-written", plans[2], [&](Plan& plan) { ops(plan).erase(ops(plan).begin()); }},
      {"packet-overwritten", plans[2],
       [&](Plan& plan) { ops(plan).insert(ops(plan).begin(), ops(plan)[0]); }},
      {"scratch-reuse", plans[2], [&](Plan& plan) { plan.double_scratch = false; }},
      {"relaxed-order", memory,
       [&](Plan& plan) {
         for (Op& op : ops(plan)) op.type = op.type == OpType::Wait ? OpType::RelaxedWait : op.type;
       }},
      {"missing-flush", port, [&](Plan& plan) {
         for (Gpu& gpu : plan.gpus) {
           gpu.blocks[0].ops[3].type = OpType::PutWithSignal;
           gpu.blocks[0].ops.resize(7);  // nobody answers
         }
       }}};
  for (const Broken& each : all) {
    Plan plan = each.original;
    each.change(plan);
    const std::string text = to_json(plan);
    CAPTURE(std::string(each.rule));
    const auto read = read_plan("plan", text);
    std::optional<Violation> violation;
    if (const auto* const found = std::get_if<Violation>(&read)) {
      violation = *found;
    } else {
      violation = judge(std::get<Plan>(read), "plan", {}).violation;
    }
    REQUIRE(violation);
    CHECK(to_string(violation->rule) == each.rule);
    CHECK(certified(text, false));
  }
}

namespace {

/// Two thread blocks of one GPU, or, with `ranks`, one on each of two, in a plan that computes
/// nothing of its own: every rank holds its input in place.
Plan with_rounds(std::vector<Op> first, std::vector<Op> second) {
  Plan plan;
  plan.name = plan.collective = "allreduce";
  plan.protocol = "Simple";
  plan.in_place = true;
  Gpu gpu;
  gpu.input_chunks = gpu.output_chunks = 1;
  gpu.scratch_chunks = 2;
  gpu.semaphores = {0, 0, 3};
  gpu.blocks.resize(2);
  gpu.blocks[0].ops = std::move(first);
  gpu.blocks[1].ops = std::move(second);
  plan.gpus = {std::move(gpu)};
  return plan;
}
Op semaphore(OpType type, std::uint32_t id) {
  Op op;
  op.type = type;
  op.semaphores = {id};
  return op;
}
Op release(std::uint32_t id) { return semaphore(OpType::SemaphoreRelease, id); }
Op acquire(std::uint32_t id) { return semaphore(OpType::SemaphoreAcquire, id); }
Op barrier_of_two() {
  Op op;
  op.type = OpType::Barrier;
  op.barrier_blocks = 2;
  return op;
}
Op pipeline(std::vector<Op> body) {
  Op op;
  op.type = OpType::Pipeline;
  op.unit_size = 64;
  op.num_chunks = 1;
  op.body = std::move(body);
  return op;
}
Op copied(Buffer from, Buffer to, std::uint32_t size = 1) {
  Op op;
  op.type = OpType::Copy;
  op.sources = {{Region::Kind::Own, from, 0, 0, size}};
  op.targets = {{Region::Kind::Own, to, 0, 0, size}};
  return op;
}

/// What the engine says of so many rounds, a cell for each.
Outcome judged_rounds(const Plan& plan, std::uint32_t rounds) {
  return judge_unrollings("plan", 1, 3,
                          [&](std::size_t, std::uint32_t launches) {
                            return unroll(plan, "plan", Sizes{rounds, 1}, launches);
                          },
                          {})
      .outcome;
}

}  // namespace

TEST_CASE("rounds of pipelines that are certified are right for larger numbers of rounds") {
  // A block copies in rounds what the other one reads in rounds, with barriers or semaphores.
  const Plan plans[] = {
      with_rounds({pipeline({copied(Buffer::Input, Buffer::Scratch), Op{}, release(0)})},
                  {pipeline({acquire(0), Op{}, copied(Buffer::Scratch, Buffer::Output)})}),
      with_rounds(
          {pipeline({acquire(2), Op{}, copied(Buffer::Input, Buffer::Scratch), Op{}, release(0)})},
          {pipeline(
              {acquire(0), Op{}, copied(Buffer::Scratch, Buffer::Output), Op{}, release(2)})}),
      with_rounds({pipeline({copied(Buffer::Input, Buffer::Scratch), Op{}, barrier_of_two()})},
                  {pipeline({barrier_of_two(), copied(Buffer::Scratch, Buffer::Output)})}),
      with_rounds({copied(Buffer::Input, Buffer::Scratch), Op{}, release(0)},
                  {acquire(0), Op{}, pipeline({copied(Buffer::Scratch, Buffer::Output)})})};
  std::size_t certificates = 0, mutants = 0;
  for (const Plan& plan : plans) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const Plan mutant = seed == 0 ? plan : mutated(plan, seed);
      ++mutants;
      if (!certified(to_json(mutant), true)) {
        CHECK_MESSAGE(seed != 0, to_json(mutant));
        continue;
      }
      ++certificates;
      for (std::uint32_t rounds = 1; rounds < 8; ++rounds)
        CHECK_MESSAGE(judged_rounds(mutant, rounds) == Outcome::Established, to_json(mutant));
    }
  }
  MESSAGE(certificates << " certificates for " << mutants << " plans");
  CHECK(certificates > 100);
}

TEST_CASE("what three rounds of pipelines do not show has no certificate") {
  using Ops = std::vector<Op>;
  const Ops three_releases = {release(0), Op{}, release(0), Op{}, release(0)};
  const auto joined = [](Ops all, const Ops& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Op own = copied(Buffer::Input, Buffer::Output);
  const Op meet;
  const struct {
    const char* rule;
    Plan plan;
  } forgeries[] = {
      {"a round signals more or less often than it waits",
       with_rounds(three_releases, {pipeline({acquire(0), meet})})},
      {"pipelines, and signals that end waits as the interleaving has it",
       with_rounds({release(0), meet, release(0)},
                   {release(0), meet, pipeline({acquire(0), meet})})},
      {"a thread block has several pipelines",
       with_rounds({pipeline({acquire(2), meet}), pipeline({release(0), meet})},
                   {pipeline({acquire(0), meet, release(2), meet})})},
      {"a round waits for what comes after it",
       with_rounds(joined({pipeline({acquire(2), meet, release(0), meet})},
                          {release(0), meet, release(0), meet, release(0), meet, release(0)}),
                   {acquire(0), meet, acquire(0), meet, acquire(0), meet, acquire(0), meet,
                    pipeline({acquire(0), meet, release(2), meet})})},
      {"a barrier joins different rounds",
       with_rounds({pipeline({acquire(2), meet, barrier_of_two()}), barrier_of_two(),
                    barrier_of_two(), barrier_of_two(), barrier_of_two()},
                   {barrier_of_two(), barrier_of_two(), barrier_of_two(), barrier_of_two(),
                    pipeline({barrier_of_two(), release(2), meet})})}};
  for (const auto& [rule, plan] : forgeries) {
    CAPTURE(rule);
    for (std::uint32_t rounds = 1; rounds <= 3; ++rounds)
      CHECK(judged_rounds(plan, rounds) == Outcome::Established);
    CHECK(judged_rounds(plan, 4) == Outcome::Refuted);
    const auto made = onesided_certificate(to_json(plan), true, {});
    REQUIRE(std::holds_alternative<std::string>(made));
    CHECK(std::get<std::string>(made).find(rule) != std::string::npos);
  }
  // Relaxed in part: the fourth round's signal is relaxed, which ends a wait after all rounds.
  Plan relaxed;
  {
    relaxed = with_rounds({}, {});
    relaxed.gpus.push_back(relaxed.gpus[0]);
    relaxed.collective = "broadcast";
    relaxed.in_place = false;
    const auto on = [](OpType type, std::uint32_t channel) {
      Op op;
      op.type = type;
      op.channel_type = ChannelType::Memory;
      op.channels = {channel};
      return op;
    };
    for (std::uint32_t r = 0; r < 2; ++r) {
      Gpu& gpu = relaxed.gpus[r];
      gpu.memory_peers = {1 - r, 1 - r};
      gpu.remote_buffers = {{1 - r, Buffer::Scratch, {ChannelType::Memory}}};
      gpu.blocks.resize(1);
      gpu.blocks[0].channels = {{ChannelType::Memory, {0, 1}}};
      gpu.blocks[0].remote_buffers = {{ChannelType::Memory, {0}}};
    }
    Op put = copied(Buffer::Input, Buffer::Scratch);
    put.type = OpType::Put;
    put.channel_type = ChannelType::Memory;
    put.targets = {{Region::Kind::Remote, {}, 0, 0, 1}};
    // Channel 1: both have begun.
    const Ops begin = {on(OpType::RelaxedSignal, 1), on(OpType::RelaxedWait, 1), meet};
    Ops& sends = relaxed.gpus[0].blocks[0].ops;
    sends = joined(begin, {own, put, meet});
    for (int k = 0; k < 4; ++k) sends = joined(sends, {on(OpType::Signal, 0), meet});
    sends.push_back(pipeline({on(OpType::RelaxedSignal, 0), meet}));
    Ops& receives = relaxed.gpus[1].blocks[0].ops;
    receives = joined(begin, {pipeline({on(OpType::RelaxedWait, 0), meet})});
    for (int k = 0; k < 4; ++k) receives = joined(receives, {on(OpType::Wait, 0), meet});
    receives.push_back(copied(Buffer::Scratch, Buffer::Output));
  }
  for (std::uint32_t rounds = 1; rounds <= 3; ++rounds)
    CHECK(judged_rounds(relaxed, rounds) == Outcome::Established);
  CHECK(judged_rounds(relaxed, 4) == Outcome::Refuted);
  const auto made = onesided_certificate(to_json(relaxed), true, {});
  REQUIRE(std::holds_alternative<std::string>(made));
  CHECK(std::get<std::string>(made).find("relaxed in part") != std::string::npos);
  // What a round does not do as p2-check models it.
  const Plan rounds =
      with_rounds({pipeline({copied(Buffer::Input, Buffer::Scratch), meet})}, {meet});
  REQUIRE(certified(to_json(rounds), true));
  const std::function<void(Op&)> changes[] = {
      [](Op& op) { op.num_chunks = 2; },
      [](Op& op) { op.body[0] = copied(Buffer::Input, Buffer::Scratch, 0); },
      [](Op& op) { op.body[0].group_size = 2; }};
  for (const auto& change : changes) {
    Plan plan = rounds;
    change(plan.gpus[0].blocks[0].ops[0]);
    CHECK_FALSE(certified(to_json(plan), true));
  }
  Plan unequal = rounds;
  unequal.gpus[0].blocks[1].ops = {rounds.gpus[0].blocks[0].ops[0]};
  unequal.gpus[0].blocks[1].ops[0].body = {meet};
  REQUIRE(certified(to_json(unequal), true));
  unequal.gpus[0].blocks[1].ops[0].unit_size *= 2;
  CHECK_FALSE(certified(to_json(unequal), true));
  Plan packets = with_rounds({pipeline({meet})}, {meet});
  packets.protocol = "LL";
  CHECK(certified(to_json(packets), true));
  packets.gpus[0].blocks[1].ops = {copied(Buffer::Input, Buffer::Scratch)};
  packets.gpus[0].blocks[1].ops[0].type = OpType::CopyPackets;
  CHECK(judged(to_json(packets)) == Outcome::Established);
  CHECK_FALSE(certified(to_json(packets), true));
}

TEST_CASE("every rule about the text has a text that breaks it alone, without a certificate") {
  const std::string oneshot = small_plans()[0];
  const std::string shared = small_plans()[8];
  const std::string fetched = R"(plan sendrecv ranks 2
buffer s 2
counter c per peer
rank all:
  signal c @1-r
  wait c from 1-r >= 2*launch+1
  get s[0] <- i@(1-r)[0]
  signal c @1-r
  wait c from 1-r >= 2*launch+2
  copy o[0] <- s[0]
)";
  const std::string packets = R"(plan sendrecv ranks 2
buffer s 1 packets double
rank all:
  put_packets s@(1-r)[0] <- i[0]
  poll o[0] <- s[0]
)";
  const std::string blocks = R"(plan broadcast ranks 1
buffer s 1
rank 0 block 0:
  copy s[0] <- i[0]
  barrier 0..1
rank 0 block 1:
  barrier 0..1
  copy o[0] <- s[0]
)";
  const std::string fenced = R"(plan sendrecv ranks 2
counter c per peer
rank all:
  signal c @1-r relaxed
  wait c from 1-r relaxed
  put o@(1-r)[0] <- i[0]
  fence release
  signal c @1-r relaxed
  wait c from 1-r relaxed
  fence acquire
)";
  const std::string proxied = R"(plan sendrecv ranks 2
counter c per peer
counter d per peer
rank all:
  signal c @1-r relaxed
  wait c from 1-r relaxed
  async put o@(1-r)[0] <- i[0]
  async signal d @1-r
  wait d from 1-r
  flush
)";
  const std::string counted = R"(plan sendrecv ranks 2
counter c per peer
counter d per peer
rank all:
  signal c @1-r relaxed
  wait c from 1-r relaxed
  put o@(1-r)[0] <- i[0]
  loop 10: signal d @1-r
  wait d from 1-r >= 10*launch+10
)";
  const struct {
    const std::string& original;
    const char* what;
    const char* by;
  } changes[] = {
      {oneshot, "plan allreduce", "plan custom"},
      {oneshot, "ranks 2\n", "ranks 2 more\n"},
      {oneshot, "buffer s 2\n", "buffer s 1\n"},
      {oneshot, "buffer s 2\n", "buffer s 2\nbuffer s 2\n"},
      {oneshot, "buffer s 2\n", "buffer s 2\nbuffer i 1 double\n"},
      {oneshot, "buffer s 2\n", "buffer s 2\nbuffer i 1\nbuffer o 2\n"},
      {oneshot, "buffer s 2\n", "buffer s 1048577\n"},
      {oneshot, "  reduce", "  \treduce"},
      {oneshot, "counter c per peer\n", "counter c per peer\ncounter c per peer\n"},
      {oneshot, "rank all:\n", "rank 0..2:\n"},
      {oneshot, "rank all:\n", "rank all block 1024:\n"},
      {oneshot, "rank all:\n", "rank all block all:\n"},
      {oneshot, "for p in all except r: signal c @p\n", "for n in all except r: signal c @1-r\n"},
      {oneshot, "for p in all:", "for p in q..1:"},
      {oneshot, "for p in all:", "for p in 0..launch/8+1:"},
      {oneshot, "for p in all:", "for p in 0..launch-launch+1:"},
      {oneshot, "for p in all:", "for p in 0/0..1:"},
      {oneshot, "for p in all:", "for p in 0..1048576*1048576/1048576/1048576:"},
      {oneshot, "  for p in all except r: wait c from p relaxed",
       "   for p in all except r: wait c from p relaxed"},
      {oneshot, "signal c @p\n", "signal c @p acquire\n"},
      {oneshot, "signal c @p\n", "signal c @p gpu\n"},
      {oneshot, "signal c @p\n", "signal c @p block\n"},
      {oneshot, "  reduce", "  signal c @7\n  reduce"},
      {oneshot, "signal c @p\n", "signal d @p\n"},
      {oneshot, "signal c @p\n", "async signal c @p\n"},
      {oneshot, "wait c from p\n", "wait c from p release\n"},
      {oneshot, "wait c from p\n", "wait c\n"},
      {oneshot, "wait c from p\n", "wait c from p >= 2*launch+2\n"},
      {oneshot, "put s@p[r]", "put s@p[r+1]"},
      {oneshot, "put s@p[r]", "put t@p[r]"},
      {oneshot, "put s@p[r] <- i[0]", "put_packets s@p[r] <- i[0]"},
      {oneshot, "s[0] + s[1]", "s[0]"},
      {oneshot, "s[0] + s[1]", "s[0] + s[1] s[1]"},
      {oneshot, "s[0] + s[1]", "s[0] + s[1]\nbuffer t 1"},
      {shared, "wait c += 1 relaxed", "wait c from 1-r += 1 relaxed"},
      {shared, "wait c += 1 relaxed", "wait c += 0-1 relaxed"},
      {shared, "put o@(1-r)[0] <- i[0]", "copy o@(1-r)[0] <- i[0]"},
      {fetched, "get s[0]", "put s[0]"},
      {fetched, "get s[0]", "get s@1048576[0]"},
      {fetched, "copy o[0] <- s[0]", "poll o[0] <- s[0]"},
      {fetched, "copy o[0] <- s[0]", "copy o[0] <- s[0..1]"},
      {fetched, "2*launch+2", "2*launch+2+launch/8*9"},
      {fetched, "2*launch+2", "2*launch+3"},
      {fetched, "2*launch+1", "launch+1"},
      {fetched, "2*launch+1", "2-launch"},
      {packets, "put_packets s@(1-r)[0]", "put s@(1-r)[0]"},
      {packets, "poll o[0] <- s[0]", "put_packets s[0] <- s[0]\n  poll o[0] <- s[0]"},
      {packets, "double", ""},
      {packets, "rank all:\n",
       "buffer t 1 packets double\nrank all:\n  put_packets t[0] <- i[0]\n"
       "  put_packets t[0] <- t[0]\n"},
      {blocks, "  barrier 0..1\nrank", "  barrier 0..1\n  barrier 1..1\nrank"},
      {blocks, "  barrier 0..1\nrank", "  barrier 0..1\n  barrier 0..1\nrank"},
      {blocks, "  barrier 0..1\nrank", "  barrier 0..2\nrank"},
      {blocks, "  copy o[0]", "  multimem_st 1..0 s[0] <- s[0]\n  copy o[0]"},
      {fenced, "fence release", "fence release gpu"},
      {fenced, "fence release", "fence release block"},
      {fenced, "fence release", "fence relaxed"},
      {fenced, "fence release", "fence acquire"},
      {fenced, "fence acquire", "fence acquire gpu"},
      {fenced, "fence acquire", "fence release"},
      {proxied, "async signal", "signal"},
      {proxied, "  flush\n", ""},
      {counted, "10*launch+10", "9*launch+10"},  // which shows after ten launches
      {proxied, "async put", "async get"},
      {proxied, "async put", "async async put"}};
  std::size_t unread = 0;
  for (const auto& [original, what, by] : changes) {
    CHECK(certified(original, true));
    std::string text = original;
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string(what).size(), by);
    CAPTURE(text);
    std::optional<Outcome> outcome;  // nothing: no plan
    try {
      outcome = judged(text);
    } catch (const InputError&) {
      ++unread;
    }
    CHECK(outcome != Outcome::Established);
    CHECK_FALSE(certified(text, true));
    if (!outcome) CHECK_FALSE(certified(text, false));
  }
  MESSAGE(unread << " of " << std::size(changes) << " are no plans");
  // A launch that waits for the signals of the next one never ends if it is the last.
  const std::string late = R"(plan sendrecv ranks 2
counter c per peer
counter d per peer
rank all block 0:
  signal c @1-r relaxed
  signal c @1-r relaxed
  signal d @1-r relaxed
  wait d from 1-r relaxed
  put o@(1-r)[0] <- i[0]
  signal d @1-r
  wait d from 1-r
rank 1 block 1:
  wait c from 0 >= launch+3 relaxed
)";
  CHECK(judged(late) == Outcome::Refuted);
  CHECK_FALSE(certified(late, true));
  CHECK(certified(late, false));
}

TEST_CASE("no forged certificate of a one-sided plan is accepted") {
  const char* const wanted = std::getenv("P2_FORGERIES");
  const std::uint64_t forgeries = wanted == nullptr ? 400 : std::strtoull(wanted, nullptr, 10);
  std::vector<std::pair<std::string, CertificateFiles>> originals;
  for (const Plan& plan : small_execution_plans()) {
    if (auto files = certified(to_json(plan), true))
      originals.emplace_back("onesided-valid", std::move(*files));
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      if (auto files = certified(to_json(mutated(plan, seed)), false))
        originals.emplace_back("onesided-invalid", std::move(*files));
    }
  }
  for (const std::string& plan : small_plans()) {
    if (auto files = certified(plan, true))
      originals.emplace_back("onesided-valid", std::move(*files));
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      if (auto files = certified(mutated(plan, seed), false))
        originals.emplace_back("onesided-invalid", std::move(*files));
    }
  }
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const bool valid : {true, false}) {
      if (auto files = certified(random_shared_plan(seed), valid))
        originals.emplace_back(valid ? "onesided-valid" : "onesided-invalid", std::move(*files));
    }
  }
  REQUIRE(originals.size() >= 100);
  std::size_t accepted = 0;
  for (std::uint64_t seed = 0; seed < forgeries; ++seed) {
    auto [claim, files] = originals[seed % originals.size()];
    claim = forge(files, claim, seed);
    check_claim(claim, files, accepted);
  }
  MESSAGE(accepted << " of " << forgeries << " still say what is so");
  CHECK(accepted < forgeries / 2);
}

TEST_CASE("plans of MSCCL++ have certificates of their verdicts") {
  const auto table = shared_text("mscclpp/verdicts.csv");
  if (!table) return;
  std::istringstream lines(*table);
  std::string line;
  std::getline(lines, line);
  std::size_t certificates = 0;
  std::size_t mutants = 0;
  while (std::getline(lines, line)) {
    const std::string file = line.substr(0, line.find(','));
    line.erase(0, file.size() + 1);
    const std::string verdict = line.substr(0, line.find(','));
    const auto plan = shared_text("mscclpp/" + file);
    if (!plan) continue;
    for (const bool valid : {true, false}) {
      if (!certified(*plan, valid)) continue;
      ++certificates;
      CHECK_MESSAGE((verdict == "valid") == valid, file);
    }
    const auto read = read_plan(file, *plan);
    const auto* const original = std::get_if<Plan>(&read);
    if (original == nullptr || original->gpus.size() > 8) continue;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const std::string mutant = to_json(mutated(*original, certificates + seed));
      const bool is_valid = certified(mutant, true).has_value();
      if (!is_valid && !certified(mutant, false)) continue;
      ++mutants;
      CHECK_MESSAGE(judged(mutant) == (is_valid ? Outcome::Established : Outcome::Refuted), file);
    }
  }
  MESSAGE(certificates << " certificates, and " << mutants << " of mutants");
  CHECK(certificates == 183);
  CHECK(mutants > 400);
}

}  // namespace p2::onesided
