#pragma once

#include "engine/pipeline/least_memory.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// The certificate of the claim `pipeline-memory`: that no pipeline as fast as this one holds fewer
/// activations on any stage, whatever it holds on the others. Throws std::length_error where there
/// is none: stages stand in each other's way, or p2-check could not read it.
CertificateFiles pipeline_certificate(PipelineSize size, const PipelineTimes& times,
                                      const LeastMemory& least, const Provenance& provenance);

}  // namespace p2
