#pragma once

#include <string>

#include "engine/msccl/algorithm.h"

namespace p2::msccl {

/// As MSCCL XML, which read_algorithm() reads back.
std::string to_xml(const Algorithm& algorithm);

}  // namespace p2::msccl
