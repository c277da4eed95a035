#pragma once

#include <string>

#include "engine/strategy/networks/network.h"

namespace p2::operations {

/// What is passed on between the layers of a network for images.
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

/// A network for images. Lengths of outputs are given, so that padding and strides need not be.
class ImageNetwork : public Network {
 public:
  using Network::Network;

  Feature convolution(const std::string& name, const Feature& from, Window window,
                      std::int64_t channels, std::int64_t side);
  /// With a batch normalisation, `NAME_norm`, behind it.
  Feature normalised(const std::string& name, const Feature& from, Window window,
                     std::int64_t channels, std::int64_t side);
  Feature pooling(const std::string& name, const Feature& from, std::int64_t side);
  /// A classifier of the mean of every channel, and its loss.
  void classify(const Feature& from, std::int64_t classes);

 private:
  static std::vector<std::string> inputs(const Feature& from);
};

}  // namespace p2::operations
