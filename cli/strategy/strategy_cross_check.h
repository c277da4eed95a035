#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/limits.h"
#include "engine/strategy/graph_file.h"
#include "engine/strategy/memory_limit.h"

namespace p2 {

enum class Agreement : std::uint8_t { NotAsked, Agrees, Differs, Undecided };

/// What Z3 says of an answer: nothing costs less, under the limit if there is one; or, where
/// nothing was found, nothing fits.
struct CrossCheck {
  Agreement agreement = Agreement::NotAsked;
  std::string words = {};
};

/// `true`, `false`, or `null` where Z3 was not asked or did not settle it: whether it agrees.
std::string z3_json(const CrossCheck& check);

CrossCheck ask_z3(const strategy::GraphFile& file, std::optional<strategy::Cost> memory_limit,
                  const strategy::Found* found, const Limits& limits);

}  // namespace p2
