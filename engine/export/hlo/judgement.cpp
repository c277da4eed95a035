#include "engine/export/hlo/judgement.h"

#include <utility>

#include "engine/hlo/equality/goal.h"
#include "engine/hlo/stablehlo/stablehlo_text.h"
#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo {

Verdict judge_all_reduce(const std::string& source, const std::string& text,
                         const std::vector<std::vector<std::uint32_t>>& classes,
                         const Limits& limits) {
  const auto module = std::make_shared<const Module>(
      is_hlo(text) ? read_hlo(source, text) : std::move(read_stablehlo(source, text).at(0).module));
  return compare(goal_module(*module, Goal::AllReduce, classes), module, {}, limits);
}

}  // namespace p2::hlo
