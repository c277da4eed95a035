#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <cmath>

#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"
#include "tests/shared_data.h"

using namespace p2;
using nlohmann::json;

namespace {

const std::string kColumns =
    "id,source,gpu,nodes,gpus_per_node,intra,intra_gbytes_per_s_per_direction,nics_per_node,"
    "nic_gbit_per_s,fabric,nccl_version,algo,proto,collective,bytes,time_us,algbw,busbw,note\n";

/// H100, 2 nodes: public figures of dstackai/dstack docs (nebius), in microseconds.
std::string two_nodes() {
  std::string table = kColumns;
  for (const auto& [bytes, time] : std::vector<std::pair<double, double>>{{1024, 31},
                                                                          {8192, 37},
                                                                          {1048576, 87},
                                                                          {16777216, 210},
                                                                          {268435456, 1306},
                                                                          {1073741824, 4512},
                                                                          {8589934592, 34448}}) {
    table += fmt::format(
        "d{},dstack,H100-SXM,2,8,nvlink4-nvswitch,450,8,400,ib-ndr,,default,default,all_reduce,{},{"
        "},"
        ",,\n",
        bytes, bytes, time);
  }
  return table;
}

json compare(const std::vector<std::string>& flags) {
  std::vector<std::string> all{"cost", "--format", "json", "--compare"};
  all.insert(all.end(), flags.begin(), flags.end());
  const Ran ran = run(all);
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return json::parse(ran.out);
}

}  // namespace

TEST_CASE("compare prices every row, also odd ones, and sums up those that count") {
  const TemporaryFile table(
      two_nodes() +
          "x1,a,Mystery GPU,,,,,,,,,,,all_reduce,1048576,,,,\n"
          "x2,a,H100-SXM,2,8,nvlink4-nvswitch,450,8,400,ib-ndr,,default,default,all_reduce,1048576,"
          "900,,,\"degraded, exclude\"\n"
          "x3,a,MI250X,16,8,xgmi,200,4,200,slingshot-11,rccl,default,default,alltoall,0,nonsense,,,"
          "\n",
      ".csv");
  const json answer = compare({table.path()});
  REQUIRE(answer["rows"].size() == 10);
  for (const json& row : answer["rows"]) {
    CHECK(!row["id"].get<std::string>().empty());
    CHECK(row["predicted_us"].get<double>() > 0);
    CHECK(!row["algorithm"].get<std::string>().empty());
  }
  CHECK(answer["rows"][8]["excluded"] == true);
  std::size_t counted = 0;
  for (const json& size : answer["summary"]["sizes"]) counted += size["rows"].get<std::size_t>();
  CHECK(counted == 7);
  const json& large = answer["summary"]["sizes"].back();
  CHECK(large["name"] == "AllReduce, 512 MiB and more");
  CHECK(large["median_error"].get<double>() < 0.10);
  CHECK(answer["summary"]["systems"].size() == 1);
}

TEST_CASE("compare keeps to the algorithm and protocol of a row") {
  const TemporaryFile table(
      kColumns +
          "r,a,H100-SXM,1,8,nvlink4-nvswitch,450,0,0,none,,Ring,Simple,all_reduce,8589934592,,,,\n"
          "n,a,H100-SXM,1,8,nvlink4-nvswitch,450,0,0,none,,NVLS,default,all_reduce,8589934592,,,,\n"
          "s,a,H100-SXM,4,8,nvlink4-nvswitch,450,8,400,ib-ndr,,default SHARP,default,all_reduce,"
          "8589934592,,,,\n",
      ".csv");
  const json rows = compare({table.path()})["rows"];
  CHECK(rows[0]["algorithm"] == "Ring");
  CHECK(rows[0]["protocol"] == "Simple");
  CHECK(rows[1]["algorithm"] == "NVLS");
  CHECK(rows[1]["predicted_us"].get<double>() < rows[0]["predicted_us"].get<double>());
  CHECK(rows[2]["algorithm"] == "NVLS");
}

