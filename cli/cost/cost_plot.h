#pragma once

#include <string>

#include "cli/cost/cost_answer.h"

namespace p2 {

/// An SVG of two parts: the predicted time of every program, in increasing order, coloured by
/// placement or file, with the single AllReduce of each (as figure 11 of the paper), and below it
/// the timeline of the fastest program: a lane per link. Links of one
/// interconnect that are equally busy in every step share one, named after the first and how many
/// more there are.
/// There must be a program.
std::string cost_plot(const CostAnswer& answer, const CostRequest& request);

}  // namespace p2
