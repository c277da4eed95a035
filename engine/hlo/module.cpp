#include "engine/hlo/module.h"

#include <fmt/format.h>

namespace p2::hlo {

void number_parameters(Computation& computation, const SourcePosition& where) {
  const auto& all = computation.instructions;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].opcode != "parameter") continue;
    const auto number = static_cast<std::size_t>(all[i].attributes.index);
    if (number >= all.size()) throw InputError(all[i].position, "no such parameter, expected 0 …");
    if (computation.parameters.size() <= number) {
      computation.parameters.resize(number + 1, UINT32_MAX);
    }
    if (computation.parameters[number] != UINT32_MAX) {
      throw InputError(all[i].position,
                       fmt::format("parameter {} twice, expected each once", number));
    }
    computation.parameters[number] = i;
  }
  for (const std::uint32_t parameter : computation.parameters) {
    if (parameter == UINT32_MAX) throw InputError(where, "a parameter is missing, expected 0 …");
  }
}

}  // namespace p2::hlo
