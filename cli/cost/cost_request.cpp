#include "cli/cost/cost_request.h"

#include <fmt/format.h>

#include "cli/byte_size.h"
#include "cli/instance_options.h"
#include "engine/base/text_cursor.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kLargestSize = 32;
constexpr std::uint64_t kMostShown = 1'000'000;

std::pair<std::uint64_t, std::uint64_t> parse_sizes(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw InputError({"--sizes"},
                     fmt::format("\"{}\" is no range, expected one such as 1K:1G", text));
  }
  const std::uint64_t low = parse_bytes("--sizes", text.substr(0, colon));
  const std::uint64_t high = parse_bytes("--sizes", text.substr(colon + 1));
  if (low > high) {
    throw InputError({"--sizes"}, "the first size is larger than the last, expected SMALL:LARGE");
  }
  return {low, high};
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

/// What --fit needs and what it does not go with.
void read_fit(const CommandLine& line, CostRequest& request) {
  request.measurements = line.text("fit");
  if (!request.measurements) {
    if (line.has("fit-links")) {
      throw InputError({"--fit-links"}, "given without measurements, expected --fit as well");
    }
    return;
  }
  if (!request.common.output) {
    throw InputError({"--fit"}, "no file for the fitted system, expected --output");
  }
  const std::string links = line.text("fit-links").value_or("");
  if (links.empty()) {
    throw InputError({"--fit"},
                     "no bandwidth to fit, expected --fit-links with names of "
                     "interconnects of the system");
  }
  request.fitted_links = split_at_commas(links);
  for (const char* flag : {"axes", "reduce", "placement", "sizes", "plot", "top", "files"}) {
    if (!line.has(flag)) continue;
    throw InputError(
        {"--fit"},
        fmt::format("the measurements say what was run, expected no {}",
                    std::string(flag) == "files" ? "program files" : "--" + std::string(flag)));
  }
}

}  // namespace

po::options_description cost_flags() {
  po::options_description flags("Cost");
  flags.add_options()  //
      ("size", po::value<std::string>()->value_name("N"),
       "most steps of a program (default 5)")  //
      ("algorithm", po::value<std::string>()->value_name("NAME"),
       "ring (default) or tree: how AllReduce runs")  //
      ("bytes", po::value<std::string>()->value_name("N"),
       "per device: 4096, 64M or 2G (default 2G: the paper's 2^29 float32)")  //
      ("top", po::value<std::string>()->value_name("N"),
       "only the N fastest (default: 20 in text, all in JSON)")  //
      ("sizes", po::value<std::string>()->value_name("A:B"),
       "also: which program is the fastest at every size from A to B bytes")  //
      ("plot", po::value<std::string>()->value_name("FILE"),
       "draw the times, and the timeline of the fastest program, as SVG")  //
      ("fit", po::value<std::string>()->value_name("FILE"),
       "fit bandwidths to the measurements of a CSV file and write the system to --output")  //
      ("fit-links", po::value<std::string>()->value_name("NAMES"),
       "the interconnects whose bandwidths are fitted");
  return flags;
}

CostRequest cost_request(const CommandLine& line) {
  CostRequest request;
  request.given = given_instance(line);
  request.system = system_of(line);
  request.common = line.common();
  request.files = line.texts("files");
  request.size = static_cast<std::uint32_t>(line.integer("size", 0, kLargestSize, 5));
  if (const auto text = line.text("algorithm")) {
    const auto algorithm = algorithm_called(*text);
    if (!algorithm) {
      throw InputError({"--algorithm"}, fmt::format("unknown '{}', expected ring or tree", *text));
    }
    request.algorithm = *algorithm;
  }
  if (const auto text = line.text("bytes")) request.bytes = parse_bytes("--bytes", *text);
  if (line.has("top")) request.top = line.integer("top", 1, kMostShown, 1);
  if (const auto text = line.text("sizes")) request.sizes = parse_sizes(*text);
  request.plot = line.text("plot");
  read_fit(line, request);
  if (request.files.empty() && !request.measurements) require_system(request.given, true);
  return request;
}

}  // namespace p2
