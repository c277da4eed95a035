#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "engine/onesided/unrolling.h"

namespace p2::onesided {
namespace {

constexpr std::uint32_t kMaxGroupMultiple = 64;

/// The least common multiple of the sizes of thread block groups.
std::uint32_t group_multiple(const Plan& plan) {
  std::uint32_t multiple = 1;
  for_each_op(plan, [&](const Op& op, OpPlace) {
    const std::uint64_t next = std::lcm(std::uint64_t{multiple}, std::uint64_t{op.group_size});
    multiple = static_cast<std::uint32_t>(std::min<std::uint64_t>(next, kMaxGroupMultiple));
  });
  return multiple;
}

struct Pipelines {
  std::uint64_t unit = 0;       ///< the greatest common divisor of the unit sizes
  std::uint64_t largest = 0;    ///< unit, in units
  bool one_round = true;        ///< some message is handled in one round by all pipelines
  bool several_rounds = false;  ///< some message is not
};

Pipelines pipelines_of(const Plan& plan) {
  Pipelines found;
  found.unit = smallest_unit(plan);
  if (found.unit == 0) return found;
  std::uint64_t chunks = 1;
  for (const Gpu& gpu : plan.gpus) {
    const std::uint64_t of_message = plan.collective == "allgather" || gpu.input_chunks == 0
                                         ? gpu.output_chunks
                                         : gpu.input_chunks;
    chunks = std::max(chunks, of_message);
  }
  const std::uint64_t largest = plan.max_bytes / chunks;
  const std::uint64_t smallest =
      std::max<std::uint64_t>(plan.alignment, (plan.min_bytes + chunks - 1) / chunks);
  for_each_op(plan, [&](const Op& op, OpPlace) {
    if (op.type != OpType::Pipeline || op.num_chunks == 0) return;
    found.largest = std::max(found.largest, op.unit_size / found.unit);
    if (smallest > op.unit_size / op.num_chunks) found.one_round = false;
    if (largest > op.unit_size / op.num_chunks) found.several_rounds = true;
  });
  return found;
}

}  // namespace

std::uint64_t smallest_unit(const Plan& plan) {
  std::uint64_t unit = 0;
  for_each_op(plan, [&](const Op& op, OpPlace) {
    if (op.type == OpType::Pipeline) unit = std::gcd(unit, op.unit_size);
  });
  return unit;
}

std::vector<Sizes> sizes_to_check(const Plan& plan) {
  const std::uint32_t multiple = group_multiple(plan);
  std::vector<std::uint32_t> chunks = {1};
  if (multiple > 1) {
    chunks = {multiple, multiple + 1, 2 * multiple + 1};
    constexpr std::uint32_t kMaxResidues = 8;
    for (std::uint32_t rest = 2; rest < std::min(multiple, kMaxResidues); ++rest) {
      chunks.push_back(multiple + rest);
    }
  }
  const Pipelines pipelines = pipelines_of(plan);
  std::vector<Sizes> all;
  if (pipelines.several_rounds) {
    const auto scale =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(pipelines.largest, kMaxGroupMultiple));
    all.push_back({5 * multiple * scale, 2 * multiple});
    if (multiple > 1) all.push_back({5 * multiple * scale + 1, 2 * multiple});
  }
  if (pipelines.unit == 0 || pipelines.one_round) {
    for (const std::uint32_t chunk : chunks) all.push_back({chunk, 0});
  }
  return all;
}

std::vector<std::string> notes_on(const Plan& plan) {
  std::vector<std::string> open;
  const std::uint32_t multiple = group_multiple(plan);
  if (multiple > 8) {
    open.push_back(
        fmt::format("of the {} residues of chunk sizes modulo {}, by which thread block "
                    "groups cut them, 8 were examined",
                    multiple, multiple));
  }
  constexpr std::uint64_t kScratchBytes = std::uint64_t{1} << 26;
  std::uint64_t chunks = 0;
  for (const Gpu& gpu : plan.gpus) chunks = std::max<std::uint64_t>(chunks, gpu.scratch_chunks);
  if (plan.reuses_resources && chunks > 0) {
    chunks *= plan.double_scratch ? 2 : 1;
    std::uint64_t parts = 1;
    for (const Gpu& gpu : plan.gpus) parts = std::max<std::uint64_t>(parts, gpu.input_chunks);
    if (plan.max_bytes / parts > kScratchBytes / chunks) {
      open.push_back(
          fmt::format("chunks above {} bytes, for which the executor wraps the scratch "
                      "buffer that plans share, are not modelled",
                      kScratchBytes / chunks));
    }
  }
  const auto uses = [&](OpType type) {
    bool found = false;
    for_each_op(plan, [&](const Op& op, OpPlace) { found = found || op.type == type; });
    return found;
  };
  const auto note = [&](OpType type, const char* defect) {
    if (uses(type)) open.push_back(fmt::format("{}: {}", to_string(type), defect));
  };
  note(OpType::Flush,
       "the executor takes its count from dst_buff, which plans lack, so that it "
       "does nothing; judged as a flush");
  note(OpType::Get, "the executor exchanges the two offsets; judged as written");
  note(OpType::GroupLoadReduceStore,
       "the language writes the index of the source into the target; judged as written");
  return open;
}

std::uint32_t launches_to_check(const Plan& plan) { return plan.double_scratch ? 4 : 3; }

}  // namespace p2::onesided
