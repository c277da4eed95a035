#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {

/// Looks at a tensor region by region, each as large as one answer goes.
class TensorWalk {
 public:
  TensorWalk(ComparisonContext& context, const Tensor& tensor);

  /// One answer of the walk.
  struct Piece {
    Region region;
    Value value;
  };
  /// Goes on where it was: may be called again after NeedsTensor.
  void run();
  const std::vector<Piece>& pieces() const { return pieces_; }
  /// What is the same for all tensors that hold the same in the same regions.
  std::vector<std::int64_t> signature() const;

 private:
  ComparisonContext& context_;
  Tensor tensor_;
  Space space_;
  Evaluation evaluation_;
  std::vector<Region> open_;
  std::vector<Piece> pieces_;
};

/// Numbers tensors such that those of one number hold the same everywhere. The other way round it
/// is only likely: tensors of two numbers may still be equal.
class TensorClasses {
 public:
  explicit TensorClasses(ComparisonContext& context) : context_(context) {}

  /// Gives `tensor` its class, and first all that its own operations need.
  void settle(const Tensor& tensor);

 private:
  std::uint32_t class_of(const Tensor& tensor, const TensorWalk& walk);
  bool equal(const Tensor& a, const Tensor& b);

  ComparisonContext& context_;
  Interner signatures_;
  std::map<std::uint32_t, std::uint32_t> class_of_signature_;
  std::map<std::vector<std::int64_t>, std::vector<Tensor>> by_corners_;
  std::uint32_t classes_ = 0;
};

}  // namespace p2::hlo
