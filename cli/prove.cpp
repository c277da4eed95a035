#include "p2/prove.h"

#include <ostream>

#include "cli/command.h"
#include "p2/error.h"

namespace p2 {
namespace {

std::vector<FlagGroup> prove_flags() {
  return {
      system_flag_group(),
      {"Prove",
       {{"list", "", "print all claims and stop"},
        {"all", "", "all claims that are known here"},
        {"max-devices", "N", "all systems of 2 to N devices (default 6); without --hierarchy only"},
        {"size", "N", "programs of at most N steps (default 5)"},
        {"dialect", "printed|published|both",
         "how the paper's rules are read, see docs/cli.md (default published)"},
        {"reduce", "AXES", "axes to reduce over: 0 or 0,2 or names"},
        {"from", "a|b|c|d|collapsed|lattice", "only programs over this hierarchy"},
        {"to", "a|b|c|d|collapsed|lattice", "only expressed over this hierarchy"},
        {"engine", "explicit|cnf",
         "explicit (default); cnf: claims about programs by a SAT solver instead of "
         "enumeration"},
        {"every-system", "", "a result for every system, also for those that are alike"},
        {"deep", "",
         "search over arbitrary groups, and for cheaper programs, without the bounds that keep "
         "such a search to seconds"},
        {"cubes", "N",
         "split a question for the SAT solver by its first step into N parts, refuted on all "
         "threads, with one proof of all (default 1)"},
        {"report", "FILE",
         "write the errata, as *.md or *.html: false statements of the paper with drawn "
         "counterexamples; implies "
         "--every-system",
         Flag::Kind::Output},
        {"certify", "DIR",
         "write certificates that p2-check accepts: for every universal claim about valid "
         "programs that holds, for synthesis-complete, mixing (6 devices: with --deep), beyond-dsl "
         "and lattice-gain, and "
         "for the smallest counterexamples"}}},
      {"Campaigns", campaign_flags()}};
}

/// The format of --report; nothing if it is absent.
std::optional<DocumentFormat> report_format(const CommandLine& line) {
  const auto path = line.text("report");
  if (!path) return std::nullopt;
  if (path->ends_with(".md")) return DocumentFormat::Markdown;
  if (path->ends_with(".html")) return DocumentFormat::Html;
  throw InputError({"--report"}, "'" + *path + "', expected a name that ends in .md or .html");
}

ProveRequest request_of(const CommandLine& line) {
  ProveRequest request;
  request.claims = line.texts("claims");
  request.all = line.has("all");
  request.from = line.text("from");
  request.to = line.text("to");
  request.dialect = line.text("dialect").value_or(request.dialect);
  request.engine = line.text("engine").value_or(request.engine);
  request.size = static_cast<std::uint32_t>(line.integer("size", 1, 32, request.size));
  if (line.has("max-devices")) {
    request.max_devices = static_cast<std::uint32_t>(line.integer("max-devices", 2, 64, 6));
  }
  request.system = line.instance_spec();
  request.system.dialect.reset();  // of the claims: also `both`
  request.every_system = line.has("every-system");
  request.deep = line.has("deep");
  request.cubes = static_cast<std::uint32_t>(line.integer("cubes", 1, 1024, 1));
  request.part = line.campaign_part();
  request.certify = line.text("certify");
  request.report = line.has("report");
  return request;
}

}  // namespace

int run_prove(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify prove CLAIM… [OPTION…]\n"
      "Settles statements of the paper on every small system, or on the one given, and shows the\n"
      "smallest counterexample of those that are false.",
      prove_flags(), arguments, "claims");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  if (line.has("list")) return print_answer(list_claims(), common, out, err);
  const std::optional<DocumentFormat> report = report_format(line);
  const ProveAnswer answer = prove(request_of(line), options_of(common, err));
  if (!answer.is_leader) return kEstablished;
  if (report) write_file(*line.text("report"), write_document(answer.report, *report));
  return print_answer(answer, common, out, err);
}

}  // namespace p2
