#include "cli/check_hlo.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "engine/hlo/goal.h"
#include "engine/hlo/hlo_text.h"

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

std::shared_ptr<const hlo::Module> read_module(const std::string& file, const std::string& text) {
  if (!is_module(text)) {
    throw InputError({file}, "is no module of XLA or StableHLO, expected one");
  }
  return std::make_shared<const hlo::Module>(hlo::read_hlo(file, text));
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

bool is_module(const std::string& text) { return hlo::is_hlo(text); }

HloResult check_hlo(const std::string& file, const std::string& text, const CheckRequest& request) {
  require_applicable(file, request);
  const auto module = read_module(file, text);
  HloResult result{file, {}, {}, {}, {}};
  if (!request.hlo.reduces) {
    if (request.hlo.question.ordered) {
      throw InputError({"--order"},
                       "orders are compared of two modules, expected --before and "
                       "--after");
    }
    result.verdict = hlo::examine(module, request.hlo.question);
    return finished(std::move(result), request);
  }
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
