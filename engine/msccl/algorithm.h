#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace p2::msccl {

enum class Protocol : std::uint8_t { LL, LL128, Simple };

/// How many transmissions a connection holds before its sender has to wait.
std::uint32_t fifo_capacity(Protocol protocol);
/// How many bytes one transmission carries with the default buffer sizes of NCCL.
std::uint64_t transmission_bytes(Protocol protocol);
std::string_view to_string(Protocol protocol);

/// What a step does. `local` is the source region, `received` what came over the connection.
enum class StepType : std::uint8_t {
  Send,                   ///< `s`: send local
  Receive,                ///< `r`: destination := received
  ReceiveCopySend,        ///< `rcs`: the same, and send received
  ReceiveReduceCopy,      ///< `rrc`: destination := local ⊕ received
  ReceiveReduceCopySend,  ///< `rrcs`: the same, and send the sum
  ReceiveReduceSend,      ///< `rrs`: send local ⊕ received
  Copy,                   ///< `cpy`: destination := local
  Reduce,                 ///< `re`: destination := destination ⊕ local
  Nop,                    ///< `nop`: waits for its dependency
  ResidualAdd             ///< `ra`: an extension of some loaders; its effect is not interpreted
};

bool sends(StepType type);
bool receives(StepType type);
bool reads_source(StepType type);
bool writes_destination(StepType type);
bool reads_destination(StepType type);
std::string_view to_string(StepType type);
std::optional<StepType> step_type(std::string_view name);

enum class Buffer : std::uint8_t { Input, Output, Scratch };
char letter(Buffer buffer);

/// Consecutive chunks from `offset` on. Regions that a step does not use may have any offset.
struct Region {
  Buffer buffer = Buffer::Input;
  std::int64_t offset = 0;
};

struct Dependency {
  std::uint32_t block = 0;   ///< the id of a thread block of the same GPU
  std::uint32_t number = 0;  ///< of one of its steps
};

struct Step {
  StepType type = StepType::Nop;
  std::uint32_t number = 0;  ///< `s`; increases in a thread block, gaps are possible
  Region source = {};
  Region destination = {};
  std::uint32_t count = 0;  ///< chunks
  std::optional<Dependency> waits_for = {};
  bool publishes = false;  ///< others may wait for it
  std::size_t line = 0;
  std::size_t column = 0;
};

/// Steps that run sequentially.
struct ThreadBlock {
  std::uint32_t id = 0;
  std::optional<std::uint32_t> send_peer = {};
  std::optional<std::uint32_t> receive_peer = {};
  std::uint32_t channel = 0;
  std::vector<Step> steps = {};
};

struct Gpu {
  std::array<std::uint32_t, 3> chunks = {};  ///< of each Buffer
  std::vector<ThreadBlock> blocks = {};
};

/// Identifies a step by positions in the lists of Algorithm, which are not always the ids.
struct StepPlace {
  std::uint32_t gpu = 0;
  std::uint32_t block = 0;
  std::uint32_t step = 0;

  auto operator<=>(const StepPlace&) const = default;
};

/// A schedule of a collective as MSCCL loads it, GPU by GPU. Every GPU is one rank of the
/// collective.
struct Algorithm {
  std::string name = {};
  std::string collective = {};
  Protocol protocol = Protocol::Simple;
  std::uint32_t channels = 1;
  std::uint32_t chunks = 1;  ///< the message is cut into that many: `nchunksperloop`
  std::uint32_t root = 0;    ///< of collectives that have one
  bool in_place = false;     ///< may be called with overlapping buffers
  bool out_of_place = false;
  std::uint64_t min_bytes = 0;
  std::optional<std::uint64_t> max_bytes = {};  ///< without a limit if empty
  std::vector<Gpu> gpus = {};

  const ThreadBlock& block(StepPlace at) const { return gpus[at.gpu].blocks[at.block]; }
  const Step& step(StepPlace at) const { return block(at).steps[at.step]; }
  /// In the order of the file.
  std::vector<StepPlace> steps() const;
};

/// `gpu 0 tb 1 step 2 (rcs, line 7)`.
std::string describe(const Algorithm& algorithm, StepPlace place);

/// The largest `cnt` that loaders of MSCCL accept.
constexpr std::uint32_t kMaxChunksPerStep = 71;

/// A bound beyond which a loader rejects a file, whatever the algorithm would do.
struct LoaderLimit {
  std::string name;  ///< `steps_per_thread_block`, `count`, `channels`
  std::uint64_t allowed = 0;
  std::uint64_t found = 0;  ///< the largest in the file

  bool met() const { return found <= allowed; }
};

std::vector<LoaderLimit> loader_limits(const Algorithm& algorithm);

/// Steps whose region starts inside a buffer and ends past it. Loaders check only where a region
/// starts, so they accept them.
std::vector<StepPlace> find_unnoticed_overruns(const Algorithm& algorithm);

/// Whether a text is XML rather than any other format that `check` reads.
bool is_xml(std::string_view text);

/// Reads MSCCL XML: `<algo>` › `<gpu>` › `<tb>` › `<step>`. Unused attributes are ignored. Without
/// `outofplace` an algorithm is in place or out of place, never both; without `maxBytes`, or with
/// 0, it is for messages of any size. Throws InputError for a file without a meaning: an unexpected
/// element or value, a duplicate or missing GPU or thread block, step numbers that do not increase.
/// Faults of the algorithm itself are found by judge().
Algorithm read_algorithm(const std::string& source, const std::string& text);

/// Writes MSCCL XML that read_algorithm() reads back.
std::string to_xml(const Algorithm& algorithm);

}  // namespace p2::msccl
