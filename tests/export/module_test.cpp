#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/export/module_lowering.h"
#include "engine/hlo/equality/comparison.h"
#include "engine/hlo/text/hlo_text.h"
#include "engine/program/program_file.h"
#include "tests/export/programs.h"

namespace p2 {
namespace {

std::vector<std::string> texts_of(const Program& program) {
  const hlo::Module module = hlo::lower_to_module(program, {"test"});
  return {to_hlo(module), to_stablehlo(module)};
}

std::string judged(const std::string& text, const std::vector<Group>& classes) {
  const hlo::ModuleDecision decision = hlo::check_all_reduce("test", text, classes, {});
  return std::string(to_string(decision.outcome)) +
         (decision.violation ? " " + decision.violation->rule : "");
}

void check_valid(const Program& program) {
  for (const std::string& text : texts_of(program)) {
    CAPTURE(text);
    CHECK(judged(text, program.classes) == "valid");
  }
}

Program read_steps(const std::string& text) { return read_program("test.p2", text, {}).program; }

/// What the execution of chains by their groups says; nothing where it says nothing.
std::optional<Outcome> by_groups(const std::shared_ptr<const hlo::Module>& module,
                                 const std::vector<Group>& classes) {
  const hlo::Devices devices = hlo::devices_of({module.get()}, {});
  hlo::Fingerprints fingerprints;
  const auto flow_of = [&](const std::shared_ptr<const hlo::Module>& each) {
    return hlo::flow_of(each, devices, fingerprints, {});
  };
  const auto decision = hlo::compare_chains(
      flow_of(hlo::goal_module(*module, hlo::Goal::AllReduce, classes)), flow_of(module), {});
  return decision ? std::optional(decision->outcome) : std::nullopt;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t times = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++times;
  return times;
}

}  // namespace

TEST_CASE(
    "all programs of [2,2] and every tenth of [2,2,2] become modules that are the AllReduce") {
  const std::vector<Program> small = programs_of("2,2");
  CHECK(small.size() == 47);
  for (const Program& program : small) check_valid(program);
  const std::vector<Program> large = programs_of("2,2,2");
  CHECK(large.size() == 825);
  for (std::size_t i = 0; i < large.size(); i += 10) check_valid(large[i]);
}

TEST_CASE("a chain of collectives is the module that the rows of every device make") {
  std::size_t same = 0;
  std::size_t rearranged = 0;
  std::size_t others = 0;
  for (const char* hierarchy : {"2,2", "2,2,2", "2,3", "3,4", "2,2,3"}) {
    for (const Program& program : programs_of(hierarchy)) {
      CAPTURE(to_string(program.steps, nullptr));
      const std::string text = to_hlo(hlo::lower_to_module(program, {"test"}));
      const std::string by_rows = to_hlo(hlo::lower_by_rows(program, {"test"}));
      if (text == by_rows) {
        ++(hlo::chain_of(program) ? same : others);
        continue;
      }
      // Where rows are rearranged: by another engine, which knows no chains.
      REQUIRE(hlo::chain_of(program));
      CHECK(count(by_rows, "slice(") > 0);
      CHECK(count(text, "slice(") == 0);
      if (++rearranged % 8 != 0 && count(hierarchy, ",") > 1) continue;
      const auto module = std::make_shared<const hlo::Module>(hlo::read_hlo("test", text));
      CHECK(hlo::compare(hlo::goal_module(*module, hlo::Goal::AllReduce, program.classes), module,
                         {}, {})
                .outcome == Outcome::Established);
    }
  }
  MESSAGE(same << " the same, " << rearranged << " rearranged, " << others << " others");
  CHECK(same > 300);
  CHECK(rearranged > 300);
}

TEST_CASE("what a chain computes is what the execution of modules says") {
  // Every chain with groups exchanged, or rows, and with the collective or the class of another.
  std::size_t right = 0;
  std::size_t wrong = 0;
  std::size_t reordered = 0;
  std::mt19937 random(1);
  std::size_t open = 0;
  std::vector<Program> programs;
  for (const char* hierarchy : {"2,2,2", "2,3", "3,3"}) {
    for (Program& program : programs_of(hierarchy)) {
      if (hlo::chain_of(program)) programs.push_back(std::move(program));
    }
  }
  for (const Program& program : programs) {
    for (int i = 0; i < 4; ++i) {
      Program mutant = program;
      if (i > 0) {
        Step& step = mutant.steps[random() % mutant.steps.size()];
        std::vector<std::uint32_t> devices;
        for (const Group& group : step.groups) {
          devices.insert(devices.end(), group.begin(), group.end());
        }
        std::shuffle(devices.begin(), devices.end(), random);
        std::size_t next = 0;
        for (Group& group : step.groups) {
          for (std::uint32_t& device : group) device = devices[next++];
        }
      }
      std::string text = hlo::to_hlo(hlo::lower_to_module(program, {"test"}));
      const std::size_t transposed = text.find(" transpose(");
      if (i > 1 && transposed != std::string::npos) {  // another order of the rows
        const std::size_t at = text.find("dimensions={", transposed) + 12;
        const std::size_t end = text.find('}', at);
        std::string order = text.substr(at, end - at);
        for (std::size_t k = order.size() / 2 + 1; k-- > 1;) {
          std::swap(order[2 * k], order[2 * (random() % (k + 1))]);
        }
        const std::string shape = text.substr(text.rfind('=', transposed) + 2);
        if (shape.starts_with("f32[2,2]") || shape.starts_with("f32[2,2,2]")) {
          text.replace(at, end - at, order);
          ++reordered;
        }
      } else if (i > 0) {
        // The groups of the mutant in the text of the program.
        const auto lists = [](const Step& step) {
          std::string list;
          for (const Group& group : step.groups) {
            list += (list.empty() ? "" : ",") + to_string(group);
          }
          return list;
        };
        for (std::size_t s = 0; s < program.steps.size(); ++s) {
          const std::string before = lists(program.steps[s]);
          const std::size_t at = text.find(before);
          if (before != lists(mutant.steps[s]) && at != std::string::npos) {
            text.replace(at, before.size(), lists(mutant.steps[s]));
          }
        }
      }
      CAPTURE(text);
      const auto module = std::make_shared<const hlo::Module>(hlo::read_hlo("test", text));
      hlo::ComparisonOptions options;
      options.engine = hlo::ModuleEngine::Interpreter;
      const hlo::ModuleDecision compared = hlo::compare(
          hlo::goal_module(*module, hlo::Goal::AllReduce, program.classes), module, options, {});
      const auto found = by_groups(module, program.classes);
      if (found) {
        CHECK(*found == compared.outcome);
      } else {
        ++open;
      }
      if (i == 0) {
        CHECK(found == Outcome::Established);
        std::string maximum = text;
        maximum.replace(maximum.find("add(a, b)"), 9, "maximum(a, b)");
        const auto other = std::make_shared<const hlo::Module>(hlo::read_hlo("test", maximum));
        const bool sums = text.find("to_apply=add") != std::string::npos;
        CHECK(by_groups(other, program.classes).has_value() == !sums);
        std::vector<Group> others = {{}, {}};
        for (std::uint32_t d = 0; d < program.devices; ++d) others[d % 2].push_back(d);
        if (program.devices % 2 == 0) CHECK(by_groups(module, others) == Outcome::Refuted);
      }
      ++(compared.outcome == Outcome::Established ? right : wrong);
    }
  }
  MESSAGE(right << " right, " << wrong << " wrong, " << reordered << " with other rows, " << open
                << " open");
  CHECK(right > 100);
  CHECK(wrong > 1000);
  CHECK(reordered > 100);
  CHECK(open * 50 < wrong);
}

TEST_CASE("a chain on 65536 devices is lowered and verified in seconds") {
  const std::string system = "hierarchy a=16,b=16,c=16,d=16\naxes x=65536\nreduce x\n";
  const Program program = read_steps(
      system +
      "ReduceScatter(b, InsideGroup); AllReduce(b, Parallel(root)); AllGather(b, InsideGroup)");
  const std::string text = texts_of(program)[0];
  CHECK(count(text, "replica_groups=[256,256]<=[65536]") == 2);
  CHECK(judged(text, program.classes) == "valid");
  const Program rearranged = read_steps(
      system +
      "ReduceScatter(root, InsideGroup); AllGather(b, Parallel(root)); AllGather(b, InsideGroup)");
  const std::string transposed = texts_of(rearranged)[0];
  CHECK(count(transposed, "f32[256,256] transpose(") == 1);
  CHECK(judged(transposed, rearranged.classes) == "valid");
}

TEST_CASE("groups of unequal size on 65536 devices, which StableHLO pads to the longest") {
  const auto masters = [](const std::string& levels, const std::string& devices) {
    return read_steps("hierarchy " + levels + "\naxes x=" + devices +
                      "\nreduce x\nAllReduce(a, InsideGroup); AllReduce(a, Master(root)); "
                      "Broadcast(a, InsideGroup)");
  };
  const Program program = masters("a=256,b=256", "65536");
  std::string text = texts_of(program)[1];
  CHECK(count(text, "tensor<65281x256xi64>") == 1);
  CHECK(judged(text, program.classes) == "valid");
  // Devices 1 and 256 change places.
  const std::size_t masters_at = text.find("[[0, 256,");
  REQUIRE(masters_at != std::string::npos);
  const std::size_t alone = text.find("[1, -1,", masters_at);
  REQUIRE(alone != std::string::npos);
  text.replace(alone, 7, "[256, -1,");
  text.replace(masters_at, 9, "[[0, 1,");
  CHECK(judged(text, program.classes).starts_with("invalid"));
  CHECK_THROWS_AS(texts_of(masters("a=512,b=256", "131072")), LimitReached);
}

TEST_CASE("a module of a million devices is judged by its groups, and by wrong ones") {
  constexpr std::uint32_t kDevices = 1U << 20U;
  const std::string blocks = "[1024,1024]<=[1048576]";
  const std::string across = "[1024,1024]<=[1024,1024]T(1,0)";
  const auto module_of = [&](const std::string& second) {
    const auto attributes = [](int channel, const std::string& groups) {
      return fmt::format(", channel_id={}, replica_groups={}, use_global_device_ids=true", channel,
                         groups);
    };
    return fmt::format(
        "HloModule program, num_partitions={0}\n\nadd {{\n  a = f32[] parameter(0)\n"
        "  b = f32[] parameter(1)\n  ROOT sum = f32[] add(a, b)\n}}\n\nENTRY main {{\n"
        "  x0 = f32[{0}] parameter(0)\n"
        "  v1 = f32[1024] reduce-scatter(x0){1}, dimensions={{0}}, to_apply=add\n"
        "  v2 = f32[1] reduce-scatter(v1){2}, dimensions={{0}}, to_apply=add\n"
        "  v3 = f32[1024] all-gather(v2){2}, dimensions={{0}}\n"
        "  ROOT v4 = f32[{0}] all-gather(v3){1}, dimensions={{0}}\n}}\n",
        kDevices, attributes(1, blocks), attributes(2, second));
  };
  Group all(kDevices);
  std::iota(all.begin(), all.end(), 0U);
  CHECK(judged(module_of(across), {all}) == "valid");
  CHECK(judged(module_of(blocks), {all}) == "invalid contributions");
  // What is no chain is not compared on so many devices.
  std::string other = module_of(across);
  other.replace(other.find("ROOT v4"), 7, "v4");
  other.insert(other.rfind('}'), "  ROOT v5 = f32[1048576] negate(v4)\n");
  CHECK(judged(other, {all}) == "unknown");
}

TEST_CASE("several classes, uneven groups and devices that take no part") {
  const char* const programs[] = {
      "devices 4\nclasses {0,2},{1,3}\nAllReduce{0,2},{1,3}",
      "devices 6\nclasses {0,1,2},{3,4},{5}\nAllReduce{0,1,2}; AllReduce{3,4}",
      "devices 4\nclasses {0,3},{1,2}\nReduceScatter{0,3},{1,2}; AllGather{0,3},{1,2}",
      "devices 8\nclasses {0,2,4,6},{1,3,5,7}\nReduceScatter{0,2},{4,6},{1,3},{5,7}; "
      "AllReduce{0,4},{2,6},{1,5},{3,7}; AllGather{0,2},{4,6},{1,3},{5,7}",
      "devices 5\nAllReduce{0,1,2,3,4}",
      "devices 5\nReduce{0,1},{2,3,4}; AllReduce{0,2}; Broadcast{0,1},{2,3,4}",
      "devices 4\nReduceScatter{0,1,2,3}; AllGather{0,3},{1,2}; AllGather{0,1},{2,3}",
      // One device is left over: no groups of two are made of it.
      "devices 6\nclasses {0,1,2,3,4},{5}\nReduce{0,1},{2,3,4}; ReduceScatter{0,2}; "
      "AllGather{0,2}; Broadcast{0,1},{2,3,4}",
      // Device 4 keeps its six rows while the others have one or two.
      "devices 6\nclasses {0,1},{2,3,4},{5}\nReduceScatter{0,1},{2,3,4}; AllGather{0,1},{2,3,4}",
      "devices 7\nclasses {0,1,2,3},{4},{5},{6}\nReduce{0,1},{2,3}; AllReduce{0,2}; "
      "Broadcast{0,1}; Broadcast{2,3}"};
  for (const char* text : programs) {
    CAPTURE(text);
    check_valid(read_steps(text));
  }
}

TEST_CASE("a step is the collective of its name, with no more rows than are held") {
  const auto texts = texts_of(read_steps(
      "hierarchy 2,2\naxes 4\nreduce 0\n"
      "ReduceScatter(l0, InsideGroup); AllReduce(l0, Parallel(root)); AllGather(l0, InsideGroup)"));
  CHECK(texts[0] ==
        "HloModule program, num_partitions=4\n\n"
        "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT sum = f32[] add(a, b)\n}\n\n"
        "ENTRY main {\n  x0 = f32[4] parameter(0)\n"
        "  v1 = f32[2] reduce-scatter(x0), channel_id=1, replica_groups={{0,1},{2,3}}, "
        "use_global_device_ids=true, dimensions={0}, to_apply=add\n"
        "  v2 = f32[2] all-reduce(v1), channel_id=2, replica_groups={{0,2},{1,3}}, "
        "use_global_device_ids=true, to_apply=add\n"
        "  ROOT v3 = f32[4] all-gather(v2), channel_id=3, replica_groups={{0,1},{2,3}}, "
        "use_global_device_ids=true, dimensions={0}\n}\n");
  CHECK(count(texts[1], "stablehlo.reduce_scatter") == 1);
  CHECK(count(texts[1], "tensor<2xf32>") == 4);
  const auto uneven = texts_of(
      read_steps("devices 5\nReduce{0,1},{2,3,4}; AllReduce{0,2}; Broadcast{0,1},{2,3,4}"));
  // StableHLO fills up groups of an all-reduce only.
  CHECK(count(uneven[0], "collective-broadcast") == 0);
  CHECK(count(uneven[1], "\"stablehlo.all_reduce\"") == 3);
  CHECK(count(uneven[1], "[0, 1, -1], [2, 3, 4]") == 2);
  const auto even =
      texts_of(read_steps("devices 4\nReduce{0,1},{2,3}; AllReduce{0,2}; "
                          "Broadcast{0,1},{2,3}"));
  CHECK(count(even[0], "collective-broadcast(v") == 1);
  CHECK(count(even[1], "\"stablehlo.collective_broadcast\"") == 1);
}

TEST_CASE("a module with other groups, rows or offsets is refused") {
  const Program program =
      read_steps("devices 4\nReduceScatter{0,1},{2,3}; AllReduce{0,2},{1,3}; AllGather{0,1},{2,3}");
  const auto texts = texts_of(program);
  const std::pair<const char*, const char*> groups[] = {{"{0,2},{1,3}", "{0,1},{2,3}"},
                                                        {"[0, 2], [1, 3]", "[0, 1], [2, 3]"}};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(judged(texts[i], program.classes) == "valid");
    std::string swapped = texts[i];
    REQUIRE(count(swapped, groups[i].first) == 1);
    const std::string from = groups[i].first;
    swapped.replace(swapped.find(from), from.size(), groups[i].second);
    CHECK(judged(swapped, program.classes) == "invalid contributions");
    CHECK(judged(texts[i], {{0, 1}, {2, 3}}) == "invalid contributions");
  }
  // The rows of a gather in the order of the group.
  std::string turned = texts[0];
  const std::size_t last = turned.rfind("{0,1},{2,3}");
  turned.replace(last, 11, "{1,0},{2,3}");
  CHECK(judged(turned, program.classes) == "invalid contributions");
}

