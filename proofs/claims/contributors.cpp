#include "proofs/claims/contributors.h"

#include "engine/base/invariant.h"

namespace p2::claims {
namespace {

std::vector<Contributors> read_by_chunk(const StateTable& states, StateId state) {
  std::vector<Contributors> rows(states.chunks());
  for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
    for (const Run& run : states.sets().runs(states.row(state, chunk))) {
      for (std::uint32_t c = run.begin; c < run.end; ++c) rows[chunk] |= Contributors{1} << c;
    }
  }
  return rows;
}

}  // namespace

std::vector<Contributors> contributors_of(const std::vector<Group>& classes) {
  std::vector<Contributors> all;
  for (const Group& members : classes) {
    Contributors each = 0;
    for (const std::uint32_t device : members) each |= Contributors{1} << device;
    all.push_back(each);
  }
  return all;
}

ContributorTable::ContributorTable(const StateTable& states) : states_(states) {
  invariant(states.chunks() <= 64, "contributors are kept in 64 bits");
}

const std::vector<Contributors>& ContributorTable::by_chunk(StateId state) {
  if (known_.size() <= state) known_.resize(std::size_t{state} + 1);
  if (known_[state].empty()) known_[state] = read_by_chunk(states_, state);
  return known_[state];
}

}  // namespace p2::claims
