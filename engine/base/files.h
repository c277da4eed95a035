#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "p2/error.h"

namespace p2 {

/// The text of a file or of the TextFile of this path; of `-`, all of standard input, however often
/// it is read. Throws InputError when it cannot be read or is larger than `max_mebibytes`.
std::string read_file(const std::string& path, std::size_t max_mebibytes = 128);

/// The text of the TextFile that is called `path`; null where there is none.
std::shared_ptr<const std::string> text_in_memory(const std::string& path);

/// The files of a folder: name → bytes.
using FolderFiles = std::map<std::string, std::string>;

/// Writes the files to `folder`, all of them or none: they appear under another name first. An
/// empty folder is replaced, and one that stands there and of which `ours` says that it was written
/// like this one. Throws InputError when anything else stands there, which is called no `what`, or
/// when writing fails.
void write_whole_folder(const std::filesystem::path& folder, const FolderFiles& files,
                        std::string_view what,
                        const std::function<bool(const std::filesystem::path&)>& ours);

/// Writes a file, whole or not at all: it appears under another name first, which begins with its
/// own. Why that failed, if it did.
std::string write_whole_file(const std::string& path,
                             const std::function<void(std::ostream& file)>& write);

/// The index that a folder has under this name, an object that names its `schema`; null where there
/// is none.
nlohmann::json index_of(const std::filesystem::path& folder, const std::string& name,
                        std::string_view schema);

/// The texts that the entries of a list in an index have under these keys: names of files. None
/// where it is no such list, for anything may stand in an index that was found.
std::set<std::string> names_in(const nlohmann::json& list, std::initializer_list<const char*> keys);

/// Whether a folder has files of these names and nothing else: so it may be replaced without the
/// loss of anything that was not written with its index.
bool holds_only(const std::filesystem::path& folder, const std::set<std::string>& names);

/// The kinds of text that commands read.
enum class FileKind : std::uint8_t {
  Program,         ///< `.p2` notation or JSON
  Programs,        ///< what `synth --format json` writes
  Definition,      ///< `.p2c`
  System,          ///< a system file
  OperationGraph,  ///< operation-graph/1, pairwise-strategy-graph/1
  Tasks,           ///< unit tasks of a resharding
  Plan,            ///< reshard-plan/1
  Baseline,        ///< known failures of `check`
  Xml,             ///< MSCCL XML
  Module           ///< HLO or StableHLO
};

/// The kind that the beginning of a text or, for JSON, its top-level keys show; none if it is no
/// JSON or has other keys.
std::optional<FileKind> recognized_kind(std::string_view text);

/// Throws InputError `is a system file, expected a program (see p2-verify cost --system)` if the
/// text is recognized as another kind than `expected`, the first of which the message names.
void refuse_other_kind(const std::string& source, std::string_view text,
                       std::initializer_list<FileKind> expected);

/// `read()`; where it throws InputError and the text is of another kind, the error says so instead.
template <typename Read>
auto read_as(std::initializer_list<FileKind> expected, const std::string& source,
             std::string_view text, const Read& read) {
  try {
    return read();
  } catch (const InputError&) {
    refuse_other_kind(source, text, expected);
    throw;
  }
}

}  // namespace p2
