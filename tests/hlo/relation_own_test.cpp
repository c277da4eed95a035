// Tensors that every device has its own of, in manual parts and in modules that are partitioned
// both: what p2-check takes them to be, on which devices it takes them to be equal, and the facts
// about them, on devices that are executed element by element.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/own_programs.h"
#include "tests/hlo/small_claims.h"

namespace p2::hlo::small::own {
namespace {

using kernel::xla::Devices;
using kernel::xla::Fact;
using kernel::xla::Op;
using kernel::xla::WholeModule;

using Arrays = std::vector<Array>;  ///< by device

bool are_same(const Array& a, const Array& b) {
  return a.sizes == b.sizes &&
         std::equal(a.cells.begin(), a.cells.end(), b.cells.begin(), b.cells.end(), is_same);
}

/// A tensor is made of one of which nothing is known.
struct Unknown {};

/// What every device has of tensors, by what they are made of.
class OwnTensors {
 public:
  OwnTensors(const WholeModule& whole, std::map<std::size_t, Arrays> inputs)
      : whole_(whole), inputs_(std::move(inputs)) {}

  const Arrays& at(std::size_t tensor) {
    const auto found = known_.find(tensor);
    return found == known_.end() ? known_.emplace(tensor, made(tensor)).first->second
                                 : found->second;
  }

 private:
  static std::size_t number(std::int64_t value) { return static_cast<std::size_t>(value); }

  Arrays made(std::size_t tensor) {
    const auto known = whole_.tensors.at(tensor);
    const auto& n = known.form.numbers;
    const std::string& opcode = known.form.opcode;
    if (opcode == "unknown") throw Unknown();
    if (opcode == "input") return inputs_.at(number(n.at(0).at(0)));
    if (opcode == "collective") return exchanged(known.form, known.kind, at(known.operands.at(0)));
    Arrays all(kDevices, Array{known.sizes, {}});
    if (opcode == "numbers") {
      for (std::size_t device = 0; device < kDevices; ++device)
        all[device].cells.assign(n.at(device).begin(), n.at(device).end());
    } else if (opcode == "partition-id") {
      for (std::size_t device = 0; device < kDevices; ++device)
        all[device].cells = {static_cast<double>(device)};
    } else if (opcode == "shard" || opcode == "whole") {
      const Arrays& from = at(known.operands.at(0));
      const bool is_cut = opcode == "shard";
      std::map<Index, double> cells;
      for (std::size_t device = 0; device < kDevices; ++device) {
        for (const Index& index : indices_of(is_cut ? known.sizes : from[device].sizes)) {
          Index at = index;
          for (std::size_t k = 0; k < at.size(); ++k)
            at[k] += whole_.places.at(number(n.at(0).at(k))).devices.at(device).at(0).of;
          if (is_cut)
            all[device].cells.push_back(from[device].at(at));
          else if (!is_same(cells.emplace(at, from[device].at(index)).first->second,
                            from[device].at(index)))
            throw std::out_of_range("tiles of one place that differ");
        }
      }
      for (const Index& index : indices_of(is_cut ? Index{0} : known.sizes)) {
        for (Array& each : all) each.cells.push_back(cells.at(index));
      }
    } else {
      for (std::size_t device = 0; device < kDevices; ++device) {
        std::vector<const Array*> operands;
        for (const std::size_t each : known.operands) operands.push_back(&at(each)[device]);
        all[device] = evaluate(known.form, operands, known.sizes, known.kind);
      }
    }
    return all;
  }

