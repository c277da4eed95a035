#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/cost/program_cost.h"
#include "engine/program/instance.h"
#include "engine/program/program_file.h"
#include "engine/program/synthesis.h"
#include "engine/topology/system.h"
#include "p2/answer.h"
#include "p2/cost.h"

/// The parts of the verb `cost`: what is asked, what is priced, and how it is shown.
namespace p2 {

/// A CostRequest whose texts are parsed.
struct CostQuestion {
  CostRequest request;
  GivenInstance given;
  System system;
  Algorithm algorithm = Algorithm::Ring;
  std::optional<NcclSystem> nccl = {};  ///< of a system that names its GPU
  NcclChoice choice = {};               ///< of the model of NCCL
  std::string algorithm_name = {};      ///< `ring`, `auto`
  std::uint64_t bytes = 0;              ///< per device
  std::optional<std::pair<std::uint64_t, std::uint64_t>> sizes =
      {};  ///< smallest and largest buffer
};

/// The single collective that performs a goal on every reduction class.
struct Baseline {
  std::string collective;  ///< `ReduceScatter`
  ProgramCost cost;
};

/// Where programs come from: a placement of the instance, or one file.
struct CostSource {
  std::string name;  ///< the placement, or the path of the file
  std::optional<Instance> instance;
  Dialect dialect = Dialect::Published;
  std::uint32_t devices = 0;
  std::vector<Group> classes;  ///< of bare groups: those of an instance follow from it
  Goal goal;
  Beginning beginning;
  std::optional<Baseline> baseline;  ///< none for a user's goal that takes several collectives

  const Instance* instance_or_null() const { return instance ? &*instance : nullptr; }
  std::vector<Group> all_classes() const { return instance ? instance->classes() : classes; }
};

/// A valid program and its price.
struct CostCandidate {
  const CostSource* source = nullptr;
  std::vector<Step> steps;    ///< of an instance: without groups, which follow from the shapes
  CollectiveSet collectives;  ///< user-defined ones for which no built-in ones stand
  ProgramCost cost;

  /// `ReduceScatter(node, InsideGroup); …`
  std::string text() const;
  /// With all groups.
  Program program() const;
  /// As JSON; with `lists` of all devices of the classes and groups of an instance, too.
  Json json(bool lists) const;
  /// How many times faster it is than the baseline of its source.
  std::optional<double> speedup(const Rational& bytes) const;
};

/// A program file that is not priced.
struct CostRefusal {
  std::string file;
  std::size_t step = 0;
  std::string reason;
  bool undecided = false;  ///< a limit was reached; otherwise the program is invalid
};

/// All priced programs, fastest first.
struct Pricing {
  std::shared_ptr<const Network> network;
  std::unique_ptr<StepPricer> pricer;  ///< owns the prices of the steps
  std::list<StepCost> prices;          ///< of steps that another process has priced
  std::deque<CostSource> sources;
  std::vector<CostCandidate> ranked;
  std::vector<CostRefusal> refused;
  bool complete = true;  ///< every list of programs was finished within the limits

  /// The link that a step waits for; `none` where nothing is sent. By the model of NCCL the kind of
  /// link, or `latency` if that is the larger part.
  std::string bottleneck(const StepCost& step, const Rational& bytes) const;
  /// `NVLSTree Simple`: how the model of NCCL runs a step; empty without that model.
  static std::string way(const StepCost& step, const Rational& bytes);
};

/// Finds or reads the programs and prices them; errors as of `cost`.
Pricing price_programs(const CostQuestion& question, const Options& options);

/// The instance of a question, priced placement by placement, each by any process.
class PlacementPricing {
 public:
  /// `question` must outlive this and the pricing taken. Throws as `cost`.
  PlacementPricing(const CostQuestion& question, const Options& options);

  std::size_t count() const { return search_.instances().size(); }
  /// A measure of the search for the programs of a placement.
  double expected_cost(std::size_t placement) const;

  struct Priced {
    std::string json;      ///< every price is exact
    bool complete = true;  ///< no limit was reached
  };
  /// Thread-safe. Throws LimitReached beyond a million programs.
  Priced price(std::size_t placement, const Limits& limits);
  /// Takes what price() has said of a placement. Thread-safe for different placements. Throws
  /// nlohmann::json::exception and InputError for anything else.
  void record(std::size_t placement, const nlohmann::ordered_json& priced);
  /// The programs of the placements for which `wanted` holds, fastest first; not complete unless
  /// all of these are recorded.
  Pricing take(const std::vector<bool>& wanted);

 private:
  const CostQuestion& question_;
  std::shared_ptr<const Network> network_;
  ProgramSearch search_;
  std::vector<std::optional<Pricing>> recorded_;  ///< without network
};

Document cost_document(const Pricing& pricing, const CostQuestion& question);

/// An SVG of two parts: the predicted time of every program, in increasing order, coloured by
/// placement or file, with the baseline of each (as figure 11 of the P2 paper), and below
/// it the timeline of the fastest program: a lane per link. Links of one interconnect that are
/// equally busy in every step share one, named after the first and how many more there are. There
/// must be a program.
std::string draw_costs(const Pricing& pricing, const CostQuestion& question);

/// The fastest program on the hardware, step by step: what its groups send, by the load of the
/// links on the way. Empty for a program of a file, and for more devices than a picture has. There
/// must be a program.
std::string draw_loads(const Pricing& pricing);

/// Fits bandwidths to the measurements of `request.fit` and says how well the fitted system
/// predicts the rows that were fitted to and those that were held out. Throws InputError for bad
/// measurements, programs that are not valid, and links that the system does not have.
CostAnswer fit_system(const CostQuestion& question, const Options& options);

/// Puts the model of NCCL beside the measurements of `request.compare`: every row, the errors by
/// collective, size, system and algorithm, and a plot of bus bandwidths. With `request.fit` the
/// model is fitted to the rows of that table first; with `request.cross_validate` every system is
/// also predicted by a model fitted to all others. `system` is the communicator of output of
/// nccl-tests. Throws InputError for text that is no such table.
CostAnswer compare_with_measurements(const CostRequest& request,
                                     const std::optional<Communicator>& system);

}  // namespace p2
