#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/ordering.h"

namespace p2::onesided {
namespace {

/// One input cell of one rank in one launch.
struct Contribution {
  std::uint32_t launch = 0;
  std::uint32_t rank = 0;
  std::uint32_t cell = 0;  ///< of the rank's input

  auto operator<=>(const Contribution&) const = default;
};

/// A multiset of contributions.
using Sum = std::vector<std::pair<Contribution, std::uint32_t>>;
using Value = std::uint32_t;
constexpr Value kUnwritten = 0;  ///< made of memory that was never written
constexpr std::uint32_t kNoPacket = kNone;

/// What collectives define: the expected output cells.
class Goal {
 public:
  enum class Kind : std::uint8_t {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    Broadcast,
    SendReceive,
    User  ///< Unrolling::goal
  };

  static std::optional<Goal> of(const Unrolling& unrolling) {
    constexpr std::array<std::string_view, 6> kNames = {"allreduce", "allgather", "reducescatter",
                                                        "alltoall",  "broadcast", "sendrecv"};
    if (unrolling.goal) return Goal(Kind::User, unrolling);
    const auto* const found = std::find(kNames.begin(), kNames.end(), unrolling.collective);
    if (found == kNames.end()) return std::nullopt;
    return Goal(static_cast<Kind>(found - kNames.begin()), unrolling);
  }

  bool is_send_receive() const { return kind_ == Kind::SendReceive; }

  Sum expected(std::uint32_t launch, std::uint32_t rank, std::uint32_t cell) const {
    const UserCells& user = unrolling_.users[rank];
    Sum sum;
    const auto all = [&](std::uint32_t at) {
      for (std::uint32_t r = 0; r < unrolling_.ranks; ++r) sum.push_back({{launch, r, at}, 1});
    };
    switch (kind_) {
      case Kind::AllReduce:
        all(cell);
        break;
      case Kind::ReduceScatter:
        all(rank * user.output_cells + cell);
        break;
      case Kind::AllGather:
        sum.push_back({{launch, cell / user.input_cells, cell % user.input_cells}, 1});
        break;
      case Kind::AllToAll: {
        const std::uint32_t part = user.output_cells / unrolling_.ranks;
        sum.push_back({{launch, cell / part, rank * part + cell % part}, 1});
        break;
      }
      case Kind::Broadcast:
        sum.push_back({{launch, 0, cell}, 1});
        break;
      case Kind::User:
        for (const auto& [from, at] : unrolling_.wanted(rank, cell)) {
          sum.push_back({{launch, from, at}, 1});
        }
        std::sort(sum.begin(), sum.end());
        break;
      case Kind::SendReceive:
        break;
    }
    return sum;
  }
  /// Whether an output cell may hold anything.
  bool is_free(std::uint32_t rank) const {
    return kind_ == Kind::User && unrolling_.goal->outputs[rank].empty();
  }

 private:
  Goal(Kind kind, const Unrolling& unrolling) : kind_(kind), unrolling_(unrolling) {}

  Kind kind_;
  const Unrolling& unrolling_;
};

/// The memory of all ranks in one schedule.
class Run {
 public:
  Run(const Ordering& ordering, LimitWatch& watch)
      : ordering_(ordering),
        unrolling_(ordering.unrolling()),
        watch_(watch),
        cells_(unrolling_.cells),
        flags_(unrolling_.cells, kNoPacket) {
    sums_.emplace_back();
  }

  /// The user writes the input of the launch, and the output with what is no result.
  void prepare(std::uint32_t rank, std::uint32_t launch) {
    const UserCells& user = unrolling_.users[rank];
    for (std::uint32_t k = 0; k < user.output_cells; ++k) put(user.output + k, kUnwritten);
    for (std::uint32_t k = 0; k < user.input_cells; ++k) {
      sums_.push_back({{{launch, rank, k}, 1}});
      put(user.input + k, static_cast<Value>(sums_.size() - 1));
    }
  }

  /// The cell of a poll that finds no packet of its launch; none if all is well.
  std::optional<Cell> execute(const Operation& operation, std::uint32_t launch);

  Value at(Cell cell) const { return cells_[cell]; }
  const Sum& sum(Value value) const { return sums_[value]; }

 private:
  void put(Cell cell, Value value) {
    cells_[cell] = value;
    flags_[cell] = kNoPacket;
  }
  Value total(const std::vector<Value>& parts);

