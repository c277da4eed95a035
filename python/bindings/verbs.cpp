#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "bindings/bindings.h"
#include "bindings/call.h"
#include "p2/check.h"
#include "p2/cost.h"
#include "p2/define.h"
#include "p2/export.h"
#include "p2/oracle.h"
#include "p2/parallelize.h"
#include "p2/pipeline.h"
#include "p2/place.h"
#include "p2/prove.h"
#include "p2/reshard.h"
#include "p2/run.h"
#include "p2/states.h"
#include "p2/synthesize.h"
#include "p2/system.h"

namespace p2::python {
namespace {

using namespace nb::literals;

/// A member that may be None.
template <typename Class, typename Struct, typename Member>
Class& optional_member(Class& type, const char* name, Member Struct::*member) {
  return type.def_rw(name, member, nb::arg().none());
}

/// The verb `name(request, options)`, run without the GIL.
template <typename Request, typename Reply>
void define_verb(nb::module_& module, const char* name,
                 Reply (*verb)(const Request&, const Options&)) {
  module.def(
      name,
      [verb](const Request& request, const CallOptions& call) {
        return run_without_gil(call,
                               [&](const Options& options) { return verb(request, options); });
      },
      "request"_a, "options"_a);
}

void bind_check(nb::module_& module) {
  nb::class_<CheckRequest> request(module, "CheckRequest");
  request.def(nb::init<>())
      .def_rw("files", &CheckRequest::files)
      .def_rw("ordered", &CheckRequest::ordered)
      .def_rw("replicated_inputs", &CheckRequest::replicated_inputs)
      .def_prop_rw(
          "numbers", [](const CheckRequest& self) { return std::string(to_string(self.numbers)); },
          [](CheckRequest& self, const std::string& name) {
            self.numbers = float_equality_called(name);
          })
      .def_rw("instance", &CheckRequest::instance)
      .def_rw("engine", &CheckRequest::engine)
      .def_rw("explain", &CheckRequest::explain)
      .def_rw("repair", &CheckRequest::repair);
  optional_member(request, "before", &CheckRequest::before);
  optional_member(request, "after", &CheckRequest::after);
  optional_member(request, "relate", &CheckRequest::relate);
  optional_member(request, "dump", &CheckRequest::dump);
  optional_member(request, "reduces", &CheckRequest::reduces);
  optional_member(request, "replicas", &CheckRequest::replicas);
  optional_member(request, "partitions", &CheckRequest::partitions);
  optional_member(request, "certify", &CheckRequest::certify);
  nb::class_<CheckAnswer, Answer>(module, "CheckAnswer").def_ro("repaired", &CheckAnswer::repaired);
  define_verb<CheckRequest, CheckAnswer>(module, "check", &check);
}

void bind_define(nb::module_& module) {
  nb::class_<DefineRequest>(module, "DefineRequest")
      .def(nb::init<>())
      .def_rw("files", &DefineRequest::files)
      .def_rw("max_group", &DefineRequest::max_group);
  nb::class_<DefinitionCheck>(module, "DefinitionCheck")
      .def_ro("name", &DefinitionCheck::name)
      .def_prop_ro("outcome",
                   [](const DefinitionCheck& each) { return std::string(to_string(each.outcome)); })
      .def_ro("detail", &DefinitionCheck::detail)
      .def_ro("settled_by", &DefinitionCheck::settled_by)
      .def_ro("every_size", &DefinitionCheck::every_size);
  nb::class_<DefinitionReport>(module, "DefinitionReport")
      .def_ro("collective", &DefinitionReport::collective)
      .def_prop_ro(
          "outcome",
          [](const DefinitionReport& each) { return std::string(to_string(each.outcome)); })
      .def_ro("sizes", &DefinitionReport::sizes)
      .def_ro("checks", &DefinitionReport::checks)
      .def_ro("relations", &DefinitionReport::relations);
  nb::class_<DefineAnswer, Answer>(module, "DefineAnswer")
      .def_ro("definitions", &DefineAnswer::definitions);
  define_verb<DefineRequest, DefineAnswer>(module, "define", &define);
}

void bind_place(nb::module_& module) {
  nb::class_<SystemInfo::Level>(module, "Level")
      .def_ro("name", &SystemInfo::Level::name)
      .def_ro("size", &SystemInfo::Level::size);
  nb::class_<SystemInfo>(module, "SystemInfo")
      .def_ro("name", &SystemInfo::name)
      .def_ro("levels", &SystemInfo::levels)
      .def_ro("interconnects", &SystemInfo::interconnects)
      .def_ro("text", &SystemInfo::text);
  module.def("read_system_file", &read_system_file, "file"_a);
  nb::class_<PlaceRequest>(module, "PlaceRequest")
      .def(nb::init<>())
      .def_rw("instance", &PlaceRequest::instance)
      .def_rw("max_placements", &PlaceRequest::max_placements)
      .def_rw("max_drawn", &PlaceRequest::max_drawn);
  nb::class_<PlaceAnswer, Answer>(module, "PlaceAnswer")
      .def_ro("devices", &PlaceAnswer::devices)
      .def_ro("placements", &PlaceAnswer::placements);
  define_verb<PlaceRequest, PlaceAnswer>(module, "place", &place);
}

void bind_synthesize(nb::module_& module) {
  nb::class_<SynthesizeRequest> request(module, "SynthesizeRequest");
  request.def(nb::init<>())
      .def_rw("instance", &SynthesizeRequest::instance)
      .def_rw("size", &SynthesizeRequest::size)
      .def_rw("engine", &SynthesizeRequest::engine)
      .def_rw("text", &SynthesizeRequest::text)
      .def_rw("json", &SynthesizeRequest::json);
  optional_member(request, "certify", &SynthesizeRequest::certify);
  nb::class_<SynthesizedPlacement>(module, "SynthesizedPlacement")
      .def_ro("matrix", &SynthesizedPlacement::matrix)
      .def_ro("begins", &SynthesizedPlacement::begins)
      .def_ro("chunks", &SynthesizedPlacement::chunks)
      .def_ro("count", &SynthesizedPlacement::count)
      .def_ro("settled_size", &SynthesizedPlacement::settled_size)
      .def_ro("programs", &SynthesizedPlacement::programs);
  nb::class_<SynthesizeAnswer, Answer>(module, "SynthesizeAnswer")
      .def_ro("placements", &SynthesizeAnswer::placements)
      .def_ro("total", &SynthesizeAnswer::total)
      .def_ro("complete", &SynthesizeAnswer::complete);
  define_verb<SynthesizeRequest, SynthesizeAnswer>(module, "synthesize", &synthesize);
}

void bind_states(nb::module_& module) {
  nb::class_<StatesRequest>(module, "StatesRequest")
      .def(nb::init<>())
      .def_rw("file", &StatesRequest::file)
      .def_rw("instance", &StatesRequest::instance);
  nb::class_<StatesAnswer, Answer>(module, "StatesAnswer")
      .def_ro("states", &StatesAnswer::states)
      .def_ro("devices", &StatesAnswer::devices)
      .def_ro("chunks", &StatesAnswer::chunks)
      .def_ro("steps", &StatesAnswer::steps)
      .def("held", [](StatesAnswer& answer) {
        // The memory goes over to the array, whose capsule frees it.
        auto* const bytes = new std::vector<std::uint8_t>(std::move(answer.held));
        answer.held.clear();
        const nb::capsule owner(bytes, [](void* each) noexcept {
          delete static_cast<std::vector<std::uint8_t>*>(each);
        });
        return nb::ndarray<nb::numpy, bool, nb::ndim<4>>(
            reinterpret_cast<bool*>(bytes->data()),
            {answer.states, answer.devices, answer.chunks, answer.devices}, owner);
      });
  define_verb<StatesRequest, StatesAnswer>(module, "program_states", &program_states);
}

void bind_cost(nb::module_& module) {
  nb::class_<CostRequest> request(module, "CostRequest");
  request.def(nb::init<>())
      .def_rw("instance", &CostRequest::instance)
      .def_rw("files", &CostRequest::files)
      .def_rw("max_steps", &CostRequest::max_steps)
      .def_rw("algorithm", &CostRequest::algorithm)
      .def_rw("bytes", &CostRequest::bytes)
      .def_rw("plot", &CostRequest::plot)
      .def_rw("json", &CostRequest::json);
  optional_member(request, "top", &CostRequest::top);
  nb::class_<StepTime>(module, "StepTime")
      .def_ro("seconds", &StepTime::seconds)
      .def_ro("bottleneck", &StepTime::bottleneck);
  nb::class_<PricedText>(module, "PricedText")
      .def_ro("source", &PricedText::source)
      .def_ro("text", &PricedText::text)
      .def_ro("seconds", &PricedText::seconds)
      .def_ro("baseline", &PricedText::baseline)
      .def_ro("baseline_seconds", &PricedText::baseline_seconds)
      .def_ro("speedup", &PricedText::speedup)
      .def_ro("steps", &PricedText::steps);
  nb::class_<CostAnswer, Answer>(module, "CostAnswer")
      .def_ro("programs", &CostAnswer::programs)
      .def_ro("priced", &CostAnswer::priced)
      .def_ro("complete", &CostAnswer::complete)
      .def_ro("plot", &CostAnswer::plot);
  define_verb<CostRequest, CostAnswer>(module, "cost", &cost);
}

/// In-process only: the other backends start processes, which belongs to the command line.
void bind_run(nb::module_& module) {
  nb::class_<RunRequest> request(module, "RunRequest");
  request.def(nb::init<>())
      .def_rw("files", &RunRequest::files)
      .def_rw("instance", &RunRequest::instance)
      .def_rw("warmup", &RunRequest::warmup)
      .def_rw("iterations", &RunRequest::iterations)
      .def_rw("force", &RunRequest::force);
  optional_member(request, "bytes", &RunRequest::bytes);
  optional_member(request, "type", &RunRequest::type);
  nb::class_<RunTime>(module, "RunTime")
      .def_ro("collective", &RunTime::collective)
      .def_ro("seconds", &RunTime::seconds)
      .def_ro("algbw", &RunTime::algbw)
      .def_ro("busbw", &RunTime::busbw);
  nb::class_<WrongValue>(module, "WrongValue")
      .def_ro("rank", &WrongValue::rank)
      .def_ro("step", &WrongValue::step)
      .def_ro("element", &WrongValue::element)
      .def_ro("got", &WrongValue::got)
      .def_ro("expected", &WrongValue::expected);
  nb::class_<SizeTimes>(module, "SizeTimes")
      .def_ro("bytes", &SizeTimes::bytes)
      .def_ro("steps", &SizeTimes::steps)
      .def_ro("total", &SizeTimes::total)
      .def_ro("allreduce", &SizeTimes::allreduce)
      .def_ro("wrong", &SizeTimes::wrong)
      .def_ro("wrong_elements", &SizeTimes::wrong_elements);
  nb::class_<ProgramTimes>(module, "ProgramTimes")
      .def_ro("refused", &ProgramTimes::refused)
      .def_ro("skipped", &ProgramTimes::skipped)
      .def_ro("sizes", &ProgramTimes::sizes);
  nb::class_<RunAnswer, Answer>(module, "RunAnswer").def_ro("programs", &RunAnswer::programs);
  define_verb<RunRequest, RunAnswer>(module, "run", &run);
}

void bind_oracle(nb::module_& module) {
  nb::class_<OracleRequest>(module, "OracleRequest")
      .def(nb::init<>())
      .def_rw("file", &OracleRequest::file)
      .def_rw("instance", &OracleRequest::instance)
      .def_rw("type", &OracleRequest::type)
      .def_rw("chunk_elements", &OracleRequest::chunk_elements)
      .def_rw("wrong_programs", &OracleRequest::wrong_programs);
  nb::class_<OracleAnswer, Answer>(module, "OracleAnswer")
      .def_ro("refused", &OracleAnswer::refused)
      .def_prop_ro("vectors", [](const OracleAnswer& answer) {
        std::map<std::string, nb::bytes> files;
        for (const auto& [name, bytes] : answer.vectors) {
          files.emplace(name, nb::bytes(bytes.data(), bytes.size()));
        }
        return files;
      });
  define_verb<OracleRequest, OracleAnswer>(module, "oracle", &oracle);
}

void bind_export(nb::module_& module) {
  nb::enum_<ExportFormat>(module, "ExportFormat")
      .value("msccl", ExportFormat::Msccl)
      .value("json", ExportFormat::Json)
      .value("hlo", ExportFormat::Hlo)
      .value("stablehlo", ExportFormat::StableHlo)
      .value("onesided", ExportFormat::Onesided)
      .value("onesided_text", ExportFormat::OnesidedText);
  nb::class_<ExportRequest> request(module, "ExportRequest");
  request.def(nb::init<>())
      .def_rw("file", &ExportRequest::file)
      .def_rw("format", &ExportRequest::format)
      .def_rw("instance", &ExportRequest::instance);
  optional_member(request, "output", &ExportRequest::output);
  nb::class_<ExportedText>(module, "ExportedText")
      .def_ro("name", &ExportedText::name)
      .def_ro("text", &ExportedText::text)
      .def_ro("summary", &ExportedText::summary);
  nb::class_<ExportAnswer, Answer>(module, "ExportAnswer").def_ro("texts", &ExportAnswer::texts);
  define_verb<ExportRequest, ExportAnswer>(module, "export_programs", &export_programs);
}

void bind_pipeline(nb::module_& module) {
  nb::enum_<PipelineSchedule>(module, "PipelineSchedule")
      .value("gpipe", PipelineSchedule::GPipe)
      .value("one_forward_one_backward", PipelineSchedule::OneForwardOneBackward)
      .value("eager", PipelineSchedule::Eager);
  nb::enum_<PipelineLink>(module, "PipelineLink")
      .value("delay", PipelineLink::Delay)
      .value("link", PipelineLink::Link)
      .value("blocking", PipelineLink::Blocking);
  nb::class_<PipelineSize>(module, "PipelineSize")
      .def(nb::init<>())
      .def_rw("stages", &PipelineSize::stages)
      .def_rw("microbatches", &PipelineSize::microbatches);
  nb::class_<PipelineTimes>(module, "PipelineTimes")
      .def(nb::init<>())
      .def_rw("forward", &PipelineTimes::forward)
      .def_rw("backward", &PipelineTimes::backward)
      .def_rw("latency", &PipelineTimes::latency)
      .def_rw("weight", &PipelineTimes::weight);
  nb::class_<PipelineRequest> request(module, "PipelineRequest");
  request.def(nb::init<>())
      .def_rw("size", &PipelineRequest::size)
      .def_rw("times", &PipelineRequest::times)
      .def_rw("schedule", &PipelineRequest::schedule)
      .def_rw("link", &PipelineRequest::link)
      .def_rw("split_backward", &PipelineRequest::split_backward)
      .def_rw("least_memory", &PipelineRequest::least_memory)
      .def_rw("plot", &PipelineRequest::plot);
  optional_member(request, "weight_delay", &PipelineRequest::weight_delay);
  optional_member(request, "activation_bytes", &PipelineRequest::activation_bytes);
  nb::class_<TimedWork>(module, "TimedWork")
      .def_prop_ro("work", [](const TimedWork& each) { return to_string(each.work); })
      .def_ro("start", &TimedWork::start)
      .def_ro("end", &TimedWork::end);
  nb::class_<PipelineAnswer, Answer>(module, "PipelineAnswer")
      .def_ro("stages", &PipelineAnswer::stages)
      .def_ro("makespan", &PipelineAnswer::makespan)
      .def_ro("bubble_share", &PipelineAnswer::bubble_share)
      .def_ro("peak_activations", &PipelineAnswer::peak_activations)
      .def_ro("peak_memory_bytes", &PipelineAnswer::peak_memory_bytes)
      .def_ro("plot", &PipelineAnswer::plot);
  define_verb<PipelineRequest, PipelineAnswer>(module, "pipeline", &pipeline);
}

void bind_reshard(nb::module_& module) {
  nb::class_<ReshardTensor>(module, "ReshardTensor")
      .def(nb::init<>())
      .def_rw("shape", &ReshardTensor::shape)
      .def_rw("src", &ReshardTensor::from)
      .def_rw("dst", &ReshardTensor::to)
      .def_rw("pad", &ReshardTensor::pad);
  nb::enum_<ReshardStrategy>(module, "ReshardStrategy")
      .value("exact", ReshardStrategy::Exact)
      .value("naive", ReshardStrategy::Naive)
      .value("load_balance", ReshardStrategy::LoadBalance)
      .value("greedy", ReshardStrategy::Greedy);
  nb::enum_<TransferStrategy>(module, "TransferStrategy")
      .value("broadcast", TransferStrategy::Broadcast)
      .value("send_recv", TransferStrategy::SendRecv)
      .value("local_allgather", TransferStrategy::LocalAllGather)
      .value("global_allgather", TransferStrategy::GlobalAllGather);
  nb::class_<ReshardPlanSpec>(module, "ReshardPlanSpec")
      .def(nb::init<>())
      .def_rw("strategy", &ReshardPlanSpec::strategy)
      .def_rw("chunks", &ReshardPlanSpec::chunks);
  nb::class_<ReshardRequest> request(module, "ReshardRequest");
  request.def(nb::init<>())
      .def_rw("strategy", &ReshardRequest::strategy)
      .def_rw("plot", &ReshardRequest::plot);
  optional_member(request, "tensor", &ReshardRequest::tensor);
  optional_member(request, "plan", &ReshardRequest::plan);
  optional_member(request, "certify", &ReshardRequest::certify);
  nb::class_<TaskRun>(module, "TaskRun")
      .def_ro("task", &TaskRun::task)
      .def_ro("sender", &TaskRun::sender)
      .def_ro("start", &TaskRun::start);
  nb::class_<UnitTask>(module, "UnitTask")
      .def_ro("size", &UnitTask::size)
      .def_ro("sender_hosts", &UnitTask::sender_hosts)
      .def_ro("receiver_hosts", &UnitTask::receiver_hosts);
  nb::class_<ReshardAnswer, Answer>(module, "ReshardAnswer")
      .def_ro("tasks", &ReshardAnswer::tasks)
      .def_prop_ro("runs", [](const ReshardAnswer& answer) { return answer.schedule.runs; })
      .def_prop_ro("makespan", [](const ReshardAnswer& answer) { return answer.schedule.makespan; })
      .def_ro("lower_bound", &ReshardAnswer::lower_bound)
      .def_ro("optimal", &ReshardAnswer::optimal)
      .def_ro("bound_reason", &ReshardAnswer::bound_reason)
      .def_prop_ro("plan_text",
                   [](const ReshardAnswer& answer) -> std::optional<std::string> {
                     if (!answer.plan) return std::nullopt;
                     return answer.plan->text;
                   })
      .def_ro("plot", &ReshardAnswer::plot);
  define_verb<ReshardRequest, ReshardAnswer>(module, "reshard", &schedule_resharding);
}

void bind_parallelize(nb::module_& module) {
  nb::class_<ParallelizeRequest> request(module, "ParallelizeRequest");
  request.def(nb::init<>())
      .def_rw("file", &ParallelizeRequest::file)
      .def_rw("engine", &ParallelizeRequest::engine)
      .def_rw("use_all_devices", &ParallelizeRequest::use_all_devices);
  optional_member(request, "system", &ParallelizeRequest::system);
  optional_member(request, "memory_limit", &ParallelizeRequest::memory_limit);
  optional_member(request, "certify", &ParallelizeRequest::certify);
  nb::class_<ParallelizeAnswer, Answer>(module, "ParallelizeAnswer")
      .def_ro("cost", &ParallelizeAnswer::cost)
      .def_ro("bound", &ParallelizeAnswer::bound)
      .def_ro("optimal", &ParallelizeAnswer::optimal)
      .def_ro("strategy", &ParallelizeAnswer::strategy)
      .def_ro("configurations", &ParallelizeAnswer::configurations);
  define_verb<ParallelizeRequest, ParallelizeAnswer>(module, "parallelize", &parallelize);
}

void bind_prove(nb::module_& module) {
  nb::class_<ProveRequest> request(module, "ProveRequest");
  request.def(nb::init<>())
      .def_rw("claims", &ProveRequest::claims)
      .def_rw("dialect", &ProveRequest::dialect)
      .def_rw("engine", &ProveRequest::engine)
      .def_rw("size", &ProveRequest::size)
      .def_rw("system", &ProveRequest::system);
  optional_member(request, "max_devices", &ProveRequest::max_devices);
  nb::class_<ClaimSummary>(module, "ClaimSummary")
      .def_ro("claim", &ClaimSummary::claim)
      .def_ro("hierarchy", &ClaimSummary::from)
      .def_ro("other_hierarchy", &ClaimSummary::to)
      .def_ro("dialect", &ClaimSummary::dialect)
      .def_ro("several_axes", &ClaimSummary::several_axes)
      .def_ro("systems", &ClaimSummary::systems)
      .def_ro("refuted", &ClaimSummary::refuted)
      .def_ro("undecided", &ClaimSummary::undecided)
      .def_prop_ro("outcome",
                   [](const ClaimSummary& each) { return std::string(to_string(each.outcome)); });
  nb::class_<ProveAnswer, Answer>(module, "ProveAnswer").def_ro("summary", &ProveAnswer::summary);
  define_verb<ProveRequest, ProveAnswer>(module, "prove", &prove);
  module.def("claim_names", [] {
    std::vector<std::string> names;
    for (const ClaimInfo& claim : list_claims().claims) names.push_back(claim.name);
    for (const ClaimInfo& claim : list_claims().schedules) names.push_back(claim.name);
    return names;
  });
}

}  // namespace

void bind_verbs(nb::module_& module) {
  bind_check(module);
  bind_define(module);
  bind_place(module);
  bind_synthesize(module);
  bind_states(module);
  bind_cost(module);
  bind_run(module);
  bind_oracle(module);
  bind_export(module);
  bind_pipeline(module);
  bind_reshard(module);
  bind_parallelize(module);
  bind_prove(module);
}

}  // namespace p2::python
