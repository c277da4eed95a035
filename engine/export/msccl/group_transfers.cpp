#include "engine/export/msccl/group_transfers.h"

#include <algorithm>

#include "engine/msccl/loader_limits.h"

namespace p2::msccl {
namespace {

using enum StepType;

using Ranks = std::vector<std::uint32_t>;
/// What goes round a ring together: one run, or none, for every place.
using Units = std::vector<std::optional<ChunkRun>>;

std::vector<ChunkRun> runs_of(const Held& chunks, std::uint32_t longest) {
  std::vector<ChunkRun> runs;
  for (const std::uint32_t chunk : chunks) {
    const bool goes_on = !runs.empty() && runs.back().first + runs.back().count == chunk &&
                         runs.back().count < longest;
    if (goes_on) {
      ++runs.back().count;
    } else {
      runs.push_back({chunk, 1});
    }
  }
  return runs;
}

/// As many parts as places, of sizes that differ by one at most.
std::vector<Held> parts_of(const Held& chunks, std::size_t places) {
  std::vector<Held> parts;
  for (std::size_t i = 0; i < places; ++i) {
    const auto at = [&](std::size_t place) {
      return chunks.begin() + static_cast<std::ptrdiff_t>(place * chunks.size() / places);
    };
    parts.emplace_back(at(i), at(i + 1));
  }
  return parts;
}

/// The runs of the parts, first with first, second with second.
std::vector<Units> passes_of(const std::vector<Held>& parts, std::uint32_t longest_run) {
  std::vector<Units> passes;
  for (std::size_t place = 0; place < parts.size(); ++place) {
    const std::vector<ChunkRun> runs = runs_of(parts[place], longest_run);
    while (passes.size() < runs.size()) passes.emplace_back(parts.size());
    for (std::size_t i = 0; i < runs.size(); ++i) passes[i][place] = runs[i];
  }
  return passes;
}

/// How the parts go round: a rank starts with the part of its own place, or of the one before it,
/// adds what it receives to its own for the first hops, and passes on the rest.
struct Round {
  std::size_t behind = 0;   ///< places from a rank back to the part it starts with
  std::size_t adding = 0;   ///< hops that add
  std::size_t copying = 0;  ///< hops after these, that copy
  std::uint32_t longest_run = 1;
};

StepType type_of(const Round& round, std::size_t hop) {
  const std::size_t last = round.adding + round.copying;
  if (hop == 0) return Send;
  if (hop < round.adding) return ReceiveReduceSend;
  if (hop == round.adding) return hop == last ? ReceiveReduceCopy : ReceiveReduceCopySend;
  return hop == last ? Receive : ReceiveCopySend;
}

void go_round(const Ranks& group, const Units& units, const Round& round, Transfers& transfers) {
  const std::size_t places = group.size();
  for (std::size_t place = 0; place < places; ++place) {
    for (std::size_t hop = 0; hop <= round.adding + round.copying; ++hop) {
      const auto& unit = units[(place + 3 * places - round.behind - hop) % places];
      if (!unit) continue;
      transfers.push_back({group[place], group[(place + 1) % places],
                           group[(place + places - 1) % places], type_of(round, hop), *unit});
    }
  }
}

void go_round(const Ranks& group, const std::vector<Held>& parts, const Round& round,
              Transfers& transfers) {
  for (const Units& units : passes_of(parts, round.longest_run))
    go_round(group, units, round, transfers);
}

/// From the last rank to the first (adding), or from the first to the last.
void go_along(const Ranks& group, const Held& chunks, bool adding, Transfers& transfers) {
  const std::size_t last = group.size() - 1;
  for (std::size_t place = 0; place <= last; ++place) {
    Transfer transfer{group[place]};
    const std::optional<std::uint32_t> below =
        place == 0 ? std::nullopt : std::optional(group[place - 1]);
    const std::optional<std::uint32_t> above =
        place == last ? std::nullopt : std::optional(group[place + 1]);
    transfer.send_peer = adding ? below : above;
    transfer.receive_peer = adding ? above : below;
    if (!transfer.receive_peer) {
      transfer.type = Send;
    } else if (transfer.send_peer) {
      transfer.type = adding ? ReceiveReduceSend : ReceiveCopySend;
    } else {
      transfer.type = adding ? ReceiveReduceCopy : Receive;
    }
    for (const ChunkRun& run : runs_of(chunks, kMostChunksOfStep)) {
      transfer.chunks = run;
      transfers.push_back(transfer);
    }
  }
}

}  // namespace

void append_transfers(p2::Collective collective, const Ranks& group, std::uint32_t longest_run,
                      std::vector<Held>& held, Transfers& transfers) {
  const std::size_t places = group.size();
  const Held first = held[group[0]];
  switch (collective) {
    case p2::Collective::AllReduce:
      go_round(group, parts_of(first, places), {0, places - 1, places - 1, longest_run}, transfers);
      return;
    case p2::Collective::ReduceScatter: {
      const std::vector<Held> parts = parts_of(first, places);
      go_round(group, parts, {1, places - 1, 0, longest_run}, transfers);
      for (std::size_t i = 0; i < places; ++i) held[group[i]] = parts[i];
      return;
    }
    case p2::Collective::AllGather: {
      std::vector<Held> parts;
      Held all;
      for (const std::uint32_t rank : group) {
        parts.push_back(held[rank]);
        all.insert(all.end(), held[rank].begin(), held[rank].end());
      }
      std::sort(all.begin(), all.end());
      go_round(group, parts, {0, 0, places - 1, longest_run}, transfers);
      for (const std::uint32_t rank : group) held[rank] = all;
      return;
    }
    case p2::Collective::Reduce:
      go_along(group, first, true, transfers);
      for (std::size_t i = 1; i < places; ++i) held[group[i]].clear();
      return;
    case p2::Collective::Broadcast:
      go_along(group, first, false, transfers);
      for (const std::uint32_t rank : group) held[rank] = first;
      return;
  }
}

}  // namespace p2::msccl
