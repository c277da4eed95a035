#pragma once

#include <deque>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "cli/cost/cost_request.h"
#include "engine/cost/program_cost.h"
#include "engine/program/program_file.h"

namespace p2 {

/// Where programs come from: a placement of the instance, or one file.
struct CostSource {
  std::string name;  ///< the placement, or the path of the file
  std::optional<Instance> instance;
  Dialect dialect = Dialect::Published;
  std::uint32_t devices = 0;
  std::vector<Group> classes;
  ProgramCost allreduce;  ///< the single AllReduce on the same groups
};

/// A valid program and its price.
struct CostCandidate {
  const CostSource* source = nullptr;
  std::vector<Step> steps;  ///< of an instance: without groups, which follow from the shapes
  ProgramCost cost;

  /// `ReduceScatter(node, InsideGroup); …`
  std::string text() const;
  /// With all groups.
  Program program() const;
};

/// A program file that is not priced, and why.
struct CostRefusal {
  std::string file;
  std::size_t step = 0;
  std::string reason;
  bool undecided = false;  ///< a limit was met; otherwise the program is invalid
};

/// All priced programs, fastest first.
struct CostAnswer {
  std::unique_ptr<const Network> network;
  std::unique_ptr<StepPricer> pricer;  ///< owns the prices of the steps
  std::deque<CostSource> sources;
  std::vector<CostCandidate> ranked;
  std::vector<CostRefusal> refused;
  bool complete = true;  ///< every list of programs was finished within the limits
};

/// Finds or reads the programs and prices them. Throws InputError for a system without
/// interconnects and for files that cannot be read or are for another number of devices;
/// std::length_error beyond a million programs.
CostAnswer cost_answer(const CostRequest& request, std::ostream& err);

}  // namespace p2