  static Arrays exchanged(const Form& form, const std::string& type, const Arrays& x) {
    Arrays all = x;
    if (form.text == "collective-permute") {
      for (std::size_t device = 0; device < kDevices; ++device) {
        const std::int64_t source = form.numbers.at(0).at(device);
        if (source != 0)
          all[device] = x.at(number(source - 1));
        else
          std::fill(all[device].cells.begin(), all[device].cells.end(), 0);
      }
      return all;
    }
    if (form.text == "all-gather") {
      for (const Index& group : form.numbers) {
        Array joined{x[0].sizes, {}};
        joined.sizes.insert(joined.sizes.begin(), std::ssize(group));
        for (const std::int64_t each : group) {
          const auto& cells = x.at(number(each)).cells;
          joined.cells.insert(joined.cells.end(), cells.begin(), cells.end());
        }
        for (const std::int64_t each : group) all.at(number(each)) = joined;
      }
      return all;
    }
    const bool is_sum = form.text.starts_with("all-reduce");
    const std::size_t along = is_sum ? 0 : number(form.numbers.at(0).at(0));
    for (std::size_t g = is_sum ? 0 : 1; g < form.numbers.size(); ++g) {
      const Index& group = form.numbers[g];
      for (std::size_t k = 0; k < group.size(); ++k) {
        Array& own = all.at(number(group[k]));
        own.cells.clear();
        for (const Index& index : indices_of(own.sizes)) {
          if (is_sum) {
            const auto op = static_cast<Op>(std::stoi(form.text.substr(form.text.find(' '))));
            double total = x.at(number(group[0])).at(index);
            for (std::size_t other = 1; other < group.size(); ++other)
              total = reduced(name_of(op), total, x.at(number(group[other])).at(index), type);
            own.cells.push_back(total);
            continue;
          }
          const std::int64_t size = own.sizes.at(along) / std::ssize(group);
          Index at = index;
          at[along] = index[along] % size + static_cast<std::int64_t>(k) * size;
          own.cells.push_back(x.at(number(group[number(index[along] / size)])).at(at));
        }
      }
    }
    return all;
  }

