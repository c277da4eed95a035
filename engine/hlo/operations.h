#pragma once

#include "engine/hlo/flow.h"

namespace p2::hlo {

/// What kind of node an instruction becomes, from its opcode and operands alone.
Op operation_of(const Instruction& instruction, const std::vector<ArrayShape>& operands);

}  // namespace p2::hlo
