#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/strategy/operation.h"

namespace p2::operations {

using Dimensions = std::vector<std::pair<std::string, std::int64_t>>;

/// Builds a sketch operation by operation.
class SketchBuilder {
 public:
  SketchBuilder(std::string model, std::int64_t batch);

  /// Adds an operation whose inputs are the outputs of `from`, in this order; returns its name.
  std::string add(const std::string& name, const std::string& kind, Dimensions dimensions,
                  const std::vector<std::string>& from = {});
  /// Sets the dimension of the last operation that expert strategies split.
  void split_by_experts(const std::string& dimension);
  /// Sets the operations per output element of the last operation.
  void pointwise(std::int64_t operations);
  /// Connects the output of `from` to an input of `to`.
  void connect(const std::string& from, const std::string& to, std::size_t input);

  std::int64_t batch() const { return sketch_.batch; }
  GraphSketch finish() { return std::move(sketch_); }

 private:
  GraphSketch sketch_;
};

GraphSketch alexnet(std::int64_t batch);
GraphSketch resnet101(std::int64_t batch);
GraphSketch inception3(std::int64_t batch);
/// Word embedding, two LSTM layers, softmax.
GraphSketch rnn_language_model(std::int64_t batch);
/// Six encoder and six decoder layers.
GraphSketch transformer(std::int64_t batch);
/// 24 blocks of width 2048 with 32 heads, 2048 tokens a sequence.
GraphSketch gpt(std::int64_t batch);
/// The same with 12 blocks of which every other one has 16 experts, two of them for each token.
GraphSketch mixture_of_experts(std::int64_t batch);

struct NamedNetwork {
  std::string name;
  std::string description;
  std::int64_t batch;  ///< the default
  GraphSketch (*build)(std::int64_t batch);
};

const std::vector<NamedNetwork>& networks();

}  // namespace p2::operations
