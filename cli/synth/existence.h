#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proofs/api/engines.h"
#include "encodings/z3/synthesis.h"
#include "engine/program/synthesis.h"

namespace p2 {

/// What `synth --exists WHAT` asks of a program: that one of its steps uses a collective or has a
/// form, or, with `no-` before it, that none does.
struct WantedProperty {
  std::string text;  ///< as given, e.g. `Broadcast`, `Master`, `no-AllReduce`
  bool used = true;
  std::optional<Collective> collective;
  Form form = Form::InsideGroup;  ///< where it is no collective

  /// Whether the property speaks of such a step.
  bool speaks_of(Collective of_step, const GroupShape& shape) const {
    return collective ? of_step == *collective : shape.form == form;
  }
};

/// Throws InputError where `text` names neither a collective nor a form.
WantedProperty wanted_property(const std::string& text, const CollectiveSet& collectives);

/// What one engine says.
struct ExistenceFinding {
  std::string engine;
  z3_encoding::Existence existence = z3_encoding::Existence::Unknown;
  std::string witness;                   ///< a program, where one exists
  std::optional<std::uint32_t> settled;  ///< no such program has at most so many steps
};

/// What the explicit engine and the solvers asked for say of one placement; cnf is asked only of
/// what is used, for its clauses cannot exclude a step.
std::vector<ExistenceFinding> find_property(const PlacementPrograms& found,
                                            const WantedProperty& wanted,
                                            const SynthesisOptions& options,
                                            const Engines& engines);

/// Whether one engine has found such a program and another refuted that there is one.
bool disagree(const std::vector<ExistenceFinding>& findings);
/// What those who decided say.
z3_encoding::Existence agreed(const std::vector<ExistenceFinding>& findings);

std::string to_text(const ExistenceFinding& finding, const WantedProperty& wanted,
                    std::uint32_t size);
std::string to_json(const ExistenceFinding& finding);

}  // namespace p2
