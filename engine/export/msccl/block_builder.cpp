#include "engine/export/msccl/block_builder.h"

#include <algorithm>

namespace p2::msccl {
namespace {

std::int64_t number_of(const std::optional<std::uint32_t>& peer) {
  return peer ? static_cast<std::int64_t>(*peer) : -1;
}

Step nop() { return {StepType::Nop, 0, {Buffer::Input, -1}, {Buffer::Output, -1}, 0}; }

}  // namespace

BlockBuilder::BlockBuilder(std::uint32_t ranks, std::uint32_t chunks, Buffer buffer)
    : buffer_(buffer), gpus_(ranks), ranks_(ranks) {
  for (Rank& rank : ranks_) rank.touched.resize(chunks);
}

BlockBuilder::Role BlockBuilder::role_of(const Transfer& transfer) {
  return {transfer.rank, number_of(transfer.send_peer), number_of(transfer.receive_peer)};
}

bool BlockBuilder::fits(const std::set<Role>& channel, const Role& role) const {
  if (channel.contains(role)) return true;
  const auto first = channel.lower_bound({role.rank, -1, -1});
  for (auto other = first; other != channel.end() && other->rank == role.rank; ++other) {
    const bool same_send = role.send >= 0 && other->send == role.send;
    const bool same_receive = role.receive >= 0 && other->receive == role.receive;
    if (same_send || same_receive) return false;
  }
  return true;
}

std::uint32_t BlockBuilder::channel_for(const std::set<Role>& roles) {
  std::uint32_t channel = 0;
  while (channel < used_.size() && !std::all_of(roles.begin(), roles.end(), [&](const Role& role) {
           return fits(used_[channel], role);
         })) {
    ++channel;
  }
  if (channel == used_.size()) used_.emplace_back();
  used_[channel].insert(roles.begin(), roles.end());
  return channel;
}

std::uint32_t BlockBuilder::block_of(const Transfer& transfer, std::uint32_t channel) {
  std::vector<ThreadBlock>& blocks = gpus_[transfer.rank].blocks;
  const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const ThreadBlock& block) {
    return block.channel == channel && block.send_peer == transfer.send_peer &&
           block.receive_peer == transfer.receive_peer;
  });
  const auto index = static_cast<std::uint32_t>(found - blocks.begin());
  if (found == blocks.end()) {
    blocks.push_back({index, transfer.send_peer, transfer.receive_peer, channel, {}});
    ranks_[transfer.rank].clocks.emplace_back();
  }
  return index;
}

void BlockBuilder::add(const Transfers& step) {
  std::set<Role> roles;
  for (const Transfer& transfer : step) roles.insert(role_of(transfer));
  const std::uint32_t channel = channel_for(roles);
  for (const Transfer& transfer : step) append(transfer, block_of(transfer, channel));
}

/// The transfers of other thread blocks that have to be over first, each the last of its thread
/// block that matters; `clock` becomes what is over when they are.
std::vector<BlockBuilder::Place> BlockBuilder::waits(const Transfer& transfer, std::uint32_t block,
                                                     Clock& clock) {
  const Rank& rank = ranks_[transfer.rank];
  clock.resize(gpus_[transfer.rank].blocks.size());
  if (!rank.clocks[block].empty()) {
    const Clock& before = rank.clocks[block].back();
    std::copy(before.begin(), before.end(), clock.begin());
  }
  Clock needed(clock.size());
  const ChunkRun& run = transfer.chunks;
  for (std::uint32_t chunk = run.first; chunk < run.first + run.count; ++chunk) {
    for (const Place& place : rank.touched[chunk]) {
      if (!place.wrote && !writes_destination(transfer.type)) continue;
      needed[place.block] = std::max(needed[place.block], place.step + 1);
    }
  }
  std::vector<Place> found;
  for (std::uint32_t other = 0; other < needed.size(); ++other) {
    if (other == block || needed[other] <= clock[other]) continue;
    found.push_back({other, needed[other] - 1, false});
    const Clock& over = rank.clocks[other][needed[other] - 1];
    for (std::size_t i = 0; i < over.size(); ++i) clock[i] = std::max(clock[i], over[i]);
  }
  return found;
}

void BlockBuilder::append(const Transfer& transfer, std::uint32_t block) {
  Clock clock;
  const std::vector<Place> open = waits(transfer, block, clock);
  std::vector<ThreadBlock>& blocks = gpus_[transfer.rank].blocks;
  std::vector<Step>& steps = blocks[block].steps;
  const auto push = [&](Step step, const Place* awaited) {
    step.number = static_cast<std::uint32_t>(steps.size());
    if (awaited != nullptr) {
      step.waits_for = {awaited->block, awaited->step};
      blocks[awaited->block].steps[awaited->step].publishes = true;
    }
    steps.push_back(step);
    clock[block] = static_cast<std::uint32_t>(steps.size());
    ranks_[transfer.rank].clocks[block].push_back(clock);
  };
  for (std::size_t i = 0; i + 1 < open.size(); ++i) push(nop(), &open[i]);
  const Region region{buffer_, transfer.chunks.first};
  push({transfer.type, 0, region, region, transfer.chunks.count},
       open.empty() ? nullptr : &open.back());
  record(transfer, block, clock);
}

void BlockBuilder::record(const Transfer& transfer, std::uint32_t block, const Clock& clock) {
  const ChunkRun& run = transfer.chunks;
  for (std::uint32_t chunk = run.first; chunk < run.first + run.count; ++chunk) {
    std::vector<Place>& touched = ranks_[transfer.rank].touched[chunk];
    const Place here{block, clock[block] - 1, writes_destination(transfer.type)};
    if (here.wrote) {
      touched = {here};
    } else {
      touched.push_back(here);
    }
  }
}

}  // namespace p2::msccl
