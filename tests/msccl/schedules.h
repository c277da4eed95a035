#pragma once

#include <string>
#include <vector>

#include "engine/msccl/algorithm.h"

namespace p2::msccl {

/// Correct algorithms for n GPUs, written with input and output buffers, so that they may be called
/// in place or not.
Algorithm ring_allreduce(std::uint32_t n);
Algorithm ring_allgather(std::uint32_t n);
Algorithm pairwise_alltoall(std::uint32_t n);
/// Every part goes straight to its rank, into scratch, and is added there by a thread block that
/// waits for the others.
Algorithm direct_reduce_scatter(std::uint32_t n);
Algorithm chain_broadcast(std::uint32_t n);
Algorithm chain_reduce(std::uint32_t n);
/// Two GPUs send each other `messages` messages of `count` chunks each, all before they receive.
Algorithm exchange(std::uint32_t messages, std::uint32_t count, Protocol protocol);

/// The same with steps of at most `chunks` chunks, as loaders cut them for large messages.
Algorithm cut(const Algorithm& algorithm, std::uint32_t chunks);

std::vector<Step>& steps(Algorithm& algorithm, std::uint32_t gpu, std::uint32_t block);
/// The rule that judge() refuses an algorithm by, or else its outcome.
std::string verdict_of(const Algorithm& algorithm);

}  // namespace p2::msccl
