#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/text/xla_dump.h"
#include "engine/msccl/verdict.h"
#include "engine/program/instance.h"
#include "p2/answer.h"
#include "p2/check.h"
#include "proofs/api/engines.h"
#include "proofs/api/open_sizes.h"

namespace p2 {

struct CampaignRun;

/// A folder of evidence, by the content of the file checked, the version of p2-verify and the
/// options. An entry that is found is undamaged and no more: the caller checks its evidence again
/// before it is used. Thread-safe.
class EvidenceCache {
 public:
  /// Without a folder nothing is found and nothing kept. `options` distinguishes entries. Throws
  /// InputError if the folder cannot be made.
  EvidenceCache(std::optional<std::string> folder, std::string options);

  bool enabled() const { return folder_.has_value(); }
  /// The evidence kept for a file with this text; nothing without an entry or with a damaged one.
  std::optional<std::string> find(const std::string& text) const;
  /// Evidence that was found has been accepted and used.
  void count_hit();
  /// Keeps evidence for a file with this text, in place of earlier evidence, until write().
  void keep(const std::string& text, const std::string& evidence);
  /// Writes what was kept, each entry whole or not at all. Notes the entries that cannot be
  /// written.
  void write(std::vector<Diagnostic>& diagnostics);

  std::size_t hits() const { return hits_; }
  std::size_t stored() const { return stored_; }

 private:
  std::string path_of(const std::string& text) const;

  std::optional<std::string> folder_;
  std::string options_;
  std::mutex mutex_;
  std::map<std::string, std::string> kept_;  ///< by path
  std::size_t hits_ = 0;
  std::size_t stored_ = 0;
};

/// As ask(), with the answers of the solvers from the cache if it has them. They are used only if
/// the certificate stored with them is of this program, p2-check's kernel accepts it, and it agrees
/// with `decision`. The explicit engine alone is never cached: it is as fast as replaying a
/// certificate.
std::vector<EngineAnswer> ask_with_cache(const Engines& engines, const ProgramFile& file,
                                         const ProgramDecision& decision, const std::string& text,
                                         const Limits& limits, EvidenceCache& cache);

/// As msccl::judge(), with refutations from the cache if they can be replayed on this algorithm.
/// Established algorithms are not cached: no evidence for them is checked faster than it is found.
msccl::AlgorithmDecision judge_with_cache(const msccl::Algorithm& algorithm,
                                          const std::string& text, const Limits& limits,
                                          EvidenceCache& cache);

/// What `check` asks about an algorithm in MSCCL XML.
struct AlgorithmCheckQuestion {
  /// Options that were given and only apply to programs, as flags without dashes: an InputError
  /// names the first.
  std::vector<std::string> inapplicable_options = {};
  /// Whether solvers were asked for as well; the answer says that they were not asked.
  bool solvers = false;
  std::optional<std::string> certificate = {};  ///< the folder for it, if one is wanted
  std::uint64_t seed = 1;
  /// Decides about the algorithm instead of msccl::judge(): for callers that know refutations
  /// already and replay them (msccl::can_replay).
  std::function<msccl::AlgorithmDecision(const msccl::Algorithm&)> decide = {};
};

/// The answer: one result, of the engine `explicit`, whose step is the file's `s`. The document has
/// the lines of `check`, one element of its JSON member `results`, and one report.
struct AlgorithmCheckAnswer : Answer {
  msccl::Algorithm algorithm;
  msccl::AlgorithmDecision decision;
};

/// Checks the text of an MSCCL XML file. Where a limit is reached the outcome is Undecided. Throws
/// InputError, naming `file`, if the text is no algorithm.
AlgorithmCheckAnswer check_algorithm(const std::string& file, const std::string& text,
                                     const AlgorithmCheckQuestion& question, const Limits& limits);

/// What `check` asks of one file.
struct CheckQuestion {
  const CheckRequest& request;
  const Options& options;
  const GivenInstance& given;  ///< of `request.instance`, with its terms
  const Engines& engines;
  EvidenceCache& cache;
  /// The folder for the certificate of this file; nothing if none is wanted.
  std::optional<std::string> certificate;
  std::optional<OpenSizes> open = {};  ///< sizes of the instance that are `*`
};

/// The answer about one file.
struct SubjectCheck {
  Result result;
  Json json;                          ///< the element of `results` in the document
  std::vector<Document::Block> text;  ///< as `--format text` shows it
  FileReport report;                  ///< its properties; `seconds` is filled in by check()
  /// What the engines were asked, as a member that reproduces a disagreement: `{"program":…}`.
  Json input = {};
  std::optional<std::string> smt2 = {};      ///< the query, if asked for
  std::optional<std::string> repaired = {};  ///< the repaired plan, if asked for and found
  std::vector<Diagnostic> diagnostics = {};  ///< a certificate that could not be written
};

// One function per subject. Each throws InputError for a mistake in the file, and where the request
// has an option that does not apply to it; LimitReached where nothing was decided.

SubjectCheck check_program(const std::string& file, const std::string& text,
                           const CheckQuestion& question);
SubjectCheck check_msccl(const std::string& file, const std::string& text,
                         const CheckQuestion& question);
/// Of several places of a plan that break a rule, engines may find any, so they agree if they name
/// the same rule.
SubjectCheck check_plan(const std::string& file, const std::string& text,
                        const CheckQuestion& question);
SubjectCheck check_onesided(const std::string& file, const std::string& text,
                            const CheckQuestion& question);
/// Whether a text is a one-sided plan.
bool is_onesided(std::string_view text);
/// Whether the modules of a file are well-formed and, for tests of StableHLO's interpreter, have
/// the expected results; with `reduces`, whether its only module computes the goal over these axes.
SubjectCheck check_module(const std::string& file, const std::string& text,
                          const CheckQuestion& question);
/// Of a `.p2c` file, as `define` does; of a system file and of an operation graph: whether they can
/// be read.
SubjectCheck check_definition(const std::string& file, const CheckQuestion& question);
SubjectCheck check_system(const std::string& file, const std::string& text,
                          const CheckQuestion& question);
SubjectCheck check_graph(const std::string& file, const std::string& text,
                         const CheckQuestion& question);
/// Records of real runs (docs/records.md): the flight recorder dumps of all ranks, of which `files`
/// are those but the first; a pipeline schedule, a transfer plan.
SubjectCheck check_record(const std::string& file, const std::string& text,
                          const std::vector<std::string>& files, const CheckQuestion& question);
/// Whether a text is such a record, and whether it is a dump of one rank.
bool is_record(std::string_view text);
bool is_rank_dump(std::string_view text);
/// Whether the module of the file `after` has the same outputs on every device as that of `before`,
/// for all inputs.
SubjectCheck compare_modules(const std::string& before, const std::string& after,
                             const CheckQuestion& question);

/// Two versions of a module of a dump, and how they compare.
struct DumpPair {
  const hlo::DumpModule* module = nullptr;
  const hlo::DumpFile* before = nullptr;
  const hlo::DumpFile* after = nullptr;
  bool end_to_end = false;        ///< the first and the last version of a module of three or more
  SubjectCheck* check = nullptr;  ///< null where nothing was decided

