#include "proofs/api/run_jobs.h"

#include <algorithm>
#include <climits>

#include <fmt/format.h>

#include "engine/base/text_cursor.h"
#include "engine/execution/in_process.h"
#include "engine/execution/processes/rank_processes.h"
#include "engine/program/derivation.h"
#include "p2/bytes.h"
#include "p2/error.h"
#include "proofs/api/reference_run.h"
#include "proofs/api/terms.h"

namespace p2 {
namespace {

using namespace execution;

constexpr std::uint64_t kMaxRunBytes = std::uint64_t{1} << 39U;
constexpr std::size_t kMaxPrograms = 100'000;
constexpr std::size_t kMaxPlacementsRun = 1000;

/// The value that a text names, the first one where it is absent.
template <typename Value>
Value choose(const char* flag, const std::optional<std::string>& text,
             const std::vector<std::pair<std::string, Value>>& choices) {
  std::string known;
  for (const auto& [name, value] : choices) {
    if (!text || *text == name) return value;
    known += (known.empty() ? "" : ", ") + name;
  }
  throw InputError({flag}, unknown_name(*text, "one of " + known));
}

std::uint64_t parse_size(const char* flag, std::string_view text) {
  const std::uint64_t bytes = parse_bytes(flag, text);
  if (bytes <= kMaxRunBytes) return bytes;
  throw InputError({flag}, fmt::format("{} per device, expected at most {}", bytes_to_string(bytes),
                                       bytes_to_string(kMaxRunBytes)));
}

/// `1K:64M` or, with another factor than 2, `1K:64M:4`.
std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  const std::size_t first_end = text.find(':');
  if (first_end == std::string::npos) {
    throw InputError({"--sizes"}, "one size, expected the smallest and the largest, 1K:64M");
  }
  const std::size_t last_end = std::min(text.find(':', first_end + 1), text.size());
  const std::uint64_t first = parse_size("--sizes", text.substr(0, first_end));
  const std::uint64_t last =
      parse_size("--sizes", text.substr(first_end + 1, last_end - first_end - 1));
  std::uint64_t factor = 2;
  if (last_end < text.size()) {
    TextCursor cursor("--sizes", std::string_view(text).substr(last_end + 1));
    factor = cursor.integer("a factor", 2, 1024);
    expect_end(cursor, "the factor");
  }
  if (last < first) throw InputError({"--sizes"}, "the last is below the first, expected 1K:64M");
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = first; size <= last; size *= factor) sizes.push_back(size);
  return sizes;
}

/// `die:RANK:STEP` or `hang:RANK:STEP`.
InjectedFault parse_fault(const std::string& text) {
  TextCursor cursor("--fault", text);
  InjectedFault fault;
  if (cursor.accept("hang")) {
    fault.kind = InjectedFault::Kind::Hangs;
  } else {
    cursor.expect("die", "or hang");
  }
  cursor.expect(":", "and the rank");
  fault.rank = static_cast<std::uint32_t>(cursor.integer("a rank", 0, UINT32_MAX));
  cursor.expect(":", "and the step");
  fault.step = static_cast<std::uint32_t>(cursor.integer("a step", 1, UINT32_MAX));
  expect_end(cursor, "the fault");
  return fault;
}

/// Only threads run user-defined collectives as they are: libraries run what stands for them.
void require_runnable(const RunRequest& request, const Limits& limits, ProgramJobs& jobs) {
  SoundSteps sound(limits);
  for (ProgramJobs::Source& source : jobs.programs) {
    Program& program = source.read.program;
    if (!program.terms.collectives.extended()) continue;
    const std::string name = source.file.empty() ? "--collectives" : source.file;
    StateTable states(program.chunks());
    const ProgramDecision decision = check(program, source.read.dialect, states);
    sound.require(name, program, decision.legal_steps);
    const bool skipped = decision.violation && !request.force;
    if (request.backend == RunBackend::InProcess || skipped) continue;
    program = require_built_in(name, program, "--backend in-process");
  }
}

