#include "engine/onesided/judge.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <sstream>

#include <fmt/format.h>

#include "engine/onesided/plan.h"
#include "p2/error.h"

namespace p2::onesided {
namespace {

/// The kinds of changes, the least intrusive first.
enum class ChangeKind : std::uint8_t { Order, Flush, Meet, Half };
constexpr std::array<ChangeKind, 4> kChangeKinds = {ChangeKind::Order, ChangeKind::Flush,
                                                    ChangeKind::Meet, ChangeKind::Half};

/// Chooses a smallest set of changes; `is_valid` judges the plan with the chosen ones.
std::vector<std::size_t> smallest_repair(
    const std::vector<ChangeKind>& kinds,
    const std::function<bool(const std::vector<std::size_t>&)>& is_valid) {
  std::vector<std::size_t> chosen;
  // Sets of kinds, the smallest first.
  std::vector<unsigned> sets;
  for (unsigned set = 1; set < 1U << kChangeKinds.size(); ++set) sets.push_back(set);
  std::ranges::stable_sort(sets, {}, [](unsigned set) { return std::popcount(set); });
  for (const unsigned set : sets) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (((set >> static_cast<unsigned>(kinds[i])) & 1U) != 0) all.push_back(i);
    }
    if (!all.empty() && is_valid(all)) {
      chosen = std::move(all);
      break;
    }
  }
  for (std::size_t width = std::bit_floor(std::max<std::size_t>(chosen.size(), 1)); width > 0;
       width /= 2) {
    for (std::size_t at = 0; at + width <= chosen.size();) {
      std::vector<std::size_t> fewer = chosen;
      const auto from = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(from, from + static_cast<std::ptrdiff_t>(width));
      if (!fewer.empty() && is_valid(fewer)) {
        chosen = std::move(fewer);
      } else {
        at += width;
      }
    }
  }
  return chosen;
}

/// The smallest set of `changes`, and the text that `write` makes of the plan with it.
template <typename Change, typename IsValid, typename Write>
std::optional<Repair> repair_with(const std::vector<Change>& changes, const IsValid& is_valid,
                                  const Write& write) {
  std::vector<ChangeKind> kinds;
  for (const Change& each : changes) kinds.push_back(each.kind);
  const std::vector<std::size_t> chosen = smallest_repair(kinds, is_valid);
  if (chosen.empty()) return std::nullopt;
  Repair repair;
  for (const std::size_t each : chosen) repair.changes.push_back(changes[each].text);
  repair.text = write(chosen);
  return repair;
}

/// A change of an MSCCL++ plan: the op at `place` becomes one of `type`, or a nop is inserted
/// there.
struct PlanChange {
  ChangeKind kind = ChangeKind::Order;
  OpPlace place = {};
  OpType type = OpType::Nop;
  std::string text;
};

bool is_meet(const Op& op) { return op.type == OpType::Nop || op.type == OpType::Barrier; }

/// The ops among which a place is.
template <typename SomePlan>
auto& ops_around(SomePlan& plan, const OpPlace& place) {
  auto& ops = plan.gpus[place.gpu].blocks[place.block].ops;
  return place.inner == OpPlace::kNone ? ops : ops[place.op].body;
}
/// Its position among them.
std::uint32_t position_of(const OpPlace& place) {
  return place.inner == OpPlace::kNone ? place.op : place.inner;
}

std::vector<PlanChange> collect_changes(const Plan& plan) {
  std::vector<PlanChange> changes;
  for_each_op(plan, [&](const Op& op, const OpPlace& place) {
    const auto stronger = [&](OpType weak, OpType strong, ChangeKind kind) {
      if (op.type != weak) return;
      changes.push_back({kind, place, strong,
                         fmt::format("make {} a {}", describe(plan, place), to_string(strong))});
    };
    stronger(OpType::RelaxedSignal, OpType::Signal, ChangeKind::Order);
    stronger(OpType::RelaxedWait, OpType::Wait, ChangeKind::Order);
    stronger(OpType::PutWithSignal, OpType::PutWithSignalAndFlush, ChangeKind::Flush);
    const std::uint32_t at = position_of(place);
    if (at > 0 && !is_meet(op) && !is_meet(ops_around(plan, place)[at - 1])) {
      changes.push_back({ChangeKind::Meet, place, OpType::Nop,
                         fmt::format("insert nop before {}", describe(plan, place))});
    }
  });
  if (!plan.double_scratch) {
    changes.push_back({ChangeKind::Half, {}, OpType::Nop, "set use_double_scratch_buffer"});
  }
  return changes;
}

