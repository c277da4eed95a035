#include "p2/check.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "engine/base/document_writers.h"
#include "engine/base/files.h"
#include "engine/base/limits.h"
#include "engine/hlo/text/xla_dump.h"
#include "proofs/api/checked_files.h"
#include "proofs/api/open_sizes.h"
#include "proofs/api/subject_check.h"
#include "proofs/api/terms.h"

namespace p2 {
namespace {

using Kind = Diagnostic::Kind;
using Status = Property::Status;

/// The folder of the certificate of file number `index`: the one asked for, or one inside.
std::optional<std::string> certificate_folder(const CheckRequest& request,
                                              const std::vector<CheckedFile>& files,
                                              std::size_t index) {
  if (!request.certify) return std::nullopt;
  if (files.size() == 1) return request.certify;
  const std::string stem = std::filesystem::path(files[index].file).stem().string();
  return fmt::format("{}/{}-{}", *request.certify, index + 1, stem);
}

void check_all(std::vector<CheckedFile>& files, const CheckQuestion& question) {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
  const ProgressReporter progress(question.options.progress, [&] {
    return fmt::format("{} of {} {} checked", done.load(), files.size(),
                       question.request.dump ? "pairs" : "files");
  });
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      CheckQuestion own = question;
      own.certificate = certificate_folder(question.request, files, i);
      check_into(files[i], own);
      ++done;
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = question.options.jobs == 0 ? cores : question.options.jobs;
  const std::size_t workers = std::min(wanted, files.size());
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < workers; ++i) helpers.emplace_back(work);
    work();
  }
  // Files that were checked at the same time shared the memory: what reached its limit is checked
  // once more, alone.
  const Limits& limits = question.options.limits;
  if (workers == 1 || !limits.memory_bytes) return;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!is_undecided(files[i])) continue;
    release_free_memory();
    if (limits.exceeded(0)) return;
    CheckQuestion own = question;
    own.certificate = certificate_folder(question.request, files, i);
    files[i].check.reset();
    files[i].errors.clear();
    check_into(files[i], own);
  }
}

/// The files as questions of a campaign.
class FileQuestions final : public campaign::Questions {
 public:
  FileQuestions(std::vector<CheckedFile>& files, const CheckQuestion& question)
      : files_(files), question_(question) {}

  std::size_t count() const override { return files_.size(); }
  /// Bytes.
  double expected_cost(std::size_t question) const override {
    const CheckedFile& file = files_[question];
    if (file.listed) return static_cast<double>(file.listed->text.size());
    std::error_code failure;
    const auto size = [&](const std::string& path) {
      const auto bytes = std::filesystem::file_size(path, failure);
      return failure ? 0.0 : static_cast<double>(bytes);
    };
    return 1 + size(file.file) + (file.before ? size(*file.before) : 0.0);
  }
  Answer ask(std::size_t question, const Limits& limits) override {
    CheckedFile file = files_[question];
    Options options = question_.options;
    options.limits = limits;
    check_into(file,
               {question_.request, options, question_.given, question_.engines, question_.cache,
                certificate_folder(question_.request, files_, question), question_.open});
    const bool failed = std::ranges::any_of(
        file.errors, [](const FileError& error) { return error.kind == Kind::ToolFailure; });
    const bool final = !failed && !is_undecided(file);
    return {journal_text(file), final || !campaign::may_be_cut_short(limits)};
  }
  void record(std::size_t question, const nlohmann::ordered_json& text) override {
    take_journaled(text, files_[question]);
  }

 private:
  std::vector<CheckedFile>& files_;
  const CheckQuestion& question_;
};

/// Leaves the files of the shard.
void keep_shard(const campaign::Shard& shard, const campaign::Questions& questions,
                std::vector<CheckedFile>& files) {
  const std::vector<std::uint32_t> shards = campaign::shard_of_questions(questions, shard.count);
  std::vector<CheckedFile> mine;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (shards[i] == shard.number) mine.push_back(std::move(files[i]));
  }
  files = std::move(mine);
}

