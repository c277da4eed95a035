#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/hlo/modules.h"

/// Claims about several programs, each on devices of its own.
namespace p2::hlo::several {

using Json = nlohmann::ordered_json;
using kernel::Verdict;

/// Whole arrays f32[4] on these devices, of the programs' inputs or outputs of this number.
struct Held {
  std::vector<int> devices;
  std::vector<std::pair<int, int>> numbers;  ///< program, number
  bool is_cut = false;                       ///< in as many pieces as devices
  bool is_sum = false;                       ///< in as many parts as devices
};

struct Programs {
  std::string before;
  std::vector<std::pair<Json, std::string>> programs;  ///< ranges of devices, text
  std::vector<Held> inputs, outputs;
  int devices = 2;
};

inline constexpr const char* kReducers =
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
    "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, "
    "b)\n}\n";

inline std::string program(const std::string& entry, int partitions = 1) {
  return fmt::format("HloModule stage, num_partitions={}, is_scheduled=true\n", partitions) +
         kReducers + "ENTRY main {\n  token = token[] after-all()\n" + entry + "}\n";
}

inline std::string single(const std::string& entry) {
  return std::string("HloModule single\n") + kReducers + "ENTRY main {\n" + entry + "}\n";
}

inline std::string problem(const Programs& programs) {
  Json json = {{"before", single(programs.before)},
               {"devices", programs.devices},
               {"programs", Json::array()},
               {"placements", Json::array()}};
  for (const auto& [devices, text] : programs.programs)
    json["programs"].push_back({{"devices", devices}, {"module", text}});
  for (const bool of_inputs : {true, false}) {
    Json& list = json[of_inputs ? "inputs" : "outputs"] = Json::array();
    for (const Held& held : of_inputs ? programs.inputs : programs.outputs) {
      const int count = static_cast<int>(held.devices.size());
      Json pieces = Json::array();
      for (int k = 0; k < count; ++k) {
        const int size = held.is_cut ? 4 / count : 4;
        pieces.push_back({held.devices[static_cast<std::size_t>(k)], held.is_sum ? k : 0,
                          held.is_cut ? k * size : 0, 0, size});
      }
      list.push_back({{"placement", json["placements"].size()}, {"numbers", held.numbers}});
      json["placements"].push_back({{"parts", held.is_sum ? count : 1},
                                    {"reducer", held.is_sum ? "add" : ""},
                                    {"pieces", std::move(pieces)}});
    }
  }
  return json.dump();
}

/// The certificate, or why there is none; no engine has looked at the programs.
inline std::variant<CertificateFiles, std::string> certified(const std::string& problem) {
  CertificateFiles files = {{"problem.json", problem}};
  auto evidence = programs_evidence(files);
  if (evidence.index() != 0) return std::get<1>(evidence);
  files["relation.json"] = std::get<0>(evidence);
  add_manifest("programs-equal", {}, files);
  const kernel::Result result = check_certificate(files);
  if (result.verdict != Verdict::Accepted) return result.reason;
  return files;
}

/// `accepted`, or why not.
inline std::string answer(const Programs& programs) {
  const auto made = certified(problem(programs));
  return made.index() == 0 ? "accepted" : std::get<1>(made);
}

inline std::string pairs(const std::string& list) {
  return ", frontend_attributes={_xla_send_recv_source_target_pairs={" + list + "}}";
}
inline std::string send(const std::string& name, const std::string& value, int channel,
                        const std::string& list, const std::string& shape = "f32[4]") {
  return fmt::format("  {0} = ({4}, u32[], token[]) send({1}, token), channel_id={2}{3}\n", name,
                     value, channel, pairs(list), shape) +
         fmt::format("  {0}.done = token[] send-done({0}), channel_id={1}\n", name, channel);
}
inline std::string start_receive(const std::string& name, int channel, const std::string& list,
                                 const std::string& shape = "f32[4]") {
  return fmt::format("  {}.start = ({}, u32[], token[]) recv(token), channel_id={}{}\n", name,
                     shape, channel, pairs(list));
}
inline std::string finish_receive(const std::string& name, int channel,
                                  const std::string& shape = "f32[4]") {
  return fmt::format("  {0}.done = ({2}, token[]) recv-done({0}.start), channel_id={1}\n", name,
                     channel, shape) +
         fmt::format("  {0} = {1} get-tuple-element({0}.done), index=0\n", name, shape);
}
inline std::string receive(const std::string& name, int channel, const std::string& list,
                           const std::string& shape = "f32[4]") {
  return start_receive(name, channel, list, shape) + finish_receive(name, channel, shape);
}

inline const std::string kX = "  x = f32[4] parameter(0)\n";
inline const std::string kEnd = "  ROOT end = () tuple()\n";
inline const Json kFirst = {{0, 0}};
inline const Json kSecond = {{1, 1}};

/// Device 0 doubles its input, device 1 squares what it receives.
inline Programs two_stages(const std::string& first, const std::string& second) {
  return {kX + "  d = f32[4] add(x, x)\n  ROOT y = f32[4] multiply(d, d)\n",
          {{kFirst, program(first)}, {kSecond, program(second)}},
          {{{0}, {{0, 0}}}},
          {{{1}, {{1, 0}}}}};
}
inline const std::string kDouble = kX + "  d = f32[4] add(x, x)\n";
inline const std::string kSquare = "  ROOT y = f32[4] multiply(r, r)\n";

}  // namespace p2::hlo::several
