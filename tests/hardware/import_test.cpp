#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/hardware/server.h"
#include "tests/base/complaint.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
using namespace p2::hardware;

namespace {

/// Four GPUs joined by switches, two NICs, each near to two GPUs; the header as on a terminal.
const std::string kSwitched =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tNV18\tNV18\tPIX\tSYS\t0-55\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tNV18\tPIX\tSYS\t0-55\t0\t\tN/A\n"
    "GPU2\tNV18\tNV18\t X \tNV18\tSYS\tPXB\t56-111\t1\t\tN/A\n"
    "GPU3\tNV18\tNV18\tNV18\t X \tSYS\tPXB\t56-111\t1\t\tN/A\n"
    "NIC0\tPIX\tPIX\tSYS\tSYS\t X \tSYS\n"
    "NIC1\tSYS\tSYS\tPXB\tPXB\tSYS\t X \n"
    "\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n";

/// The matrix of GPUs alone with these cells.
std::string matrix(const std::vector<std::vector<std::string>>& cells) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) text += " GPU" + std::to_string(i);
  text += " CPU Affinity\n";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += "GPU" + std::to_string(i);
    for (const std::string& cell : cells[i]) text += " " + cell;
    text += " 0-7\n";
  }
  return text;
}

Server read(const std::string& text) { return read_topo_matrix("t", text); }

std::string refused(const std::string& text) {
  return complaint([&] { read(text); });
}

/// Each interconnect as `name kind level/span bandwidth`.
std::vector<std::string> links_of(const Server& server, std::uint32_t nodes) {
  std::vector<std::string> links;
  for (const Interconnect& link : system_of(server, "x", nodes, {"t"}).interconnects) {
    links.push_back(link.name + " " + std::string(to_string(link.kind)) + " " + link.level + "/" +
                    std::to_string(link.span) + " " + bandwidth_to_string(link.bytes_per_second));
  }
  return links;
}

using Lines = std::vector<std::string>;
constexpr std::int64_t kGiga = 1'000'000'000;

}  // namespace

TEST_CASE("the matrix of nvidia-smi is read: NVLinks, and the distance of NICs") {
  const Server server = read(kSwitched);
  CHECK(server.gpus == 4);
  CHECK(server.nvlinks[0] == std::vector<std::uint32_t>{0, 18, 18, 18});
  REQUIRE(server.nics.size() == 2);
  CHECK(server.nics[0].name == "mlx5_0");  // by the legend
  CHECK(server.nics[0].distance[0] < server.nics[1].distance[0]);
  CHECK(server.nics[1].distance[3] < server.nics[0].distance[3]);
  CHECK(!server.nvlink_bandwidth);
}

TEST_CASE("GPUs joined each with each are a switch, NICs are shared by the GPUs next to them") {
  Server server = read(kSwitched);
  server.nvlink_bandwidth = 25 * kGiga;
  CHECK(links_of(server, 1) == Lines{"NVSwitch switch gpu/4 450 GB/s"});
  for (Server::Nic& nic : server.nics) nic.bandwidth = 50 * kGiga;
  CHECK(links_of(server, 16) == Lines{"NVSwitch switch gpu/4 450 GB/s",
                                      "NIC shared-nic gpu/2 50 GB/s",
                                      "network switch node/16 100 GB/s"});
}

TEST_CASE("pairs, rings and hosts without NVLink") {
  Server pairs = read(matrix({{"X", "NV4", "SYS", "SYS"},
                              {"NV4", "X", "SYS", "SYS"},
                              {"SYS", "SYS", "X", "NV4"},
                              {"SYS", "SYS", "NV4", "X"}}));
  pairs.nvlink_bandwidth = 25 * kGiga;
  pairs.pcie_bandwidth = 32 * kGiga;
  CHECK(links_of(pairs, 1) == Lines{"NVLink switch gpu/2 100 GB/s", "PCIe switch gpu/4 32 GB/s"});
  Server ring = read(matrix({{"X", "NV2", "PHB", "NV2"},
                             {"NV2", "X", "NV2", "PHB"},
                             {"PHB", "NV2", "X", "NV2"},
                             {"NV2", "PHB", "NV2", "X"}}));
  ring.nvlink_bandwidth = 20 * kGiga;
  CHECK(links_of(ring, 1) == Lines{"NVLink ring gpu/4 80 GB/s"});
  Server plain = read(matrix({{"X", "PHB"}, {"PHB", "X"}}));
  plain.pcie_bandwidth = 16 * kGiga;
  CHECK(links_of(plain, 1) == Lines{"PCIe switch gpu/2 16 GB/s"});
  CHECK(links_of(read(matrix({{"X"}})), 1).empty());
}

