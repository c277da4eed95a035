#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/meshes/pipeline_memory.h"
#include "cli/meshes/pipeline_report.h"
#include "cli/output.h"

namespace p2 {
namespace {

PipelineRun run_of(const PipelineQuestion& question) {
  if (!question.split) {
    return simulate(question.schedule, question.size, question.times, question.link);
  }
  return simulate_split(question.schedule, question.size, question.times, question.link,
                        question.delay);
}

}  // namespace

int run_pipeline(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify pipeline --schedule NAME --stages N --microbatches M [OPTION…]\n"
      "       p2-verify pipeline --least-memory --stages N --microbatches M [OPTION…]\n"
      "Simulates a synchronous pipeline: how long it takes, and how many activations each stage\n"
      "holds at its peak. Or finds the fewest that it can hold.",
      pipeline_flags(), arguments);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const PipelineQuestion question = pipeline_question(line);
  const CommonOptions common = line.common();
  Output output(common.output, out);
  if (question.least_memory) {
    const ExitCode code = print_least_memory(question, common, output.stream(), err);
    output.finish();
    return code;
  }
  const PipelineRun run = run_of(question);
  if (const auto file = line.text("plot")) {
    Output plot(file, out);
    plot.stream() << pipeline_plot(question, run);
    plot.finish();
  }
  (common.format == Format::Json ? print_pipeline_json : print_pipeline_text)(question, run,
                                                                              output.stream());
  output.finish();
  return kEstablished;
}

}  // namespace p2
