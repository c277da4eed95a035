#pragma once

#include <vector>

#include "engine/pipeline/overlap_refutation.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// The certificate of the claim `pipeline-memory`: that no pipeline as fast as `run`, in which
/// microbatches go in turn, holds fewer activations on any stage, whatever it holds on the others.
/// `cases` says so of every stage, nothing where one is held. Throws std::length_error when
/// p2-check could not read it.
CertificateFiles pipeline_certificate(PipelineSize size, const PipelineTimes& times,
                                      const PipelineRun& run,
                                      const std::vector<std::vector<OverlapCase>>& cases,
                                      const Provenance& provenance);

}  // namespace p2
