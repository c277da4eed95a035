// NCCL's topology dump (NCCL_TOPO_DUMP_FILE): <system> of <cpu> of nested <pci>; a <gpu> with its
// <nvlink>s, or a <nic> with its <net>s, inside the <pci> of its slot.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/base/xml_elements.h"
#include "engine/hardware/server.h"

namespace p2::hardware {
namespace {

constexpr std::size_t kMaxGpus = 256;
constexpr std::size_t kMaxNets = 1024;
constexpr std::int64_t kMaxLinks = 1024;

/// Nominal bandwidth of one NVLink and direction, by compute capability, the newest that is not
/// newer.
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 6> kNvlinkBandwidths{
    {{60, 20'000'000'000},
     {70, 25'000'000'000},
     {80, 25'000'000'000},
     {86, 14'062'500'000},
     {90, 25'000'000'000},
     {100, 50'000'000'000}}};

/// Transfers per second of the generations of PCIe, in millions, and the share of the bits that are
/// data.
struct PcieSpeed {
  std::string_view text;
  std::int64_t mega_transfers;
  std::int64_t data_bits;
  std::int64_t of_bits;
};
constexpr std::array<PcieSpeed, 6> kPcieSpeeds{{{"2.5", 2'500, 8, 10},
                                                {"5", 5'000, 8, 10},
                                                {"8", 8'000, 128, 130},
                                                {"16", 16'000, 128, 130},
                                                {"32", 32'000, 128, 130},
                                                {"64", 64'000, 242, 256}}};

/// NVIDIA's GPUs by PCI device (the PCI ID repository, vendor 10de), as system files name them.
constexpr std::array<std::pair<std::int64_t, std::string_view>, 47> kProducts{
    {{0x15f8, "P100-PCIE"}, {0x15f9, "P100-SXM2"}, {0x1db1, "V100-SXM2"},
     {0x1db4, "V100-PCIE"}, {0x1db5, "V100-SXM2"}, {0x1db6, "V100-PCIE"},
     {0x1db8, "V100-SXM3"}, {0x1df5, "V100-SXM2"}, {0x1df6, "V100S-PCIE"},
     {0x1eb8, "T4"},        {0x20b0, "A100-SXM4"}, {0x20b1, "A100-PCIE"},
     {0x20b2, "A100-SXM4"}, {0x20b3, "A100-SXM4"}, {0x20b5, "A100-PCIE"},
     {0x20b7, "A30-PCIE"},  {0x20bd, "A800-SXM4"}, {0x20f1, "A100-PCIE"},
     {0x20f3, "A800-SXM4"}, {0x20f5, "A800-PCIE"}, {0x2204, "RTX 3090"},
     {0x2230, "RTX A6000"}, {0x2235, "A40"},       {0x2236, "A10"},
     {0x2237, "A10G"},      {0x2321, "H100-PCIE"}, {0x2322, "H800-PCIE"},
     {0x2324, "H800-SXM"},  {0x2329, "H20-SXM"},   {0x232c, "H20-SXM"},
     {0x2330, "H100-SXM"},  {0x2331, "H100-PCIE"}, {0x2335, "H200-SXM"},
     {0x2337, "H100-SXM"},  {0x2338, "H100-SXM"},  {0x2339, "H100-SXM"},
     {0x233b, "H200-PCIE"}, {0x2342, "GH200"},     {0x2348, "GH200"},
     {0x26b5, "L40"},       {0x26b9, "L40S"},      {0x27b8, "L4"},
     {0x2901, "B200"},      {0x2941, "GB200"},     {0x2bb5, "RTX PRO 6000 Blackwell"},
     {0x3182, "B300"},      {0x31c2, "GB300"}}};

/// The GPU of data centres with a compute capability, where its NVLinks and the generation decide.
/// Others (75, 86, 89, 120) are also those of cards that differ in access to each other.
struct Capability {
  std::int64_t sm;
  std::string_view with_nvlink;
  std::string_view without;
};
constexpr std::array<Capability, 6> kCapabilities{{{60, "P100-SXM2", "P100-PCIE"},
                                                   {70, "V100-SXM2", "V100-PCIE"},
                                                   {80, "A100-SXM4", "A100-PCIE"},
                                                   {90, "H100-SXM", "H100-PCIE"},
                                                   {100, "B200", ""},
                                                   {103, "B300", ""}}};

/// The number of a text such as `0x2330`; -1 for another one.
std::int64_t hexadecimal(std::string_view text) {
  std::int64_t number = -1;
  if (!text.starts_with("0x")) return -1;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

/// The bandwidth of a slot; nothing where the dump leaves speed or width empty.
std::optional<std::int64_t> pcie_bandwidth(const XmlElement& pci) {
  if (!pci.has("link_speed") || !pci.has("link_width")) return std::nullopt;
  const std::string_view speed = pci.text("link_speed");
  if (speed.empty() || pci.text("link_width").empty()) return std::nullopt;
  std::string_view number = speed.substr(0, std::min(speed.find(' '), speed.size()));
  if (number.ends_with(".0")) number.remove_suffix(2);
  const std::int64_t lanes = pci.integer("link_width", 0, 32);
  if (lanes == 0) return std::nullopt;
  for (const PcieSpeed& each : kPcieSpeeds) {
    if (each.text != number) continue;
    return each.mega_transfers * 1'000'000 / 8 * lanes * each.data_bits / each.of_bits;
  }
  pci.fail(fmt::format("link_speed=\"{}\", expected 2.5, 5, 8, 16, 32 or 64 GT/s", speed));
}

struct Gpu {
  std::int64_t dev = 0;
  std::int64_t sm = 0;
  std::string bus;
  std::int64_t device = -1;  ///< of vendor NVIDIA; -1 where the dump does not say
  std::optional<std::int64_t> pcie;
  std::vector<std::size_t> path;  ///< the numbers of the elements that contain it, outermost first
  std::uint32_t switched = 0;     ///< links to switches
  std::map<std::string, std::uint32_t> direct = {};  ///< links by the bus of the other GPU
};

struct Net {
  std::string name;
  std::optional<std::int64_t> bandwidth;
  std::vector<std::size_t> path;
};

class Reading {
 public:
  void add(const XmlElement& element) {
    if (element.depth == 0 && element.name != "system") {
      element.fail(fmt::format("<{}>, expected <system>, NCCL's topology dump", element.name));
    }
    path_.resize(element.depth);
    slots_.resize(element.depth);
    path_.push_back(count_++);
    slots_.push_back(slots_.empty() ? Slot{} : slots_.back());
    if (element.name == "pci") {
      constexpr std::int64_t kNvidia = 0x10de;
      const bool named = element.has("vendor") && element.has("device") &&
                         hexadecimal(element.text("vendor")) == kNvidia;
      slots_.back() = {std::string(element.text("busid")), pcie_bandwidth(element),
                       named ? hexadecimal(element.text("device")) : -1};
    }
    if (element.name == "gpu") add_gpu(element);
    if (element.name == "nvlink") add_link(element);
    if (element.name == "net") add_net(element);
  }

  std::vector<Gpu> gpus;
  std::vector<Net> nets;

 private:
  struct Slot {
    std::string bus;
    std::optional<std::int64_t> bandwidth;
    std::int64_t device = -1;
  };

  void add_gpu(const XmlElement& element) {
    if (gpus.size() == kMaxGpus) {
      element.fail(fmt::format("more than {} GPUs, expected fewer", kMaxGpus));
    }
    Gpu gpu;
    gpu.dev = element.integer("dev", 0, 1'000'000);
    gpu.sm = element.integer("sm", 0, 1'000);
    gpu.bus = slots_.back().bus;
    gpu.pcie = slots_.back().bandwidth;
    gpu.device = slots_.back().device;
    gpu.path = path_;
    for (const Gpu& other : gpus) {
      if (other.dev == gpu.dev) element.fail(fmt::format("dev=\"{}\" is given twice", gpu.dev));
    }
    gpu_depth_ = element.depth;
    gpus.push_back(std::move(gpu));
  }

  void add_link(const XmlElement& element) {
    if (gpus.empty() || element.depth != gpu_depth_ + 1) {
      element.fail("<nvlink> outside <gpu>, expected it inside");
    }
    const auto count = static_cast<std::uint32_t>(element.integer("count", 1, kMaxLinks));
    const std::string_view kind = element.text("tclass");
    if (kind.starts_with("0x0680")) {
      gpus.back().switched += count;
    } else if (kind.starts_with("0x03")) {
      gpus.back().direct[std::string(element.text("target"))] += count;
    }  // else to a CPU, which no GPU reaches another by
  }

  void add_net(const XmlElement& element) {
    if (nets.size() == kMaxNets) {
      element.fail(fmt::format("more than {} network interfaces, expected fewer", kMaxNets));
    }
    Net net;
    net.name = element.has("name") ? std::string(element.text("name")) : "";
    const std::int64_t megabits = element.integer("speed", 0, 100'000'000, 0);
    if (megabits > 0) net.bandwidth = megabits * 1'000'000 / 8;
    net.path = path_;
    nets.push_back(std::move(net));
  }

  std::size_t count_ = 0;
  std::vector<std::size_t> path_;
  std::vector<Slot> slots_;
  std::size_t gpu_depth_ = 0;
};

/// Smaller where more elements contain both.
int distance(const std::vector<std::size_t>& one, const std::vector<std::size_t>& other) {
  const auto [end, unused] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return -static_cast<int>(end - one.begin());
}

std::uint32_t links_between(const Gpu& one, const Gpu& other) {
  if (one.switched > 0 && other.switched > 0) return std::min(one.switched, other.switched);
  const auto found = one.direct.find(other.bus);
  return found == one.direct.end() ? 0 : found->second;
}

}  // namespace

namespace {

/// Names the GPU by its PCI device, or by its compute capability; not where the GPUs differ.
void name_gpu(const std::vector<Gpu>& gpus, Server& server) {
  const Gpu& first = gpus.front();
  const auto alike = [&](const Gpu& gpu) {
    return gpu.device == first.device && gpu.sm == first.sm;
  };
  if (!std::all_of(gpus.begin(), gpus.end(), alike)) return;
  for (const auto& [device, name] : kProducts) {
    if (device != first.device) continue;
    server.gpu = name;
    server.gpu_source = fmt::format("PCI device {:#06x}", device);
    return;
  }
  for (const Capability& each : kCapabilities) {
    if (each.sm != first.sm) continue;
    const std::vector<std::uint32_t>& links = server.nvlinks.front();
    const auto joined =
        std::count_if(links.begin(), links.end(), [](auto count) { return count > 0; });
    const bool all = static_cast<std::size_t>(joined) + 1 == gpus.size();
    if (!all && joined > 0) return;  // some of the cards are bridged, or a cube mesh
    server.gpu = all ? each.with_nvlink : each.without;
    server.gpu_source =
        fmt::format("compute capability {} {} NVLink", each.sm, all ? "with" : "without");
  }
}

}  // namespace

Server read_nccl_topology(const std::string& source, const std::string& text) {
  Reading reading;
  read_xml(source, text, "system", [&](const XmlElement& element) { reading.add(element); });
  std::vector<Gpu>& gpus = reading.gpus;
  if (gpus.empty()) throw InputError({source}, "lists no GPU, expected <gpu> elements");
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.dev < b.dev; });

  Server server;
  server.gpus = gpus.size();
  for (const Gpu& gpu : gpus) {
    auto& row = server.nvlinks.emplace_back();
    for (const Gpu& other : gpus) row.push_back(&gpu == &other ? 0 : links_between(gpu, other));
    if (gpu.pcie)
      server.pcie_bandwidth = std::min(*gpu.pcie, server.pcie_bandwidth.value_or(*gpu.pcie));
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (server.nvlinks[i][j] == server.nvlinks[j][i]) continue;
      throw InputError(
          {source},
          fmt::format("GPU {} has {} NVLinks to GPU {}, and back {}, expected "
                      "the same number",
                      gpus[i].dev, server.nvlinks[i][j], gpus[j].dev, server.nvlinks[j][i]));
    }
  }
  for (const auto& [sm, bandwidth] : kNvlinkBandwidths) {
    if (gpus.front().sm >= sm) server.nvlink_bandwidth = bandwidth;
  }
  server.nvswitch =
      std::all_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.switched > 0; });
  name_gpu(gpus, server);
  for (const Net& net : reading.nets) {
    Server::Nic& nic = server.nics.emplace_back(Server::Nic{net.name, net.bandwidth, {}});
    for (const Gpu& gpu : gpus) nic.distance.push_back(distance(gpu.path, net.path));
  }
  return server;
}

}  // namespace p2::hardware
