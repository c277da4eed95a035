#pragma once

#include <vector>

#include "engine/hlo/text/xla_dump.h"
#include "proofs/api/subject_check.h"

namespace p2 {

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

/// The readable part of the answer and, for the JSON document, `verdict`, `first_wrong`,
/// `first_wrong_pass`, `modules`, `passes` and `left_out`.
void add_dump(const hlo::Dump& dump, const std::vector<DumpPair>& pairs, Document& document);

}  // namespace p2
