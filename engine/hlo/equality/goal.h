#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/hlo/equality/verdict.h"

namespace p2::hlo {

/// What a module can be for: output k is one collective of input k.
enum class Goal : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, AllToAll };

/// `allreduce`, `reducescatter`, …; nothing for any other name.
std::optional<Goal> goal_called(std::string_view name);

/// The module that is one collective for each output of `module`, on groups of devices that
/// partition them all; the first of a group is the root of a broadcast. What is cut or put together
/// is the first dimension in which input and output differ. Throws InputError where inputs and
/// outputs are not as many.
std::shared_ptr<const Module> goal_module(const Module& module, Goal goal,
                                          const std::vector<std::vector<std::uint32_t>>& classes);

}  // namespace p2::hlo
