#include "engine/strategy/operation.h"

namespace p2::operations {

std::int64_t product(const Configuration& configuration) {
  std::int64_t devices = 1;
  for (const std::int64_t split : configuration) devices *= split;
  return devices;
}

std::int64_t parts(const Axis& axis, const Configuration& configuration) {
  return axis.dimension ? configuration[*axis.dimension] : 1;
}

std::int64_t elements(const Tensor& tensor) {
  std::int64_t count = 1;
  for (const Axis& axis : tensor) count *= axis.length;
  return count;
}

std::int64_t elements_of_part(const Tensor& tensor, const Configuration& configuration) {
  std::int64_t count = 1;
  for (const Axis& axis : tensor) count *= axis.length / parts(axis, configuration);
  return count;
}

}  // namespace p2::operations
