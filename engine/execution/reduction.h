#pragma once

#include <cstddef>
#include <span>

#include "engine/execution/element.h"

namespace p2::execution {

/// Elements `first` … `first` + `count` − 1 of all buffers `from`, added up in the order of the
/// buffers, are written to all buffers `to`, at `to_first` and on. A buffer may be in both when the
/// places are the same. Works in blocks that stay in the cache: every element of a buffer is read
/// from memory once and written once.
void add_up(ElementType type, std::span<const std::byte* const> from, std::size_t first,
            std::size_t count, std::span<std::byte* const> to, std::size_t to_first);

}  // namespace p2::execution
