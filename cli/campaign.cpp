#include "p2/campaign.h"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "cli/command.h"
#include "p2/error.h"

namespace p2 {
namespace {

constexpr std::uint64_t kMaxArraySize = 100'000;

std::vector<FlagGroup> flags() {
  return {{"Slurm",
           {{"slurm", "DIR", "write the jobs there; journals and the answer go there too"},
            {"shards", "N", "parts, each a task of the job array (default 16)"},
            {"partition", "NAME", "as sbatch takes it"},
            {"time", "LIMIT", "of a shard, as sbatch takes it"},
            {"mem", "MIB", "of a shard"},
            {"program", "PATH", "p2-verify on the nodes (default: this one)"}}},
          {"Cubes of a hard question",
           {{"cubes", "DIR",
             "refute the formulas that --cubes of synth, reshard or parallelize has written there"},
            {"shard", "I/N", "only part I of N of the formulas"}}}};
}

/// Under mpirun the processes share the formulas.
int refute_cubes(const CommandLine& line, std::ostream& out, std::ostream& err) {
  if (line.has("slurm")) {
    throw InputError({"--cubes"}, "given with --slurm, expected only one of both");
  }
  const CommonOptions common = line.common();
  const CampaignAnswer answer =
      refute_cubes({*line.text("cubes"), line.campaign_part()}, options_of(common, err));
  return answer.is_leader ? print_answer(answer, common, out, err) : kEstablished;
}

}  // namespace

int run_campaign(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const CommandLine line(
      "usage: p2-verify campaign --slurm DIR [OPTION…] -- prove CLAIM… [OPTION…]\n"
      "       p2-verify campaign --slurm DIR [OPTION…] -- check FILE… [OPTION…]\n"
      "       p2-verify campaign --slurm DIR [OPTION…] -- synth --system FILE [OPTION…]\n"
      "       p2-verify campaign --slurm DIR [OPTION…] -- cost --system FILE [OPTION…]\n"
      "       p2-verify campaign --cubes DIR [OPTION…]\n"
      "Writes a campaign as jobs of Slurm: an array of shards that go on from their journals when\n"
      "they are requeued, and a merge that depends on it. --jobs is the threads of a shard "
      "(default\n"
      "1), --timeout belongs after --. With --cubes: refutes the parts of one hard question.",
      flags(), {arguments.begin(), dashes});
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  if (line.has("cubes")) return refute_cubes(line, out, err);
  const CommonOptions common = line.common();
  SlurmRequest request;
  if (!line.has("slurm")) {
    throw InputError({"command line"},
                     "no --slurm and no --cubes, expected a folder for the jobs, or one of cubes");
  }
  request.folder = *line.text("slurm");
  request.shards = static_cast<std::uint32_t>(line.integer("shards", 1, kMaxArraySize, 16));
  if (dashes != arguments.end()) request.command.assign(dashes + 1, arguments.end());
  request.program =
      line.text("program").value_or(std::filesystem::read_symlink("/proc/self/exe").string());
  request.threads = common.jobs == 0 ? 1 : common.jobs;
  request.partition = line.text("partition");
  request.time = line.text("time");
  if (line.has("mem")) request.memory_mebibytes = line.integer("mem", 1, UINT32_MAX, 1);
  return print_answer(write_slurm_jobs(request, options_of(common, err)), common, out, err);
}

int run_merge(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify merge JOURNAL… [OPTION…]\n"
      "Puts the journals of all shards of a campaign together: the same bytes as a single run of "
      "the\n"
      "same command writes. Exit code 3, with the names of the shards, if answers are missing.",
      {}, arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  return print_answer(merge({line.texts("files")}, options_of(common, err)), common, out, err);
}

}  // namespace p2