Plan changed(const Plan& plan, const std::vector<PlanChange>& changes,
             const std::vector<std::size_t>& chosen) {
  Plan made = plan;
  // From the last position to the first, so that positions stay what they were.
  for (auto each = chosen.rbegin(); each != chosen.rend(); ++each) {
    const PlanChange& change = changes[*each];
    if (change.kind == ChangeKind::Half) {
      made.double_scratch = true;
      continue;
    }
    std::vector<Op>& ops = ops_around(made, change.place);
    const std::uint32_t at = position_of(change.place);
    if (change.kind == ChangeKind::Meet) {
      ops.insert(ops.begin() + at, Op{});
    } else {
      ops[at].type = change.type;
    }
  }
  return made;
}

/// A change of one line of a text.
struct LineChange {
  ChangeKind kind = ChangeKind::Order;
  std::size_t line = 0;  ///< from 0
  std::string replaced;  ///< what stands there instead: one line or two
  std::string text;
};

std::vector<LineChange> collect_lines(const std::vector<std::string>& lines) {
  std::vector<LineChange> changes;
  const bool threads = std::ranges::any_of(
      lines, [](const std::string& line) { return line.starts_with("threads"); });
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const std::string code = line.substr(0, line.find('#'));
    const std::size_t indent = std::min(code.find_first_not_of(' '), code.size());
    if (const std::size_t at = code.find(" relaxed"); at != std::string::npos) {
      std::string stronger = line;
      stronger.erase(at, std::string_view(" relaxed").size());
      changes.push_back(
          {ChangeKind::Order, i, stronger, fmt::format("line {}: leave out relaxed", i + 1)});
    }
    if (code.starts_with("buffer") && code.find("double") == std::string::npos) {
      std::string doubled = code;
      doubled.erase(doubled.find_last_not_of(" \r\t") + 1);
      changes.push_back({ChangeKind::Half, i, doubled + " double",
                         fmt::format("line {}: double the buffer", i + 1)});
    }
    if (indent == 0 || indent == code.size()) continue;
    const std::string blanks(indent, ' ');
    if (code.find("async") != std::string::npos) {
      changes.push_back({ChangeKind::Flush, i, line + "\n" + blanks + "flush",
                         fmt::format("insert flush after line {}", i + 1)});
    }
    if (threads && code.find("sync", indent) != indent) {
      changes.push_back({ChangeKind::Meet, i, line + "\n" + blanks + "sync",
                         fmt::format("insert sync after line {}", i + 1)});
    }
  }
  return changes;
}

std::string changed(const std::vector<std::string>& lines, const std::vector<LineChange>& changes,
                    const std::vector<std::size_t>& chosen) {
  std::vector<std::string> made = lines;
  for (const std::size_t each : chosen) {
    const LineChange& change = changes[each];
    // Several changes of one line: what is inserted after it stays.
    const std::size_t end = made[change.line].find('\n');
    const std::string after = end == std::string::npos ? "" : made[change.line].substr(end);
    const bool inserts = change.kind == ChangeKind::Flush || change.kind == ChangeKind::Meet;
    made[change.line] = inserts
                            ? made[change.line] + change.replaced.substr(change.replaced.find('\n'))
                            : change.replaced + after;
  }
  std::string text;
  for (const std::string& line : made) text += line + "\n";
  return text;
}

}  // namespace

std::optional<Repair> find_repair(const Plan& plan, const std::string& source,
                                  const Limits& limits) {
  const std::vector<PlanChange> changes = collect_changes(plan);
  return repair_with(
      changes,
      [&](const std::vector<std::size_t>& some) {
        return judge(changed(plan, changes, some), source, limits).outcome == Outcome::Established;
      },
      [&](const std::vector<std::size_t>& chosen) {
        return to_json(changed(plan, changes, chosen));
      });
}

std::optional<Repair> find_text_repair(const std::string& text, const std::string& source,
                                       const Limits& limits) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const std::vector<LineChange> changes = collect_lines(lines);
  return repair_with(
      changes,
      [&](const std::vector<std::size_t>& some) {
        try {
          const TextPlan plan = read_text_plan(source, changed(lines, changes, some));
          return judge(plan, source, limits).outcome == Outcome::Established;
        } catch (const InputError&) {
          return false;  // a change where the format has no place for it
        }
      },
      [&](const std::vector<std::size_t>& chosen) { return changed(lines, changes, chosen); });
}

}  // namespace p2::onesided
