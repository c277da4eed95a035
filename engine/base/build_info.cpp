#include "build_facts.h"
#include "p2/version.h"

namespace p2 {

const BuildInfo& build_info() {
  static const BuildInfo info{P2_VERSION,      P2_COMPILER,       P2_BUILD_TYPE,
                              P2_CUDA_VERSION, P2_NCCL_VERSION,   P2_MPI_VERSION,
                              P2_COQ_VERSION,  P2_PYTHON_VERSION, P2_PROTOBUF_VERSION};
  return info;
}

}  // namespace p2
