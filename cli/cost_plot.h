#pragma once

#include <string>

#include "cli/cost_answer.h"

namespace p2 {

/// An SVG of two parts: the predicted time of every program, in increasing order, coloured by
/// placement or file, with the single AllReduce of each (as figure 11 of the paper), and below it
/// the timeline of the fastest program, a lane for the busiest link of every interconnect it uses.
/// There must be a program.
std::string cost_plot(const CostAnswer& answer, const CostRequest& request);

}  // namespace p2
