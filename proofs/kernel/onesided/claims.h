#pragma once

#include <string>

#include "proofs/kernel/certificate.h"

namespace p2::kernel {

// As those of proofs/kernel/claims.h.

/// The claims `onesided-valid` and `onesided-invalid` about an execution plan of MSCCL++,
/// plan.json: the checker unrolls its launches, orders them, looks for races, and executes one
/// order.
std::string judge_onesided(const std::string& claim, const Files& files);
/// For writers of certificates: fault.json of a plan that is wrong; empty if no fault is found.
std::string onesided_fault(const Files& files);

/// The claims `algorithm-valid` and `algorithm-invalid` about an algorithm in MSCCL XML: the same
/// for one call of it.
std::string judge_algorithm(const std::string& claim, const Files& files);
/// As onesided_fault().
std::string algorithm_fault(const Files& files);

}  // namespace p2::kernel
