#include "proofs/certificate/certificate_folder.h"

#include <mutex>
#include <new>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "proofs/kernel/certificate.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "p2-certificate/1";

/// Whether the folder holds a certificate's files and nothing else, so that it may be replaced.
bool is_certificate(const fs::path& folder) {
  const nlohmann::json manifest = index_of(folder, "manifest.json", kSchema);
  if (manifest.is_null()) return false;
  std::set<std::string> names = {"manifest.json"};
  const auto files = manifest.find("files");
  if (files != manifest.end() && files->is_object()) {
    for (const auto& [name, hash] : files->items()) names.insert(name);
  }
  return holds_only(folder, names);
}

/// Of the claim of the certificate in the folder, as p2-check prints it; empty if there is none.
std::string digest_of(const fs::path& folder) {
  const nlohmann::json manifest = index_of(folder, "manifest.json", kSchema);
  if (manifest.is_null()) return {};
  const std::string claim = manifest.at("claim");
  CertificateFiles files;
  for (const std::string& name : statement_files(claim)) {
    files[name] = read_file((folder / name).string());
  }
  return claim_digest(claim, files);
}

/// Whether the folder has these files, as far as the manifest and the names tell.
bool holds(const fs::path& folder, const CertificateFiles& files) {
  std::error_code failure;
  for (const auto& [name, bytes] : files) {
    if (!fs::is_regular_file(folder / name, failure) ||
        fs::file_size(folder / name, failure) != bytes.size()) {
      return false;
    }
  }
  return read_file((folder / "manifest.json").string()) == files.at("manifest.json");
}

/// Calls `write`, which returns the folder that it has written, if any; `name` stands for the
/// folder in what is said of an exception.
template <typename Write>
Evidence evidence_in(const std::string& name, const Write& write,
                     std::vector<Diagnostic>& diagnostics) {
  const auto trouble = [&](Diagnostic::Kind kind, const std::string& message) {
    diagnostics.push_back({kind, message});
    return Evidence{Evidence::Kind::Unwritten, name, message};
  };
  try {
    const std::optional<std::string> folder = write();
    if (!folder) return {};
    return {Evidence::Kind::Certificate, *folder, {}, digest_of(*folder)};
  } catch (const InputError& error) {
    return trouble(Diagnostic::Kind::BadInput, error.what());
  } catch (const fs::filesystem_error& error) {
    return trouble(Diagnostic::Kind::BadInput,
                   name + ": " + error.code().message() + ", expected a folder");
  } catch (const LimitReached& error) {
    return trouble(Diagnostic::Kind::Undecided, name + ": " + error.what());
  } catch (const std::bad_alloc&) {
    return trouble(Diagnostic::Kind::Undecided, name + ": out of memory");
  } catch (const std::exception& error) {
    return trouble(Diagnostic::Kind::ToolFailure, name + ": tool failure: " + error.what());
  }
}

}  // namespace

void add_manifest(const std::string& claim, const Provenance& provenance, CertificateFiles& files) {
  files.erase("manifest.json");
  nlohmann::ordered_json manifest = {{"schema", kSchema},
                                     {"claim", claim},
                                     {"tools", provenance.tools},
                                     {"seed", provenance.seed},
                                     {"options", provenance.options},
                                     {"files", nlohmann::ordered_json::object()}};
  for (const auto& [name, bytes] : files) {
    if (bytes.size() > largest_file(name)) {
      throw LimitReached(
          LimitReached::Kind::Size,
          fmt::format("{} of the certificate would have {} bytes, more than p2-check reads", name,
                      bytes.size()));
    }
    manifest["files"][name] = sha256(bytes);
  }
  const std::string zeros(64, '0');
  manifest["seal"] = zeros;
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  std::string text = manifest.dump(2, ' ', false, kReplace) + "\n";
  text.replace(text.rfind(zeros), zeros.size(), sha256(text));
  files["manifest.json"] = std::move(text);
}

void write_folder(const fs::path& folder, const CertificateFiles& files) {
  try {
    write_whole_folder(folder, files, "certificate", is_certificate);
  } catch (const InputError&) {
    if (!holds(folder, files)) throw;  // else another process was first
  }
}

std::string addressed_name(const std::string& name, const CertificateFiles& files) {
  return fmt::format("{}-{}", name, sha256(files.at("manifest.json")).substr(0, 16));
}

void write_addressed_folder(const fs::path& folder, const CertificateFiles& files) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  if (!holds(folder, files)) write_folder(folder, files);
}

Evidence written_evidence(const std::string& folder, const MakeFiles& make,
                          std::vector<Diagnostic>& diagnostics) {
  const auto write = [&]() -> std::optional<std::string> {
    const std::optional<CertificateFiles> files = make();
    if (!files) return std::nullopt;
    write_folder(folder, *files);
    return folder;
  };
  return evidence_in(folder, write, diagnostics);
}

Evidence addressed_evidence(const std::string& name, const MakeFiles& make,
                            std::vector<Diagnostic>& diagnostics) {
  const auto write = [&]() -> std::optional<std::string> {
    const std::optional<CertificateFiles> files = make();
    if (!files) return std::nullopt;
    const std::string folder = addressed_name(name, *files);
    write_addressed_folder(folder, *files);
    return folder;
  };
  return evidence_in(name, write, diagnostics);
}

Evidence evidence_of(std::variant<CertificateFiles, std::string> made, const std::string& folder,
                     std::vector<Diagnostic>& diagnostics) {
  if (auto* const reason = std::get_if<std::string>(&made)) {
    return {Evidence::Kind::SolverOnly, {}, std::move(*reason)};
  }
  const auto make = [&] { return std::get<CertificateFiles>(std::move(made)); };
  return written_evidence(folder, make, diagnostics);
}

std::string certificate_line(const Evidence& evidence) {
  return printable(fmt::format("certificate: {}, claim {}", evidence.folder, evidence.claim));
}

std::string certificate_text(const Evidence& evidence) {
  if (evidence.kind == Evidence::Kind::Certificate) return certificate_line(evidence) + "\n";
  if (evidence.trouble.empty()) return {};
  return "no certificate: " + printable(evidence.trouble) + "\n";
}

void add_certificate(const Evidence& evidence, Json& object) {
  const bool certified = evidence.kind == Evidence::Kind::Certificate;
  object.add("certificate", certified ? Json(evidence.folder) : Json());
  object.add("claim_digest", certified ? Json(evidence.claim) : Json());
}

}  // namespace p2
