#include "proofs/kernel/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace p2::kernel {
namespace {

/// An open file that closes itself. Symbolic links do not open, and nothing here waits for a pipe.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : handle_(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {}
  ~OpenFile() {
    if (handle_ >= 0) ::close(handle_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int handle() const { return handle_; }

 private:
  int handle_;
};

std::string read(const std::filesystem::path& path) {
  const OpenFile file(path);
  const std::string name = path.filename().string();
  struct stat about {};
  if (file.handle() < 0 || ::fstat(file.handle(), &about) != 0 || !S_ISREG(about.st_mode)) {
    malformed(name + " is not a regular file that can be read");
  }
  if (about.st_size < 0 || static_cast<std::uint64_t>(about.st_size) > kLargestFile) {
    malformed(name + " is too large");
  }
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::read(file.handle(), bytes.data() + done, bytes.size() - done);
    if (count <= 0) malformed(name + " cannot be read whole");
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

}  // namespace

Files read_folder(const std::string& path) {
  Files files;
  std::error_code failure;
  std::filesystem::directory_iterator entries(path, failure);
  if (failure) malformed("the folder cannot be read");
  for (const std::filesystem::directory_iterator end; entries != end; entries.increment(failure)) {
    if (files.size() == kMostFiles) malformed("the folder has too many files");
    files.emplace(entries->path().filename().string(), read(entries->path()));
    if (failure) break;
  }
  if (failure) malformed("the folder cannot be read");
  return files;
}

}  // namespace p2::kernel
