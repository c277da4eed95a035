#pragma once

#include <functional>
#include <optional>
#include <string>

namespace p2 {

/// Calls `write`, which puts a certificate into `folder`. Returns why that could not be done; what
/// was found out before is not lost by it.
std::optional<std::string> complaint_of_writing(const std::string& folder,
                                                const std::function<void()>& write);

}  // namespace p2
