#include "engine/output/whole_folder.h"

#include <unistd.h>

#include <fstream>

#include <fmt/format.h>

#include "engine/input/input_error.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

void write_files(const fs::path& folder, const FolderFiles& files) {
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

void write_whole_folder(const fs::path& folder, const FolderFiles& files, std::string_view what,
                        const std::function<bool(const fs::path&)>& ours) {
  const fs::path target = fs::absolute(folder / "").lexically_normal().parent_path();
  const std::string hidden = fmt::format(".{}.{}", target.filename().string(), ::getpid());
  const fs::path fresh = target.parent_path() / (hidden + ".partial");
  const fs::path old = target.parent_path() / (hidden + ".old");
  try {
    const fs::file_status status = fs::symlink_status(target);
    if (fs::exists(status) &&
        (!fs::is_directory(status) || !(fs::is_empty(target) || ours(target)))) {
      throw InputError({folder.string()},
                       fmt::format("is there and no {}, expected a new folder", what));
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
