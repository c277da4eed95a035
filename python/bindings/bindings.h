#pragma once

#include <nanobind/nanobind.h>

namespace p2::python {

namespace nb = nanobind;

/// Errors, options, results: what all verbs have in common.
void bind_results(nb::module_& module);
/// The verbs of <p2/...>, each with its request and its answer.
void bind_verbs(nb::module_& module);
/// The checker of certificates.
void bind_certificates(nb::module_& module);

}  // namespace p2::python
