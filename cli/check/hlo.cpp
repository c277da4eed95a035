#include "cli/check/hlo.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "engine/hlo/equality/goal.h"
#include "engine/hlo/stablehlo/parallel_run.h"
#include "engine/hlo/text/hlo_text.h"

namespace p2 {
namespace {

void require_applicable(const std::string& file, const CheckRequest& request) {
  const char* expected =
      "is a module, which the explicit engine alone judges, expected the check "
      "without";
  for (const std::string& flag : request.flags_for_programs) {
    const bool names_goal = flag == "goal" && request.hlo.reduces;
    if (!names_goal) throw InputError({file}, fmt::format("{} --{}", expected, flag));
  }
  if ((request.engines.z3 || request.engines.cnf) && !request.engines.reference) {
    throw InputError({file},
                     fmt::format("{} --engine {}", expected, request.engines.z3 ? "z3" : "cnf"));
  }
}

std::vector<hlo::StableHloModule> read_modules(const std::string& file, const std::string& text) {
  if (hlo::is_stablehlo(text)) return hlo::read_stablehlo(file, text);
  if (!hlo::is_hlo(text)) {
    throw InputError({file}, "is no module of XLA or StableHLO, expected one");
  }
  return {{hlo::read_hlo(file, text), {}}};
}

std::shared_ptr<const hlo::Module> read_module(const std::string& file, const std::string& text) {
  std::vector<hlo::StableHloModule> modules = read_modules(file, text);
  if (modules.size() != 1 || modules[0].run) {
    throw InputError({file}, "has several modules, or one that is a test, expected one module");
  }
  return std::make_shared<const hlo::Module>(std::move(modules[0].module));
}

/// The first verdict that is not valid, of all modules of a file; those with a test are run.
hlo::Verdict examine_all(const std::string& file, const std::string& text,
                         const CheckRequest& request) {
  hlo::Verdict all;
  for (hlo::StableHloModule& module : read_modules(file, text)) {
    const auto copy = std::make_shared<const hlo::Module>(module.module);
    hlo::Verdict verdict = hlo::examine(copy, request.hlo.question);
    std::vector<hlo::CollectiveLine> collectives = std::move(all.collectives);
    collectives.insert(collectives.end(), verdict.collectives.begin(), verdict.collectives.end());
    if (module.run && verdict.kind == hlo::Verdict::Kind::Valid) {
      const hlo::RunModules run = modules_of(module);
      verdict = compare(run.expected, run.actual, request.hlo.question, request.common.limits);
    }
    all = std::move(verdict);
    all.collectives = std::move(collectives);
    if (all.kind != hlo::Verdict::Kind::Valid) break;
  }
  return all;
}

/// The classes to reduce over: without --axes all devices are one axis.
std::vector<Group> classes_of(const CheckRequest& request, std::uint32_t devices) {
  GivenInstance given = request.given;
  const std::string all = std::to_string(devices);
  if (!given.axes) given.axes = parse_axes("--axes", all);
  if (!given.hierarchy) given.hierarchy = parse_hierarchy("--hierarchy", all);
  given.reduction = parse_reduction("--reduces", *request.hlo.reduces, *given.axes);
  const auto instance = given.resolve({"--reduces"});
  if (instance->grid.devices() != devices) {
    throw InputError({"--reduces"},
                     fmt::format("{} devices by the axes, {} by the module, expected "
                                 "as many",
                                 instance->grid.devices(), devices));
  }
  return instance->classes();
}

HloResult finished(HloResult result, const CheckRequest& request) {
  result.solvers_left_out = request.engines.z3 || request.engines.cnf;
  result.findings["explicit"] = {std::string(to_string(result.verdict.kind)), 0,
                                 result.verdict.rule};
  return result;
}

}  // namespace

bool is_module(const std::string& text) { return hlo::is_hlo(text) || hlo::is_stablehlo(text); }

HloResult check_hlo(const std::string& file, const std::string& text, const CheckRequest& request) {
  require_applicable(file, request);
  HloResult result{file, {}, {}, {}, {}};
  if (!request.hlo.reduces) {
    if (request.hlo.question.ordered) {
      throw InputError({"--order"},
                       "orders are compared of two modules, expected --before and "
                       "--after");
    }
    result.verdict = examine_all(file, text, request);
    return finished(std::move(result), request);
  }
  const auto module = read_module(file, text);
  result.goal = request.given.terms.goal.name;
  const auto goal = hlo::goal_called(result.goal);
  if (!goal) {
    throw InputError({"--goal"}, fmt::format("'{}' is no goal of a module, expected allreduce, "
                                             "reducescatter, allgather, broadcast or alltoall",
                                             result.goal));
  }
  const hlo::Devices devices = devices_of({module.get()}, request.hlo.question.devices);
  const auto wanted = goal_module(*module, *goal, classes_of(request, devices.count()));
  result.verdict = compare(wanted, module, request.hlo.question, request.common.limits);
  return finished(std::move(result), request);
}

HloResult compare_hlo(const CheckRequest& request) {
  const std::string& before = *request.hlo.before;
  const std::string& after = *request.hlo.after;
  require_applicable(before, request);
  HloResult result{after, before, {}, {}, {}};
  result.verdict =
      compare(read_module(before, read_file(before)), read_module(after, read_file(after)),
              request.hlo.question, request.common.limits);
  return finished(std::move(result), request);
}

}  // namespace p2
