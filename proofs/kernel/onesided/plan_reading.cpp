#include <algorithm>
#include <numeric>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/onesided/plan.h"

namespace p2::kernel::plan {

[[noreturn]] void fail(const std::string& text) { throw Fault{text}; }
[[noreturn]] void leave_open(const std::string& why) {
  throw CheckFailure(Verdict::Incomplete, why);
}

// What the executor refuses is a fault of the plan, not of the certificate.

const Json& member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) fail(std::string("a plan without ") + key);
  return object[key];
}
void expect_only(const Json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key) && key != "name" && key != "comment" && key != "description")
      fail("a plan with a member that means nothing: " + shortened(key));
  }
}
std::uint64_t number(const Json& value, const char* what, std::uint64_t end) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= end)
    fail(std::string(what) + " is not a number below " + std::to_string(end));
  return value.get<std::uint64_t>();
}
std::uint32_t number(const Json& object, const char* key) {
  return static_cast<std::uint32_t>(number(member(object, key), key, 1U << 24U));
}
std::uint64_t number_or(const Json& object, const char* key, std::uint64_t otherwise,
                        std::uint64_t end) {
  return object.contains(key) ? number(object[key], key, end) : otherwise;
}
const std::string& text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) fail(std::string(key) + " is not a text");
  return value.get_ref<const std::string&>();
}
bool flag(const Json& value, const char* key) {
  if (!value.is_boolean()) fail(std::string(key) + " is neither true nor false");
  return value.get<bool>();
}
const List& list(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_array()) fail(std::string(key) + " is not a list");
  return value.get_ref<const List&>();
}
const List& list_or_none(const Json& object, const char* key) {
  static const List none;
  return object.contains(key) ? list(object, key) : none;
}
Numbers numbers(const Json& object, const char* key) {
  Numbers all;
  for (const Json& each : list(object, key))
    all.push_back(static_cast<std::uint32_t>(number(each, key, 1U << 24U)));
  return all;
}
bool is_channel(const Json& type) { return type == "memory" || type == "port" || type == "switch"; }
char buffer(const Json& object, const char* key) {
  const std::string& name = text(object, key);
  if (name != "i" && name != "o" && name != "s") fail("a buffer that is not i, o or s");
  return name[0];
}

void for_each_op(const Json& plan, const std::function<void(const Json& op)>& visit) {
  for (const Json& gpu : list(plan, "gpus")) {
    for (const Json& block : list(gpu, "threadblocks")) {
      for (const Json& op : list(block, "ops")) {
        visit(op);
        if (text(op, "name") == "pipeline") std::ranges::for_each(list(op, "ops"), visit);
      }
    }
  }
}

std::uint64_t unit_of(const Json& plan) {
  std::uint64_t unit = 0;
  for_each_op(plan, [&](const Json& op) {
    if (text(op, "name") != "pipeline") return;
    const Json& context = member(op, "iter_context");
    expect_only(context, {"unit_size", "num_chunks"});
    const std::uint64_t own = number(member(context, "unit_size"), "unit_size", 1ULL << 40U);
    if (own == 0) fail("a pipeline with rounds of no bytes");
    if (number(context, "num_chunks") != 1 || (unit != 0 && unit != own))
      leave_open("pipelines of several chunks, or with different numbers of rounds");
    unit = own;
  });
  return unit;
}

