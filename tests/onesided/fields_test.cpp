#include <functional>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "proofs/certificate/subject_certificates.h"
#include "tests/onesided/plans.h"

namespace p2::onesided {
namespace {

using Json = nlohmann::json;

/// The reason for which a plan is malformed; nothing for a valid plan.
std::string complaint(const Json& plan) {
  const std::string text = plan.dump(1);
  const auto read = read_plan("plan", text);
  std::optional<Violation> violation;
  if (const auto* const found = std::get_if<Violation>(&read)) {
    violation = *found;
  } else {
    const PlanDecision decision = judge(std::get<Plan>(read), "plan", {});
    if (decision.outcome == Outcome::Established) {
      CHECK(std::holds_alternative<CertificateFiles>(onesided_certificate(text, true, {})));
      return "";
    }
    violation = decision.violation;
  }
  REQUIRE(violation);
  CHECK_MESSAGE(violation->rule == Rule::Malformed, violation->reason);
  // The checker reads by itself.
  CHECK(std::holds_alternative<std::string>(onesided_certificate(text, true, {})));
  CHECK(std::holds_alternative<CertificateFiles>(onesided_certificate(text, false, {})));
  return violation->reason;
}

void for_each_object(Json& value, const std::function<void(Json&)>& visit) {
  for (Json& each : value) {
    if (each.is_structured()) for_each_object(each, visit);
  }
  if (value.is_object()) visit(value);
}

bool names(const std::string& reason, const std::string& key) {
  return reason.find("\"" + key + "\"") != std::string::npos;
}

}  // namespace

TEST_CASE("the type of a channel is one, also where an op needs none") {
  Json json = Json::parse(to_json(small_execution_plans()[0]));
  Json op = json;
  op["gpus"][0]["threadblocks"][0]["ops"][4]["channel_type"] = "memo5y";  // of a copy
  CHECK(complaint(op).find("memo5y") != std::string::npos);
  Json access = json;
  access["gpus"][0]["remote_buffers"][0]["access_channel_types"].push_back("memo5y");
  CHECK(complaint(access).find("memo5y") != std::string::npos);
}

TEST_CASE("a member that means nothing is named, whatever object of a plan has it") {
  std::size_t objects = 0;
  for (const Plan& plan : small_execution_plans()) {
    Json json = Json::parse(to_json(plan));
    for_each_object(json, [&](Json& object) {
      if (objects++ % 7 != 0 && &object != &json) return;
      object["fence_after"] = true;
      CHECK_MESSAGE(names(complaint(json), "fence_after"), object.dump());
      object.erase("fence_after");
      object["comment"] = "a remark";
      CHECK_MESSAGE(complaint(json).empty(), object.dump());
      object.erase("comment");
    });
  }
  CHECK(objects > 200);
}

TEST_CASE("no misspelt member is skipped") {
  std::size_t members = 0;
  for (const Plan& plan : small_execution_plans()) {
    Json json = Json::parse(to_json(plan));
    for_each_object(json, [&](Json& object) {
      std::vector<std::string> keys;
      for (const auto& [key, value] : object.items()) keys.push_back(key);
      for (const std::string& key : keys) {
        if (members++ % 5 != 0 && &object != &json) continue;
        const Json value = object[key];
        object.erase(key);
        object[key + "s"] = value;
        CHECK_MESSAGE(!complaint(json).empty(), key << " " << object.dump());
        object.erase(key + "s");
        object[key] = value;
      }
    });
  }
  CHECK(members > 800);
}

TEST_CASE("members that the executor does not read say what it does") {
  Json json;
  Json* reduction = nullptr;
  for (const Plan& plan : small_execution_plans()) {
    json = Json::parse(to_json(plan));
    for_each_object(json, [&](Json& object) {
      const std::string name = object.value("name", "");
      if (name == "re" || name == "res" || name == "rre" || name == "repkt") reduction = &object;
    });
    if (reduction != nullptr) break;
  }
  REQUIRE(reduction != nullptr);
  (*reduction)["reduce_op"] = "sum";
  CHECK(complaint(json).empty());
  (*reduction)["reduce_op"] = "max";
  CHECK(complaint(json).find("expected sum") != std::string::npos);
  reduction->erase("reduce_op");

  Json& region = [&]() -> Json& {
    for (Json& each : (*reduction)["src_buff"]) {
      if (each.contains("type")) return each;
    }
    return (*reduction)["dst_buff"][0];
  }();
  region["rank"] = 99;  // an own buffer is that of the own rank
  CHECK(complaint(json).find("rank of an own buffer") != std::string::npos);
  region.erase("rank");
  region["buffer_id"] = 0;  // own, or a peer's?
  CHECK(names(complaint(json), "buffer_id"));
  region.erase("buffer_id");

  Json& op = json["gpus"][0]["threadblocks"][0]["ops"].emplace_back(Json{{"name", "nop"}});
  CHECK(complaint(json).empty());
  op["channel_ids"] = {0};  // a signal that was meant
  CHECK(names(complaint(json), "channel_ids"));
  op = {{"name", "nop"}, {"ops", {{{"name", "nop"}}}}};  // of a pipeline that was meant
  CHECK(names(complaint(json), "ops"));
}

TEST_CASE("a plan is for some message, and its packets are where the executor looks") {
  Json json = Json::parse(to_json(small_execution_plans()[0]));
  json["min_message_size"] = 1 << 20;
  json["max_message_size"] = 1 << 21;
  CHECK(complaint(json).empty());
  json["max_message_size"] = (1 << 20) - 16;
  CHECK(complaint(json).find("No message of") != std::string::npos);
  json["min_message_size"] = json["max_message_size"] = (1 << 20) + 1;
  CHECK(complaint(json).find("No message of") != std::string::npos);
  json["min_message_size"] = 0;
  json["max_message_size"] = 15;
  CHECK(complaint(json).find("No message of") != std::string::npos);

  json = Json::parse(to_json(small_execution_plans()[2]));
  CHECK(complaint(json).empty());
  for (Json& op : json["gpus"][0]["threadblocks"][0]["ops"]) {
    if (op["name"] != "repkt" && op["name"] != "upkt") continue;
    op["src_buff"].back()["type"] = "o";
    CHECK(complaint(json).find("looks for them in scratch") != std::string::npos);
    return;
  }
  FAIL("no packets are read");
}

TEST_CASE("a packet is no plain memory, though it looks so in chunks of one unit") {
  Plan plan = small_execution_plans()[2];
  REQUIRE(plan.has_packets());
  const auto verdict = [&] { return judge(plan, "plan", {}).outcome; };
  REQUIRE(verdict() == Outcome::Established);
  const auto region = [](Buffer buffer, std::uint32_t index) {
    return Region{Region::Kind::Own, buffer, 0, index, 1};
  };
  for (Gpu& gpu : plan.gpus) {
    std::vector<Op>& ops = gpu.blocks[0].ops;
    for (std::size_t k = 0; k < ops.size(); ++k) {
      if (ops[k].type != OpType::ReducePackets) continue;
      // The own contribution by way of a packet, which is then read as what it is not.
      ops[k].sources[0] = region(Buffer::Scratch, 2 * gpu.scratch_chunks);
      Op copy;
      copy.type = OpType::CopyPackets;
      copy.sources = {region(Buffer::Input, 0)};
      copy.targets = {region(Buffer::Scratch, gpu.scratch_chunks)};
      ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(k), {copy, Op{}});
      break;
    }
    gpu.scratch_chunks += 1;
  }
  const auto one = unroll(plan, "plan", {1, 0}, launches_to_check(plan));
  CHECK(!judge(std::get<Unrolling>(one), {}).violation);
  CHECK(verdict() == Outcome::Refuted);
}

