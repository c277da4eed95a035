#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace p2