/// A setting without effect is a mistake.
void require_effect(const RunRequest& request, const ProgramJobs& jobs) {
  if (request.record && jobs.check == Check::Nothing) {
    throw InputError({"--record"},
                     "with --check none, expected the run that checks, whose calls are recorded");
  }
  if (!jobs.fault) return;
  const InjectedFault& fault = *jobs.fault;
  const bool fires = std::ranges::any_of(jobs.programs, [&](const ProgramJobs::Source& program) {
    return fault.rank < program.read.program.devices &&
           fault.step <= program.read.program.steps.size();
  });
  if (!fires) {
    throw InputError({"--fault"}, fmt::format("no program has a rank {} and a step {}, expected "
                                              "ones that some program has",
                                              fault.rank, fault.step));
  }
}

}  // namespace

std::string_view program_setting(const RunRequest& request) {
  const std::pair<std::string_view, bool> settings[] = {
      {"bytes", request.bytes.has_value()},    {"sizes", request.sizes.has_value()},
      {"type", request.type.has_value()},      {"inputs", request.inputs.has_value()},
      {"check", request.check.has_value()},    {"top", request.top.has_value()},
      {"record", request.record.has_value()},  {"fault", request.fault.has_value()},
      {"size", request.max_steps.has_value()}, {"dry-run", request.dry_run}};
  for (const auto& [name, given] : settings) {
    if (given) return name;
  }
  return {};
}

std::uint32_t max_ranks(RunBackend backend) {
  constexpr std::uint32_t kMaxThreads = 256;
  return backend == RunBackend::InProcess ? kMaxThreads : RankBoard::kMaxRanks;
}

std::vector<PlacementPrograms> programs_of_instance(const RunRequest& request,
                                                    const GivenInstance& given,
                                                    const Options& options) {
  require_system(given, true);
  std::vector<Instance> instances;
  for (Placement& placement : placements_of(given, kMaxPlacementsRun)) {
    instances.emplace_back(DeviceGrid(*given.hierarchy, *given.axes, std::move(placement)),
                           *given.reduction, given.kind);
  }
  SynthesisOptions search;
  search.dialect = given.dialect;
  search.terms = given.terms;
  search.size = request.max_steps.value_or(5);
  search.jobs = options.jobs;
  search.limits = options.limits;
  std::vector<PlacementPrograms> all = find_programs(std::move(instances), search);
  std::uint64_t programs = 0;
  for (const PlacementPrograms& found : all) {
    if (found.list().count() > kMaxPrograms - programs) {
      throw InputError({"--size"},
                       fmt::format("more than {} programs, expected a smaller size", kMaxPrograms));
    }
    programs += found.list().count();
  }
  return all;
}

ProgramJobs read_settings(const RunRequest& request) {
  ProgramJobs jobs;
  jobs.type = choose<ElementType>("--type", request.type,
                                  {{"float32", ElementType::Float32},
                                   {"float64", ElementType::Float64},
                                   {"int32", ElementType::Int32},
                                   {"bfloat16", ElementType::BFloat16}});
  jobs.inputs =
      choose<Inputs::Kind>("--inputs", request.inputs,
                           {{"integers", Inputs::Kind::Integers}, {"reals", Inputs::Kind::Reals}});
  if (jobs.inputs == Inputs::Kind::Reals && jobs.type == ElementType::Int32) {
    throw InputError({"--inputs"}, "reals are not int32, expected integers or another type");
  }
  jobs.check =
      choose<Check>("--check", request.check,
                    {{"steps", Check::Steps}, {"result", Check::Result}, {"none", Check::Nothing}});
  if (request.bytes && request.sizes) {
    throw InputError({"command line"}, "both --bytes and --sizes, expected one of the two");
  }
  jobs.sizes = request.sizes ? parse_sizes(*request.sizes)
                             : std::vector{parse_size("--bytes", request.bytes.value_or("1M"))};
  if (request.fault) jobs.fault = parse_fault(*request.fault);
  if (request.backend == RunBackend::Mpi) {
    if (jobs.type == ElementType::BFloat16) {
      throw InputError({"--type"}, "MPI has no bfloat16, expected float32, float64 or int32");
    }
    if (jobs.sizes.back() / size_of(jobs.type) > INT_MAX / 2) {
      throw InputError({"--bytes"}, "too many elements for one call of MPI, expected at most 2^30");
    }
  }
  return jobs;
}