TEST_CASE("every channel of an op has a thread, and all ranks have equally many chunks") {
  const auto rule = [](const Plan& plan) {
    const PlanDecision decision = judge(plan, "plan", {});
    const std::string text = to_json(plan);
    CHECK(std::holds_alternative<CertificateFiles>(
        onesided_certificate(text, decision.outcome == Outcome::Established, {})));
    return decision.violation ? std::string(to_string(decision.violation->rule)) : "valid";
  };
  Plan plan = small_execution_plans()[0];
  // A second channel, signalled in the same op.
  for (Gpu& gpu : plan.gpus) {
    gpu.memory_peers.push_back(gpu.memory_peers.front());
    gpu.blocks[0].channels[0].ids.push_back(1);
    for (Op& op : gpu.blocks[0].ops) {
      if (!op.channels.empty()) op.channels.push_back(1);
    }
  }
  plan.threads = 2;
  CHECK(rule(plan) == "valid");
  plan.threads = 1;
  CHECK(rule(plan) == "executor-limit");

  plan = small_execution_plans()[3];
  REQUIRE(plan.collective == "sendrecv");
  plan.gpus[1].input_chunks = plan.gpus[1].output_chunks = 0;
  CHECK(rule(plan) == "size-mismatch");
}

TEST_CASE("what is no packet may look like one") {
  Plan plan = small_execution_plans()[2];
  for (Gpu& gpu : plan.gpus) {
    gpu.scratch_chunks = 2;
    Op copy;  // after the packet was read; the next launch polls there
    copy.type = OpType::Copy;
    copy.sources = {Region{Region::Kind::Own, Buffer::Input, 0, 0, 1}};
    copy.targets = {Region{Region::Kind::Own, Buffer::Scratch, 0, 0, 1}};
    gpu.blocks[0].ops.emplace_back();
    gpu.blocks[0].ops.push_back(copy);
  }
  const PlanDecision decision = judge(plan, "plan", {});
  REQUIRE(decision.violation);
  CHECK(decision.violation->rule == Rule::PacketOverwritten);
  CHECK(decision.violation->reason.find("may look like") != std::string::npos);
  CHECK(std::holds_alternative<std::string>(onesided_certificate(to_json(plan), true, {})));
}

TEST_CASE("pipelines whose rounds differ with the message are not judged") {
  Plan plan = small_execution_plans()[0];
  std::vector<Op>& ops = plan.gpus[0].blocks[0].ops;
  for (const auto& [unit, chunks] : {std::pair(160, 3), std::pair(112, 2)}) {
    Op pipeline;
    pipeline.type = OpType::Pipeline;
    pipeline.unit_size = static_cast<std::uint64_t>(unit);
    pipeline.num_chunks = static_cast<std::uint32_t>(chunks);
    pipeline.body = {Op{}};
    ops.push_back(pipeline);
  }
  // Three rounds each in chunks of 160 bytes, three and two in chunks of 112.
  CHECK_THROWS_AS(judge(plan, "plan", {}), LimitReached);
  ops.back().unit_size = 320;
  ops.back().num_chunks = 6;
  CHECK(judge(plan, "plan", {}).outcome == Outcome::Established);
}

}  // namespace p2::onesided
