#include "engine/onesided/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace p2::onesided {
namespace {

constexpr std::array<std::string_view, 30> kOpNames = {
    "nop",    "barrier", "signal", "rlxsignal", "wait",  "rlxwait", "sem_release", "sem_acquire",
    "put",    "pws",     "pwsf",   "flush",     "get",   "copy",    "re",          "res",
    "rre",    "rres",    "cpkt",   "ppkt",      "upkt",  "rppkt",   "repkt",       "respkt",
    "recpkt", "recspkt", "gstore", "gstorepkt", "glres", "pipeline"};

constexpr std::array<std::string_view, 27> kRuleNames = {"malformed",
                                                         "executor-limit",
                                                         "no-channel",
                                                         "no-buffer",
                                                         "no-peer",
                                                         "wrong-peer",
                                                         "size-mismatch",
                                                         "out-of-bounds",
                                                         "barrier-mismatch",
                                                         "packet-overwritten",
                                                         "packet-never-written",
                                                         "unmatched-wait",
                                                         "deadlock",
                                                         "signal-surplus",
                                                         "data-race",
                                                         "missing-sync",
                                                         "relaxed-order",
                                                         "missing-flush",
                                                         "early-access",
                                                         "late-access",
                                                         "scratch-reuse",
                                                         "missing-data",
                                                         "stale-data",
                                                         "double-count",
                                                         "wrong-chunk",
                                                         "lost-contribution",
                                                         "wrong-result"};

}  // namespace

char letter(Buffer buffer) {
  constexpr std::array<char, 3> kLetters = {'i', 'o', 's'};
  return kLetters[static_cast<std::size_t>(buffer)];
}

std::string_view to_string(ChannelType type) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "memory", "port", "switch"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(OpType type) { return kOpNames[static_cast<std::size_t>(type)]; }

std::optional<OpType> op_type(std::string_view name) {
  const auto* const found = std::find(kOpNames.begin(), kOpNames.end(), name);
  if (found == kOpNames.end()) return std::nullopt;
  return static_cast<OpType>(found - kOpNames.begin());
}

std::string describe(const Plan& plan, OpPlace place) {
  const Op& outer = plan.gpus[place.gpu].blocks[place.block].ops[place.op];
  if (place.inner == OpPlace::kNone) {
    return fmt::format("gpu {} tb {} op {} ({})", place.gpu, place.block, place.op,
                       to_string(outer.type));
  }
  return fmt::format("gpu {} tb {} op {}.{} ({})", place.gpu, place.block, place.op, place.inner,
                     to_string(outer.body[place.inner].type));
}

std::vector<std::uint32_t> flattened(const std::vector<References>& all, ChannelType type) {
  std::vector<std::uint32_t> ids;
  for (const References& each : all) {
    if (each.type == type) ids.insert(ids.end(), each.ids.begin(), each.ids.end());
  }
  return ids;
}

std::uint32_t channel_at(const Plan& plan, OpPlace place, ChannelType type,
                         std::uint32_t position) {
  return flattened(plan.gpus[place.gpu].blocks[place.block].channels, type)[position];
}

const RemoteBuffer& remote_buffer(const Plan& plan, OpPlace place, ChannelType type,
                                  const Region& region) {
  const Gpu& gpu = plan.gpus[place.gpu];
  return gpu.remote_buffers[flattened(gpu.blocks[place.block].remote_buffers, type)[region.id]];
}

std::optional<Shape> shape_of(OpType type) {
  using enum Region::Kind;
  switch (type) {
    case OpType::Put:
    case OpType::PutWithSignal:
    case OpType::PutWithSignalAndFlush:
      return Shape{{Own}, {Remote}, Own, Remote, true};
    case OpType::Get:
      return Shape{{Remote}, {Own}, Remote, Own, true};
    case OpType::Copy:
      return Shape{{Own}, {Own}};
    case OpType::Reduce:
      return Shape{{Own}, {Own}, Own};
    case OpType::ReduceSend:
      return Shape{{Own}, {Own}, Own, Remote};
    case OpType::ReadReduce:
      return Shape{{Own}, {Own}, Remote};
    case OpType::ReadReduceSend:
      return Shape{{Own}, {Own}, Remote, Remote};
    case OpType::CopyPackets:
    case OpType::UnpackPackets:
      return Shape{.sources = {Own}, .targets = {Own}, .packets = true};
    case OpType::PutPackets:
      return Shape{{Own}, {Remote}, Own, Remote, true, true};
    case OpType::ReadPutPackets:
      return Shape{.sources = {Own}, .targets = {Remote}, .more_targets = Remote, .packets = true};
    case OpType::ReducePackets:
      return Shape{.sources = {Own}, .targets = {Own}, .more_sources = Own, .packets = true};
    case OpType::ReduceSendPackets:
      return Shape{{Own}, {Own}, Own, Remote, false, true};
    case OpType::ReduceCopyPackets:
      return Shape{.sources = {Own}, .targets = {Own, Own}, .more_sources = Own, .packets = true};
    case OpType::ReduceCopySendPackets:
      return Shape{{Own}, {Own, Own}, Own, Remote, false, true};
    case OpType::GroupStore:
      return Shape{{Own}, {Switch}};
    case OpType::GroupStorePackets:
      return Shape{.sources = {Own}, .targets = {Switch}, .packets = true};
    case OpType::GroupLoadReduceStore:
      return Shape{{Switch}, {Switch}};
    default:
      return std::nullopt;
  }
}

bool is_packet_source(OpType type, std::size_t k) {
  const auto shape = shape_of(type);
  return type == OpType::UnpackPackets || type == OpType::ReadPutPackets ||
         type == OpType::GroupStorePackets ||
         (shape && shape->packets && k > 0 && !shape->pairwise);
}

std::string_view to_string(Rule rule) { return kRuleNames[static_cast<std::size_t>(rule)]; }

bool is_race(Rule rule) { return Rule::SignalSurplus <= rule && rule <= Rule::ScratchReuse; }

}  // namespace p2::onesided
