#include "cli/list_certificate.h"

#include <ostream>
#include <stdexcept>

#include "build_facts.h"
#include "encodings/cnf/synthesis.h"
#include "proofs/certificate/synthesis_certificate.h"

namespace p2 {
namespace {

Provenance provenance(const SynthRequest& request) {
  return {{{"p2-verify", P2_VERSION}, {"CaDiCaL", cnf::solver_version()}},
          {{"size", std::to_string(request.options.size)}},
          request.seed};
}

}  // namespace

void certify_list(const SynthRequest& request, const std::string& folder, PlacementAnswer& answer,
                  std::ostream& err) {
  const SynthesisOptions& options = request.options;
  const Instance& instance = answer.found.instance();
  std::vector<std::vector<Step>> programs;
  answer.found.for_each([&](const std::vector<Step>& steps) { programs.push_back(steps); });
  cnf::Completeness settled =
      cnf::refute_others(instance, options.dialect, options.size, programs, options.limits);
  if (settled.kind == cnf::Completeness::Kind::Missing) {
    answer.comparisons.push_back(contradiction(answer.found, options, std::move(settled.missing)));
  }
  if (settled.kind != cnf::Completeness::Kind::Complete) return;
  try {
    write_folder(folder, synthesis_certificate(instance, options.dialect, options.size,
                                               std::move(settled.proof), provenance(request)));
    answer.certificate = folder;
  } catch (const std::runtime_error& error) {
    err << "p2-verify: " << error.what() << "\n";
    answer.complaint = true;
  } catch (const std::length_error& error) {
    err << "p2-verify: " << folder << ": " << error.what() << "\n";
    answer.complaint = true;
  }
}

}  // namespace p2
