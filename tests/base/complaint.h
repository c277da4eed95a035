#pragma once

#include <string>

#include "p2/error.h"

namespace p2 {

/// The message of the InputError that `action` throws, or `no complaint` where it throws none.
template <typename Action>
std::string complaint(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no complaint";
}

}  // namespace p2
