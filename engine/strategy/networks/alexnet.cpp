#include "engine/strategy/networks/images.h"

namespace p2::operations {

/// Activations are counted with the layer that makes them: three operations per element.
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

}  // namespace p2::operations
