#pragma once

#include <optional>
#include <string>

#include "engine/msccl/fault.h"

namespace p2 {

/// A fault as the cache keeps it.
std::string to_cache_json(const msccl::Fault& fault);
/// Reads it back; nothing where it has another form. That it is a fault of some algorithm is for
/// msccl::shows() to find.
std::optional<msccl::Fault> parse_cached_fault(const std::string& text);

}  // namespace p2