  Outcome outcome() const { return check == nullptr ? Outcome::Undecided : check->result.outcome; }
};

/// All steps, by module and pass, then the end-to-end pairs by module. `dump` must outlive them.
std::vector<DumpPair> pairs_of(const hlo::Dump& dump);

/// As compare_modules; a file that cannot be read makes it Undecided.
SubjectCheck compare_dumped_modules(const DumpPair& pair, const CheckQuestion& question);

/// Equality is transitive: an undecided end-to-end pair is Established where all steps of its
/// module are.
void compose_steps(std::vector<DumpPair>& pairs);

/// Warns of elided constants, and of a dump that leaves nothing to compare.
std::vector<Diagnostic> diagnostics_of(const hlo::Dump& dump);

/// The readable part of the answer, `details` of pairs included, and, for the JSON document,
/// `verdict`, `first_wrong`, `first_wrong_pass`, `modules`, `passes` and `left_out`.
void add_dump(const hlo::Dump& dump, const std::vector<DumpPair>& pairs, bool details,
              Document& document);

/// The options present in the request that only apply to programs, as flags without dashes: of
/// `certify`, `explain`, `smt2`, `repair`, `all-sizes`, `goal`, `collectives`.
std::vector<std::string> program_options(const CheckRequest& request);

/// The text of a check with what only a page has: the lines at fault, the schedule that leads
/// there.
std::vector<Block> page_details(const std::string& file, const SubjectCheck& check);

/// `{"explicit":"valid",…}`: the outcome of each engine.
Json outcomes_json(const std::vector<EngineAnswer>& answers);
/// The property `engines`: whether all engines asked agree. Reported where there are several.
Property engines_property(const std::vector<EngineAnswer>& answers,
                          std::string (*text)(const EngineAnswer&) = to_string);

/// As the public one, its questions answered by `run` or, without one, by this process. Z3 goes by
/// `z3_definitions`, in the order of Collective: with others than the built-in ones, tests see
/// whether a difference between the engines is detected.
CheckAnswer check(
    const CheckRequest& request, const Options& options, const CampaignRun* run,
    const std::vector<language::Definition>& z3_definitions = language::built_in_definitions());

}  // namespace p2
