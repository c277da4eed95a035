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
#include "p2/states.h"
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

namespace {

constexpr std::size_t kMaxStateBytes = std::size_t{1} << 32U;

/// Writes a state as zeros and ones: a row of contributors per chunk and device.
void add_state(const SystemState& state, const StateTable& states, StatesAnswer& answer) {
  const std::size_t begin = answer.held.size();
  answer.held.resize(begin + std::size_t{answer.devices} * answer.chunks * answer.devices);
  for (std::uint32_t device = 0; device < answer.devices; ++device) {
    for (const Piece& piece : states.pieces(state[device])) {
      for (const Run& chunks : states.sets().runs(piece.chunks)) {
        for (std::uint32_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
          const std::size_t row =
              begin + (std::size_t{device} * answer.chunks + chunk) * answer.devices;
          for (const Run& run : states.sets().runs(piece.contributors)) {
            std::fill(answer.held.begin() + static_cast<std::ptrdiff_t>(row + run.begin),
                      answer.held.begin() + static_cast<std::ptrdiff_t>(row + run.end), 1);
          }
        }
      }
    }
  }
  ++answer.states;
}

}  // namespace

StatesAnswer program_states(const StatesRequest& request, const Options& options) {
  GivenInstance given = given_instance(request.instance);
  StatesAnswer answer;
  Soundness soundness = read_terms(request.instance, options, given);
  answer.diagnostics = std::move(soundness.diagnostics);
  answer.outcome = soundness.outcome;
  if (answer.outcome != Outcome::Established) return answer;
  const ProgramFile read = read_program(request.file, read_file(request.file), given);
  const Program& program = read.program;
  answer.devices = program.devices;
  answer.chunks = program.chunks();
  const Instance* const instance = read.instance ? &*read.instance : nullptr;
  for (const Step& step : program.steps)
    answer.steps.push_back(to_string(step, instance, program.terms.collectives));
  const double bytes = static_cast<double>(program.steps.size() + 1) * answer.devices *
                       answer.chunks * answer.devices;
  if (bytes > static_cast<double>(kMaxStateBytes)) {
    throw LimitReached(LimitReached::Kind::Size,
                       fmt::format("{}: the states take {:.0f} bytes, expected at most {}",
                                   request.file, bytes, kMaxStateBytes));
  }
  options.limits.require_room(bytes, "the states of a program");
  StateTable states(program.chunks());
  const ProgramDecision decision =
      check(program, read.dialect, states, options.limits,
            [&](std::size_t, const SystemState& state) { add_state(state, states, answer); });
  answer.outcome = decision.outcome;
  Result result{request.file, decision.outcome};
  if (decision.violation) {
    result.counterexample = Counterexample{std::string(rule_name(*decision.violation)),
                                           {request.file},
                                           explain(*decision.violation, program, instance),
                                           {}};
  }
  answer.results.push_back(std::move(result));
  return answer;
}

}  // namespace p2
