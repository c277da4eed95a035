#pragma once

#include <string>

#include "engine/msccl/algorithm.h"
#include "engine/msccl/step_graph.h"
#include "engine/msccl/verdict.h"
#include "tests/fuzz/property.h"

namespace p2 {

/// An algorithm that is read is read back from its own XML; a small one is judged, always in the
/// same way, and its refutation can be replayed. Returns whether `text` is one.
inline bool check_msccl_text(const std::string& text) {
  // What is beyond these is read only: judging it would take too long for fuzzing.
  constexpr std::size_t kMostGpus = 64;
  constexpr std::size_t kMaxChunks = 1024;
  constexpr std::size_t kMaxSteps = 512;

  if (!msccl::is_xml(text)) return false;
  const auto algorithm = accepted([&] { return msccl::read_algorithm(kFuzzedSource, text); });
  if (!algorithm) return false;
  if (algorithm->gpus.size() > kMostGpus) return true;
  const std::string xml = to_xml(*algorithm);
  const msccl::Algorithm again =
      read_back("an algorithm's XML", [&] { return msccl::read_algorithm("again", xml); });
  promise(to_xml(again) == xml, "an algorithm changes on its way through XML: " + xml);

  std::size_t chunks = algorithm->chunks;
  for (const msccl::StepPlace place : algorithm->steps()) {
    chunks += algorithm->step(place).count;
  }
  if (chunks > kMaxChunks || algorithm->steps().size() > kMaxSteps) return true;
  const msccl::AlgorithmDecision decision = msccl::judge(*algorithm, {});
  promise((decision.outcome == Outcome::Refuted) == decision.violation.has_value(),
          "a verdict does not go with its fault");
  promise((decision.outcome == Outcome::Established) == decision.safe_sizes.has_value(),
          "a verdict does not go with its sizes");
  promise(msccl::judge(again, {}).outcome == decision.outcome, "XML changes the verdict of " + xml);
  if (!decision.violation) return true;
  promise(!decision.violation->reason.empty(), "a fault without a reason");
  promise(can_replay(*algorithm, *decision.violation), "a refutation cannot be replayed: " + xml);
  return true;
}

}  // namespace p2
