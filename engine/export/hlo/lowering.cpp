#include "engine/export/hlo/lowering.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/execution/plan.h"
#include "engine/export/hlo/step_lowering.h"

namespace p2::hlo {
namespace {

void require_exportable(const Program& program, const SourcePosition& where) {
  if (program.terms.goal.name != "allreduce") {
    throw InputError(where,
                     fmt::format("has the goal {}, expected allreduce", program.terms.goal.name));
  }
  if (program.beginning != Beginning{}) {
    throw InputError(where,
                     "begins elsewhere, expected that every device has a contribution in "
                     "each of as many chunks as there are devices");
  }
  for (const Step& step : program.steps) {
    if (is_built_in(step.collective)) continue;
    throw InputError(where, fmt::format("uses {}, expected the five collectives",
                                        program.terms.collectives.name_of(step.collective)));
  }
}

}  // namespace

Module lowered(const Program& program, const SourcePosition& where) {
  require_exportable(program, where);
  const execution::Plan plan = execution::plan_of(program);
  ModuleBuilder builder(program.devices, program.chunks());
  ModuleBuilder::Value buffer = builder.parameter();
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    buffer = StepLowering(builder, buffer, plan, step).lowered();
  }
  return std::move(builder).finished(buffer);
}

}  // namespace p2::hlo
