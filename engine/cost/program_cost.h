#pragma once

#include <functional>
#include <vector>

#include "engine/cost/step_cost.h"
#include "engine/program/derivation.h"

namespace p2 {

/// The time of a program: its steps follow each other, so it is `latency + seconds_per_byte ·
/// bytes` too.
struct ProgramCost {
  std::vector<const StepCost*> steps;  ///< owned by the StepPricer
  Rational latency;
  Rational seconds_per_byte;

  Rational seconds(const Rational& bytes) const { return latency + seconds_per_byte * bytes; }
};

/// A program's verdict and, when it is valid, its price.
struct PricedProgram {
  Verdict verdict;
  ProgramCost cost;
};

/// Judges programs and prices them step by step: how many chunks a device holds before a step, and
/// so how much it sends, is what the derivation says. States and steps are remembered from one
/// program to the next.
class ProgramPricer {
 public:
  /// `steps` must outlive this and the prices it gives.
  explicit ProgramPricer(StepPricer& steps)
      : steps_(steps), states_(steps.network().system().hierarchy.devices()), kernels_(states_) {}
  ProgramPricer(const ProgramPricer&) = delete;
  ProgramPricer& operator=(const ProgramPricer&) = delete;

  /// The program must have the devices of the pricer's system.
  PricedProgram price(const Program& program, Dialect dialect, const Limits& limits = {});
  /// The loads of all links in every step of a valid program.
  std::vector<std::vector<LinkLoad>> loads(const Program& program, Dialect dialect);

 private:
  /// What is to be known of a step before it is priced: how many chunks the first device of every
  /// group holds.
  using SeeStep = std::function<void(const Step& step, const std::vector<std::uint32_t>& rows)>;
  Verdict derive(const Program& program, Dialect dialect, const Limits& limits, const SeeStep& see);

  StepPricer& steps_;
  StateTable states_;
  Kernels kernels_;
};

/// The price of the single AllReduce on the program's classes.
ProgramCost price_allreduce(const std::vector<Group>& classes, std::uint32_t devices,
                            StepPricer& pricer);

/// For which sizes of a buffer a program is the fastest.
struct Reign {
  Integer from;  ///< bytes
  Integer to;    ///< the last size in bytes
  std::size_t program = 0;
};

/// Indices into `costs`, fastest first at this size; of equally fast ones the first comes first.
std::vector<std::size_t> ranking(const std::vector<const ProgramCost*>& costs,
                                 const Rational& bytes);
/// Which program is the first of the ranking at every whole size from `low` to `high`: exact, since
/// times are straight lines. There must be at least one program.
std::vector<Reign> reigns(const std::vector<const ProgramCost*>& costs, const Integer& low,
                          const Integer& high);

}  // namespace p2
