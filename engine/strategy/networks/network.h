#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/strategy/sketch.h"

namespace p2::operations {

using Dimensions = std::vector<std::pair<std::string, std::int64_t>>;

/// Builds a sketch operation by operation.
class Network {
 public:
  Network(std::string model, std::int64_t batch);

  /// Adds an operation that takes the outputs of others as its inputs, in this order, and returns
  /// its name.
  std::string add(const std::string& name, const std::string& kind, Dimensions dimensions,
                  const std::vector<std::string>& from = {});
  /// The last operation splits this dimension where an expert splits a model.
  void split_by_experts(const std::string& dimension);
  /// The last operation computes so much per element of its output.
  void pointwise(std::int64_t operations);
  /// Feeds the output of `from` to an input of an operation that is there.
  void connect(const std::string& from, const std::string& to, std::size_t input);

  std::int64_t batch() const { return sketch_.batch; }
  GraphSketch finish() { return std::move(sketch_); }

 private:
  GraphSketch sketch_;
};

GraphSketch alexnet(std::int64_t batch);
GraphSketch resnet101(std::int64_t batch);
GraphSketch inception3(std::int64_t batch);
/// Words are embedded, go through two layers of LSTM cells, and are scored.
GraphSketch rnn_language_model(std::int64_t batch);
/// Six layers that encode and six that decode.
GraphSketch transformer(std::int64_t batch);
/// 24 blocks of width 2048 with 32 heads, 2048 tokens a sequence.
GraphSketch gpt(std::int64_t batch);
/// The same with 12 blocks of which every other one has 16 experts, two of them for each token.
GraphSketch mixture_of_experts(std::int64_t batch);

/// A network that is shipped.
struct NamedNetwork {
  std::string name;
  std::string description;
  std::int64_t batch;  ///< where none is asked for
  GraphSketch (*build)(std::int64_t batch);
};

const std::vector<NamedNetwork>& networks();

}  // namespace p2::operations
