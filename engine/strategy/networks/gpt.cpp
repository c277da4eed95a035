#include <fmt/format.h>

#include "engine/strategy/networks/language.h"

namespace p2::operations {

/// Normalised before attention and before the two matrices, as is done today.
GraphSketch gpt(std::int64_t batch) {
  constexpr int kBlocks = 24;
  LanguageNetwork net("GPT", batch, {2048, 2048, 32, 8192, 50'304});
  std::string x = net.embed("embedding");
  for (int block = 1; block <= kBlocks; ++block) {
    const std::string name = fmt::format("block{}", block);
    const std::string before = net.norm(name + "_norm1", x);
    x = net.sum(name + "_add1", x, net.attention(name + "_attention", before, before));
    x = net.sum(name + "_add2", x, net.two_matrices(name, net.norm(name + "_norm2", x)));
  }
  net.score(net.norm("last_norm", x));
  return net.finish();
}

}  // namespace p2::operations
