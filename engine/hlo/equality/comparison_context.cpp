#include "engine/hlo/equality/comparison_context.h"

namespace p2::hlo {
namespace {

constexpr std::uint64_t kMostWork = 400'000'000;
constexpr std::size_t kMostBytes = std::size_t{3} << 30U;
constexpr std::uint64_t kBetweenLooks = 1U << 14U;

}  // namespace

std::uint32_t ComparisonContext::class_of(const Tensor& tensor) const {
  const auto found = classes.find(tensor);
  if (found == classes.end()) throw NeedsTensor{tensor};
  return found->second;
}

void ComparisonContext::spend(std::uint64_t units) {
  const std::uint64_t before = work / kBetweenLooks;
  work += units;
  if (work > kMostWork) throw OutOfReach("the comparison takes too many steps");
  if (work / kBetweenLooks == before) return;
  if (limits.exceeded(values.bytes())) throw OutOfReach("a limit was met");
  if (values.bytes() > kMostBytes) throw OutOfReach("the comparison takes too much memory");
}

}  // namespace p2::hlo
