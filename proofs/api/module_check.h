#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/equality/equivalence.h"
#include "p2/limits.h"
#include "proofs/api/subject_check.h"

namespace p2 {

/// What is asked of modules of XLA and StableHLO.
struct ModuleQuestion {
  std::optional<std::uint64_t> replicas = {};    ///< absent: as the module says
  std::optional<std::uint64_t> partitions = {};  ///< likewise
  /// Floating-point sums must also be added in the same order.
  bool ordered = false;
  /// The sense in which two modules have to be equal.
  FloatEquality numbers = FloatEquality::Real;
  /// The axes over which a module must compute the goal, in the notation of `--reduces`.
  std::optional<std::string> reduces = {};
  /// The engine asked for: `explicit`, `symbolic`, `interpreter`, `z3` or `all`; `cnf` alone is
  /// refused, and `z3` where nothing is compared.
  std::string engine = "explicit";
  /// Flags of the request that apply to programs only, without dashes; any of them is refused, but
  /// for `goal` if `reduces` is present.
  std::vector<std::string> program_flags = {};
  /// The file of a relation between two modules (docs/partition.md); absent: by their shardings.
  std::optional<std::string> relate = {};
  /// The folder for a certificate of a comparison; nothing if none is wanted.
  std::optional<std::string> certificate = {};
  std::uint64_t seed = 1;  ///< as the certificate names it
  bool explain = false;    ///< of two modules: also draw what makes up an element of an output
};

/// The answer about one module, or about a module before and after a rewrite.
struct ModuleCheck : SubjectCheck {
  hlo::ModuleDecision decision;
};

/// The text of a module's file: of a binary one, as XLA prints it. Throws InputError, and ToolError
/// for a binary one where this build reads none.
std::string module_text(const std::string& file, std::string bytes, const Limits& limits = {});

/// Whether a text is a module of XLA or StableHLO.
bool is_module_text(const std::string& text);

/// Decides whether the modules of a file are well-formed and, for tests of StableHLO's interpreter,
/// whether they have the expected results; with `reduces`, whether the only module of the file
/// computes the goal of `given.terms` over the axes (`given.axes`, or all devices as axis 0).
/// Throws InputError for a mistake in the file and for a question that does not apply.
ModuleCheck check_module_file(const std::string& file, const std::string& text,
                              const ModuleQuestion& question, const GivenInstance& given,
                              const Limits& limits);

/// Decides whether the module in the file `after` has the same outputs on every device as the one
/// in `before`, for all inputs. Throws InputError likewise.
ModuleCheck compare_module_files(const std::string& before, const std::string& after,
                                 const ModuleQuestion& question, const Limits& limits);
/// The answer where they could not be compared.
SubjectCheck undecided_comparison(const std::string& before, const std::string& after,
                                  const std::string& reason);

// The report of what was decided (module_report.cpp).

/// What a decision is about.
struct ModuleSubject {
  std::string file;            ///< the only one, or the one after the rewrite
  std::string before = {};     ///< empty for a module on its own
  std::string goal = {};       ///< empty without --reduces
  bool ordered = false;        ///< orders of addition were compared
  bool solvers_asked = false;  ///< which know no modules
};

/// The texts of two modules.
struct ModuleTexts {
  std::string before;
  std::string after;
  std::map<std::string, std::string> programs = {};  ///< by file, where devices run several after

  const std::string& of(const std::string& file) const {
    const auto found = programs.find(file);
    return found == programs.end() ? after : found->second;
  }
};

/// The decision as result, text, JSON and report.
ModuleCheck check_of(const ModuleSubject& subject, hlo::ModuleDecision decision,
                     const Evidence& evidence);
/// Adds the user's lines that compute the output that differs, where the module has them.
void add_source(const hlo::Module& module, const std::string& text, ModuleCheck& check);
/// Adds where two modules that differ part ways, and what would repair it.
void add_explanation(const hlo::Module& before, const hlo::Module& after, const ModuleTexts& texts,
                     const Limits& limits, ModuleCheck& check);

}  // namespace p2
