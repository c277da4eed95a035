#include "cli/prove/prove_certificate.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "cli/certificate_writing.h"
#include "cli/prove/prove_evidence.h"
#include "encodings/cnf/synthesis.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/claims/expressiveness.h"
#include "proofs/claims/summary.h"
#include "p2/version.h"

namespace p2 {
namespace {

using claims::Outcome;
using claims::Question;
using claims::Result;
using claims::Summary;

/// `expressiveness-b-to-c-published`.
std::string name_of(const Question& question) {
  const std::string to = question.to ? fmt::format("-to-{}", to_string(*question.to)) : "";
  return fmt::format("{}-{}{}-{}", question.claim->name, to_string(question.from), to,
                     to_string(question.dialect));
}

bool compares_hierarchies(const Question& question) {
  return question.claim->forbids == claims::not_expressible;
}

/// The counterexample with its instance; without one if it is of bare groups.
ProgramFile file_of(const claims::Result& result) {
  ProgramFile file{claims::counterexample(result), {}, result.question.dialect};
  const bool instructions = std::all_of(file.program.steps.begin(), file.program.steps.end(),
                                        [](const Step& step) { return step.shape.has_value(); });
  if (instructions) file.instance = result.question.system->over(result.question.from);
  return file;
}

class Certifier {
 public:
  Certifier(const claims::Bounds& bounds, const CertificateOptions& options)
      : bounds_(bounds), folder_(options.folder), seed_(options.seed) {}

  ResultCertification run(const std::vector<claims::Result>& results, unsigned jobs,
                          std::atomic<std::size_t>& done) {
    const std::size_t threads =
        jobs == 0 ? std::max(1U, std::thread::hardware_concurrency()) : jobs;
    if (bounds_.limits.memory_bytes) *bounds_.limits.memory_bytes /= threads;
    const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, threads);
    tbb::parallel_for(
        std::size_t{0}, results.size(),
        [&](std::size_t i) {
          if (results[i].answer.verdict == claims::Outcome::Holds) holds(results[i], i + 1);
          ++done;
        },
        tbb::simple_partitioner());
    for (const Summary& row : claims::summarise(results)) {
      if (row.smallest == nullptr) continue;
      refuted(row, *row.smallest, "smallest");
      if (row.shortest != row.smallest) refuted(row, *row.shortest, "shortest");
    }
    return std::move(done_);
  }

 private:
  Provenance provenance(const Question& question, const char* tool,
                        const std::string& version) const {
    return {{{"p2-verify", build_info().version}, {tool, version}},
            {{"size", std::to_string(bounds_.size)}, {"statement", name_of(question)}},
            seed_};
  }

  /// Whatever keeps a certificate from being written takes nothing from the result. `write` returns
  /// its claim, or nothing where there is none to write.
  template <typename Write>
  void enter(const claims::Result& result, const std::string& name, Write write) {
    const std::string place = folder_ + "/" + name;
    std::string claim;
    const auto trouble = trouble_of_writing(place, [&] { claim = write(place); });
    const std::scoped_lock lock(mutex_);
    if (trouble) {
      done_.complaints[&result] = trouble->words;
      done_.unwritten = std::max(done_.unwritten, std::optional(trouble->code));
    } else if (!claim.empty()) {
      done_.written[&result] = {claim, place};
    }
  }

  void holds(const claims::Result& result, std::size_t number) {
    const Question& question = result.question;
    enter(result, fmt::format("{}-{}", number, name_of(question)), [&](const std::string& place) {
      const std::optional<ClaimEvidence> evidence = evidence_for(question, bounds_);
      if (!evidence) return std::string();
      if (evidence->answer.verdict == claims::Outcome::Refuted) differs(result, evidence->answer);
      if (evidence->answer.verdict != claims::Outcome::Holds) return std::string();
      write_folder(place,
                   evidence->certificate(provenance(question, "CaDiCaL", cnf::solver_version())));
      return evidence->claim;
    });
  }

  void differs(const claims::Result& result, const claims::Answer& by_clauses) {
    const Question& question = result.question;
    const std::scoped_lock lock(mutex_);
    done_.complaints[&result] =
        fmt::format("{} on {} holds by {}, and the clauses refute it by {}", name_of(question),
                    to_string(*question.system), question.claim->engine, by_clauses.program);
    done_.difference = true;
  }

  void refuted(const Summary& row, const claims::Result& result, const char* which) {
    if (result.question.claim->prices != nullptr) return cheaper(row, result, which);
    const ProgramFile file = file_of(result);
    StateTable states(file.program.devices);
    const Verdict verdict = check(file.program, file.dialect, states);
    if (verdict.kind != Verdict::Kind::Valid) return;
    const bool compared = compares_hierarchies(result.question) && file.instance;
    enter(result, place_of(row, which), [&](const std::string& place) {
      return std::string(to_string(write_program_certificate(
          place, file, verdict, provenance(result.question, "engine", "explicit"),
          compared ? result.question.to : std::nullopt)));
    });
  }

  /// That nothing is cheaper than what was found, and that hierarchies have nothing as cheap.
  void cheaper(const Summary& row, const claims::Result& result, const char* which) {
    enter(result, place_of(row, which), [&](const std::string& place) {
      const std::optional<ClaimEvidence> evidence = evidence_for(result.question, bounds_);
      if (!evidence) return std::string();
      const Provenance from = provenance(result.question, "engine", "explicit");
      write_folder(place, evidence->certificate(from));
      for (const auto& [name, certificate] : evidence->others) {
        write_folder(place + "-" + name, certificate(from));
      }
      return evidence->claim;
    });
  }

  static std::string place_of(const Summary& row, const char* which) {
    return fmt::format("{}-{}-{}", name_of(row.question),
                       row.several_axes ? "several-axes" : "one-axis", which);
  }

  claims::Bounds bounds_;
  std::string folder_;
  std::uint64_t seed_;
  std::mutex mutex_;  // of what follows
  ResultCertification done_;
};

}  // namespace

ResultCertification certify_results(const std::vector<claims::Result>& results,
                                    const claims::Bounds& bounds, const CertificateOptions& options,
                                    std::atomic<std::size_t>& done) {
  return Certifier(bounds, options).run(results, options.jobs, done);
}

}  // namespace p2