  const WholeModule& whole_;
  std::map<std::size_t, Arrays> inputs_;
  std::map<std::size_t, Arrays> known_;
};

/// Why a fact is false of what devices have; empty where it is true, or says nothing of them.
std::string contradiction(const kernel::xla::RelatedModules& modules, const Fact& fact,
                          const Arrays& devices, OwnTensors& tensors) {
  const Arrays& own = tensors.at(fact.tensor);
  if (fact.share || fact.view) return "";
  const Claims claims = claims_of(modules, fact, devices.at(0).sizes, own.at(0).sizes);
  if (!claims.contradiction.empty()) return claims.contradiction;
  const bool is_one = std::all_of(own.begin(), own.end(),
                                  [&](const Array& each) { return are_same(each, own[0]); });
  if (fact.partial && !is_one) return "parts of what every device has its own of";
  for (const Claim& claim : claims.all) {
    double found = devices.at(claim.devices.at(0)).at(claim.own);
    if (claim.are_copies) {
      if (!is_same(found, devices[claim.devices.at(1)].at(claim.own))) return "copies that differ";
      continue;
    }
    for (std::size_t k = 1; k < claim.devices.size(); ++k)
      found =
          reduced(name_of(modules.places().partial_at(*fact.partial).op), found,
                  devices[claim.devices[k]].at(claim.own), modules.tensors().at(fact.tensor).kind);
    if (!is_same(found, own[claim.devices[0]].at(claim.whole)))
      return fmt::format("device {} has {} at {}, not {}", claim.devices[0], found,
                         fmt::join(claim.own, ","), own[claim.devices[0]].at(claim.whole));
  }
  return "";
}

struct Counts {
  int equal_somewhere = 0, unknown = 0, wholes = 0, facts = 0, of_borders = 0, of_own = 0;
};

/// Why what is taken of tensors is not so; empty if it is.
std::string compared(const WholeModule& whole, const std::vector<std::size_t>& outputs,
                     const std::vector<Arrays>& arrays, OwnTensors& tensors, Counts& counts) {
  for (std::size_t k = 0; k < whole.outputs.size(); ++k) {
    const std::size_t tensor = whole.outputs[k];
    Arrays own;
    try {
      own = tensors.at(tensor);
    } catch (const Unknown&) {
      ++counts.unknown;
      continue;
    }
    if (k >= outputs.size()) ++counts.wholes;
    const auto alike = whole.tensors.alike(tensor, kDevices);
    for (std::size_t device = 0; device < kDevices; ++device) {
      if (alike[device] != device && whole.tensors.varies(tensor)) ++counts.equal_somewhere;
      if (!are_same(own[device], own[alike[device]]))
        return fmt::format("output {}: device {} has not what device {} has", k, device,
                           alike[device]);
      if (k < outputs.size() && !are_same(own[device], arrays[outputs[k]][device]))
        return fmt::format("v{} is another tensor on device {}", outputs[k], device);
    }
  }
  return "";
}

/// Whether an array of which a part is seen by a hint is, too, by another hint, or where there is
/// no more than parts or a view of it.
bool is_seen_otherwise(kernel::xla::RelatedModules& modules, std::size_t node, std::size_t fact,
                       const Index& hint) {
  kernel::xla::Numbering alone(kDevices);
  std::iota(alone.begin(), alone.end(), 0U);
  std::vector<Fact> others(3, modules.facts()[fact]);
  others[0].partial = modules.places().partial({Op::Add, kernel::xla::Numbering(kDevices), alone});
  others[1].view.emplace();
  others[2].share.emplace();
  bool is_so = modules.follows(node, {fact}, {}) || modules.follows(node, {fact}, {hint[0], 1});
  for (Fact& each : others)
    is_so = modules.follows(node, {modules.add(std::move(each))}, hint) || is_so;
  return is_so;
}

/// All facts that follow from those about operands, with few about each node.
std::string derived(kernel::xla::RelatedModules& modules, const std::vector<Arrays>& arrays,
                    OwnTensors& tensors, Counts& counts) {
  std::map<std::size_t, std::vector<std::size_t>> facts;  // by node
  for (std::size_t k = 0; k < modules.facts().size(); ++k)
    facts[modules.facts()[k].node].push_back(k);
  std::string wrong;
  const auto try_to = [&](std::size_t node, const std::vector<std::size_t>& from, const Index& hint,
                          std::size_t limit) {
    auto fact = modules.follows(node, from, hint);
    const std::string& name = modules.local().nodes[node].instruction->name;
    if (!fact || !wrong.empty()) return;
    ++counts.facts;
    if (modules.tensors().varies(fact->tensor)) ++counts.of_own;
    if (from.size() == 1 && modules.facts()[from[0]].node == node) ++counts.of_borders;
    try {
      const std::string why = contradiction(
          modules, *fact, arrays[static_cast<std::size_t>(std::stoi(name.substr(1)))], tensors);
      if (!why.empty()) wrong = fmt::format("{} by {}: {}", name, fmt::join(hint, ","), why);
    } catch (const Unknown&) {
      ++counts.unknown;
    }
    if (facts[node].size() < limit) facts[node].push_back(modules.add(std::move(*fact)));
  };
  for (std::size_t node = 0; node < modules.local().nodes.size() && wrong.empty(); ++node) {
    const auto& known = modules.local().nodes[node];
    const std::string& name = known.instruction->name;
    if (name[0] != 'v' || name.find('.') != std::string::npos) continue;  // of a step, or a part
    std::vector<std::vector<std::size_t>> choices = {{}};
    for (const std::size_t operand : known.operands) {
      std::vector<std::vector<std::size_t>> next;
      for (const auto& choice : choices) {
        for (const std::size_t fact : facts[operand]) {
          if (next.size() == 12) break;
          next.push_back(choice);
          next.back().push_back(fact);
        }
      }
      choices = std::move(next);
    }
    if (!known.operands.empty()) choices.emplace_back();
    for (const auto& choice : choices) {
      for (const Index& hint : {Index{}, known.shape.sizes.all(), Index{2}})
        try_to(node, choice, hint, 4);
    }
    for (std::size_t border = 0; border < modules.borders().size(); ++border) {
      const Index hint = {static_cast<std::int64_t>(border)};
      const std::vector<std::size_t> own = facts[node];
      for (const std::size_t fact : own) {
        const int before = counts.of_borders;
        try_to(node, {fact}, hint, 7);
        if (counts.of_borders % 32 == 1 && counts.of_borders > before)
          CHECK(!is_seen_otherwise(modules, node, fact, hint));
      }
    }
    // Parts side by side as summands.
    const std::vector<std::size_t> own = facts[node];
    for (const std::size_t fact : own) {
      for (std::int64_t along = 0; along < std::ssize(known.shape.sizes); ++along)
        try_to(node, {fact}, {along, 0}, 9);
    }
  }
  return wrong;
}

TEST_CASE("what every device has its own of is what devices have") {
  const char* const more = std::getenv("P2_RELATION_TIMES");
  const int programs = 1500 * (more == nullptr ? 1 : std::atoi(more));
  Counts counts;
  for (int seed = 0; seed < programs; ++seed) {
    OwnProgram own(static_cast<std::uint32_t>(seed));
    const std::string local_text = own.program.local_text();
    const auto arrays = own.program.executed();
    std::vector<std::size_t> outputs;
    const std::string manual = own.manual_text(outputs);
    for (const bool is_manual : {true, false}) {
      const std::string text = is_manual ? manual : own.own_text();
      std::map<std::size_t, Arrays> inputs;
      std::vector<std::optional<kernel::xla::HeldInput>> held;
      for (std::size_t k = 0, next = 0; k < own.program.count(); ++k) {
        if (own.program.at(k).opcode != "parameter") continue;
        kernel::xla::Relation relation = own.program.relations()[next];
        if (!is_manual) {
          for (auto& piece : relation.pieces) piece.of = piece.at;
        }
        held.emplace_back(relation);
        inputs[next] = is_manual ? Arrays(kDevices, own.program.inputs().at(next)) : arrays[k];
        ++next;
      }
      kernel::Budget budget;
      const kernel::xla::Module before = kernel::xla::read_module(text, "whole");
      const kernel::xla::Module after = kernel::xla::read_module(local_text, "local");
      const Devices devices{1, kDevices};
      WholeModule whole(before, {}, devices, !is_manual, true, budget);
      OwnTensors tensors(whole, std::move(inputs));
      kernel::xla::RelatedModules modules(whole, after, kernel::xla::Runners(devices), held,
                                          budget);
      std::string why;
      try {
        why = compared(whole, outputs, arrays, tensors, counts);
        if (why.empty()) why = derived(modules, arrays, tensors, counts);
      } catch (const std::out_of_range& error) {
        why = error.what();
      }
      if (!why.empty()) FAIL("program ", seed, ": ", why, " in\n", text, local_text);
    }
  }
  MESSAGE(counts.equal_somewhere, " equal on some devices, ", counts.unknown, " unknown, ",
          counts.wholes, " wholes, ", counts.facts, " facts, of borders ", counts.of_borders,
          ", about own tensors ", counts.of_own);
  CHECK(counts.wholes * 4 > programs);
  CHECK(counts.of_borders > programs);
  CHECK(counts.of_own > 10 * programs);
}

/// A tensor of its own on every device, of which devices hold a tile, and what exchanges it.
struct ExchangedTiles {
  std::mt19937 random;
  Index whole, own, result, own_result;
  std::vector<Index> tiles;  ///< by device
  std::string operation;

