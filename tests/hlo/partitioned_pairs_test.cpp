// Certificates by a relation at every node of two modules that are both partitioned: what devices
// exchange is the same, and no device's tensor is taken for another's.

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/module_relation.h"
#include "proofs/certificate/subject_certificates.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/random_rewrites.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

using kernel::Verdict;

std::variant<CertificateFiles, std::string> related_partitioned(const std::string& before,
                                                                const std::string& after,
                                                                int partitions) {
  const Devices devices{1, partitions};
  const ModuleRelation relation = relation_of(*module_of(before), *module_of(after), devices);
  REQUIRE(relation.is_partitioned());
  if (relation.mismatch) return "";
  return related_certificate({before, after}, relation, devices, {}, {});
}

/// Entries of two modules that four devices run.
struct Entries {
  const char* name;
  std::string before, after;
};

std::string groups(const char* list) {
  return fmt::format(", replica_groups={}, channel_id=1, use_global_device_ids=true", list);
}

TEST_CASE("modules that devices run are related through the same collectives, at any size") {
  // 2^40 elements: nothing here is executed.
  const std::string x = "  x = f32[1048576,1048576] parameter(0)\n";
  const std::string big = "f32[1048576,1048576]";
  const auto reduced = [&](const char* list, const char* of) {
    return big + " all-reduce(" + of + ")" + groups(list) + ", to_apply=add\n";
  };
  for (const Entries& each : std::vector<Entries>{
           {"members of a sum in another order", x + "  ROOT y = " + reduced("{{0,1},{2,3}}", "x"),
            x + "  ROOT y = " + reduced("{{3,2},{1,0}}", "x")},
           {"a combined all-reduce",
            x + "  n = " + big + " negate(x)\n  a = " + reduced("{{0,1},{2,3}}", "x") + "  b = " +
                reduced("{{0,1},{2,3}}", "n") + "  ROOT y = " + big + " multiply(a, b)\n",
            x + "  n = " + big + " negate(x)\n  t = (" + big + ", " + big + ") all-reduce(n, x)" +
                groups("{{0,1},{2,3}}") + ", to_apply=add\n  b = " + big +
                " get-tuple-element(t), index=0\n  a = " + big +
                " get-tuple-element(t), index=1\n  ROOT y = " + big + " multiply(a, b)\n"},
           {"an asynchronous all-gather of two",
            x + "  n = " + big + " negate(x)\n  a = f32[1048576,2097152] all-gather(x)" +
                groups("{{0,1},{2,3}}") +
                ", dimensions={1}\n  b = f32[1048576,2097152] all-gather(n)" +
                groups("{{0,1},{2,3}}") +
                ", dimensions={1}\n  ROOT y = f32[1048576,2097152] subtract(a, b)\n",
            x + "  n = " + big + " negate(x)\n  s = ((" + big + ", " + big +
                "), (f32[1048576,2097152], f32[1048576,2097152])) all-gather-start(x, n)" +
                groups("{{0,1},{2,3}}") +
                ", dimensions={1}\n  d = (f32[1048576,2097152], f32[1048576,2097152]) "
                "all-gather-done(s)\n  a = f32[1048576,2097152] get-tuple-element(d), index=0\n"
                "  b = f32[1048576,2097152] get-tuple-element(d), index=1\n"
                "  ROOT y = f32[1048576,2097152] subtract(a, b)\n"},
           {"the number of a device, and what it receives",
            x + "  i = u32[] partition-id()\n  c = f32[] convert(i)\n  b = " + big +
                " broadcast(c), dimensions={}\n  r = " + big +
                " collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,2}}\n"
                "  ROOT y = " +
                big + " multiply(r, b)\n",
            x + "  i = u32[] partition-id()\n  c = f32[] convert(i)\n  b = " + big +
                " broadcast(c), dimensions={}\n  r = " + big +
                " collective-permute(x), channel_id=1, source_target_pairs={{1,2},{0,1}}\n"
                "  ROOT y = " +
                big + " multiply(b, r)\n"},
           {"a reduce-scatter",
            x + "  ROOT y = f32[524288,1048576] reduce-scatter(x)" + groups("{{0,1},{2,3}}") +
                ", dimensions={0}, to_apply=add\n",
            x + "  t = " + big + " transpose(x), dimensions={1,0}\n  u = " + big +
                " transpose(t), dimensions={1,0}\n  ROOT y = f32[524288,1048576] "
                "reduce-scatter(u)" +
                groups("{{2,3},{0,1}}") + ", dimensions={0}, to_apply=add\n"}}) {
    CAPTURE(each.name);
    const auto made = related_partitioned(module_text(each.before), module_text(each.after), 4);
    CHECK_MESSAGE(made.index() == 0, (made.index() == 1 ? std::get<1>(made) : ""));
    ComparisonOptions options;
    bool asked = false;
    options.evidence = [&](const ModuleRelation&, const Devices&) {
      asked = true;
      return std::optional(EqualityEvidence());
    };
    CHECK(summary(compared(module_text(each.before), module_text(each.after), options)) == "valid");
    CHECK(asked);
  }
}

