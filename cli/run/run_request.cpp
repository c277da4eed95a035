#include "cli/run/run_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/byte_size.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/program_source.h"
#include "cli/terms_options.h"
#include "engine/base/text_cursor.h"
#include "engine/program/synthesis.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

using execution::Check;
using execution::ElementType;
using execution::Fault;
using execution::Inputs;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 39U;
constexpr std::size_t kMostPrograms = 100'000;
constexpr std::size_t kMostPlacements = 1000;

std::uint64_t size_at(const char* flag, std::string_view text) {
  const std::uint64_t bytes = parse_bytes(flag, text);
  if (bytes <= kMostBytes) return bytes;
  throw InputError({flag}, fmt::format("{} per device, expected at most {}", bytes_to_string(bytes),
                                       bytes_to_string(kMostBytes)));
}

/// `1K:64M` or, with another factor than 2, `1K:64M:4`.
std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  const std::size_t first_end = text.find(':');
  if (first_end == std::string::npos) {
    throw InputError({"--sizes"}, "one size, expected the smallest and the largest, 1K:64M");
  }
  const std::size_t last_end = std::min(text.find(':', first_end + 1), text.size());
  const std::uint64_t first = size_at("--sizes", text.substr(0, first_end));
  const std::uint64_t last =
      size_at("--sizes", text.substr(first_end + 1, last_end - first_end - 1));
  std::uint64_t factor = 2;
  if (last_end < text.size()) {
    TextCursor cursor("--sizes", text.substr(last_end + 1));
    factor = cursor.integer("a factor", 2, 1024);
    expect_end(cursor, "the factor");
  }
  if (last < first) throw InputError({"--sizes"}, "the last is below the first, expected 1K:64M");
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = first; size <= last; size *= factor) sizes.push_back(size);
  return sizes;
}

std::optional<Fault> fault_of(const CommandLine& line) {
  const auto text = line.text("fault");
  if (!text) return std::nullopt;
  TextCursor cursor("--fault", *text);
  Fault fault;
  if (cursor.accept("hang")) {
    fault.kind = Fault::Kind::Hangs;
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

std::vector<RunProgram> programs_of(const GivenInstance& given, const CommandLine& line,
                                    const CommonOptions& common) {
  std::vector<Instance> instances;
  for (Placement& placement : placements_of(given, kMostPlacements)) {
    instances.emplace_back(DeviceGrid(*given.hierarchy, *given.axes, std::move(placement)),
                           *given.reduction, given.kind);
  }
  SynthesisOptions options;
  options.dialect = given.dialect;
  options.size = static_cast<std::uint32_t>(line.integer("size", 0, 32, 5));
  options.jobs = common.jobs;
  options.limits = common.limits;
  std::vector<RunProgram> programs;
  for (const PlacementPrograms& found : synthesise(std::move(instances), options)) {
    if (found.list().count() > kMostPrograms - programs.size()) {
      throw InputError(
          {"--size"}, fmt::format("more than {} programs, expected a smaller size", kMostPrograms));
    }
    found.for_each_lowered([&](const Program& program) {
      programs.push_back({{}, {program, found.instance(), given.dialect}});
    });
  }
  return programs;
}

}  // namespace

po::options_description run_flags() {
  const auto value = [](const char* name) { return po::value<std::string>()->value_name(name); };
  po::options_description flags("Run");
  flags.add_options()                                                                          //
      ("size", value("N"), "most steps of a program of an instance (default 5)")               //
      ("backend", value("NAME"), "in-process (default), mpi or nccl")                          //
      ("bytes", value("N"), "per device: 4096, 1K, 64M, 1G (default 1M)")                      //
      ("sizes", value("A:B[:F]"), "all sizes from A to B, each F (default 2) times the last")  //
      ("type", value("NAME"), "float32 (default), float64, int32 or bfloat16")                 //
      ("inputs", value("KIND"),
       "integers (default): sums are exact; or reals: from -1 to 1, right within n*eps*sum|x|")  //
      ("iterations", value("N"), "timed runs (default 5)")                                       //
      ("warmup", value("N"), "runs before them (default 1)")                                     //
      ("check", value("WHAT"),
       "one more run: every element after all steps (steps, default), at the end (result), or "
       "none")                                                                               //
      ("top", value("N"), "one table of the N fastest programs instead of all their steps")  //
      ("force", "run programs that the rules refuse, too")                                   //
      ("record", value("DIR"),
       "write for every rank the calls that it issued in the checked run")  //
      ("fault", value("F"), "die:RANK:STEP or hang:RANK:STEP, to see that the run ends");
  return flags;
}

ElementType element_type(const CommandLine& line) {
  return line.choice<ElementType>("type", {{"float32", ElementType::Float32},
                                           {"float64", ElementType::Float64},
                                           {"int32", ElementType::Int32},
                                           {"bfloat16", ElementType::BFloat16}});
}

namespace {

/// What would have no effect is a mistake.
void require_effect(const RunRequest& request) {
  if (request.record && request.check == Check::Nothing) {
    throw InputError({"--record"},
                     "with --check none, expected the run that checks, whose calls "
                     "are recorded");
  }
  if (!request.fault) return;
  const auto [kind, rank, step] = *request.fault;
  const bool fires = std::ranges::any_of(request.programs, [&](const RunProgram& program) {
    return rank < program.read.program.devices && step <= program.read.program.steps.size();
  });
  if (!fires) {
    throw InputError({"--fault"}, fmt::format("no program has a rank {} and a step {}, expected "
                                              "ones that some program has",
                                              rank, step));
  }
}

}  // namespace

RunRequest run_request(const CommandLine& line) {
  RunRequest request;
  request.common = line.common();
  request.backend = line.choice<BackendKind>("backend", {{"in-process", BackendKind::InProcess},
                                                         {"mpi", BackendKind::Mpi},
                                                         {"nccl", BackendKind::Nccl}});
  request.type = element_type(line);
  request.inputs = line.choice<Inputs::Kind>(
      "inputs", {{"integers", Inputs::Kind::Integers}, {"reals", Inputs::Kind::Reals}});
  if (request.inputs == Inputs::Kind::Reals && request.type == ElementType::Int32) {
    throw InputError({"--inputs"}, "reals are no int32, expected integers or another type");
  }
  request.check = line.choice<Check>(
      "check", {{"steps", Check::Steps}, {"result", Check::Result}, {"none", Check::Nothing}});
  if (line.has("bytes") && line.has("sizes")) {
    throw InputError({"command line"}, "both --bytes and --sizes, expected one of the two");
  }
  request.sizes = line.has("sizes")
                      ? parse_sizes(*line.text("sizes"))
                      : std::vector{size_at("--bytes", line.text("bytes").value_or("1M"))};
  request.iterations = static_cast<unsigned>(line.integer("iterations", 1, 1'000'000, 5));
  request.warmup = static_cast<unsigned>(line.integer("warmup", 0, 1'000'000, 1));
  request.force = line.has("force");
  if (line.has("top")) request.top = line.integer("top", 1, kMostPrograms, 10);
  request.record = line.text("record");
  request.fault = fault_of(line);
  const std::vector<std::string> files = line.texts("files");
  if (files.empty()) {
    request.programs = programs_of(required_instance(line, true), line, request.common);
  }
  for (const std::string& file : files) {
    for (SourceProgram& each : programs_in(file, given_instance(line))) {
      require_allreduce(each.name, each.read.program.terms);
      request.programs.push_back({each.name, std::move(each.read)});
    }
  }
  require_effect(request);
  return request;
}

}  // namespace p2
