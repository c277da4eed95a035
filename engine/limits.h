#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace p2 {

/// What a search may use up. A search that meets a limit stops with what it has settled so far.
struct Limits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<std::size_t> memory_bytes;
  /// Deterministic units of work of each query to a solver: Z3's rlimit, CaDiCaL's conflicts. The
  /// explicit engine has none.
  std::optional<std::uint64_t> work;

  bool exceeded(std::size_t bytes_in_use) const {
    return (memory_bytes && bytes_in_use > *memory_bytes) ||
           (deadline && std::chrono::steady_clock::now() > *deadline);
  }
};

}  // namespace p2
