#include "engine/strategy/networks.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/strategy/operation.h"
#include "p2/error.h"
#include "p2/network.h"

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

namespace p2 {
namespace {

void require_range(const char* flag, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw InputError({flag},
                   fmt::format("found {}, expected a whole number from 1 to {}", value, most));
}

operations::Machine machine_of(const NetworkRequest& request) {
  require_range("--flops", request.flops, 10'000'000'000'000'000);
  require_range("--word-bytes", request.word_bytes, 64);
  operations::Machine machine{request.flops, request.word_bytes, {}};
  for (const MachineLevel& level : request.levels) {
    require_range("--levels", level.size, 4096);
    require_range("--levels", level.bandwidth, 1'000'000'000'000'000);
    machine.levels.push_back(
        {fmt::format("level{}", machine.levels.size()), level.size, level.bandwidth});
  }
  return machine;
}

}  // namespace

std::vector<NetworkInfo> known_networks() {
  std::vector<NetworkInfo> all;
  for (const operations::NamedNetwork& each : operations::networks()) {
    all.push_back({each.name, each.description, each.batch});
  }
  return all;
}

NetworkAnswer build_network(const NetworkRequest& request) {
  const auto& known = operations::networks();
  const auto found = std::ranges::find(known, request.name, &operations::NamedNetwork::name);
  if (found == known.end()) {
    throw InputError({"command line"}, "expected the name of one network (see --help)");
  }
  const std::int64_t batch = request.batch.value_or(found->batch);
  require_range("--batch", batch, 1 << 20);
  NetworkAnswer answer;
  answer.results.push_back({.subject = request.name, .outcome = Outcome::Established});
  answer.document.title = "p2-verify network";
  answer.document.json = operations::operation_graph_json(found->build(batch), machine_of(request));
  answer.graph = answer.document.json.document();
  answer.document.add(Preformatted{answer.graph});
  return answer;
}

}  // namespace p2
