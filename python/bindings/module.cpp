#include "bindings/bindings.h"

// The requests and answers of the public API, one to one; p2_verify/*.py makes of them what users
// see.
NB_MODULE(_core, module) {
  p2::python::bind_results(module);
  p2::python::bind_verbs(module);
  p2::python::bind_certificates(module);
}