Unroller::Unroller(const Json& plan, std::uint32_t chunk, Budget& budget)
    : Launches(chunk, budget), plan_(plan) {
  text(plan, "name");
  for (const char* key : {"num_threads_per_block", "buffer_alignment"})
    if (number_or(plan, key, 1) == 0) fail(std::string(key) + " is 0");
  for (const char* key : {"min_message_size", "max_message_size"})
    if (plan.contains(key) && !plan[key].is_number_unsigned())
      fail(std::string(key) + " is no number");
  if (plan.contains("reuse_resources")) flag(plan["reuse_resources"], "reuse_resources");
  collective_ = text(plan, "collective");
  packets_ = text(plan, "protocol") == "LL";
  in_place_ = flag(member(plan, "inplace"), "inplace");
  doubled_ = plan.contains("use_double_scratch_buffer") &&
             flag(plan["use_double_scratch_buffer"], "use_double_scratch_buffer");
  if (doubled_) launches_ = 4;
  const auto ranks = static_cast<std::uint32_t>(list(plan, "gpus").size());
  if (ranks == 0 || ranks > 4096) fail("a plan without GPUs, or with more than 4096");
  gpus_.resize(ranks);
  numbers_.resize(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) read_gpu(r);
  expect_only(plan, {"collective", "protocol", "inplace", "reuse_resources", "gpus",
                     "num_threads_per_block", "use_double_scratch_buffer", "buffer_alignment",
                     "min_message_size", "max_message_size"});
  pair_channels();
  has_pipelines_ = unit_of(plan) != 0;
  const std::string& name = collective_;
  const std::uint32_t cells = name == "allgather" ? out_.users[0].outputs : out_.users[0].inputs;
  const std::uint64_t unit =
      number_or(plan, "buffer_alignment", 16) * std::max<std::uint64_t>(1, cells / chunk);
  const std::uint64_t most = plan.value("max_message_size", ~std::uint64_t{0}) / unit;
  if (most == 0 || plan.value("min_message_size", std::uint64_t{0}) > most * unit)
    fail("a plan for no message");
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const UserCells& user = out_.users[r];
    const bool alike = user.inputs == out_.users[0].inputs;
    const bool same = alike && user.inputs == user.outputs;
    const bool right = name == "allgather"       ? user.outputs == user.inputs * ranks && alike
                       : name == "reducescatter" ? user.inputs == user.outputs * ranks && alike
                       : name == "alltoall"      ? same && user.inputs % (ranks * chunk) == 0
                       : name == "allreduce" || name == "broadcast" || name == "sendrecv" ? same
                                                                                          : true;
    if (!right) fail("the sizes of input and output are not those of the collective");
  }
  out_.set_goal(has_goal(collective_) ? collective_ : "", 0);
}

void Unroller::read_gpu(std::uint32_t rank) {
  const Json& json = list(plan_, "gpus")[rank];
  Gpu& gpu = gpus_[rank];
  if (number(json, "id") != rank) fail("the id of a GPU is not its position");
  for (std::uint32_t b = 0; b < list(json, "threadblocks").size(); ++b) numbers_[rank].insert(b);
  for (const Json& channel : list(json, "channels")) {
    const std::string& type = text(channel, "channel_type");
    if (type == "switch") {
      const char held = buffer(channel, "buffer_type");
      for (const Json& group : list(channel, "rank_groups")) {
        gpu.switches.emplace_back(held, numbers(group, "ranks"));
        const Numbers& all = gpu.switches.back().second;
        if (number(group, "size") != all.size()) fail("a switch that is not of its size");
        expect_only(group, {"size", "ranks"});
        if (all.empty() || std::ranges::max(all) >= gpus_.size()) fail("a switch without ranks");
      }
      expect_only(channel, {"channel_type", "buffer_type", "rank_groups"});
    } else if (type == "memory" || type == "port") {
      for (const std::uint32_t peer : numbers(channel, "connected_to")) {
        if (peer >= gpus_.size()) fail("a channel to a rank that does not exist");
        gpu.channels[type].push_back({peer});
      }
      expect_only(channel, {"channel_type", "connected_to"});
    } else {
      fail("a channel that is not memory, port or switch");
    }
  }
  for (const Json& remote : list(json, "remote_buffers")) {
    if (number(remote, "rank") >= gpus_.size()) fail("a buffer of a rank that does not exist");
    buffer(remote, "type");
    const List& access = list(remote, "access_channel_types");
    if (!std::ranges::all_of(access, is_channel)) fail("a buffer for channels of no type");
    if (access.size() > 8) leave_open("many types of a buffer");
    expect_only(remote, {"rank", "type", "access_channel_types"});
  }
  for (const Json& semaphore : list_or_none(json, "semaphores")) {
    gpu.semaphores.push_back(static_cast<std::uint32_t>(counters_.size()));
    counters_.push_back({number(semaphore, "init_value")});
    expect_only(semaphore, {"init_value"});
  }
  expect_only(json, {"id", "input_chunks", "output_chunks", "scratch_chunks", "threadblocks",
                     "channels", "remote_buffers", "semaphores"});
  const std::uint64_t in = number(json, "input_chunks") * chunk_;
  const std::uint64_t out = number(json, "output_chunks") * chunk_;
  const std::uint64_t scratch = number(json, "scratch_chunks") * chunk_ * (packets_ ? 2 : 1);
  if (in + out + scratch > (1U << 24U)) leave_open("the plan has too many chunks");
  const bool joint = in_place_ && collective_ != "allgather" && collective_ != "reducescatter";
  if (joint && in != out && in != 0 && out != 0) fail("input and output in place differ in size");
  const UserCells user = out_.add_user(collective_, in_place_, in, out);
  gpu.first = {{'i', user.input},
               {'o', user.output},
               {'s', out_.add_space(rank, "s", scratch * (doubled_ ? 2 : 1), false)}};
  gpu.cells = {{'i', user.inputs}, {'o', user.outputs}, {'s', scratch}};
}

