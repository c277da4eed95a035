#include <fmt/format.h>

#include "engine/strategy/networks/images.h"

namespace p2::operations {
namespace {

/// Two convolutions of one pixel around one of 3 x 3, and what goes past them.
Feature bottleneck(ImageNetwork& net, const std::string& name, const Feature& in,
                   std::int64_t width, std::int64_t side) {
  Feature x = net.normalised(name + "_reduce", in, {1, 1}, width, in.side);
  x = net.normalised(name + "_window", x, {3, 3}, width, side);
  x = net.normalised(name + "_expand", x, {1, 1}, 4 * width, side);
  const bool same = in.channels == 4 * width && in.side == side;
  const Feature past = same ? in : net.normalised(name + "_project", in, {1, 1}, 4 * width, side);
  net.add(name + "_add", "elementwise",
          {{"b", net.batch()}, {"c", 4 * width}, {"h", side}, {"w", side}}, {x.from, past.from});
  return {name + "_add", 4 * width, side};
}

}  // namespace

GraphSketch resnet101(std::int64_t batch) {
  struct Stage {
    int blocks;
    std::int64_t width;
    std::int64_t side;
  };
  ImageNetwork net("ResNet101", batch);
  Feature x = net.normalised("stem", {"", 3, 224}, {7, 7}, 64, 112);
  x = net.pooling("stem_pool", x, 56);
  int number = 0;
  for (const Stage& stage :
       {Stage{3, 64, 56}, Stage{4, 128, 28}, Stage{23, 256, 14}, Stage{3, 512, 7}}) {
    for (int block = 0; block < stage.blocks; ++block) {
      x = bottleneck(net, fmt::format("block{}", ++number), x, stage.width, stage.side);
    }
  }
  net.classify(x, 1000);
  return net.finish();
}

}  // namespace p2::operations
