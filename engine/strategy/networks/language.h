#pragma once

#include <string>

#include "engine/strategy/networks/network.h"

namespace p2::operations {

/// The sizes of a network of attention layers.
struct Widths {
  std::int64_t steps = 0;  ///< tokens of a sequence
  std::int64_t model = 0;
  std::int64_t heads = 0;
  std::int64_t inner = 0;  ///< of the two matrices after attention
  std::int64_t words = 0;  ///< of the vocabulary
};

/// A network for text. Features are `b s model`, and named by the operation that makes them.
class LanguageNetwork : public Network {
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

}  // namespace p2::operations
