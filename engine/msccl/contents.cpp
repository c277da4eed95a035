#include "engine/msccl/contents.h"

#include "engine/base/invariant.h"

namespace p2::msccl {
namespace {

constexpr std::size_t kBytesOfSum = 128;  // of a short one, with what manages it

}  // namespace

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
    watch_.count(sizeof(Content) + kBytesOfSum);
    watch_.step();
    const auto contribution = layout_.initially(cell);
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
  watch_.count(sizeof(Content) + (parts[1] == nullptr ? 0 : kBytesOfSum));
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

}  // namespace p2::msccl
