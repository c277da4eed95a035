#include "p2/system.h"

#include <filesystem>
#include <ostream>

#include "cli/command.h"

namespace p2 {
namespace {

constexpr std::uint64_t kMaxNodes = 1 << 20;

FlagGroup import_flags() {
  return {"Import",
          {{"from", "nvidia-smi-topo|nccl-topo",
            "what FILE is: the text of nvidia-smi topo -m, or NCCL's topology dump "
            "(NCCL_TOPO_DUMP_FILE)"},
           {"name", "NAME", "of the system (default: the name of the file)"},
           {"nodes", "N", "how many such hosts (default 1)"},
           {"nvlink", "BANDWIDTH", "of one NVLink per direction: 25 GB/s"},
           {"pcie", "BANDWIDTH", "of a GPU's slot per direction: 31.5 GB/s"},
           {"nic", "BANDWIDTH", "of one NIC per direction: 200 Gbit/s"},
           {"gpu", "NAME", "the GPU, where the dump does not tell: H100-SXM"},
           {"fabric", "NAME", "what joins the nodes: ib-ndr, roce, efa, tcp"}}};
}

}  // namespace

int run_system(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify system --from nvidia-smi-topo|nccl-topo FILE [OPTION…]\n"
      "Makes a system file from a dump of a host's hardware: levels node and gpu, NVLink, PCIe,\n"
      "NICs, the GPU's name, and the network where there are several nodes. A bandwidth that the\n"
      "dump does not say has to be given; what else it does not tell is said.",
      {import_flags()}, arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  const std::vector<std::string> files = line.texts("files");
  if (files.size() != 1) throw InputError({"command line"}, "expected exactly one file");
  if (!line.has("from")) {
    throw InputError({"--from"}, "is missing, expected --from nvidia-smi-topo or nccl-topo");
  }
  using Dump = ImportRequest::Dump;
  ImportRequest request;
  request.dump = line.choice<Dump>(
      "from", {{"nvidia-smi-topo", Dump::NvidiaSmiTopo}, {"nccl-topo", Dump::NcclTopo}});
  request.file = files.front();
  if (request.file != "-") request.name = std::filesystem::path(request.file).stem().string();
  request.name = line.text("name").value_or(request.name);
  request.nodes = static_cast<std::uint32_t>(line.integer("nodes", 1, kMaxNodes, 1));
  request.nvlink = line.text("nvlink");
  request.pcie = line.text("pcie");
  request.nic = line.text("nic");
  request.gpu = line.text("gpu");
  request.fabric = line.text("fabric");
  return print_answer(import_system(request, options_of(common, err)), common, out, err);
}

}  // namespace p2
