#include "engine/msccl/verdict.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "engine/base/invariant.h"

namespace p2::msccl {

Sum::Sum(const Contribution& one) : runs_({{one.chunk, one.rank, one.rank, 1}}) {}

Sum Sum::of_all(std::uint32_t ranks, std::uint32_t chunk) {
  Sum sum;
  sum.runs_ = {{chunk, 0, ranks - 1, 1}};
  return sum;
}

void Sum::append(std::vector<Run>& runs, const Run& run) {
  if (!runs.empty()) {
    Run& before = runs.back();
    if (before.chunk == run.chunk && before.last + 1 == run.first && before.count == run.count) {
      before.last = run.last;
      return;
    }
  }
  runs.push_back(run);
}

void Sum::add(const Sum& other) {
  std::vector<Run> merged;
  merged.reserve(std::max(runs_.size(), other.runs_.size()));
  auto one = runs_.begin();
  auto two = other.runs_.begin();
  Run a = one == runs_.end() ? Run{} : *one;
  Run b = two == other.runs_.end() ? Run{} : *two;
  const auto next_one = [&] { a = ++one == runs_.end() ? Run{} : *one; };
  const auto next_two = [&] { b = ++two == other.runs_.end() ? Run{} : *two; };
  while (one != runs_.end() && two != other.runs_.end()) {
    if (std::tie(a.chunk, a.last) < std::tie(b.chunk, b.first)) {
      append(merged, a);
      next_one();
    } else if (std::tie(b.chunk, b.last) < std::tie(a.chunk, a.first)) {
      append(merged, b);
      next_two();
    } else if (a.first != b.first) {
      Run& earlier = a.first < b.first ? a : b;
      const std::uint32_t meet = std::max(a.first, b.first);
      append(merged, {earlier.chunk, earlier.first, meet - 1, earlier.count});
      earlier.first = meet;
    } else {
      const std::uint32_t end = std::min(a.last, b.last);
      const std::uint32_t room = std::numeric_limits<std::uint32_t>::max() - a.count;
      append(merged, {a.chunk, a.first, end, a.count + std::min(b.count, room)});
      const bool a_ends = a.last == end;
      const bool b_ends = b.last == end;
      a.first = b.first = end + 1;
      if (a_ends) next_one();
      if (b_ends) next_two();
    }
  }
  for (; one != runs_.end(); next_one()) append(merged, a);
  for (; two != other.runs_.end(); next_two()) append(merged, b);
  runs_ = std::move(merged);
}

std::map<Contribution, std::uint32_t> Sum::counts() const {
  std::map<Contribution, std::uint32_t> counts;
  for (const Run& run : runs_) {
    for (std::uint32_t rank = run.first; rank <= run.last; ++rank) {
      counts[{rank, run.chunk}] = run.count;
    }
  }
  return counts;
}

namespace {

constexpr std::size_t kBytesPerSum = 128;  // of a short one, with its bookkeeping

/// The value of a chunk and its provenance.
struct Content {
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  const Sum* sum = nullptr;                  ///< null: computed from unwritten memory
  StepPlace maker = {kNobody, 0, 0};         ///< kNobody: initial content
  std::array<const Content*, 3> parts = {};  ///< its operands; null where there are fewer

  bool was_made() const { return maker.gpu != kNobody; }
};

/// The memory of all GPUs while an algorithm is executed; owns all contents.
class Contents {
 public:
  Contents(const Algorithm& algorithm, const MemoryLayout& layout,
           const std::vector<Connection>& connections, LimitWatch& watch);
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  /// Preconditions: the predecessors of the step have been run, and it is no residual add. Throws
  /// LimitReached.
  void run(StepPlace place);
  const Content* at(const Cell& cell);

 private:
  using Chunks = std::vector<const Content*>;
  /// Consecutive cells; null where none was accessed.
  static constexpr std::uint32_t kPage = 32;
  using Page = std::array<const Content*, kPage>;
  /// The connections that a thread block sends and receives on, by number.
  struct Ends {
    std::uint32_t sends_on = 0;
    std::uint32_t receives_on = 0;
  };

