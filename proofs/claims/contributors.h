#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/derivation.h"

namespace p2::claims {

using Contributors = std::uint64_t;  ///< bit d: device d's contribution

/// The contributors of each class. Devices are below 64.
std::vector<Contributors> contributors_of(const std::vector<Group>& classes);

/// Who has contributed to what a device holds, read from a table of states once for each state.
class ContributorTable {
 public:
  /// The table must outlive it. At most 64 devices, as many as chunks.
  explicit ContributorTable(const StateTable& states);

  std::uint32_t chunks() const { return states_.chunks(); }
  /// Of every chunk the contributions that a device in this state holds; valid until the next call.
  const std::vector<Contributors>& by_chunk(StateId state);

 private:
  const StateTable& states_;
  std::vector<std::vector<Contributors>> known_;  ///< by state, then chunk; empty where not known
};

}  // namespace p2::claims
