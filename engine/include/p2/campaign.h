#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/answer.h"

namespace p2 {

/// Which of its questions a verb answers, and where it records the answers.
struct CampaignPart {
  /// A file that records what is answered; an existing one of the same request is continued. May be
  /// cut off at any byte, e.g. by SIGKILL.
  std::optional<std::string> journal = {};
  /// Only the questions of this shard, from 1 to `shards`: parts of about the same expected cost.
  std::uint32_t shard = 1;
  std::uint32_t shards = 1;
};

/// The answer of a verb with a CampaignPart. Under mpirun the processes share the questions.
struct CampaignAnswer : Answer {
  /// Whether this process has the answer: of those of an MPI run one alone has it.
  bool is_leader = true;
};

/// A campaign as jobs of Slurm: an array of shards, and a merge that depends on it.
struct SlurmRequest {
  std::string folder;  ///< for the jobs' scripts, their journals and the answer; made if absent
  std::uint32_t shards = 1;
  /// The command and its flags, without those of one shard: `{"prove", "expressiveness", …}`.
  std::vector<std::string> command;
  std::string program;                            ///< path of p2-verify on the nodes
  std::string format = "json";                    ///< of the answer
  unsigned threads = 1;                           ///< of a shard
  std::optional<std::string> partition;           ///< as `sbatch --partition`
  std::optional<std::string> time;                ///< as `sbatch --time`, of a shard
  std::optional<std::uint64_t> memory_mebibytes;  ///< as `sbatch --mem`, of a shard
};

/// Writes `shards.sbatch`, `merge.sbatch` and `submit.sh`. A shard that is killed, cancelled or
/// requeued goes on from its journal. Throws InputError for a command that has no shards, flags of
/// one shard, and a folder that cannot be written.
Answer write_slurm_jobs(const SlurmRequest& request, const Options& options);

/// The parts of one hard question in a folder that `--cubes` has written, as formulas.
struct CubesRequest {
  std::string folder;
  CampaignPart part = {};  ///< without a journal: the proofs in the folder are what is kept
};

/// Refutes with CaDiCaL every formula that has no proof yet, and writes the proof beside it, whole
/// or not at all. Established: all of the shard are refuted. Refuted: one has a model. Throws
/// InputError for a folder of something else.
CampaignAnswer refute_cubes(const CubesRequest& request, const Options& options);

/// Which journals are put together: those of all shards of one campaign.
struct MergeRequest {
  std::vector<std::string> journals;  ///< paths of the files that `--resume` has written
};

/// The answer that a single run of the same request gives, with the same document. Nothing is
/// settled again; certificates of the smallest counterexamples are written where the request asked
/// for certificates. Throws InputError for files that are no journals, or of different campaigns,
/// and where the contents of files that were read have changed; LimitReached, with the names of the
/// shards, where questions are not answered.
Answer merge(const MergeRequest& request, const Options& options);

}  // namespace p2