ProgramJobs read_jobs(const RunRequest& request, const GivenInstance& given,
                      const Options& options) {
  ProgramJobs jobs = read_settings(request);
  if (request.files.empty()) {
    for (const PlacementPrograms& found : programs_of_instance(request, given, options)) {
      found.for_each_lowered([&](const Program& program) {
        jobs.programs.push_back({{}, {program, found.instance(), given.dialect}});
      });
    }
  } else {
    for (const std::string& file : request.files) {
      for (SourceProgram& each : programs_in(file, given)) {
        jobs.programs.push_back({each.name, std::move(each.read)});
      }
    }
  }
  require_effect(request, jobs);
  require_runnable(request, options.limits, jobs);
  return jobs;
}

RankSession::~RankSession() {
  if (board_ != nullptr) board_->report_exit(rank_, kBadInput, true);
}

int RankSession::finish(int code) {
  if (board_ == nullptr) return code;
  // Others may wait in vain for a rank that stopped at a limit.
  board_->report_exit(rank_, code, code == kUndecided || code == kBadInput);
  board_ = nullptr;
  return 0;
}

Backend* RankSession::open(RunBackend backend, [[maybe_unused]] const LaunchSpec& spec) {
  switch (backend) {
    case RunBackend::InProcess:
      backend_ = std::make_unique<InProcess>();
      break;
    case RunBackend::Mpi: {
#ifdef P2_HAS_MPI
      if (under_mpirun()) {
        backend_ = std::make_unique<MpiBackend>(join_mpirun(spec).channel);
      } else {
        exit_ = launch_mpirun(spec.command, spec.ranks, spec.deadline);
      }
      break;
#else
      throw InputError({"--backend"}, "this build has no MPI, expected in-process");
#endif
    }
    case RunBackend::Nccl: {
#ifdef P2_HAS_NCCL
      if (std::optional<RankContext> rank = join_or_fork(spec)) {
        backend_ = std::make_unique<NcclBackend>(std::move(rank->channel), rank->local_rank,
                                                 rank->local_ranks);
      }
      break;
#else
      throw InputError({"--backend"}, "this build has no NCCL, expected in-process");
#endif
    }
  }
  return backend_.get();
}

[[maybe_unused]] RankContext RankSession::join_mpirun([[maybe_unused]] const LaunchSpec& spec) {
#ifdef P2_HAS_MPI
  inherited_board_ = inherited_board();
  if (inherited_board_) board_ = &inherited_board_->board();
  auto channel = mpi_channel(board_);
  rank_ = channel->rank();
  const bool fits =
      spec.extra_ranks ? channel->ranks() >= spec.ranks : channel->ranks() == spec.ranks;
  if (!fits) {
    throw InputError(
        {"mpirun"},
        fmt::format("{} processes for {} of {} devices, expected {}a process per device",
                    channel->ranks(), spec.kind == WorkloadKind::Program ? "programs" : "plans",
                    spec.ranks, spec.extra_ranks ? "at least " : ""));
  }
  const auto [local_rank, local_ranks] = local_position();
  return {std::move(channel), local_rank, local_ranks};
#else
  throw InputError({"mpirun"}, "this build has no MPI, expected to be started without mpirun");
#endif
}

[[maybe_unused]] std::optional<RankContext> RankSession::join_or_fork(const LaunchSpec& spec) {
  if (under_mpirun()) return join_mpirun(spec);
  forked_ = std::make_unique<ForkedRanks>(spec.ranks, spec.max_gathered_bytes);
  if (auto exit = forked_->fork_all(spec.deadline)) {
    exit_ = std::move(*exit);
    return std::nullopt;
  }
  board_ = &forked_->board();
  rank_ = forked_->rank();
  return RankContext{forked_->channel(), rank_, spec.ranks};
}

}  // namespace p2
