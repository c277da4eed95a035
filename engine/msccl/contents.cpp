#include "engine/msccl/contents.h"

#include <algorithm>
#include <limits>

#include "engine/invariant.h"

namespace p2::msccl {
namespace {

std::shared_ptr<const Sum> sum_of(const std::vector<const Content*>& parts) {
  const bool written = std::all_of(parts.begin(), parts.end(),
                                   [](const Content* part) { return part->sum != nullptr; });
  if (!written) return nullptr;
  if (parts.size() == 1) return parts.front()->sum;
  Sum sum;
  for (const Content* part : parts) {
    for (const auto& [contribution, count] : *part->sum) {
      std::uint32_t& total = sum[contribution];
      total += std::min(count, std::numeric_limits<std::uint32_t>::max() - total);
    }
  }
  return std::make_shared<const Sum>(std::move(sum));
}

}  // namespace

Contents::Contents(const Algorithm& algorithm, const MemoryLayout& layout,
                   const std::vector<Connection>& connections)
    : algorithm_(algorithm), layout_(layout) {
  for (const Connection& connection : connections) {
    for (std::size_t k = 0; k < connection.receives.size(); ++k) {
      sender_[connection.receives[k]] = connection.sends[k];
    }
  }
}

const Content* Contents::at(const Cell& cell) {
  const auto [found, unknown] = cells_.try_emplace(cell);
  if (unknown) {
    const auto contribution = layout_.initially(cell);
    auto sum = contribution ? std::make_shared<const Sum>(Sum{{*contribution, 1}}) : nullptr;
    found->second = &all_.emplace_back(Content{std::move(sum), std::nullopt, {}});
  }
  return found->second;
}

Contents::Chunks Contents::local(StepPlace place, const Region& region) {
  Chunks chunks;
  for (std::uint32_t k = 0; k < algorithm_.step(place).count; ++k) {
    chunks.push_back(at(layout_.cell(place.gpu, region, k)));
  }
  return chunks;
}

const Content* Contents::made(StepPlace maker, std::vector<const Content*> parts) {
  auto sum = sum_of(parts);
  return &all_.emplace_back(Content{std::move(sum), maker, std::move(parts)});
}

void Contents::run(StepPlace place) {
  const Step& step = algorithm_.step(place);
  if (step.type == StepType::Nop) return;
  std::vector<Chunks> operands;
  if (receives(step.type)) {
    const auto message = in_flight_.find(sender_.at(place));
    invariant(message != in_flight_.end(), "a receive runs after its send");
    operands.push_back(std::move(message->second));
    in_flight_.erase(message);
  }
  if (reads_source(step.type)) operands.push_back(local(place, step.source));
  if (reads_destination(step.type)) operands.push_back(local(place, step.destination));
  Chunks result;
  for (std::uint32_t k = 0; k < step.count; ++k) {
    std::vector<const Content*> parts;
    for (const Chunks& operand : operands) parts.push_back(operand[k]);
    result.push_back(made(place, std::move(parts)));
  }
  for (std::uint32_t k = 0; writes_destination(step.type) && k < step.count; ++k) {
    cells_[layout_.cell(place.gpu, step.destination, k)] = result[k];
  }
  if (sends(step.type)) in_flight_[place] = std::move(result);
}

}  // namespace p2::msccl
