#include "p2/oracle.h"

#include <ostream>

#include "cli/command.h"

namespace p2 {
namespace {

FlagGroup oracle_flags() {
  return {"Oracle",
          {{"type", "float32|float64|int32", "of an element (default float32)"},
           {"elements", "N", "per chunk (default 8)"},
           {"wrong", "N", "at most so many wrong programs (default 12)"}}};
}

}  // namespace

int run_oracle(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify oracle FILE --output DIR [OPTION…]\n"
      "Writes test vectors of a valid program or of the definition of a collective (.p2c): "
      "inputs,\n"
      "expected outputs, states, and programs that are wrong. The same for the same --seed.",
      {system_flag_group(), reduction_flag_group(), terms_flag_group(), oracle_flags()}, arguments,
      "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  CommonOptions common = line.common();
  std::vector<std::string> files = line.texts("files");
  InstanceSpec instance = line.instance_spec(&files);
  if (files.size() != 1) throw InputError({"command line"}, "expected exactly one file");
  if (!common.output) throw InputError({"command line"}, "no folder, expected --output DIR");
  OracleRequest request;
  request.file = files.front();
  request.instance = std::move(instance);
  request.folder = *common.output;
  request.type = line.text("type").value_or(request.type);
  request.chunk_elements = line.integer("elements", 1, 1 << 20, request.chunk_elements);
  request.wrong_programs = line.integer("wrong", 0, 99, request.wrong_programs);
  const OracleAnswer answer = oracle(request, options_of(common, err));
  common.output.reset();  // the folder of the vectors, not the file of the answer
  return print_answer(answer, common, out, err);
}

}  // namespace p2
