#include "engine/strategy/networks.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "engine/strategy/operation.h"
#include "p2/error.h"
#include "p2/network.h"

namespace p2::operations {

SketchBuilder::SketchBuilder(std::string model, std::int64_t batch) {
  sketch_.model = std::move(model);
  sketch_.batch = batch;
}

std::string SketchBuilder::add(const std::string& name, const std::string& kind,
                               Dimensions dimensions, const std::vector<std::string>& from) {
  OperationSketch operation;
  operation.name = name;
  operation.kind = kind;
  operation.dimensions = std::move(dimensions);
  sketch_.operations.push_back(std::move(operation));
  for (std::size_t i = 0; i < from.size(); ++i) connect(from[i], name, i);
  return name;
}

void SketchBuilder::split_by_experts(const std::string& dimension) {
  sketch_.operations.back().model = dimension;
}

void SketchBuilder::pointwise(std::int64_t operations) {
  sketch_.operations.back().pointwise = operations;
}

void SketchBuilder::connect(const std::string& from, const std::string& to, std::size_t input) {
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

/// The sizes of a transformer.
struct Widths {
  std::int64_t steps = 0;  ///< tokens of a sequence
  std::int64_t model = 0;
  std::int64_t heads = 0;
  std::int64_t inner = 0;  ///< of the two matrices after attention
  std::int64_t words = 0;  ///< of the vocabulary
};

/// Builds language models. Features are `b s model`, named by their operation.
class LanguageNetwork : public SketchBuilder {
 public:
  LanguageNetwork(std::string model, std::int64_t batch, Widths widths);

  std::string embed(const std::string& name);
  /// `queries` attend to `keys`.
  std::string attention(const std::string& name, const std::string& queries,
                        const std::string& keys);
  std::string two_matrices(const std::string& name, const std::string& from);
  std::string norm(const std::string& name, const std::string& from);
  std::string sum(const std::string& name, const std::string& a, const std::string& b);
  /// Scores of all words, and their loss.
  void score(const std::string& from);

  const Widths& widths() const { return widths_; }

 private:
  Dimensions tokens(const std::string& width) const;

  Widths widths_;
};

LanguageNetwork::LanguageNetwork(std::string model, std::int64_t batch, Widths widths)
    : SketchBuilder(std::move(model), batch), widths_(widths) {}

Dimensions LanguageNetwork::tokens(const std::string& width) const {
  return {{"b", batch()}, {"s", widths_.steps}, {width, widths_.model}};
}

std::string LanguageNetwork::embed(const std::string& name) {
  Dimensions dimensions = tokens("d");
  dimensions.emplace_back("v", widths_.words);
  return add(name, "embedding", dimensions);
}

std::string LanguageNetwork::attention(const std::string& name, const std::string& queries,
                                       const std::string& keys) {
  const std::int64_t width = widths_.model / widths_.heads;
  const Dimensions projection = {{"b", batch()},
                                 {"s", widths_.steps},
                                 {"h", widths_.heads},
                                 {"d", width},
                                 {"k", widths_.model}};
  add(name + "_q", "projection", projection, {queries});
  add(name + "_k", "projection", projection, {keys});
  add(name + "_v", "projection", projection, {keys});
  add(name, "attention",
      {{"b", batch()},
       {"s", widths_.steps},
       {"h", widths_.heads},
       {"d", width},
       {"t", widths_.steps}},
      {name + "_q", name + "_k", name + "_v"});
  return add(name + "_merge", "merge",
             {{"b", batch()},
              {"s", widths_.steps},
              {"n", widths_.model},
              {"h", widths_.heads},
              {"d", width}},
             {name});
}

std::string LanguageNetwork::two_matrices(const std::string& name, const std::string& from) {
  add(name + "_up", "gemm",
      {{"b", batch()}, {"s", widths_.steps}, {"n", widths_.inner}, {"k", widths_.model}}, {from});
  pointwise(3);
  std::string down =
      add(name + "_down", "gemm",
          {{"b", batch()}, {"s", widths_.steps}, {"n", widths_.model}, {"k", widths_.inner}},
          {name + "_up"});
  split_by_experts("k");
  return down;
}

std::string LanguageNetwork::norm(const std::string& name, const std::string& from) {
  return add(name, "layer_norm", tokens("c"), {from});
}

std::string LanguageNetwork::sum(const std::string& name, const std::string& a,
                                 const std::string& b) {
  return add(name, "elementwise", tokens("c"), {a, b});
}

void LanguageNetwork::score(const std::string& from) {
  add("scores", "gemm",
      {{"b", batch()}, {"s", widths_.steps}, {"n", widths_.words}, {"k", widths_.model}}, {from});
  add("loss", "loss", {{"b", batch()}, {"s", widths_.steps}, {"c", widths_.words}}, {"scores"});
}

GraphSketch rnn_language_model(std::int64_t batch) {
  constexpr std::int64_t kWords = 100'000;
  constexpr std::int64_t kWidth = 2048;
  constexpr std::int64_t kSteps = 256;
  SketchBuilder net("RNN language model", batch);
  net.add("embedding", "embedding", {{"b", batch}, {"s", kSteps}, {"d", kWidth}, {"v", kWords}});
  net.add("lstm", "lstm", {{"l", 2}, {"s", kSteps}, {"b", batch}, {"n", kWidth}, {"k", kWidth}},
          {"embedding"});
  net.add("scores", "gemm", {{"b", batch}, {"s", kSteps}, {"n", kWords}, {"k", kWidth}}, {"lstm"});
  net.add("loss", "loss", {{"b", batch}, {"s", kSteps}, {"c", kWords}}, {"scores"});
  return net.finish();
}

namespace {

/// Residual connection and normalisation (post-norm).
std::string added(LanguageNetwork& net, const std::string& name, const std::string& in,
                  const std::string& made) {
  return net.norm(name + "_norm", net.sum(name + "_add", in, made));
}

}  // namespace

GraphSketch transformer(std::int64_t batch) {
  constexpr int kLayers = 6;
  LanguageNetwork net("Transformer", batch, {256, 512, 8, 2048, 50'000});
  std::string source = net.embed("source");
  for (int layer = 1; layer <= kLayers; ++layer) {
    const std::string name = fmt::format("encode{}", layer);
    source = added(net, name + "_self", source, net.attention(name + "_self", source, source));
    source = added(net, name, source, net.two_matrices(name, source));
  }
  std::string target = net.embed("target");
  for (int layer = 1; layer <= kLayers; ++layer) {
    const std::string name = fmt::format("decode{}", layer);
    target = added(net, name + "_self", target, net.attention(name + "_self", target, target));
    target = added(net, name + "_cross", target, net.attention(name + "_cross", target, source));
    target = added(net, name, target, net.two_matrices(name, target));
  }
  net.score(target);
  return net.finish();
}

/// Pre-norm: layer norms before attention and before the MLP.
GraphSketch gpt(std::int64_t batch) {
  constexpr int kBlocks = 24;
  LanguageNetwork net("GPT", batch, {2048, 2048, 32, 8192, 50'304});
  std::string x = net.embed("embedding");
  for (int block = 1; block <= kBlocks; ++block) {
    const std::string name = fmt::format("block{}", block);
    const std::string before = net.norm(name + "_norm1", x);
    x = net.sum(name + "_add1", x, net.attention(name + "_attention", before, before));
    x = net.sum(name + "_add2", x, net.two_matrices(name, net.norm(name + "_norm2", x)));
  }
  net.score(net.norm("last_norm", x));
  return net.finish();
}

namespace {

constexpr std::int64_t kExperts = 16;
constexpr std::int64_t kExpertsOfToken = 2;

/// Top-2 routing with equal load of the experts.
std::string experts(LanguageNetwork& net, const std::string& name, const std::string& from) {
  const Widths& widths = net.widths();
  const std::int64_t batch = net.batch();
  const std::int64_t tokens = batch * widths.steps * kExpertsOfToken / kExperts;
  net.add(name + "_router", "gemm",
          {{"b", batch}, {"s", widths.steps}, {"n", kExperts}, {"k", widths.model}}, {from});
  net.add(name + "_gates", "softmax", {{"b", batch}, {"s", widths.steps}, {"c", kExperts}},
          {name + "_router"});
  net.add(name + "_dispatch", "dispatch", {{"e", kExperts}, {"t", tokens}, {"d", widths.model}},
          {from});
  net.add(name + "_up", "expert",
          {{"e", kExperts}, {"t", tokens}, {"n", widths.inner}, {"k", widths.model}},
          {name + "_dispatch"});
  net.pointwise(3);
  net.add(name + "_down", "expert",
          {{"e", kExperts}, {"t", tokens}, {"n", widths.model}, {"k", widths.inner}},
          {name + "_up"});
  return net.add(name + "_combine", "combine",
                 {{"b", batch}, {"s", widths.steps}, {"d", widths.model}},
                 {name + "_down", name + "_gates"});
}

}  // namespace

GraphSketch mixture_of_experts(std::int64_t batch) {
  constexpr int kBlocks = 12;
  LanguageNetwork net("mixture of experts", batch, {2048, 2048, 32, 8192, 50'304});
  std::string x = net.embed("embedding");
  for (int block = 1; block <= kBlocks; ++block) {
    const std::string name = fmt::format("block{}", block);
    const std::string before = net.norm(name + "_norm1", x);
    x = net.sum(name + "_add1", x, net.attention(name + "_attention", before, before));
    const std::string next = net.norm(name + "_norm2", x);
    x = net.sum(name + "_add2", x,
                block % 2 == 0 ? experts(net, name, next) : net.two_matrices(name, next));
  }
  net.score(net.norm("last_norm", x));
  return net.finish();
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