TEST_CASE("several NICs for a GPU count together, those of a run that does not divide are shared") {
  Server server;
  server.gpus = 2;
  server.nvlinks = {{0, 1}, {1, 0}};
  server.nvlink_bandwidth = kGiga;
  const auto nic = [](std::vector<int> distance) {
    return Server::Nic{"", 10 * kGiga, std::move(distance)};
  };
  server.nics = {nic({1, 2}), nic({1, 2}), nic({2, 1}), nic({2, 1}), nic({3, 3})};
  CHECK(links_of(server, 2)[1] == "NIC shared-nic gpu/1 20 GB/s");
  CHECK(links_of(server, 2)[2] == "network switch node/2 40 GB/s");
  server.nics = {nic({1, 1}), nic({1, 1}), nic({1, 1})};
  CHECK(links_of(server, 2)[1] == "NIC shared-nic gpu/2 30 GB/s");
  server.nics = {nic({1, 2}), nic({2, 1}), nic({2, 1})};
  CHECK(complaint([&] { links_of(server, 2); }).starts_with("t: GPUs with the same nearest NICs"));
}

TEST_CASE("what is missing or cannot be expressed is said") {
  const Server plain = read(matrix({{"X", "PHB"}, {"PHB", "X"}}));
  CHECK(complaint([&] { links_of(plain, 1); }) ==
        "--pcie: missing bandwidth of PCIe, expected --pcie, e.g. 25 GB/s");
  CHECK(complaint([&] {
          links_of(read(kSwitched), 1);
        }).starts_with("--nvlink: missing bandwidth of an NVLink"));
  Server joined = read(matrix({{"X", "NV4"}, {"NV4", "X"}}));
  joined.nvlink_bandwidth = kGiga;
  CHECK(complaint([&] { links_of(joined, 2); }) ==
        "t: lists no NIC, expected one where there are several nodes");
  Server nics = read(kSwitched);
  nics.nvlink_bandwidth = kGiga;
  CHECK(complaint([&] { links_of(nics, 2); }).starts_with("--nic: missing bandwidth"));
  Server crossed = read(matrix({{"X", "SYS", "NV4", "SYS"},
                                {"SYS", "X", "SYS", "NV4"},
                                {"NV4", "SYS", "X", "SYS"},
                                {"SYS", "NV4", "SYS", "X"}}));
  crossed.nvlink_bandwidth = kGiga;
  CHECK(complaint([&] { links_of(crossed, 1); }).starts_with("t: NVLink joins neither runs"));
}

TEST_CASE("a text that is no matrix is refused where it is wrong") {
  CHECK(refused("").starts_with("t:1:1: no header, expected the matrix of nvidia-smi topo -m"));
  CHECK(refused("\n\nhello world\n").starts_with("t:3:1: no header"));
  CHECK(refused("NIC0 GPU0\n").starts_with("t:1:1: no header"));
  CHECK(refused("GPU0 NIC0 GPU1\n") == "t:1:11: a GPU after a NIC, expected all GPUs first");
  CHECK(refused(" GPU0 GPU1\nGPU0 X PIX\n") == "t:3:1: no row, expected that of GPU1");
  CHECK(refused(" GPU0 GPU1\nGPU0 X PIX\nGPU2 PIX X\n") ==
        "t:3:1: found 'GPU2', expected the row of GPU1");
  CHECK(refused(" GPU0 GPU1\nGPU0 X\n") ==
        "t:2:6: the row of GPU0 has 1 cell, expected 2: one per column");
  CHECK(refused(" GPU0 GPU1\nGPU0 X NVX\nGPU1 NV1 X\n") ==
        "t:2:8: found 'NVX', expected NV#, PIX, PXB, PHB, NODE or SYS");
  CHECK(refused(" GPU0 GPU1\nGPU0 PIX PIX\nGPU1 PIX X\n") == "t:2:6: found 'PIX', expected X");
  CHECK(refused(" GPU0 NIC0\nGPU0 X NV1\nNIC0 NV1 X\n") ==
        "t:2:8: found 'NV1', expected PIX, PXB, PHB, NODE or SYS");
  CHECK(refused(" GPU0 GPU1\nGPU0 X NV1\nGPU1 NV2 X\n") ==
        "t:3:6: GPU1 to GPU0 is NV2, and back NV1, expected the same");
  CHECK(refused(" GPU0 GPU1\nGPU0 X NV99999999999\nGPU1 NV1 X\n").starts_with("t:2:8: found"));
  std::string many;
  for (int i = 0; i < 300; ++i) many += " GPU" + std::to_string(i);
  CHECK(refused(many + "\n").starts_with("t:1:2: 300 devices, expected at most 256"));
}

