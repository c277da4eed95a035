#pragma once

#include <string>

namespace p2 {

/// A text in memory that every verb reads as the file path(), for as long as this object lives.
/// Texts that are the same under the same name share a path.
///
///     const p2::TextFile program("<program>", "devices 2\nAllReduce on {0,1}");
///     p2::CheckRequest request;
///     request.files = {program.path()};
class TextFile {
 public:
  /// `name` is what messages call the text: `<program>`. While another text of that name lives,
  /// this one is called `<program>~2`.
  TextFile(const std::string& name, std::string text);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace p2
