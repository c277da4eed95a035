// Dumps of PyTorch's flight recorder: the last collective calls of every rank.

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/json_reader.h"
#include "engine/records/record.h"

namespace p2::records {
namespace {

constexpr std::int64_t kMaxRanks = 1 << 20;
constexpr std::size_t kMaxShown = 8;

using Sizes = std::vector<std::vector<std::int64_t>>;

/// A collective, or a send or receive.
struct Call {
  std::uint32_t rank = 0;
  std::string group;
  std::uint64_t number = 0;  ///< among the calls of its kind in its group, from 1
  std::string name;          ///< `all_reduce`
  Sizes inputs;
  Sizes outputs;
  std::vector<std::string> types;
  bool completed = false;
  bool p2p = false;
  bool sends = false;      ///< of p2p
  std::uint32_t peer = 0;  ///< of p2p, a rank of the job
  std::string frame;       ///< `train.py:7 (step)`, the innermost that is known
  SourcePosition where;
};

struct Group {
  std::string name;
  std::string description;
  std::set<std::uint32_t> ranks;
};

struct Job {
  std::set<std::uint32_t> ranks;  ///< whose dumps there are
  std::map<std::uint32_t, std::string> files;
  /// By name and ranks: groups of different ranks may have one name.
  std::map<std::string, Group> groups;
  std::set<std::uint32_t> overwritten;  ///< ranks whose first calls the ring buffer has lost
  std::vector<Call> calls;              ///< by rank, in the order of the record
};

/// The groups of one dump: name → key in Job::groups.
using GroupNames = std::map<std::string, std::string>;

/// The digits at the end of a file's name without its extension, or in `rank_3`.
std::optional<std::uint32_t> rank_in_name(const std::string& file) {
  std::string name = file.substr(file.find_last_of('/') + 1);
  for (const std::string_view ending : {".json", ".txt", ".pkl", ".pickle"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  std::size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  std::uint32_t rank = 0;
  const auto [end, error] = std::from_chars(name.data() + begin, name.data() + name.size(), rank);
  if (begin == name.size() || error != std::errc()) return std::nullopt;
  return rank;
}

Sizes read_sizes(const std::optional<JsonValue>& value) {
  Sizes sizes;
  if (!value) return sizes;
  for (const JsonValue& shape : value->array("the sizes of a call")) {
    std::vector<std::int64_t>& extents = sizes.emplace_back();
    for (const JsonValue& extent : shape.array("a shape")) {
      extents.push_back(extent.integer("an extent", 0, std::int64_t{1} << 50));
    }
  }
  return sizes;
}

/// The numbers in `[0, 1, 2]`, which the recorder writes as text, or in an array.
std::set<std::uint32_t> read_ranks(const JsonValue& value) {
  std::set<std::uint32_t> ranks;
  if (value.is_array()) {
    for (const JsonValue& each : value.array("the ranks of a group")) {
      ranks.insert(static_cast<std::uint32_t>(each.integer("a rank", 0, kMaxRanks)));
    }
    return ranks;
  }
  const std::string& text = value.string("the ranks of a group");
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    if (error == std::errc()) ranks.insert(rank);
    at = error == std::errc() ? static_cast<std::size_t>(end - text.data()) : at + 1;
  }
  return ranks;
}

/// `train.py:7 (step)` of the first frame of a call that is not PyTorch's own; of the first if all
/// are.
std::string read_frame(const JsonValue& entry) {
  const auto frames = entry.find("frames");
  if (!frames || !frames->is_array()) return {};
  std::string first;
  for (const JsonValue& frame : frames->array("the frames of a call")) {
    const auto file = frame.find("filename");
    const auto line = frame.find("line");
    const auto name = frame.find("name");
    if (!file || !line) continue;
    const std::string path = file->string("a file name");
    std::string text = fmt::format("{}:{}{}", path, line->integer("a line", 0, 1 << 30),
                                   name ? fmt::format(" ({})", name->string("a function")) : "");
    if (path.find("/torch/distributed/") == std::string::npos) return text;
    if (first.empty()) first = std::move(text);
  }
  return first;
}

std::string group_of(const JsonValue& entry) {
  const auto group = entry.find("process_group");
  if (!group) return "0";
  if (group->is_string()) return group->string("a process group");
  const std::vector<JsonValue> names = group->array("a process group");
  if (names.empty()) group->fail("is empty, expected [name, description]");
  return names.front().string("the name of a process group");
}

std::uint64_t sequence_number(const JsonValue& entry, bool p2p) {
  const auto own = entry.find(p2p ? "p2p_seq_id" : "collective_seq_id");
  const auto old = entry.find("seq_id");
  if (!own && !old) entry.fail("names no number, expected collective_seq_id");
  return (own ? *own : *old).size("the number of a call");
}

/// The group ranks in `send 0->1` or `recv 1<-0`: own, peer.
std::optional<std::pair<std::size_t, std::size_t>> ends_of(std::string_view name) {
  const std::size_t blank = name.find(' ');
  const std::size_t arrow = name.find_first_of("<-", blank == std::string_view::npos ? 0 : blank);
  if (blank == std::string_view::npos || arrow == std::string_view::npos) return std::nullopt;
  std::size_t own = 0;
  std::size_t peer = 0;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data() + blank + 1, end, own);
  const auto second = std::from_chars(name.data() + arrow + 2, end, peer);
  if (first.ec != std::errc() || arrow + 2 > name.size() || second.ec != std::errc()) {
    return std::nullopt;
  }
  return std::pair(own, peer);
}

Call read_call(const JsonValue& entry, std::uint32_t rank, GroupNames& names, Job& job) {
  Call call;
  call.rank = rank;
  call.where = entry.position();
  const std::string group_name = group_of(entry);
  const auto known = names.emplace(group_name, group_name).first;
  call.group = known->second;
  Group& group = job.groups[call.group];
  group.name = group_name;
  group.ranks.insert(rank);
  call.name = entry.member("profiling_name", "a call").string("the name of a call");
  const std::size_t colon = call.name.find(':');
  if (colon != std::string::npos) call.name.erase(0, colon + 1);
  const auto p2p = entry.find("is_p2p");
  call.p2p = p2p && p2p->boolean("is_p2p");
  call.number = sequence_number(entry, call.p2p);
  call.inputs = read_sizes(entry.find("input_sizes"));
  call.outputs = read_sizes(entry.find("output_sizes"));
  if (const auto types = entry.find("input_dtypes")) {
    for (const JsonValue& each : types->array("the types of a call")) {
      call.types.push_back(each.string("a type"));
    }
  }
  const auto state = entry.find("state");
  call.completed = state && state->string("the state of a call") == "completed";
  call.frame = read_frame(entry);
  if (call.p2p) {
    call.sends = call.name.starts_with("send");
    const auto ends = ends_of(call.name);
    if (!ends || (!call.sends && !call.name.starts_with("recv"))) {
      entry.fail("names no peer, expected profiling_name such as nccl:send 0->1");
    }
    call.peer = static_cast<std::uint32_t>(ends->second);
    if (ends->second < group.ranks.size()) {
      call.peer = *std::next(group.ranks.begin(), static_cast<std::ptrdiff_t>(ends->second));
    }
    call.name = call.sends ? "send" : "receive";
  }
  return call;
}

Job read_job(const std::vector<RecordText>& dumps) {
  Job job;
  for (const RecordText& dump : dumps) {
    const JsonDocument document(dump.file, dump.text);
    const JsonValue root = document.root();
    const auto given = root.find("rank");
    const auto rank = given ? static_cast<std::uint32_t>(given->integer("a rank", 0, kMaxRanks))
                            : rank_in_name(dump.file);
    if (!rank) {
      root.fail(
          "names no rank, expected a member `rank` or a number at the end of the file's name");
    }
    if (!job.ranks.insert(*rank).second) {
      root.fail(fmt::format("is of rank {}, as is {}, expected one dump each", *rank,
                            job.files.at(*rank)));
    }
    job.files[*rank] = dump.file;
    GroupNames names;
    if (const auto config = root.find("pg_config")) {
      for (const auto& [key, value] : config->members("pg_config")) {
        Group group;
        const auto name = value.find("name");
        group.name = name ? name->string("the name of a group") : key;
        if (const auto description = value.find("desc")) {
          group.description = description->string("the description of a group");
        }
        if (const auto ranks = value.find("ranks")) group.ranks = read_ranks(*ranks);
        const std::string own = fmt::format("{} {{{}}}", group.name, fmt::join(group.ranks, ","));
        names[group.name] = own;
        job.groups.emplace(own, std::move(group));
      }
    }
    const JsonValue entries = root.member("entries", "a flight recorder dump");
    bool first = true;
    for (const JsonValue& entry : entries.array("the calls")) {
      job.calls.push_back(read_call(entry, *rank, names, job));
      const auto number = entry.find("record_id");
      if (first && number && number->size("the number of a record") > 0) {
        job.overwritten.insert(*rank);
      }
      first = false;
    }
  }
  return job;
}

std::string group_text(const Job& job, const std::string& name) {
  const Group& group = job.groups.at(name);
  return group.description.empty() ? fmt::format("group {}", group.name)
                                   : fmt::format("group {} ({})", group.name, group.description);
}

template <typename Ranks>
std::string ranks_text(const Ranks& ranks) {
  std::vector<std::uint32_t> shown(ranks.begin(), ranks.end());
  const std::size_t all = shown.size();
  if (all > kMaxShown) shown.resize(kMaxShown);
  return fmt::format("rank{} {}{}", all == 1 ? "" : "s", fmt::join(shown, ", "),
                     all > kMaxShown ? fmt::format(" and {} more", all - kMaxShown) : "");
}

std::string sizes_text(const Sizes& sizes) {
  std::vector<std::string> shapes;
  for (const auto& each : sizes) shapes.push_back(fmt::format("[{}]", fmt::join(each, ",")));
  return fmt::format("{}", fmt::join(shapes, " "));
}

std::int64_t elements_of(const Sizes& sizes) {
  std::int64_t sum = 0;
  for (const auto& shape : sizes) {
    std::int64_t product = 1;
    for (const std::int64_t extent : shape) {
      if (__builtin_mul_overflow(product, extent, &product)) return -1;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return -1;
  }
  return sum;
}

std::string call_text(const Call& call) {
  return fmt::format("{} of {}{}", call.name, sizes_text(call.inputs),
                     call.frame.empty() ? "" : fmt::format(" at {}", call.frame));
}

Counterexample fault(std::string rule, const Call& call, std::string explanation, const Job& job,
                     const std::set<std::uint32_t>& ranks) {
  Json facts = Json::object({{"ranks", Json::array_of(ranks)},
                             {"process_group", job.groups.at(call.group).name},
                             {"group_description", job.groups.at(call.group).description},
                             {"call", call.number},
                             {"operation", call.name}});
  if (!call.frame.empty()) facts.add("frame", call.frame);
  return {std::move(rule), call.where, std::move(explanation), std::move(facts), {}};
}

/// The calls of one group by number, then by rank. A collective may stand twice in a record where
/// it is coalesced: the first counts.
using Calls = std::map<std::uint64_t, std::map<std::uint32_t, const Call*>>;

/// Whether all ranks pass the same number of elements to this collective.
bool is_uniform(std::string_view name) {
  return !name.starts_with("all_to_all") && !name.starts_with("alltoall") &&
         !name.starts_with("scatter") && !name.starts_with("gather") &&
         !name.starts_with("all_gather_v") && !name.starts_with("reduce_scatter_v") &&
         name.find("coalesced") == std::string_view::npos;
}

struct Difference {
  const Call* one;
  const Call* other;
};

/// The first rank whose `value` is not that of the first rank.
template <typename Value>
std::optional<Difference> difference(const std::map<std::uint32_t, const Call*>& calls,
                                     const Value& value) {
  const Call* const first = calls.begin()->second;
  for (const auto& [rank, call] : calls) {
    if (value(*call) != value(*first)) return Difference{first, call};
  }
  return std::nullopt;
}

/// Whether both ranks make the two calls in question, each in another order.
bool is_reordered(const Calls& calls, std::uint64_t number, const Difference& found) {
  constexpr std::uint64_t kWindow = 16;
  const auto occurs_later = [&](std::uint32_t rank, const Call& wanted) {
    for (auto at = calls.upper_bound(number); at != calls.end() && at->first <= number + kWindow;
         ++at) {
      const auto call = at->second.find(rank);
      if (call != at->second.end() && call->second->name == wanted.name &&
          call->second->inputs == wanted.inputs) {
        return true;
      }
    }
    return false;
  };
  return occurs_later(found.one->rank, *found.other) && occurs_later(found.other->rank, *found.one);
}

std::optional<Counterexample> check_alike(const Job& job, const Calls& calls) {
  for (const auto& [number, by_rank] : calls) {
    const auto told = [&, call = number](std::string rule, const Difference& found,
                                         std::string_view what) {
      std::set<std::uint32_t> ranks = {found.one->rank, found.other->rank};
      return fault(
          std::move(rule), *found.other,
          fmt::format("Call {} of {}: rank {} calls {}, rank {} calls {}: {}.", call,
                      group_text(job, found.one->group), found.one->rank, call_text(*found.one),
                      found.other->rank, call_text(*found.other), what),
          job, ranks);
    };
    const auto name = [](const Call& call) { return call.name; };
    const auto types = [](const Call& call) { return call.types; };
    const auto size = [](const Call& call) { return elements_of(call.inputs); };
    if (const auto found = difference(by_rank, name)) {
      return is_reordered(calls, number, *found)
                 ? told("reordered-collectives", *found, "the ranks make both, in another order")
                 : told("mismatched-collective", *found, "different collectives");
    }
    if (const auto found = difference(by_rank, types)) {
      return told("mismatched-type", *found,
                  fmt::format("elements of type {} and {}", fmt::join(found->one->types, " "),
                              fmt::join(found->other->types, " ")));
    }
    if (!is_uniform(by_rank.begin()->second->name)) continue;
    if (const auto found = difference(by_rank, size)) {
      return told("mismatched-size", *found,
                  fmt::format("{} and {} elements", elements_of(found->one->inputs),
                              elements_of(found->other->inputs)));
    }
  }
  return std::nullopt;
}

/// A call that has not completed, and the ranks that have not made it.
struct Wait {
  const Call* call = nullptr;
  std::set<std::uint32_t> waiting;
  std::set<std::uint32_t> absent;
};

/// The first numbers that a ring buffer still has on every rank: earlier ones may be overwritten.
std::uint64_t first_kept(const Calls& calls) {
  std::map<std::uint32_t, std::uint64_t> first;
  for (const auto& [number, by_rank] : calls) {
    for (const auto& [rank, call] : by_rank) first.emplace(rank, number);
  }
  std::uint64_t kept = 0;
  for (const auto& [rank, number] : first) kept = std::max(kept, number);
  return kept;
}

/// Calls that have not completed and that ranks of the group whose dumps there are have not made.
std::vector<Wait> waits_of(const Job& job, const std::string& name, const Calls& calls) {
  std::map<std::uint32_t, std::uint64_t> last;
  for (const auto& [number, by_rank] : calls) {
    for (const auto& [rank, call] : by_rank) last[rank] = number;
  }
  std::vector<Wait> waits;
  for (const auto& [number, by_rank] : calls) {
    Wait wait;
    for (const std::uint32_t rank : job.groups.at(name).ranks) {
      const auto made = last.find(rank);
      if (!job.ranks.contains(rank)) continue;
      // A rank without calls in the group may have lost them.
      const bool never = made == last.end() && !job.overwritten.contains(rank);
      if (never || (made != last.end() && made->second < number)) wait.absent.insert(rank);
    }
    for (const auto& [rank, call] : by_rank) {
      if (call->completed) continue;
      if (wait.call == nullptr) wait.call = call;
      wait.waiting.insert(rank);
    }
    if (!wait.absent.empty() && wait.call != nullptr) waits.push_back(std::move(wait));
  }
  return waits;
}

/// The last call that a rank made, in words.
std::string last_call_text(const Job& job, std::uint32_t rank) {
  const Call* last = nullptr;
  for (const Call& call : job.calls) {
    if (call.rank == rank) last = &call;
  }
  return last == nullptr ? fmt::format("rank {} has made no call", rank)
                         : fmt::format("the last call of rank {} is call {} of {}, {}{}", rank,
                                       last->number, group_text(job, last->group), call_text(*last),
                                       last->completed ? "" : ", not completed");
}

/// A cycle of ranks that wait for each other, in the order of waiting; empty where there is none.
std::vector<std::pair<std::uint32_t, const Wait*>> waiting_cycle(const std::vector<Wait>& waits) {
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, const Wait*>>> edges;
  for (const Wait& wait : waits) {
    for (const std::uint32_t rank : wait.waiting) {
      for (const std::uint32_t absent : wait.absent) edges[rank].emplace_back(absent, &wait);
    }
  }
  for (const auto& [start, unused] : edges) {  // breadth-first from each rank back to itself
    std::map<std::uint32_t, std::pair<std::uint32_t, const Wait*>> reached;
    std::vector<std::uint32_t> queue = {start};
    for (std::size_t i = 0; i < queue.size() && !reached.contains(start); ++i) {
      const auto found = edges.find(queue[i]);
      if (found == edges.end()) continue;
      for (const auto& [next, wait] : found->second) {
        if (reached.emplace(next, std::pair(queue[i], wait)).second) queue.push_back(next);
      }
    }
    if (!reached.contains(start)) continue;
    std::vector<std::pair<std::uint32_t, const Wait*>> cycle;
    std::uint32_t at = start;
    do {
      const auto& [from, wait] = reached.at(at);
      cycle.emplace_back(from, wait);
      at = from;
    } while (at != start);
    std::ranges::reverse(cycle);
    return cycle;
  }
  return {};
}

std::optional<Counterexample> check_waits(const Job& job, const std::vector<Wait>& waits) {
  if (waits.empty()) return std::nullopt;
  const auto cycle = waiting_cycle(waits);
  if (!cycle.empty()) {
    std::vector<std::string> lines;
    std::set<std::uint32_t> ranks;
    for (const auto& [rank, wait] : cycle) {
      const std::uint32_t next = cycle[(lines.size() + 1) % cycle.size()].first;
      lines.push_back(fmt::format("rank {} waits for rank {} in call {} of {} ({})", rank, next,
                                  wait->call->number, group_text(job, wait->call->group),
                                  call_text(*wait->call)));
      ranks.insert(rank);
    }
    return fault("deadlock", *cycle.front().second->call,
                 fmt::format("The ranks wait for each other: {}.", fmt::join(lines, "; ")), job,
                 ranks);
  }
  // The rank at the end of a chain of waiting ranks is the one to look at.
  const Wait* root = &waits.front();
  for (const Wait& wait : waits) {
    const bool absent_waits = std::ranges::any_of(waits, [&](const Wait& other) {
      return std::ranges::any_of(wait.absent,
                                 [&](std::uint32_t rank) { return other.waiting.contains(rank); });
    });
    if (!absent_waits) {
      root = &wait;
      break;
    }
  }
  return fault(
      "missing-call", *root->call,
      fmt::format("{} wait{} in call {} of {}, {}, which {} never made; {}.",
                  ranks_text(root->waiting), root->waiting.size() == 1 ? "s" : "",
                  root->call->number, group_text(job, root->call->group), call_text(*root->call),
                  ranks_text(root->absent), last_call_text(job, *root->absent.begin())),
      job, root->absent);
}

/// Sends and receives between two ranks, in the order of their calls, from the first that is not
/// completed on: earlier ones have met.
std::optional<Counterexample> check_point_to_point(const Job& job) {
  using Key = std::tuple<std::string, std::uint32_t, std::uint32_t>;  // group, sender, receiver
  std::map<Key, std::array<std::vector<const Call*>, 2>> pairs;
  for (const Call& call : job.calls) {
    if (!call.p2p || call.completed) continue;
    const std::uint32_t from = call.sends ? call.rank : call.peer;
    const std::uint32_t to = call.sends ? call.peer : call.rank;
    if (!job.ranks.contains(call.peer)) continue;
    pairs[{call.group, from, to}][call.sends ? 0 : 1].push_back(&call);
  }
  for (const auto& [key, lists] : pairs) {
    const std::size_t both = std::min(lists[0].size(), lists[1].size());
    for (std::size_t i = 0; i < both; ++i) {
      const Call& send = *lists[0][i];
      const Call& receive = *lists[1][i];
      const Sizes& into = receive.outputs.empty() ? receive.inputs : receive.outputs;
      if (elements_of(send.inputs) == elements_of(into)) continue;
      return fault(
          "mismatched-size", receive,
          fmt::format("Rank {} sends {} elements to rank {}, which receives {}.", send.rank,
                      elements_of(send.inputs), receive.rank, elements_of(into)),
          job, {send.rank, receive.rank});
    }
    for (const bool sends : {true, false}) {
      const auto& list = lists[sends ? 0 : 1];
      if (list.size() <= both) continue;
      const Call& call = *list[both];
      return fault(sends ? "unmatched-send" : "unmatched-receive", call,
                   fmt::format("Rank {} waits in {} {} rank {}, which never {}; {}.", call.rank,
                               call_text(call), sends ? "to" : "from", call.peer,
                               sends ? "receives" : "sends", last_call_text(job, call.peer)),
                   job, {call.rank, call.peer});
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_flight_dump(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"entries\"") != std::string_view::npos &&
         (text.find("\"profiling_name\"") != std::string_view::npos ||
          text.find("\"pg_config\"") != std::string_view::npos);
}

RecordDecision check_flight(const std::vector<RecordText>& dumps, const Limits& limits) {
  const Job job = read_job(dumps);
  limits.require(0, "the check of a flight recorder dump");
  RecordDecision decision;
  decision.format = "flight-recorder";
  decision.model = "order, sizes, types and membership; not reductions, roots or values";
  decision.summary = fmt::format("{} ranks, {} calls, {} groups", job.ranks.size(),
                                 job.calls.size(), job.groups.size());
  decision.facts = Json::object({{"ranks", Json::array_of(job.ranks)},
                                 {"calls", job.calls.size()},
                                 {"groups", job.groups.size()}});
  std::map<std::string, Calls> by_group;
  for (const Call& call : job.calls) {
    if (!call.p2p) by_group[call.group][call.number].emplace(call.rank, &call);
  }
  std::vector<Wait> waits;
  std::set<std::uint32_t> unknown;  // ranks without a dump
  for (auto& [name, calls] : by_group) {
    calls.erase(calls.begin(), calls.lower_bound(first_kept(calls)));
    if (!decision.violation) decision.violation = check_alike(job, calls);
    for (Wait& wait : waits_of(job, name, calls)) waits.push_back(std::move(wait));
    for (const std::uint32_t rank : job.groups.at(name).ranks) {
      if (!job.ranks.contains(rank)) unknown.insert(rank);
    }
  }
  if (!decision.violation) decision.violation = check_waits(job, waits);
  if (!decision.violation) decision.violation = check_point_to_point(job);
  if (decision.violation) {
    decision.outcome = Outcome::Refuted;
  } else if (!unknown.empty()) {
    decision.outcome = Outcome::Undecided;
    decision.reason = fmt::format("The dumps of {} are missing; those that are there agree.",
                                  ranks_text(unknown));
  }
  return decision;
}

}  // namespace p2::records
