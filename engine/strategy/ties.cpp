#include "engine/strategy/ties.h"

#include "engine/base/invariant.h"

namespace p2::strategy {

std::size_t FirstOfTies::pick(const std::vector<std::uint32_t>& /*tied*/) { return 0; }

std::size_t LastOfTies::pick(const std::vector<std::uint32_t>& tied) { return tied.size() - 1; }

std::size_t AnyOfTies::pick(const std::vector<std::uint32_t>& tied) {
  return random_() % tied.size();
}

std::size_t EveryTie::pick(const std::vector<std::uint32_t>& tied) {
  if (made_ == picks_.size()) picks_.push_back({0, tied.size()});
  invariant(picks_[made_].count == tied.size(), "the same picks lead to the same ties");
  return picks_[made_++].taken;
}

bool EveryTie::next() {
  while (!picks_.empty() && picks_.back().taken + 1 == picks_.back().count) picks_.pop_back();
  made_ = 0;
  if (picks_.empty()) return false;
  ++picks_.back().taken;
  return true;
}

}  // namespace p2::strategy