TEST_CASE("other goals and beginnings are refused") {
  CHECK_THROWS_AS(hlo::lower_to_module(
                      [] {
                        Program program = read_steps("devices 4\nReduceScatter{0,1,2,3}");
                        program.terms.goal.name = "reducescatter";
                        return program;
                      }(),
                      {"test"}),
                  InputError);
  Program shards = read_steps("devices 4\nAllReduce{0,1,2,3}");
  shards.beginning.start = Start::Shards;
  CHECK_THROWS_AS(hlo::lower_to_module(shards, {"test"}), InputError);
}

TEST_CASE("groups in iota form are read back as the same groups; lists without one stay lists") {
  const auto read = [](const std::string& text) {
    hlo::TextReader reader("test", text);
    return hlo::read_replica_groups(reader).lists;
  };
  CHECK(hlo::to_iota({{0, 1}, {2, 3}}) == "[2,2]<=[4]");
  CHECK(hlo::to_iota({{0, 2}, {1, 3}}) == "[2,2]<=[2,2]T(1,0)");
  CHECK(hlo::to_iota({{0}}) == "[1,1]<=[1]");
  for (const hlo::IdGroups& groups : std::vector<hlo::IdGroups>{{},
                                                                {{}},
                                                                {{0, 1}, {2}},
                                                                {{1, 0}},
                                                                {{0, 1}, {3, 2}},
                                                                {{0, 3}, {1, 2}},
                                                                {{1, 2}, {3, 4}},
                                                                {{0, 1}, {0, 1}},
                                                                {{0, 65536}}}) {
    CHECK(!hlo::to_iota(groups));
  }
  std::size_t tried = 0;
  for (const char* sizes : {"2,2,2", "2,3,4", "5,2,3,2", "7,11", "16,16"}) {
    const Hierarchy hierarchy = parse_hierarchy("h", sizes);
    const Axes axes({{"a", hierarchy.devices()}}, {"a"});
    for (const Placement& placement : enumerate_placements(hierarchy, axes, {"a"})) {
      const DeviceGrid grid(hierarchy, axes, placement);
      for (FactorSet reduced = 1; reduced <= grid.all_factors(); ++reduced) {
        hlo::IdGroups groups;
        for (const Group& group : grid.groups(reduced, 0)) {
          groups.emplace_back(group.begin(), group.end());
        }
        const auto iota = hlo::to_iota(groups);
        REQUIRE(iota.has_value());
        CHECK(read(*iota) == groups);
        ++tried;
      }
    }
  }
  CHECK(tried == 7 + 7 + 15 + 3 + 3);
}

TEST_CASE("modules of more than 64 partitions have groups in iota form") {
  for (const auto& [hierarchy, devices, form] :
       {std::tuple{"8,8", 64, "replica_groups={{0,1,2,3,4,5,6,7},{"},
        std::tuple{"9,8", 72, "replica_groups=[9,8]<=[72], "}}) {
    const Program program = read_steps(
        fmt::format("hierarchy node={}\naxes a={}\nreduce a\nReduceScatter(node, InsideGroup); "
                    "AllReduce(node, Parallel(root)); AllGather(node, InsideGroup)",
                    std::string(hierarchy).replace(1, 1, ",gpu="), devices));
    const std::string text = texts_of(program)[0];
    CHECK(count(text, form) == 2);
    CHECK(count(text, "replica_groups=[8,9]<=[9,8]T(1,0)") == (devices == 72 ? 1 : 0));
    check_valid(program);
  }
}

}  // namespace p2
