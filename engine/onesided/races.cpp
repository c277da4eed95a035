#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/ordering.h"
#include "engine/transfer/happens_before.h"

namespace p2::onesided {
namespace {

using Graph = Ordering::Graph;
using transfer::Event;

constexpr std::size_t kMaxCandidates = 64;
constexpr std::size_t kMaxScheduleLines = 12;

struct Candidate {
  Rule rule = Rule::DataRace;
  Access first = {};
  Access second = {};
};

class RaceSearch {
 public:
  RaceSearch(const Ordering& ordering, LimitWatch& watch)
      : ordering_(ordering),
        memory_graph_(ordering.graph(Graph::Memory)),
        memory_(memory_graph_, ordering.chains(), watch) {}

  /// Unordered pairs of accesses, at most kMaxCandidates, in the order of cells.
  std::vector<std::pair<Access, Access>> find(LimitWatch& watch);

 private:
  bool precedes(const Access& first, const Access& second) const {
    return memory_.reaches(node(first).before, node(second).after);
  }
  bool is_ordered(const Access& a, const Access& b) const;
  bool is_read_over(const Access& read, const Access& write) const;
  const Node& node(const Access& access) const { return ordering_.nodes()[access.node]; }

  const Ordering& ordering_;
  transfer::HappensBefore memory_graph_;
  transfer::Reachability memory_;
};

/// Whether both operations give the cell to the same thread, which runs them in program order.
bool share_thread(const Node& a, const Access& of_a, const Node& b, const Access& of_b) {
  if (a.is_user() || b.is_user() || a.is_transfer() || b.is_transfer()) return false;
  return a.block == b.block && a.segment == b.segment && of_a.start == of_b.start &&
         of_a.element == of_b.element && a.operation->packets == b.operation->packets;
}

/// A poll that sees a packet proves that the reads its value is made of are over: for every write
/// after the poll, and for the write of that very value.
bool RaceSearch::is_read_over(const Access& read, const Access& write) const {
  struct Element {
    std::uint32_t node;
    std::uint16_t statement;
    std::uint32_t element;
    auto operator<=>(const Element&) const = default;
  };
  if (node(read).is_user()) return false;
  std::set<Element> seen;
  std::vector<Element> open = {{read.node, read.statement, read.element}};
  while (!open.empty()) {
    const Element at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const Node& from = ordering_.nodes()[at.node];
    for (const Operand& target : from.operation->statements[at.statement].targets) {
      const auto [first, last] = ordering_.accesses_of(target.cell(at.element));
      for (const Access* each = first; each != last; ++each) {
        if (each->writes || each->node == at.node) continue;
        const Node& reader = node(*each);
        if (target.packets) {
          if (!each->polled || reader.launch != from.launch) continue;
          if (memory_.reaches(reader.before, node(write).after)) return true;
          if (each->node == write.node && each->element == write.element) return true;
        } else if (!memory_.reaches(from.before, reader.after)) {
          continue;
        }
        open.push_back({each->node, each->statement, each->element});
      }
    }
  }
  return false;
}

bool RaceSearch::is_ordered(const Access& a, const Access& b) const {
  const Node& x = node(a);
  const Node& y = node(b);
  if (a.node == b.node) return (a.start == b.start && a.element == b.element) || x.is_user();
  if (x.is_user() && y.is_user()) return true;
  if (share_thread(x, a, y, b)) return true;
  // A poll waits for the packet of its launch, and ignores those of earlier ones.
  const auto is_no_concern = [&](const Access& poll, const Access& packet) {
    return poll.polled && packet.writes && packet.packets && !node(packet).is_user() &&
           node(packet).launch <= node(poll).launch;
  };
  if (is_no_concern(a, b) || is_no_concern(b, a)) return true;
  if (precedes(a, b) || precedes(b, a)) return true;
  return (!a.writes && is_read_over(a, b)) || (!b.writes && is_read_over(b, a));
}

std::vector<std::pair<Access, Access>> RaceSearch::find(LimitWatch& watch) {
  std::vector<std::pair<Access, Access>> found;
  std::set<std::pair<std::uint32_t, std::uint32_t>> nodes;  // that are reported
  for (Cell cell = 0; cell < ordering_.unrolling().cells; ++cell) {
    const auto [first, last] = ordering_.accesses_of(cell);
    if (std::none_of(first, last, [](const Access& each) { return each.writes; })) continue;
    for (const Access* b = first; b != last; ++b) {
      if (node(*b).launch >= static_cast<std::int32_t>(ordering_.unrolling().judged)) continue;
      for (const Access* a = first; a != b; ++a) {
        if (!a->writes && !b->writes) continue;
        if (node(*a).launch >= static_cast<std::int32_t>(ordering_.unrolling().judged)) continue;
        watch.step();
        if (nodes.contains({a->node, b->node}) || is_ordered(*a, *b)) continue;
        nodes.insert({a->node, b->node});
        found.emplace_back(*a, *b);
        if (found.size() == kMaxCandidates) return found;
      }
    }
  }
  return found;
}

/// Names the kind of an unordered pair.
class Classification {
 public:
  Classification(const Ordering& ordering, LimitWatch& watch)
      : ordering_(ordering),
        surplus_graph_(ordering.graph(Graph::MemoryWithSurplus)),
        program_graph_(ordering.graph(Graph::Program)),
        signals_graph_(ordering.graph(Graph::Signals)),
        surplus_(surplus_graph_, ordering.chains(), watch),
        program_(program_graph_, ordering.program_chains(), watch),
        signals_(signals_graph_, ordering.program_chains(), watch) {}

