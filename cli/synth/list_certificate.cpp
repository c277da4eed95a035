#include "cli/synth/list_certificate.h"

#include <ostream>

#include "cli/certificate_writing.h"
#include "encodings/cnf/synthesis.h"
#include "proofs/certificate/absence_certificate.h"
#include "p2/version.h"

namespace p2 {
namespace {

Provenance provenance(const SynthRequest& request) {
  return {{{"p2-verify", build_info().version}, {"CaDiCaL", cnf::solver_version()}},
          {{"size", std::to_string(request.options.size)}},
          request.seed};
}

}  // namespace

void certify_list(const SynthRequest& request, const std::string& folder, PlacementAnswer& answer,
                  std::ostream& err) {
  const SynthesisOptions& options = request.options;
  const Instance& instance = answer.found.instance();
  const auto write = [&] {
    cnf::Absence others = cnf::refute(instance, options.dialect, options.size,
                                      {.known = answer.found.programs()}, options.limits);
    if (others.kind == cnf::Absence::Kind::Found) {
      answer.comparisons.push_back(contradiction(answer.found, options, std::move(others.found)));
    }
    if (others.kind != cnf::Absence::Kind::Absent) return;
    write_folder(folder, synthesis_certificate(instance, options.dialect, options.size,
                                               std::move(others.proof), provenance(request)));
    answer.certificate = folder;
  };
  const ExitCode code = code_of_writing(folder, write, err);
  if (code != kEstablished) answer.unwritten = code;
}

}  // namespace p2
