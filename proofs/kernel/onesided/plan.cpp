#include <algorithm>
#include <cctype>
#include <deque>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/onesided/execution.h"
#include "proofs/kernel/text.h"

namespace p2::kernel {
namespace {

using Graph = Execution::Graph;
constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::uint32_t kMaxChunk = 1U << 12U;  // units of the alignment

[[noreturn]] void fail(const std::string& text) { throw Fault{text}; }
[[noreturn]] void leave_open(const std::string& why) {
  throw CheckFailure(Verdict::Incomplete, why);
}

// What the executor refuses is a fault of the plan, not of the certificate.

const Json& member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) fail(std::string("a plan without ") + key);
  return object[key];
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
                        std::uint64_t end = 1U << 24U) {
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
char buffer(const Json& object, const char* key) {
  const std::string& name = text(object, key);
  if (name != "i" && name != "o" && name != "s") fail("a buffer that is not i, o or s");
  return name[0];
}

/// The operands of an op: own buffers, those of a remote rank, of a switch; capital letters are
/// packets. What follows + may be there any number of times.
struct Form {
  std::string sources, targets;
  bool pairwise = false;
  bool packets() const {
    return std::ranges::any_of(sources + targets, [](char c) { return std::isupper(c) != 0; });
  }
};
const std::map<std::string, Form> kForms = {
    {"put", {"o+o", "r+r", true}}, {"pws", {"o+o", "r+r", true}}, {"pwsf", {"o+o", "r+r", true}},
    {"get", {"r+r", "o+o", true}}, {"copy", {"o", "o"}},          {"re", {"o+o", "o"}},
    {"res", {"o+o", "o+r"}},       {"rre", {"o+r", "o"}},         {"rres", {"o+r", "o+r"}},
    {"cpkt", {"o", "O"}},          {"upkt", {"O", "o"}},          {"ppkt", {"o+o", "R+R", true}},
    {"rppkt", {"O", "R+R"}},       {"repkt", {"o+O", "o"}},       {"respkt", {"o+O", "o+R"}},
    {"recpkt", {"o+O", "oO"}},     {"recspkt", {"o+O", "oO+R"}},  {"gstore", {"o", "s"}},
    {"gstorepkt", {"O", "S"}},     {"glres", {"s", "s"}}};

/// The form of operand k; a fault where there can be none.
char form_of(const std::string& forms, std::size_t k) {
  const std::size_t more = forms.find('+');
  if (k < std::min(more, forms.size())) return forms[k];
  if (more == std::string::npos) fail("an op with too many operands");
  return forms[more + 1];
}

/// Unrolls the launches of a plan into events.
class Unroller {
 public:
  Unroller(const Json& plan, std::uint32_t chunk, Budget& budget);
  Execution take() {
    for (std::uint32_t launch = 0; launch < launches_; ++launch) run_launch(launch);
    match_counters();
    check_barriers();
    return std::move(out_);
  }

 private:
  struct Channel {
    std::uint32_t peer, out, in, queue;  ///< counters of its signals and waits
  };
  struct Use {
    std::uint32_t event, rank, launch, block, segment, lane;
    bool strong;
  };
  struct Counter {
    std::uint64_t initial = 0;
    std::vector<Use> signals, waits;
  };
  struct Block {
    std::uint32_t meet = 0, last = 0, segment = 0;
    Numbers open;                                  // events since the last meet
    std::map<std::uint32_t, std::uint32_t> lanes;  // the last event of each
  };
  struct Group {
    std::uint32_t member = 0, size = 1;
  };
  struct Place {
    std::uint32_t rank, block, launch;
    std::string name;
  };
  struct Gpu {
    std::map<std::string, std::vector<Channel>> channels;  // by type
    std::vector<std::pair<char, Numbers>> switches;
    std::map<char, std::uint32_t> first;
    std::map<char, std::uint64_t> cells;
    Numbers semaphores;
  };

  void read_gpu(std::uint32_t rank);
  void pair_channels();
  void run_launch(std::uint32_t launch);
  void check_block(const Json& block, std::uint32_t rank) const;
  void run_op(const Json& op, const Place& at);
  void run_data(const Json& op, const Form& form, const Place& at);
  void add_operands(const Json& op, const char* key, const std::string& forms, std::size_t k,
                    const Place& at, const std::string& type, std::vector<Operand>& out);
  Operand operand(std::uint32_t rank, char held, const Json& region, char form, const Place& at,
                  bool port, bool remote) const;
  std::uint32_t add(const Place& at, bool lane_op, std::uint32_t lane,
                    std::vector<Statement> statements = {}, bool packets = false);
  void meet(const Place& at);
  std::uint32_t push(const Place& at, std::uint32_t lane, std::uint32_t queue,
                     std::vector<Statement> statements);
  void signal(const Place& at, std::uint32_t lane, const Channel& channel, bool port, bool strong);
  void wait(const Place& at, std::uint32_t lane, std::uint32_t counter, bool strong);
  void flush(const Place& at, std::uint32_t lane, const Channel& channel);
  void pass_barrier(const Json& op, const Place& at);
  static bool follows(const Use& last, const Use& now) {
    return last.block == now.block && (last.segment != now.segment || last.lane == now.lane);
  }
  Use use(const Place& at, std::uint32_t event, std::uint32_t lane, bool strong);
  void match_counters();
  void check_barriers();
  const Json& remote_buffer(const Json& region, const Place& at, const std::string& type) const;
  /// What the thread block's list of this type has at a position.
  std::uint32_t listed(const Place& at, const char* lists, const char* type_key, const char* ids,
                       const std::string& type, std::uint64_t position) const;

  const Json& plan_;
  std::uint64_t chunk_;
  Budget& budget_;
  std::uint32_t launches_ = 3;
  bool packets_ = false, doubled_ = false, in_place_ = false;
  std::string collective_;
  Execution out_;
  std::vector<Gpu> gpus_;
  std::vector<Counter> counters_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Block> blocks_;
  std::uint32_t segments_ = 0;
  std::vector<std::deque<Use>> queues_;  // what was pushed
  Group group_;
  /// By rank, barrier and block: arrivals and departures.
  std::map<std::array<std::uint32_t, 2>, std::map<std::uint32_t, std::vector<std::uint32_t>>>
      barriers_;
  std::map<std::array<std::uint32_t, 2>, std::uint64_t> expected_;
};

Unroller::Unroller(const Json& plan, std::uint32_t chunk, Budget& budget)
    : plan_(plan), chunk_(chunk), budget_(budget), out_(budget) {
  text(plan, "name");
  collective_ = text(plan, "collective");
  packets_ = text(plan, "protocol") == "LL";
  in_place_ = flag(member(plan, "inplace"), "inplace");
  doubled_ = plan.contains("use_double_scratch_buffer") &&
             flag(plan["use_double_scratch_buffer"], "use_double_scratch_buffer");
  if (doubled_) launches_ = 4;
  const auto ranks = static_cast<std::uint32_t>(list(plan, "gpus").size());
  if (ranks == 0 || ranks > 4096) fail("a plan without GPUs, or with more than 4096");
  gpus_.resize(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) read_gpu(r);
  pair_channels();
  const std::string& name = collective_;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const UserCells& user = out_.users[r];
    const bool same = user.inputs == user.outputs;
    const bool right = name == "allgather"       ? user.outputs == user.inputs * ranks
                       : name == "reducescatter" ? user.inputs == user.outputs * ranks
                       : name == "alltoall"      ? same && user.inputs % (ranks * chunk) == 0
                       : name == "allreduce" || name == "broadcast" || name == "sendrecv" ? same
                                                                                          : true;
    if (!right) fail("the sizes of input and output are not those of the collective");
  }
  out_.is_exchange = name == "sendrecv";
  out_.goal = [name, ranks](const UserCells& user, std::uint32_t launch, std::uint32_t rank,
                            std::uint32_t cell) -> std::optional<std::vector<Contribution>> {
    const std::uint32_t part = user.outputs / ranks;
    if (name == "allgather") return {{{launch, cell / user.inputs, cell % user.inputs}}};
    if (name == "alltoall") return {{{launch, cell / part, rank * part + cell % part}}};
    if (name == "broadcast") return {{{launch, 0, cell}}};
    if (name != "allreduce" && name != "reducescatter") return std::nullopt;
    std::vector<Contribution> all;
    for (std::uint32_t r = 0; r < ranks; ++r)
      all.push_back({launch, r, name == "allreduce" ? cell : rank * user.outputs + cell});
    return all;
  };
  out_.launches.resize(ranks);
}

