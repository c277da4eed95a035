#include "engine/cost/model_error.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace p2 {
namespace {

constexpr double kSmall = 64.0 * (1 << 10);
constexpr double kLarge = 512.0 * (1 << 20);

std::size_t size_index(double bytes) {
  if (bytes <= kSmall) return 0;
  return bytes < kLarge ? 1 : 2;
}

struct KindErrors {
  std::string_view kind;
  std::array<double, 3> error;  // 0: no rows of that size
  std::array<std::size_t, 3> rows;
};

/// From `cost --compare … --cross-validate` on 348 public rows of all-reduce; the last entry is all
/// of them.
constexpr std::array kMeasured{
    KindErrors{"one node, NVLink", {0.87, 0.26, 0.03}, {14, 74, 62}},
    KindErrors{"one node, Infinity Fabric", {0, 0, 0.05}, {0, 0, 2}},
    KindErrors{"several nodes, InfiniBand or RoCE", {0.23, 0.18, 0.11}, {15, 52, 36}},
    KindErrors{"several nodes, EFA", {0.20, 0.49, 0.08}, {20, 35, 16}},
    KindErrors{"several nodes, TCPXO", {0.42, 0.78, 0.11}, {4, 12, 5}},
    KindErrors{"all kinds", {0.37, 0.28, 0.06}, {53, 173, 122}},
};

}  // namespace

std::string kind_of(const Communicator& group) {
  if (group.nodes == 1) {
    switch (group.link) {
      case GpuLink::NvSwitch:
      case GpuLink::NvlinkMesh:
      case GpuLink::CubeMesh:
        return "one node, NVLink";
      case GpuLink::Xgmi:
      case GpuLink::XgmiPackages:
        return "one node, Infinity Fabric";
      case GpuLink::NvlinkBridge:
      case GpuLink::Pcie:
      case GpuLink::HostMemory:
        break;
    }
    return "one node, PCIe";
  }
  switch (group.fabric) {
    case Fabric::InfiniBand:
    case Fabric::Roce:
      return "several nodes, InfiniBand or RoCE";
    case Fabric::Efa:
    case Fabric::EfaFirst:
      return "several nodes, EFA";
    default:
      return fmt::format("several nodes, {}", to_string(group.fabric));
  }
}

std::string size_class(double bytes) {
  constexpr std::array kNames{"up to 64 KiB", "64 KiB to 512 MiB", "512 MiB and more"};
  return kNames[size_index(bytes)];
}

ModelError measured_error(const Communicator& communicator, double bytes) {
  const std::string kind = kind_of(communicator);
  const std::size_t size = size_index(bytes);
  for (const KindErrors& each : kMeasured) {
    if (each.kind == kind && each.rows[size] > 0) return {kind, each.error[size], each.rows[size]};
  }
  const KindErrors& all = kMeasured.back();
  return {std::string(all.kind), all.error[size], all.rows[size]};
}

}  // namespace p2
