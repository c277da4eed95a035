#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/pipeline_report.h"
#include "engine/input/input_error.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kMostStages = 1024;
constexpr std::uint64_t kMostMicrobatches = 65536;
constexpr std::uint64_t kMostWork = 4'000'000;         // pieces of work of all stages
constexpr std::uint64_t kLongestTime = 1'000'000'000;  // so that no sum of times overflows

po::options_description pipeline_flags() {
  po::options_description flags("Pipeline");
  flags.add_options()  //
      ("schedule", po::value<std::string>()->value_name("NAME"),
       "gpipe, 1f1b (default) or eager-1f1b")  //
      ("stages", po::value<std::string>()->value_name("N"),
       "how many stages, one mesh each")  //
      ("microbatches", po::value<std::string>()->value_name("M"),
       "how many go through the pipeline")  //
      ("forward", po::value<std::string>()->value_name("F"),
       "time of one microbatch forward on one stage, a whole number (default 1)")  //
      ("backward", po::value<std::string>()->value_name("B"),
       "the same backward (default 2)")  //
      ("latency", po::value<std::string>()->value_name("C"),
       "time to send from a stage to its neighbour (default 0)")  //
      ("link", po::value<std::string>()->value_name("MODEL"),
       "delay (default), link (one transfer at a time) or blocking (the sender waits)")  //
      ("plot", po::value<std::string>()->value_name("FILE"), "draw the timeline as SVG");
  return flags;
}

std::uint32_t required(const CommandLine& line, const std::string& flag, std::uint64_t most) {
  if (!line.has(flag)) {
    throw InputError({"command line"}, fmt::format("no --{}, expected how many there are", flag));
  }
  return static_cast<std::uint32_t>(line.integer(flag, 1, most, 1));
}

PipelineQuestion read_question(const CommandLine& line) {
  PipelineQuestion question;
  question.schedule =
      line.choice<PipelineSchedule>("schedule", {{"1f1b", PipelineSchedule::OneForwardOneBackward},
                                                 {"eager-1f1b", PipelineSchedule::Eager},
                                                 {"gpipe", PipelineSchedule::GPipe}});
  question.size = {required(line, "stages", kMostStages),
                   required(line, "microbatches", kMostMicrobatches)};
  if (std::uint64_t{2} * question.size.stages * question.size.microbatches > kMostWork) {
    throw InputError({"--microbatches"},
                     fmt::format("{} on {} stages are too many, expected at most {} forwards and "
                                 "backwards of all stages together",
                                 question.size.microbatches, question.size.stages, kMostWork));
  }
  const auto time = [&](const char* flag, std::uint64_t low, std::uint64_t otherwise) {
    return static_cast<std::int64_t>(line.integer(flag, low, kLongestTime, otherwise));
  };
  question.times = {time("forward", 1, 1), time("backward", 1, 2), time("latency", 0, 0)};
  question.link = line.choice<PipelineLink>("link", {{"delay", PipelineLink::Delay},
                                                     {"link", PipelineLink::Link},
                                                     {"blocking", PipelineLink::Blocking}});
  return question;
}

}  // namespace

int run_pipeline(const Arguments& arguments, std::ostream& out, std::ostream&) {
  const CommandLine line(
      "usage: p2-verify pipeline --schedule NAME --stages N --microbatches M [OPTION…]\n"
      "Simulates a synchronous pipeline: how long it takes, and how many activations each stage\n"
      "holds at its peak.",
      pipeline_flags(), arguments);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const PipelineQuestion question = read_question(line);
  const CommonOptions common = line.common();
  const PipelineRun run = simulate(question.schedule, question.size, question.times, question.link);
  if (const auto file = line.text("plot")) {
    Output plot(file, out);
    plot.stream() << pipeline_plot(question, run);
    plot.finish();
  }
  Output output(common.output, out);
  (common.format == Format::Json ? print_pipeline_json : print_pipeline_text)(question, run,
                                                                              output.stream());
  output.finish();
  return kEstablished;
}

}  // namespace p2