void Unroller::read_gpu(std::uint32_t rank) {
  const Json& json = list(plan_, "gpus")[rank];
  Gpu& gpu = gpus_[rank];
  if (number(json, "id") != rank) fail("the id of a GPU is not its position");
  for (const Json& channel : list(json, "channels")) {
    const std::string& type = text(channel, "channel_type");
    if (type == "switch") {
      const char held = buffer(channel, "buffer_type");
      for (const Json& group : list(channel, "rank_groups")) {
        number(group, "size");
        gpu.switches.emplace_back(held, numbers(group, "ranks"));
        const Numbers& all = gpu.switches.back().second;
        if (all.empty() || std::ranges::max(all) >= gpus_.size()) fail("a switch without ranks");
      }
    } else if (type == "memory" || type == "port") {
      for (const std::uint32_t peer : numbers(channel, "connected_to")) {
        if (peer >= gpus_.size()) fail("a channel to a rank that does not exist");
        gpu.channels[type].push_back({peer, kNone, kNone, kNone});
      }
    } else if (type != "none") {
      fail("a channel that is not memory, port or switch");
    }
  }
  for (const Json& remote : list(json, "remote_buffers")) {
    if (number(remote, "rank") >= gpus_.size()) fail("a buffer of a rank that does not exist");
    buffer(remote, "type");
    if (list(remote, "access_channel_types").size() > 8) leave_open("many types of a buffer");
  }
  for (const Json& semaphore : list_or_none(json, "semaphores")) {
    gpu.semaphores.push_back(static_cast<std::uint32_t>(counters_.size()));
    counters_.push_back({number(semaphore, "init_value"), {}, {}});
  }
  const std::uint64_t in = number(json, "input_chunks") * chunk_;
  const std::uint64_t out = number(json, "output_chunks") * chunk_;
  const std::uint64_t scratch = number(json, "scratch_chunks") * chunk_ * (packets_ ? 2 : 1);
  if (in + out + scratch > (1U << 24U)) leave_open("the plan has too many chunks");
  UserCells user{0, static_cast<std::uint32_t>(in), 0, static_cast<std::uint32_t>(out)};
  if (!in_place_) {
    user.input = out_.add_space(rank, 'i', in, true);
    user.output = out_.add_space(rank, 'o', out, true);
  } else if (collective_ == "allgather") {
    user.output = out_.add_space(rank, 'o', out, true);
    user.input = user.output + rank * user.inputs;
  } else if (collective_ == "reducescatter") {
    user.input = out_.add_space(rank, 'i', in, true);
    user.output = user.input + rank * user.outputs;
  } else {
    if (in != out && in != 0 && out != 0) fail("input and output in place differ in size");
    user.inputs = user.outputs = std::max(user.inputs, user.outputs);
    user.input = user.output = out_.add_space(rank, in >= out ? 'i' : 'o', user.inputs, true);
  }
  out_.users.push_back(user);
  gpu.first = {{'i', user.input},
               {'o', user.output},
               {'s', out_.add_space(rank, 's', scratch * (doubled_ ? 2 : 1), false)}};
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

std::uint32_t Unroller::add(const Place& at, bool lane_op, std::uint32_t lane,
                            std::vector<Statement> statements, bool packets) {
  Block& block = blocks_.at({at.rank, at.block});
  Event event{at.name, at.rank, at.launch, block.segment};
  event.packets = packets;
  event.statements = std::move(statements);
  const std::uint32_t added = out_.add(std::move(event));
  out_.order(block.meet, added, Graph::Memory);
  out_.order(block.last, added, Graph::Program);
  if (lane_op) {
    const auto [last, is_new] = block.lanes.try_emplace(lane, added);
    if (!is_new) out_.order(std::exchange(last->second, added), added, Graph::Memory);
  }
  block.open.push_back(added);
  return block.last = added;
}

/// All threads of a block meet.
void Unroller::meet(const Place& at) {
  Block& block = blocks_.at({at.rank, at.block});
  const std::uint32_t met = out_.add({at.name, at.rank, at.launch});
  out_.order(block.meet, met, Graph::Memory);
  for (const std::uint32_t each : block.open) {
    out_.order(each, met, Graph::Memory);
    out_.at(each).meet = met;
  }
  block = {met, met, ++segments_, {}, {}};
}

/// What is pushed to the proxy happens by itself, on one channel in the order of pushes.
std::uint32_t Unroller::push(const Place& at, std::uint32_t lane, std::uint32_t queue,
                             std::vector<Statement> statements) {
  const std::uint32_t pushed = add(at, true, lane);
  Event event{at.name + " transfer", at.rank, at.launch};
  event.statements = std::move(statements);
  const std::uint32_t item = out_.add(std::move(event));
  out_.order(pushed, item, Graph::Memory);
  const Use now = use(at, item, lane, true);
  if (!queues_[queue].empty()) {
    const Use& last = queues_[queue].back();
    if (!follows(last, now)) leave_open("two threads push on one channel, in no order");
    out_.order(last.event, item, Graph::Memory);
  }
  queues_[queue].push_back(now);
  return item;
}

Operand Unroller::operand(std::uint32_t rank, char held, const Json& region, char form,
                          const Place& at, bool port, bool remote) const {
  const Gpu& gpu = gpus_[rank];
  const bool packets = std::isupper(form) != 0;
  const std::uint64_t cells = number(region, "size") * chunk_;
  const auto start = [&](std::uint64_t member) {
    return member * (cells / group_.size) + std::min(member, cells % group_.size);
  };
  const std::uint64_t length = start(std::uint64_t{group_.member} + 1) - start(group_.member);
  const std::uint64_t width = packets ? 2 : 1;
  const std::uint64_t begin = (number(region, "index") * chunk_ + start(group_.member)) * width;
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
    if (std::tolower(form) != 'o') fail(at.name + " has an operand of the wrong kind");
    out.push_back(operand(at.rank, buffer(region, "type"), region, form, at, port, false));
  } else if (region.contains("buffer_id")) {
    if (std::tolower(form) != 'r') fail(at.name + " has an operand of the wrong kind");
    const Json& held = remote_buffer(region, at, type);
    out.push_back(
        operand(number(held, "rank"), buffer(held, "type"), region, form, at, port, true));
  } else {
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
    if (name == "pwsf") flush(at, j, channel);
  }
}

