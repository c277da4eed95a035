#include "p2/reshard.h"

#include <ostream>

#include "cli/command.h"
#include "p2/error.h"
#include "p2/run.h"

namespace p2 {
namespace {

constexpr const char* kTensorFlags[] = {"shape", "from", "to", "decompose", "pad"};
constexpr const char* kPlanFlags[] = {"chunks", "to-host", "plan-out",
                                      "run",    "backend", "iterations",
                                      "warmup", "system",  "element-bytes"};
constexpr std::uint64_t kMaxHosts = 1024;

std::vector<FlagGroup> reshard_flags() {
  return {
      {"Resharding",
       {{"tasks", "FILE",
         "unit tasks: {\"tasks\":[{\"size\":1,\"sender_hosts\":[1,2],\"receiver_hosts\":[0]}]}"},
        {"shape", "SIZES", "a tensor to bring from one mesh to another: 1024,1024,512"},
        {"from", "MESH:SPEC",
         "where it is: 2x4:S0,R,R is cut over 2 hosts of 4 devices; R, S0, S1, S01 or S10"},
        {"to", "MESH:SPEC", "where it goes"},
        {"decompose", "intersection|source",
         "a unit task per intersection of slices (default) or per source slice"},
        {"pad", "", "round dimensions up to what both meshes divide evenly"},
        {"strategy", "exact|naive|load-balance|greedy",
         "exact: a shortest schedule (default), or a baseline of Zhuang et al., MLSys 2023"},
        {"certify", "DIR",
         "write a certificate of optimality, or else of the lower bound, which p2-check accepts"},
        {"cubes", "DIR",
         "write the question whether there is a shorter schedule as formulas for SAT solvers, one "
         "for each sender of the largest task; with --certify read their proofs"},
        {"plot", "FILE", "draw the timeline as SVG", Flag::Kind::Output}}},
      {"Plan",
       {{"plan", "broadcast|sendrecv|local-allgather|global-allgather",
         "also make the point-to-point transfers of every device, each slice sent by this "
         "algorithm"},
        {"chunks", "N", "parts that a broadcast sends a slice in (default 16)"},
        {"to-host", "N",
         "the first host of the mesh --to; default: the one after the last of --from"},
        {"plan-out", "FILE", "write the plan, for check and run", Flag::Kind::Output},
        {"system", "FILE", "say how long it takes on this system: host h is its node h"},
        {"element-bytes", "N", "size of an element there (default 4)"},
        {"run", "", "run the plan on real data, too"},
        {"backend", "in-process|mpi|nccl", "what runs it (default in-process)"},
        {"iterations", "N", "timed runs (default 5)"},
        {"warmup", "N", "runs before them (default 1)"}}}};
}

std::optional<ReshardTensor> tensor_of(const CommandLine& line) {
  if (!line.has("shape")) return std::nullopt;
  for (const char* flag : {"from", "to"}) {
    if (line.has(flag)) continue;
    throw InputError({"--shape"},
                     std::string("no mesh to bring the tensor ") + flag + ", expected --" + flag);
  }
  return ReshardTensor{
      *line.text("shape"), *line.text("from"), *line.text("to"),
      line.choice<Decomposition>("decompose", {{"intersection", Decomposition::Intersection},
                                               {"source", Decomposition::Source}}),
      line.has("pad")};
}

std::optional<ReshardPlanSpec> plan_of(const CommandLine& line) {
  if (!line.has("plan")) {
    for (const char* flag : kPlanFlags) {
      if (!line.has(flag)) continue;
      throw InputError({std::string("--") + flag}, "given without a plan, expected --plan as well");
    }
    return std::nullopt;
  }
  ReshardPlanSpec plan;
  plan.strategy = line.choice<TransferStrategy>(
      "plan", {{"broadcast", TransferStrategy::Broadcast},
               {"sendrecv", TransferStrategy::SendRecv},
               {"local-allgather", TransferStrategy::LocalAllGather},
               {"global-allgather", TransferStrategy::GlobalAllGather}});
  plan.chunks =
      static_cast<std::int64_t>(line.integer("chunks", 1, ReshardPlanSpec::kMaxChunks, 16));
  if (line.has("chunks") && plan.strategy != TransferStrategy::Broadcast) {
    throw InputError({"--chunks"}, "only a broadcast goes in chunks, expected --plan broadcast");
  }
  if (line.has("to-host")) {
    plan.first_host = static_cast<std::uint32_t>(line.integer("to-host", 0, kMaxHosts, 0));
  }
  plan.system = line.text("system");
  plan.element_bytes = static_cast<std::int64_t>(line.integer("element-bytes", 1, 64, 4));
  plan.file = line.text("plan-out");
  if (!line.has("run") && (line.has("backend") || line.has("iterations") || line.has("warmup"))) {
    throw InputError({"command line"},
                     "--backend, --iterations or --warmup without --run, expected --run as well");
  }
  return plan;
}

ReshardRequest reshard_request(const CommandLine& line) {
  ReshardRequest request;
  request.strategy =
      line.choice<ReshardStrategy>("strategy", {{"exact", ReshardStrategy::Exact},
                                                {"naive", ReshardStrategy::Naive},
                                                {"load-balance", ReshardStrategy::LoadBalance},
                                                {"greedy", ReshardStrategy::Greedy}});
  request.tasks = line.text("tasks");
  for (const char* flag : kTensorFlags) {
    if (line.has(flag) && (request.tasks || !line.has("shape"))) {
      throw InputError({std::string("--") + flag},
                       request.tasks ? "given with --tasks, expected only one of both"
                                     : "given without a tensor, expected --shape as well");
    }
  }
  request.tensor = tensor_of(line);
  request.plan = plan_of(line);
  request.certify = line.text("certify");
  request.cubes = line.text("cubes");
  request.plot = line.has("plot");
  return request;
}

/// Runs the plan on real data and shows that instead of the schedule.
int run_plan(const ReshardAnswer& answer, const CommandLine& line, const CommonOptions& common,
             const Arguments& arguments, bool starter, std::ostream& out, std::ostream& err) {
  RunRequest request = run_request(line);
  request.plan_texts = {answer.plan->text};
  request.command = {"reshard"};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  const int code = print_run(run(request, options_of(common, err)), common, out, err);
  if (!starter) return code;
  for (const Diagnostic& diagnostic : answer.diagnostics) {
    err << "p2-verify: " << printable(diagnostic.message) << "\n";
  }
  if (const auto& undecided = answer.results[0].undecided) {
    err << "p2-verify: " << printable(undecided->explanation) << "\n";
  }
  return code == kEstablished ? exit_code_of(answer) : code;
}

}  // namespace

int run_reshard(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify reshard --tasks FILE [OPTION…]\n"
      "       p2-verify reshard --shape SIZES --from MESH:SPEC --to MESH:SPEC [OPTION…]\n"
      "Schedules what the hosts of one mesh send to those of another: which sender each slice\n"
      "takes, and when. The shortest schedule there is, unless told otherwise.",
      reshard_flags(), arguments);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  ReshardRequest request = reshard_request(line);
  // Of the processes that run a plan, only the one that starts them writes files.
  const bool runs = line.has("run");
  const bool starter = !runs || !started_by_mpirun();
  if (!starter) request.certify.reset();
  if (common.format == Format::Html && !runs) request.plot = true;
  const ReshardAnswer answer = schedule_resharding(request, options_of(common, err));
  const auto plot = line.text("plot");
  if (starter && plot) write_file(*plot, answer.plot);
  if (starter && request.plan && request.plan->file) {
    write_file(*request.plan->file, answer.plan->text);
  }
  if (runs) return run_plan(answer, line, common, arguments, starter, out, err);
  return print_answer(answer, common, out, err);
}

}  // namespace p2
