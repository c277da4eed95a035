#include "engine/base/files.h"
#include "engine/hardware/server.h"
#include "p2/system.h"

namespace p2 {

ImportAnswer import_system(const ImportRequest& request, const Options&) {
  const std::string text = read_file(request.file);
  hardware::Server server = request.dump == ImportRequest::Dump::NcclTopo
                                ? hardware::read_nccl_topology(request.file, text)
                                : hardware::read_topo_matrix(request.file, text);
  if (request.nvlink) server.nvlink_bandwidth = parse_bandwidth(*request.nvlink, {"--nvlink"});
  if (request.pcie) server.pcie_bandwidth = parse_bandwidth(*request.pcie, {"--pcie"});
  if (request.nic) {
    const std::int64_t bandwidth = parse_bandwidth(*request.nic, {"--nic"});
    for (hardware::Server::Nic& nic : server.nics) nic.bandwidth = bandwidth;
  }
  if (request.name.empty()) throw InputError({"--name"}, "is empty, expected text");
  const System system = hardware::system_of(server, request.name, request.nodes, {request.file});

  ImportAnswer answer;
  answer.system = to_json(system);
  answer.results.push_back({.subject = request.file, .outcome = Outcome::Established});
  Document& document = answer.document;
  document.title = "p2-verify system";
  document.add(Preformatted{answer.system});
  document.json.add("name", system.name);
  document.json.add("hierarchy", Json::array_of(system.hierarchy.levels(), [](const Level& level) {
                      return Json::object({{"name", level.name}, {"size", level.size}});
                    }));
  document.json.add(
      "interconnects", Json::array_of(system.interconnects, [](const Interconnect& link) {
        return Json::object({{"name", link.name},
                             {"kind", to_string(link.kind)},
                             {"level", link.level},
                             {"span", link.span},
                             {"bandwidth", bandwidth_to_string(link.bytes_per_second)},
                             {"latency", latency_to_string(link.latency_ps)},
                             {"duplex", to_string(link.duplex)}});
      }));
  return answer;
}

}  // namespace p2