Unroller::Use Unroller::use(const Place& at, std::uint32_t event, std::uint32_t lane, bool strong) {
  return {event, at.rank, at.launch, at.block, blocks_.at({at.rank, at.block}).segment,
          lane,  strong};
}

/// Through a port it follows what was pushed before.
void Unroller::signal(const Place& at, std::uint32_t lane, const Channel& channel, bool port,
                      bool strong) {
  const std::uint32_t event = port ? push(at, lane, channel.queue, {}) : add(at, true, lane);
  counters_[channel.out].signals.push_back(use(at, event, lane, port || strong));
}

void Unroller::wait(const Place& at, std::uint32_t lane, std::uint32_t counter, bool strong) {
  counters_[counter].waits.push_back(use(at, add(at, true, lane), lane, strong));
}

/// Until all that was pushed on the channel is complete.
void Unroller::flush(const Place& at, std::uint32_t lane, const Channel& channel) {
  const Use now = use(at, add(at, true, lane), lane, true);
  if (queues_[channel.queue].empty()) return;
  const Use& last = queues_[channel.queue].back();
  if (!follows(last, now)) leave_open("one thread flushes what another one pushes");
  out_.order(last.event, now.event, Graph::Memory);
}

void Unroller::pass_barrier(const Json& op, const Place& at) {
  const std::uint32_t blocks = number(op, "num_threadblocks");
  const std::uint32_t id = number(op, "barrier_id");
  if (id >= 16) fail(at.name + " is a barrier that the executor has no room for");
  meet(at);
  if (blocks == 1) return;
  if (expected_.try_emplace({at.rank, id}, blocks).first->second != blocks)
    fail(at.name + " expects other thread blocks at its barrier");
  auto& passes = barriers_[{at.rank, id}][at.block];
  passes.push_back(blocks_.at({at.rank, at.block}).meet);
  meet(at);
  passes.push_back(blocks_.at({at.rank, at.block}).meet);
}

