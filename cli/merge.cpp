#include "p2/campaign.h"

#include <ostream>

#include "cli/command.h"

namespace p2 {

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
