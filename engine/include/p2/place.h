#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/answer.h"
#include "p2/instance.h"

namespace p2 {

/// Which placements of parallelism axes a system has (section 3.1 of the P2 paper).
struct PlaceRequest {
  /// `axes` and one of `hierarchy` and `system` must be present. With `placement`, only that one is
  /// checked and drawn.
  InstanceSpec instance;
  std::size_t max_placements = 1'000'000;  ///< more of them are an InputError
  std::size_t max_drawn = 64;              ///< only so many placements are drawn device by device
  bool plot = false;                       ///< also draw them as pictures
};

/// A parallelism matrix: a row per axis, a column per hardware level. Entry (i, j) is the number of
/// parts into which level j cuts axis i; row products are axis sizes, column products level sizes.
using ParallelismMatrix = std::vector<std::vector<std::uint32_t>>;

struct PlaceAnswer : Answer {
  std::uint32_t devices = 0;
  std::vector<ParallelismMatrix> placements;  ///< in ascending lexicographic order of their rows
};

/// Lists the placements. The document shows each as a matrix and, for systems of at most 64
/// devices, which device holds which part of every axis; its JSON is `{hierarchy, axes, count,
/// placements}`. Throws InputError for a malformed or incomplete instance and for too many
/// placements.
///
///     p2::PlaceRequest request;
///     request.instance.hierarchy = "node=2,gpu=4";
///     request.instance.axes = "data=4,model=2";
///     for (const p2::ParallelismMatrix& matrix : p2::place(request, {}).placements) …
PlaceAnswer place(const PlaceRequest& request, const Options& options);

/// What a step of training communicates, to order placements by.
struct RankRequest {
  InstanceSpec instance;  ///< a system that names its GPU, axes; with `placement` only that one
  /// By axis what its groups run and how often: `data=AllReduce:2G,tensor=AllReduce:96x64M,
  /// pipeline=SendReceive:32x16M`. Bytes are those of a device's buffer; for AllGather and
  /// ReduceScatter of the whole array.
  std::string traffic;
  std::optional<std::string> overlap;  ///< `data+pipeline`: axes whose traffic runs at once
  std::optional<std::size_t> top;      ///< only so many; text has 20 without it
  std::size_t max_placements = 1'000'000;
};

struct AxisTime {
  std::string axis;
  double seconds = 0;
  std::string algorithm;  ///< `NVLSTree Simple`
  std::string link;       ///< what it waits for: an interconnect of the system, or `latency`
};

struct RankedPlacement {
  ParallelismMatrix placement;
  double seconds = 0;          ///< of all communication of a step
  std::vector<AxisTime> axes;  ///< in the order of the traffic
};

struct RankAnswer : Answer {
  std::vector<RankedPlacement> placements;  ///< fastest first
  std::size_t ranked = 0;                   ///< how many there are
};

/// Orders all placements of the axes by the time that a step communicates, by the model of NCCL
/// (docs/cost.md). Traffic on different axes follows each other; axes that overlap take as long as
/// the longest of them, and at least as long as the GPU links or the NICs are busy with all of
/// them. Throws InputError for malformed traffic, unknown axes, and a system that does not name its
/// GPU.
RankAnswer rank_placements(const RankRequest& request, const Options& options);

}  // namespace p2
