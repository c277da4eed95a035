#include "engine/base/files.h"
#include "engine/hardware/server.h"
#include "p2/system.h"

namespace p2 {

SystemInfo read_system_file(const std::string& file) {
  const System system = parse_system(file, read_file(file));
  SystemInfo info{system.name, {}, system.interconnects.size(), to_json(system)};
  for (const Level& level : system.hierarchy.levels()) {
    info.levels.push_back({level.name, level.size});
  }
  return info;
}

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

  ImportAnswer answer;
  answer.system = to_json(hardware::system_of(server, request.name, request.nodes, {request.file}));
  answer.results.push_back({.subject = request.file, .outcome = Outcome::Established});
  Document& document = answer.document;
  document.title = "p2-verify system";
  document.add(Preformatted{answer.system});
  document.json = Json::parse(answer.system);
  return answer;
}

}  // namespace p2
