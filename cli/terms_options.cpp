#include "cli/terms_options.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "cli/define_report.h"
#include "cli/output.h"
#include "engine/collective/language/parser.h"
#include "proofs/definition/examination.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

using language::Definition;

constexpr std::uint32_t kExaminedGroup = 4;
constexpr std::string_view kEnding = ".p2c";

/// Reads definitions and examines them.
class Examiner {
 public:
  Examiner(const CommonOptions& common, std::ostream& err) : err_(err) {
    scope_.most_group = kExaminedGroup;
    scope_.seed = common.seed;
    scope_.jobs = common.jobs;
    scope_.limits = common.limits;
  }

  /// The definition in a file. Throws InputError unless it may be sound.
  Definition read(const std::string& file) {
    Definition definition = language::parse_definition(file, read_file(file));
    const DefineResult result{file, definition::examine(definition, {}, scope_)};
    const ExitCode code = exit_code({result});
    if (code == kRefuted) {
      throw InputError({file}, fmt::format("{} is not sound, {} refuted, expected a sound "
                                           "definition (see p2-verify define {})",
                                           definition.name, refuted(result.findings), file));
    }
    if (code == kUndecided) {
      err_ << "p2-verify: " << file << ": a limit was met before it was clear that "
           << definition.name << " is sound\n";
    }
    if (code == kDisagreement) {
      err_ << "p2-verify: " << file << ": the engines disagree on whether " << definition.name
           << " is sound; p2-verify define " << file << " shows both answers\n";
    }
    worst_ = std::max(worst_, code);
    return definition;
  }

  ExitCode worst() const { return worst_; }

 private:
  static std::string refuted(const definition::Findings& findings) {
    std::string names;
    for (const definition::Check& check : findings.checks) {
      if (check.verdict != definition::Verdict::Refuted) continue;
      names += (names.empty() ? "" : ", ") + check.name;
    }
    return names;
  }

  std::ostream& err_;
  definition::Scope scope_;
  ExitCode worst_ = kEstablished;
};

CollectiveSet read_collectives(const std::vector<std::string>& files, Examiner& examiner) {
  if (files.size() > CollectiveSet::kMostDefined) {
    throw InputError({"--collectives"}, fmt::format("{} definitions, expected at most {}",
                                                    files.size(), CollectiveSet::kMostDefined));
  }
  std::vector<Definition> defined;
  for (const std::string& file : files) {
    Definition definition = examiner.read(file);
    if (CollectiveSet(defined).called(definition.name)) {
      throw InputError({file}, fmt::format("there is a collective {} already, expected another "
                                           "name",
                                           definition.name));
    }
    defined.push_back(std::move(definition));
  }
  return CollectiveSet(defined);
}

Goal read_goal(const std::string& text, Examiner& examiner) {
  if (text.ends_with(kEnding)) return Goal::of(examiner.read(text));
  const std::optional<Goal> goal = goal_called(text);
  if (!goal) {
    throw InputError({"--goal"},
                     fmt::format("unknown '{}', expected {}, or a file *.p2c", text, kGoals));
  }
  return *goal;
}

}  // namespace

po::options_description terms_flags() {
  po::options_description flags("Collectives and goal");
  flags.add_options()  //
      ("collectives",
       po::value<std::vector<std::string>>()->multitoken()->composing()->value_name("FILE.p2c…"),
       "definitions of collectives that programs may use beside the five (see define)")  //
      ("goal", po::value<std::string>()->value_name("NAME"),
       "what every reduction class is to end with: allreduce (default), reducescatter, allgather, "
       "reduce, broadcast, alltoall, or a definition FILE.p2c");
  return flags;
}

ExitCode read_terms(const CommandLine& line, const CommonOptions& common, std::ostream& err,
                    GivenInstance& given, std::vector<std::string>* other_words) {
  Examiner examiner(common, err);
  std::vector<std::string> files = line.texts("collectives");
  const auto others = std::stable_partition(
      files.begin(), files.end(), [](const std::string& word) { return word.ends_with(kEnding); });
  if (others != files.end() && (other_words == nullptr || others == files.begin())) {
    throw InputError({"--collectives"}, fmt::format("found '{}', expected files *.p2c", *others));
  }
  if (other_words != nullptr) other_words->insert(other_words->end(), others, files.end());
  files.erase(others, files.end());
  given.terms.collectives = read_collectives(files, examiner);
  given.goal_goes_first = line.has("goal");
  if (const auto goal = line.text("goal")) given.terms.goal = read_goal(*goal, examiner);
  return examiner.worst();
}

Definition read_sound_definition(const std::string& file, const CommonOptions& common,
                                 std::ostream& err, ExitCode& code) {
  Examiner examiner(common, err);
  Definition definition = examiner.read(file);
  code = examiner.worst();
  return definition;
}

std::string goal_text(const Goal& goal, const Beginning& beginning) {
  if (goal.is_allreduce()) return {};
  std::string text = ", goal " + goal.name;
  if (beginning.start != Start::Contributions) {
    text += fmt::format(" from {}", to_string(beginning.start));
  }
  if (beginning.chunks_per_device > 1) {
    text += fmt::format(", {} chunks per device", beginning.chunks_per_device);
  }
  return text;
}

void require_paper(const std::string& flag, const Terms& terms) {
  if (terms.of_paper()) return;
  throw InputError({flag},
                   "certificates cover the five collectives and the goal allreduce, expected "
                   "neither other collectives nor another goal");
}

void require_allreduce(const std::string& file, const Terms& terms) {
  if (terms.of_paper()) return;
  throw InputError({file},
                   "has another goal, expected a program for the goal allreduce, which is what "
                   "runs on real data");
}

}  // namespace p2
