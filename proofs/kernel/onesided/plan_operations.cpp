#include <algorithm>

#include "proofs/kernel/onesided/plan.h"

namespace p2::kernel::plan {
namespace {

const std::map<std::string, Form> kForms = {
    {"put", {"o+o", "r+r", true}}, {"pws", {"o+o", "r+r", true}}, {"pwsf", {"o+o", "r+r", true}},
    {"get", {"r+r", "o+o", true}}, {"copy", {"o", "o"}},          {"re", {"o+o", "o"}},
    {"res", {"o+o", "o+r"}},       {"rre", {"o+r", "o"}},         {"rres", {"o+r", "o+r"}},
    {"cpkt", {"o", "O"}},          {"upkt", {"O", "o"}},          {"ppkt", {"o+o", "R+R", true}},
    {"rppkt", {"O", "R+R"}},       {"repkt", {"o+O", "o"}},       {"respkt", {"o+O", "o+R"}},
    {"recpkt", {"o+O", "oO"}},     {"recspkt", {"o+O", "oO+R"}},  {"gstore", {"o", "s"}},
    {"gstorepkt", {"O", "S"}},     {"glres", {"s", "s"}}};

const std::set<std::string> kDataMembers = {"src_buff",     "dst_buff", "channel_ids",
                                            "channel_type", "tbg_info", "reduce_op"};
const std::set<std::string> kReductions = {"re",     "res",    "rre",     "rres", "repkt",
                                           "respkt", "recpkt", "recspkt", "glres"};

/// The form of operand k; a fault where there can be none.
char form_of(const std::string& forms, std::size_t k) {
  const std::size_t more = forms.find('+');
  if (k < std::min(more, forms.size())) return forms[k];
  if (more == std::string::npos) fail("an op with too many operands");
  return forms[more + 1];
}

std::string name_of(const Json& op, std::uint32_t rank, std::uint32_t block,
                    const std::string& place, std::uint32_t launch) {
  return "gpu " + std::to_string(rank) + " tb " + std::to_string(block) + " op " + place + " (" +
         text(op, "name") + ") launch " + std::to_string(launch);
}

}  // namespace

Operand Unroller::operand(std::uint32_t rank, char held, const Json& region, char form,
                          const Place& at, bool port, bool remote) const {
  const Gpu& gpu = gpus_[rank];
  const bool packets = std::isupper(form) != 0;
  const std::uint64_t cells = number(region, "size") * chunk_;
  const auto start = [&](std::uint64_t member) {
    return member * (cells / group_.size) + std::min(member, cells % group_.size);
  };
  std::uint64_t length = start(std::uint64_t{group_.member} + 1) - start(group_.member);
  const std::uint64_t width = packets ? 2 : 1;
  std::uint64_t begin = (number(region, "index") * chunk_ + start(group_.member)) * width;
  if (has_pipelines_ && (packets || group_.size != 1))
    leave_open("pipelines, and packets or groups of thread blocks");
  if (in_round(at.position)) {
    if (cells != chunk_) leave_open("a pipeline with regions that are not a chunk");
    begin += at.position - 1;
    length = 1;
  }
  if (begin + length * width > gpu.cells.at(held)) fail(at.name + " is out of bounds");
  std::uint64_t first = gpu.first.at(held) + begin;
  // The half of the launch: honoured by packets, and plainly through memory in own scratch.
  if (doubled_ && at.launch % 2 == 1 && held == 's' && (packets || (!port && !remote)))
    first += gpu.cells.at('s');
  // In place a rank adds its own offset in a buffer of a peer.
  if (remote && in_place_ &&
      ((collective_ == "allgather" && held == 'i') ||
       (collective_ == "reducescatter" && held == 'o')))
    first = first + at.rank * gpu.cells.at(held) - rank * gpu.cells.at(held);
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(length), packets, false};
}

const Json& Unroller::remote_buffer(const Json& region, const Place& at,
                                    const std::string& type) const {
  const std::uint32_t id = listed(at, "remote_buffer_refs", "access_channel_type",
                                  "remote_buffer_ids", type, number(region, "buffer_id"));
  const Json& held = list(list(plan_, "gpus")[at.rank], "remote_buffers").at(id);
  const List& access = list(held, "access_channel_types");
  if (type != "memory" && type != "port") fail(at.name + " has no channel to a remote buffer");
  if (std::ranges::find(access, Json(type)) == access.end())
    fail(at.name + " names a remote buffer that is not registered for its channels");
  return held;
}

