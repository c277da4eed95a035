// What the rules of a relation rest on: places of elements, and reductions over devices. Whatever
// does not fit is refused.

#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "proofs/kernel/xla/relation.h"
#include "tests/hlo/small_programs.h"
#include "tests/hlo/small_relations.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Index;
using kernel::xla::Numbering;
using kernel::xla::Op;
using kernel::xla::Places;
using kernel::xla::Segments;

TEST_CASE("places are within their arrays and tensors") {
  Places places(2);
  const auto one = [&](const Segments& segments, std::int64_t size = 4, std::int64_t whole = 8) {
    return places.segments(size, whole, {segments, {}});
  };
  CHECK(one({{0, 0, 2}, {2, 2, 2}}) == one({{0, 0, 4}}));
  CHECK(one({{2, 2, 2}, {0, 0, 2}, {3, 1, 0}}) == one({{0, 0, 4}}));
  CHECK(one({{0, 0, 2}, {2, 3, 2}}) != one({{0, 0, 4}}));
  CHECK(one({{0, 0, 2}, {3, 3, 1}}) != one({{0, 0, 4}}));
  CHECK_THROWS(one({{0, 0, 2}, {1, 4, 2}}));
  CHECK_THROWS(one({{0, 0, 5}}));
  CHECK_THROWS(one({{0, 5, 4}}));
  CHECK_THROWS(one({{0, -1, 2}}));
  CHECK_THROWS(one({{0, 1, -1}}));
  CHECK_THROWS(places.segments(4, 8, {{}}));
  CHECK_THROWS(places.free(0, 1));
  CHECK_THROWS(places.free(1, 0));
  CHECK(!places.meet(places.free(4, 8), places.free(4, 6)));
  CHECK(!places.meet(places.free(4, 8), places.free(2, 8)));
  CHECK(!places.meet(one({{0, 0, 4}}), one({{0, 1, 3}})));
  CHECK(places.meet(places.free(4, 8), one({{0, 0, 4}})) == one({{0, 0, 4}}));
  CHECK(!places.fixed(places.free(4, 3)));
  CHECK(places.is_identity(places.free(4, 4)));
  CHECK(!places.is_identity(places.free(4, 8)));
  CHECK(!places.is_total(one({{0, 0, 4}})));
}

TEST_CASE("a reduction over devices has every element once") {
  kernel::Budget budget;
  Places places(4);
  using All = std::vector<Segments>;
  const auto at = [&](std::int64_t size, std::int64_t whole, const All& all) {
    return places.segments(size, whole, all);
  };
  const auto is_sum = [&](const std::vector<std::size_t>& along) {
    const auto cut = places.reduced(Op::Add, {}, along, budget);
    return cut && *cut;
  };
  const All rows = {{{0, 0, 2}}, {{0, 0, 2}}, {{0, 2, 2}}, {{0, 2, 2}}};
  const All columns = {{{0, 0, 2}}, {{0, 2, 2}}, {{0, 0, 2}}, {{0, 2, 2}}};
  CHECK(is_sum({at(2, 4, rows)}));
  CHECK(is_sum({at(2, 4, rows), at(2, 4, columns)}));
  CHECK(places.reduced(Op::Add, {}, {places.identity(4)}, budget) ==
        Places::Reduced(std::in_place, std::nullopt));
  // As many elements, but some twice, by one dimension and by two.
  CHECK(!is_sum({at(2, 4, {{{0, 0, 2}}, {{0, 0, 2}}, {{0, 1, 2}}, {{0, 1, 2}}})}));
  CHECK(!is_sum({at(2, 4, rows), at(2, 4, {{{0, 0, 2}}, {{0, 1, 2}}, {{0, 0, 2}}, {{0, 2, 2}}})}));
  CHECK(!is_sum({at(2, 4, {{{0, 0, 2}}, {{0, 1, 2}}, {{0, 2, 2}}, {{0, 2, 2}}}),
                 at(2, 4, {{{0, 0, 2}}, {{0, 0, 2}}, {{0, 0, 2}}, {{0, 2, 2}}})}));
  // One that begins later meets one that is longer.
  CHECK(!is_sum({at(4, 6, {{{0, 0, 4}}, {{0, 0, 4}}, {{0, 2, 4}}, {{0, 2, 4}}}),
                 at(2, 4, {{{0, 0, 2}}, {{0, 2, 2}}, {{0, 0, 2}}, {{0, 2, 2}}})}));
  // Elements that no device has, that are no part of the whole, or that are anywhere.
  CHECK(!is_sum({at(2, 6, rows)}));
  CHECK(!is_sum({at(3, 4, rows)}));
  CHECK(!is_sum({places.free(2, 4)}));
  const std::int64_t far = std::int64_t{1} << 40U;
  CHECK(!places.reduced(Op::Add, {}, {places.identity(far), places.identity(far)}, budget));

  const auto summed = [&](const Numbering& copies, const Numbering& groups,
                          const std::vector<std::vector<std::size_t>>& all) {
    return places.summed(places.partial({Op::Add, groups, copies}), all, budget);
  };
  const Numbering one = {0, 0, 0, 0};
  CHECK(summed({0, 1, 0, 1}, one, {{0, 1}, {2, 3}}) ==
        Places::Reduced(std::in_place, std::nullopt));
  CHECK(summed({0, 1, 0, 1}, one, {{0, 1}, {}, {2, 3}}));
  CHECK(!summed({0, 1, 0, 1}, one, {{0, 2}, {1, 3}}));
  CHECK(!summed({0, 1, 0, 1}, one, {{0, 1}}));
  CHECK(!summed({0, 1, 0, 3}, one, {{0, 1}, {2, 3}}));
  CHECK(!summed({0, 1, 2, 3}, {0, 0, 2, 2}, {{0, 2}, {1, 3}}));
  const auto half = summed({0, 1, 2, 3}, one, {{0, 1}, {2, 3}});
  REQUIRE(half);
  REQUIRE(*half);
  CHECK(places.partial_at(**half).copies == Numbering{0, 0, 2, 2});

  const std::size_t halves = places.partial({Op::Add, one, {0, 1, 0, 1}});
  CHECK(places.refined(halves, Numbering{0, 0, 2, 2}));
  CHECK(!places.refined(halves, Numbering{0, 1, 0, 1}));
}

