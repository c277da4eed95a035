#include <filesystem>
#include <ostream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/run/run_request.h"
#include "cli/terms_options.h"
#include "engine/execution/expectation.h"
#include "engine/base/text_cursor.h"
#include "engine/oracle/definition_vectors.h"
#include "engine/base/files.h"
#include "engine/program/explanation.h"

namespace p2 {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint32_t kMostDevices = 256;

po::options_description oracle_flags() {
  po::options_description flags("Oracle");
  flags.add_options()  //
      ("type", po::value<std::string>()->value_name("NAME"),
       "float32 (default), float64 or int32")                                           //
      ("elements", po::value<std::string>()->value_name("N"), "per chunk (default 8)")  //
      ("wrong", po::value<std::string>()->value_name("N"),
       "at most so many wrong programs (default 12)");
  return flags;
}

oracle::Amount amount_of(const CommandLine& line, std::uint64_t seed) {
  oracle::Amount amount;
  amount.type = element_type(line);
  if (amount.type == execution::ElementType::BFloat16) {
    throw InputError({"--type"}, "NumPy has no bfloat16, expected float32, float64 or int32");
  }
  amount.seed = seed;
  amount.chunk_elements = line.integer("elements", 1, 1 << 20, amount.chunk_elements);
  amount.wrong_programs = line.integer("wrong", 0, 99, amount.wrong_programs);
  return amount;
}

/// Whether a folder holds test vectors and nothing else, so that it may be replaced.
bool holds_vectors(const fs::path& folder) {
  const Json index = index_of(folder, "index.json", "p2-oracle/1");
  if (index.is_null()) return false;
  std::set<std::string> names = {"index.json", "README.md"};
  names.merge(names_in(index.value("ranks", Json()), {"input", "expected"}));
  names.merge(names_in(index.value("steps", Json()), {"state"}));
  names.merge(names_in(index.value("wrong_programs", Json()), {"file"}));
  names.merge(names_in(index.value("cases", Json()), {"before_values", "after_values"}));
  return holds_only(folder, names);
}

/// Empty, and the reason on `out`, for a program that the rules refuse.
FolderFiles vectors_of_program(const std::string& file, const std::string& text,
                               const GivenInstance& given, const oracle::Amount& amount,
                               Format format, std::ostream& out) {
  const ProgramFile read = read_program(file, text, given);
  require_allreduce(file, read.program.terms);
  if (read.program.devices > kMostDevices) {
    throw InputError(
        {file}, fmt::format("{} devices, expected at most {}", read.program.devices, kMostDevices));
  }
  const execution::Expectation expectation(read.program, read.dialect);
  if (const auto& refutation = expectation.verdict().refutation) {
    const std::string reason =
        explain(*refutation, read.program, read.instance ? &*read.instance : nullptr);
    if (format == Format::Json) {
      out << fmt::format(
          "{{\"file\":{},\"verdict\":\"invalid\",\"reason\":{},\"folder\":null,\"index\":null,"
          "\"files\":0}}\n",
          json_string(file), json_string(reason));
    } else {
      out << fmt::format("{}: refused, no test vectors: {}\n", file, reason);
    }
    return {};
  }
  return oracle::program_vectors(read, amount);
}

/// Empty where there are none; `code` says why.
FolderFiles vectors_of(const std::string& file, const CommandLine& line,
                       const CommonOptions& common, std::ostream& out, std::ostream& err,
                       ExitCode& code) {
  const oracle::Amount amount = amount_of(line, common.seed);
  const std::string text = read_file(file);
  FolderFiles vectors;
  if (TextCursor(file, text).peek_name() == "collective") {
    const language::Definition definition = read_sound_definition(file, common, err, code);
    if (code == kEstablished) vectors = oracle::definition_vectors(definition, amount);
  } else {
    vectors = vectors_of_program(file, text, given_instance(line), amount, common.format, out);
    if (vectors.empty()) code = kRefuted;
  }
  return vectors;
}

}  // namespace

int run_oracle(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  po::options_description own = instance_flags();
  own.add(oracle_flags());
  const CommandLine line(
      "usage: p2-verify oracle FILE --output DIR [OPTION…]\n"
      "Writes test vectors of a valid program or of the definition of a collective (.p2c): "
      "inputs,\n"
      "expected outputs, states, and programs that are wrong. The same for the same --seed.",
      own, arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  const std::vector<std::string> files = line.texts("files");
  if (files.size() != 1) throw InputError({"command line"}, "expected exactly one file");
  if (!common.output) throw InputError({"command line"}, "no folder, expected --output DIR");
  ExitCode code = kEstablished;
  const FolderFiles vectors = vectors_of(files[0], line, common, out, err, code);
  if (code != kEstablished) return code;
  write_whole_folder(*common.output, vectors, "test vectors", holds_vectors);
  if (common.format == Format::Json) {
    out << fmt::format("{{\"folder\":{},\"index\":\"index.json\",\"files\":{}}}\n",
                       json_string(*common.output), vectors.size());
  } else {
    out << fmt::format("{}: {} files, see index.json\n", *common.output, vectors.size());
  }
  return kEstablished;
}

}  // namespace p2
