#include "proofs/certificate/plan_certificate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "p2/error.h"

namespace p2 {
namespace {

using reshard::Box;

std::string text_of(const Box& box) {
  constexpr std::int64_t kMaxCoordinate = (std::int64_t{1} << 31U) - 1;
  for (const auto* corner : {&box.low, &box.high}) {
    for (const std::int64_t each : *corner) {
      if (each >= 0 && each <= kMaxCoordinate) continue;
      throw LimitReached(LimitReached::Kind::Size,
                         "p2-check reads coordinates from 0 to 2^31 - 1 only");
    }
  }
  return fmt::format("{},{}", fmt::join(box.low, ","), fmt::join(box.high, ","));
}

std::string text_of(const std::vector<Box>& boxes) {
  std::string text;
  for (const Box& box : boxes) {
    text += fmt::format("{}[{}]", text.empty() ? "" : ",", text_of(box));
  }
  return "[" + text + "]";
}

std::string text_of(const reshard::DeviceProgram& program) {
  std::string text;
  for (const reshard::Step& step : program) {
    text += &step == &program.front() ? "[" : ",\n  [";
    for (const reshard::Operation& each : step) {
      const int kind = !each.sends ? 0 : each.buffer == reshard::Buffer::Source ? 1 : 2;
      text += fmt::format("{}[{},{},{}]", &each == &step.front() ? "" : ",", kind, each.peer,
                          text_of(each.box));
    }
    text += "]";
  }
  return "[" + text + "]";
}

}  // namespace

CertificateFiles plan_certificate(const reshard::Plan& plan, bool right,
                                  const Provenance& provenance) {
  const reshard::Reshard& problem = plan.problem;
  std::string text = fmt::format("{{\"dimensions\":{},\n\"has\":{},\n\"needs\":{},\n\"programs\":[",
                                 problem.shape.size(), text_of(problem.regions(problem.from)),
                                 text_of(problem.regions(problem.to)));
  for (const reshard::DeviceProgram& program : plan.programs) {
    text += (&program == &plan.programs.front() ? "\n " : ",\n ") + text_of(program);
  }
  CertificateFiles files{{"plan.json", text + "]}\n"}};
  add_manifest(right ? "reshard-plan" : "reshard-plan-wrong", provenance, files);
  return files;
}

}  // namespace p2
