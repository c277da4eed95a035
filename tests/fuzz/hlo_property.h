#pragma once

#include <memory>
#include <string>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/text/hlo_text.h"
#include "tests/fuzz/property.h"

namespace p2 {

inline std::size_t operations_of(const hlo::Module& module) {
  std::size_t count = 0;
  for (const hlo::Computation& computation : module.computations) {
    count += computation.instructions.size();
  }
  return count;
}

/// A module is put together well or not, and where it is, nobody finds it different from itself.
inline void check_module(const std::shared_ptr<const hlo::Module>& module) {
  constexpr std::size_t kMostOperations = 200;
  constexpr std::uint32_t kMaxDevices = 64;
  const bool small = operations_of(*module) <= kMostOperations &&
                     hlo::devices_of({module.get()}, {}).count() <= kMaxDevices;
  if (!small) return;
  const hlo::ModuleDecision alone = hlo::check_well_formed(module, {});
  promise(alone.outcome != Outcome::Undecided, "no decision about a module on its own");
  const bool ill = alone.outcome == Outcome::Refuted;
  promise(!ill || alone.violation->position.has_value(), "an ill-formed module without a position");
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const hlo::ModuleDecision same = hlo::compare(module, module, {{}, true}, limits);
  promise((same.outcome == Outcome::Refuted) == ill,
          "a module differs from itself: " +
              (same.violation ? same.violation->explanation : same.reason));
}

/// Returns whether `text` is a module that can be judged.
inline bool check_module_text(const std::string& text) {
  if (hlo::is_stablehlo(text)) {
    return accepted([&] {
             for (hlo::StableHloModule& module : hlo::read_stablehlo(kFuzzedSource, text)) {
               check_module(std::make_shared<const hlo::Module>(std::move(module.module)));
             }
             return true;
           })
        .has_value();
  }
  return accepted([&] {
           check_module(std::make_shared<const hlo::Module>(hlo::read_hlo(kFuzzedSource, text)));
           return true;
         })
      .has_value();
}

}  // namespace p2
