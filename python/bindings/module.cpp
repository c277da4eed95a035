#include "bindings/bindings.h"

// The requests and answers of the public API, one to one; p2_verify/*.py makes of them what users
// see.
NB_MODULE(_core, module) {
  // A process may import the package again, e.g. a test of a pytest plugin; types are registered
  // once, so the second module has those of the first.
  static PyObject* first = nullptr;
  if (first != nullptr) {
    if (PyDict_Merge(PyModule_GetDict(module.ptr()), first, 0) != 0) {
      nanobind::raise_python_error();
    }
    return;
  }
  p2::python::bind_results(module);
  p2::python::bind_verbs(module);
  p2::python::bind_certificates(module);
  first = PyModule_GetDict(module.ptr());
  Py_INCREF(first);
}
