#include "engine/cost/nccl_model.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/cost/nccl_system.h"
#include "tests/cost/systems.h"

using namespace p2;

// Hand computations: loads of docs/cost.md over nominal rates times the usable part of them, in
// seconds per byte of a very large buffer.

namespace {

const NcclParameters kParameters;
constexpr double kGigabyte = 1e9;

/// Seconds per byte at the largest sizes.
double slope(const std::vector<NcclLine>& lines) { return lines.back().us_per_byte * 1e-6; }

NcclSystem shipped(const std::string& name) { return {shipped_system(name), {"test"}}; }

/// The groups with the same stride: `stride` groups of `size` devices, in blocks.
std::vector<Group> strided(std::uint32_t devices, std::uint32_t size, std::uint32_t stride) {
  std::vector<Group> groups;
  for (std::uint32_t first = 0; first < devices; first += size * stride) {
    for (std::uint32_t offset = 0; offset < stride; ++offset) {
      Group group;
      for (std::uint32_t i = 0; i < size; ++i) group.push_back(first + offset + i * stride);
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

/// The slope of groups that all run an AllReduce of a whole buffer at once; they must be alike.
double all_reduce_slope(const NcclSystem& system, const std::vector<Group>& groups,
                        std::optional<NcclAlgorithm> algorithm = {}) {
  const std::vector<double> ones(groups.size(), 1.0);
  const auto times = system.times(NcclCollective::AllReduce, groups, ones, {algorithm, {}});
  REQUIRE(times.size() == 1);
  return slope(times[0].lines);
}

Communicator run_on(const std::string& gpu, std::uint32_t nodes, std::uint32_t gpus,
                    const std::string& link, double link_gbytes, double nics, double gbits,
                    const std::string& fabric) {
  return communicator_of({gpu, nodes, gpus, link, link_gbytes, nics, gbits, fabric, false});
}

}  // namespace

TEST_CASE("tensor parallel in a node: the switch reduces, a GPU sends its data once and 1/8 more") {
  const NcclSystem h100 = shipped("dgx-h100-1node");
  CHECK(all_reduce_slope(h100, strided(8, 8, 1)) ==
        doctest::Approx((1 + 1 / 8.0) / (450 * 0.68 * kGigabyte)));
  // Groups of four run rings: NCCL wants more than four heads.
  CHECK(all_reduce_slope(h100, strided(8, 4, 1)) ==
        doctest::Approx(2 * 3 / 4.0 / (450 * 0.815 * kGigabyte)));
  // No in-switch reduction before Hopper.
  CHECK(all_reduce_slope(shipped("dgx-a100-4nodes"), strided(32, 8, 1)) ==
        doctest::Approx(2 * 7 / 8.0 / (300 * 0.785 * kGigabyte)));
}

TEST_CASE("data parallel along rails: eight groups at once have a NIC each") {
  const double nic = 50 * 0.94 * kGigabyte;
  CHECK(all_reduce_slope(shipped("dgx-h100-4nodes"), strided(32, 4, 8)) ==
        doctest::Approx(2 * 3 / 4.0 / nic));
  // p4d has a NIC for two GPUs: two groups share it.
  CHECK(all_reduce_slope(shipped("aws-p4d-4nodes"), strided(32, 4, 8), NcclAlgorithm::Ring) ==
        doctest::Approx(2 * 3 / 4.0 / (12.5 * 0.94 * kGigabyte / 2)));
}

TEST_CASE("a group that is all GPUs uses all NICs of a node") {
  const double node = 8 * 50 * 0.94 * kGigabyte;
  const NcclSystem four = shipped("dgx-h100-4nodes");
  CHECK(all_reduce_slope(four, strided(32, 32, 1), NcclAlgorithm::Ring) ==
        doctest::Approx(2 * 31 / 32.0 / node).epsilon(0.06));  // NVLink is about as slow
  CHECK(all_reduce_slope(four, strided(32, 32, 1), NcclAlgorithm::NvlsTree) ==
        doctest::Approx(2 / (node * 0.97)));
  // Two trees over two nodes cross the network once: NVLink decides.
  CHECK(all_reduce_slope(shipped("dgx-h100-2nodes"), strided(16, 16, 1)) ==
        doctest::Approx((1 + 1 / 8.0) / (450 * 0.68 * 0.97 * kGigabyte)));
}

TEST_CASE("half of the GPUs of a node have half of its NICs; two such groups do not meet") {
  const NcclSystem system = shipped("dgx-h100-4nodes");
  std::vector<Group> halves(2);
  for (std::uint32_t device = 0; device < 32; ++device) halves[device % 8 / 4].push_back(device);
  const double one = all_reduce_slope(system, {halves[0]}, NcclAlgorithm::Ring);
  CHECK(one == doctest::Approx(2 * 15 / 16.0 / (4 * 50 * 0.94 * kGigabyte)));
  CHECK(all_reduce_slope(system, halves, NcclAlgorithm::Ring) == doctest::Approx(one));
}

TEST_CASE("a link of Infinity Fabric to every other GPU: two GPUs have one of seven") {
  const double link = 448.0 / 7 * 0.70 * kGigabyte;
  CHECK(slope(nccl_lines(run_on("MI300X", 1, 2, "xgmi-mi300x", 448, 0, 0, "none"),
                         NcclCollective::AllReduce, {}, kParameters)) == doctest::Approx(1 / link));
  CHECK(slope(nccl_lines(run_on("MI300X", 1, 8, "xgmi-mi300x", 448, 0, 0, "none"),
                         NcclCollective::AllReduce, {}, kParameters)) ==
        doctest::Approx(2 * 7 / 8.0 / (7 * link)));
}

TEST_CASE("few NICs, two nodes: a tree crosses the network once, a ring twice") {
  const Communicator p4d = run_on("A100-SXM4-40GB", 2, 8, "nvlink3-nvswitch", 300, 4, 100, "efa");
  const auto lines = nccl_lines(p4d, NcclCollective::AllReduce, {}, kParameters);
  CHECK(lines.back().algorithm == NcclAlgorithm::Tree);
  CHECK(slope(lines) == doctest::Approx(1 / (4 * 12.5 * 0.94 * 0.97 * kGigabyte)));
}

TEST_CASE(
    "three nodes: a tree loads a node with one and a half buffers (GB200, NVIDIA/nccl#1801)") {
  const Communicator group = run_on("GB200", 3, 4, "nvlink5-nvswitch", 900, 4, 400, "ib-ndr");
  const double bytes = 16.0 * (1 << 30);
  for (const auto& [algorithm, bus] :
       {std::pair(NcclAlgorithm::Ring, 197.0), {NcclAlgorithm::Tree, 234.0}}) {
    const auto lines =
        nccl_lines(group, NcclCollective::AllReduce, {algorithm, std::nullopt}, kParameters);
    const double predicted = bus_factor(NcclCollective::AllReduce, 12) * bytes / 1e3 /
                             fastest_at(lines, bytes).at(bytes);
    CHECK(predicted == doctest::Approx(bus).epsilon(0.08));
  }
}

TEST_CASE("SHARP: every node sends and receives the data once, however many there are") {
  Communicator group = run_on("H100-SXM", 32, 8, "nvlink4-nvswitch", 450, 8, 400, "ib-ndr");
  const auto without = nccl_lines(group, NcclCollective::AllReduce, {}, kParameters);
  group.sharp = true;
  const auto with = nccl_lines(group, NcclCollective::AllReduce, {}, kParameters);
  CHECK(with.back().algorithm == NcclAlgorithm::Nvls);
  CHECK(slope(with) == doctest::Approx((1 + 1 / 8.0) / (450 * 0.68 * 0.90 * kGigabyte)));
  CHECK(slope(without) > 1.3 * slope(with));
}

TEST_CASE("all-to-all: a GPU sends through its own NIC what leaves the node") {
  const Communicator group =
      run_on("A100-SXM4-40GB", 2, 8, "nvlink3-nvswitch", 300, 8, 200, "ib-hdr");
  const auto lines = nccl_lines(group, NcclCollective::AllToAll, {}, kParameters);
  CHECK(slope(lines) == doctest::Approx(8 / 16.0 / (25 * 0.94 * kGigabyte)));
}

TEST_CASE("PAT for one GPU per node") {
  const Communicator group = run_on("H100-SXM", 64, 1, "", 450, 1, 400, "ib-ndr");
  const auto lines = nccl_lines(group, NcclCollective::AllGather, {}, kParameters);
  bool pat = false;
  for (const NcclLine& line : lines) pat = pat || line.algorithm == NcclAlgorithm::Pat;
  CHECK(pat);
}

TEST_CASE("the lines are a lower envelope: slopes fall, latencies rise, each is least somewhere") {
  for (const char* gpu : {"V100-SXM2", "A100-SXM4", "H100-SXM", "B200", "MI300X", "L40S"}) {
    for (const std::uint32_t nodes : {1U, 2U, 3U, 16U, 500U}) {
      for (const std::uint32_t gpus : {1U, 2U, 8U}) {
        const Communicator group = run_on(gpu, nodes, gpus, "", 0, 0, 0, "ib-hdr");
        for (const NcclCollective collective :
             {NcclCollective::AllReduce, NcclCollective::AllGather, NcclCollective::AllToAll,
              NcclCollective::Broadcast, NcclCollective::SendReceive}) {
          const auto lines = nccl_lines(group, collective, {}, kParameters);
          REQUIRE(!lines.empty());
          for (std::size_t i = 1; i < lines.size(); ++i) {
            CHECK(lines[i].us_per_byte < lines[i - 1].us_per_byte);
            CHECK(lines[i].latency_us > lines[i - 1].latency_us);
          }
          // Time grows with size, bandwidth too.
          double before = 0;
          double slowest = 1e300;
          for (double bytes = 1; bytes < 1e11; bytes *= 4) {
            const double time = fastest_at(lines, bytes).at(bytes);
            CHECK(time >= before);
            CHECK(time / bytes <= slowest * (1 + 1e-12));
            before = time;
            slowest = time / bytes;
          }
        }
      }
    }
  }
}

TEST_CASE("names of GPUs, links and fabrics") {
  CHECK(generation_of("NVIDIA A100-SXM4-80GB") == GpuGeneration::Ampere);
  CHECK(generation_of("Tesla V100-PCIE-16GB") == GpuGeneration::Volta);
  CHECK(generation_of("GH200") == GpuGeneration::Hopper);
  CHECK(generation_of("H20") == GpuGeneration::Hopper);
  CHECK(generation_of("GB200") == GpuGeneration::Blackwell);
  CHECK(generation_of("AMD Instinct MI250X") == GpuGeneration::Cdna);
  CHECK(generation_of("A10G") == GpuGeneration::Ampere);
  CHECK(generation_of("something new") == GpuGeneration::Hopper);

  CHECK(fabric_of("ib-hdr", GpuGeneration::Ampere) == Fabric::InfiniBand);
  CHECK(fabric_of("RoCE v2", GpuGeneration::Hopper) == Fabric::Roce);
  CHECK(fabric_of("efa", GpuGeneration::Ampere) == Fabric::EfaFirst);
  CHECK(fabric_of("EFAv2", GpuGeneration::Hopper) == Fabric::Efa);
  CHECK(fabric_of("HPE Slingshot-11", GpuGeneration::Cdna) == Fabric::Slingshot);
  CHECK(fabric_of("GPUDirect-TCPXO", GpuGeneration::Hopper) == Fabric::TcpXo);
  CHECK(fabric_of("ethernet", GpuGeneration::Volta) == Fabric::Tcp);
  CHECK(fabric_of("RDMA", GpuGeneration::Hopper) == Fabric::Roce);
  CHECK(fabric_of("Omni-Path", GpuGeneration::Volta) == Fabric::InfiniBand);
  CHECK(fabric_of("pigeons", GpuGeneration::Volta) == Fabric::Unknown);

  const auto link = [](const std::string& gpu, const std::string& name) {
    return run_on(gpu, 1, 8, name, 0, 0, 0, "none");
  };
  CHECK(link("H100-SXM", "nvlink4-nvswitch").reducing_switch);
  CHECK(!link("A100-SXM4", "nvlink3-nvswitch").reducing_switch);
  CHECK(link("V100-SXM2", "nvlink2-cube-mesh").link == GpuLink::CubeMesh);
  CHECK(link("L40S", "pcie4").link == GpuLink::Pcie);
  CHECK(link("L40S", "pcie4").link_gbytes == 32);
  CHECK(link("RTX 4090", "pcie4").link == GpuLink::HostMemory);
  CHECK(link("A100-PCIE-40GB", "nvlink3-bridge").link == GpuLink::NvlinkBridge);
  CHECK(link("MI250X", "xgmi").link == GpuLink::XgmiPackages);
  CHECK(link("H800", "nvlink4-nvswitch-h800").link_gbytes == 200);

  // Trays of one NVLink domain are one node.
  const Communicator rack = run_on("GB200", 18, 4, "nvlink5-nvl72", 900, 0, 0, "nvlink");
  CHECK(rack.nodes == 1);
  CHECK(rack.gpus_per_node == 72);
  CHECK(rack.reducing_switch);
  CHECK(run_on("GB200", 2, 4, "nvlink5-nvl72", 900, 4, 400, "ib-ndr").gpus_per_node == 8);
  CHECK(run_on("GB200", 3, 4, "nvlink5-nvswitch", 900, 4, 400, "ib-ndr").nodes == 3);
  // Four MI300A use all of their links among themselves.
  CHECK(usable_link_gbytes(run_on("MI300A", 1, 4, "xgmi", 384, 0, 0, "none"), kParameters) ==
        doctest::Approx(384 * 0.70));
  // NICs of a node of which not all GPUs take part.
  CHECK(run_on("H100-SXM", 2, 2, "nvlink4-nvswitch", 450, 8, 400, "ib-ndr").nics == 2);
  CHECK(run_on("H100-SXM", 2, 8, "nvlink4-nvswitch", 450, 32, 100, "efa").nics == 32);
}

TEST_CASE("public measurements, large all-reduces: within 15 %, each with its source") {
  struct Figure {
    const char* source;
    Communicator group;
    NcclChoice choice;
    double bytes;
    double bus_gbytes;
  };
  const std::string hopper = "nvlink4-nvswitch";
  constexpr double kGi = 1 << 30;
  const std::vector<Figure> figures{
      {"Azure/AI-benchmarking-guide, ND_A100_v4",
       run_on("A100-SXM4-80GB", 1, 8, "nvlink3-nvswitch", 300, 0, 0, "none"),
       {},
       8 * kGi,
       232},
      {"Azure/AI-benchmarking-guide, ND_H100_v5",
       run_on("H100-SXM", 1, 8, hopper, 450, 0, 0, "none"),
       {},
       8 * kGi,
       479},
      {"NVIDIA/nccl-tests#212",
       run_on("H100-SXM", 1, 8, hopper, 450, 0, 0, "none"),
       {NcclAlgorithm::Ring, {}},
       8 * kGi,
       370},
      {"NVIDIA/nccl#1374",
       run_on("H800", 1, 8, "nvlink4-nvswitch-h800", 200, 0, 0, "none"),
       {NcclAlgorithm::Nvls, {}},
       8 * kGi,
       215},
      {"stas00/ml-engineering, network",
       run_on("B200", 1, 8, "nvlink5-nvswitch", 900, 0, 0, "none"),
       {NcclAlgorithm::Nvls, {}},
       8 * kGi,
       838},
      {"stas00/ml-engineering, network",
       run_on("MI300X", 1, 8, "xgmi-mi300x", 448, 0, 0, "none"),
       {},
       4 * kGi,
       313},
      {"AKS NDv4 NCCL walkthrough",
       run_on("A100-SXM4-40GB", 2, 8, "nvlink3-nvswitch", 300, 8, 200, "ib-hdr"),
       {},
       8 * kGi,
       189},
      {"aws-samples/awsome-distributed-training, p4de",
       run_on("A100-SXM4-80GB", 2, 8, "nvlink3-nvswitch", 300, 4, 100, "efa"),
       {},
       2 * kGi,
       78.3},
      {"aws-samples/awsome-distributed-training, p5",
       run_on("H100-SXM", 2, 8, hopper, 450, 32, 100, "efa"),
       {},
       4 * kGi,
       466},
      {"dstackai/dstack docs, nebius",
       run_on("H100-SXM", 2, 8, hopper, 450, 8, 400, "ib-ndr"),
       {},
       kGi,
       446},
      {"NVIDIA/nccl#1031",
       run_on("H100-SXM", 2, 8, hopper, 450, 8, 200, "roce"),
       {NcclAlgorithm::NvlsTree, {}},
       4 * kGi,
       310},
      {"NVIDIA/nccl#1221", run_on("H100-SXM", 4, 8, hopper, 450, 8, 400, "roce"), {}, 8 * kGi, 320},
      {"stas00/ml-engineering, network",
       run_on("B200", 4, 8, "nvlink5-nvswitch", 900, 8, 400, "efa"),
       {},
       4 * kGi,
       377},
      {"aws-samples/awsome-distributed-training, p5en",
       run_on("H200", 16, 8, hopper, 450, 16, 200, "efa"),
       {},
       16 * kGi,
       370},
  };
  for (const Figure& figure : figures) {
    const std::string source = figure.source;
    CAPTURE(source);
    CAPTURE(figure.bus_gbytes);
    const auto lines =
        nccl_lines(figure.group, NcclCollective::AllReduce, figure.choice, kParameters);
    const double bus = bus_factor(NcclCollective::AllReduce, figure.group.ranks()) * figure.bytes /
                       1e3 / fastest_at(lines, figure.bytes).at(figure.bytes);
    CHECK(bus == doctest::Approx(figure.bus_gbytes).epsilon(0.15));
  }
}

TEST_CASE("ranges of sizes with piecewise costs are those of the ranking, size by size") {
  const System system = shipped_system("dgx-h100-4nodes");
  const Network network(system, {"test"});
  const std::uint32_t devices = system.hierarchy.devices();
  const auto priced = [&](StepPricer& pricer, Collective collective, std::vector<Group> groups,
                          std::uint32_t held) {
    const std::vector<std::uint32_t> rows(groups.size(), held);
    return &pricer.price({collective, std::move(groups), std::nullopt}, rows, devices);
  };
  StepPricer automatic(network, shipped("dgx-h100-4nodes"), {});
  StepPricer rings(network, shipped("dgx-h100-4nodes"), {NcclAlgorithm::Ring, {}});
  // The last one has groups of two shapes in one step.
  std::vector<Group> mixed = strided(16, 16, 1);
  for (Group pair : strided(16, 2, 8)) {
    for (std::uint32_t& device : pair) device += 16;
    mixed.push_back(std::move(pair));
  }
  const std::vector<ProgramCost> costs{
      {{priced(rings, Collective::AllReduce, strided(32, 32, 1), 32)}, 0, 0, true},
      {{priced(automatic, Collective::ReduceScatter, strided(32, 8, 1), 32),
        priced(automatic, Collective::AllReduce, strided(32, 4, 8), 4),
        priced(automatic, Collective::AllGather, strided(32, 8, 1), 4)},
       0,
       0,
       true},
      {{priced(automatic, Collective::AllReduce, strided(32, 32, 1), 32)}, 0, 0, true},
      {{priced(automatic, Collective::AllReduce, mixed, 32),
        priced(automatic, Collective::Broadcast, strided(32, 2, 16), 32)},
       0,
       0,
       true}};
  std::vector<const ProgramCost*> pointers;
  for (const ProgramCost& cost : costs) pointers.push_back(&cost);
  const std::int64_t high = std::int64_t{1} << 34;
  const std::vector<FastestRange> ranges = fastest_ranges(pointers, 1, high);
  REQUIRE(!ranges.empty());
  CHECK(ranges.front().from == Rational(1));
  CHECK(ranges.back().to == Rational(high));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (i > 0) CHECK(ranges[i].from == ranges[i - 1].to + 1);
    const Rational middle = ((ranges[i].from + ranges[i].to) / 2).floor();
    for (const Rational& size : {ranges[i].from, middle, ranges[i].to}) {
      CHECK(ranking(pointers, size).front() == ranges[i].program);
    }
  }
  std::size_t range = 0;
  for (std::int64_t size = 1; size < high; size = size * 17 / 16 + 1) {
    while (ranges[range].to < Rational(size)) ++range;
    CHECK(ranking(pointers, size).front() == ranges[range].program);
  }
}

TEST_CASE("systems: nodes, NICs and what is missing") {
  const NcclSystem p4d = shipped("aws-p4d-4nodes");
  CHECK(p4d.nodes() == 4);
  CHECK(p4d.gpus_per_node() == 8);
  CHECK(p4d.whole().nics == 4);
  CHECK(p4d.whole().nic_gbytes == 12.5);
  CHECK(shipped("gb200-nvl72").whole().gpus_per_node == 72);
  const NcclSystem old = shipped("dgx-1v-2nodes");
  CHECK(old.whole().link == GpuLink::CubeMesh);
  CHECK(old.whole().nics == 4);
  System apart = system_from(
      "node=2,gpu=8", {{"NVSwitch", InterconnectKind::Switch, "gpu", 8, 450'000'000'000, 0}});
  apart.gpu = "H100";
  apart.fabric = "ib-ndr";
  CHECK_THROWS_AS(NcclSystem(apart, {"test"}), InputError);
}

TEST_CASE("the error on measured systems of that kind, or of all where there are none") {
  CHECK(measured_error(shipped("dgx-h100-32nodes").whole(), 1e9).error == 0.11);
  CHECK(measured_error(shipped("dgx-h100-32nodes").whole(), 1e9).kind ==
        "several nodes, InfiniBand or RoCE");
  CHECK(measured_error(shipped("perlmutter-4nodes").whole(), 1e9).kind == "all kinds");
}
