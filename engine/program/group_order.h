#pragma once

#include "engine/collective/collective.h"
#include "engine/program/program.h"

namespace p2 {

/// The root of Reduce and Broadcast is the device with the smallest id. Throws InputError at
/// `where` for a group given by a user that begins with another one or is otherwise not in
/// ascending order, lest it be read as naming another root. The other collectives take groups in
/// any order.
void require_root_first(Collective collective, const Group& group, const SourcePosition& where);

}  // namespace p2