  Rule rule_of(const Access& a, const Access& b) const;

 private:
  const Node& node(const Access& access) const { return ordering_.nodes()[access.node]; }
  /// Whether a path joins two nodes if the operations of every block are ordered.
  bool joined(const transfer::Reachability& order, const Node& x, const Node& y) const {
    return order.reaches(x.next, y.previous) || order.reaches(y.next, x.previous);
  }

  const Ordering& ordering_;
  transfer::HappensBefore surplus_graph_;
  transfer::HappensBefore program_graph_;
  transfer::HappensBefore signals_graph_;
  transfer::Reachability surplus_;
  transfer::Reachability program_;
  transfer::Reachability signals_;
};

Rule Classification::rule_of(const Access& a, const Access& b) const {
  const Node& x = node(a);
  const Node& y = node(b);
  if (surplus_.reaches(x.before, y.after) || surplus_.reaches(y.before, x.after)) {
    return Rule::SignalSurplus;
  }
  const bool same_segment = !x.is_user() && !y.is_user() && !x.is_transfer() && !y.is_transfer() &&
                            x.block == y.block && x.segment == y.segment;
  if (same_segment || joined(program_, x, y)) return Rule::MissingSync;
  if (joined(signals_, x, y)) return Rule::RelaxedOrder;
  const auto is_source = [&](const Access& access) {
    return node(access).is_transfer() && !access.writes;
  };
  if ((is_source(a) && y.rank == x.rank) || (is_source(b) && x.rank == y.rank)) {
    return Rule::MissingFlush;
  }
  if (x.is_user() || y.is_user()) {
    const Node& user = x.is_user() ? x : y;
    const Node& other = x.is_user() ? y : x;
    return other.launch > user.launch ? Rule::EarlyAccess : Rule::LateAccess;
  }
  const bool scratch = !ordering_.unrolling().space_of(a.cell).user;
  if (scratch && x.launch != y.launch) return Rule::ScratchReuse;
  return Rule::DataRace;
}

std::string missing_order(Rule rule, const std::string& first, const std::string& second) {
  switch (rule) {
    case Rule::SignalSurplus:
      return "A counter that would order them gets more signals than it is waited for in every "
             "launch, so that its waits end too early.";
    case Rule::MissingSync:
      return fmt::format(
          "In program order a path would join {} and {}, but the threads of a block "
          "only meet at nop and barrier.",
          first, second);
    case Rule::RelaxedOrder:
      return fmt::format(
          "In time a path joins {} and {}, but it goes through a relaxed signal or "
          "wait, which order no other memory.",
          first, second);
    case Rule::MissingFlush:
      return "Nothing waits for the end of the transfer, which still reads its source.";
    case Rule::EarlyAccess:
      return "Nothing proves that the owner's launch has begun.";
    case Rule::LateAccess:
      return "Nothing keeps the owner's launch from ending before.";
    case Rule::ScratchReuse:
      return "Nothing proves that the earlier launch is done with the scratch buffer.";
    default:
      return fmt::format("No path of signals, barriers or program order joins {} and {}.", first,
                         second);
  }
}

/// An operation with what tells it from the others of its statement: its counter, or what it
/// writes.
std::string line_of(const Ordering& ordering, std::uint32_t index) {
  const Unrolling& unrolling = ordering.unrolling();
  const Operation& operation = *ordering.nodes()[index].operation;
  const std::string text = ordering.describe(index);
  switch (operation.kind) {
    case Operation::Kind::Signal:
    case Operation::Kind::Wait:
      return fmt::format("{}, {}", text, unrolling.counters[operation.object].name);
    case Operation::Kind::PushSignal:
      return fmt::format("{}, {}", text, unrolling.counters[operation.counter].name);
    default:
      break;
  }
  if (operation.statements.empty() || operation.statements[0].targets.empty()) return text;
  return fmt::format("{} to {}", text,
                     describe(unrolling, operation.statements[0].targets[0].first));
}

std::vector<std::string> schedule_of(const Ordering& ordering, const transfer::HappensBefore& time,
                                     const Node& x, const Node& y) {
  std::vector<std::string> lines;
  const std::vector<Event> both = {x.after, y.after};
  for (const Event event : time.before(both)) {
    const std::uint32_t node = ordering.node_of(event);
    if (node == kNone || ordering.nodes()[node].is_user()) continue;
    // Of the ranks that take part.
    const std::uint32_t rank = ordering.nodes()[node].rank;
    if (rank != x.rank && rank != y.rank) continue;
    const Operation::Kind kind = ordering.nodes()[node].operation->kind;
    if (kind != Operation::Kind::Meet && kind != Operation::Kind::Barrier) {
      lines.push_back(line_of(ordering, node));
    }
  }
  if (lines.size() > kMaxScheduleLines) {
    const std::size_t left_out = lines.size() - kMaxScheduleLines;
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(left_out));
    lines.insert(lines.begin(),
                 fmt::format("({} operation{} before)", left_out, left_out == 1 ? "" : "s"));
  }
  return lines;
}

}  // namespace

