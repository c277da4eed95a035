#include "engine/strategy/networks/images.h"

namespace p2::operations {

std::vector<std::string> ImageNetwork::inputs(const Feature& from) {
  if (from.from.empty()) return {};
  return {from.from};
}

Feature ImageNetwork::convolution(const std::string& name, const Feature& from, Window window,
                                  std::int64_t channels, std::int64_t side) {
  add(name, "convolution",
      {{"b", batch()},
       {"c", from.channels},
       {"h", side},
       {"w", side},
       {"r", window.height},
       {"q", window.width},
       {"n", channels}},
      inputs(from));
  return {name, channels, side};
}

Feature ImageNetwork::normalised(const std::string& name, const Feature& from, Window window,
                                 std::int64_t channels, std::int64_t side) {
  const Feature made = convolution(name, from, window, channels, side);
  add(name + "_norm", "batch_norm", {{"b", batch()}, {"c", channels}, {"h", side}, {"w", side}},
      {made.from});
  return {name + "_norm", channels, side};
}

Feature ImageNetwork::pooling(const std::string& name, const Feature& from, std::int64_t side) {
  add(name, "pooling", {{"b", batch()}, {"c", from.channels}, {"h", side}, {"w", side}},
      inputs(from));
  return {name, from.channels, side};
}

void ImageNetwork::classify(const Feature& from, std::int64_t classes) {
  add("mean", "mean", {{"b", batch()}, {"c", from.channels}, {"h", from.side}, {"w", from.side}},
      {from.from});
  add("classifier", "gemm", {{"b", batch()}, {"n", classes}, {"k", from.channels}}, {"mean"});
  add("loss", "loss", {{"b", batch()}, {"c", classes}}, {"classifier"});
}

}  // namespace p2::operations
