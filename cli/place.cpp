#include "p2/place.h"

#include <ostream>

#include "cli/commands.h"

namespace p2 {

int run_place(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify place --hierarchy SIZES --axes SIZES [OPTION…]\n"
      "Lists every parallelism matrix and draws which device holds which part.",
      {system_flag_group()}, arguments);
  const CommonOptions common = line.common();
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  PlaceRequest request;
  request.instance = line.instance_spec();
  return print_answer(place(request, options_of(common, err)), common, out, err);
}

}  // namespace p2
