#include "cli/check/judgement.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <ostream>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "cli/check/certificate.h"
#include "cli/check/remembered.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "proofs/api/sound_steps.h"
#include "cli/terms_options.h"
#include "engine/msccl/algorithm_file.h"
#include "engine/program/explanation.h"
#include "engine/reshard/plans/plan_file.h"

namespace p2 {
namespace {

CheckResult check_program(const std::string& file, const std::string& text,
                          const CheckRequest& request, VerdictCache& cache) {
  const Limits& limits = request.common.limits;
  CheckResult result{file, read_program(file, text, request.given), {}, {}, {}, {}};
  const Program& program = result.read.program;
  const Engines engines = on_terms(request.engines, program.terms);
  result.cnf_left_out = engines.cnf_left_out;
  if (request.certificates) require_paper("--certify", program.terms);
  StateTable states(program.chunks());
  result.verdict = check(program, result.read.dialect, states, limits);
  if (result.verdict.refutation) {
    result.reason = explain(*result.verdict.refutation, program, result.instance());
  } else if (result.verdict.kind == Verdict::Kind::Unknown) {
    result.reason = fmt::format("A limit was met after {} of {} steps, all of them legal.",
                                result.verdict.legal_steps, program.steps.size());
  }
  if (result.verdict.kind == Verdict::Kind::Valid) SoundSteps(limits).require(file, program);
  result.findings = ask_or_remember(engines, result.read, result.verdict, text, limits, cache);
  return result;
}

// An allreduce of 1024 ranks as a ring is 220 MB of XML.
constexpr std::size_t kMostMebibytes = 128;
constexpr std::size_t kMostMebibytesOfXml = 512;

Judged judge_file(const std::string& file, const CheckRequest& request, VerdictCache& cache) {
  const std::string text = read_file(file, kMostMebibytesOfXml);
  if (msccl::is_xml(text)) return check_msccl(file, text, request, cache);
  if (text.size() > kMostMebibytes << 20) {
    throw InputError({file}, fmt::format("is larger than {} MiB, expected a smaller file, or XML",
                                         kMostMebibytes));
  }
  if (is_module(text)) return check_hlo(file, text, request);
  if (reshard::is_plan(text)) return check_plan(file, text, request);
  return check_program(file, text, request, cache);
}

/// Files that have no certificates are refused before where one is asked for.
std::optional<WritingTrouble> certify(MscclResult&, const CheckRequest&, std::size_t) { return {}; }
std::optional<WritingTrouble> certify(HloResult&, const CheckRequest&, std::size_t) { return {}; }

std::shared_ptr<const Trouble> trouble(bool bad_input, const SourcePosition& where,
                                       const std::string& message, const std::string& line) {
  return std::make_shared<const Trouble>(Trouble{bad_input, where, message, line});
}

std::shared_ptr<const Trouble> limit_met(const std::string& file, const std::string& message) {
  return trouble(false, {file}, message, fmt::format("{}: {}", file, message));
}

void judge_into(FileOutcome& outcome, const CheckRequest& request, VerdictCache& cache) {
  const auto start = std::chrono::steady_clock::now();
  try {
    if (outcome.comparison) {
      outcome.judged = compare_hlo(request);
    } else {
      outcome.judged = judge_file(outcome.file, request, cache);
    }
  } catch (const InputError& error) {
    outcome.trouble = trouble(true, error.where(), error.message(), error.what());
  } catch (const std::length_error& error) {
    outcome.trouble = limit_met(outcome.file, error.what());
  } catch (const std::bad_alloc&) {
    outcome.trouble = limit_met(outcome.file, "out of memory, nothing was settled");
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  outcome.seconds = passed.count();
}

/// Every file that no thread has taken yet, one after the other.
void judge_in_parallel(std::vector<FileOutcome>& outcomes, const CheckRequest& request,
                       VerdictCache& cache, std::atomic<std::size_t>& done) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < outcomes.size(); i = next++) {
      judge_into(outcomes[i], request, cache);
      ++done;
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = request.common.jobs == 0 ? cores : request.common.jobs;
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(wanted, outcomes.size()); ++i) others.emplace_back(work);
  work();
}

}  // namespace

const Findings& findings_of(const Judged& judged) {
  return std::visit([](const auto& result) -> const Findings& { return result.findings; }, judged);
}

std::vector<FileOutcome> judge_files(const CheckRequest& request, std::ostream& err,
                                     CacheUse& cache_use) {
  std::vector<FileOutcome> outcomes;
  for (const std::string& file : request.files) outcomes.push_back({file});
  if (request.hlo.after) outcomes.push_back({*request.hlo.after, true});
  VerdictCache cache(request.cache, request.cache_options);
  {
    std::atomic<std::size_t> done = 0;
    const ProgressLine progress(request.common.progress, err, [&] {
      return fmt::format("{} of {} files checked", done.load(), outcomes.size());
    });
    judge_in_parallel(outcomes, request, cache, done);
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].judged || !request.certificates) continue;
    const auto unwritten =
        std::visit([&](auto& result) { return certify(result, request, i); }, *outcomes[i].judged);
    if (!unwritten) continue;
    const auto& [words, code] = *unwritten;
    outcomes[i].trouble = trouble(code == kBadInput, {outcomes[i].file}, words, words);
  }
  for (const FileOutcome& outcome : outcomes) {
    if (outcome.trouble) err << "p2-verify: " << outcome.trouble->line << "\n";
  }
  cache_use = cache.write(err);
  return outcomes;
}

}  // namespace p2
