#include <algorithm>
#include <ostream>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/define_report.h"
#include "cli/output.h"
#include "engine/collective/language/built_in.h"
#include "engine/collective/language/parser.h"
#include "p2/error.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

using language::Definition;

/// A definition file that was read.
struct Given {
  std::string file;
  Definition definition;
};

po::options_description define_flags() {
  po::options_description flags("Define");
  flags.add_options()  //
      ("max-group", po::value<std::string>()->value_name("N"),
       "look at groups of 2 to N devices (default 4, at most 8)");
  return flags;
}

definition::Scope scope_of(const CommandLine& line, const CommonOptions& common) {
  definition::Scope scope;
  scope.most_group = static_cast<std::uint32_t>(
      line.integer("max-group", definition::kLeastGroup, definition::kMostGroup, scope.most_group));
  scope.seed = common.seed;
  scope.jobs = common.jobs;
  scope.limits = common.limits;
  return scope;
}

/// Reads all files, whatever is wrong with one of them; that goes to `err`.
std::vector<Given> read_definitions(const std::vector<std::string>& files, std::ostream& err) {
  std::vector<Given> given;
  for (const std::string& file : files) {
    try {
      given.push_back({file, language::parse_definition(file, read_file(file))});
    } catch (const InputError& error) {
      err << "p2-verify: " << error.what() << "\n";
    }
  }
  return given;
}

/// The collectives to compare a definition with: the built-in ones, then the others given, of which
/// the first of a name counts.
std::vector<const Definition*> known_beside(const Given& own, const std::vector<Given>& given) {
  std::vector<const Definition*> known;
  for (const Definition& definition : language::built_in_definitions()) {
    known.push_back(&definition);
  }
  for (const Given& other : given) {
    const bool named = std::any_of(known.begin(), known.end(), [&](const Definition* definition) {
      return definition->name == other.definition.name;
    });
    if (&other != &own && !named) known.push_back(&other.definition);
  }
  return known;
}

void print(const std::vector<DefineResult>& results, Format format, std::ostream& out) {
  if (format == Format::Text) {
    for (const DefineResult& result : results) {
      out << (&result == &results.front() ? "" : "\n") << to_text(result);
    }
    return;
  }
  out << "{\"results\":[";
  for (const DefineResult& result : results) {
    out << (&result == &results.front() ? "\n" : ",\n") << to_json(result);
  }
  out << "\n]}\n";
}

}  // namespace

int run_define(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify define FILE.p2c… [OPTION…]\n"
      "Says whether definitions of collectives are sound, for all small groups and buffers, and\n"
      "how each relates to the built-in collectives and to the others given.",
      define_flags(), arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  const std::vector<std::string> files = line.texts("files");
  if (files.empty()) throw InputError({"command line"}, "no file, expected at least one");
  const definition::Scope scope = scope_of(line, common);
  const std::vector<Given> given = read_definitions(files, err);
  std::vector<DefineResult> results;
  results.reserve(given.size());
  for (const Given& own : given) {
    results.push_back(
        {own.file, definition::examine(own.definition, known_beside(own, given), scope)});
  }
  Output output(common.output, out);
  print(results, common.format, output.stream());
  output.finish();
  const ExitCode code = exit_code(results);
  if (code == kDisagreement) {
    err << "p2-verify: the engines disagree; all answers are in the output, the file is the "
           "reproducer\n";
    return code;
  }
  return given.size() < files.size() ? kBadInput : code;
}

}  // namespace p2
