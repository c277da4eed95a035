#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/execution/expectation.h"
#include "engine/execution/inputs.h"
#include "engine/execution/plan.h"

namespace p2::execution {

/// An element that is not what it should be.
struct WrongElement {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;  ///< from 1; 0 = the result at the end
  bool missing = false;    ///< the rank does not hold the element at all; `got` means nothing
  std::uint64_t element = 0;
  double got = 0;
  double expected = 0;
};

/// What comparing a rank's elements with the reference came to. Sent between processes as it is.
struct Audit {
  static constexpr std::size_t kShown = 4;

  std::uint64_t compared = 0;
  std::uint64_t wrong = 0;
  std::array<WrongElement, kShown> shown = {};  ///< the first `min(wrong, kShown)`

  void add(const WrongElement& element);
  void join(const Audit& other);
};

/// A compact buffer as a rank left it.
struct Held {
  std::uint32_t rank = 0;
  const Rows& chunks;
  std::size_t chunk_elements = 0;
  std::span<const std::byte> elements;
};

/// Every element after a step of which the expectation knows the states.
Audit audit_step(const Held& held, const Inputs& inputs, const Expectation& expectation,
                 std::size_t step);
/// Every element at the end, also those that the rank should hold and does not.
Audit audit_result(const Held& held, const Inputs& inputs, const Expectation& expectation);

}  // namespace p2::execution
