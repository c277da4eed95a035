#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/hlo/explanation/related_modules.h"

namespace p2::hlo {

/// An element of an output on a device, by its index there; without one the first.
struct OutputElement {
  std::size_t output = 0;
  std::uint32_t device = 0;
  std::vector<std::int64_t> index = {};
};

/// A tree of the operations that make up the element, back to products, reductions and parameters,
/// with the devices on which they run:
///
///     output 0 [0,0] on device 0
///     └ device 0: y[0,0] = add, y[0,0] before
///       ├ device 0: x[0,0] = parameter, x[0,0] before
///       └ device 0: down[0,0] = all-reduce (add), down[0,0] before
///         ├ device 0: part[0,0] = dot over 0:4 of dimension 1 of active before, …
///         └ device 1: part[0,0] = dot over 4:8 of dimension 1 of active before, …
std::string draw_element(RelatedModules& modules, const OutputElement& element);

}  // namespace p2::hlo