/// The k-th channel of a type from a to b is the other end of the k-th of that type from b to a.
void Unroller::pair_channels() {
  for (const char* type : {"memory", "port"}) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Channel*>> all;
    for (std::uint32_t r = 0; r < gpus_.size(); ++r) {
      for (Channel& channel : gpus_[r].channels[type]) {
        all[{r, channel.peer}].push_back(&channel);
        channel.out = static_cast<std::uint32_t>(counters_.size());
        counters_.resize(counters_.size() + 2);
        channel.in = channel.out + 1;  // without another end
        channel.queue = static_cast<std::uint32_t>(queues_.size());
        queues_.emplace_back();
      }
    }
    for (const auto& [ends, own] : all) {
      const auto other = all.find({ends.second, ends.first});
      if (other == all.end()) continue;
      for (std::size_t k = 0; k < std::min(own.size(), other->second.size()); ++k)
        own[k]->in = other->second[k]->out;
    }
  }
}

std::uint32_t Unroller::listed(const Place& at, const char* lists, const char* type_key,
                               const char* ids, const std::string& type,
                               std::uint64_t position) const {
  const Json& block = list(list(plan_, "gpus")[at.rank], "threadblocks")[at.block];
  for (const Json& each : list_or_none(block, lists)) {
    if (text(each, type_key) != type) continue;
    const Numbers all = numbers(each, ids);
    if (position < all.size()) return all[position];
    position -= all.size();
  }
  fail(at.name + " names what its thread block does not have");
}

/// What a thread block lists exists, and fits into the executor.
void Unroller::check_block(const Json& block, std::uint32_t rank) const {
  std::size_t ops = list(block, "ops").size();
  for (const Json& op : list(block, "ops")) ops += list_or_none(op, "ops").size();
  if (ops > 64) fail("more ops than the executor has room for");
  const Gpu& gpu = gpus_[rank];
  const auto check = [&](const char* lists, const char* type_key, const char* ids) {
    std::map<std::string, std::size_t> counts;
    if (list_or_none(block, lists).size() > 64) leave_open("long lists of a thread block");
    for (const Json& each : list_or_none(block, lists)) {
      const std::string& type = text(each, type_key);
      if (!is_channel(type)) fail("a list of no channels");
      if (each.contains("buff")) buffer(each, "buff");  // on which nothing depends
      expect_only(each, {type_key, ids, "buff"});
      const auto found = gpu.channels.find(type);
      std::size_t has = type == "switch"              ? gpu.switches.size()
                        : found == gpu.channels.end() ? 0
                                                      : found->second.size();
      if (std::string(lists) == "remote_buffer_refs")
        has = list(list(plan_, "gpus")[rank], "remote_buffers").size();
      for (const std::uint32_t id : numbers(each, ids))
        if (id >= has) fail("a thread block lists what its GPU does not have");
      if ((counts[type] += numbers(each, ids).size()) > 16)
        fail("a thread block lists more than the executor has room for");
    }
  };
  list(block, "channels");
  check("channels", "channel_type", "channel_ids");
  check("remote_buffer_refs", "access_channel_type", "remote_buffer_ids");
  expect_only(block, {"id", "ops", "channels", "remote_buffer_refs"});
}

