#include <ostream>

#include "cli/command.h"
#include "p2/define.h"
#include "p2/error.h"

namespace p2 {

int run_define(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  DefineRequest request;
  const CommandLine line(
      "usage: p2-verify define FILE… [OPTION…]\n"
      "Says whether definitions of collectives are sound, for all small groups and buffers, and\n"
      "how each relates to the built-in collectives and to the others given.",
      {{"Define",
        {{"max-group", "N", "examine groups of 2 to N devices (default 4, at most 8)"},
         {"to", "FORMAT",
          "coq: write the definitions as Coq for proofs/theory; nothing is examined"}}}},
      arguments, "files", Formats::Reports);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  request.files = line.texts("files");
  if (request.files.empty()) throw InputError({"command line"}, "no file, expected at least one");
  if (line.has("to")) {
    line.choice<bool>("to", {{"coq", true}});
    if (line.has("max-group") || line.has("format")) {
      throw InputError({"--to"},
                       "stands with --max-group or --format, expected neither: "
                       "nothing is examined, and the text is Coq");
    }
    write_output(common.output, definitions_in_coq(request.files), out);
    return kEstablished;
  }
  request.max_group =
      static_cast<std::uint32_t>(line.integer("max-group", 2, 8, request.max_group));
  return print_answer(define(request, options_of(common, err)), common, out, err);
}

}  // namespace p2
