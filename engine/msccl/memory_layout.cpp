#include "engine/msccl/memory_layout.h"

#include <map>

#include <fmt/format.h>

namespace p2::msccl {

std::optional<Collective> Collective::of(const Algorithm& algorithm) {
  static const std::map<std::string, Kind> kinds = {{"allreduce", Kind::AllReduce},
                                                    {"allgather", Kind::AllGather},
                                                    {"reduce_scatter", Kind::ReduceScatter},
                                                    {"reducescatter", Kind::ReduceScatter},
                                                    {"alltoall", Kind::AllToAll},
                                                    {"broadcast", Kind::Broadcast},
                                                    {"reduce", Kind::Reduce}};
  const auto found = kinds.find(algorithm.collective);
  if (found == kinds.end()) return std::nullopt;
  const auto ranks = static_cast<std::uint32_t>(algorithm.gpus.size());
  const Kind kind = found->second;
  const bool has_parts =
      kind == Kind::AllGather || kind == Kind::ReduceScatter || kind == Kind::AllToAll;
  if (has_parts && algorithm.chunks % ranks != 0) return std::nullopt;
  return Collective(kind, ranks, algorithm.chunks, algorithm.root);
}

bool Collective::sums() const {
  return kind_ == Kind::AllReduce || kind_ == Kind::ReduceScatter || kind_ == Kind::Reduce;
}

Contribution Collective::expected(std::uint32_t rank, std::uint32_t chunk) const {
  switch (kind_) {
    case Kind::AllGather:
      return {chunk / part_, chunk % part_};
    case Kind::AllToAll:
      return {chunk / part_, rank * part_ + chunk % part_};
    case Kind::Broadcast:
      return {root_, chunk};
    case Kind::ReduceScatter:
      return {0, rank * part_ + chunk};
    case Kind::AllReduce:
    case Kind::Reduce:
      break;
  }
  return {0, chunk};
}

std::uint32_t Collective::part_start(std::uint32_t rank) const {
  return kind_ == Kind::AllGather || kind_ == Kind::ReduceScatter ? rank * part_ : 0;
}

std::string describe(const Cell& cell) {
  return fmt::format("{}[{}] of gpu {}", letter(cell.buffer), cell.index, cell.gpu);
}

MemoryLayout::MemoryLayout(const Algorithm& algorithm, bool in_place)
    : algorithm_(algorithm), in_place_(in_place), collective_(Collective::of(algorithm)) {}

std::optional<std::string> MemoryLayout::find_overrun(std::uint32_t gpu, const Region& region,
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

std::optional<std::string> MemoryLayout::find_overrun(StepPlace place) const {
  const Step& step = algorithm_.step(place);
  if (reads_source(step.type)) {
    if (auto found = find_overrun(place.gpu, step.source, step.count)) return found;
  }
  if (writes_destination(step.type)) return find_overrun(place.gpu, step.destination, step.count);
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

std::optional<Contribution> MemoryLayout::initial_content(const Cell& cell) const {
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