bool has_goal(const std::string& collective) {
  static const std::set<std::string> known = {"allreduce", "allgather", "reducescatter",
                                              "alltoall",  "broadcast", "sendrecv"};
  return known.contains(collective);
}

namespace {

constexpr std::uint32_t kInterleavings = 256;

constexpr std::uint32_t kMaxChunk = 1U << 12U;  // units of the alignment

/// The least common multiple of the sizes of groups of thread blocks.
std::uint64_t common_multiple(const Json& plan) {
  std::uint64_t multiple = 1;
  for_each_op(plan, [&](const Json& op) {
    if (!op.contains("tbg_info")) return;
    const std::uint32_t size = number(op["tbg_info"], "tbg_size");
    if (size == 0) fail("a group of no thread blocks");
    multiple = std::lcm(multiple, std::uint64_t{size});
    if (multiple > 64) leave_open("groups of many thread blocks");
  });
  return multiple;
}

/// A plan in the text format is an object with the text.
bool is_text(const Json& plan) { return plan.is_object() && plan.contains("text"); }

/// The sizes of chunks, in units of the alignment or rounds of pipelines, that stand for all
/// (docs/certificates.md).
Numbers sizes_of(const Json& plan) {
  if (is_text(plan)) return {1};
  const std::uint64_t multiple = common_multiple(plan);
  Numbers sizes(unit_of(plan) != 0 ? 3 : multiple == 1 ? 1 : multiple * (multiple + 1));
  std::iota(sizes.begin(), sizes.end(), 1);
  return sizes;
}

/// Whether the plan is for messages with chunks of so many units of the alignment, or rounds.
/// Precondition: it was unrolled.
bool is_for(const Json& plan, std::uint64_t chunk) {
  const Json& gpu = list(plan, "gpus")[0];
  const bool of_output =
      text(plan, "collective") == "allgather" || number(gpu, "input_chunks") == 0;
  const std::uint64_t alignment = number_or(plan, "buffer_alignment", 16);
  const std::uint64_t chunks = number(gpu, of_output ? "output_chunks" : "input_chunks");
  const std::uint64_t bytes = alignment * std::max<std::uint64_t>(1, chunks);  // of one unit each
  const std::uint64_t round = unit_of(plan);
  const std::uint64_t least = round == 0 ? chunk : (chunk - 1) * round / alignment + 1;
  const std::uint64_t most = round == 0 ? chunk : chunk * round / alignment;
  const std::uint64_t low = plan.value("min_message_size", std::uint64_t{0});
  const std::uint64_t high = plan.value("max_message_size", ~std::uint64_t{0});
  return std::max(least, low / bytes + (low % bytes != 0 ? 1 : 0)) <= std::min(most, high / bytes);
}

/// The first fault with chunks of so many units. `words`: the plan.
std::optional<Fault> find_fault(const Json& plan, std::uint32_t chunk, bool surely,
                                Interleaving& drawn, Budget& budget, std::string& words) try {
  if (is_text(plan)) return find_text_fault(as_text(plan["text"]), surely, drawn, budget, words);
  Unroller unroller(plan, chunk, budget);
  Execution execution = unroller.take();
  drawn.matters = !execution.shared.empty();
  if (!surely && drawn.matters && unit_of(plan) != 0)
    leave_open("pipelines, and signals that end waits as the interleaving has it");
  auto fault = execution.find_fault(surely, drawn.seed);
  if (!surely && !fault && !unroller.rounds_differ().empty())
    leave_open("more rounds of pipelines may differ: " + unroller.rounds_differ());
  const bool stands_for_all = sizes_of(plan).size() == 1 && execution.separates_packets(chunk);
  if (surely && fault && !stands_for_all && !is_for(plan, chunk))
    leave_open("the plan is not for messages of this size");
  if (!surely && !execution.separates_packets(chunk))
    leave_open("scratch is used for packets and for what is none, so that sizes differ");
  return fault;
} catch (const Fault& fault) {
  return fault;
}

std::string words_of(const Json& plan) {
  if (is_text(plan) || !plan.is_object()) return "the one-sided plan";
  const auto value = [&](const char* key) { return plan.value(key, Json()); };
  const auto quoted = [&](const char* key) { return shortened(value(key).dump(-1, ' ', true)); };
  return "the one-sided plan " + quoted("name") + " (" + quoted("collective") + ", " +
         counted(value("gpus").size(), "rank") +
         (value("inplace") == true ? ", in place)" : ", out of place)");
}

}  // namespace
}  // namespace p2::kernel::plan

