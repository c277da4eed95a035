// Pipeline schedules of torch.distributed.pipelining (Huang et al., "GPipe", NeurIPS 2019;
// Narayanan et al., "Efficient large-scale language model training on GPU clusters using
// Megatron-LM", SC 2021; Qi et al., "Zero bubble pipeline parallelism", ICLR 2024).

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/records/record.h"
#include "engine/transfer/happens_before.h"
#include "p2/error.h"

namespace p2::records {
namespace {

constexpr std::uint32_t kMaxNumber = 65535;
constexpr std::size_t kMaxCells = 4'000'000;

enum class Action : std::uint8_t {
  Forward,
  Backward,       ///< gradients of activations and of weights
  InputGradient,  ///< `I`: of activations alone
  Weight,         ///< `W`
  SendForward,
  ReceiveForward,
  SendBackward,
  ReceiveBackward,
  Other  ///< communication inside a stage: it orders nothing between stages
};

struct ActionName {
  std::string_view name;
  Action action;
};

/// Longer names first, since a name may begin with another one.
constexpr std::array<ActionName, 16> kActions{{{"WAIT_REDUCE_GRAD", Action::Other},
                                               {"WAIT_SEND_F", Action::Other},
                                               {"WAIT_SEND_B", Action::Other},
                                               {"REDUCE_GRAD", Action::Other},
                                               {"RECV_F", Action::ReceiveForward},
                                               {"RECV_B", Action::ReceiveBackward},
                                               {"SEND_F", Action::SendForward},
                                               {"SEND_B", Action::SendBackward},
                                               {"UNSHARD", Action::Other},
                                               {"RESHARD", Action::Other},
                                               {"WAIT_RECV_F", Action::Other},
                                               {"WAIT_RECV_B", Action::Other},
                                               {"F", Action::Forward},
                                               {"B", Action::Backward},
                                               {"I", Action::InputGradient},
                                               {"W", Action::Weight}}};

constexpr std::string_view kOverlap = "OVERLAP_F_B";

bool is_send(Action action) {
  return action == Action::SendForward || action == Action::SendBackward;
}
bool is_receive(Action action) {
  return action == Action::ReceiveForward || action == Action::ReceiveBackward;
}
bool is_compute(Action action) { return action <= Action::Weight; }

struct Cell {
  Action action = Action::Other;
  std::uint32_t stage = 0;
  std::uint32_t microbatch = 0;
  std::uint32_t rank = 0;
  std::string text;
  SourcePosition where;
};

/// A number at the front of `text`, which is removed.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > kMaxNumber) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// `0F3`, `1SEND_B2`, `0UNSHARD`; nothing for anything else.
std::optional<Cell> parse_action(std::string_view text) {
  Cell cell;
  cell.text = text;
  const auto stage = take_number(text);
  if (!stage) return std::nullopt;
  cell.stage = *stage;
  for (const ActionName& each : kActions) {
    if (!text.starts_with(each.name)) continue;
    std::string_view rest = text.substr(each.name.size());
    cell.action = each.action;
    if (rest.empty() && each.action == Action::Other) return cell;
    const auto microbatch = take_number(rest);
    if (!microbatch || !rest.empty()) continue;
    cell.microbatch = *microbatch;
    return cell;
  }
  return std::nullopt;
}

/// A cell, or the parts of `(0F1;3B2)OVERLAP_F_B`.
std::vector<Cell> parse_cell(std::string_view text) {
  if (text.starts_with('(') && text.ends_with(kOverlap)) {
    const std::size_t close = text.find(')');
    if (close + 1 + kOverlap.size() != text.size()) return {};
    std::vector<Cell> parts;
    std::string_view rest = text.substr(1, close - 1);
    while (!rest.empty()) {
      const std::size_t end = rest.find(';');
      const auto part = parse_action(rest.substr(0, end));
      if (!part) return {};
      parts.push_back(*part);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return parts;
  }
  const auto cell = parse_action(text);
  return cell ? std::vector<Cell>{*cell} : std::vector<Cell>{};
}

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// `each(cell, line, column)` for the cells of every line; lines and columns from 1.
template <typename Each>
void for_each_cell(std::string_view text, const Each& each) {
  std::size_t line = 1;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view row = text.substr(0, end);
    std::size_t column = 1;
    for (bool more = true; more;) {
      const std::size_t comma = row.find(',');
      more = comma != std::string_view::npos;
      if (!each(trimmed(row.substr(0, comma)), line, column)) return;
      column += more ? comma + 1 : 0;
      if (more) row.remove_prefix(comma + 1);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line;
  }
}

struct Schedule {
  std::string file;
  std::vector<std::vector<Cell>> ranks;
  std::uint32_t stages = 0;
  std::uint32_t microbatches = 0;
  bool communicates = false;  ///< sends and receives are written out
  bool has_backward = false;
  std::vector<std::uint32_t> rank_of_stage;
};

Schedule read_schedule(const RecordText& source) {
  Schedule schedule;
  schedule.file = source.file;
  std::size_t cells = 0;
  std::size_t lines = 0;
  for_each_cell(source.text, [&](std::string_view text, std::size_t line, std::size_t column) {
    if (line > lines) {
      lines = line;
      schedule.ranks.emplace_back();
    }
    if (text.empty()) return true;
    std::vector<Cell> parts = parse_cell(text);
    if (parts.empty()) {
      throw InputError(
          {source.file, line, column},
          fmt::format("'{}' is not an action, expected <stage><action><microbatch> such "
                      "as 0F1, 0B1, 0I1, 0W1 or 0SEND_F1",
                      text));
    }
    for (Cell& cell : parts) {
      cell.rank = static_cast<std::uint32_t>(line - 1);
      cell.where = {source.file, line, column};
      schedule.stages = std::max(schedule.stages, cell.stage + 1);
      if (is_compute(cell.action)) {
        schedule.microbatches = std::max(schedule.microbatches, cell.microbatch + 1);
        schedule.has_backward |= cell.action != Action::Forward;
      }
      schedule.communicates |= is_send(cell.action) || is_receive(cell.action);
      schedule.ranks.back().push_back(std::move(cell));
    }
    cells += parts.size();
    if (cells > kMaxCells) {
      throw InputError({source.file, line, column},
                       fmt::format("more than {} actions, expected fewer", kMaxCells));
    }
    return true;
  });
  // A last line without actions is the end of the file.
  while (!schedule.ranks.empty() && schedule.ranks.back().empty()) schedule.ranks.pop_back();
  if (schedule.microbatches == 0) {
    throw InputError({source.file, 1, 1}, "has no forwards, expected a row of actions per rank");
  }
  return schedule;
}

Counterexample fault(std::string rule, const SourcePosition& where, std::string explanation,
                     Json facts = Json::object()) {
  return {std::move(rule), where, std::move(explanation), std::move(facts), {}};
}

std::string at(const Cell& cell) {
  return fmt::format("{} of rank {} (line {}, column {})", cell.text, cell.rank, cell.where.line,
                     cell.where.column);
}

/// The actions of a schedule, by kind, stage and microbatch.
class Index {
 public:
  explicit Index(const Schedule& schedule) {
    for (const auto& rank : schedule.ranks) {
      for (const Cell& cell : rank) {
        if (cell.action != Action::Other) cells_[key(cell)].push_back(&cell);
      }
    }
  }

  const Cell* find(Action action, std::uint32_t stage, std::uint32_t microbatch) const {
    const auto found = cells_.find({action, stage, microbatch});
    return found == cells_.end() ? nullptr : found->second.front();
  }
  /// The first action that occurs twice; null where there is none.
  const std::vector<const Cell*>* twice() const {
    for (const auto& [name, cells] : cells_) {
      if (cells.size() > 1) return &cells;
    }
    return nullptr;
  }

 private:
  using Key = std::tuple<Action, std::uint32_t, std::uint32_t>;
  static Key key(const Cell& cell) { return {cell.action, cell.stage, cell.microbatch}; }

  std::map<Key, std::vector<const Cell*>> cells_;
};

std::optional<Counterexample> check_placement(Schedule& schedule) {
  std::vector<const Cell*> first(schedule.stages);
  for (const auto& rank : schedule.ranks) {
    for (const Cell& cell : rank) {
      const Cell*& known = first[cell.stage];
      if (known == nullptr) known = &cell;
      if (known->rank == cell.rank) continue;
      return fault(
          "stage-placement", cell.where,
          fmt::format("Stage {} is on two ranks: {} and {}.", cell.stage, at(*known), at(cell)),
          Json::object({{"stage", cell.stage}}));
    }
  }
  for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) {
    if (first[stage] == nullptr) {
      return fault("missing-work", {schedule.file},
                   fmt::format("No rank runs stage {}, although there are {} stages.", stage,
                               schedule.stages),
                   Json::object({{"stage", stage}}));
    }
    schedule.rank_of_stage.push_back(first[stage]->rank);
  }
  return std::nullopt;
}

/// Every stage runs every microbatch once, forward and backward.
std::optional<Counterexample> check_work(const Schedule& schedule, const Index& index) {
  if (const auto* cells = index.twice()) {
    const Cell& second = *(*cells)[1];
    return fault(
        "duplicate-work", second.where,
        fmt::format("{} occurs twice: {} and {}.", second.text, at(*cells->front()), at(second)),
        Json::object({{"stage", second.stage}, {"microbatch", second.microbatch}}));
  }
  for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) {
    for (std::uint32_t microbatch = 0; microbatch < schedule.microbatches; ++microbatch) {
      const auto has = [&](Action action) {
        return index.find(action, stage, microbatch) != nullptr;
      };
      const Json facts = Json::object({{"stage", stage}, {"microbatch", microbatch}});
      const auto missing = [&](std::string_view what) {
        return fault(
            "missing-work", {schedule.file},
            fmt::format("Stage {} never runs the {} of microbatch {}.", stage, what, microbatch),
            facts);
      };
      if (!has(Action::Forward)) return missing("forward");
      if (!schedule.has_backward) continue;
      const bool split = has(Action::InputGradient);
      if (split && has(Action::Backward)) {
        const Cell& cell = *index.find(Action::Backward, stage, microbatch);
        return fault(
            "duplicate-work", cell.where,
            fmt::format("{} stands beside {}, which computes the same gradients.", at(cell),
                        at(*index.find(Action::InputGradient, stage, microbatch))),
            facts);
      }
      if (has(Action::Backward) && has(Action::Weight)) {
        const Cell& cell = *index.find(Action::Weight, stage, microbatch);
        return fault("duplicate-work", cell.where,
                     fmt::format("{} stands beside {}, which computes the same gradients.",
                                 at(cell), at(*index.find(Action::Backward, stage, microbatch))),
                     facts);
      }
      // The first stage has no use for gradients of its inputs: its backward may be W alone.
      const bool weights_alone = stage == 0 && has(Action::Weight);
      if (!split && !has(Action::Backward) && !weights_alone) return missing("backward");
      if (split && !has(Action::Weight)) return missing("gradient of weights");
    }
  }
  return std::nullopt;
}

/// The backward whose gradients of activations others wait for.
const Cell* backward_of(const Index& index, std::uint32_t stage, std::uint32_t microbatch) {
  const Cell* full = index.find(Action::Backward, stage, microbatch);
  return full != nullptr ? full : index.find(Action::InputGradient, stage, microbatch);
}

/// What an action waits for on its own or on another rank.
std::vector<const Cell*> inputs_of(const Schedule& schedule, const Index& index, const Cell& cell) {
  std::vector<const Cell*> inputs;
  const auto need = [&](const Cell* input) {
    if (input != nullptr) inputs.push_back(input);
  };
  const auto crosses = [&](std::uint32_t a, std::uint32_t b) {
    return schedule.communicates && schedule.rank_of_stage[a] != schedule.rank_of_stage[b];
  };
  const std::uint32_t stage = cell.stage;
  const std::uint32_t microbatch = cell.microbatch;
  switch (cell.action) {
    case Action::Forward:
      if (stage == 0) break;
      need(crosses(stage - 1, stage) ? index.find(Action::ReceiveForward, stage, microbatch)
                                     : index.find(Action::Forward, stage - 1, microbatch));
      break;
    case Action::Weight:
      if (const Cell* backward = backward_of(index, stage, microbatch)) {
        need(backward);
        break;
      }
      [[fallthrough]];
    case Action::Backward:
    case Action::InputGradient:
      need(index.find(Action::Forward, stage, microbatch));
      if (stage + 1 == schedule.stages) break;
      need(crosses(stage, stage + 1) ? index.find(Action::ReceiveBackward, stage, microbatch)
                                     : backward_of(index, stage + 1, microbatch));
      break;
    case Action::SendForward:
      need(index.find(Action::Forward, stage, microbatch));
      break;
    case Action::SendBackward:
      need(backward_of(index, stage, microbatch));
      break;
    case Action::ReceiveForward:
    case Action::ReceiveBackward:
    case Action::Other:
      break;
  }
  return inputs;
}

/// The send of a receive; null where there is none.
const Cell* send_of(const Index& index, const Cell& receive) {
  if (receive.action == Action::ReceiveForward) {
    return receive.stage == 0
               ? nullptr
               : index.find(Action::SendForward, receive.stage - 1, receive.microbatch);
  }
  return index.find(Action::SendBackward, receive.stage + 1, receive.microbatch);
}

const Cell* receive_of(const Index& index, const Cell& send) {
  if (send.action == Action::SendForward) {
    return index.find(Action::ReceiveForward, send.stage + 1, send.microbatch);
  }
  return send.stage == 0 ? nullptr
                         : index.find(Action::ReceiveBackward, send.stage - 1, send.microbatch);
}

/// Where sends and receives are written out, each has its counterpart, and what comes from another
/// rank is received.
std::optional<Counterexample> check_messages(const Schedule& schedule, const Index& index) {
  if (!schedule.communicates) return std::nullopt;
  const auto facts = [](const Cell& cell) {
    return Json::object(
        {{"rank", cell.rank}, {"stage", cell.stage}, {"microbatch", cell.microbatch}});
  };
  for (const auto& rank : schedule.ranks) {
    for (const Cell& cell : rank) {
      if (is_send(cell.action) && receive_of(index, cell) == nullptr) {
        return fault("missing-receive", cell.where,
                     fmt::format("No rank receives what {} sends.", at(cell)), facts(cell));
      }
      if (is_receive(cell.action) && send_of(index, cell) == nullptr) {
        return fault("missing-send", cell.where,
                     fmt::format("No rank sends what {} waits for.", at(cell)), facts(cell));
      }
      const bool forward = cell.action == Action::Forward;
      const bool backward = cell.action == Action::Backward ||
                            cell.action == Action::InputGradient ||
                            (cell.action == Action::Weight &&
                             backward_of(index, cell.stage, cell.microbatch) == nullptr);
      if (!forward && !backward) continue;
      if (forward ? cell.stage == 0 : cell.stage + 1 == schedule.stages) continue;
      const std::uint32_t other = forward ? cell.stage - 1 : cell.stage + 1;
      const Action receive = forward ? Action::ReceiveForward : Action::ReceiveBackward;
      if (schedule.rank_of_stage[other] != cell.rank &&
          index.find(receive, cell.stage, cell.microbatch) == nullptr) {
        return fault(
            "missing-receive", cell.where,
            fmt::format("{} uses what stage {} on rank {} computes, and never receives it.",
                        at(cell), other, schedule.rank_of_stage[other]),
            facts(cell));
      }
    }
  }
  return std::nullopt;
}

/// The messages of two ranks, in the order in which each issues them: these orders have to be
/// equal.
using Pair = std::pair<std::uint32_t, std::uint32_t>;
using Messages = std::map<Pair, std::array<std::vector<const Cell*>, 2>>;

Messages messages_of(const Schedule& schedule, const Index& index) {
  Messages messages;
  for (const auto& rank : schedule.ranks) {
    for (const Cell& cell : rank) {
      if (!is_send(cell.action) && !is_receive(cell.action)) continue;
      const Cell& other = is_send(cell.action) ? *receive_of(index, cell) : *send_of(index, cell);
      if (other.rank == cell.rank) continue;
      const Pair pair = std::minmax(cell.rank, other.rank);
      messages[pair][cell.rank == pair.first ? 0 : 1].push_back(&cell);
    }
  }
  return messages;
}

std::optional<Counterexample> check_message_order(const Messages& messages, const Index& index) {
  for (const auto& [pair, lists] : messages) {
    for (std::size_t i = 0; i < lists[0].size(); ++i) {
      const Cell& first = *lists[0][i];
      const Cell& second = *lists[1][i];
      const Cell& wanted =
          is_send(first.action) ? *receive_of(index, first) : *send_of(index, first);
      if (&wanted == &second) continue;
      return fault(
          "p2p-order", second.where,
          fmt::format("Operation {} between ranks {} and {}: rank {} issues {}, whose counterpart "
                      "is {}, but rank {} issues {}. Both wait for each other for ever.",
                      i + 1, pair.first, pair.second, pair.first, at(first), at(wanted),
                      pair.second, at(second)),
          Json::object({{"ranks", Json::array({pair.first, pair.second})},
                        {"operation", i + 1},
                        {"issued", Json::array({first.text, second.text})}}));
    }
  }
  return std::nullopt;
}

/// Whether every action can run: a topological sort of what each waits for.
std::optional<Counterexample> check_progress(const Schedule& schedule, const Index& index,
                                             const Messages& messages) {
  using transfer::EdgeKind;
  transfer::GraphBuilder builder;
  std::map<const Cell*, transfer::Event> issued;
  std::vector<const Cell*> cells;
  for (const auto& rank : schedule.ranks) {
    for (const Cell& cell : rank) {
      issued[&cell] = builder.add_event(cell.rank);
      cells.push_back(&cell);
    }
  }
  // A message is an event of the communicator of two ranks, after both have issued it.
  std::map<const Cell*, transfer::Event> arrived;
  auto process = static_cast<std::uint32_t>(schedule.ranks.size());
  for (const auto& [pair, lists] : messages) {
    for (std::size_t i = 0; i < lists[0].size(); ++i) {
      const transfer::Event event = builder.add_event(process);
      for (const auto& list : lists) {
        builder.add_edge(issued.at(list[i]), event, EdgeKind::Rendezvous);
        arrived[list[i]] = event;
      }
      cells.push_back(lists[0][i]);
    }
    ++process;
  }
  // All messages of a rank go over one communicator, as batch_isend_irecv sends them: in order.
  for (const auto& rank : schedule.ranks) {
    std::optional<transfer::Event> before;
    for (const Cell& cell : rank) {
      const auto message = arrived.find(&cell);
      if (message == arrived.end()) continue;
      if (before) builder.add_edge(*before, message->second, EdgeKind::Capacity);
      before = message->second;
    }
  }
  for (const auto& [cell, event] : issued) {
    for (const Cell* input : inputs_of(schedule, index, *cell)) {
      const auto message = arrived.find(input);
      builder.add_edge(message == arrived.end() ? issued.at(input) : message->second, event,
                       EdgeKind::Dependency);
    }
  }
  const transfer::HappensBefore graph = std::move(builder).build();
  if (!graph.has_cycle()) return std::nullopt;
  std::vector<std::string> waits;
  const std::vector<transfer::Edge> cycle = graph.cycle();
  Json ranks = Json::array();
  for (auto edge = cycle.rbegin(); edge != cycle.rend(); ++edge) {
    const Cell& from = *cells[edge->from];
    const Cell& to = *cells[edge->to];
    if (&from == &to) continue;
    waits.push_back(fmt::format("{} {} {}", at(to),
                                edge->kind == EdgeKind::Program ? "comes after" : "waits for",
                                at(from)));
    ranks.push_back(to.text);
  }
  const Cell& last = *cells[cycle.back().to];
  const bool one_rank = std::ranges::all_of(
      cycle, [&](const transfer::Edge& edge) { return cells[edge.from]->rank == last.rank; });
  return fault(one_rank ? "order" : "deadlock", last.where,
               fmt::format("{}: {}.",
                           one_rank ? "The order of a rank contradicts what its actions need"
                                    : "The schedule stops for ever",
                           fmt::join(waits, "; ")),
               Json::object({{"actions", ranks}}));
}

/// By rank: the most microbatches whose activations a rank holds, between a forward and the end of
/// its backward, over all of its stages.
std::vector<std::uint32_t> peak_activations(const Schedule& schedule) {
  std::vector<std::uint32_t> peaks;
  for (const auto& rank : schedule.ranks) {
    std::uint32_t held = 0;
    std::uint32_t peak = 0;
    for (const Cell& cell : rank) {
      if (cell.action == Action::Forward) peak = std::max(peak, ++held);
      if (cell.action == Action::Backward || cell.action == Action::Weight) --held;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace

bool is_pipeline_csv(std::string_view text) {
  bool any = false;
  bool all = true;
  std::size_t seen = 0;
  for_each_cell(text, [&](std::string_view cell, std::size_t, std::size_t) {
    if (cell.empty()) return true;
    any = true;
    all = !parse_cell(cell).empty();
    return all && ++seen < 8;
  });
  return any && all;
}

RecordDecision check_pipeline_csv(const RecordText& source, const Limits& limits) {
  Schedule schedule = read_schedule(source);
  const Index index(schedule);
  limits.require(source.text.size(), "the check of a pipeline schedule");
  RecordDecision decision;
  decision.format = "pipeline-schedule";
  decision.summary =
      fmt::format("{} ranks, {} stages, {} microbatches, {}", schedule.ranks.size(),
                  schedule.stages, schedule.microbatches,
                  schedule.communicates ? "sends and receives written out" : "compute only");
  decision.model =
      "each rank in the order of its row; the messages of a rank over one communicator, in order";
  auto& violation = decision.violation;
  Messages messages;
  violation = check_placement(schedule);
  if (!violation) violation = check_work(schedule, index);
  if (!violation) violation = check_messages(schedule, index);
  if (!violation) {
    if (schedule.communicates) messages = messages_of(schedule, index);
    violation = check_message_order(messages, index);
  }
  if (!violation) violation = check_progress(schedule, index, messages);
  if (violation) decision.outcome = Outcome::Refuted;
  decision.facts = Json::object({{"ranks", schedule.ranks.size()},
                                 {"stages", schedule.stages},
                                 {"microbatches", schedule.microbatches}});
  if (!violation) {
    const std::vector<std::uint32_t> peaks = peak_activations(schedule);
    decision.facts.add("peak_activations", Json::array_of(peaks));
    decision.drawing = fmt::format("peak activations by rank: {}\n", fmt::join(peaks, " "));
  }
  return decision;
}

}  // namespace p2::records