using kernel::xla::Box;
using kernel::xla::Fact;
using kernel::xla::Parts;

/// The indices of boxes, some perhaps twice.
std::multiset<Index> indices_in(const std::vector<Box>& boxes) {
  std::multiset<Index> all;
  for (const Box& box : boxes) {
    for (Index index : indices_of(box.sizes)) {
      for (std::size_t k = 0; k < index.size(); ++k) index[k] += box.from[k];
      all.insert(std::move(index));
    }
  }
  return all;
}

bool has_twice(const std::multiset<Index>& all) {
  return std::set<Index>(all.begin(), all.end()).size() != all.size();
}

TEST_CASE("what devices have of a sum are indices, each once") {
  constexpr std::size_t kDevices = 3;
  using Groups = std::vector<std::vector<std::size_t>>;
  kernel::Budget budget;
  std::mt19937 random(1);
  const auto below = [&](std::int64_t end) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(end));
  };
  int once = 0, twice = 0, complete = 0, joined = 0;
  for (int run = 0; run < 4000; ++run) {
    Places places(kDevices);
    Index space;
    for (std::int64_t rank = below(3); rank >= 0; --rank) space.push_back(1 + below(3));
    const auto drawn = [&](std::int64_t most) {
      Parts parts{space, std::vector<std::vector<Box>>(kDevices)};
      if (run % 2 == 0) {  // Rows, each of one device.
        for (std::int64_t row = 0; row < space[0]; ++row) {
          Box& box =
              parts.devices[random() % kDevices].emplace_back(Box{Index(space.size(), 0), space});
          box.from[0] = row;
          box.sizes[0] = 1;
        }
        return parts;
      }
      for (auto& boxes : parts.devices) {
        for (std::int64_t count = 1 + below(most); count > 0; --count) {
          Box& box = boxes.emplace_back();
          for (const std::int64_t size : space) {
            box.from.push_back(below(2) == 0 ? 0 : below(size));
            box.sizes.push_back(1 + below(size - box.from.back()));
          }
        }
      }
      return parts;
    };
    const auto all_of = [](const Parts& parts) {
      std::vector<std::multiset<Index>> all;
      for (const auto& boxes : parts.devices) all.push_back(indices_in(boxes));
      return all;
    };
    /// Numbered as they are, if no index is twice.
    const auto numbered = [&](const Parts& parts, const std::optional<std::size_t>& number) {
      const auto expected = all_of(parts);
      CHECK(number.has_value() == std::none_of(expected.begin(), expected.end(), has_twice));
      ++(number ? once : twice);
      if (!number) return;
      CHECK(places.parts_at(*number).space == parts.space);
      for (std::size_t device = 0; device < kDevices; ++device) {
        // All are one box, whatever they are made of.
        if (run % 2 == 0 && expected[device].size() == indices_of(space).size())
          CHECK(places.parts_at(*number).devices[device].size() == 1);
      }
      CHECK(all_of(places.parts_at(*number)) == expected);
    };
    const Parts first = drawn(3), second = drawn(2);
    const auto a = places.parts(first, budget);
    const auto b = places.parts(second, budget);
    numbered(first, a);
    numbered(second, b);
    if (a && b) {
      Parts both = first;
      for (std::size_t device = 0; device < kDevices; ++device)
        both.devices[device].insert(both.devices[device].end(), second.devices[device].begin(),
                                    second.devices[device].end());
      for (int again = 0; again < 2; ++again) {
        numbered(both, places.joined(*a, *b, budget));
        joined += places.joined(*a, *b, budget).has_value() ? 1 : 0;
      }
      Parts other{space, std::vector<std::vector<Box>>(kDevices)};
      for (std::int64_t& size : other.space) size += 3;
      for (auto& boxes : other.devices) boxes = {{space, Index(space.size(), 1)}};
      const auto none = places.parts(other, budget);
      REQUIRE(none);
      CHECK(!places.joined(*a, *none, budget));
      CHECK(!places.joined(*none, *a, budget));
    }
    if (!a) continue;
    for (const Groups& groups : {Groups{{0, 1}, {2}}, Groups{{0, 2}, {1}}, Groups{{0, 1, 2}},
                                 Groups{{0, 1}}, Groups{{0}, {1}, {2}}}) {
      Parts all{space, std::vector<std::vector<Box>>(kDevices)};
      for (const auto& group : groups) {
        for (const std::size_t each : group) {
          for (const std::size_t other : group)
            all.devices[each].insert(all.devices[each].end(), first.devices[other].begin(),
                                     first.devices[other].end());
        }
      }
      numbered(all, places.joined(*a, groups, budget));
    }
    // Devices at one place make up all, with every other part once.
    const std::int64_t way = below(4);
    std::vector<Segments> at;
    for (std::int64_t device = 0; device < std::int64_t{kDevices}; ++device)
      at.push_back({{0, way == 0 ? 0 : way == 1 ? device : (device + way) % 2, 1}});
    const std::size_t place = places.segments(1, 4, at);
    const auto is_all = places.complete(*a, {place}, budget);
    if (!is_all) continue;
    ++complete;
    std::map<Segments, std::set<std::multiset<Index>>> of_group;
    const auto own = all_of(first);
    for (std::size_t device = 0; device < kDevices; ++device)
      of_group[at[device]].insert(own[device]);
    for (const auto& [group, different] : of_group) {
      std::multiset<Index> all;
      for (const auto& each : different) all.insert(each.begin(), each.end());
      const std::vector<Index> expected = indices_of(space);
      CHECK(all == std::multiset<Index>(expected.begin(), expected.end()));
      CHECK((*is_all || different.size() == 1));
    }
  }
  CHECK(once > 4000);
  CHECK(twice > 2000);
  CHECK(joined > 100);
  CHECK(complete > 100);
}