/// Of a dump nothing is asked but whether its modules are equal.
void require_dump_alone(const CheckRequest& request) {
  const auto refuse = [](const std::string& what) {
    throw InputError({"--dump"}, fmt::format("is a check of its own, expected no {}", what));
  };
  if (!request.files.empty()) refuse("FILE");
  if (request.before) refuse("--before");
  if (request.after) refuse("--after");
  if (request.reduces) refuse("--reduces");
  for (const std::string& flag : program_options(request)) {
    if (flag != "certify") refuse("--" + flag);
  }
  if (request.engine == "z3" || request.engine == "cnf") refuse("--engine " + request.engine);
}

void require_consistent(const CheckRequest& request) {
  if (request.dump) require_dump_alone(request);
  if (request.update_baseline && !request.baseline) {
    throw InputError({"--update-baseline"}, "nothing says which file, expected --baseline FILE");
  }
  if (request.relate && !request.before) {
    throw InputError({"--relate"}, "relates two modules, expected --before and --after");
  }
  if (request.before.has_value() != request.after.has_value() && !request.relate) {
    throw InputError({request.before ? "--before" : "--after"},
                     "is half of a comparison, expected --before and --after");
  }
  if (request.before && request.reduces) {
    throw InputError({"--reduces"}, "is for one module, expected no --before and --after");
  }
}

/// Distinguishes cache entries and proves nothing: --system is here by its name, --collectives not
/// at all. An entry is used only if its evidence fits the problem (check_cache.cpp), and there are
/// none for programs with other terms than the paper's.
std::string cache_options(const CheckRequest& request) {
  const InstanceSpec& spec = request.instance;
  std::string text = fmt::format("engine={}\nall-sizes={}\n", request.engine, request.all_sizes);
  const auto add = [&](const char* name, const std::optional<std::string>& value) {
    if (value) text += fmt::format("{}={}\n", name, *value);
  };
  add("dialect", spec.dialect);
  add("hierarchy", spec.hierarchy);
  add("system", spec.system);
  add("axes", spec.axes);
  add("reduce", spec.reduce);
  add("placement", spec.placement);
  add("synthesis-hierarchy", spec.synthesis_hierarchy);
  add("goal", spec.goal);
  return text;
}

std::optional<FailureBaseline> baseline_of(const CheckRequest& request) {
  if (!request.baseline) return std::nullopt;
  const bool fresh = request.update_baseline && !std::filesystem::exists(*request.baseline);
  return fresh ? FailureBaseline(*request.baseline) : FailureBaseline::read(*request.baseline);
}

/// The worst status of all files, without known failures.
Outcome outcome_of(const std::vector<FileReport>& reports) {
  Outcome outcome = Outcome::Established;
  for (const FileReport& report : reports) {
    for (const Property& property : report.properties) {
      if (property.known) continue;
      if (property.status == Status::Disagreement) return Outcome::Disagreement;
      if (property.status == Status::Refuted) outcome = worst(outcome, Outcome::Refuted);
      if (property.status == Status::Undecided) outcome = worst(outcome, Outcome::Undecided);
    }
  }
  return outcome;
}

Json failure_json(const std::string& file, const std::string& rule) {
  return Json::object({{"file", file}, {"rule", rule}});
}

/// Adds how the failures compare with the baseline.
void add_baseline(const std::vector<KnownFailure>& fixed, Document& document) {
  Json known = Json::array();
  Json fresh = Json::array();
  for (const FileReport& report : document.reports) {
    for (const Property& property : report.properties) {
      const std::string rule = baseline_rule(report, property);
      if (rule.empty()) continue;
      (property.known ? known : fresh).push_back(failure_json(report.file, rule));
      document.line(fmt::format("{}: {}: {}", property.known ? "known" : "new", report.file, rule));
    }
  }
  for (const KnownFailure& each : fixed) {
    document.line(fmt::format("fixed: {}: {}", each.file, each.rule));
  }
  document.json.add("baseline",
                    Json::object({{"known", known},
                                  {"new", fresh},
                                  {"fixed", Json::array_of(fixed, [](const KnownFailure& each) {
                                     return failure_json(each.file, each.rule);
                                   })}}));
}

}  // namespace

