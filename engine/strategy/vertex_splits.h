#pragma once

#include <optional>
#include <vector>

#include "engine/base/json_document.h"

namespace p2::strategy {

constexpr std::int64_t kMostNumber = 1 << 30;

/// Into how many parts a configuration splits every dimension of a vertex.
using Split = std::vector<std::int64_t>;

/// `configs` of a vertex that has `count` configurations.
std::vector<Split> read_splits(const JsonValue& value, std::size_t count);

/// The split of data parallelism: the first dimension of `dom` that is as long as the batch in as
/// many parts as there are devices, and no other one. Nothing where there is no such one.
std::optional<std::uint32_t> data_parallel_split(const JsonValue& dom,
                                                 const std::vector<Split>& splits,
                                                 std::int64_t devices, std::int64_t batch);

}  // namespace p2::strategy
