#include <string>

#include <fmt/format.h>

#include "engine/strategy/networks.h"

namespace p2::operations {

/// The output of a layer of an image network.
struct Feature {
  std::string from;  ///< the operation; empty: the images
  std::int64_t channels = 3;
  std::int64_t side = 0;  ///< height and width
};

/// A window of `height` x `width`.
struct Window {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

/// Builds image networks. Output lengths are given instead of padding and strides.
class ImageNetwork : public SketchBuilder {
 public:
  using SketchBuilder::SketchBuilder;

  Feature convolution(const std::string& name, const Feature& from, Window window,
                      std::int64_t channels, std::int64_t side);
  /// Followed by a batch normalisation, `NAME_norm`.
  Feature normalised(const std::string& name, const Feature& from, Window window,
                     std::int64_t channels, std::int64_t side);
  Feature pooling(const std::string& name, const Feature& from, std::int64_t side);
  /// A classifier of the mean of every channel, and its loss.
  void classify(const Feature& from, std::int64_t classes);

 private:
  static std::vector<std::string> inputs(const Feature& from);
};

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

/// Activations are counted with their layer: three operations per element.
GraphSketch alexnet(std::int64_t batch) {
  ImageNetwork net("AlexNet", batch);
  const auto activated = [&](Feature feature) {
    net.pointwise(3);
    return feature;
  };
  Feature x = activated(net.convolution("conv1", {"", 3, 227}, {11, 11}, 96, 55));
  x = net.pooling("pool1", x, 27);
  x = activated(net.convolution("conv2", x, {5, 5}, 256, 27));
  x = net.pooling("pool2", x, 13);
  x = activated(net.convolution("conv3", x, {3, 3}, 384, 13));
  x = activated(net.convolution("conv4", x, {3, 3}, 384, 13));
  x = activated(net.convolution("conv5", x, {3, 3}, 256, 13));
  x = net.pooling("pool3", x, 6);
  net.add("flatten", "flatten", {{"b", batch}, {"c", 256}, {"h", 6}, {"w", 6}}, {x.from});
  net.add("full1", "gemm", {{"b", batch}, {"n", 4096}, {"k", 9216}}, {"flatten"});
  net.pointwise(3);
  net.add("full2", "gemm", {{"b", batch}, {"n", 4096}, {"k", 4096}}, {"full1"});
  net.split_by_experts("k");
  net.pointwise(3);
  net.add("full3", "gemm", {{"b", batch}, {"n", 1024}, {"k", 4096}}, {"full2"});
  net.add("loss", "loss", {{"b", batch}, {"c", 1024}}, {"full3"});
  return net.finish();
}

namespace {

/// Two convolutions of one pixel around one of 3 x 3, with a shortcut connection (He et al., "Deep
/// residual learning", 2016).
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

namespace {

/// An Inception block: branches from one feature, concatenated.
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
  /// A sequence of convolutions that keep the side.
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