TEST_CASE("every prefix of a matrix is read, from the last row on, or refused") {
  std::size_t accepted = 0;
  for (std::size_t length = 0; length < kSwitched.size(); ++length) {
    const std::string text = kSwitched.substr(0, length);
    const bool is_read = refused(text) == "no complaint";
    CHECK((!is_read || text.find("NIC1\tSYS") != std::string::npos));
    accepted += is_read ? 1 : 0;
  }
  CHECK(accepted > 50);
}

namespace {

std::string gpu(int dev, const std::string& bus, const std::string& links) {
  return "<pci busid=\"" + bus +
         "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">" + "<gpu dev=\"" +
         std::to_string(dev) + "\" sm=\"80\" rank=\"0\" gdr=\"1\">" + links + "</gpu></pci>\n";
}

std::string net(int dev, const std::string& speed) {
  return "<pci busid=\"n" + std::to_string(dev) +
         "\" class=\"0x020700\" link_speed=\"\" link_width=\"\"><nic>" + "<net name=\"mlx5_" +
         std::to_string(dev) + "\" dev=\"" + std::to_string(dev) + "\" speed=\"" + speed +
         "\" port=\"1\" maxconn=\"131072\"/></nic></pci>\n";
}

const std::string kToSwitches =
    "<nvlink target=\"fffffff:ffff:ff\" count=\"12\" tclass=\"0x068000\"/>";

/// Two sockets with two GPUs and a NIC each.
std::string dump(const std::string& first, const std::string& last) {
  return "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\">\n" + first +
         gpu(0, "b0", kToSwitches) + net(0, "200000") + "</cpu>\n<cpu numaid=\"1\">\n" +
         gpu(3, "b3", kToSwitches) + gpu(2, "b2", kToSwitches) + net(1, "200000") + last +
         "</cpu>\n</system>\n";
}

Server read_xml_text(const std::string& text) { return read_nccl_topology("t.xml", text); }

}  // namespace

