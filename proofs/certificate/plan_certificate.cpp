#include "proofs/certificate/subject_certificates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/text_cursor.h"
#include "p2/error.h"
#include "proofs/kernel/certificate.h"
#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"

namespace p2 {
namespace {

/// Adds the manifest, and `fault`, what p2-check finds wrong, if it is to be wrong.
template <typename FindFault>
std::variant<CertificateFiles, std::string> completed(CertificateFiles files,
                                                      const std::string& claim, bool valid,
                                                      const FindFault& find_fault,
                                                      const Provenance& provenance) {
  if (!valid) {
    try {
      files["fault.json"] = find_fault(files);
    } catch (const kernel::CheckFailure& failure) {
      return failure.what();
    }
    if (files["fault.json"].empty()) return "p2-check finds no fault that is one in any case";
  }
  add_manifest(claim + (valid ? "-valid" : "-invalid"), provenance, files);
  const kernel::Result result = check_certificate(files);
  if (result.verdict == kernel::Verdict::Accepted) return files;
  return result.reason;
}

}  // namespace

std::variant<CertificateFiles, std::string> onesided_certificate(const std::string& plan,
                                                                 bool valid,
                                                                 const Provenance& provenance) {
  std::string file = plan;  // JSON, but for the text format
  if (plan.find('{') > plan.find_first_not_of(" \t\r\n")) {
    if (first_not_utf8(plan) != plan.size()) return "the plan is not UTF-8";
    file = nlohmann::json({{"text", plan}}).dump() + "\n";
  }
  return completed({{"plan.json", file}}, "onesided", valid, kernel::onesided_fault, provenance);
}

std::variant<CertificateFiles, std::string> algorithm_certificate(const std::string& xml,
                                                                  bool valid,
                                                                  const Provenance& provenance) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  const std::string problem = nlohmann::json({{"xml", xml}}).dump(-1, ' ', false, kReplace);
  return completed({{"problem.json", problem + "\n"}}, "algorithm", valid, kernel::algorithm_fault,
                   provenance);
}

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
