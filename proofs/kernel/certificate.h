#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "proofs/kernel/verdict.h"

namespace p2 {

/// The SHA-256 digest of `bytes` (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

/// The largest file of this name that is read, in bytes.
std::size_t largest_file(std::string_view name);

/// Checks one certificate (docs/certificates.md): the form of its manifest and the hashes of its
/// files, which catch accidents, and then its claim. Never throws.
kernel::Result check_certificate(const kernel::Files& files);
/// The same for the folder `path`, which holds regular files only: no links, no folders.
kernel::Result check_folder(const std::string& path);

}  // namespace p2