TEST_CASE("NCCL's dump is read: NVLinks to switches, PCIe, NICs by socket") {
  const Server server = read_xml_text(dump(gpu(1, "b1", kToSwitches), ""));
  CHECK(server.gpus == 4);
  CHECK(server.nvlinks[0] == std::vector<std::uint32_t>{0, 12, 12, 12});
  CHECK(server.nvlink_bandwidth == 25 * kGiga);
  CHECK(server.pcie_bandwidth == 31'507'692'307);  // 16 GT/s, 16 lanes, 128 of 130 bits
  CHECK(links_of(server, 2) == Lines{"NVSwitch switch gpu/4 300 GB/s",
                                     "NIC shared-nic gpu/2 25 GB/s",
                                     "network switch node/2 50 GB/s"});
}

TEST_CASE("direct NVLinks are matched by bus") {
  const std::string to = "<nvlink count=\"4\" tclass=\"0x030200\" target=\"";
  const std::string text = "<system version=\"1\"><cpu numaid=\"0\">" +
                           gpu(0, "b0", to + "b1\"/>") + gpu(1, "b1", to + "b0\"/>") +
                           "</cpu></system>";
  CHECK(links_of(read_xml_text(text), 1) == Lines{"NVLink switch gpu/2 100 GB/s"});
  const std::string one_way = "<system version=\"1\"><cpu numaid=\"0\">" +
                              gpu(0, "b0", to + "b1\"/>") + gpu(1, "b1", "") + "</cpu></system>";
  CHECK(complaint([&] { read_xml_text(one_way); }) ==
        "t.xml: GPU 1 has 0 NVLinks to GPU 0, and back 4, expected the same number");
}

TEST_CASE("wrong dumps of NCCL are refused with the line") {
  const auto refused_xml = [](const std::string& text) {
    return complaint([&] { read_xml_text(text); });
  };
  CHECK(refused_xml("<algo/>") == "t.xml:1:1: <algo>, expected <system>, NCCL's topology dump");
  CHECK(refused_xml("<system version=\"1\">\n").starts_with("t.xml:2:"));
  CHECK(refused_xml("<system version=\"1\"/>") == "t.xml: lists no GPU, expected <gpu> elements");
  CHECK(refused_xml(dump(gpu(0, "b1", ""), "")).starts_with("t.xml:4:"));
  CHECK(refused_xml(dump(gpu(0, "b1", ""), "")).find("dev=\"0\" is given twice") !=
        std::string::npos);
  CHECK(refused_xml(dump("<pci class=\"0\"/>", "")).starts_with("t.xml:3:1: "));
  CHECK(refused_xml(dump("<pci busid=\"x\" link_speed=\"7 GT/s\" link_width=\"16\"/>", "")) ==
        "t.xml:3:1: link_speed=\"7 GT/s\", expected 2.5, 5, 8, 16, 32 or 64 GT/s");
  CHECK(refused_xml(dump("<nvlink target=\"a\" count=\"1\" tclass=\"0x068000\"/>", "")) ==
        "t.xml:3:1: <nvlink> outside <gpu>, expected it inside");
  CHECK(
      refused_xml(dump(gpu(1, "b1", "<nvlink target=\"a\" count=\"0\" tclass=\"0x068000\"/>"), ""))
          .starts_with("t.xml:3:"));
}

namespace {

/// A host of GPUs on NVSwitches, each with a NIC next to it.
std::string host_dump(std::size_t gpus, const std::string& sm, const std::string& pci,
                      const std::string& nic, const std::string& links) {
  std::string text = "<system version=\"1\"><cpu numaid=\"0\">\n";
  for (std::size_t i = 0; i < gpus; ++i) {
    const std::string number = std::to_string(i);
    text += "<pci busid=\"s" + number + "\" class=\"0x060400\">";
    text += "<pci busid=\"g" + number + "\" class=\"0x030200\" " + pci +
            " link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" + number + "\" sm=\"" +
            sm + "\">" + links + "</gpu></pci>";
    text += "<pci busid=\"n" + number + "\" class=\"0x020700\"><nic><net name=\"" + nic + number +
            "\" dev=\"" + number + "\" speed=\"400000\"/></nic></pci></pci>\n";
  }
  return text + "</cpu></system>\n";
}

std::string to_switches(int count) {
  return "<nvlink target=\"ffff\" count=\"" + std::to_string(count) + "\" tclass=\"0x068000\"/>";
}

const std::string kNvidia = "vendor=\"0x10de\" device=";

/// `gpu, fabric` of two such hosts, and `reduces` where their switch does.
std::string named(const std::string& text) {
  Server server = read_xml_text(text);
  const System system = system_of(server, "x", 2, {"t"});
  return system.gpu + ", " + system.fabric + (system.interconnects[0].reduces ? ", reduces" : "");
}

}  // namespace

TEST_CASE("NCCL's dump names the GPU by its PCI device, or by its compute capability") {
  const auto of = [](const std::string& sm, const std::string& pci, int links) {
    return named(host_dump(4, sm, pci, "mlx5_", links == 0 ? "" : to_switches(links)));
  };
  CHECK(of("90", kNvidia + "\"0x2330\"", 18) == "H100-SXM, unknown, reduces");
  CHECK(of("90", kNvidia + "\"0x2335\"", 18) == "H200-SXM, unknown, reduces");
  CHECK(of("90", kNvidia + "\"0x2324\"", 8) == "H800-SXM, unknown, reduces");
  CHECK(of("80", kNvidia + "\"0x20B2\"", 12) == "A100-SXM4, unknown");
  CHECK(of("100", kNvidia + "\"0x2901\"", 18) == "B200, unknown, reduces");
  CHECK(of("89", kNvidia + "\"0x26b9\"", 0) == "L40S, unknown");
  // An unknown device, another vendor, no number, or nothing: what the capability tells.
  CHECK(of("90", kNvidia + "\"0x23ff\"", 18) == "H100-SXM, unknown, reduces");
  CHECK(of("80", "vendor=\"0x1002\" device=\"0x2330\"", 12) == "A100-SXM4, unknown");
  CHECK(of("80", kNvidia + "\"fast\"", 12) == "A100-SXM4, unknown");
  CHECK(of("80", "", 12) == "A100-SXM4, unknown");
  CHECK(of("80", "", 0) == "A100-PCIE, unknown");
  CHECK(of("90", "", 0) == "H100-PCIE, unknown");
  CHECK(of("70", "", 6) == "V100-SXM2, unknown");
  // Cards of one capability differ.
  for (const char* sm : {"75", "86", "89", "120"}) CHECK(of(sm, "", 0) == ", ");
  // Hosts of different GPUs, and of one.
  std::string mixed = host_dump(4, "90", "", "mlx5_", to_switches(18));
  mixed.replace(mixed.find("sm=\"90\""), 7, "sm=\"80\"");
  CHECK(named(mixed) == ", ");
  CHECK(system_of(read_xml_text(host_dump(1, "90", "", "mlx5_", "")), "x", 2, {"t"}).gpu.empty());
}

TEST_CASE("the names of NICs tell some fabrics") {
  const auto of = [](const std::string& nic) {
    const TemporaryFile file(host_dump(4, "90", "", nic, to_switches(18)), ".xml");
    return nlohmann::json::parse(
               run({"system", "--from", "nccl-topo", file.path(), "--nodes", "2"}).out)["fabric"]
        .get<std::string>();
  };
  CHECK(of("mlx5_") == "unknown");
  CHECK(of("mlx5_bond_") == "roce");
  CHECK(of("rocep5s") == "roce");
  CHECK(of("ibp5s") == "infiniband");
  CHECK(of("rdmap79s") == "efa");
  CHECK(of("cxi") == "slingshot");
  CHECK(of("eth") == "tcp");
}

TEST_CASE("as many NVLinks as one product has name the GPU of a matrix") {
  const auto of = [](std::size_t gpus, const std::string& links, const std::string& bandwidth) {
    std::vector<std::vector<std::string>> cells(gpus, std::vector<std::string>(gpus, links));
    for (std::size_t i = 0; i < gpus; ++i) cells[i][i] = "X";
    const TemporaryFile file(matrix(cells), ".txt");
    const nlohmann::json system = nlohmann::json::parse(
        run({"system", "--from", "nvidia-smi-topo", file.path(), "--nvlink", bandwidth}).out);
    return system.value("gpu", "") +
           (system["interconnects"][0].value("reduces", false) ? ", reduces" : "");
  };
  CHECK(of(8, "NV18", "25 GB/s") == "H100-SXM, reduces");
  CHECK(of(8, "NV18", "50 GB/s") == "B200, reduces");
  CHECK(of(8, "NV18", "30 GB/s").empty());
  CHECK(of(8, "NV12", "25 GB/s") == "A100-SXM4");
  CHECK(of(4, "NV4", "25 GB/s") == "A100-SXM4");  // HGX A100 of four GPUs: links to each other
  CHECK(of(4, "NV6", "25 GB/s") == "H100-SXM");
  CHECK(of(16, "NV6", "25 GB/s") == "V100-SXM3");
  CHECK(of(8, "NV8", "25 GB/s").empty());   // A800 and H800
  CHECK(of(2, "NV12", "25 GB/s").empty());  // a bridge of PCIe cards
}

TEST_CASE("an imported system is priced as NCCL runs, without being edited") {
  const TemporaryFile xml(host_dump(8, "90", kNvidia + "\"0x2330\"", "rocep1s", to_switches(18)),
                          ".xml");
  const TemporaryFile system("", ".json");
  const Ran imported =
      run({"system", "--from", "nccl-topo", xml.path(), "--nodes", "4", "--output", system.path()});
  CHECK(imported.exit == 0);
  CHECK(imported.err.find("gpu H100-SXM, by PCI device 0x2330\n") != std::string::npos);
  CHECK(imported.err.find("fabric roce, by the names of the NICs\n") != std::string::npos);
  CHECK(imported.err.find("add \"rails\": true, and \"oversubscription\"") != std::string::npos);
  const auto all_reduce = [](const std::string& file) {
    const Ran ran = run({"cost", "--system", file, "--axes", "32", "--reduce", "0", "--algorithm",
                         "auto", "--format", "json"});
    REQUIRE(ran.exit == 0);
    return nlohmann::json::parse(ran.out)["allreduce_seconds"].get<double>();
  };
  CHECK(all_reduce(system.path()) > 0);
  // As the shipped system, but for the fabric.
  const TemporaryFile again("", ".json");
  REQUIRE(run({"system", "--from", "nccl-topo", xml.path(), "--nodes", "4", "--fabric", "ib-ndr",
               "--output", again.path()})
              .exit == 0);
  CHECK(all_reduce(again.path()) == all_reduce(kSystems + "dgx-h100-4nodes.json"));
  CHECK(all_reduce(again.path()) < all_reduce(system.path()));

  const TemporaryFile unknown(host_dump(8, "86", "", "mlx5_", ""), ".xml");
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> flags{"system",  "--from", "nccl-topo", unknown.path(),
                                   "--nodes", "4",      "--output",  system.path()};
    flags.insert(flags.end(), more.begin(), more.end());
    return run(flags);
  };
  CHECK(with({}).err.find("--gpu adds it") != std::string::npos);
  const std::vector<std::string> cost{"cost",     "--system", system.path(), "--axes", "32",
                                      "--reduce", "0",        "--algorithm", "auto"};
  CHECK(run(cost).exit == 2);
  CHECK(with({"--gpu", "A40"})
            .err.find("the dump does not tell the fabric of mlx5_0: --fabric "
                      "adds it") != std::string::npos);
  CHECK(run(cost).exit == 0);
  CHECK(with({"--fabric", "roce"}).err ==
        "p2-verify: --fabric: the GPU is not known, expected --gpu, too\n");
  CHECK(with({"--gpu", ""}).err == "p2-verify: --gpu: is empty, expected text\n");
}

