#pragma once

#include "engine/reshard/sharding.h"

namespace p2 {

/// What becomes one unit task.
enum class Decomposition : std::uint8_t {
  Intersection,  ///< what a slice of the source and one of the destination have in common
  Source         ///< a slice of the source, as in section 2.2: it goes to all that need any of it
};

/// The unit tasks that bring a tensor from one sharding to another on another mesh, in the order of
/// source slices; sizes in elements. Throws InputError, naming `source`, beyond kMostTasks of them.
UnitTasks decompose(const TensorShape& shape, const Sharding& from, const Sharding& to,
                    Decomposition decomposition, std::string_view source);

}  // namespace p2
