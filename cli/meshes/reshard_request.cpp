#include "cli/meshes/reshard_request.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "p2/error.h"
#include "engine/reshard/decomposition.h"
#include "engine/reshard/task_file.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr const char* kShapeFlags[] = {"shape", "from", "to", "decompose", "pad"};
constexpr const char* kPlanFlags[] = {"chunks", "to-host", "plan-out",
                                      "run",    "backend", "iterations",
                                      "warmup", "system",  "element-bytes"};

/// The tensor of the command line, and how it is cut on both meshes.
struct Tensor {
  TensorShape shape;
  Sharding from;
  Sharding to;
};

Tensor tensor_of(const CommandLine& line) {
  for (const char* flag : {"from", "to"}) {
    if (!line.has(flag)) {
      throw InputError({"--shape"},
                       fmt::format("no mesh to bring the tensor {0}, expected --{0}", flag));
    }
  }
  Tensor tensor{parse_shape("--shape", *line.text("shape")), {}, {}};
  tensor.from = parse_sharding("--from", *line.text("from"), tensor.shape.size());
  tensor.to = parse_sharding("--to", *line.text("to"), tensor.shape.size());
  if (line.has("pad")) tensor.shape = padded(tensor.shape, tensor.from, tensor.to, "--shape");
  return tensor;
}

Decomposition decomposition_of(const CommandLine& line) {
  return line.choice<Decomposition>("decompose", {{"intersection", Decomposition::Intersection},
                                                  {"source", Decomposition::Source}});
}

UnitTasks decomposed(const CommandLine& line) {
  const Tensor tensor = tensor_of(line);
  return decompose(tensor.shape, tensor.from, tensor.to, decomposition_of(line), "--shape");
}

std::optional<PlanRequest> plan_request(const CommandLine& line) {
  if (!line.has("plan")) {
    for (const char* flag : kPlanFlags) {
      if (!line.has(flag)) continue;
      throw InputError({std::string("--") + flag}, "given without a plan, expected --plan as well");
    }
    return std::nullopt;
  }
  if (!line.has("shape")) {
    throw InputError({"--plan"}, "tasks do not say where elements are, expected --shape");
  }
  using reshard::PlanStrategy;
  const Tensor tensor = tensor_of(line);
  PlanRequest request;
  const auto first = static_cast<std::uint32_t>(
      line.integer("to-host", 0, tensor.from.mesh[0], tensor.from.mesh[0]));
  request.problem = reshard::reshard_between(tensor.shape, tensor.from, tensor.to, first);
  request.choice = {
      line.choice<PlanStrategy>("plan", {{"broadcast", PlanStrategy::Broadcast},
                                         {"sendrecv", PlanStrategy::SendRecv},
                                         {"local-allgather", PlanStrategy::LocalAllGather},
                                         {"global-allgather", PlanStrategy::GlobalAllGather}}),
      decomposition_of(line), static_cast<std::int64_t>(line.integer("chunks", 1, 1'000'000, 16))};
  if (line.has("chunks") && request.choice.strategy != PlanStrategy::Broadcast) {
    throw InputError({"--chunks"}, "only a broadcast goes in chunks, expected --plan broadcast");
  }
  request.file = line.text("plan-out");
  request.system = line.text("system");
  request.bytes_per_element = static_cast<std::int64_t>(line.integer("element-bytes", 1, 64, 4));
  if (line.has("run")) {
    request.run = plan_run_options(line);
  } else if (line.has("backend") || line.has("iterations") || line.has("warmup")) {
    throw InputError({"command line"}, "says how to run the plan, expected --run as well");
  }
  return request;
}