/// Appends operand k of an op: several where it is that of a switch.
void Unroller::add_operands(const Json& op, const char* key, const std::string& forms,
                            std::size_t k, const Place& at, const std::string& type,
                            std::vector<Operand>& out) {
  const Json& region = list(op, key)[k];
  const char form = form_of(forms, k);
  const bool port = type == "port";
  if (region.contains("type")) {
    expect_only(region, {"type", "index", "size", "rank"});
    if (number_or(region, "rank", at.rank) != at.rank)
      fail(at.name + " calls the buffer of another rank its own");
    if (std::tolower(form) != 'o') fail(at.name + " has an operand of the wrong kind");
    const std::string& name = text(op, "name");
    if (form == 'O' && std::string(key) == "src_buff" && name != "ppkt" && name != "gstorepkt" &&
        buffer(region, "type") != 's')
      fail(at.name + " reads packets that are not in scratch");
    out.push_back(operand(at.rank, buffer(region, "type"), region, form, at, port, false));
  } else if (region.contains("buffer_id")) {
    expect_only(region, {"buffer_id", "index", "size"});
    if (std::tolower(form) != 'r') fail(at.name + " has an operand of the wrong kind");
    const Json& held = remote_buffer(region, at, type);
    out.push_back(
        operand(number(held, "rank"), buffer(held, "type"), region, form, at, port, true));
  } else {
    expect_only(region, {"switch_channel_id", "index", "size"});
    if (std::tolower(form) != 's') fail(at.name + " has an operand of the wrong kind");
    const std::uint32_t id = listed(at, "channels", "channel_type", "channel_ids", "switch",
                                    number(region, "switch_channel_id"));
    const auto& [held, ranks] = gpus_[at.rank].switches.at(id);
    budget_.spend(16 * ranks.size());
    for (const std::uint32_t rank : ranks)
      out.push_back(operand(rank, held, region, form, at, port, true));
  }
}

/// An op that touches memory.
void Unroller::run_data(const Json& op, const Form& form, const Place& at) {
  const std::string& name = text(op, "name");
  const List& sources = list(op, "src_buff");
  const List& targets = list(op, "dst_buff");
  const std::string type = op.contains("channel_type") ? text(op, "channel_type") : "none";
  const auto fewest = [](const std::string& forms) {
    return std::min(forms.find('+'), forms.size());
  };
  if (sources.size() < fewest(form.sources) || targets.size() < fewest(form.targets))
    fail(at.name + " lacks operands");
  if (form.pairwise && sources.size() != targets.size())
    fail(at.name + " has not as many targets as sources");
  for (std::size_t k = 0; k < std::max(sources.size(), targets.size()); ++k) {
    const std::uint32_t size = number(sources[form.pairwise ? k : 0], "size");
    for (const List* each : {&sources, &targets}) {
      if (k < each->size() && number((*each)[k], "size") != size)
        fail(at.name + " has regions of different sizes");
    }
  }
  const bool port = type == "port";
  const bool signals = name == "pws" || name == "pwsf";
  if ((signals && !port) ||
      (port && !signals && name != "put" && name != "ppkt" && name != "rppkt"))
    fail(at.name + " does not work on this type of channel");
  if (!port) {
    std::vector<Statement> statements(form.pairwise ? sources.size() : 1);
    for (std::size_t k = 0; k < sources.size(); ++k)
      add_operands(op, "src_buff", form.sources, k, at, type,
                   statements[form.pairwise ? k : 0].sources);
    for (std::size_t k = 0; k < targets.size(); ++k)
      add_operands(op, "dst_buff", form.targets, k, at, type,
                   statements[form.pairwise ? k : 0].targets);
    for (Statement& each : statements)
      for (Operand& source : each.sources) source.polled = source.packets;
    add(at, false, 0, std::move(statements), form.packets());
    return;
  }
  const std::string sent = form.packets() ? "O+O" : "o+o";
  if (name == "rppkt") {
    Statement poll;
    add_operands(op, "src_buff", sent, 0, at, type, poll.sources);
    poll.sources[0].polled = true;
    add(at, false, 0, {poll}, true);
    meet(at);
  }
  const Numbers channels = numbers(op, "channel_ids");
  if (channels.size() != targets.size()) fail(at.name + " has not a channel for every transfer");
  for (std::uint32_t j = 0; j < channels.size(); ++j) {
    const std::uint32_t id =
        listed(at, "channels", "channel_type", "channel_ids", type, channels[j]);
    const Channel& channel = gpus_[at.rank].channels[type].at(id);
    Statement statement;
    add_operands(op, "src_buff", sent, name == "rppkt" ? 0 : j, at, type, statement.sources);
    add_operands(op, "dst_buff", form.targets, j, at, type, statement.targets);
    statement.sources[0].polled = name == "rppkt";  // sent as it was seen
    if (number(remote_buffer(list(op, "dst_buff")[j], at, type), "rank") != channel.peer)
      fail(at.name + " writes to another rank than its channel leads to");
    push(at, j, channel.queue, {statement});
    if (signals) signal(at, j, channel, true, true);
    if (name == "pwsf") flush(at, j, channel.queue);
  }
}

void Unroller::count(const Place& at, std::uint32_t lane, std::uint32_t event,
                     std::uint32_t counter, bool waits, bool strong) {
  Use made = use(at, event, lane);
  if (strong) made.ordering = event;
  if (waits) made.number = ++counters_[counter].expected;
  (waits ? counters_[counter].waits : counters_[counter].signals).push_back(made);
}

/// Through a port it follows what was pushed before.
void Unroller::signal(const Place& at, std::uint32_t lane, const Channel& channel, bool port,
                      bool strong) {
  const std::uint32_t event = port ? push(at, lane, channel.queue, {}) : add(at, true, lane);
  count(at, lane, event, channel.out, false, port || strong);
}

