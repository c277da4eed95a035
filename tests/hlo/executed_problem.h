#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

/// Claims about several programs, executed on numbers modulo a prime by an interpreter of their
/// texts that shares nothing with the engines or with p2-check: matrices, sums and products of
/// them, messages and collectives. Devices block as XLA says they do.
namespace p2::hlo::pipelines {

/// Whether the outputs of the programs of problem.json are those of the module before, for random
/// inputs, and all devices come to their ends. What is not understood is not right.
bool is_right(const nlohmann::ordered_json& problem, std::uint32_t seed);

}  // namespace p2::hlo::pipelines