  const Content*& slot(const Cell& cell);
  const Sum* sum_of(const std::array<const Content*, 3>& parts);
  const Content* made(StepPlace maker, const std::array<const Content*, 3>& parts);

  const Algorithm& algorithm_;
  const MemoryLayout& layout_;
  LimitWatch& watch_;
  std::vector<std::vector<Ends>> ends_;        ///< by gpu and thread block
  std::vector<std::deque<Chunks>> in_flight_;  ///< by connection
  /// By GPU: the pages of accessed cells.
  std::vector<std::unordered_map<std::uint64_t, Page>> cells_;
  std::deque<Content> all_;
  std::deque<Sum> sums_;
};

Contents::Contents(const Algorithm& algorithm, const MemoryLayout& layout,
                   const std::vector<Connection>& connections, LimitWatch& watch)
    : algorithm_(algorithm),
      layout_(layout),
      watch_(watch),
      in_flight_(connections.size()),
      cells_(algorithm.gpus.size()) {
  for (const Gpu& gpu : algorithm.gpus) ends_.emplace_back(gpu.blocks.size());
  for (std::uint32_t i = 0; i < connections.size(); ++i) {
    for (const StepPlace place : connections[i].sends) ends_[place.gpu][place.block].sends_on = i;
    for (const StepPlace place : connections[i].receives) {
      ends_[place.gpu][place.block].receives_on = i;
    }
  }
}

const Content*& Contents::slot(const Cell& cell) {
  const std::uint64_t page =
      std::uint64_t{static_cast<std::uint8_t>(cell.buffer)} << 32 | cell.index / kPage;
  const auto [found, fresh] = cells_[cell.gpu].try_emplace(page);
  if (fresh) watch_.count(sizeof(Page));
  return found->second[cell.index % kPage];
}

const Content* Contents::at(const Cell& cell) {
  const Content*& there = slot(cell);
  if (there == nullptr) {
    watch_.count(sizeof(Content) + kBytesPerSum);
    watch_.step();
    const auto contribution = layout_.initial_content(cell);
    Content& content = all_.emplace_back();
    if (contribution) content.sum = &sums_.emplace_back(*contribution);
    there = &content;
  }
  return there;
}

const Sum* Contents::sum_of(const std::array<const Content*, 3>& parts) {
  for (const Content* part : parts) {
    if (part != nullptr && part->sum == nullptr) return nullptr;
  }
  if (parts[1] == nullptr) return parts[0]->sum;
  Sum& sum = sums_.emplace_back(*parts[0]->sum);
  for (std::size_t i = 1; i < parts.size() && parts[i] != nullptr; ++i) sum.add(*parts[i]->sum);
  return &sum;
}

const Content* Contents::made(StepPlace maker, const std::array<const Content*, 3>& parts) {
  watch_.step();
  watch_.count(sizeof(Content) + (parts[1] == nullptr ? 0 : kBytesPerSum));
  return &all_.emplace_back(Content{sum_of(parts), maker, parts});
}

void Contents::run(StepPlace place) {
  const Step& step = algorithm_.step(place);
  if (step.type == StepType::Nop) return;
  const Ends& ends = ends_[place.gpu][place.block];
  Chunks message;
  if (receives(step.type)) {
    std::deque<Chunks>& fifo = in_flight_[ends.receives_on];
    invariant(!fifo.empty(), "a receive runs after its send");
    message = std::move(fifo.front());
    fifo.pop_front();
  }
  Chunks result;
  for (std::uint32_t k = 0; k < step.count; ++k) {
    std::array<const Content*, 3> parts = {};
    std::size_t count = 0;
    if (receives(step.type)) parts[count++] = message[k];
    if (reads_source(step.type)) parts[count++] = at(layout_.cell(place.gpu, step.source, k));
    if (reads_destination(step.type)) {
      parts[count++] = at(layout_.cell(place.gpu, step.destination, k));
    }
    result.push_back(made(place, parts));
  }
  for (std::uint32_t k = 0; writes_destination(step.type) && k < step.count; ++k) {
    const Cell cell = layout_.cell(place.gpu, step.destination, k);
    slot(cell) = result[k];
  }
  if (sends(step.type)) in_flight_[ends.sends_on].push_back(std::move(result));
}

std::string describe(const Contribution& contribution) {
  return fmt::format("chunk {} of rank {}", contribution.chunk, contribution.rank);
}

/// The first contribution that a cell lacks or has in excess.
std::optional<Fault> find_difference(const Content& content, const Sum& expected,
                                     const Cell& cell) {
  const auto fault = [&](Fault::Kind kind, const std::string& has) {
    return Fault{kind, fmt::format("At the end {} {}.", describe(cell), has), {}, cell};
  };
  if (content.sum == nullptr) {
    return fault(Fault::Kind::MissingData,
                 content.was_made() ? "is made of memory that nobody wrote" : "was never written");
  }
  if (*content.sum == expected) return std::nullopt;
  const std::map<Contribution, std::uint32_t> wanted = expected.counts();
  const std::map<Contribution, std::uint32_t> found = content.sum->counts();
  for (const auto& [contribution, count] : found) {
    if (!wanted.contains(contribution)) {
      return fault(Fault::Kind::WrongChunk,
                   fmt::format("holds {}, which does not belong there", describe(contribution)));
    }
  }
  for (const auto& [contribution, count] : found) {
    if (count > 1) {
      return fault(Fault::Kind::DoubleCount,
                   fmt::format("holds {} {} times, expected once", describe(contribution), count));
    }
  }
  for (const auto& [contribution, count] : wanted) {
    if (!found.contains(contribution)) {
      return fault(Fault::Kind::LostContribution, fmt::format("lacks {}", describe(contribution)));
    }
  }
  return std::nullopt;
}

/// The steps that contributed to a content, in the order of `graph`.
std::vector<StepPlace> makers(const Content& content, const StepGraph& graph) {
  std::set<const Content*> seen = {&content};
  std::vector<const Content*> open = {&content};
  std::set<StepPlace> found;
  while (!open.empty()) {
    const Content* next = open.back();
    open.pop_back();
    if (next->was_made()) found.insert(next->maker);
    for (const Content* part : next->parts) {
      if (part != nullptr && seen.insert(part).second) open.push_back(part);
    }
  }
  std::vector<StepPlace> steps;
  for (const transfer::Event event : graph.order().order()) {
    const StepPlace place = graph.at(event).step;
    if (found.contains(place)) steps.push_back(place);
  }
  return steps;
}

}  // namespace

std::optional<Fault> find_wrong_result(const Algorithm& algorithm, const MemoryLayout& layout,
                                       const std::vector<Connection>& connections,
                                       const StepGraph& graph, LimitWatch& watch) {
  Contents contents(algorithm, layout, connections, watch);
  for (const transfer::Event event : graph.order().order()) {
    watch.step();
    contents.run(graph.at(event).step);
  }
  const Collective& collective = *layout.collective();
  const auto ranks = static_cast<std::uint32_t>(algorithm.gpus.size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (!collective.has_output(rank)) continue;
    for (std::uint32_t chunk = 0; chunk < collective.output_chunks(); ++chunk) {
      const Contribution one = collective.expected(rank, chunk);
      const Sum expected = collective.sums() ? Sum::of_all(ranks, one.chunk) : Sum(one);
      const Cell cell = layout.cell(rank, Buffer::Output, chunk);
      const Content& content = *contents.at(cell);
      auto fault = find_difference(content, expected, cell);
      if (!fault) continue;
      fault->steps = makers(content, graph);
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace p2::msccl
