#pragma once

#include <string>

#include "engine/reshard/plans/plan.h"

namespace p2::reshard {

/// Whether a text is JSON that names the format of a plan, `reshard-plan/1`.
bool is_plan(const std::string& text);

/// Reads a plan as to_json writes it:
///
///     {"format":"reshard-plan/1","shape":[8,8],"hosts":[0,0,1,1],
///      "from":{"mesh":[[0,1]],"spec":["S0","R"]},"to":{"mesh":[[2,3]],"spec":["R","R"]},
///      "programs":[[[{"send":2,"of":"source","low":[0,0],"high":[4,8]}]], … ]}
///
/// and maybe a text `strategy`. A mesh is its rows of devices; `programs` has the steps of every
/// device; `hosts`, the host of every device, bears on prices alone. Throws InputError where the
/// text is no plan: also for a device that is twice in a mesh, a send to nobody, a box of
/// another number of dimensions or of more than kMostElements. What a plan does wrong is for
/// judge() to say.
Plan read_plan(const std::string& source, const std::string& text);

std::string to_json(const Plan& plan);

}  // namespace p2::reshard
