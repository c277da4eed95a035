#include "p2/oracle.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/text_cursor.h"
#include "engine/execution/audit.h"
#include "engine/oracle/test_vectors.h"
#include "engine/program/derivation.h"
#include "engine/program/program_file.h"
#include "p2/error.h"
#include "proofs/api/reference_run.h"
#include "proofs/api/terms.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kMaxVectorDevices = 256;

vectors::VectorOptions vector_options(const OracleRequest& request, std::uint64_t seed) {
  using execution::ElementType;
  vectors::VectorOptions options;
  options.seed = seed;
  options.chunk_elements = request.chunk_elements;
  options.wrong_programs = request.wrong_programs;
  if (request.type == "bfloat16") {
    throw InputError({"--type"}, "NumPy has no bfloat16, expected float32, float64 or int32");
  }
  for (const ElementType type : {ElementType::Float32, ElementType::Float64, ElementType::Int32}) {
    if (to_string(type) != request.type) continue;
    options.type = type;
    return options;
  }
  throw InputError({"--type"}, unknown_name(request.type, "float32, float64 or int32"));
}

/// Whether a folder holds test vectors and nothing else, so that it may be replaced.
bool holds_vectors(const fs::path& folder) {
  using nlohmann::json;
  const json index = index_of(folder, "index.json", "p2-oracle/1");
  if (index.is_null()) return false;
  std::set<std::string> names = {"index.json", "README.md"};
  names.merge(names_in(index.value("ranks", json()), {"input", "expected"}));
  names.merge(names_in(index.value("steps", json()), {"state"}));
  names.merge(names_in(index.value("wrong_programs", json()), {"file"}));
  names.merge(names_in(index.value("cases", json()), {"before_values", "after_values"}));
  return holds_only(folder, names);
}

/// Empty for a program that the rules refuse: then `answer` says why.
FolderFiles vectors_of_program(const std::string& text, const OracleRequest& request,
                               const Options& options, const vectors::VectorOptions& amount,
                               OracleAnswer& answer) {
  const std::string& file = request.file;
  GivenInstance given = given_instance(request.instance);
  const Soundness soundness = read_terms(request.instance, options, given);
  answer.outcome = soundness.outcome;
  answer.diagnostics = soundness.diagnostics;
  if (answer.outcome != Outcome::Established) return {};
  const ProgramFile read = read_program(file, text, given);
  if (read.program.devices > kMaxVectorDevices) {
    throw InputError({file}, fmt::format("{} devices, expected at most {}", read.program.devices,
                                         kMaxVectorDevices));
  }
  const execution::Expectation expectation(read.program, read.dialect);
  if (const auto& refutation = expectation.decision().violation) {
    answer.refused = explain(*refutation, read.program, read.instance ? &*read.instance : nullptr);
    answer.outcome = Outcome::Refuted;
    return {};
  }
  SoundSteps(options.limits).require(file, read.program);
  return vectors::program_vectors(read, amount);
}

/// Empty for a definition that is not known to be sound: then `answer` says why.
FolderFiles vectors_of_definition(const OracleRequest& request, const Options& options,
                                  const vectors::VectorOptions& amount, OracleAnswer& answer) {
  Soundness soundness;
  const language::Definition definition =
      read_sound_definition(request.file, InstanceSpec().max_group, options, soundness);
  answer.outcome = soundness.outcome;
  answer.diagnostics = std::move(soundness.diagnostics);
  if (answer.outcome != Outcome::Established) return {};
  return vectors::definition_vectors(definition, amount);
}

}  // namespace

OracleAnswer oracle(const OracleRequest& request, const Options& options) {
  const vectors::VectorOptions amount = vector_options(request, options.seed);
  const std::string text = read_file(request.file);
  OracleAnswer answer;
  answer.document.title = "p2-verify oracle";
  FolderFiles files = TextCursor(request.file, text).peek_name() == "collective"
                          ? vectors_of_definition(request, options, amount, answer)
                          : vectors_of_program(text, request, options, amount, answer);
  answer.results.push_back({request.file, answer.outcome});
  if (!files.empty() && request.folder.empty()) {
    answer.files = files.size();
    answer.vectors = std::move(files);
  } else if (!files.empty()) {
    write_whole_folder(request.folder, files, "test vectors", holds_vectors);
    answer.files = files.size();
    answer.document.line(fmt::format("{}: {} files, see index.json", request.folder, files.size()));
    answer.document.json = Json::object(
        {{"folder", request.folder}, {"index", "index.json"}, {"files", files.size()}});
  } else if (answer.outcome == Outcome::Refuted) {
    answer.document.line(
        fmt::format("{}: refused, no test vectors: {}", request.file, answer.refused));
    answer.document.json = Json::object({{"file", request.file},
                                         {"verdict", "invalid"},
                                         {"reason", answer.refused},
                                         {"folder", Json()},
                                         {"index", Json()},
                                         {"files", 0}});
  } else {
    answer.document.json = Json::object({{"file", request.file},
                                         {"verdict", to_string(answer.outcome)},
                                         {"folder", Json()},
                                         {"index", Json()},
                                         {"files", 0}});
  }
  return answer;
}

}  // namespace p2
