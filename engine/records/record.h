#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "p2/json.h"
#include "p2/limits.h"
#include "p2/result.h"

/// Records of real runs: what a framework wrote about its communication, judged by its order, sizes
/// and membership alone.
namespace p2::records {

/// A file that was read.
struct RecordText {
  std::string file;
  std::string text;
};

/// What is decided of a record.
struct RecordDecision : Decision<Counterexample> {
  std::string format;   ///< `flight-recorder`, `pipeline-schedule`, `transfer-plan`
  std::string summary;  ///< what it has: `4 ranks, 120 calls in 3 groups`
  std::string model;    ///< what is judged, and what is not
  std::string drawing;  ///< a table of what was found; may be empty
  Json facts;           ///< numbers about it
};

/// Whether a JSON text is a dump of PyTorch's flight recorder: `entries` and `version`.
bool is_flight_dump(std::string_view text);
/// The dumps of the ranks of one job (torch.distributed, flight recorder versions 2.0 to 2.10). The
/// rank of a dump is its member `rank`, else the last number in the file's name. Rules:
/// `mismatched-collective`, `reordered-collectives`, `mismatched-type`, `mismatched-size`,
/// `missing-call`, `deadlock`, `unmatched-send`, `unmatched-receive`. Throws InputError.
RecordDecision check_flight(const std::vector<RecordText>& dumps, const Limits& limits);

/// Whether a text is a schedule in the CSV of torch.distributed.pipelining.
bool is_pipeline_csv(std::string_view text);
/// A row per rank of cells `<stage><action><microbatch>`. Rules: `stage-placement`,
/// `duplicate-work`, `missing-work`, `order`, `missing-send`, `missing-receive`, `p2p-order`,
/// `deadlock`. Throws InputError.
RecordDecision check_pipeline_csv(const RecordText& schedule, const Limits& limits);

/// Whether a JSON text is a transfer plan: `format` is `transfer-plan/1`.
bool is_transfer_plan(std::string_view text);
/// Which parts of tensors are sent between ranks when weights are resharded (docs/records.md).
/// Rules: `bounds`, `source`, `destination`, `twice`, `missing`. Throws InputError.
RecordDecision check_transfers(const RecordText& plan, const Limits& limits);

}  // namespace p2::records