  std::size_t below(std::size_t end) { return random() % end; }

  explicit ExchangedTiles(std::uint32_t seed) : random(seed), tiles(kDevices) {
    const std::vector<Index> halves = {{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}, {0, 0, 0, 0}};
    const std::vector<Index> quarters = {{0, 1, 2, 3}, {3, 1, 0, 2}, {0, 2, 1, 3}, {0, 0, 2, 2}};
    for (std::size_t rank = 1 + below(3); rank > 0; --rank) {
      const std::int64_t parts = std::array{1, 1, 2, 2, 4}[below(5)];
      whole.push_back(4);
      own.push_back(4 / parts);
      const Index& row = (parts == 2 ? halves : quarters)[below(4)];
      for (std::size_t device = 0; device < kDevices; ++device)
        tiles[device].push_back(parts == 1 ? 0 : row[device]);
    }
    const std::vector<std::pair<const char*, std::int64_t>> groups = {
        {"{0,1},{2,3}", 2}, {"{0,2},{1,3}", 2}, {"{3,0},{2,1}", 2}, {"{0,2,1,3}", 4}};
    const auto [group, members] = groups[below(groups.size())];
    const std::size_t along = below(whole.size());
    const std::vector<std::string> all = {"all-reduce", "all-gather", "all-to-all",
                                          "reduce-scatter", "collective-permute"};
    const std::string opcode = all[below(all.size())];
    const auto made = [&](Index sizes) {
      if (opcode == "all-gather") sizes[along] *= members;
      if (opcode == "reduce-scatter") sizes[along] /= members;
      return sizes;
    };
    result = made(whole);
    own_result = made(own);
    const std::string by = fmt::format(", replica_groups={{{}}}", group);
    const std::string at = fmt::format(", dimensions={{{}}}", along);
    const char* const pairs[] = {"{0,1},{1,0},{2,3},{3,2}", "{0,2},{2,0},{1,3},{3,1}", "{0,2}",
                                 "{1,0},{2,1},{3,2}"};
    operation =
        fmt::format("{}(v0), channel_id=1{}", opcode,
                    opcode == "collective-permute"
                        ? fmt::format(", source_target_pairs={{{}}}", pairs[below(4)])
                    : opcode == "all-to-all"
                        ? by + at
                        : by + ", use_global_device_ids=true" + (opcode == "all-reduce" ? "" : at) +
                              (opcode == "all-gather" ? "" : ", to_apply=add_f32"));
  }
  /// What devices run, or all of it; or the tensor, and nothing that is exchanged.
  kernel::xla::Module module(bool is_whole, bool is_exchanged = true) const {
    if (!is_exchanged) {
      return kernel::xla::read_module(
          fmt::format("HloModule m\n\nENTRY main {{\n  v0 = f32[{0}] parameter(0)\n  ROOT v1 = "
                      "f32[{0}] copy(v0)\n}}\n",
                      fmt::join(whole, ",")),
          "m");
    }
    return kernel::xla::read_module(
        fmt::format("HloModule m, num_partitions=4\n\n{}ENTRY main {{\n  v0 = f32[{}] "
                    "parameter(0)\n  ROOT v1 = f32[{}] {}\n}}\n",
                    reducer_text("add", "f32"), fmt::join(is_whole ? whole : own, ","),
                    fmt::join(is_whole ? result : own_result, ","), operation),
        "m");
  }
};

struct CountedExchanges {
  int of_tiles = 0, of_all = 0;  ///< of which a fact about the result follows
  int others = 0;
};

/// Exchanges of tiles of random tensors, that devices have their own of or not. Facts about results
/// are checked element by element.
CountedExchanges check_exchanges(bool has_own) {
  const char* const more = std::getenv("P2_RELATION_TIMES");
  CountedExchanges counts;
  for (int seed = 0; seed < 4000 * (more == nullptr ? 1 : std::atoi(more)); ++seed) {
    ExchangedTiles exchange(static_cast<std::uint32_t>(seed));
    Arrays all(kDevices, Array{exchange.whole, {}}), own(kDevices, Array{exchange.own, {}});
    kernel::xla::Relation relation;
    for (std::size_t device = 0; device < kDevices; ++device) {
      Index of;
      for (std::size_t k = 0; k < exchange.own.size(); ++k)
        of.push_back(exchange.tiles[device][k] * exchange.own[k]);
      relation.pieces.push_back({device, 0, of, Index(of.size(), 0), exchange.own});
      for (std::size_t n = indices_of(exchange.whole).size(); n > 0; --n)
        all[device].cells.push_back(static_cast<double>(exchange.below(1000)));
      if (!has_own) all[device] = all[0];
      for (Index index : indices_of(exchange.own)) {
        for (std::size_t k = 0; k < index.size(); ++k) index[k] += of[k];
        own[device].cells.push_back(all[device].at(index));
      }
    }
    kernel::Budget budget;
    const auto before = exchange.module(true, has_own);
    const auto after = exchange.module(false);
    const Devices devices{1, kDevices};
    WholeModule whole(before, {}, devices, has_own, true, budget);
    const WholeModule whole_of_own(after, {}, devices, true, true, budget);
    OwnTensors tensors(whole, {{0, all}}), own_tensors(whole_of_own, {{0, own}});
    kernel::xla::RelatedModules modules(whole, after, kernel::xla::Runners(devices), {relation},
                                        budget);
    REQUIRE(modules.facts().size() == 1);
    const auto fact = modules.follows(modules.local().outputs.at(0), {0}, {});
    const bool is_cut = exchange.own != exchange.whole;
    ++(!fact ? counts.others : is_cut ? counts.of_tiles : counts.of_all);
    if (!fact) {
      CHECK((is_cut || !has_own));
      continue;
    }
    CAPTURE(exchange.operation);
    CHECK(contradiction(modules, *fact, own_tensors.at(whole_of_own.outputs.at(0)), tensors) == "");
  }
  MESSAGE(counts.of_tiles, " of tiles, ", counts.of_all, " of all, ", counts.others, " others");
  return counts;
}

TEST_CASE("tiles of what every device has its own of are exchanged as all of it is") {
  const CountedExchanges counts = check_exchanges(true);
  CHECK(counts.of_tiles > 400);
  CHECK(counts.of_all > 500);
  CHECK(counts.others > 1000);
}

TEST_CASE("tiles are exchanged along dimensions that are cut, and along others") {
  const CountedExchanges counts = check_exchanges(false);
  CHECK(counts.of_tiles > 1000);
  CHECK(counts.others > 200);
}

/// Whether nothing is unknown of what a tensor is made of.
bool is_known(const kernel::xla::Tensors& tensors, std::size_t tensor) {
  const auto& known = tensors.at(tensor);
  return known.form.opcode != "unknown" &&
         std::all_of(known.operands.begin(), known.operands.end(),
                     [&](std::size_t each) { return is_known(tensors, each); });
}

/// Of r, which these lines make of m, a part of the rows of x, or of another tensor that is cut.
bool is_known(const std::string& lines, const std::string& others = "") {
  const kernel::xla::Module module = kernel::xla::read_module(
      "HloModule whole, num_partitions=4, frontend_attributes={xla.sdy.meshes={mesh = "
      "#sdy.mesh<[\"a\"=2, \"b\"=2]>}}\n\n" +
          reducer_text("add", "f32") + reducer_text("subtract", "f32") +
          "ENTRY main {\n  x = f32[4,6] parameter(0)\n"
          "  xs = f32[4,6] custom-call(x), custom_call_target=\"Sharding\", "
          "sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}\n" +
          (others.empty() ? "  m = f32[2,6] custom-call(xs), "
                            "custom_call_target=\"SPMDFullToShardShape\", sharding={manual}\n"
                          : others) +
          lines + "}\n",
      "whole");
  kernel::Budget budget;
  try {
    const WholeModule whole(module, {}, Devices{1, kDevices}, false, true, budget);
    return is_known(whole.tensors, whole.outputs.at(0));
  } catch (const kernel::CheckFailure&) {
    return false;
  }
}

TEST_CASE("what is not understood of a manual part is a tensor of which nothing is known") {
  const std::string all = "replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true";
  const std::string pairs =
      "replica_groups={{0,2},{1,3}}, channel_id=1, use_global_device_ids=true";
  const std::string uneven =
      "replica_groups={{0,2,1},{3}}, channel_id=1, use_global_device_ids=true";
  const std::string some = "replica_groups={{0,1}}, channel_id=1, use_global_device_ids=true";
  const auto collective = [](const std::string& shape, const std::string& opcode,
                             const std::string& attributes, const std::string& of = "m") {
    return fmt::format("  ROOT r = f32[{}] {}({}), {}\n", shape, opcode, of, attributes);
  };
  const auto sum = [&](const std::string& groups, const std::string& by = "add") {
    return collective("2,6", "all-reduce", groups + ", to_apply=" + by + "_f32");
  };
  CHECK(is_known(sum(pairs)));
  CHECK(is_known(sum(all)));
  CHECK(!is_known(sum(some)));
  CHECK(!is_known(sum(all, "subtract")));
  // Of what is moved, too.
  const std::string moved = "  t = f32[6,2] transpose(m), dimensions={1,0}\n";
  const std::string exchange = "channel_id=1, replica_groups={{0,2},{1,3}}";
  for (const bool is_moved : {false, true}) {
    const auto made = [&](const std::string& opcode, const Index& own, const std::string& rest) {
      const Index sizes = is_moved ? Index{own[1], own[0]} : own;
      return (is_moved ? moved : "") + collective(fmt::format("{}", fmt::join(sizes, ",")), opcode,
                                                  rest, is_moved ? "t" : "m");
    };
    const std::string along = is_moved ? "dimensions={1}, " : "dimensions={0}, ";
    CHECK(is_known(made("all-gather", {4, 6}, along + pairs)));
    CHECK(!is_known(made("all-gather", {4, 6}, pairs)));
    CHECK(!is_known(made("all-gather", {2, 6}, along + uneven)));
    CHECK(!is_known(made("all-gather", {6, 6}, along + uneven)));
    for (const char* beyond : {"dimensions={2}, ", "dimensions={9}, "})
      CHECK(!is_known(made("all-gather", {4, 6}, beyond + pairs)));
    CHECK(is_known(made("all-to-all", {2, 6}, along + exchange)));
    CHECK(!is_known(made("all-to-all", {2, 6}, exchange)));
    CHECK(!is_known(made("all-to-all", {2, 6}, "dimensions={2}, " + exchange)));
    CHECK(
        !is_known(made("all-to-all", {2, 6}, along + "channel_id=1, replica_groups={{0,1,2,3}}")));
    const auto scattered = [&](const std::string& groups, const std::string& reducer) {
      return made("reduce-scatter", {1, 6}, groups + ", to_apply=" + reducer);
    };
    CHECK(is_known(scattered(along + pairs, "add_f32")));
    CHECK(!is_known(scattered(along + pairs, "subtract_f32")));
    CHECK(!is_known(scattered(along + uneven, "add_f32")));
    CHECK(!is_known(scattered(pairs, "add_f32")));
    CHECK(!is_known(scattered("dimensions={2}, " + pairs, "add_f32")));
    CHECK(!is_known(made("reduce-scatter", {0, 6}, along + all + ", to_apply=add_f32")));
  }
  // An all-to-all of several arrays is of all of them.
  CHECK(
      !is_known("  n = f32[2,6] negate(m)\n"
                "  a = (f32[2,6], f32[2,6]) all-to-all(m, n), " +
                exchange +
                "\n"
                "  ROOT r = f32[2,6] get-tuple-element(a), index=0\n"));
  CHECK(!is_known("  t = (f32[2,6]) tuple(m)\n  a = (f32[2,6]) all-reduce(t), " + all +
                  ", to_apply=add_f32\n  ROOT r = f32[2,6] get-tuple-element(a), index=0\n"));
  CHECK(!is_known("  ROOT r = f32[2,6] collective-broadcast(m), dimensions={0}, " + pairs + "\n"));
}

TEST_CASE("a manual part has tiles of one size, by the sharding where it begins and ends") {
  const std::string root = "  ROOT r = f32[2,6] negate(m)\n";
  const auto begins = [&](const std::string& shape, const std::string& whole,
                          const std::string& tiles) {
    return is_known(fmt::format("  ROOT r = f32[{}] negate(m)\n", shape),
                    fmt::format("  w = f32[{1}] parameter(1)\n  ws = f32[{1}] custom-call(w), "
                                "custom_call_target=\"Sharding\", sharding={2}\n  m = f32[{0}] "
                                "custom-call(ws), custom_call_target=\"SPMDFullToShardShape\", "
                                "sharding={{manual}}\n",
                                shape, whole, tiles));
  };
  CHECK(begins("2,6", "8,6", "{devices=[4,1]<=[4]}"));
  CHECK(begins("8,6", "8,6", "{replicated}"));
  // Of the last tile a row is padding.
  CHECK(!begins("2,6", "7,6", "{devices=[4,1]<=[4]}"));
  CHECK(!begins("2,6", "9,6", "{devices=[4,1]<=[4]}"));
  CHECK(!begins("4,6", "8,6", "{devices=[4,1]<=[4]}"));
  CHECK(!begins("2,6", "8", "{devices=[4]<=[4]}"));
  CHECK(!begins("2", "8,6", "{devices=[4,1]<=[4]}"));
  // As Shardy writes it.
  const auto shardy = [](const std::string& target, const std::string& key, const std::string& rows,
                         const std::string& of,
                         const std::string& manual = "\\\"a\\\", \\\"b\\\"") {
    return fmt::format(
        "custom-call({3}), custom_call_target=\"{0}\", frontend_attributes={{xla.sdy."
        "{1}_shardings=\"#sdy.sharding_per_value<[<@mesh, [{{{2}}}, {{}}]>]>\", "
        "xla.sdy.manual_axes=\"#sdy<manual_axes{{{4}}}>\"}}\n",
        target, key, rows, of, manual);
  };
  const std::string a = "\\\"a\\\"";
  const std::string global = "  m = f32[2,6] " + shardy("xla.sdy.GlobalToLocalShape", "in", a, "x");
  CHECK(is_known(root, global));
  // Manual along a only: what else cuts the rows cuts what the part has.
  const std::string b = "\\\"b\\\"";
  const auto begins_along_a = [&](const std::string& rows) {
    return is_known(root,
                    "  m = f32[2,6] " + shardy("xla.sdy.GlobalToLocalShape", "in", rows, "x", a));
  };
  CHECK(begins_along_a(a));
  CHECK(begins_along_a(a + ", " + b));
  CHECK(!begins_along_a(b));
  CHECK(!begins_along_a(b + ", " + a));
  CHECK(!begins_along_a(""));
  const auto ends = [&](const std::string& target, const std::string& shape,
                        const std::string& rows) {
    return is_known(fmt::format("  ROOT r = f32[{}] ", shape) + shardy(target, "out", rows, "m"),
                    global);
  };
  CHECK(ends("xla.sdy.LocalToGlobalShape", "4,6", a));
  CHECK(!ends("xla.sdy.LocalToGlobalShape", "2,6", ""));
  CHECK(!ends("xla.sdy.LocalToGlobalShape", "4,6", "\\\"b\\\""));
  CHECK(!ends("another", "4,6", a));
  CHECK(!is_known(root, "  m = f32[2,6] " + shardy("another", "in", a, "x")));
  CHECK(
      !is_known("  t = (f32[2,6]) tuple(m)\n  e = (f32[4,6]) custom-call(t), "
                "custom_call_target=\"SPMDShardToFullShape\", sharding={devices=[2,1,2]<=[4] "
                "last_tile_dim_replicate}\n"
                "  ROOT r = f32[4,6] get-tuple-element(e), index=0\n"));
  // More arrays than there are operands.
  CHECK(
      !is_known("  t = (f32[2,6], f32[2,6]) custom-call(m), "
                "custom_call_target=\"SPMDShardToFullShape\", sharding={{replicated}, "
                "{replicated}}\n  ROOT r = f32[2,6] get-tuple-element(t), index=1\n"));
}

}  // namespace
}  // namespace p2::hlo::small::own
