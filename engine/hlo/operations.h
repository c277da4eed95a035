#pragma once

#include "engine/hlo/flow.h"

namespace p2::hlo {

/// What kind of node an instruction becomes, from its opcode and operands alone.
Op operation_of(const Instruction& instruction, const std::vector<ArrayShape>& operands);

/// Whether an operation has what its operand has. A done passes on what its start computed.
bool passes_on(const std::string& opcode);

}  // namespace p2::hlo
