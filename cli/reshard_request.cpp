#include "cli/reshard_request.h"

#include "cli/output.h"
#include "engine/input/input_error.h"
#include "engine/reshard/task_file.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

UnitTasks given_tasks(const CommandLine& line) {
  const auto file = line.text("tasks");
  if (!file) throw InputError({"command line"}, "nothing to schedule, expected --tasks");
  return read_tasks(*file, read_file(*file));
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
      ("strategy", po::value<std::string>()->value_name("NAME"),
       "exact (default), or what the paper compares with: naive, load-balance, greedy")  //
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
  request.tasks = given_tasks(line);
  return request;
}

}  // namespace p2
