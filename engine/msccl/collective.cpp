#include "engine/msccl/collective.h"

#include <map>

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
  const bool dealt =
      kind == Kind::AllGather || kind == Kind::ReduceScatter || kind == Kind::AllToAll;
  if (dealt && algorithm.chunks % ranks != 0) return std::nullopt;
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

}  // namespace p2::msccl