TEST_CASE("p2-verify system writes a system that cost takes") {
  const TemporaryFile dump_file(kSwitched, ".txt");
  const TemporaryFile system("");
  const std::vector<std::string> command = {
      "system", "--from", "nvidia-smi-topo", dump_file.path(), "--nodes", "2",
      "--name", "mine",   "--nvlink",        "25 GB/s",        "--nic",   "400 Gbit/s"};
  auto to_file = command;
  to_file.insert(to_file.end(), {"--output", system.path()});
  REQUIRE(run(to_file).exit == 0);
  const Ran priced =
      run({"cost", "--system", system.path(), "--axes", "8", "--reduce", "0", "--top", "1"});
  CHECK(priced.exit == 0);
  CHECK(priced.out.starts_with("mine: node=2,gpu=4 "));
  auto as_json = command;
  as_json.insert(as_json.end(), {"--format", "json"});
  CHECK(nlohmann::json::parse(run(as_json).out) == nlohmann::json::parse(run(command).out));

  const TemporaryFile xml(dump(gpu(1, "b1", kToSwitches), ""), ".xml");
  CHECK(run({"system", "--from", "nccl-topo", xml.path(), "--nodes", "4"}).exit == 0);
  CHECK(run({"system", "--from", "nccl-topo", dump_file.path()}).exit == 2);
  CHECK(run({"system", "--from", "nvidia-smi-topo", xml.path()}).exit == 2);
  CHECK(run({"system", "--from", "nccl-topo"}).err ==
        "p2-verify: command line: expected exactly one file\n");
  CHECK(run({"system", xml.path()}).err ==
        "p2-verify: --from: is missing, expected --from nvidia-smi-topo or nccl-topo\n");
  CHECK(run({"system", "--from", "nvidia-smi", xml.path()}).exit == 2);
  CHECK(run({"system", "--from", "nccl-topo", xml.path(), "--nic", "fast"}).err ==
        "p2-verify: --nic: \"fast\" is not a bandwidth, expected one such as 270 GB/s or 100 "
        "Gbit/s\n");
}
