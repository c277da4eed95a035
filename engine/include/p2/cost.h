#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/campaign.h"
#include "p2/instance.h"

/// Predicts how long programs take on a system with interconnects, and ranks them (docs/cost.md has
/// the models); fits bandwidths of the system to measured times; or puts the model of NCCL beside
/// measured collectives.
///
///   CostRequest request;
///   request.instance.system = "examples/systems/a100-4nodes.json";
///   request.instance.axes = "8,8";
///   request.instance.reduce = "0";
///   const CostAnswer answer = cost(request, {});
///   answer.programs[0].text;     // the fastest program
///   answer.programs[0].seconds;  // its predicted time
namespace p2 {

struct CostRequest {
  InstanceSpec instance;  ///< with a system that has interconnects
  /// The same is asked about these; the document has a ranking for each. Only without files and
  /// measurements.
  std::vector<InstanceSpec> more_instances;
  /// Program files. None: all valid programs of `instance`, which then has axes and reduction.
  std::vector<std::string> files;
  std::uint32_t max_steps = 5;  ///< of a program of `instance`, at most 32
  /// How a collective runs: `ring`, `tree`, and on systems that name their GPU also `nvls`,
  /// `nvlstree`, `collnet` and `auto`, the fastest for every step and size. Empty: `auto` there,
  /// `ring` elsewhere.
  std::string algorithm;
  std::string bytes = "2G";          ///< per device; the default is the paper's 2^29 float32
  std::optional<std::size_t> top;    ///< only so many of the fastest; text has 20 without it
  std::optional<std::string> sizes;  ///< `1K:1G`: also the fastest program at every size
  bool plot = false;                 ///< also draw the times, and the timeline of the fastest
  bool json = true;                  ///< fill Document::json, with the groups of every program

  /// A CSV file of measured times (docs/cost.md has the columns): nothing is ranked, but the
  /// bandwidths of the interconnects `fit_links` are fitted to it.
  std::optional<std::string> fit;
  std::vector<std::string> fit_links;

  /// A table of measured collectives, or output of nccl-tests (docs/cost.md): nothing is ranked,
  /// but NCCL's model is put beside every row. With `fit`, a table too, rates and latencies of the
  /// model are fitted to that one before.
  std::optional<std::string> compare;
  bool cross_validate = false;  ///< with `compare`: also fit to all systems but one, for each

  /// Of the placements. Only without files and measurements.
  CampaignPart part = {};
};

/// A row of a table of measurements, and what the model says.
struct ComparedRun {
  std::string id;
  double predicted_us = 0;
  std::optional<double> measured_us;
  std::string algorithm;  ///< of the prediction: `NVLSTree`
  std::string protocol;   ///< `Simple`
  bool excluded = false;  ///< its note excludes it from the summary
};

struct StepTime {
  double seconds = 0;
  std::string bottleneck;  ///< the link that the step waits for; `none` where nothing is sent
  std::string algorithm;   ///< `NVLSTree Simple` where the model of NCCL chose; otherwise empty
};

/// A valid program and its price.
struct PricedText {
  std::string source;  ///< placement or file
  std::string text;    ///< in the notation of programs
  double seconds = 0;
  /// The single collective of the goal on the same groups, `AllReduce`; empty for a user's goal
  /// that no single built-in collective reaches, which is compared with nothing.
  std::string baseline;
  std::optional<double> baseline_seconds;
  std::optional<double> speedup;  ///< over the baseline
  std::vector<StepTime> steps;
};

/// Refuted if a program is invalid, Undecided if a limit was reached.
struct CostAnswer : CampaignAnswer {
  /// Fastest first, `top` of them; of several systems one ranking after the other.
  std::vector<PricedText> programs;
  std::size_t priced = 0;             ///< how many there are
  bool complete = true;               ///< all programs up to the size were found within the limits
  std::string plot;                   ///< SVG, if asked for and there is a program of one system
  std::string fitted_system;          ///< the system file with fitted bandwidths, if asked for
  std::vector<ComparedRun> compared;  ///< of `compare`, in the order of the table
};

/// Throws InputError for a system without interconnects, texts and files that cannot be read, and
/// programs for another number of devices; LimitReached beyond a million programs.
CostAnswer cost(const CostRequest& request, const Options& options);

}  // namespace p2
