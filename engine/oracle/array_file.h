#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/execution/element.h"

namespace p2::oracle {

/// The bytes of a `.npy` file (format 1.0, little endian, C order) that holds these elements.
/// NumPy has no bfloat16; every other type is as it is.
std::string array_file(execution::ElementType type, const std::vector<std::size_t>& shape,
                       std::span<const std::byte> elements);

/// `<f4`, `<f8`, `<i4`: the type as NumPy calls it.
std::string numpy_name(execution::ElementType type);

}  // namespace p2::oracle
