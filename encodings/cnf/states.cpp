#include "encodings/cnf/states.h"

namespace p2::cnf {

States::States(Clauses& clauses, std::uint32_t devices, std::uint32_t chunks)
    : devices_(devices),
      chunks_(chunks),
      cells_(clauses.fresh(std::size_t{devices} * chunks * devices)) {
  rows_.reserve(std::size_t{devices} * chunks);
  for (std::size_t row = 0; row < std::size_t{devices} * chunks; ++row) {
    rows_.push_back(clauses.any_of(std::span(cells_).subspan(row * devices, devices)));
  }
}

}  // namespace p2::cnf
