#include "proofs/certificate/certificate_folder.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/input/input_error.h"
#include "proofs/check/certificate.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "p2-certificate/1";

/// Whether the folder holds a certificate's files and nothing else, so that it may be replaced.
bool is_certificate(const fs::path& folder) {
  std::ifstream file(folder / "manifest.json", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto manifest = nlohmann::json::parse(text, nullptr, false);
  if (!manifest.is_object() || manifest.value("schema", nlohmann::json()) != kSchema) return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name == "manifest.json" || manifest["files"].contains(name);
    if (!ours || !fs::is_regular_file(entry.symlink_status())) return false;
  }
  return true;
}

void write_files(const fs::path& folder, const CertificateFiles& files) {
  fs::create_directory(folder);
  for (const auto& [name, bytes] : files) {
    std::ofstream file(folder / name, std::ios::binary);
    file << bytes;
    file.close();
    if (!file)
      throw InputError({folder / name}, "could not be written whole, expected room for it");
  }
}

/// Puts `fresh` where `folder` is, and only then lets go of what was there.
void put_in_place(const fs::path& fresh, const fs::path& folder, const fs::path& old) {
  const bool replaces = fs::exists(folder);
  if (replaces) fs::rename(folder, old);
  try {
    fs::rename(fresh, folder);
  } catch (const fs::filesystem_error&) {
    if (replaces) fs::rename(old, folder);
    throw;
  }
  if (replaces) fs::remove_all(old);
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
      throw std::length_error(
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
  const fs::path target = fs::absolute(folder / "").lexically_normal().parent_path();
  const std::string hidden = fmt::format(".{}.{}", target.filename().string(), ::getpid());
  const fs::path fresh = target.parent_path() / (hidden + ".partial");
  const fs::path old = target.parent_path() / (hidden + ".old");
  try {
    const fs::file_status status = fs::symlink_status(target);
    if (fs::exists(status) &&
        (!fs::is_directory(status) || !(fs::is_empty(target) || is_certificate(target)))) {
      throw InputError({folder.string()}, "is there and no certificate, expected a new folder");
    }
    fs::create_directories(target.parent_path());
    write_files(fresh, files);
    put_in_place(fresh, target, old);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    throw InputError({folder.string()}, "cannot be written (" + error.code().message() +
                                            "), expected a writable path");
  } catch (const InputError&) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    throw;
  }
}

}  // namespace p2
