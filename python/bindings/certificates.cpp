#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/bindings.h"
#include "bindings/call.h"
#include "proofs/kernel/certificate.h"

namespace p2::python {

using namespace nb::literals;

void bind_certificates(nb::module_& module) {
  nb::enum_<kernel::Verdict>(module, "CertificateKind")
      .value("accepted", kernel::Verdict::Accepted)
      .value("rejected", kernel::Verdict::Rejected)
      .value("not_a_certificate", kernel::Verdict::NotACertificate)
      .value("incomplete", kernel::Verdict::Incomplete);
  nb::class_<kernel::Result>(module, "CertificateResult")
      .def_ro("kind", &kernel::Result::verdict)
      .def_ro("reason", &kernel::Result::reason);
  module.def(
      "check_certificate",
      [](const std::string& folder, const std::optional<std::string>& question) {
        return run_without_gil({}, [&](const Options&) { return check_folder(folder, question); });
      },
      "folder"_a, "question"_a.none());
}

}  // namespace p2::python
