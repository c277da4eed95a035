#include "engine/msccl/memory_layout.h"

#include <fmt/format.h>

namespace p2::msccl {

std::string describe(const Cell& cell) {
  return fmt::format("{}[{}] of gpu {}", letter(cell.buffer), cell.index, cell.gpu);
}

MemoryLayout::MemoryLayout(const Algorithm& algorithm, bool in_place)
    : algorithm_(algorithm), in_place_(in_place), collective_(Collective::of(algorithm)) {}

std::optional<std::string> MemoryLayout::beyond(std::uint32_t gpu, const Region& region,
                                                std::uint32_t count) const {
  const std::int64_t end = region.offset + count;
  const std::int64_t declared =
      algorithm_.gpus[gpu].chunks[static_cast<std::size_t>(region.buffer)];
  const char name = letter(region.buffer);
  const auto touched = [&] { return fmt::format("{}[{}..{})", name, region.offset, end); };
  if (region.offset < 0 || end > declared) {
    return fmt::format("touches {}, but {} of gpu {} is declared with {} chunk{}", touched(), name,
                       gpu, declared, declared == 1 ? "" : "s");
  }
  if (!collective_ || region.buffer == Buffer::Scratch) return std::nullopt;
  const std::uint32_t provided =
      region.buffer == Buffer::Input ? collective_->input_chunks() : collective_->output_chunks();
  if (end <= provided) return std::nullopt;
  return fmt::format("touches {}, but a caller of {} provides {} chunk{} of {}", touched(),
                     algorithm_.collective, provided, provided == 1 ? "" : "s", name);
}

std::optional<std::string> MemoryLayout::beyond(StepPlace place) const {
  const Step& step = algorithm_.step(place);
  if (reads_source(step.type)) {
    if (auto found = beyond(place.gpu, step.source, step.count)) return found;
  }
  if (writes_destination(step.type)) return beyond(place.gpu, step.destination, step.count);
  return std::nullopt;
}

Cell MemoryLayout::cell(std::uint32_t gpu, Buffer buffer, std::uint32_t index) const {
  if (in_place_ && collective_ && buffer != Buffer::Scratch) {
    const Buffer inner = collective_->output_lies_in_input() ? Buffer::Output : Buffer::Input;
    if (buffer == inner) {
      const Buffer outer = inner == Buffer::Output ? Buffer::Input : Buffer::Output;
      return {gpu, outer, collective_->part_start(gpu) + index};
    }
  }
  return {gpu, buffer, index};
}

Cell MemoryLayout::cell(std::uint32_t gpu, const Region& region, std::uint32_t k) const {
  return cell(gpu, region.buffer, static_cast<std::uint32_t>(region.offset) + k);
}

std::vector<Access> MemoryLayout::accesses(StepPlace place) const {
  const Step& step = algorithm_.step(place);
  std::vector<Access> all;
  for (std::uint32_t k = 0; k < step.count; ++k) {
    if (reads_source(step.type)) all.push_back({cell(place.gpu, step.source, k), k, false});
    if (writes_destination(step.type)) {
      all.push_back({cell(place.gpu, step.destination, k), k, true});
    }
  }
  return all;
}

std::optional<Contribution> MemoryLayout::initially(const Cell& cell) const {
  if (!collective_ || cell.buffer == Buffer::Scratch || !collective_->has_input(cell.gpu)) {
    return std::nullopt;
  }
  if (cell.buffer == Buffer::Input) return Contribution{cell.gpu, cell.index};
  // In place an output cell that has no input cell is an allgather's, and one part of it is input.
  if (!in_place_ || collective_->output_lies_in_input()) return std::nullopt;
  const std::uint32_t start = collective_->part_start(cell.gpu);
  if (cell.index < start || cell.index >= start + collective_->input_chunks()) return std::nullopt;
  return Contribution{cell.gpu, cell.index - start};
}

}  // namespace p2::msccl