std::vector<std::string> program_options(const CheckRequest& request) {
  std::vector<std::string> flags;
  if (request.certify) flags.emplace_back("certify");
  if (request.explain) flags.emplace_back("explain");
  if (request.smt2) flags.emplace_back("smt2");
  if (request.repair) flags.emplace_back("repair");
  if (request.all_sizes) flags.emplace_back("all-sizes");
  if (request.instance.goal) flags.emplace_back("goal");
  if (!request.instance.collectives.empty()) flags.emplace_back("collectives");
  return flags;
}

CheckAnswer check(const CheckRequest& request, const Options& options) {
  if (!is_campaign(request.part)) return check(request, options, nullptr);
  const std::string counted = request.dump ? "{} of {} pairs checked" : "{} of {} files checked";
  const CampaignRun run = campaign_run(request.part, options, counted);
  return check(request, options, &run);
}

CheckAnswer check(const CheckRequest& request, const Options& options, const CampaignRun* run,
                  const std::vector<language::Definition>& z3_definitions) {
  require_consistent(request);
  Engines engines = engines_called(request.engine);
  engines.z3_definitions = z3_definitions;
  InstanceSpec spec = request.instance;
  const std::optional<OpenSizes> open = close_sizes(spec);
  GivenInstance given = given_instance(spec);
  Soundness soundness = read_terms(spec, options, given);
  CheckAnswer answer;
  answer.document.title = "p2-verify check";
  answer.diagnostics = std::move(soundness.diagnostics);
  answer.outcome = soundness.outcome;
  if (soundness.outcome != Outcome::Established) {
    answer.document.json = Json::object({{"results", Json::array()}});
    answer.document.exit_code = exit_code_of(answer);
    return answer;
  }
  std::optional<hlo::Dump> dump;
  std::vector<DumpPair> pairs;
  if (request.dump) {
    dump = hlo::read_dump(*request.dump, options.limits);
    pairs = pairs_of(*dump);
    for (Diagnostic& each : diagnostics_of(*dump)) answer.diagnostics.push_back(std::move(each));
  }
  std::vector<CheckedFile> files = dump ? checked_files(pairs) : checked_files(request);
  std::optional<FailureBaseline> baseline = baseline_of(request);
  EvidenceCache cache(request.cache, cache_options(request));
  const CheckQuestion question{request, options, given, engines, cache, {}, open};
  if (run != nullptr) {
    const auto named = request.files.empty() ? request.files : matching_files(request.files);
    FileQuestions questions(files, question);
    answer.is_leader = run->answer(
        questions, check_journal_header(request, named, dump ? &*dump : nullptr, files.size()));
    if (!answer.is_leader) return answer;
    if (!run->shard.is_whole()) {
      keep_shard(run->shard, questions, files);
      pairs.clear();
      dump.reset();
      answer.document.json.add("shard", to_string(run->shard));
    }
  } else {
    check_all(files, question);
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].check = files[i].check ? &*files[i].check : nullptr;
  }
  compose_steps(pairs);

  std::vector<FileReport>& reports = answer.document.reports;
  for (const CheckedFile& file : files) reports.push_back(report_of(file));
  if (baseline) {
    answer.fixed = baseline->fixed(reports);
    if (request.update_baseline) {
      baseline->update(reports);
      answer.updated_baseline = baseline->text();
    }
    baseline->mark(reports);
  }
  for (std::size_t i = 0; i < files.size(); ++i) files[i].report = reports[i];
  answer.outcome = outcome_of(reports);
  if (request.page) add_details(files, answer.document.reports);
  if (dump) add_dump(*dump, pairs, !request.page, answer.document);
  add_files(files, answer.document);
  if (files.size() > 1 && !dump && !request.page) {
    answer.document.line("");
    answer.document.line(totals_text(files));
  }
  collect(files, answer);
  if (baseline) add_baseline(answer.fixed, answer.document);
  answer.document.against_baseline = baseline.has_value();
  cache.write(answer.diagnostics);
  answer.cache_hits = cache.hits();
  answer.cache_stored = cache.stored();
  if (request.cache) {
    answer.document.json.add(
        "cache", Json::object({{"hits", answer.cache_hits}, {"stored", answer.cache_stored}}));
  }
  answer.document.exit_code = exit_code_of(answer);
  return answer;
}

}  // namespace p2
