#include "cli/prove/prove_certificate.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "build_facts.h"
#include "cli/prove/prove_evidence.h"
#include "encodings/cnf/synthesis.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/claims/expressiveness.h"
#include "proofs/claims/summary.h"

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
ProgramFile file_of(const Result& result) {
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

  ResultCertification run(const std::vector<Result>& results, unsigned jobs,
                          std::atomic<std::size_t>& done) {
    const std::size_t threads =
        jobs == 0 ? std::max(1U, std::thread::hardware_concurrency()) : jobs;
    if (bounds_.limits.memory_bytes) *bounds_.limits.memory_bytes /= threads;
    const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, threads);
    tbb::parallel_for(
        std::size_t{0}, results.size(),
        [&](std::size_t i) {
          if (results[i].answer.verdict == Outcome::Holds) holds(results[i], i + 1);
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

  /// In the order of the results, whoever was first.
  void print_complaints(std::ostream& err) const {
    for (const auto& [result, words] : complaints_) fmt::print(err, "p2-verify: {}\n", words);
  }

 private:
  Provenance provenance(const char* tool, const std::string& version) const {
    return {{{"p2-verify", P2_VERSION}, {tool, version}},
            {{"size", std::to_string(bounds_.size)}},
            seed_};
  }

  /// Whatever keeps a certificate from being written takes nothing from the result.
  template <typename Write>
  void enter(const Result& result, const std::string& name, Write write) {
    const std::string place = folder_ + "/" + name;
    std::string claim;
    std::string complaint;
    try {
      claim = write(place);
    } catch (const std::exception& error) {
      complaint = fmt::format("{}: {}", place, error.what());
    }
    const std::scoped_lock lock(mutex_);
    if (complaint.empty()) {
      done_.written[&result] = {claim, place};
    } else {
      complaints_[&result] = complaint;
      done_.complaint = true;
    }
  }

  void holds(const Result& result, std::size_t number) {
    const Question& question = result.question;
    const std::optional<Evidence> evidence = evidence_for(question, bounds_);
    if (!evidence) return;
    if (evidence->answer.verdict == Outcome::Refuted) {
      const std::scoped_lock lock(mutex_);
      complaints_[&result] = fmt::format("{} on {} holds by {}, and the clauses refute it by {}",
                                         name_of(question), to_string(*question.system),
                                         question.claim->engine, evidence->answer.program);
      done_.difference = true;
    }
    if (evidence->answer.verdict != Outcome::Holds) return;
    enter(result, fmt::format("{}-{}", number, name_of(question)), [&](const std::string& place) {
      write_folder(place, evidence->certificate(provenance("CaDiCaL", cnf::solver_version())));
      return evidence->claim;
    });
  }

  void refuted(const Summary& row, const Result& result, const char* which) {
    if (result.question.claim->prices != nullptr) return cheaper(row, result, which);
    const ProgramFile file = file_of(result);
    StateTable states(file.program.devices);
    const Verdict verdict = check(file.program, file.dialect, states);
    if (verdict.kind != Verdict::Kind::Valid) return;
    const bool compared = compares_hierarchies(result.question) && file.instance;
    enter(result, place_of(row, which), [&](const std::string& place) {
      return std::string(to_string(
          write_program_certificate(place, file, verdict, provenance("engine", "explicit"),
                                    compared ? result.question.to : std::nullopt)));
    });
  }

  /// That nothing is cheaper than what was found, and that hierarchies have nothing as cheap.
  void cheaper(const Summary& row, const Result& result, const char* which) {
    const std::optional<Evidence> evidence = evidence_for(result.question, bounds_);
    if (!evidence) return;
    enter(result, place_of(row, which), [&](const std::string& place) {
      const Provenance from = provenance("engine", "explicit");
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
  std::map<const Result*, std::string> complaints_;
};

}  // namespace

ResultCertification certify_results(const std::vector<Result>& results,
                                    const claims::Bounds& bounds, const CertificateOptions& options,
                                    std::ostream& err, std::atomic<std::size_t>& done) {
  Certifier certifier(bounds, options);
  ResultCertification certification = certifier.run(results, options.jobs, done);
  certifier.print_complaints(err);
  return certification;
}

}  // namespace p2
