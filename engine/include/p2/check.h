#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/campaign.h"
#include "p2/float_equality.h"
#include "p2/instance.h"

namespace p2 {

/// What is checked, and against what. The subject of each file is recognized by its content:
/// a reduction program (JSON or `.p2` notation) or the output of `synth`, an algorithm as MSCCL
/// XML, a one-sided plan (an execution plan of MSCCL++, or the text format), a module of XLA or
/// StableHLO, the plan of a resharding, a record (flight recorder dumps of one job, a pipeline
/// schedule, a transfer plan), a definition of a collective, a system, or an operation graph.
struct CheckRequest {
  /// Paths and patterns: `*`, `?` and `[…]` match inside one name, `**` any number of folders. A
  /// file that is named twice is checked once.
  std::vector<std::string> files;

  /// Two modules, both or neither: whether `after` computes on every device what `before` does. The
  /// comparison is the last result.
  std::optional<std::string> before;
  std::optional<std::string> after;
  /// With `before`, which is not partitioned, and `after`: the file that says how their tensors
  /// stand to each other (docs/partition.md). Absent: by the shardings of the modules.
  std::optional<std::string> relate;
  /// A folder that XLA wrote with `--xla_dump_to`, and no other subject: of every module each
  /// version that a pass changed is compared with the one before it, and the first with the last.
  /// The results are these pairs: all steps, then end to end. Steps compose: an end-to-end pair
  /// that is not decided directly is Established where all steps of its module are.
  std::optional<std::string> dump;
  /// Modules: floating-point sums must also be added in the same order.
  bool ordered = false;
  /// Of two partitioned modules: inputs are the same on all devices where the module before says
  /// so. A note in `diagnostics` says where this has no effect.
  bool replicated_inputs = false;
  /// Two modules: the sense in which they have to be equal.
  FloatEquality numbers = FloatEquality::Real;
  /// Modules: the axes over which each module must compute `instance.goal` (default: AllReduce).
  std::optional<std::string> reduces;
  std::optional<std::uint64_t> replicas;    ///< of modules; absent: as the module says
  std::optional<std::uint64_t> partitions;  ///< likewise

  /// Programs: the instance, for files that do not name their own. `dialect` and `goal` take
  /// precedence over the file's. With `reduces`, the system of the devices.
  InstanceSpec instance;
  /// `auto`: the explicit engine, or for programs of many devices one whose cost does not depend on
  /// sizes where it is proved to decide. The engines in addition to the explicit one: `explicit`
  /// (none), `z3`, `cnf`, `all`; for modules `symbolic`, `interpreter` or `z3` alone, or
  /// `all`.
  std::string engine = "auto";
  /// Programs: also whether they are valid for every size of at least 2 of the factors greater than
  /// 1. Sizes that are `*`, in `instance` or the file, ask this of their factors.
  bool all_sizes = false;

  /// The folder for certificates that p2-check accepts: of one file itself, of several one inside
  /// for each.
  std::optional<std::string> certify;
  /// Programs and plans: also draw the states after each step. Two modules: also draw which
  /// devices' pieces make up an element of an output, the one that differs or the first.
  bool explain = false;
  /// For write_page: what is said of a file is in its report (FileReport::details), with pictures
  /// of the counterexample and the lines at fault.
  bool page = false;
  /// One-sided plans: of a refuted one, search for changes that make it valid.
  bool repair = false;
  bool smt2 = false;  ///< one program: also return the query as SMT-LIB 2
  /// The file of known failures; only others fail the run (Document::exit_code).
  std::optional<std::string> baseline;
  /// Also return the baseline with the failures of this run; its file need not exist.
  bool update_baseline = false;
  /// Of the files, or pairs of a dump.
  CampaignPart part;
  /// The folder in which evidence is kept. An entry is used only if its evidence is accepted again.
  std::optional<std::string> cache;
};

/// A failure as a baseline has it. It has no position, so that it survives edits of the file.
struct KnownFailure {
  std::string file;  ///< relative to the folder of the baseline
  std::string rule;  ///< `msccl/data-race`, or `program/undecided`

  auto operator<=>(const KnownFailure&) const = default;
};

/// `results` has the files that were decided, in the order of the request; a file that was not has
/// a diagnostic, and a report like all others (Document::reports). `outcome` is the worst over the
/// files, without known failures. `document.exit_code` is that of the worst file: 4 engines
/// disagree, 5 tool failure, 2 bad input, 1 refuted, 3 undecided, 0.
struct CheckAnswer : CampaignAnswer {
  std::vector<KnownFailure> fixed;  ///< failures of the baseline that no longer occur
  std::size_t cache_hits = 0;
  std::size_t cache_stored = 0;
  std::optional<std::string> smt2;              ///< the query, if asked for
  std::optional<std::string> repaired;          ///< the repaired plan, if one was found
  std::optional<std::string> updated_baseline;  ///< the new text of the baseline's file
};

/// Decides every file, `options.jobs` at a time. A file that cannot be read or decided hides no
/// result of another. Throws InputError for a request that cannot be answered: no file, half of a
/// comparison, a folder without a module, an unknown engine, an unsound definition, a pattern
/// without a match, a baseline that cannot be read.
///
///     p2::CheckRequest request;
///     request.files = {"examples/programs/**/*.p2", "allreduce.xml"};
///     const p2::CheckAnswer answer = p2::check(request, {});
///     for (const p2::Result& result : answer.results) {
///       if (result.counterexample) std::cout << result.counterexample->explanation << "\n";
///     }
///     std::cout << p2::write_document(answer.document, p2::DocumentFormat::Sarif);
CheckAnswer check(const CheckRequest& request, const Options& options);

}  // namespace p2
