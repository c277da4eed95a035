#pragma once

#include <iosfwd>
#include <string>

#include "cli/meshes/reshard_request.h"
#include "engine/reshard/exact_search.h"

namespace p2 {

/// Baselines have a lower bound too, and are optimal where they meet it.
struct ReshardAnswer : ExactSchedule {
  std::optional<std::string> certificate = {};  ///< the folder that says that none is shorter
};

void print_reshard_text(const ReshardRequest& request, const SchedulingProblem& problem,
                        const ReshardAnswer& answer, std::ostream& out);
void print_reshard_json(const ReshardRequest& request, const SchedulingProblem& problem,
                        const ReshardAnswer& answer, std::ostream& out);
/// Lanes for what each host sends and receives, as SVG.
std::string reshard_plot(const ReshardRequest& request, const ReshardAnswer& answer);

}  // namespace p2
