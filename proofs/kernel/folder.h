#pragma once

#include <cstddef>
#include <string>

#include "proofs/kernel/verdict.h"

namespace p2::kernel {

/// A certificate has no more files than these, and no larger ones.
constexpr std::size_t kMostFiles = 8;
constexpr std::size_t kLargestFile = std::size_t{32} << 20U;

/// The files of the folder `path`: regular files only, no folders, no symbolic links. Objects
/// (NotACertificate) when there is anything else.
Files read_folder(const std::string& path);

}  // namespace p2::kernel
