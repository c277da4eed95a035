#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/run/run_request.h"
#include "cli/terms_options.h"
#include "engine/collective/language/parser.h"
#include "engine/execution/expectation.h"
#include "engine/input/text_cursor.h"
#include "engine/oracle/definition_vectors.h"
#include "engine/program/explanation.h"

namespace p2 {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

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
  if (!fs::is_regular_file(folder / "index.json")) return false;
  const auto index =
      nlohmann::json::parse(read_file((folder / "index.json").string()), nullptr, false);
  if (!index.is_object() || index.value("schema", nlohmann::json()) != "p2-oracle/1") return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    bool ours = name == "index.json" || name == "README.md";
    for (const char* start : {"input-rank-", "expected-rank-", "state-step-", "wrong-", "case-"}) {
      ours = ours || name.starts_with(start);
    }
    if (!ours || !fs::is_regular_file(entry.symlink_status())) return false;
  }
  return true;
}

/// Empty, and the reason on `out`, for a program that the rules refuse.
FolderFiles vectors_of(const std::string& file, const GivenInstance& given,
                       const oracle::Amount& amount, std::ostream& out) {
  const std::string text = read_file(file);
  if (TextCursor(file, text).peek_name() == "collective") {
    return oracle::definition_vectors(language::parse_definition(file, text), amount);
  }
  const ProgramFile read = read_program(file, text, given);
  require_allreduce(file, read.program.terms);
  if (read.program.devices > kMostDevices) {
    throw InputError(
        {file}, fmt::format("{} devices, expected at most {}", read.program.devices, kMostDevices));
  }
  const execution::Expectation expectation(read.program, read.dialect);
  if (const auto& refutation = expectation.verdict().refutation) {
    fmt::format_to(std::ostreambuf_iterator<char>(out), "{}: refused, no test vectors: {}\n", file,
                   explain(*refutation, read.program, read.instance ? &*read.instance : nullptr));
    return {};
  }
  return oracle::program_vectors(read, amount);
}

}  // namespace

int run_oracle(const Arguments& arguments, std::ostream& out, std::ostream&) {
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
  const FolderFiles vectors =
      vectors_of(files[0], given_instance(line), amount_of(line, common.seed), out);
  if (vectors.empty()) return kRefuted;
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
