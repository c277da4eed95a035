#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/explanation/explanation.h"
#include "engine/hlo/module_relation.h"
#include "p2/limits.h"
#include "proofs/api/subject_check.h"
#include "proofs/certificate/subject_certificates.h"

namespace p2 {

/// The answer about one module, or about a module before and after a rewrite.
struct ModuleCheck {
  SubjectCheck shown;
  hlo::ModuleDecision decision;
};

/// The text of a module's file: of a binary one, as XLA prints it. Throws InputError, and ToolError
/// for a binary one where this build reads none.
std::string module_text(const std::string& file, std::string bytes, const Limits& limits = {});

/// Whether a text is a module of XLA or StableHLO.
bool is_module_text(const std::string& text);

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
  std::set<std::string> binary = {};                 ///< the files whose texts were written

  const std::string& of(const std::string& file) const {
    const auto found = programs.find(file);
    return found == programs.end() ? after : found->second;
  }
};

/// As certificates have them. Throws NoCanonicalText.
CertifiedModules certified_modules(const ModuleTexts& texts, const ModuleSubject& subject,
                                   const hlo::Devices& devices, const Limits& limits);
/// In the order of the relation.
CertifiedPrograms certified_programs(const ModuleTexts& texts,
                                     const std::vector<hlo::PlacedFile>& programs);
/// A relation that is given says that constants of one name are equal, also if they are printed
/// without their elements.
std::vector<std::string> equal_constants(const ModuleTexts& texts,
                                         const hlo::ModuleRelation& relation);

/// The certificate by a relation at every node, if one was tried, or why there is none.
using Related = std::optional<std::variant<CertificateFiles, std::string>>;

/// The decision as result, text, JSON and report.
ModuleCheck check_of(const ModuleSubject& subject, hlo::ModuleDecision decision,
                     const Evidence& evidence);
/// Adds the user's lines that compute the output that differs, where the module has them.
void add_source(const hlo::Module& module, const std::string& text, ModuleCheck& check);
/// Adds where two modules that differ part ways, and what would repair it.
void add_explanation(const hlo::Explanation& explanation, const ModuleTexts& texts,
                     ModuleCheck& check);

// Explanations (module_explanation.cpp).

/// Two modules that were compared, or a module and programs that are linked to `after`.
struct ComparedModules {
  std::shared_ptr<const hlo::Module> before, after;
  ModuleSubject subject;
  const ModuleTexts& texts;
  const std::vector<hlo::PlacedFile>& programs;
};

/// The reason why no relation was found at every node, with its line; nothing where none was asked
/// for.
std::optional<std::string> end_of_relation(const Related& related, const ModuleTexts& texts,
                                           const std::string& file);
/// Adds where modules that are not equal part ways and, if `draws`, which devices' pieces make up
/// an element: by execution, or of larger modules by what the search for a relation knows.
void explain_comparison(const ComparedModules& modules, const Related& related, bool draws,
                        const Limits& limits, ModuleCheck& check);

}  // namespace p2