TEST_CASE("output of nccl-tests is compared with the system that it ran on") {
  const TemporaryFile output(
      "# nccl-tests version 2.16.4\n# Collective test starting: all_reduce_perf\n"
      "#                                                              out-of-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1    32.93   31.84   55.72      0    "
      "32.5\n"
      "  8589934592    2147483648     float     sum      -1  31391.0  273.64  478.88      0   "
      "31390\n"
      "# Out of bounds values : 0 OK\n",
      ".txt");
  const json rows = compare({output.path(), "--system", kSystems + "dgx-h100-1node.json"})["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[1]["id"] == "line 6");
  CHECK(rows[1]["measured_us"] == 31391.0);
  CHECK(rows[1]["error"].get<double>() < 0.05);
  const Ran without = run({"cost", "--compare", output.path()});
  CHECK(without.exit == 2);
  CHECK(without.err.find("expected --system") != std::string::npos);
}

TEST_CASE("fit learns rates from some rows and is tested on others") {
  // The same machine with NICs that reach 60 %.
  const auto table = [](double part, const std::vector<double>& sizes) {
    std::string text = kColumns;
    for (const double bytes : sizes) {
      text += fmt::format(
          "i{},mine,A100-SXM4,4,8,nvlink3-nvswitch,300,8,200,ib-hdr,,Ring,Simple,all_reduce,{},{},,"
          ",\n",
          bytes, bytes, 2 * 31 / 32.0 * bytes / (200e9 * part) * 1e6);
    }
    return text;
  };
  const TemporaryFile fit(table(0.60, {1e9, 4e9, 16e9}), ".csv");
  const TemporaryFile test(table(0.60, {2e9, 8e9}), ".csv");
  const json answer = compare({test.path(), "--fit", fit.path()});
  const double before = answer["before_fit"]["sizes"][0]["median_error"];
  const double after = answer["summary"]["sizes"][0]["median_error"];
  CHECK(before > 0.4);
  CHECK(after < 0.1);
  REQUIRE(!answer["fitted"].empty());
  CHECK(answer["fitted"].dump().find("InfiniBand NIC efficiency") != std::string::npos);
  const json crossed = compare({fit.path(), "--cross-validate"});
  CHECK(crossed["cross_validation"]["sizes"][0]["rows"] == 3);
}

TEST_CASE("compare draws both curves and refuses flags without effect") {
  const TemporaryFile table(two_nodes(), ".csv");
  const TemporaryFile plot("", ".svg");
  CHECK(run({"cost", "--compare", table.path(), "--plot", plot.path()}).exit == 0);
  CHECK(bytes_of(plot.path()).find("2 x 8 H100-SXM") != std::string::npos);
  CHECK(run({"cost", "--compare", table.path(), "--axes", "4"}).exit == 2);
  CHECK(run({"cost", "--cross-validate"}).exit == 2);
  const TemporaryFile other("a,b\n1,2\n", ".csv");
  const Ran ran = run({"cost", "--compare", other.path()});
  CHECK(ran.exit == 2);
  CHECK(ran.err.find("no column \"gpu\"") != std::string::npos);
}

TEST_CASE(
    "AllReduce of 1 GB over 32 DGX H100: 330 to 350 GB/s, and no program is advised instead") {
  for (const char* system : {"dgx-h100-32nodes.json", "dgx-h100-superpod.json"}) {
    const Ran ran = run({"cost", "--system", kSystems + system, "--axes", "256", "--reduce", "0",
                         "--bytes", "1000000000", "--format", "json"});
    REQUIRE(ran.exit == 0);
    const json answer = json::parse(ran.out);
    CHECK(answer["algorithm"] == "auto");
    const double bus = 2 * 255 / 256.0 / answer["allreduce_seconds"].get<double>();
    CHECK(bus >= 330);
    CHECK(bus <= 350);
    CHECK(answer["faster_beyond_error"] == 0);
    CHECK(answer["advice"] ==
          "no program is faster than the single AllReduce beyond the model's error of 11 %");
    CHECK(answer["programs"][0]["steps"][0]["algorithm"] == "NVLSTree Simple");
  }
}

TEST_CASE("three calls pay for each stage in full: the flat AllReduce is faster, by hand") {
  const Ran ran = run({"cost", "--system", kSystems + "dgx-h100-4nodes.json", "--axes", "32",
                       "--reduce", "0", "--bytes", "1T", "--format", "json"});
  REQUIRE(ran.exit == 0);
  const json answer = json::parse(ran.out);
  const double bytes = std::pow(2.0, 40);
  const double node = 7 / 8.0 / (450 * 0.815e9);
  const double rails = 2 * 3 / 4.0 / 8 / (50 * 0.94e9);
  const double flat = 2 * 31 / 32.0 / (450 * 0.815e9);  // a ring: eight NICs carry 376 GB/s
  CHECK(answer["allreduce_seconds"].get<double>() == doctest::Approx(bytes * flat).epsilon(0.001));
  bool found = false;
  for (const json& each : answer["programs"]) {
    if (each["text"] !=
        "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); "
        "AllGather(node, InsideGroup)") {
      continue;
    }
    found = true;
    CHECK(each["seconds"].get<double>() ==
          doctest::Approx(bytes * (2 * node + rails)).epsilon(0.001));
    CHECK(each["speedup"].get<double>() ==
          doctest::Approx(flat / (2 * node + rails)).epsilon(0.002));
  }
  CHECK(found);
}

TEST_CASE("auto takes the least at every size; ranges of sizes agree with the ranking") {
  const std::vector<std::string> base{"cost",   "--system", kSystems + "dgx-h100-4nodes.json",
                                      "--axes", "32",       "--reduce",
                                      "0",      "--format", "json"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = base;
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = run(all);
    REQUIRE(ran.exit == 0);
    return json::parse(ran.out);
  };
  for (const char* bytes : {"1K", "256K", "16M", "4G"}) {
    const double best = with({"--bytes", bytes})["allreduce_seconds"];
    double least = 1e300;
    for (const char* algorithm : {"ring", "tree", "nvlstree"}) {
      const double each = with({"--bytes", bytes, "--algorithm", algorithm})["allreduce_seconds"];
      CHECK(best <= each);
      least = std::min(least, each);
    }
    CHECK(best == least);
  }
  const json ranges = with({"--sizes", "1K:4G"})["sizes"];
  REQUIRE(!ranges.empty());
  CHECK(ranges.front()["from"] == 1024);
  CHECK(ranges.back()["to"] == 4294967296);
  for (const json& range : ranges) {
    for (const auto& [key, at] : {std::pair("from", 0), {"to", 1}}) {
      const json ranked =
          with({"--bytes", std::to_string(range[key].get<std::uint64_t>()), "--top", "1"});
      CHECK(ranked["programs"][0]["seconds"].get<double>() ==
            doctest::Approx(range["seconds"][at].get<double>()));
    }
  }
}

TEST_CASE("place --rank orders all placements of a job by their communication") {
  const Ran ran = run({"place", "--system", kSystems + "dgx-h100-32nodes.json", "--axes",
                       "data=8,tensor=8,pipeline=4", "--rank",
                       "data=AllReduce:256M,tensor=AllReduce:96x64M,pipeline=SendReceive:32x16M",
                       "--format", "json"});
  REQUIRE(ran.exit == 0);
  const json answer = json::parse(ran.out);
  CHECK(answer["count"] == 9);
  // Tensor parallel in the node, data and pipeline between nodes: the textbook's placement.
  CHECK(answer["placements"][0]["placement"] == json::parse("[[8,1],[1,8],[4,1]]"));
  double before = 0;
  for (const json& each : answer["placements"]) {
    double sum = 0;
    for (const json& axis : each["axes"]) sum += axis["seconds"].get<double>();
    CHECK(each["seconds"].get<double>() == doctest::Approx(sum));
    CHECK(each["seconds"].get<double>() >= before);
    before = each["seconds"];
  }
  // By hand: 16 MiB to the next stage through one NIC of 47 GB/s, 32 times, and latencies.
  const double pipeline = answer["placements"][0]["axes"][2]["seconds"];
  CHECK(pipeline > 32 * 16777216 / 47e9);
  CHECK(pipeline < 1.5 * 32 * 16777216 / 47e9);
}

TEST_CASE("traffic that overlaps takes as long as the longest, or as the NICs are busy with all") {
  const auto total = [](const std::string& overlap) {
    std::vector<std::string> flags{"place",
                                   "--system",
                                   kSystems + "dgx-h100-4nodes.json",
                                   "--axes",
                                   "data=4,tensor=8",
                                   "--placement",
                                   "[[4,1],[1,8]]",
                                   "--rank",
                                   "data=AllReduce:2G,tensor=AllReduce:96x64M",
                                   "--format",
                                   "json"};
    if (!overlap.empty()) flags.insert(flags.end(), {"--overlap", overlap});
    const Ran ran = run(flags);
    REQUIRE(ran.exit == 0);
    return json::parse(ran.out)["placements"][0];
  };
  const json apart = total("");
  const double data = apart["axes"][0]["seconds"];
  const double tensor = apart["axes"][1]["seconds"];
  CHECK(apart["seconds"].get<double>() == doctest::Approx(data + tensor));
  CHECK(total("data+tensor")["seconds"].get<double>() == doctest::Approx(std::max(data, tensor)));
}

TEST_CASE("place --rank says what is wrong with the traffic") {
  const auto complaint = [](const std::string& traffic, std::vector<std::string> more = {}) {
    std::vector<std::string> flags{"place",  "--system",        kSystems + "dgx-h100-4nodes.json",
                                   "--axes", "data=4,tensor=8", "--rank",
                                   traffic};
    flags.insert(flags.end(), more.begin(), more.end());
    const Ran ran = run(flags);
    CHECK(ran.exit == 2);
    return ran.err;
  };
  CHECK(complaint("data").find("expected AXIS=COLLECTIVE:BYTES") != std::string::npos);
  CHECK(complaint("expert=AllReduce:1G").find("no axis is named \"expert\"") != std::string::npos);
  CHECK(complaint("data=AllReduces:1G").find("AllReduce") != std::string::npos);
  CHECK(complaint("data=AllReduce:0x1G").find("number of calls") != std::string::npos);
  CHECK(complaint("data=AllReduce:1G", {"--overlap", "tensor"}).find("no traffic") !=
        std::string::npos);
  const Ran ran = run({"place", "--system", kSystems + "a100-2nodes.json", "--axes", "32", "--rank",
                       "0=AllReduce:1G"});
  CHECK(ran.exit == 2);
  CHECK(ran.err.find("does not name its GPU") != std::string::npos);
  CHECK(run({"place", "--hierarchy", "4", "--axes", "4", "--rank", "0=AllReduce:1G"}).exit == 2);
  CHECK(run({"place", "--hierarchy", "4", "--axes", "4", "--overlap", "0"}).exit == 2);
}

TEST_CASE("algorithms are those of the system's model, and rates are fitted by its own means") {
  const auto complaint = [](const std::string& system, const std::string& algorithm) {
    const Ran ran = run({"cost", "--system", kSystems + system, "--axes", "32", "--reduce", "0",
                         "--algorithm", algorithm});
    CHECK(ran.exit == 2);
    return ran.err;
  };
  CHECK(complaint("a100-2nodes.json", "nvls").find("names its gpu") != std::string::npos);
  CHECK(complaint("a100-2nodes.json", "auto").find("names its gpu") != std::string::npos);
  CHECK(complaint("dgx-h100-4nodes.json", "rings").find("nvlstree") != std::string::npos);
  const TemporaryFile table("axes,reduce,placement,algorithm,program,bytes,seconds\n", ".csv");
  const TemporaryFile output("", ".json");
  const Ran fit = run({"cost", "--system", kSystems + "dgx-h100-4nodes.json", "--fit", table.path(),
                       "--fit-links", "NIC", "--output", output.path()});
  CHECK(fit.exit == 2);
  CHECK(fit.err.find("expected --compare") != std::string::npos);
}

TEST_CASE("public measurements: the bars on all rows, and on systems left out of the fit") {
  const auto text = shared_text("nccl_measured/measured.csv");
  if (!text) return;
  const TemporaryFile table(*text, ".csv");
  const json answer = compare({table.path(), "--cross-validate"});
  for (const json& sizes : {answer["summary"]["sizes"], answer["cross_validation"]["sizes"]}) {
    for (const json& size : sizes) {
      if (size["name"] == "AllReduce, up to 64 KiB") CHECK(size["median_error"] <= 0.45);
      if (size["name"] == "AllReduce, 64 KiB to 512 MiB") CHECK(size["median_error"] <= 0.30);
      if (size["name"] != "AllReduce, 512 MiB and more") continue;
      CHECK(size["median_error"] <= 0.15);
      CHECK(size["percentile_90"] <= 1);
    }
  }
  CHECK(answer["summary"]["rank_correlation_over_systems"] >= 0.95);
}