void Unroller::check_barriers() {
  for (const auto& [barrier, blocks] : barriers_) {
    if (blocks.size() != expected_.at(barrier)) fail("a barrier of other thread blocks");
    const std::size_t passes = blocks.begin()->second.size();
    for (const auto& [block, meets] : blocks)
      if (meets.size() != passes) fail("a barrier that thread blocks pass unequally often");
    for (std::size_t k = 0; k < passes; k += 2) {
      const std::uint32_t joint = out_.add({"a barrier"});
      for (const auto& [block, meets] : blocks) {
        out_.order(meets[k], joint, Graph::Memory);
        out_.order(joint, meets[k + 1], Graph::Memory);
      }
    }
  }
}

/// The k-th signal ends the k-th wait.
void Unroller::match_counters() {
  for (const Counter& counter : counters_) {
    const auto first_launch = [](const Use& each) { return each.launch == 0; };
    const auto signals = std::ranges::count_if(counter.signals, first_launch);
    const auto waits = std::ranges::count_if(counter.waits, first_launch);
    if (waits == 0) continue;
    if (signals < waits)
      fail(out_.at(counter.waits.back().event).name + " waits more often than it is signalled");
    for (const auto* uses : {&counter.signals, &counter.waits}) {
      for (std::size_t k = 1; k < uses->size(); ++k) {
        if (!follows((*uses)[k - 1], (*uses)[k]))
          leave_open("which signal ends which wait depends on the interleaving");
      }
    }
    for (std::uint64_t k = counter.initial; k < counter.waits.size(); ++k) {
      const Use& wait = counter.waits[k];
      const Use& signal = counter.signals[k - counter.initial];
      out_.order(signal.event, wait.event, Graph::Time);
      // Where signals are left over, in the long run waits end without those of late launches.
      if (signals > waits) continue;
      if (signal.strong && wait.strong) out_.order(signal.event, wait.event, Graph::Memory);
      // Relaxed ones show that the sender has begun.
      out_.order(out_.launches[signal.rank][signal.launch].first, wait.event, Graph::Memory);
    }
  }
}

