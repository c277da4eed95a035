#include "cli/output.h"

#include <unistd.h>

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/input/input_error.h"

namespace p2 {
namespace {

constexpr std::size_t kLargestFile = std::size_t{256} << 20;

}  // namespace

Output::Output(const std::optional<std::string>& file, std::ostream& otherwise)
    : otherwise_(otherwise) {
  if (!file) return;
  target_ = *file;
  partial_ = fmt::format("{}.partial.{}", target_, ::getpid());
  file_.open(partial_, std::ios::binary | std::ios::trunc);
  if (!file_)
    throw InputError({target_}, "cannot be written, expected a path in a writable folder");
}

Output::~Output() {
  if (partial_.empty()) return;
  file_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

std::ostream& Output::stream() { return target_.empty() ? otherwise_ : file_; }

void Output::finish() {
  stream().flush();
  if (!stream()) {
    throw InputError({target_.empty() ? "standard output" : target_},
                     "could not be written whole, expected room for the result");
  }
  if (target_.empty()) return;
  file_.close();
  std::error_code failure;
  std::filesystem::rename(partial_, target_, failure);
  if (failure) throw InputError({target_}, "cannot be put in place: " + failure.message());
  partial_.clear();
}

std::string read_file(const std::string& path) {
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) {
    throw InputError({path}, "is a folder, expected a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({path}, "cannot be read, expected a readable file");
  std::string text;
  std::string block(1 << 16, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0) {
    text.append(block, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLargestFile) {
      throw InputError({path}, "is larger than 256 MiB, expected a smaller file");
    }
  }
  return text;
}

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace p2
