#include "engine/msccl/result.h"

#include <set>

#include <fmt/format.h>

#include "engine/msccl/contents.h"

namespace p2::msccl {
namespace {

std::string describe(const Contribution& contribution) {
  return fmt::format("chunk {} of rank {}", contribution.chunk, contribution.rank);
}

/// `expected` is in order.
std::optional<Fault> difference(const Content& content, const std::vector<Contribution>& expected,
                                const Cell& cell) {
  const auto fault = [&](Fault::Kind kind, const std::string& has) {
    return Fault{kind, fmt::format("At the end {} {}.", describe(cell), has), {}, cell};
  };
  if (!content.sum) {
    return fault(Fault::Kind::MissingData,
                 content.maker ? "is made of memory that nobody wrote" : "was never written");
  }
  const std::set<Contribution> wanted(expected.begin(), expected.end());
  for (const auto& [contribution, count] : *content.sum) {
    if (!wanted.contains(contribution)) {
      return fault(Fault::Kind::WrongChunk,
                   fmt::format("holds {}, which does not belong there", describe(contribution)));
    }
  }
  for (const auto& [contribution, count] : *content.sum) {
    if (count > 1) {
      return fault(Fault::Kind::DoubleCount,
                   fmt::format("holds {} {} times, expected once", describe(contribution), count));
    }
  }
  for (const Contribution& contribution : expected) {
    if (!content.sum->contains(contribution)) {
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
    if (next->maker) found.insert(*next->maker);
    for (const Content* part : next->parts) {
      if (seen.insert(part).second) open.push_back(part);
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
                                  const HappensBefore& happens_before) {
  Contents contents(algorithm, layout, connections);
  for (const std::uint32_t event : happens_before.order()) {
    contents.run(happens_before.events()[event].step);
  }
  const Collective& collective = *layout.collective();
  for (std::uint32_t rank = 0; rank < algorithm.gpus.size(); ++rank) {
    for (std::uint32_t chunk = 0; chunk < collective.output_chunks(); ++chunk) {
      const std::vector<Contribution> expected = collective.expected(rank, chunk);
      if (expected.empty()) continue;
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
