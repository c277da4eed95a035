#pragma once

#include <memory>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// Two modules.
struct ModulePair {
  std::shared_ptr<const Module> before;
  std::shared_ptr<const Module> after;
};

/// The modules with all constants stated exactly of which the two have the value both in f16 or
/// bf16 and in a wider type: their literals become those of f64, under instructions of the types
/// that they had. Other constants stand for the simplest fraction that their type rounds to them,
/// which is another one for 0.1 in bf16, 1/10, than for the same number in f32, 205/2048; a
/// compiler that computes in f32 what is written in bf16 (XLA's float normalization) writes the
/// latter for the former.
ModulePair with_exact_constants(ModulePair modules);

}  // namespace p2::hlo
