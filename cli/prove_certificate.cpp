#include "cli/prove_certificate.h"

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "build_facts.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/claims/summary.h"

namespace p2 {
namespace {

using claims::Result;
using claims::Summary;

/// `expressiveness-b-to-c-published-one-axis-smallest`.
std::string folder_name(const Summary& row, const char* which) {
  const claims::Question& question = row.question;
  const std::string to = question.to ? fmt::format("-to-{}", to_string(*question.to)) : "";
  return fmt::format("{}-{}{}-{}-{}-{}", question.claim->name, to_string(question.from), to,
                     to_string(question.dialect), row.several_axes ? "several-axes" : "one-axis",
                     which);
}

/// The counterexample with its instance; without one if it is of bare groups.
ProgramFile file_of(const Result& result) {
  ProgramFile file{claims::counterexample(result), {}, result.question.dialect};
  const bool instructions = std::all_of(file.program.steps.begin(), file.program.steps.end(),
                                        [](const Step& step) { return step.shape.has_value(); });
  if (instructions) file.instance = result.question.system->over(result.question.from);
  return file;
}

}  // namespace

CounterexampleCertificates certify_counterexamples(const std::vector<Result>& results,
                                                   const std::string& folder, std::uint64_t seed,
                                                   std::ostream& err, bool& complaint) {
  CounterexampleCertificates written;
  const auto certify = [&](const Result& result, const std::string& place) {
    const ProgramFile file = file_of(result);
    StateTable states(file.program.devices);
    const Verdict verdict = check(file.program, file.dialect, states);
    if (verdict.kind != Verdict::Kind::Valid) return;
    write_program_certificate(place, file, verdict,
                              {{{"p2-verify", P2_VERSION}}, {{"engine", "explicit"}}, seed});
    written[&result] = place;
  };
  try {
    for (const Summary& row : claims::summarise(results)) {
      if (row.smallest == nullptr) continue;
      certify(*row.smallest, folder + "/" + folder_name(row, "smallest"));
      if (row.shortest == row.smallest) continue;
      certify(*row.shortest, folder + "/" + folder_name(row, "shortest"));
    }
  } catch (const std::runtime_error& error) {
    err << "p2-verify: " << error.what() << "\n";
    complaint = true;
  }
  return written;
}

}  // namespace p2
