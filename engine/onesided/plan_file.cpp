#include "engine/onesided/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/json_reader.h"
#include "p2/json.h"

namespace p2::onesided {
namespace {

constexpr std::int64_t kMaxRanks = 65536;
constexpr std::int64_t kMaxChunks = std::int64_t{1} << 24;
constexpr std::int64_t kMaxId = std::int64_t{1} << 20;
constexpr std::int64_t kMaxUnit = std::int64_t{1} << 40;  // bytes

std::uint32_t number_of(const JsonValue& value, std::string_view what, std::int64_t low,
                        std::int64_t high) {
  return static_cast<std::uint32_t>(value.integer(what, low, high));
}

std::uint32_t member_number(const JsonValue& object, const char* key, std::int64_t low,
                            std::int64_t high) {
  return number_of(object.member(key, "an object of the plan"), fmt::format("\"{}\"", key), low,
                   high);
}

std::vector<std::uint32_t> ids(const JsonValue& object, const char* key) {
  std::vector<std::uint32_t> read;
  for (const JsonValue& each : object.member(key, "an object of the plan").array(key)) {
    read.push_back(number_of(each, fmt::format("an element of \"{}\"", key), 0, kMaxId));
  }
  return read;
}

/// Refuses members that mean nothing here: what a misspelt one was to change, or one of another
/// version of the format, would not be judged. Any object may have a name and remarks.
void expect_keys(const JsonValue& object, std::vector<std::string_view> known,
                 std::string_view what) {
  known.insert(known.end(), {"name", "comment", "description"});
  object.only_keys(known, what);
}

ChannelType channel_type(const JsonValue& value) {
  const std::string& name = value.string("a channel type");
  for (const ChannelType type : {ChannelType::Memory, ChannelType::Port, ChannelType::Switch}) {
    if (name == to_string(type)) return type;
  }
  value.fail(fmt::format("the channel type is \"{}\", expected memory, port or switch", name));
}

Buffer buffer(const JsonValue& value) {
  const std::string& name = value.string("a buffer type");
  for (const Buffer each : {Buffer::Input, Buffer::Output, Buffer::Scratch}) {
    if (name.size() == 1 && name[0] == letter(each)) return each;
  }
  value.fail(fmt::format("the buffer type is \"{}\", expected i, o or s", name));
}

/// The regions of an op of GPU `gpu`.
std::vector<Region> regions(const JsonValue& op, const char* key, std::size_t gpu) {
  std::vector<Region> read;
  const auto list = op.find(key);
  if (!list) return read;
  for (const JsonValue& each : list->array(key)) {
    Region& region = read.emplace_back();
    const char* kind = "switch_channel_id";
    if (const auto type = each.find("type")) {
      region.buffer = buffer(*type);
      kind = "type";
    } else if (const auto id = each.find("buffer_id")) {
      region.kind = Region::Kind::Remote;
      kind = "buffer_id";
      region.id = number_of(*id, "\"buffer_id\"", 0, kMaxId);
    } else {
      region.kind = Region::Kind::Switch;
      region.id = number_of(each.member("switch_channel_id", "a region without type and buffer_id"),
                            "\"switch_channel_id\"", 0, kMaxId);
    }
    region.index = member_number(each, "index", 0, kMaxChunks);
    region.size = member_number(each, "size", 0, kMaxChunks);
    if (const auto rank = each.find("rank"); rank && region.kind == Region::Kind::Own) {
      rank->integer("the rank of an own buffer, that of its GPU,", static_cast<std::int64_t>(gpu),
                    static_cast<std::int64_t>(gpu));
      expect_keys(each, {"type", "index", "size", "rank"}, "a region");
    } else {
      expect_keys(each, {kind, "index", "size"}, "a region");
    }
  }
  return read;
}

/// The members that an op cannot do without.
void require_members(const JsonValue& op, OpType type) {
  const auto require = [&](const char* key) {
    op.member(key, fmt::format("the op {}", to_string(type)));
  };
  switch (type) {
    case OpType::Nop:
      return;
    case OpType::Barrier:
      require("barrier_id");
      return require("num_threadblocks");
    case OpType::Signal:
    case OpType::RelaxedSignal:
    case OpType::Wait:
    case OpType::RelaxedWait:
    case OpType::Flush:
      require("channel_ids");
      return require("channel_type");
    case OpType::SemaphoreRelease:
    case OpType::SemaphoreAcquire:
      return require("semaphore_ids");
    case OpType::Pipeline:
      require("iter_context");
      return require("ops");
    case OpType::PutWithSignal:
    case OpType::PutWithSignalAndFlush:
      require("channel_ids");
      require("channel_type");
      break;
    case OpType::Put:
    case OpType::PutPackets:
    case OpType::ReadPutPackets:
    case OpType::Get:
    case OpType::ReadReduce:
    case OpType::ReadReduceSend:
    case OpType::ReduceSend:
    case OpType::ReduceSendPackets:
    case OpType::ReduceCopySendPackets:
      require("channel_type");
      break;
    default:
      break;
  }
  require("src_buff");
  require("dst_buff");
}

/// The members that mean something to an op.
std::vector<std::string_view> members_of(OpType type) {
  switch (type) {
    case OpType::Nop:
      return {};
    case OpType::Barrier:
      return {"barrier_id", "num_threadblocks"};
    case OpType::Signal:
    case OpType::RelaxedSignal:
    case OpType::Wait:
    case OpType::RelaxedWait:
    case OpType::Flush:
      return {"channel_ids", "channel_type"};
    case OpType::SemaphoreRelease:
    case OpType::SemaphoreAcquire:
      return {"semaphore_ids"};
    case OpType::Pipeline:
      return {"iter_context", "ops"};
    case OpType::Reduce:
    case OpType::ReduceSend:
    case OpType::ReadReduce:
    case OpType::ReadReduceSend:
    case OpType::ReducePackets:
    case OpType::ReduceSendPackets:
    case OpType::ReduceCopyPackets:
    case OpType::ReduceCopySendPackets:
    case OpType::GroupLoadReduceStore:
      return {"src_buff", "dst_buff", "channel_ids", "channel_type", "tbg_info", "reduce_op"};
    default:
      return {"src_buff", "dst_buff", "channel_ids", "channel_type", "tbg_info"};
  }
}

/// The executor computes sums, whatever is asked for.
void expect_sum(const JsonValue& reduction) {
  const std::string& name = reduction.string("\"reduce_op\"");
  if (name == "sum") return;
  reduction.fail(
      fmt::format("the reduction is \"{}\", expected sum, the only one that the "
                  "executor computes",
                  name));
}

Op op_of(const JsonValue& value, std::size_t gpu, bool in_pipeline) {
  Op op;
  op.line = value.position().line;
  op.column = value.position().column;
  const JsonValue name = value.member("name", "an op");
  const auto type = op_type(name.string("the name of an op"));
  if (!type || (in_pipeline && *type == OpType::Pipeline)) {
    name.fail(fmt::format("the op \"{}\" is none that the executor runs{}", name.string("a name"),
                          in_pipeline ? " in a pipeline" : ""));
  }
  op.type = *type;
  require_members(value, op.type);
  expect_keys(value, members_of(op.type), fmt::format("the op {}", to_string(op.type)));
  op.sources = regions(value, "src_buff", gpu);
  op.targets = regions(value, "dst_buff", gpu);
  if (const auto given = value.find("channel_type")) {
    if (given->string("a channel type") != "none") op.channel_type = channel_type(*given);
  }
  if (const auto given = value.find("reduce_op")) expect_sum(*given);
  if (value.find("channel_ids")) op.channels = ids(value, "channel_ids");
  if (value.find("semaphore_ids")) op.semaphores = ids(value, "semaphore_ids");
  if (const auto group = value.find("tbg_info")) {
    op.group_member = member_number(*group, "tb_id", 0, kMaxId);
    op.group_size = member_number(*group, "tbg_size", 1, kMaxId);
    expect_keys(*group, {"tb_id", "tbg_size"}, "\"tbg_info\"");
  }
  if (const auto given = value.find("barrier_id")) {
    op.barrier = number_of(*given, "\"barrier_id\"", 0, kMaxId);
  }
  if (const auto given = value.find("num_threadblocks")) {
    op.barrier_blocks = number_of(*given, "\"num_threadblocks\"", 0, kMaxId);
  }
  if (op.type == OpType::Pipeline) {
    const JsonValue context = value.member("iter_context", "a pipeline");
    op.unit_size = static_cast<std::uint64_t>(
        context.member("unit_size", "\"iter_context\"").integer("\"unit_size\"", 1, kMaxUnit));
    op.num_chunks = member_number(context, "num_chunks", 0, kMaxChunks);
    expect_keys(context, {"unit_size", "num_chunks"}, "\"iter_context\"");
    for (const JsonValue& each : value.member("ops", "a pipeline").array("\"ops\"")) {
      op.body.push_back(op_of(each, gpu, true));
    }
  }
  return op;
}

References references(const JsonValue& value, const char* type, const char* list) {
  expect_keys(value, {type, list, "buff"}, "an object of a thread block");
  if (const auto held = value.find("buff")) buffer(*held);  // of a channel: nothing depends on it
  return {channel_type(value.member(type, "an object of a thread block")), ids(value, list)};
}

ThreadBlock block_of(const JsonValue& value, std::size_t gpu, std::size_t position) {
  ThreadBlock block;
  const JsonValue id = value.member("id", "a thread block");
  id.integer("the id of a thread block, its position,", static_cast<std::int64_t>(position),
             static_cast<std::int64_t>(position));
  for (const JsonValue& each : value.member("ops", "a thread block").array("\"ops\"")) {
    block.ops.push_back(op_of(each, gpu, false));
  }
  for (const JsonValue& each : value.member("channels", "a thread block").array("\"channels\"")) {
    block.channels.push_back(references(each, "channel_type", "channel_ids"));
  }
  if (const auto refs = value.find("remote_buffer_refs")) {
    for (const JsonValue& each : refs->array("\"remote_buffer_refs\"")) {
      block.remote_buffers.push_back(references(each, "access_channel_type", "remote_buffer_ids"));
    }
  }
  expect_keys(value, {"id", "ops", "channels", "remote_buffer_refs"}, "a thread block");
  return block;
}

void read_channel(const JsonValue& value, Gpu& gpu) {
  const ChannelType type = channel_type(value.member("channel_type", "a channel"));
  if (type != ChannelType::Switch) {
    const std::vector<std::uint32_t> peers = ids(value, "connected_to");
    std::vector<std::uint32_t>& all =
        type == ChannelType::Memory ? gpu.memory_peers : gpu.port_peers;
    all.insert(all.end(), peers.begin(), peers.end());
    return expect_keys(value, {"channel_type", "connected_to"}, "a channel");
  }
  const Buffer held = buffer(value.member("buffer_type", "a switch channel"));
  for (const JsonValue& group :
       value.member("rank_groups", "a switch channel").array("\"rank_groups\"")) {
    gpu.switches.push_back({held, ids(group, "ranks")});
    const auto ranks = static_cast<std::int64_t>(gpu.switches.back().ranks.size());
    group.member("size", "a rank group")
        .integer("\"size\", the number of its ranks,", ranks, ranks);
    expect_keys(group, {"size", "ranks"}, "a rank group");
  }
  expect_keys(value, {"channel_type", "buffer_type", "rank_groups"}, "a switch channel");
}

Gpu gpu_of(const JsonValue& value, std::size_t position) {
  Gpu gpu;
  const JsonValue id = value.member("id", "a GPU");
  id.integer("the id of a GPU, its position,", static_cast<std::int64_t>(position),
             static_cast<std::int64_t>(position));
  gpu.input_chunks = member_number(value, "input_chunks", 0, kMaxChunks);
  gpu.output_chunks = member_number(value, "output_chunks", 0, kMaxChunks);
  gpu.scratch_chunks = member_number(value, "scratch_chunks", 0, kMaxChunks);
  for (const JsonValue& each : value.member("channels", "a GPU").array("\"channels\"")) {
    read_channel(each, gpu);
  }
  for (const JsonValue& each : value.member("remote_buffers", "a GPU").array("remote buffers")) {
    RemoteBuffer& remote = gpu.remote_buffers.emplace_back();
    remote.rank = member_number(each, "rank", 0, kMaxId);
    remote.buffer = buffer(each.member("type", "a remote buffer"));
    for (const JsonValue& type :
         each.member("access_channel_types", "a remote buffer").array("access_channel_types")) {
      remote.access.push_back(channel_type(type));
    }
    expect_keys(each, {"rank", "type", "access_channel_types"}, "a remote buffer");
  }
  if (const auto semaphores = value.find("semaphores")) {
    for (const JsonValue& each : semaphores->array("\"semaphores\"")) {
      gpu.semaphores.push_back(member_number(each, "init_value", 0, kMaxId));
      expect_keys(each, {"init_value"}, "a semaphore");
    }
  }
  const auto blocks = value.member("threadblocks", "a GPU").array("\"threadblocks\"");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    gpu.blocks.push_back(block_of(blocks[i], position, i));
  }
  expect_keys(value,
              {"id", "input_chunks", "output_chunks", "scratch_chunks", "threadblocks", "channels",
               "remote_buffers", "semaphores"},
              "a GPU");
  return gpu;
}

Plan plan_of(const JsonValue& root) {
  Plan plan;
  plan.name = root.member("name", "the plan").string("\"name\"");
  plan.collective = root.member("collective", "the plan").string("\"collective\"");
  plan.protocol = root.member("protocol", "the plan").string("\"protocol\"");
  plan.in_place = root.member("inplace", "the plan").boolean("\"inplace\"");
  const auto flag = [&](const char* key, bool& value) {
    if (const auto given = root.find(key)) value = given->boolean(key);
  };
  flag("reuse_resources", plan.reuses_resources);
  flag("use_double_scratch_buffer", plan.double_scratch);
  if (const auto given = root.find("num_threads_per_block")) {
    plan.threads = number_of(*given, "\"num_threads_per_block\"", 1, kMaxId);
  }
  if (const auto given = root.find("buffer_alignment")) {
    plan.alignment = number_of(*given, "\"buffer_alignment\"", 1, kMaxId);
  }
  if (const auto given = root.find("min_message_size")) {
    plan.min_bytes = given->size("\"min_message_size\"");
  }
  if (const auto given = root.find("max_message_size")) {
    plan.max_bytes = given->size("\"max_message_size\"");
  }
  const auto gpus = root.member("gpus", "the plan").array("\"gpus\"");
  if (gpus.empty() || gpus.size() > kMaxRanks) {
    root.member("gpus", "the plan")
        .fail(fmt::format("{} GPUs, expected 1 to {}", gpus.size(), kMaxRanks));
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) plan.gpus.push_back(gpu_of(gpus[i], i));
  expect_keys(
      root,
      {"collective", "protocol", "inplace", "reuse_resources", "gpus", "num_threads_per_block",
       "use_double_scratch_buffer", "buffer_alignment", "min_message_size", "max_message_size"},
      "the plan");
  return plan;
}

// Writing

std::string list(const std::vector<std::uint32_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

std::string region_json(const Region& region) {
  std::string text;
  switch (region.kind) {
    case Region::Kind::Own:
      text = fmt::format("\"type\":\"{}\"", letter(region.buffer));
      break;
    case Region::Kind::Remote:
      text = fmt::format("\"buffer_id\":{}", region.id);
      break;
    case Region::Kind::Switch:
      text = fmt::format("\"switch_channel_id\":{}", region.id);
      break;
  }
  return fmt::format("{{{},\"index\":{},\"size\":{}}}", text, region.index, region.size);
}

template <typename Range, typename Each>
std::string joined(const Range& range, const char* separator, Each each) {
  std::string text;
  for (const auto& element : range) {
    if (!text.empty()) text += separator;
    text += each(element);
  }
  return text;
}

std::string op_json(const Op& op) {
  std::string text = fmt::format("{{\"name\":\"{}\"", to_string(op.type));
  if (op.type == OpType::Pipeline) {
    text += fmt::format(",\"iter_context\":{{\"unit_size\":{},\"num_chunks\":{}}},\"ops\":[\n{}]",
                        op.unit_size, op.num_chunks, joined(op.body, ",\n", op_json));
  }
  if (!op.sources.empty()) text += ",\"src_buff\":[" + joined(op.sources, ",", region_json) + "]";
  if (!op.targets.empty()) text += ",\"dst_buff\":[" + joined(op.targets, ",", region_json) + "]";
  if (!op.channels.empty()) text += ",\"channel_ids\":" + list(op.channels);
  if (op.channel_type != ChannelType::None) {
    text += fmt::format(",\"channel_type\":\"{}\"", to_string(op.channel_type));
  }
  if (op.group_size > 1) {
    text += fmt::format(",\"tbg_info\":{{\"tb_id\":{},\"tbg_size\":{}}}", op.group_member,
                        op.group_size);
  }
  if (op.type == OpType::Barrier) {
    text +=
        fmt::format(",\"barrier_id\":{},\"num_threadblocks\":{}", op.barrier, op.barrier_blocks);
  }
  if (!op.semaphores.empty()) text += ",\"semaphore_ids\":" + list(op.semaphores);
  return text + "}";
}

std::string references_json(const References& refs, const char* type, const char* ids_name) {
  return fmt::format("{{\"{}\":\"{}\",\"{}\":{}}}", type, to_string(refs.type), ids_name,
                     list(refs.ids));
}

std::string block_json(const ThreadBlock& block, std::size_t id) {
  return fmt::format("{{\"id\":{},\"ops\":[\n{}],\"channels\":[{}],\"remote_buffer_refs\":[{}]}}",
                     id, joined(block.ops, ",\n", op_json),
                     joined(block.channels, ",",
                            [](const References& refs) {
                              return references_json(refs, "channel_type", "channel_ids");
                            }),
                     joined(block.remote_buffers, ",", [](const References& refs) {
                       return references_json(refs, "access_channel_type", "remote_buffer_ids");
                     }));
}

std::string channels_json(const Gpu& gpu) {
  std::vector<std::string> all;
  const auto add = [&](const char* type, const std::vector<std::uint32_t>& peers) {
    if (!peers.empty()) {
      all.push_back(
          fmt::format("{{\"channel_type\":\"{}\",\"connected_to\":{}}}", type, list(peers)));
    }
  };
  add("memory", gpu.memory_peers);
  add("port", gpu.port_peers);
  for (const SwitchChannel& each : gpu.switches) {
    all.push_back(
        fmt::format("{{\"channel_type\":\"switch\",\"buffer_type\":\"{}\",\"rank_groups\":"
                    "[{{\"size\":{},\"ranks\":{}}}]}}",
                    letter(each.buffer), each.ranks.size(), list(each.ranks)));
  }
  return fmt::format("{}", fmt::join(all, ","));
}

std::string gpu_json(const Gpu& gpu, std::size_t id) {
  std::string text = fmt::format(
      "{{\"id\":{},\"input_chunks\":{},\"output_chunks\":{},\"scratch_chunks\":{},"
      "\"threadblocks\":[",
      id, gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks);
  for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
    text += (b == 0 ? "" : ",") + block_json(gpu.blocks[b], b);
  }
  const auto remote = [](const RemoteBuffer& each) {
    return fmt::format("{{\"rank\":{},\"type\":\"{}\",\"access_channel_types\":[{}]}}", each.rank,
                       letter(each.buffer), joined(each.access, ",", [](ChannelType type) {
                         return fmt::format("\"{}\"", to_string(type));
                       }));
  };
  const auto semaphore = [](std::uint32_t value) {
    return fmt::format("{{\"init_value\":{}}}", value);
  };
  return text + fmt::format("],\"channels\":[{}],\"remote_buffers\":[{}],\"semaphores\":[{}]}}",
                            channels_json(gpu), joined(gpu.remote_buffers, ",", remote),
                            joined(gpu.semaphores, ",", semaphore));
}

}  // namespace