void Unroller::run_op(const Json& op, const Place& at) {
  const std::string& name = text(op, "name");
  if (name == "pipeline") leave_open("pipelines, whose rounds depend on the message's size");
  group_ = {};
  if (op.contains("tbg_info")) {
    group_ = {number(op["tbg_info"], "tb_id"), number(op["tbg_info"], "tbg_size")};
    if (group_.member >= group_.size) leave_open("a slice outside its group");
  }
  const std::string type = op.contains("channel_type") ? text(op, "channel_type") : "none";
  if (op.contains("channel_ids") && numbers(op, "channel_ids").size() > 8)
    fail(at.name + " has more channels than the executor has room for");
  if (const auto form = kForms.find(name); form != kForms.end())
    return run_data(op, form->second, at);
  if (name == "nop") return meet(at);
  if (name == "barrier") return pass_barrier(op, at);
  if (name == "sem_release" || name == "sem_acquire") {
    const Numbers ids = numbers(op, "semaphore_ids");
    if (ids.size() > 16) fail(at.name + " has more semaphores than the executor has room for");
    for (std::uint32_t j = 0; j < ids.size(); ++j) {
      if (ids[j] >= gpus_[at.rank].semaphores.size()) fail(at.name + " names no semaphore");
      const std::uint32_t counter = gpus_[at.rank].semaphores[ids[j]];
      if (name == "sem_acquire") {
        wait(at, j, counter, true);
      } else {
        counters_[counter].signals.push_back(use(at, add(at, true, j), j, true));
      }
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
      flush(at, j, channel);
    } else if (signals) {
      signal(at, j, channel, port, strong);
    } else {
      wait(at, j, channel.in, strong);
    }
  }
}

