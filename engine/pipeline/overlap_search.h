#pragma once

#include <cstdint>
#include <vector>

#include "engine/limits.h"
#include "engine/pipeline/simulation.h"

namespace p2 {

/// The makespan below which no pipeline is, whatever its orders (link model `delay`): the last
/// stage gets the first microbatch after all forwards before it and their transfers, works without
/// a pause, and its last backward goes all the way back.
std::int64_t full_overlap(PipelineSize size, const PipelineTimes& times);

/// Orders of forwards and backwards (not split) in which stage i holds at most `most[i]`
/// activations and the pipeline takes no longer than full_overlap() under `delay`; the starts of
/// all work. Nothing if there are none: all orders were tried. Microbatches go in turn, which loses
/// nothing: they are all alike.
class OverlapSearch {
 public:
  OverlapSearch(PipelineSize size, const PipelineTimes& times, const Limits& limits);

  enum class Kind : std::uint8_t { Exists, None, Unknown };
  struct Answer {
    Kind kind = Kind::Unknown;
    PipelineRun run;
  };
  Answer search(const std::vector<std::uint32_t>& most);
  /// States looked at by all searches.
  std::uint64_t states() const { return states_; }

 private:
  const PipelineSize size_;
  const PipelineTimes times_;
  const Limits& limits_;
  std::uint64_t states_ = 0;
};

}  // namespace p2
