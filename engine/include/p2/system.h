#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/answer.h"

namespace p2 {

/// What a system file describes.
struct SystemInfo {
  struct Level {
    std::string name;
    std::uint32_t size = 1;
  };

  std::string name;
  std::vector<Level> levels;  ///< outermost first
  std::size_t interconnects = 0;
  std::string text;  ///< the file as it is read: all that it leaves out is said
};

/// Reads a system file (docs/languages.md). Throws InputError with its line and column.
SystemInfo read_system_file(const std::string& file);

/// A dump of one host's hardware, and what it does not say.
struct ImportRequest {
  enum class Dump : std::uint8_t {
    NvidiaSmiTopo,  ///< the text of `nvidia-smi topo -m`
    NcclTopo,       ///< the XML that NCCL writes to NCCL_TOPO_DUMP_FILE
  };

  Dump dump = Dump::NvidiaSmiTopo;
  std::string file;
  std::string name = "imported";  ///< of the system
  std::uint32_t nodes = 1;        ///< how many such hosts, 1 to 1048576
  /// Bandwidths, as system files write them, per direction: of one NVLink, of a GPU's PCIe slot, of
  /// one NIC. Each goes before what the dump says. The matrix of nvidia-smi says none.
  std::optional<std::string> nvlink;
  std::optional<std::string> pcie;
  std::optional<std::string> nic;
  /// `gpu` and `fabric` of the system (docs/languages.md), before what the dump tells.
  std::optional<std::string> gpu = {};
  std::optional<std::string> fabric = {};
};

/// The diagnostics say what told the GPU and the fabric, and how to add what the dump does not
/// tell.
struct ImportAnswer : Answer {
  std::string system;  ///< the text of a system file
};

/// Makes a system file of the levels `node` and `gpu` from a dump. Throws InputError, with line and
/// column, for a text that is no such dump; for a topology that a system file cannot express; and
/// for a bandwidth that is needed and said nowhere.
ImportAnswer import_system(const ImportRequest& request, const Options& options);

}  // namespace p2