/// What a thread block lists exists, and fits into the executor.
void Unroller::check_block(const Json& block, std::uint32_t rank) const {
  if (list(block, "ops").size() > 64) fail("more ops than the executor has room for");
  const Gpu& gpu = gpus_[rank];
  const auto check = [&](const char* lists, const char* type_key, const char* ids) {
    std::map<std::string, std::size_t> counts;
    if (list_or_none(block, lists).size() > 64) leave_open("long lists of a thread block");
    for (const Json& each : list_or_none(block, lists)) {
      const std::string& type = text(each, type_key);
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
}

/// All launches of a rank follow each other, with its user between them.
void Unroller::run_launch(std::uint32_t launch) {
  const auto named = [](const char* what, std::uint32_t rank, std::uint32_t number) {
    return what + (" of launch " + std::to_string(number)) + " on gpu " + std::to_string(rank);
  };
  for (std::uint32_t r = 0; r < gpus_.size(); ++r) {
    const std::uint32_t begin = out_.add({named("begin", r, launch), r, launch});
    const auto add_user = [&](std::uint32_t ended) {
      Event event{named("the user before the begin", r, ended), r, ended};
      event.user = true;
      return out_.add(std::move(event));
    };
    out_.order(launch == 0 ? add_user(0) : out_.launches[r].back().second, begin, Graph::Memory);
    const List& blocks = list(list(plan_, "gpus")[r], "threadblocks");
    Numbers ends;
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
      if (launch == 0) check_block(blocks[b], r);
      if (number(blocks[b], "id") != b) fail("the id of a thread block is not its position");
      Block& block = blocks_[{r, b}];
      block = {begin, begin, ++segments_, {}, {}};
      const List& ops = list(blocks[b], "ops");
      for (std::size_t i = 0; i < ops.size(); ++i) {
        run_op(ops[i], {r, b, launch,
                        "gpu " + std::to_string(r) + " tb " + std::to_string(b) + " op " +
                            std::to_string(i) + " (" + text(ops[i], "name") + ") launch " +
                            std::to_string(launch)});
      }
      meet({r, b, launch, named("end", r, launch)});
      ends.push_back(block.meet);
    }
    const std::uint32_t end = out_.add({named("end", r, launch), r, launch});
    out_.order(begin, end, Graph::Memory);
    for (const std::uint32_t each : ends) out_.order(each, end, Graph::Memory);
    const std::uint32_t user = add_user(launch + 1);
    out_.order(end, user, Graph::Memory);
    out_.launches[r].emplace_back(begin, user);
  }
}

/// Whether `a` of a size is cut alike by groups of so many thread blocks.
std::uint64_t common_multiple(const Json& plan) {
  std::uint64_t multiple = 1;
  for (const Json& gpu : list(plan, "gpus")) {
    for (const Json& block : list(gpu, "threadblocks")) {
      for (const Json& op : list(block, "ops")) {
        if (!op.is_object() || !op.contains("tbg_info")) continue;
        const std::uint32_t size = number(op["tbg_info"], "tbg_size");
        if (size == 0) fail("a group of no thread blocks");
        multiple = std::lcm(multiple, std::uint64_t{size});
        if (multiple > 64) leave_open("groups of many thread blocks");
      }
    }
  }
  return multiple;
}

/// The sizes of chunks, in units of the alignment, that stand for all (docs/certificates.md).
Numbers sizes_of(const Json& plan) {
  const std::uint64_t multiple = common_multiple(plan);
  Numbers sizes(multiple == 1 ? 1 : multiple * (multiple + 1));
  std::iota(sizes.begin(), sizes.end(), 1);
  return sizes;
}

/// Whether the plan is for messages with chunks of so many units.
bool is_for(const Json& plan, std::uint32_t chunk) {
  const char* of_message =
      text(plan, "collective") == "allgather" ? "output_chunks" : "input_chunks";
  const auto bytes = std::uint64_t{chunk} * number_or(plan, "buffer_alignment", 16) *
                     number(list(plan, "gpus").at(0), of_message);
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  return number_or(plan, "min_message_size", 0, kEnd) <= bytes &&
         (!plan.contains("max_message_size") || plan["max_message_size"].is_number_unsigned()) &&
         bytes <= plan.value("max_message_size", kEnd);
}

/// The first fault with chunks of so many units.
std::optional<Fault> find_fault(const Json& plan, std::uint32_t chunk, bool surely,
                                Budget& budget) try {
  if (number_or(plan, "num_threads_per_block", 1024) == 0) fail("a plan without threads");
  Execution execution = Unroller(plan, chunk, budget).take();
  auto fault = execution.find_fault(surely);
  const bool stands_for_all = common_multiple(plan) == 1 && execution.separates_packets(chunk);
  if (surely && fault && !stands_for_all && !is_for(plan, chunk))
    leave_open("the plan is not for messages of this size");
  if (!surely && !execution.separates_packets(chunk))
    leave_open("scratch is used for packets and for what is none, so that sizes differ");
  return fault;
} catch (const Fault& fault) {
  return fault;
}

std::string words_of(const Json& plan) {
  const bool known = plan.is_object() && plan.contains("gpus") && plan["gpus"].is_array() &&
                     plan.contains("collective") && plan.contains("inplace");
  if (!known) return "the one-sided plan";
  const auto quoted = [&](const char* key) {
    return shortened(plan.value(key, Json()).dump(-1, ' ', true));
  };
  return "the one-sided plan " + quoted("name") + " (" + quoted("collective") + ", " +
         counted(plan["gpus"].size(), "rank") +
         (plan["inplace"] == true ? ", in place)" : ", out of place)");
}

bool has_goal(const Json& plan) {
  static const std::set<std::string> known = {"allreduce", "allgather", "reducescatter",
                                              "alltoall",  "broadcast", "sendrecv"};
  return plan.is_object() && plan.contains("collective") && plan["collective"].is_string() &&
         known.contains(plan["collective"].get<std::string>());
}

}  // namespace

