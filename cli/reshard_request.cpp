#include "cli/reshard_request.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "engine/input/input_error.h"
#include "engine/reshard/decomposition.h"
#include "engine/reshard/task_file.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr const char* kShapeFlags[] = {"shape", "from", "to", "decompose", "pad"};

UnitTasks decomposed(const CommandLine& line) {
  for (const char* flag : {"from", "to"}) {
    if (!line.has(flag)) {
      throw InputError({"--shape"},
                       fmt::format("no mesh to bring the tensor {0}, expected --{0}", flag));
    }
  }
  TensorShape shape = parse_shape("--shape", *line.text("shape"));
  const Sharding from = parse_sharding("--from", *line.text("from"), shape.size());
  const Sharding to = parse_sharding("--to", *line.text("to"), shape.size());
  if (line.has("pad")) shape = padded(shape, from, to, "--shape");
  const auto decomposition = line.choice<Decomposition>(
      "decompose",
      {{"intersection", Decomposition::Intersection}, {"source", Decomposition::Source}});
  return decompose(shape, from, to, decomposition, "--shape");
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
       "write a certificate that no schedule is shorter, which p2-check accepts")  //
      ("plot", po::value<std::string>()->value_name("FILE"), "draw the timeline as SVG");
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
  return request;
}

}  // namespace p2
