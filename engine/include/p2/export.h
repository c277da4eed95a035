#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/answer.h"
#include "p2/instance.h"

namespace p2 {

enum class ExportFormat : std::uint8_t {
  Msccl,        ///< MSCCL XML: one algorithm per reduction class, since MSCCL has no groups
  Json,         ///< program JSON
  Hlo,          ///< a module in XLA's HLO text
  StableHlo,    ///< a module in StableHLO's MLIR text
  Onesided,     ///< an execution plan of MSCCL++: one per reduction class
  OnesidedText  ///< a one-sided plan in the text format: one per reduction class
};

/// A protocol of NCCL, for MSCCL XML.
enum class ExportProtocol : std::uint8_t { Simple, LL, LL128 };

struct ExportRequest {
  /// Program JSON, `.p2` notation, or what `synth --format json` wrote.
  std::string file;
  ExportFormat format = ExportFormat::Msccl;
  ExportProtocol protocol = ExportProtocol::Simple;
  /// The number of the only program to export, from 1; 0: all programs of the file.
  std::size_t program = 0;
  /// For programs that do not name their instance; `dialect` and `goal` take precedence over the
  /// file.
  InstanceSpec instance;
  /// Where the texts are to be written. A single text goes into the file of this name, which is for
  /// the caller to write; several go into the folder of this name, with an `index.json`, which
  /// export_programs() writes: all of them or none. A folder that holds anything but an earlier
  /// export is not replaced.
  std::optional<std::string> output;
};

/// One exported text. It was parsed again, and the result was checked against the program.
struct ExportedText {
  std::size_t program = 1;                          ///< its number in the file, from 1
  std::optional<std::size_t> reduction_class = {};  ///< from 1; absent if it has all classes
  std::string name;  ///< in a folder of several: `program0001-class2.xml`
  std::string text;
  std::string summary;  ///< one readable line
};

/// One result per program of the request, up to the first one that is not established. Refuted: the
/// program is not valid. Undecided: a limit was reached before the program or its text was
/// verified. Disagreement: the program is valid and its text is not, which is a bug. `texts` is
/// empty unless all programs are Established. The document has a line per text if `output` is
/// present, otherwise the text itself.
struct ExportAnswer : Answer {
  std::vector<ExportedText> texts;
};

/// Exports valid programs. Throws InputError for a file without programs or one that cannot be
/// read, for a goal, a collective or an initial state that the format does not have, for several
/// texts without `output`, and if the folder cannot be written.
///
///     p2::ExportRequest request;
///     request.file = "allreduce.p2";
///     request.format = p2::ExportFormat::Hlo;
///     for (const p2::ExportedText& each : p2::export_programs(request, {}).texts)
///       std::cout << each.text;
ExportAnswer export_programs(const ExportRequest& request, const Options& options);

}  // namespace p2