std::string judge_onesided(const std::string& claim, const Files& files) {
  const Json plan = parse_json(files, "plan.json");
  Budget budget;
  if (claim == "onesided-invalid") {
    const Json root = parse_json(files, "fault.json");
    expect_keys(root, {"chunk", "fault"});
    const std::uint32_t chunk = as_number(root["chunk"], kMaxChunk);
    if (chunk == 0) malformed("chunks of no units");
    const auto fault = find_fault(plan, chunk, true, budget);
    if (!fault) reject("the plan has no such fault");
    if (fault->text != as_text(root["fault"]))
      reject("the plan's first fault is another one: " + shortened(fault->text));
    return words_of(plan) + " is wrong, with chunks of " + counted(chunk, "unit") + ": " +
           shortened(fault->text);
  }
  try {
    if (!has_goal(plan)) reject("no result is known for the collective");
    for (const std::uint32_t chunk : sizes_of(plan)) {
      const auto fault = find_fault(plan, chunk, false, budget);
      if (fault) reject("with chunks of " + counted(chunk, "unit") + ": " + shortened(fault->text));
    }
  } catch (const Fault& fault) {
    reject(shortened(fault.text));
  }
  return words_of(plan) +
         " has the right result, no race and no deadlock in every interleaving of any number of "
         "launches, for all sizes of chunks, if release and acquire order memory, launches of a "
         "rank follow each other, and nobody else uses its scratch";
}

std::string onesided_fault(const Files& files) try {
  const Json plan = parse_json(files, "plan.json");
  Budget budget;
  std::uint32_t least = 1;  // that messages have
  while (least < kMaxChunk && !is_for(plan, least)) ++least;
  for (std::uint32_t chunk : sizes_of(plan)) {
    if (least < kMaxChunk / 2) chunk += least - 1;
    const auto fault = find_fault(plan, chunk, true, budget);
    if (fault) return Json({{"chunk", chunk}, {"fault", fault->text}}).dump() + "\n";
  }
  return "";
} catch (const Fault& fault) {
  return Json({{"chunk", 1}, {"fault", fault.text}}).dump() + "\n";
}

}  // namespace p2::kernel
