#include "engine/reshard/plans/plan.h"

#include <algorithm>

namespace p2::reshard {

std::vector<Box> Reshard::regions(const Layout& layout) const {
  const Element nowhere(shape.size(), 0);
  std::vector<Box> all(hosts.size(), Box{nowhere, nowhere});
  const std::uint32_t columns = layout.sharding.mesh[1];
  for (std::uint32_t i = 0; i < layout.devices.size(); ++i) {
    Slice slice = slice_on(shape, layout.sharding, i / columns, i % columns);
    all[layout.devices[i]] = {std::move(slice.low), std::move(slice.high)};
  }
  return all;
}

Reshard reshard_between(const TensorShape& shape, const Sharding& from, const Sharding& to,
                        std::uint32_t first) {
  Reshard problem{shape, {}, {from, {}}, {to, {}}};
  const std::uint32_t hosts = std::max(from.mesh[0], first + to.mesh[0]);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const auto begin = problem.devices();
    const std::uint32_t sending = host < from.mesh[0] ? from.mesh[1] : 0;
    const bool receives = host >= first && host < first + to.mesh[0];
    const std::uint32_t receiving = receives ? to.mesh[1] : 0;
    problem.hosts.resize(begin + std::max(sending, receiving), host);
    for (std::uint32_t i = 0; i < sending; ++i) problem.from.devices.push_back(begin + i);
    for (std::uint32_t i = 0; i < receiving; ++i) problem.to.devices.push_back(begin + i);
  }
  return problem;
}

std::size_t Plan::transfers() const {
  std::size_t count = 0;
  for (const DeviceProgram& program : programs) {
    for (const Step& step : program) {
      count += static_cast<std::size_t>(std::count_if(
          step.begin(), step.end(), [](const Operation& each) { return each.sends; }));
    }
  }
  return count;
}

}  // namespace p2::reshard
