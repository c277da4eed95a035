#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/files.h"
#include "p2/answer.h"
#include "p2/error.h"

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
/// that is already there is replaced. Throws LimitReached when a file is larger than p2-check
/// reads.
void add_manifest(const std::string& claim, const Provenance& provenance, CertificateFiles& files);

/// Writes the files to `folder`, all of them or none: they are written under a temporary name
/// first. An empty folder or an existing certificate is replaced. Throws InputError when `folder`
/// exists and is anything else, or when writing fails.
void write_folder(const std::filesystem::path& folder, const CertificateFiles& files);

/// The name of a folder for these files, which has the digest of their manifest:
/// `NAME-0123456789abcdef`.
std::string addressed_name(const std::string& name, const CertificateFiles& files);
/// Writes the files to `folder`, unless they are there; several processes may do so at once.
/// `folder` must have an addressed_name. Throws InputError as write_folder does.
void write_addressed_folder(const std::filesystem::path& folder, const CertificateFiles& files);

/// Makes the files of a certificate; nothing where there is no evidence.
using MakeFiles = std::function<std::optional<CertificateFiles>()>;

/// Writes the files that `make` returns to `folder`; no evidence where it returns none. No
/// exception reaches the caller, whose result stands without the certificate: it becomes
/// Evidence::Kind::Unwritten and a diagnostic, BadInput where the folder cannot be written,
/// Undecided where a limit was reached or a file is larger than p2-check reads, ToolFailure
/// otherwise.
Evidence written_evidence(const std::string& folder, const MakeFiles& make,
                          std::vector<Diagnostic>& diagnostics);

/// The same with the folder that addressed_name(name) gives the files.
Evidence addressed_evidence(const std::string& name, const MakeFiles& make,
                            std::vector<Diagnostic>& diagnostics);

/// Writes the files that were `made` to `folder`, as written_evidence; where there is only a reason
/// why there are none, the evidence says so.
Evidence evidence_of(std::variant<CertificateFiles, std::string> made, const std::string& folder,
                     std::vector<Diagnostic>& diagnostics);

/// `certificate: FOLDER, claim DIGEST`, printable; the digest is the one that p2-check prints.
std::string certificate_line(const Evidence& evidence);
/// That as a line of text, or `no certificate: REASON`; empty where none was asked for.
std::string certificate_text(const Evidence& evidence);
/// Adds `certificate`, the folder, and `claim_digest`; null where there is no certificate.
void add_certificate(const Evidence& evidence, Json& object);

}  // namespace p2
