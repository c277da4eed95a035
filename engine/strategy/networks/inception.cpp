#include <fmt/format.h>

#include "engine/strategy/networks/images.h"

namespace p2::operations {
namespace {

/// One block: its branches start from the same feature.
class Block {
 public:
  Block(ImageNetwork& net, std::string name, Feature in)
      : net_(net), name_(std::move(name)), in_(std::move(in)) {}

  const Feature& in() const { return in_; }

  Feature convolution(const Feature& from, Window window, std::int64_t channels,
                      std::int64_t side) {
    return net_.normalised(fmt::format("{}_conv{}", name_, ++convolutions_), from, window, channels,
                           side);
  }
  /// The same side, one pixel at a time and all that follow.
  Feature chain(Feature from, const std::vector<std::pair<Window, std::int64_t>>& layers) {
    for (const auto& [window, channels] : layers) {
      from = convolution(from, window, channels, in_.side);
    }
    return from;
  }
  Feature pooling(std::int64_t side) { return net_.pooling(name_ + "_pool", in_, side); }

  Feature concat(const std::vector<Feature>& branches, const std::string& suffix = "") {
    std::int64_t channels = 0;
    std::vector<std::string> from;
    for (const Feature& branch : branches) {
      channels += branch.channels;
      from.push_back(branch.from);
    }
    const std::int64_t side = branches[0].side;
    const std::string name = name_ + suffix + "_concat";
    net_.add(name, "concat", {{"b", net_.batch()}, {"c", channels}, {"h", side}, {"w", side}},
             from);
    return {name, channels, side};
  }

 private:
  ImageNetwork& net_;
  std::string name_;
  Feature in_;
  int convolutions_ = 0;
};

constexpr Window kPixel{1, 1};
constexpr Window kSquare{3, 3};
constexpr Window kRow{1, 7};
constexpr Window kColumn{7, 1};

Feature wide_block(Block block, std::int64_t pooled) {
  const Feature a = block.chain(block.in(), {{kPixel, 64}});
  const Feature b = block.chain(block.in(), {{kPixel, 48}, {{5, 5}, 64}});
  const Feature c = block.chain(block.in(), {{kPixel, 64}, {kSquare, 96}, {kSquare, 96}});
  const Feature d = block.chain(block.pooling(35), {{kPixel, pooled}});
  return block.concat({a, b, c, d});
}

Feature first_reduction(Block block) {
  const Feature a = block.convolution(block.in(), kSquare, 384, 17);
  const Feature b =
      block.convolution(block.chain(block.in(), {{kPixel, 64}, {kSquare, 96}}), kSquare, 96, 17);
  return block.concat({a, b, block.pooling(17)});
}

Feature crossed_block(Block block, std::int64_t width) {
  const Feature a = block.chain(block.in(), {{kPixel, 192}});
  const Feature b = block.chain(block.in(), {{kPixel, width}, {kRow, width}, {kColumn, 192}});
  const Feature c = block.chain(
      block.in(),
      {{kPixel, width}, {kColumn, width}, {kRow, width}, {kColumn, width}, {kRow, 192}});
  const Feature d = block.chain(block.pooling(17), {{kPixel, 192}});
  return block.concat({a, b, c, d});
}

Feature second_reduction(Block block) {
  const Feature a = block.convolution(block.chain(block.in(), {{kPixel, 192}}), kSquare, 320, 8);
  const Feature b = block.convolution(
      block.chain(block.in(), {{kPixel, 192}, {kRow, 192}, {kColumn, 192}}), kSquare, 192, 8);
  return block.concat({a, b, block.pooling(8)});
}

Feature split_block(Block block) {
  const Feature a = block.chain(block.in(), {{kPixel, 320}});
  const Feature b = block.chain(block.in(), {{kPixel, 384}});
  const Feature b_both = block.concat(
      {block.convolution(b, {1, 3}, 384, 8), block.convolution(b, {3, 1}, 384, 8)}, "_left");
  const Feature c = block.chain(block.in(), {{kPixel, 448}, {kSquare, 384}});
  const Feature c_both = block.concat(
      {block.convolution(c, {1, 3}, 384, 8), block.convolution(c, {3, 1}, 384, 8)}, "_right");
  const Feature d = block.chain(block.pooling(8), {{kPixel, 192}});
  return block.concat({a, b_both, c_both, d});
}

}  // namespace

GraphSketch inception3(std::int64_t batch) {
  ImageNetwork net("Inception v3", batch);
  Feature x = net.normalised("stem1", {"", 3, 299}, kSquare, 32, 149);
  x = net.normalised("stem2", x, kSquare, 32, 147);
  x = net.normalised("stem3", x, kSquare, 64, 147);
  x = net.pooling("stem_pool1", x, 73);
  x = net.normalised("stem4", x, kPixel, 80, 73);
  x = net.normalised("stem5", x, kSquare, 192, 71);
  x = net.pooling("stem_pool2", x, 35);
  x = wide_block({net, "wide1", x}, 32);
  x = wide_block({net, "wide2", x}, 64);
  x = wide_block({net, "wide3", x}, 64);
  x = first_reduction({net, "reduction1", x});
  int number = 0;
  for (const std::int64_t width : {128, 160, 160, 192}) {
    x = crossed_block({net, fmt::format("crossed{}", ++number), x}, width);
  }
  x = second_reduction({net, "reduction2", x});
  x = split_block({net, "split1", x});
  x = split_block({net, "split2", x});
  net.classify(x, 1000);
  return net.finish();
}

}  // namespace p2::operations
