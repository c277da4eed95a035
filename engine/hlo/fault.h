#pragma once

#include <stdexcept>
#include <string>

#include "p2/error.h"

namespace p2::hlo {

/// What makes a module mean nothing: shapes or groups that do not fit.
struct Fault {
  std::string rule;    ///< `shapes`, `groups`, `pairs`, `operands`: stable names
  std::string reason;  ///< one sentence for people
  SourcePosition position;
};

/// Thrown while a module is put together; caught where it is judged.
struct IllFormed : std::runtime_error {
  explicit IllFormed(Fault why) : std::runtime_error(why.reason), fault(std::move(why)) {}
  Fault fault;
};

/// A limit was met: the question stays open. The message says which.
struct OutOfReach : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace p2::hlo
