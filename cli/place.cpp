#include "p2/place.h"

#include <ostream>

#include "cli/command.h"

namespace p2 {
namespace {

FlagGroup rank_flags() {
  return {"Ranking",
          {{"rank", "TRAFFIC",
            "what a step communicates, by axis: data=AllReduce:2G,tensor=AllReduce:96x64M,"
            "pipeline=SendReceive:32x16M"},
           {"overlap", "AXES", "axes whose traffic runs at the same time: data+pipeline"},
           {"top", "N", "only the N fastest (default: 20 in text, all in JSON)"}}};
}

}  // namespace

int run_place(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify place --hierarchy SIZES --axes SIZES [OPTION…]\n"
      "       p2-verify place --system FILE --axes SIZES --rank TRAFFIC [OPTION…]\n"
      "Lists every parallelism matrix and draws which device holds which part; or orders them by\n"
      "the time that a step of training communicates.",
      {system_flag_group(), rank_flags()}, arguments);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  if (line.has("rank")) {
    RankRequest request;
    request.instance = line.instance_spec();
    request.traffic = *line.text("rank");
    request.overlap = line.text("overlap");
    if (line.has("top")) request.top = line.integer("top", 1, 1'000'000, 1);
    return print_answer(rank_placements(request, options_of(common, err)), common, out, err);
  }
  for (const std::string flag : {"overlap", "top"}) {
    if (line.has(flag)) {
      throw InputError({"--" + flag}, "given without traffic, expected --rank as well");
    }
  }
  PlaceRequest request;
  request.instance = line.instance_spec();
  request.plot = common.format == Format::Html;
  return print_answer(place(request, options_of(common, err)), common, out, err);
}

}  // namespace p2
