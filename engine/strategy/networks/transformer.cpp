#include <fmt/format.h>

#include "engine/strategy/networks/language.h"

namespace p2::operations {
namespace {

/// Attention or two matrices, what went in added to it, and that normalised.
std::string added(LanguageNetwork& net, const std::string& name, const std::string& in,
                  const std::string& made) {
  return net.norm(name + "_norm", net.sum(name + "_add", in, made));
}

}  // namespace

GraphSketch transformer(std::int64_t batch) {
  constexpr int kLayers = 6;
  LanguageNetwork net("Transformer", batch, {256, 512, 8, 2048, 50'000});
  std::string source = net.embed("source");
  for (int layer = 1; layer <= kLayers; ++layer) {
    const std::string name = fmt::format("encode{}", layer);
    source = added(net, name + "_self", source, net.attention(name + "_self", source, source));
    source = added(net, name, source, net.two_matrices(name, source));
  }
  std::string target = net.embed("target");
  for (int layer = 1; layer <= kLayers; ++layer) {
    const std::string name = fmt::format("decode{}", layer);
    target = added(net, name + "_self", target, net.attention(name + "_self", target, target));
    target = added(net, name + "_cross", target, net.attention(name + "_cross", target, source));
    target = added(net, name, target, net.two_matrices(name, target));
  }
  net.score(target);
  return net.finish();
}

}  // namespace p2::operations
