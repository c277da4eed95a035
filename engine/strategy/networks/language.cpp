#include "engine/strategy/networks/language.h"

namespace p2::operations {

LanguageNetwork::LanguageNetwork(std::string model, std::int64_t batch, Widths widths)
    : Network(std::move(model), batch), widths_(widths) {}

Dimensions LanguageNetwork::tokens(const std::string& width) const {
  return {{"b", batch()}, {"s", widths_.steps}, {width, widths_.model}};
}

std::string LanguageNetwork::embed(const std::string& name) {
  Dimensions dimensions = tokens("d");
  dimensions.emplace_back("v", widths_.words);
  return add(name, "embedding", dimensions);
}

std::string LanguageNetwork::attention(const std::string& name, const std::string& queries,
                                       const std::string& keys) {
  const std::int64_t width = widths_.model / widths_.heads;
  const Dimensions projection = {{"b", batch()},
                                 {"s", widths_.steps},
                                 {"h", widths_.heads},
                                 {"d", width},
                                 {"k", widths_.model}};
  add(name + "_q", "projection", projection, {queries});
  add(name + "_k", "projection", projection, {keys});
  add(name + "_v", "projection", projection, {keys});
  add(name, "attention",
      {{"b", batch()},
       {"s", widths_.steps},
       {"h", widths_.heads},
       {"d", width},
       {"t", widths_.steps}},
      {name + "_q", name + "_k", name + "_v"});
  return add(name + "_merge", "merge",
             {{"b", batch()},
              {"s", widths_.steps},
              {"n", widths_.model},
              {"h", widths_.heads},
              {"d", width}},
             {name});
}

std::string LanguageNetwork::two_matrices(const std::string& name, const std::string& from) {
  add(name + "_up", "gemm",
      {{"b", batch()}, {"s", widths_.steps}, {"n", widths_.inner}, {"k", widths_.model}}, {from});
  pointwise(3);
  const std::string down =
      add(name + "_down", "gemm",
          {{"b", batch()}, {"s", widths_.steps}, {"n", widths_.model}, {"k", widths_.inner}},
          {name + "_up"});
  split_by_experts("k");
  return down;
}

std::string LanguageNetwork::norm(const std::string& name, const std::string& from) {
  return add(name, "layer_norm", tokens("c"), {from});
}

std::string LanguageNetwork::sum(const std::string& name, const std::string& a,
                                 const std::string& b) {
  return add(name, "elementwise", tokens("c"), {a, b});
}

void LanguageNetwork::score(const std::string& from) {
  add("scores", "gemm",
      {{"b", batch()}, {"s", widths_.steps}, {"n", widths_.words}, {"k", widths_.model}}, {from});
  add("loss", "loss", {{"b", batch()}, {"s", widths_.steps}, {"c", widths_.words}}, {"scores"});
}

}  // namespace p2::operations
