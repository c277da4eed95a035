#include "p2/cost.h"

#include <ostream>

#include "cli/command.h"

namespace p2 {
namespace {

FlagGroup cost_flags() {
  return {
      "Cost",
      {{"size", "N", "most steps of a program (default 5)"},
       {"algorithm", "ring|tree|auto|…",
        "how collectives run: ring or tree, and where the system names its GPU also nvls, "
        "nvlstree, "
        "collnet, or auto, the fastest of each step and size (the default there)"},
       {"bytes", "BYTES", "per device: 4096, 64M or 2G (default 2G: the paper's 2^29 float32)"},
       {"top", "N", "only the N fastest (default: 20 in text, all in JSON)"},
       {"sizes", "BYTES:BYTES", "also: which program is the fastest at every size between the two"},
       {"plot", "FILE", "draw the times, and the timeline of the fastest program, as SVG",
        Flag::Kind::Output},
       {"fit", "FILE",
        "fit bandwidths to the measurements of a CSV file and write the system to --output"},
       {"fit-links", "NAMES", "the interconnects whose bandwidths are fitted"},
       {"compare", "FILE",
        "put the model of NCCL beside every row of a table of measured collectives, or of output "
        "of "
        "nccl-tests; with --fit FILE fit the model to that table first"},
       {"cross-validate", "",
        "with --compare: also predict every source by a model fitted to all others"}}};
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// Throws InputError where --fit lacks a flag, or is given with one that has no effect.
void read_fit(const CommandLine& line, const CommonOptions& common, CostRequest& request) {
  request.fit = line.text("fit");
  request.compare = line.text("compare");
  request.cross_validate = line.has("cross-validate");
  if (request.compare) {
    for (const std::string flag :
         {"axes", "reduce", "placement", "sizes", "top", "files", "fit-links", "bytes"}) {
      if (!line.has(flag)) continue;
      throw InputError({"--compare"}, "the measurements say what was run, expected no " +
                                          (flag == "files" ? "program files" : "--" + flag));
    }
    return;
  }
  if (request.cross_validate) {
    throw InputError({"--cross-validate"},
                     "given without measurements, expected --compare as well");
  }
  if (!request.fit) {
    if (line.has("fit-links")) {
      throw InputError({"--fit-links"}, "given without measurements, expected --fit as well");
    }
    return;
  }
  if (!common.output) {
    throw InputError({"--fit"}, "no file for the fitted system, expected --output");
  }
  const std::string links = line.text("fit-links").value_or("");
  if (links.empty()) {
    throw InputError({"--fit"},
                     "no bandwidth to fit, expected --fit-links with names of interconnects of the "
                     "system");
  }
  request.fit_links = split_at_commas(links);
  for (const std::string flag : {"axes", "reduce", "placement", "sizes", "plot", "top", "files"}) {
    if (!line.has(flag)) continue;
    throw InputError({"--fit"}, "the measurements say what was run, expected no " +
                                    (flag == "files" ? "program files" : "--" + flag));
  }
}

CostRequest cost_request(const CommandLine& line, const CommonOptions& common) {
  CostRequest request;
  request.files = line.texts("files");
  request.instance = line.instance_spec(&request.files);
  request.more_instances = line.more_instance_specs(request.instance);
  request.part = line.campaign_part();
  request.max_steps = static_cast<std::uint32_t>(line.integer("size", 0, 32, 5));
  request.algorithm = line.text("algorithm").value_or(request.algorithm);
  request.bytes = line.text("bytes").value_or(request.bytes);
  if (line.has("top")) request.top = line.integer("top", 1, 1'000'000, 1);
  request.sizes = line.text("sizes");
  request.plot = line.has("plot") || common.format == Format::Html;
  request.json = common.format == Format::Json;
  read_fit(line, common, request);
  if (line.has("plot") && !request.more_instances.empty()) {
    throw InputError({"--plot"}, "draws one ranking, expected one system");
  }
  return request;
}

}  // namespace

int run_cost(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify cost --system FILE --axes SIZES --reduce AXES [OPTION…]\n"
      "       p2-verify cost --system FILE FILE… [OPTION…]\n"
      "       p2-verify cost --system FILE --fit FILE --fit-links NAMES --output FILE\n"
      "       p2-verify cost --compare FILE [--system FILE] [--fit FILE] [--cross-validate]\n"
      "Predicts how long programs take and ranks them, fastest first.",
      {systems_flag_group(),
       reduction_flag_group(),
       terms_flag_group(),
       cost_flags(),
       {"Campaigns", campaign_flags()}},
      arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  CommonOptions common = line.common();
  const CostAnswer answer = cost(cost_request(line, common), options_of(common, err));
  if (!answer.is_leader) return kEstablished;
  const auto plot = line.text("plot");
  if (plot && !answer.plot.empty()) write_file(*plot, answer.plot);
  if (!answer.fitted_system.empty()) {
    write_file(*common.output, answer.fitted_system);
    common.output.reset();  // the report goes to `out`
  }
  return print_answer(answer, common, out, err);
}

}  // namespace p2
