// The functions of p2-verify that call Z3 or CaDiCaL, or keep journals, for the playground, which
// has neither: they throw an InputError that says so.

#include <fmt/format.h>

#include "encodings/cnf/queries.h"
#include "encodings/cnf/solver.h"
#include "encodings/z3/queries.h"
#include "engine/base/files.h"
#include "engine/collective/language/definition.h"
#include "p2/define.h"
#include "proofs/api/checked_files.h"
#include "proofs/definition/examination.h"

namespace p2 {
namespace {

[[noreturn]] void refuse(const char* what) {
  throw InputError(
      {"playground"},
      fmt::format("{} is not for this page, expected p2-verify on the command line", what));
}

}  // namespace

namespace z3_encoding {
EngineAnswer judge(const ValidityQuery&) { refuse("--engine z3"); }
EngineAnswer judge(const PlanQuery&) { refuse("--engine z3"); }
EngineAnswer judge(const OrdersQuery&) { refuse("--engine z3"); }
hlo::SolverAnswer judge(const hlo::interpreter::OutputExpressions&, const Limits&) {
  refuse("--engine z3");
}
std::string smt_lib(const ValidityQuery&) { refuse("--smt2"); }
std::string solver_version() { return "none"; }
}  // namespace z3_encoding

namespace cnf {
EngineAnswer judge(const ValidityQuery&) { refuse("--engine cnf"); }
EngineAnswer judge(const PlanQuery&) { refuse("--engine cnf"); }
std::string solver_version() { return "none"; }
}  // namespace cnf

namespace definition {
Findings examine(const language::Definition&, std::span<const language::Definition* const>,
                 const Scope&, const language::Definition&) {
  refuse("the soundness of a definition");
}
Outcome Findings::outcome() const { return Outcome::Undecided; }
std::string Findings::refuted_checks() const { return {}; }
std::string Findings::undecided_text() const { return {}; }
}  // namespace definition

/// Reads the definitions; whether they are sound stays open.
DefineAnswer define(const DefineRequest& request, const Options&) {
  DefineAnswer answer;
  for (const std::string& file : request.files) {
    const language::Definition definition = language::parse_definition(file, read_file(file));
    const std::string reason = fmt::format(
        "{} is well-formed; whether it is sound a solver settles, which this page does not have: "
        "p2-verify define {}",
        definition.name, file);
    Result result{file, Outcome::Undecided};
    result.undecided = Undecided{Undecided::Reason::Unsupported, reason};
    answer.outcome = Outcome::Undecided;
    answer.document.add(Heading{fmt::format("{}: well-formed", file)}).line(reason);
    Property sound{"sound", Property::Status::Undecided};
    sound.message = reason;
    answer.document.reports.push_back(
        {file, "definition", {Property{"well-formed"}, std::move(sound)}, 0});
    answer.results.push_back(std::move(result));
  }
  return answer;
}

// One file is checked at a time, without a journal.

bool is_campaign(const CampaignPart&) { return false; }
CampaignRun campaign_run(const CampaignPart&, const Options&, std::string) { refuse("--resume"); }
Json check_journal_header(const CheckRequest&, const std::vector<std::string>&, const hlo::Dump*,
                          std::size_t) {
  refuse("--resume");
}
std::string journal_text(const CheckedFile&) { refuse("--resume"); }
void take_journaled(const nlohmann::ordered_json&, CheckedFile&) { refuse("--resume"); }

namespace campaign {
std::vector<std::uint32_t> shard_of_questions(const Questions&, std::uint32_t) {
  refuse("--shard");
}
std::string to_string(const Shard&) { refuse("--shard"); }
bool may_be_cut_short(const Limits&) { refuse("--resume"); }
}  // namespace campaign

}  // namespace p2
