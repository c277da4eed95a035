#include <ostream>

#include <fmt/format.h>

#include "cli/command.h"
#include "p2/export.h"

namespace p2 {
namespace {

FlagGroup export_flags() {
  return {"Export",
          {{"to", "msccl|json|hlo|stablehlo|onesided|onesided-text",
            "what to write: MSCCL XML, program JSON, HLO text of XLA, StableHLO, or a one-sided "
            "plan of "
            "MSCCL++ or as text"},
           {"protocol", "Simple|LL|LL128", "of MSCCL XML (default Simple)"},
           {"program", "N",
            "the N-th program only, of a file with several (from synth --format json)"}}};
}

ExportRequest export_request(const CommandLine& line) {
  ExportRequest request;
  if (!line.has("to")) {
    throw InputError({"--to"},
                     "is missing, expected --to msccl, json, hlo, stablehlo, onesided or "
                     "onesided-text");
  }
  request.format = line.choice<ExportFormat>("to", {{"msccl", ExportFormat::Msccl},
                                                    {"json", ExportFormat::Json},
                                                    {"hlo", ExportFormat::Hlo},
                                                    {"stablehlo", ExportFormat::StableHlo},
                                                    {"onesided", ExportFormat::Onesided},
                                                    {"onesided-text", ExportFormat::OnesidedText}});
  request.protocol = line.choice<ExportProtocol>("protocol", {{"Simple", ExportProtocol::Simple},
                                                              {"LL", ExportProtocol::LL},
                                                              {"LL128", ExportProtocol::LL128}});
  request.program = line.integer("program", 1, UINT32_MAX, 0);
  std::vector<std::string> files = line.texts("files");
  request.instance = line.instance_spec(&files);
  if (files.size() != 1) {
    throw InputError({"command line"}, fmt::format("{} files, expected one", files.size()));
  }
  request.file = files.front();
  return request;
}

}  // namespace

int run_export(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify export FILE --to msccl|json|hlo|stablehlo|onesided|onesided-text "
      "[OPTION…]\n"
      "Writes a valid program as MSCCL XML, program JSON, HLO text of XLA, StableHLO, or a "
      "one-sided\n"
      "plan (of MSCCL++, or in the text format); the text\n"
      "has been parsed again and verified. FILE is program JSON, .p2 notation, or the output of\n"
      "synth --format json. MSCCL and plans have no groups: every reduction class becomes a file "
      "of its own.\n"
      "Several files go into the folder of --output.",
      {system_flag_group(), reduction_flag_group(), terms_flag_group(), export_flags()}, arguments,
      "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  CommonOptions common = line.common();
  ExportRequest request = export_request(line);
  request.output = common.output;
  const ExportAnswer answer = export_programs(request, options_of(common, err));
  if (request.output && answer.texts.size() == 1) {
    write_file(*request.output, answer.texts.front().text);
  }
  // The report goes to stdout; without --output that is the text itself.
  common.output.reset();
  if (!request.output) common.format = Format::Text;
  return print_answer(answer, common, out, err);
}

}  // namespace p2
