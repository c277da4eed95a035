#include "engine/reshard/plans/plan_pieces.h"

namespace p2::reshard {
namespace {

using Devices = std::vector<std::uint32_t>;

Box box_of(const Slice& slice) { return {slice.low, slice.high}; }

/// In the order of the mesh.
std::vector<std::uint32_t> devices_with(const Layout& layout, const std::vector<Box>& regions,
                                        const Slice& slice) {
  std::vector<std::uint32_t> devices;
  for (const std::uint32_t device : layout.devices) {
    if (regions[device] == box_of(slice)) devices.push_back(device);
  }
  return devices;
}

}  // namespace

std::vector<Piece> pieces_of(const Reshard& problem, Decomposition decomposition) {
  const std::vector<Slice> destinations = slices_of(problem.shape, problem.to.sharding);
  const std::vector<Box> held = problem.regions(problem.from);
  const std::vector<Box> needed = problem.regions(problem.to);
  std::vector<Devices> receivers;
  for (const Slice& slice : destinations) {
    receivers.push_back(devices_with(problem.to, needed, slice));
  }
  std::vector<Piece> pieces;
  std::size_t tasks = 0;
  for (const Slice& slice : slices_of(problem.shape, problem.from.sharding)) {
    const Devices holders = devices_with(problem.from, held, slice);
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      const Box both = common(box_of(slice), box_of(destinations[i]));
      if (both.elements() == 0) continue;
      pieces.push_back({both, tasks, holders, receivers[i]});
      if (decomposition == Decomposition::Intersection) ++tasks;
    }
    if (decomposition == Decomposition::Source) ++tasks;
  }
  return pieces;
}

}  // namespace p2::reshard