TEST_CASE("no device's tensor is taken for that of another") {
  const std::string x = "  x = f32[4,4] parameter(0)\n";
  const std::string sum = ", to_apply=add\n";
  const std::string most = ", to_apply=maximum\n";
  const auto gathered = [&](const char* list) {
    return x + "  ROOT y = f32[4,8] all-gather(x)" + groups(list) + ", dimensions={1}\n";
  };
  const auto reduced = [&](const char* list, const std::string& by) {
    return x + "  ROOT y = f32[4,4] all-reduce(x)" + groups(list) + by;
  };
  const auto permuted = [&](const char* pairs) {
    return x +
           "  ROOT y = f32[4,4] collective-permute(x), channel_id=1, source_target_pairs=" + pairs +
           "\n";
  };
  const auto scattered = [&](const char* list, const char* along) {
    return x + "  ROOT y = f32[2,4] reduce-scatter(x)" + groups(list) + ", dimensions={" + along +
           "}" + sum;
  };
  const std::string own = x + "  ROOT y = f32[4,4] copy(x)\n";
  const std::string id = x + "  i = u32[] partition-id()\n";
  const std::string zero = "  z = f32[] constant(0)\n";
  for (const Entries& each : std::vector<Entries>{
           {"a maximum over devices", own, reduced("{{0,1},{2,3}}", most)},
           {"a sum over devices, and twice", x + "  ROOT y = f32[4,4] add(x, x)\n",
            reduced("{{0,1},{2,3}}", sum)},
           {"other groups", reduced("{{0,1},{2,3}}", sum), reduced("{{0,2},{1,3}}", sum)},
           {"another reduction", reduced("{{0,1},{2,3}}", sum), reduced("{{0,1},{2,3}}", most)},
           {"a permutation", own, permuted("{{0,1},{1,0},{2,3},{3,2}}")},
           {"another permutation", permuted("{{0,1},{1,0},{2,3},{3,2}}"),
            permuted("{{0,2},{2,0},{1,3},{3,1}}")},
           {"a message less", permuted("{{0,1},{1,0}}"), permuted("{{0,1}}")},
           {"an all-gather of copies",
            x + "  ROOT y = f32[4,8] concatenate(x, x), dimensions={1}\n",
            gathered("{{0,1},{2,3}}")},
           {"members in another order", gathered("{{0,1},{2,3}}"), gathered("{{1,0},{2,3}}")},
           {"parts in another order", scattered("{{0,1},{2,3}}", "0"),
            scattered("{{0,1},{3,2}}", "0")},
           {"the number of a device",
            id + "  c = f32[] convert(i)\n  b = f32[4,4] broadcast(c), dimensions={}\n"
                 "  ROOT y = f32[4,4] multiply(x, b)\n",
            x + "  i = u32[] replica-id()\n  c = f32[] convert(i)\n"
                "  b = f32[4,4] broadcast(c), dimensions={}\n"
                "  ROOT y = f32[4,4] multiply(x, b)\n"},
           {"every device's row, summed over devices",
            x + zero + "  ROOT y = f32[4] reduce(x, z), dimensions={0}, to_apply=add\n",
            id + zero +
                "  s = s32[] convert(i)\n  o = s32[] constant(0)\n"
                "  r = f32[1,4] dynamic-slice(x, s, o), dynamic_slice_sizes={1,4}\n"
                "  p = f32[4] reduce(r, z), dimensions={0}, to_apply=add\n"
                "  ROOT y = f32[4] all-reduce(p)" +
                groups("{{0,1,2,3}}") + sum},
           {"every device's row, gathered", own,
            id +
                "  s = s32[] convert(i)\n  o = s32[] constant(0)\n"
                "  r = f32[1,4] dynamic-slice(x, s, o), dynamic_slice_sizes={1,4}\n"
                "  ROOT y = f32[4,4] all-gather(r)" +
                groups("{{0,1,2,3}}") + ", dimensions={0}\n"}}) {
    CAPTURE(each.name);
    const std::string before = module_text(each.before);
    const std::string after = module_text(each.after);
    CHECK(summary(compared(before, after)).starts_with("invalid"));
    CHECK(related_partitioned(before, after, 4).index() == 1);
    CHECK(related_partitioned(after, before, 4).index() == 1);
  }
}

TEST_CASE("random rewrites of modules that devices run are related only if they are equal") {
  int accepted = 0, refused = 0, wrong = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    const RandomPair pair(seed, seed % 2 == 0 ? 0 : 20);
    const auto made = related_partitioned(pair.before(), pair.after(), 2);
    if (made.index() == 1) {
      ++refused;
      continue;
    }
    ++accepted;
    const Verdict truth = executed(std::get<0>(made));
    CAPTURE(seed);
    CAPTURE(pair.after());
    REQUIRE(truth != Verdict::Rejected);
    if (pair.has_mistake()) ++wrong;
  }
  MESSAGE(accepted, " accepted, ", wrong, " of them with a change that does not matter; ", refused,
          " refused");
  CHECK(accepted > 500);
  CHECK(refused > 500);
}

}  // namespace
}  // namespace p2::hlo
