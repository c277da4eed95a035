#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "engine/base/files.h"

namespace p2 {

/// The files of a certificate: name → bytes (docs/certificates.md).
using CertificateFiles = FolderFiles;

/// Where a certificate comes from. Nothing in it bears on what is proved.
struct Provenance {
  std::map<std::string, std::string> tools;    ///< name → version
  std::map<std::string, std::string> options;  ///< what was asked for
  std::uint64_t seed = 1;
};

/// Adds manifest.json, which names the claim and lists every other file with its hash. A manifest
/// that is already there is replaced. Throws std::length_error when a file is larger than p2-check
/// reads.
void add_manifest(const std::string& claim, const Provenance& provenance, CertificateFiles& files);

/// Writes the files to `folder`, all of them or none: they appear under another name first. An
/// empty folder or a certificate that stands there is replaced. Throws InputError when anything
/// else does, or when writing fails.
void write_folder(const std::filesystem::path& folder, const CertificateFiles& files);

}  // namespace p2
