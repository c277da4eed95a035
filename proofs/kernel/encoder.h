#pragma once

#include <functional>
#include <string>

#include "proofs/kernel/problem.h"

namespace p2::kernel {

/// Variables, or their negations as negative numbers.
using Clause = std::vector<std::int32_t>;

struct Variables {
  std::int32_t count = 0;
  std::string varmap;  ///< the text of `varmap`
};

/// Hands out one by one the clauses of docs/certificates.md, whose models are the valid programs of
/// at most `size` steps over the stage's steps, the choices, but for the programs listed, as
/// numbers of choices. Choices with the same groups stand together, AllReduce first.
Variables encode(const Stage& stage, std::uint32_t size, const std::vector<Numbers>& programs,
                 const std::function<void(const Clause&)>& sink);

}  // namespace p2::kernel
