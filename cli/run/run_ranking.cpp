#include "cli/run/run_ranking.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/byte_size.h"
#include "engine/program/notation.h"

namespace p2 {
namespace {

using execution::Measurement;

std::string name_of(const RunAnswer& answer) {
  const Instance* instance = answer.program->instance();
  const std::string steps = to_string(answer.program->read.program.steps, instance);
  if (!answer.program->file.empty()) return answer.program->file + ": " + steps;
  return instance == nullptr ? steps : to_string(instance->grid.placement()) + "  " + steps;
}

void print_size(const std::vector<const RunAnswer*>& run, std::size_t size,
                const RunRequest& request, std::ostream& out) {
  fmt::print(out, "# {} per device\n#{:>5} {:>12} {:>9} {:>9} {:>8}  program\n",
             bytes_to_string(request.sizes[size]), "rank", "time (us)", "busbw", "speedup",
             "#wrong");
  const std::size_t shown = std::min<std::size_t>(run.size(), *request.top);
  for (std::size_t rank = 0; rank < shown; ++rank) {
    const RunMeasurement& measured = run[rank]->sizes[size];
    const Measurement& total = measured.total;
    fmt::print(out, "{:>6} {:>12.2f} {:>9.3f} {:>8.2f}x {:>8}  {}\n", rank + 1, total.seconds * 1e6,
               total.busbw(), measured.allreduce.seconds / total.seconds,
               total.wrong ? std::to_string(*total.wrong) : "N/A", name_of(*run[rank]));
  }
  if (shown < run.size()) fmt::print(out, "# … and {} more\n", run.size() - shown);
}

}  // namespace

void print_ranking(const RunReport& report, const RunRequest& request, std::ostream& out) {
  std::vector<const RunAnswer*> run;
  for (const RunAnswer& answer : report.programs) {
    if (answer.sizes.size() == request.sizes.size()) run.push_back(&answer);
  }
  for (std::size_t size = 0; size < request.sizes.size(); ++size) {
    std::stable_sort(run.begin(), run.end(), [&](const RunAnswer* a, const RunAnswer* b) {
      return a->sizes[size].total.seconds < b->sizes[size].total.seconds;
    });
    fmt::print(out, "#\n");
    print_size(run, size, request, out);
  }
}

}  // namespace p2
