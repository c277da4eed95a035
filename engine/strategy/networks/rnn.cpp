#include "engine/strategy/networks/network.h"

namespace p2::operations {

GraphSketch rnn_language_model(std::int64_t batch) {
  constexpr std::int64_t kWords = 100'000;
  constexpr std::int64_t kWidth = 2048;
  constexpr std::int64_t kSteps = 256;
  Network net("RNN language model", batch);
  net.add("embedding", "embedding", {{"b", batch}, {"s", kSteps}, {"d", kWidth}, {"v", kWords}});
  net.add("lstm", "lstm", {{"l", 2}, {"s", kSteps}, {"b", batch}, {"n", kWidth}, {"k", kWidth}},
          {"embedding"});
  net.add("scores", "gemm", {{"b", batch}, {"s", kSteps}, {"n", kWords}, {"k", kWidth}}, {"lstm"});
  net.add("loss", "loss", {{"b", batch}, {"s", kSteps}, {"c", kWords}}, {"scores"});
  return net.finish();
}

}  // namespace p2::operations
