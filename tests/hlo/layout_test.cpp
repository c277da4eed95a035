#include <doctest/doctest.h>

#include "modules.h"

namespace p2::hlo {
namespace {

const std::string kX = "  x = f32[6] parameter(0)\n";

Verdict same(const std::string& before, const std::string& after) {
  return compared(module_text(before, 2), module_text(after, 2));
}

}  // namespace

TEST_CASE("modules with other inputs or outputs are not equal") {
  CHECK(said(same(kX + "  ROOT y = f32[6] copy(x)\n", kX + "  ROOT y = f32[1,6] reshape(x)\n")) ==
        "invalid signature");
  CHECK(said(same(kX + "  ROOT y = f32[6] copy(x)\n",
                  kX + "  z = f32[6] parameter(1)\n  ROOT y = f32[6] copy(x)\n")) ==
        "invalid signature");
}

TEST_CASE("reshapes that cut across one another are followed") {
  const std::string x = "  x = f32[6,10] parameter(0)\n";
  CHECK(said(same(x + "  a = f32[4,15] reshape(x)\n  b = f32[15,4] transpose(a), dimensions={1,0}\n"
                      "  c = f32[4,15] transpose(b), dimensions={1,0}\n"
                      "  ROOT d = f32[6,10] reshape(c)\n",
                  x + "  ROOT d = f32[6,10] copy(x)\n")) == "valid");
  CHECK(said(same(x + "  a = f32[4,15] reshape(x)\n  b = f32[15,4] reshape(a)\n"
                      "  c = f32[4,15] transpose(b), dimensions={1,0}\n"
                      "  ROOT d = f32[6,10] reshape(c)\n",
                  x + "  ROOT d = f32[6,10] copy(x)\n")) == "invalid contributions");
  CHECK(said(same(x + "  r = f32[6,10] reverse(x), dimensions={0,1}\n  f = f32[60] reshape(r)\n"
                      "  g = f32[60] reverse(f), dimensions={0}\n  ROOT d = f32[6,10] reshape(g)\n",
                  x + "  ROOT d = f32[6,10] copy(x)\n")) == "valid");
  CHECK(said(same(x + "  z = f32[] constant(0)\n  p = f32[9,10] pad(x, z), padding=1_2x0_0\n"
                      "  ROOT d = f32[6,10] slice(p), slice={[1:7], [0:10]}\n",
                  x + "  ROOT d = f32[6,10] copy(x)\n")) == "valid");
}

TEST_CASE("what is not understood may have no operands, or no results") {
  const std::string call = "  c = f32[6] custom-call(), custom_call_target=\"table\"\n";
  CHECK(said(same(kX + call + "  ROOT y = f32[6] add(x, c)\n",
                  kX + call + "  ROOT y = f32[6] add(c, x)\n")) == "valid");
  CHECK(said(same(kX + "  n = () custom-call(x), custom_call_target=\"log\"\n"
                       "  ROOT y = f32[6] copy(x)\n",
                  kX + "  ROOT y = f32[6] copy(x)\n")) == "valid");
}

TEST_CASE("an update at an offset that an input gives stays whole, however large the tensor is") {
  const std::string update =
      "  x = f32[1000000,4] parameter(0)\n  u = f32[1,4] parameter(1)\n"
      "  at = s32[] parameter(2)\n  zero = s32[] constant(0)\n"
      "  y = f32[1000000,4] dynamic-update-slice(x, u, at, zero)\n";
  const std::string all = "channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true";
  CHECK(said(same(update + "  ROOT z = f32[1000000,4] all-reduce(y), " + all + ", to_apply=add\n",
                  update + "  ROOT z = f32[1000000,4] all-reduce(y), " +
                      replaced(all, "{0,1}", "{1,0}") + ", to_apply=add\n")) == "valid");
}

}  // namespace p2::hlo
