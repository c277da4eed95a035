#include "engine/execution/expectation.h"

namespace p2::execution {

Expectation::Expectation(const Program& program, Dialect dialect)
    : states_(program.devices), classes_(program.classes), class_of_(program.devices) {
  verdict_ = check(program, dialect, states_, {},
                   [&](std::size_t, const SystemState& state) { after_.push_back(state); });
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    for (const std::uint32_t rank : classes_[c]) class_of_[rank] = c;
  }
}

std::vector<std::uint32_t> Expectation::after(std::size_t step, std::uint32_t rank,
                                              std::uint32_t chunk) const {
  std::vector<std::uint32_t> contributors;
  for (const Run& run : states_.sets().runs(states_.row(after_[step][rank], chunk))) {
    for (std::uint32_t c = run.begin; c < run.end; ++c) contributors.push_back(c);
  }
  return contributors;
}

}  // namespace p2::execution