TEST_CASE("what is added up along dimensions is where devices have them") {
  kernel::Budget budget;
  Places places(2);
  const std::size_t halves = places.segments(2, 4, {{{0, 0, 2}}, {{0, 2, 2}}});
  const std::size_t odd = places.segments(2, 4, {{{0, 1, 1}, {1, 3, 1}}, {{0, 0, 1}, {1, 2, 1}}});
  for (int again = 0; again < 2; ++again) {
    const auto parts = places.parts_along({halves, odd}, budget);
    REQUIRE(parts);
    CHECK(places.parts_at(*parts).space == Index{4, 4});
    CHECK(indices_in(places.parts_at(*parts).devices[0]) ==
          std::multiset<Index>{{0, 1}, {0, 3}, {1, 1}, {1, 3}});
    CHECK(indices_in(places.parts_at(*parts).devices[1]) ==
          std::multiset<Index>{{2, 0}, {2, 2}, {3, 0}, {3, 2}});
    // Elements that are anywhere, twice, or in no place of the whole.
    CHECK(!places.parts_along({halves, places.free(2, 4)}, budget));
    CHECK(!places.parts_along({places.segments(2, 4, {{{0, 0, 1}}, {{0, 0, 2}}})}, budget));
    CHECK(!places.parts_along({places.segments(2, 4, {{{0, 1, 1}, {1, 1, 1}}, {{0, 0, 2}}})},
                              budget));
  }
}