namespace p2::kernel {

using namespace plan;

std::string judge_onesided(const std::string& claim, const Json& statement, const Files& files) {
  const Json& plan = statement["plan.json"];
  if (is_text(plan)) expect_keys(plan, {"text"});
  std::string words = words_of(plan);
  Budget budget;
  if (claim == "onesided-invalid") {
    const Json root = parse_json(files, "fault.json");
    Interleaving drawn;
    const bool has_seed = root.is_object() && root.contains("interleaving");
    expect_keys(root, has_seed ? std::vector<std::string>{"chunk", "fault", "interleaving"}
                               : std::vector<std::string>{"chunk", "fault"});
    if (has_seed) drawn.seed = as_number(root["interleaving"], kInterleavings);
    const std::uint32_t chunk = as_number(root["chunk"], is_text(plan) ? 2 : kMaxChunk);
    if (chunk == 0) malformed("chunks of no units");
    const auto fault = find_fault(plan, chunk, true, drawn, budget, words);
    if (!fault) reject("the plan has no such fault");
    if (fault->text != as_text(root["fault"]))
      reject("the plan's first fault is another one: " + shortened(fault->text));
    if (!is_text(plan)) words += " with chunks of " + counted(chunk, "unit");
    return words + " is wrong: " + shortened(fault->text);
  }
  try {
    if (!is_text(plan) && !has_goal(text(plan, "collective")))
      reject("no result is known for the collective");
    for (const std::uint32_t chunk : sizes_of(plan)) {
      Interleaving any;
      const auto fault = find_fault(plan, chunk, false, any, budget, words);
      if (fault) reject("with chunks of " + counted(chunk, "unit") + ": " + shortened(fault->text));
    }
  } catch (const Fault& fault) {
    reject(shortened(fault.text));
  }
  return words +
         " has the right result, no race and no deadlock in every interleaving of any number of "
         "launches" +
         (is_text(plan) ? "" : ", for all sizes of chunks") +
         ", if release and acquire order memory, launches of a rank follow each other, and nobody "
         "else uses its scratch";
}

std::string onesided_fault(const Files& files) try {
  const Json plan = parse_json(files, "plan.json");
  Budget budget;
  std::uint32_t least = 1;  // that messages have
  if (!is_text(plan)) {
    const Unroller smallest(plan, 1, budget);  // or a fault whatever the size
    while (least < kMaxChunk && !is_for(plan, least)) ++least;
  }
  std::string words;
  for (std::uint32_t chunk : sizes_of(plan)) {
    if (least < kMaxChunk / 2) chunk += least - 1;
    Interleaving drawn;
    do {
      Budget own;
      const auto fault = find_fault(plan, chunk, true, drawn, own, words);
      Json found = {{"chunk", chunk}, {"fault", fault ? fault->text : ""}};
      if (drawn.seed != 0) found["interleaving"] = drawn.seed;
      if (fault) return found.dump() + "\n";
    } while (drawn.matters && ++drawn.seed < kInterleavings);
  }
  return "";
} catch (const Fault& fault) {
  return Json({{"chunk", 1}, {"fault", fault.text}}).dump() + "\n";
}

}  // namespace p2::kernel
