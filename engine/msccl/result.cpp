#include "engine/msccl/result.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/msccl/contents.h"

namespace p2::msccl {
namespace {

std::string describe(const Contribution& contribution) {
  return fmt::format("chunk {} of rank {}", contribution.chunk, contribution.rank);
}

/// What the sum of a cell lacks or has too much of.
std::optional<Fault> difference(const Content& content, const Sum& expected, const Cell& cell) {
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

/// The steps that a content was made by, in the order of `happens_before`.
std::vector<StepPlace> makers(const Content& content, const HappensBefore& happens_before) {
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
  for (const std::uint32_t event : happens_before.order()) {
    const StepPlace place = happens_before.events()[event].step;
    if (found.contains(place)) steps.push_back(place);
  }
  return steps;
}

}  // namespace

std::optional<Fault> wrong_result(const Algorithm& algorithm, const MemoryLayout& layout,
                                  const std::vector<Connection>& connections,
                                  const HappensBefore& happens_before, LimitWatch& watch) {
  Contents contents(algorithm, layout, connections, watch);
  for (const std::uint32_t event : happens_before.order()) {
    watch.step();
    contents.run(happens_before.events()[event].step);
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
      auto fault = difference(content, expected, cell);
      if (!fault) continue;
      fault->steps = makers(content, happens_before);
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace p2::msccl
