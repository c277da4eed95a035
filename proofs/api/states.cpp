#include "p2/states.h"

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/program/derivation.h"
#include "engine/program/program_file.h"
#include "proofs/api/terms.h"

namespace p2 {
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
