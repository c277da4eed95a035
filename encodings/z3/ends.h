#pragma once

#include <cstdint>
#include <vector>

#include <z3++.h>

#include "encodings/z3/system_rows.h"
#include "engine/program/beginning.h"

namespace p2::z3_encoding {

/// Where programs begin and where they have to end, as constant rows.
struct EndRows {
  SystemRows begin;
  SystemRows goal;
};

/// The ends on `classes`, which partition some or all devices of a system, computed from the
/// definitions of the goal and of what prepares its beginning. A row is as wide as there are
/// `contributors`.
EndRows end_rows(z3::context& context, const Goal& goal, Start start,
                 const std::vector<Group>& classes, std::uint32_t chunks,
                 std::uint32_t contributors);

}  // namespace p2::z3_encoding
