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

void States::count_chunks(Clauses& clauses) {
  for (std::uint32_t d = 0; d < devices_; ++d) {
    counters_.push_back(clauses.count(std::span(rows_).subspan(std::size_t{d} * chunks_, chunks_)));
    const std::vector<Literal>& total = counters_.back()[chunks_];
    std::vector<Literal>& exact = exactly_.emplace_back();
    for (std::uint32_t j = 1; j < chunks_; ++j) {
      const Literal between[] = {total[j], -total[j + 1]};
      exact.push_back(clauses.all_of(between));
    }
    exact.push_back(total[chunks_]);
  }
}

}  // namespace p2::cnf