UnitTasks given_tasks(const CommandLine& line) {
  const auto file = line.text("tasks");
  for (const char* flag : kShapeFlags) {
    if (line.has(flag) && (file || !line.has("shape"))) {
      throw InputError({std::string("--") + flag},
                       file ? "given with --tasks, expected only one of both"
                            : "given without a tensor, expected --shape as well");
    }
  }
  if (file) return read_tasks(*file, read_file(*file));
  if (line.has("shape")) return decomposed(line);
  throw InputError({"command line"}, "nothing to schedule, expected --tasks or --shape");
}

}  // namespace

std::string_view to_string(ReshardStrategy strategy) {
  switch (strategy) {
    case ReshardStrategy::Exact:
      return "exact";
    case ReshardStrategy::Naive:
      return "naive";
    case ReshardStrategy::LoadBalance:
      return "load-balance";
    case ReshardStrategy::Greedy:
      break;
  }
  return "greedy";
}

po::options_description reshard_flags() {
  po::options_description flags("Resharding");
  flags.add_options()  //
      ("tasks", po::value<std::string>()->value_name("FILE"),
       "unit tasks: {\"tasks\":[{\"size\":1,\"sender_hosts\":[1,2],\"receiver_hosts\":[0]}]}")  //
      ("shape", po::value<std::string>()->value_name("SIZES"),
       "a tensor to bring from one mesh to another: 1024,1024,512")  //
      ("from", po::value<std::string>()->value_name("MESH:SPEC"),
       "where it is: 2x4:S0,R,R is cut over 2 hosts of 4 devices; R, S0, S1, S01 or S10")  //
      ("to", po::value<std::string>()->value_name("MESH:SPEC"), "where it goes")           //
      ("decompose", po::value<std::string>()->value_name("NAME"),
       "a unit task per intersection of slices (default) or per source slice")  //
      ("pad", "round dimensions up to what both meshes divide evenly")          //
      ("strategy", po::value<std::string>()->value_name("NAME"),
       "exact (default), or what the paper compares with: naive, load-balance, greedy")  //
      ("certify", po::value<std::string>()->value_name("DIR"),
       "write a certificate, which p2-check accepts: none is shorter, or than the lower bound")  //
      ("plot", po::value<std::string>()->value_name("FILE"), "draw the timeline as SVG");
  po::options_description plan("Plan");
  plan.add_options()  //
      ("plan", po::value<std::string>()->value_name("NAME"),
       "what every device sends and receives: broadcast, sendrecv, local-allgather or "
       "global-allgather")  //
      ("chunks", po::value<std::string>()->value_name("K"),
       "parts that a broadcast sends a slice in (default 16)")  //
      ("to-host", po::value<std::string>()->value_name("H"),
       "the first host of the mesh --to; default: the one after the last of --from")  //
      ("plan-out", po::value<std::string>()->value_name("FILE"),
       "write the plan, for check and run")  //
      ("system", po::value<std::string>()->value_name("FILE"),
       "say how long it takes on this system: host h is its node h")  //
      ("element-bytes", po::value<std::string>()->value_name("N"),
       "size of an element there (default 4)")   //
      ("run", "run the plan on real data, too")  //
      ("backend", po::value<std::string>()->value_name("NAME"),
       "in-process (default), mpi or nccl")                                                //
      ("iterations", po::value<std::string>()->value_name("N"), "timed runs (default 5)")  //
      ("warmup", po::value<std::string>()->value_name("N"), "runs before them (default 1)");
  flags.add(plan);
  return flags;
}

ReshardRequest reshard_request(const CommandLine& line) {
  ReshardRequest request;
  request.common = line.common();
  request.strategy =
      line.choice<ReshardStrategy>("strategy", {{"exact", ReshardStrategy::Exact},
                                                {"naive", ReshardStrategy::Naive},
                                                {"load-balance", ReshardStrategy::LoadBalance},
                                                {"greedy", ReshardStrategy::Greedy}});
  request.plot = line.text("plot");
  request.certify = line.text("certify");
  request.tasks = given_tasks(line);
  request.plan = plan_request(line);
  return request;
}

}  // namespace p2