  const Ordering& ordering_;
  const Unrolling& unrolling_;
  LimitWatch& watch_;
  std::vector<Value> cells_;
  std::vector<std::uint32_t> flags_;  ///< by cell: the launch of the packet that begins there
  std::deque<Sum> sums_;
};

Value Run::total(const std::vector<Value>& parts) {
  if (parts.size() == 1) return parts.front();
  std::map<Contribution, std::uint32_t> counts;
  for (const Value part : parts) {
    if (part == kUnwritten) return kUnwritten;
    for (const auto& [contribution, count] : sums_[part]) counts[contribution] += count;
  }
  watch_.take(counts.size() * sizeof(Sum::value_type));
  sums_.emplace_back(counts.begin(), counts.end());
  return static_cast<Value>(sums_.size() - 1);
}

std::optional<Cell> Run::execute(const Operation& operation, std::uint32_t launch) {
  for (const Statement& statement : operation.statements) {
    const std::uint32_t count = statement.sources.front().count;
    std::vector<Value> results(count);
    std::vector<std::uint32_t> flags(count, launch);
    for (std::uint32_t k = 0; k < count; ++k) {
      watch_.step();
      std::vector<Value> parts;
      for (const Operand& source : statement.sources) {
        const Cell cell = source.cell(k);
        if (source.polled && flags_[cell] != launch) return cell;
        if (source.packets && !source.polled) flags[k] = flags_[cell];
        parts.push_back(cells_[cell]);
      }
      results[k] = total(parts);
    }
    for (const Operand& target : statement.targets) {
      for (std::uint32_t k = 0; k < count; ++k) {
        const Cell cell = target.cell(k);
        put(cell, results[k]);
        if (!target.packets) {
          // A plain write into the second half of a packet destroys it as well.
          if (cell > 0 && flags_[cell - 1] != kNoPacket &&
              (cell - unrolling_.space_of(cell).first) % 2 == 1) {
            flags_[cell - 1] = kNoPacket;
          }
          continue;
        }
        put(cell + 1, results[k]);
        flags_[cell] = flags[k];
      }
    }
  }
  return std::nullopt;
}

std::string describe(const Contribution& contribution, const std::string& rank_word) {
  return fmt::format("i[{}] of {} {} in launch {}", contribution.cell, rank_word, contribution.rank,
                     contribution.launch);
}

/// Which rule a wrong output cell breaks, and why.
std::pair<Rule, std::string> fault_of(const Sum& found, const Sum& expected, std::uint32_t launch,
                                      const std::string& rank_word) {
  std::map<Contribution, std::uint32_t> counts(found.begin(), found.end());
  for (const auto& [contribution, count] : counts) {
    if (contribution.launch != launch) {
      return {Rule::StaleData, "holds " + describe(contribution, rank_word)};
    }
  }
  for (const auto& [contribution, count] : counts) {
    if (count > 1) {
      return {Rule::DoubleCount,
              fmt::format("holds {} {} times", describe(contribution, rank_word), count)};
    }
  }
  std::map<Contribution, std::uint32_t> wanted(expected.begin(), expected.end());
  for (const auto& [contribution, count] : counts) {
    if (!wanted.contains(contribution)) {
      return {Rule::WrongChunk,
              fmt::format("holds {}, which belongs elsewhere", describe(contribution, rank_word))};
    }
  }
  for (const auto& [contribution, count] : expected) {
    if (!counts.contains(contribution)) {
      return {Rule::LostContribution, "lacks " + describe(contribution, rank_word)};
    }
  }
  return {Rule::WrongResult, "holds something else"};
}

/// Every rank holds one rank's input, no two the same.
std::optional<Violation> find_wrong_exchange(const Unrolling& unrolling, const Run& run,
                                             const std::vector<std::vector<Value>>& outputs,
                                             std::uint32_t launch) {
  std::vector<std::uint32_t> receiver(unrolling.ranks, kNone);
  for (std::uint32_t r = 0; r < unrolling.ranks; ++r) {
    const UserCells& user = unrolling.users[r];
    std::uint32_t sender = kNone;
    for (std::uint32_t k = 0; k < user.output_cells; ++k) {
      Violation violation;
      violation.cell = describe(unrolling, user.output + k);
      const Value value = outputs[r][k];
      if (value == kUnwritten) {
        violation.rule = Rule::MissingData;
        violation.reason = fmt::format(
            "{} after launch {} is made of memory that was never written.", violation.cell, launch);
        return violation;
      }
      const Sum& sum = run.sum(value);
      const Contribution& first = sum.front().first;
      if (sender == kNone) sender = first.rank;
      if (sum.size() == 1 && sum.front().second == 1 && first.launch == launch && first.cell == k &&
          first.rank == sender) {
        continue;
      }
      const Sum wanted = {{{launch, sender, k}, 1}};
      const auto [rule, reason] = fault_of(sum, wanted, launch, unrolling.rank_word);
      violation.rule = rule;
      violation.reason = fmt::format("{} after launch {} {}.", violation.cell, launch, reason);
      return violation;
    }
    if (sender == kNone) continue;
    if (receiver[sender] != kNone) {
      Violation violation;
      violation.rule = Rule::WrongResult;
      violation.cell = describe(unrolling, user.output);
      violation.reason =
          fmt::format("{0} {1} and {0} {2} both hold the input of {0} {3} after launch {4}.",
                      unrolling.rank_word, receiver[sender], r, sender, launch);
      return violation;
    }
    receiver[sender] = r;
  }
  return std::nullopt;
}

std::optional<Violation> find_wrong_output(const Unrolling& unrolling, const Goal& goal,
                                           const Run& run, std::uint32_t rank,
                                           std::uint32_t launch) {
  const UserCells& user = unrolling.users[rank];
  for (std::uint32_t k = 0; k < user.output_cells; ++k) {
    if (goal.is_free(rank)) return std::nullopt;
    const Value value = run.at(user.output + k);
    const Sum expected = goal.expected(launch, rank, k);
    if (value != kUnwritten && run.sum(value) == expected) continue;
    Violation violation;
    violation.cell = describe(unrolling, user.output + k);
    if (value == kUnwritten) {
      violation.rule = Rule::MissingData;
      violation.reason = fmt::format("{} after launch {} is made of memory that was never written.",
                                     violation.cell, launch);
      return violation;
    }
    const auto [rule, reason] = fault_of(run.sum(value), expected, launch, unrolling.rank_word);
    violation.rule = rule;
    violation.reason = fmt::format("{} after launch {} {}.", violation.cell, launch, reason);
    return violation;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Violation> find_wrong_result(const Ordering& ordering,
                                           const transfer::HappensBefore& time, LimitWatch& watch,
                                           std::optional<OpenQuestion>& open) {
  const Unrolling& unrolling = ordering.unrolling();
  const std::optional<Goal> goal = Goal::of(unrolling);
  Run run(ordering, watch);
  // The nodes of every block in program order; those without an event run before the next one.
  std::vector<std::vector<std::uint32_t>> queued(unrolling.blocks.size());
  std::vector<std::size_t> next(unrolling.blocks.size());
  for (std::uint32_t n = 0; n < ordering.nodes().size(); ++n) {
    const Node& node = ordering.nodes()[n];
    if (!node.is_user() && !node.is_transfer()) queued[node.block].push_back(n);
  }
  std::vector<std::vector<std::uint32_t>> blocks_of(unrolling.ranks);
  for (std::uint32_t b = 0; b < unrolling.blocks.size(); ++b) {
    blocks_of[unrolling.blocks[b].rank].push_back(b);
  }
  std::optional<Violation> violation;
  const auto execute = [&](std::uint32_t n) {
    const Node& node = ordering.nodes()[n];
    const auto stuck = run.execute(*node.operation, node.operation->launch);
    if (!stuck || violation) return;
    violation = Violation{};
    violation->rule = Rule::Deadlock;
    violation->cell = describe(unrolling, *stuck);
    violation->reason = fmt::format("{} polls {}, whose packet was overwritten before.",
                                    ordering.describe(n), violation->cell);
    violation->happenings = {ordering.happening(n)};
  };
  const auto run_until = [&](std::uint32_t block, std::uint32_t until) {
    while (next[block] < queued[block].size() && queued[block][next[block]] < until) {
      execute(queued[block][next[block]++]);
    }
  };
  // Outputs are compared when their rank's user reads them, those of an exchange together.
  std::vector<std::uint32_t> ended(unrolling.launches);
  std::vector<std::vector<std::vector<Value>>> outputs(
      unrolling.launches, std::vector<std::vector<Value>>(unrolling.ranks));
  std::vector<std::pair<std::pair<std::uint32_t, std::uint32_t>, Violation>> wrong;
  for (const transfer::Event event : time.order()) {
    const std::uint32_t n = ordering.node_of(event);
    if (violation) return violation;
    if (n == kNone) continue;
    const Node& node = ordering.nodes()[n];
    if (node.is_transfer()) {
      if (event == node.after) execute(n);
      continue;
    }
    if (!node.is_user()) {
      run_until(node.block, n + 1);
      continue;
    }
    if (node.launch >= 0) {
      const auto launch = static_cast<std::uint32_t>(node.launch);
      for (const std::uint32_t b : blocks_of[node.rank]) {
        while (next[b] < queued[b].size() &&
               ordering.nodes()[queued[b][next[b]]].launch <= node.launch) {
          execute(queued[b][next[b]++]);
        }
      }
      if (violation) return violation;
      if (goal && !goal->is_send_receive()) {
        if (auto found = find_wrong_output(unrolling, *goal, run, node.rank, launch)) {
          wrong.push_back({{launch, node.rank}, *found});
        }
      }
      if (goal && goal->is_send_receive()) {
        const UserCells& user = unrolling.users[node.rank];
        for (std::uint32_t k = 0; k < user.output_cells; ++k) {
          outputs[launch][node.rank].push_back(run.at(user.output + k));
        }
        if (++ended[launch] == unrolling.ranks) {
          if (auto found = find_wrong_exchange(unrolling, run, outputs[launch], launch)) {
            wrong.push_back({{launch, 0}, *found});
          }
        }
      }
    }
    run.prepare(node.rank, static_cast<std::uint32_t>(node.launch + 1));
  }
  if (!wrong.empty()) {
    return std::min_element(wrong.begin(), wrong.end(),
                            [](const auto& a, const auto& b) { return a.first < b.first; })
        ->second;
  }
  if (!goal) {
    open = OpenQuestion{"unknown-collective",
                        fmt::format("No result is known for {}, and there is no fault before it.",
                                    unrolling.collective)};
  }
  return std::nullopt;
}

}  // namespace p2::onesided
