#include "engine/strategy/vertex_splits.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2::strategy {
namespace {

Split read_numbers(const JsonValue& list, std::string_view what) {
  Split numbers;
  for (const JsonValue& item : list.array(what)) {
    numbers.push_back(item.integer(what, 0, kMostNumber));
  }
  return numbers;
}

}  // namespace

std::vector<Split> read_splits(const JsonValue& value, std::size_t count) {
  std::vector<Split> splits;
  for (const JsonValue& item : value.array("the configurations")) {
    splits.push_back(read_numbers(item, "a configuration"));
  }
  if (splits.size() != count) {
    value.fail(fmt::format("there are {} configurations and {} costs, expected one each",
                           splits.size(), count));
  }
  return splits;
}

std::optional<std::uint32_t> data_parallel_split(const JsonValue& dom,
                                                 const std::vector<Split>& splits,
                                                 std::int64_t devices, std::int64_t batch) {
  const Split lengths = read_numbers(dom, "the dimensions of a vertex");
  const auto along = std::ranges::find(lengths, batch);
  if (along == lengths.end()) return std::nullopt;
  Split wanted(lengths.size(), 1);
  wanted[static_cast<std::size_t>(along - lengths.begin())] = devices;
  const auto found = std::ranges::find(splits, wanted);
  if (found == splits.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - splits.begin());
}

}  // namespace p2::strategy
