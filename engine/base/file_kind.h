#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "p2/error.h"

namespace p2 {

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
