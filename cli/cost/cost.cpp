#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "cli/cost/cost_answer.h"
#include "cli/cost/cost_fit.h"
#include "cli/cost/cost_plot.h"
#include "cli/cost/cost_report.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

void write_plot(const CostAnswer& answer, const CostRequest& request, std::ostream& out) {
  Output file(request.plot, out);
  file.stream() << cost_plot(answer, request);
  file.finish();
}

int exit_code(const CostAnswer& answer) {
  const auto& refused = answer.refused;
  const bool undecided = std::any_of(refused.begin(), refused.end(),
                                     [](const CostRefusal& each) { return each.undecided; });
  const bool invalid = std::any_of(refused.begin(), refused.end(),
                                   [](const CostRefusal& each) { return !each.undecided; });
  if (invalid) return kRefuted;
  return undecided || !answer.complete ? kUndecided : kEstablished;
}

}  // namespace

int run_cost(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  po::options_description own = instance_flags();
  own.add(cost_flags());
  const CommandLine line(
      "usage: p2-verify cost --system FILE --axes SIZES --reduce AXES [OPTION…]\n"
      "       p2-verify cost --system FILE PROGRAM… [OPTION…]\n"
      "       p2-verify cost --system FILE --fit FILE --fit-links NAMES --output FILE\n"
      "Predicts how long programs take and ranks them, fastest first.",
      own, arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CostRequest request = cost_request(line);
  if (request.measurements) return run_cost_fit(request, out);
  const CostAnswer answer = cost_answer(request, err);
  if (request.plot && !answer.ranked.empty()) write_plot(answer, request, out);
  Output output(request.common.output, out);
  if (request.common.format == Format::Json) {
    print_json(answer, request, output.stream());
  } else {
    print_text(answer, request, output.stream());
  }
  output.finish();
  return exit_code(answer);
}

}  // namespace p2
