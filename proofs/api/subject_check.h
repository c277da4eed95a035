#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/text/xla_dump.h"
#include "engine/program/instance.h"
#include "p2/check.h"
#include "proofs/api/check_cache.h"
#include "proofs/api/engines.h"
#include "proofs/api/open_sizes.h"

namespace p2 {

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
SubjectCheck check_plan(const std::string& file, const std::string& text,
                        const CheckQuestion& question);
SubjectCheck check_onesided(const std::string& file, const std::string& text,
                            const CheckQuestion& question);
/// Whether a text is a one-sided plan.
bool is_onesided(std::string_view text);
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
/// Two files with a module each.
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

/// The readable part of the answer, `details` of pairs included, and, for the JSON document, `verdict`, `first_wrong`,
/// `first_wrong_pass`, `modules`, `passes` and `left_out`.
void add_dump(const hlo::Dump& dump, const std::vector<DumpPair>& pairs, bool details,
              Document& document);

/// The options present in the request that only apply to programs, as flags without dashes: of
/// `certify`, `explain`, `smt2`, `goal`, `collectives`.
std::vector<std::string> program_options(const CheckRequest& request);

/// The text of a check with what only a page has: the lines at fault, the schedule that leads there.
std::vector<Block> page_details(const std::string& file, const SubjectCheck& check);

/// `{"explicit":"valid",…}`: the outcome of each engine.
Json outcomes_json(const std::vector<EngineAnswer>& answers);
/// The property `engines`: whether all engines asked agree. Reported where there are several.
Property engines_property(const std::vector<EngineAnswer>& answers,
                          std::string (*text)(const EngineAnswer&) = to_string);

/// As check(); Z3 uses other definitions than the built-in ones, in the order of Collective: to
/// test that a difference between the engines is detected.
CheckAnswer check(const CheckRequest& request, const Options& options,
                  std::vector<language::Definition> z3_definitions);

}  // namespace p2