std::optional<Violation> find_race(const Ordering& ordering, const transfer::HappensBefore& time,
                                   LimitWatch& watch) {
  const auto pairs = RaceSearch(ordering, watch).find(watch);
  if (pairs.empty()) return std::nullopt;
  const Classification classification(ordering, watch);
  std::optional<Candidate> best;
  for (const auto& [a, b] : pairs) {
    const Rule rule = classification.rule_of(a, b);
    if (!best || rule < best->rule) best = Candidate{rule, a, b};
  }
  const std::string first = ordering.describe(best->first.node);
  const std::string second = ordering.describe(best->second.node);
  Violation violation;
  violation.rule = best->rule;
  violation.cell = describe(ordering.unrolling(), best->first.cell);
  violation.missing = missing_order(best->rule, first, second);
  violation.happenings = {ordering.happening(best->first.node),
                          ordering.happening(best->second.node)};
  if (best->first.node == best->second.node) {
    violation.reason = fmt::format(
        "Two threads of {} both touch {}, at least one writes it, and nothing orders them.", first,
        violation.cell);
  } else {
    violation.reason =
        fmt::format("{} and {} both touch {}, at least one writes it, and nothing orders them.",
                    first, second, violation.cell);
  }
  // No order of steps shows a fault of memory order alone.
  if (best->rule == Rule::RelaxedOrder) return violation;
  violation.schedule = schedule_of(ordering, time, ordering.nodes()[best->first.node],
                                   ordering.nodes()[best->second.node]);
  return violation;
}

}  // namespace p2::onesided
