#include <filesystem>
#include <ostream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/export/target.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/terms_options.h"
#include "engine/base/files.h"
#include "engine/program/explanation.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr const char* kIndex = "index.json";
constexpr const char* kSchema = "p2-verify-export/1";

struct ExportRequest {
  std::string file;
  GivenInstance given;
  CommonOptions common;
  Target target = Target::Msccl;
  msccl::Protocol protocol = msccl::Protocol::Simple;
  std::size_t program = 0;  ///< 0: all
};

po::options_description export_flags() {
  po::options_description flags("Export");
  flags.add_options()  //
      ("to", po::value<std::string>()->value_name("msccl|json|hlo|stablehlo"),
       "what to write: MSCCL XML, program JSON, HLO text of XLA, or StableHLO")  //
      ("protocol", po::value<std::string>()->value_name("Simple|LL|LL128"),
       "of MSCCL XML (default Simple)")  //
      ("program", po::value<std::string>()->value_name("N"),
       "the N-th program only, of a file with several (from synth --format json)");
  po::options_description all = instance_flags();
  all.add(terms_flags()).add(flags);
  return all;
}

ExportRequest export_request(const CommandLine& line) {
  ExportRequest request;
  request.given = given_instance(line);
  request.common = line.common();
  if (!line.has("to"))
    throw InputError({"--to"}, "is missing, expected --to msccl, json, hlo or stablehlo");
  request.target = line.choice<Target>("to", {{"msccl", Target::Msccl},
                                              {"json", Target::Json},
                                              {"hlo", Target::Hlo},
                                              {"stablehlo", Target::StableHlo}});
  request.protocol = line.choice<msccl::Protocol>("protocol", {{"Simple", msccl::Protocol::Simple},
                                                               {"LL", msccl::Protocol::LL},
                                                               {"LL128", msccl::Protocol::LL128}});
  request.program = line.integer("program", 1, UINT32_MAX, 0);
  return request;
}

/// Whether a program may be exported at all; says why not.
ExitCode examine(const ProgramFile& read, const std::string& name, const Limits& limits,
                 std::ostream& err) {
  StateTable states(read.program.chunks());
  const Verdict verdict = check(read.program, read.dialect, states, limits);
  if (verdict.kind == Verdict::Kind::Unknown) {
    err << "p2-verify: " << name << ": a limit was met before it was clear that it is valid\n";
    return kUndecided;
  }
  if (!verdict.refutation) return kEstablished;
  err << fmt::format(
      "p2-verify: {}: only valid programs are exported. {}\n", name,
      explain(*verdict.refutation, read.program, read.instance ? &*read.instance : nullptr));
  return kRefuted;
}

/// What is to be written; empty, with `code` saying why, where not all of it may be.
std::vector<Exported> exported(const ExportRequest& request, std::ostream& err, ExitCode& code) {
  std::vector<Exported> all;
  for (const SourceProgram& source : programs_in(request.file, request.given, request.program)) {
    code = examine(source.read, source.name, request.common.limits, err);
    if (code != kEstablished) return {};
    for (Exported& each : exported_as(request.target, source, request.file, request.protocol,
                                      request.common.limits)) {
      each.number = source.number;
      if (each.verdict == "valid") {
        all.push_back(std::move(each));
        continue;
      }
      const bool unknown = each.verdict == "unknown";
      err << fmt::format("p2-verify: {}: {}: {}. Nothing is written.\n", source.name,
                         unknown ? "what would be written could not be verified"
                                 : "internal error, please report: the program is valid, what "
                                   "would be written is not",
                         each.reason);
      code = unknown ? kUndecided : kDisagreement;
      return {};
    }
  }
  return all;
}

std::string name_of(const Exported& each, const ExportRequest& request) {
  const std::string of_class = each.of_class == 0 ? "" : fmt::format("-class{}", each.of_class);
  return fmt::format("program{:04}{}.{}", each.number, of_class, extension_of(request.target));
}

/// Whether a folder holds what export wrote and nothing else, so that it may be replaced.
bool holds_export(const std::filesystem::path& folder) {
  const nlohmann::json index = index_of(folder, kIndex, kSchema);
  if (index.is_null()) return false;
  std::set<std::string> names = names_in(index.value("files", nlohmann::json()), {"file"});
  names.insert(kIndex);
  return holds_only(folder, names);
}

void write_folder(const std::vector<Exported>& all, const ExportRequest& request) {
  FolderFiles files;
  std::string index;
  for (const Exported& each : all) {
    files[name_of(each, request)] = each.text;
    index += fmt::format("{}\n{{\"file\":\"{}\",\"program\":{},\"class\":{},\"summary\":{}}}",
                         index.empty() ? "" : ",", name_of(each, request), each.number,
                         each.of_class == 0 ? "null" : std::to_string(each.of_class),
                         json_string(each.summary));
  }
  files[kIndex] = fmt::format("{{\"schema\":\"{}\",\"files\":[{}\n]}}\n", kSchema, index);
  write_whole_folder(*request.common.output, files, "export", holds_export);
}

void write(const std::vector<Exported>& all, const ExportRequest& request, std::ostream& out) {
  if (all.size() > 1) {
    if (!request.common.output) {
      throw InputError({request.file},
                       fmt::format("comes to {} files, one for every program and class, expected "
                                   "--output FOLDER",
                                   all.size()));
    }
    write_folder(all, request);
  } else {
    Output output(request.common.output, out);
    output.stream() << all.front().text;
    output.finish();
  }
}

void report(const std::vector<Exported>& all, const ExportRequest& request, std::ostream& out) {
  const bool json = request.common.format == Format::Json;
  std::string list;
  for (const Exported& each : all) {
    const std::string file = all.size() == 1
                                 ? *request.common.output
                                 : *request.common.output + "/" + name_of(each, request);
    if (json) {
      list +=
          fmt::format("{}\n{{\"file\":{},\"program\":{},\"class\":{},\"verdict\":\"{}\"}}",
                      list.empty() ? "" : ",", json_string(file), each.number,
                      each.of_class == 0 ? "null" : std::to_string(each.of_class), each.verdict);
    } else {
      out << fmt::format("{}: {}, verified\n", file, each.summary);
    }
  }
  if (json) out << "{\"results\":[" << list << "\n]}\n";
}

}  // namespace

int run_export(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify export FILE --to msccl|json|hlo|stablehlo [OPTION…]\n"
      "Writes a valid program as MSCCL XML, program JSON, HLO text of XLA or StableHLO; what is\n"
      "written has been read back and verified. FILE is program JSON, .p2 notation, or what synth\n"
      "--format json wrote. MSCCL has no groups: every reduction class becomes a file of its own.\n"
      "Several files go into the folder of --output.",
      export_flags(), arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  ExportRequest request = export_request(line);
  std::vector<std::string> files = line.texts("files");
  ExitCode code = read_terms(line, request.common, err, request.given, &files);
  if (code != kEstablished) return code;
  if (files.size() != 1) {
    throw InputError({"command line"}, fmt::format("{} files, expected one", files.size()));
  }
  request.file = files.front();
  const std::vector<Exported> all = exported(request, err, code);
  if (code != kEstablished) return code;
  if (all.empty()) throw InputError({request.file}, "has no program, expected at least one");
  write(all, request, out);
  if (request.common.output) report(all, request, out);
  return kEstablished;
}

}  // namespace p2