bool is_plan_json(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return false;
  // Of the text's top-level keys: a whole parse would cost as much as reading the plan.
  constexpr std::string_view kKeys[] = {"\"gpus\"",
                                        "\"inplace\"",
                                        "\"protocol\"",
                                        "\"collective\"",
                                        "\"reuse_resources\"",
                                        "\"num_threads_per_block\"",
                                        "\"use_double_scratch_buffer\""};
  int found = 0;
  for (const std::string_view key : kKeys)
    found += text.find(key) != std::string_view::npos ? 1 : 0;
  return found >= 2;
}

std::variant<Plan, Violation> read_plan(const std::string& source, const std::string& text) {
  const JsonDocument document(source, text);
  const JsonValue root = document.root();
  if (!root.is_object()) root.fail("the plan is not an object, expected { … }");
  try {
    return plan_of(root);
  } catch (const InputError& error) {
    Violation violation;
    violation.reason = error.message() + ".";
    violation.happenings.push_back({"the plan", error.where()});
    return violation;
  }
}

std::string to_json(const Plan& plan) {
  std::string text = fmt::format(
      "{{\"name\":{},\"collective\":{},\"protocol\":{},\"inplace\":{},\"reuse_resources\":{},"
      "\"gpus\":[",
      json_string(plan.name), json_string(plan.collective), json_string(plan.protocol),
      plan.in_place, plan.reuses_resources);
  for (std::size_t r = 0; r < plan.gpus.size(); ++r) {
    text += (r == 0 ? "" : ",") + gpu_json(plan.gpus[r], r);
  }
  return text + fmt::format(
                    "],\"num_threads_per_block\":{},\"use_double_scratch_buffer\":{},"
                    "\"buffer_alignment\":{},\"min_message_size\":{},"
                    "\"max_message_size\":{}}}\n",
                    plan.threads, plan.double_scratch, plan.alignment, plan.min_bytes,
                    plan.max_bytes);
}

}  // namespace p2::onesided
