#include "engine/strategy/networks/network.h"

namespace p2::operations {

Network::Network(std::string model, std::int64_t batch) {
  sketch_.model = std::move(model);
  sketch_.batch = batch;
}

std::string Network::add(const std::string& name, const std::string& kind, Dimensions dimensions,
                         const std::vector<std::string>& from) {
  OperationSketch operation;
  operation.name = name;
  operation.kind = kind;
  operation.dimensions = std::move(dimensions);
  sketch_.operations.push_back(std::move(operation));
  for (std::size_t i = 0; i < from.size(); ++i) connect(from[i], name, i);
  return name;
}

void Network::split_by_experts(const std::string& dimension) {
  sketch_.operations.back().model = dimension;
}

void Network::pointwise(std::int64_t operations) {
  sketch_.operations.back().pointwise = operations;
}

void Network::connect(const std::string& from, const std::string& to, std::size_t input) {
  sketch_.tensors.push_back({from, to, input});
}

const std::vector<NamedNetwork>& networks() {
  static const std::vector<NamedNetwork> all = {
      {"alexnet", "AlexNet, images of 227 x 227", 128, alexnet},
      {"resnet101", "ResNet101, images of 224 x 224", 128, resnet101},
      {"inception3", "Inception v3, images of 299 x 299", 128, inception3},
      {"rnnlm", "a language model of two layers of LSTM cells", 64, rnn_language_model},
      {"transformer", "a Transformer, six layers that encode and six that decode", 64, transformer},
      {"gpt", "24 blocks of a GPT, width 2048", 64, gpt},
      {"moe", "12 blocks of a GPT, every other one with 16 experts", 64, mixture_of_experts},
  };
  return all;
}

}  // namespace p2::operations
