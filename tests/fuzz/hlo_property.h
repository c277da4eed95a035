#pragma once

#include <memory>
#include <string>

#include "engine/hlo/equality/verdict.h"
#include "engine/hlo/stablehlo/parallel_run.h"
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
  constexpr std::uint32_t kMostDevices = 64;
  const bool small = operations_of(*module) <= kMostOperations &&
                     hlo::devices_of({module.get()}, {}).count() <= kMostDevices;
  if (!small) return;
  const hlo::Verdict alone = hlo::examine(module, {});
  promise(alone.kind != hlo::Verdict::Kind::Unknown, "no verdict of a module on its own");
  const bool ill = alone.kind == hlo::Verdict::Kind::Invalid;
  promise(ill == alone.position.has_value(), "what is ill-formed is nowhere");
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const hlo::Verdict same = hlo::compare(module, module, {{}, true}, limits);
  promise((same.kind == hlo::Verdict::Kind::Invalid) == ill,
          "a module differs from itself: " + same.reason);
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
