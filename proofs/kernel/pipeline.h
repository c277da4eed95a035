#pragma once

#include <string>

#include "proofs/kernel/verdict.h"

namespace p2::kernel {

/// The claim `pipeline-memory`: the pipeline in pipeline.json can start its work so, and none as
/// fast holds fewer activations on any of its stages: by cases.json, orders of a forward and a
/// backward in all of which some work ends too late. Returns the claim in words, or objects.
std::string judge_pipeline(const std::string& claim, const Files& files);

}  // namespace p2::kernel
