#include <fmt/format.h>

#include "engine/strategy/networks/language.h"

namespace p2::operations {
namespace {

constexpr std::int64_t kExperts = 16;
constexpr std::int64_t kExpertsOfToken = 2;

/// Every token goes to two of the experts and back. All experts get the same number of tokens.
std::string experts(LanguageNetwork& net, const std::string& name, const std::string& from) {
  const Widths& widths = net.widths();
  const std::int64_t batch = net.batch();
  const std::int64_t tokens = batch * widths.steps * kExpertsOfToken / kExperts;
  net.add(name + "_router", "gemm",
          {{"b", batch}, {"s", widths.steps}, {"n", kExperts}, {"k", widths.model}}, {from});
  net.add(name + "_gates", "softmax", {{"b", batch}, {"s", widths.steps}, {"c", kExperts}},
          {name + "_router"});
  net.add(name + "_dispatch", "dispatch", {{"e", kExperts}, {"t", tokens}, {"d", widths.model}},
          {from});
  net.add(name + "_up", "expert",
          {{"e", kExperts}, {"t", tokens}, {"n", widths.inner}, {"k", widths.model}},
          {name + "_dispatch"});
  net.pointwise(3);
  net.add(name + "_down", "expert",
          {{"e", kExperts}, {"t", tokens}, {"n", widths.model}, {"k", widths.inner}},
          {name + "_up"});
  return net.add(name + "_combine", "combine",
                 {{"b", batch}, {"s", widths.steps}, {"d", widths.model}},
                 {name + "_down", name + "_gates"});
}

}  // namespace

GraphSketch mixture_of_experts(std::int64_t batch) {
  constexpr int kBlocks = 12;
  LanguageNetwork net("mixture of experts", batch, {2048, 2048, 32, 8192, 50'304});
  std::string x = net.embed("embedding");
  for (int block = 1; block <= kBlocks; ++block) {
    const std::string name = fmt::format("block{}", block);
    const std::string before = net.norm(name + "_norm1", x);
    x = net.sum(name + "_add1", x, net.attention(name + "_attention", before, before));
    const std::string next = net.norm(name + "_norm2", x);
    x = net.sum(name + "_add2", x,
                block % 2 == 0 ? experts(net, name, next) : net.two_matrices(name, next));
  }
  net.score(net.norm("last_norm", x));
  return net.finish();
}

}  // namespace p2::operations