TEST_CASE("shares are added where they are of one sum, at one place, of other summands") {
  SmallProgram program(0, 2);
  const std::vector<Segments> rows(2, {{0, 0, 4}}), columns = {{{0, 0, 2}}, {{0, 1, 2}}};
  const std::size_t x = program.parameter("f32", {{4, 4, rows}, {2, 3, columns}}, std::nullopt, {});
  const std::size_t zero = program.constant("f32", "0");
  std::vector<std::size_t> sums;
  for (const std::int64_t row : {0, 2}) {
    Step part{"slice", "f32", {"slice", "", {{row, 0}, {row + 2, 2}, {1, 1}}}, {2, 2}, {x}, "", {}};
    part.attributes = row == 0 ? ", slice={[0:2], [0:2]}" : ", slice={[2:4], [0:2]}";
    Step sum{"reduce", "f32", {"reduce", "add", {{0}}}, {2}, {program.add(part), zero}, "", {}};
    sum.attributes = ", dimensions={0}, to_apply=add_f32";
    sums.push_back(program.add(sum));
  }
  const std::size_t both = program.apply("add", sums);
  const std::size_t product = program.apply("multiply", sums);
  const std::size_t pred = program.parameter("pred", {{2, 3, columns}}, std::nullopt, {});
  const std::size_t choice = program.apply("select", {pred, sums[0], sums[1]});
  DerivedFacts derived(program);
  auto& modules = derived.modules;
  const auto node_of = [&](std::size_t step) {
    std::size_t node = modules.local().nodes.size() - 1;
    while (modules.local().nodes[node].instruction->name != fmt::format("v{}", step)) --node;
    return node;
  };
  const auto fact_of = [&](std::size_t step) {
    std::size_t fact = 0;
    while (modules.facts().at(fact).node != node_of(step)) ++fact;
    return fact;
  };
  const std::size_t p = fact_of(sums[0]), q = fact_of(sums[1]);
  REQUIRE(modules.facts()[p].share);
  REQUIRE(modules.facts()[q].share);
  const auto follows = [&](std::size_t step, const std::vector<std::size_t>& facts) {
    return modules.follows(node_of(step), facts, {}).has_value();
  };
  const auto forged = [&](const std::function<void(Fact&)>& change) {
    Fact fact = modules.facts()[q];
    change(fact);
    return modules.add(std::move(fact));
  };
  const auto sum = modules.follows(node_of(both), {p, q}, {});
  REQUIRE(sum);
  CHECK(!sum->share);
  CHECK(!follows(both, {p}));
  CHECK(!follows(product, {p, q}));
  const std::size_t other_places = modules.places().segments(2, 3, {{{0, 1, 2}}, {{0, 0, 2}}});
  const std::size_t all = modules.places().partial({Op::Add, {0, 0}, {0, 1}});
  const std::size_t alone = modules.places().partial({Op::Add, {0, 1}, {0, 1}});
  const std::size_t input = modules.facts()[fact_of(x)].tensor;
  for (const std::size_t each :
       {forged([&](Fact& fact) { fact.share->summand = fact.tensor; }),
        forged([&](Fact& fact) { fact.share.reset(); }),
        forged([&](Fact& fact) { fact.tensor = input; }),
        forged([&](Fact& fact) { fact.places = {other_places}; }),
        forged([&](Fact& fact) { fact.share.reset(), fact.partial = all; }),
        forged([&](Fact& fact) { fact.share.reset(), fact.partial = alone; }),
        forged([&](Fact& fact) { fact.share.reset(), fact.view.emplace(); })}) {
    CHECK(!follows(both, {p, each}));
    CHECK(!follows(choice, {fact_of(pred), p, each}));
    CHECK(!follows(choice, {p, each}));
  }
  for (const std::optional<std::size_t> partial : {all, alone})
    CHECK(!follows(product,
                   {p, forged([&](Fact& fact) { fact.share.reset(), fact.partial = partial; })}));
  CHECK(
      !follows(product, {p, forged([](Fact& fact) { fact.share.reset(), fact.view.emplace(); })}));
  CHECK(follows(product, {p, forged([](Fact& fact) { fact.share.reset(); })}));
}

}  // namespace
}  // namespace p2::hlo::small