void Unroller::pass_barrier(const Json& op, const Place& at) {
  const std::uint32_t blocks = number(op, "num_threadblocks");
  const std::uint32_t id = number(op, "barrier_id");
  if (id >= 16) fail(at.name + " is a barrier that the executor has no room for");
  if (blocks == 1) return meet(at);
  Barrier& barrier = barriers_[{at.rank, id}];
  if (barrier.blocks != 0 && barrier.blocks != blocks)
    fail(at.name + " expects other thread blocks at its barrier");
  barrier.blocks = blocks;
  pass(at, barrier);
}

void Unroller::run_pipeline(const Json& op, const Place& at, const std::string& place) {
  expect_only(op, {"iter_context", "ops"});
  if (at.position != 0) rounds_differ_ = "a thread block has several pipelines";
  const List& body = list(op, "ops");
  for (std::uint32_t round = 0; round < chunk_; ++round) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      const std::string inner = place + "." + std::to_string(k) + "#" + std::to_string(round);
      run_op(body[k], {at.rank, at.block, at.launch,
                       name_of(body[k], at.rank, at.block, inner, at.launch), round + 1});
    }
  }
}

void Unroller::run_op(const Json& op, const Place& at) {
  const std::string& name = text(op, "name");
  group_ = {};
  const auto form = kForms.find(name);
  const bool is_lane = name.ends_with("signal") || name.ends_with("wait") || name == "flush";
  expect_only(op, form != kForms.end() ? kDataMembers
                  : is_lane            ? std::set<std::string>{"channel_ids", "channel_type"}
                  : name == "barrier"  ? std::set<std::string>{"barrier_id", "num_threadblocks"}
                  : name == "nop"      ? std::set<std::string>{}
                                       : std::set<std::string>{"semaphore_ids"});
  if (op.contains("reduce_op") && (!kReductions.contains(name) || op["reduce_op"] != "sum"))
    fail(at.name + " is no reduction that is computed");
  if (op.contains("tbg_info")) {
    group_ = {number(op["tbg_info"], "tb_id"), number(op["tbg_info"], "tbg_size")};
    expect_only(op["tbg_info"], {"tb_id", "tbg_size"});
    if (group_.member >= group_.size) leave_open("a slice outside its group");
  }
  const std::string type = op.contains("channel_type") ? text(op, "channel_type") : "none";
  if (type != "none" && !is_channel(type)) fail(at.name + " has a channel of no type");
  const std::uint64_t threads = number_or(plan_, "num_threads_per_block", 1024);  // a lane each
  if (list_or_none(op, "channel_ids").size() > std::min<std::uint64_t>(8, threads) ||
      list_or_none(op, "semaphore_ids").size() > std::min<std::uint64_t>(16, threads))
    fail(at.name + " has more channels or semaphores than the executor has room for");
  if (form != kForms.end()) return run_data(op, form->second, at);
  if (name == "nop") return meet(at);
  if (name == "barrier") return pass_barrier(op, at);
  if (name == "sem_release" || name == "sem_acquire") {
    const Numbers ids = numbers(op, "semaphore_ids");
    for (std::uint32_t j = 0; j < ids.size(); ++j) {
      if (ids[j] >= gpus_[at.rank].semaphores.size()) fail(at.name + " names no semaphore");
      count(at, j, add(at, true, j), gpus_[at.rank].semaphores[ids[j]], name == "sem_acquire",
            true);
    }
    return;
  }
  const bool signals = name == "signal" || name == "rlxsignal";
  if (!signals && name != "wait" && name != "rlxwait" && name != "flush")
    fail("an op " + name + " that the executor does not run");
  const bool strong = name == "signal" || name == "wait";
  const bool port = type == "port";
  if (!port && (type != "memory" || name == "flush"))
    fail(at.name + " does not work on this type of channel");
  const Numbers ids = numbers(op, "channel_ids");
  for (std::uint32_t j = 0; j < ids.size(); ++j) {
    const Channel& channel = gpus_[at.rank].channels[type].at(
        listed(at, "channels", "channel_type", "channel_ids", type, ids[j]));
    if (name == "flush") {
      flush(at, j, channel.queue);
    } else if (signals) {
      signal(at, j, channel, port, strong);
    } else {
      count(at, j, add(at, true, j), channel.in, true, strong);
    }
  }
}

void Unroller::run_block(std::uint32_t rank, std::uint32_t block, std::uint32_t launch) {
  const Json& json = list(list(plan_, "gpus")[rank], "threadblocks")[block];
  if (launch == 0) check_block(json, rank);
  if (number(json, "id") != block) fail("the id of a thread block is not its position");
  const List& ops = list(json, "ops");
  std::uint32_t position = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::string place = std::to_string(i);
    const Place at{rank, block, launch, name_of(ops[i], rank, block, place, launch), position};
    if (text(ops[i], "name") == "pipeline") {
      run_pipeline(ops[i], at, place);
      position = static_cast<std::uint32_t>(chunk_) + 1;
    } else {
      run_op(ops[i], at);
    }
  }
}

}  // namespace p2::kernel::plan
