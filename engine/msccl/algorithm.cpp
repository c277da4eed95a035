#include "engine/msccl/algorithm.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "engine/base/xml_elements.h"

namespace p2::msccl {
namespace {

constexpr std::array<std::string_view, 10> kTypes = {"s",   "r",   "rcs", "rrc", "rrcs",
                                                     "rrs", "cpy", "re",  "nop", "ra"};

}  // namespace

std::uint32_t fifo_capacity(Protocol protocol) { return protocol == Protocol::Simple ? 2 : 8; }

std::uint64_t transmission_bytes(Protocol protocol) {
  // NCCL cuts a buffer into 8 slots. LL: 8 lines of 16 bytes, half of them data, for each of 512
  // threads. LL128: 120 words of 8 bytes, 15 of 16 data, for 640. Simple: 4 MiB; MSCCL takes 4
  // slots.
  switch (protocol) {
    case Protocol::LL:
      return std::uint64_t{512} * 8 * 16 / 2;
    case Protocol::LL128:
      return std::uint64_t{640} * 120 * 8 / 16 * 15;
    case Protocol::Simple:
      return (std::uint64_t{4} << 20) / 8 * 4;
  }
  return 0;
}

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::LL:
      return "LL";
    case Protocol::LL128:
      return "LL128";
    case Protocol::Simple:
      return "Simple";
  }
  return {};
}

bool sends(StepType type) {
  return type == StepType::Send || type == StepType::ReceiveCopySend ||
         type == StepType::ReceiveReduceCopySend || type == StepType::ReceiveReduceSend;
}

bool receives(StepType type) {
  return type == StepType::Receive || type == StepType::ReceiveReduceCopy ||
         (sends(type) && type != StepType::Send);
}

bool reads_source(StepType type) {
  return type != StepType::Receive && type != StepType::ReceiveCopySend && type != StepType::Nop;
}

bool writes_destination(StepType type) {
  return type != StepType::Send && type != StepType::ReceiveReduceSend && type != StepType::Nop;
}

bool reads_destination(StepType type) {
  return type == StepType::Reduce || type == StepType::ResidualAdd;
}

std::string_view to_string(StepType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::optional<StepType> step_type(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == name) return static_cast<StepType>(i);
  }
  return std::nullopt;
}

char letter(Buffer buffer) { return "ios"[static_cast<std::size_t>(buffer)]; }

std::vector<StepPlace> Algorithm::steps() const {
  std::vector<StepPlace> places;
  for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (std::uint32_t block = 0; block < gpus[gpu].blocks.size(); ++block) {
      const auto count = static_cast<std::uint32_t>(gpus[gpu].blocks[block].steps.size());
      for (std::uint32_t step = 0; step < count; ++step) places.push_back({gpu, block, step});
    }
  }
  return places;
}

std::string describe(const Algorithm& algorithm, StepPlace place) {
  const Step& step = algorithm.step(place);
  return fmt::format("gpu {} tb {} step {} ({}, line {})", place.gpu, algorithm.block(place).id,
                     step.number, to_string(step.type), step.line);
}

std::vector<LoaderLimit> loader_limits(const Algorithm& algorithm) {
  LoaderLimit steps{"steps_per_thread_block", 256};
  LoaderLimit count{"count", kMaxChunksPerStep};
  LoaderLimit channels{"channels", 32, algorithm.channels};
  for (const Gpu& gpu : algorithm.gpus) {
    for (const ThreadBlock& block : gpu.blocks) {
      // Numbers may have gaps, and the loader's tables are indexed by them.
      if (!block.steps.empty()) {
        steps.found = std::max<std::uint64_t>(steps.found, block.steps.back().number + 1);
      }
      channels.found = std::max<std::uint64_t>(channels.found, block.channel + 1);
      for (const Step& step : block.steps)
        count.found = std::max<std::uint64_t>(count.found, step.count);
    }
  }
  return {steps, count, channels};
}

std::vector<StepPlace> find_unnoticed_overruns(const Algorithm& algorithm) {
  const auto passes = [&](const Gpu& gpu, const Region& region, std::uint32_t count) {
    const std::int64_t chunks = gpu.chunks[static_cast<std::size_t>(region.buffer)];
    return region.offset >= 0 && region.offset < chunks && region.offset + count > chunks;
  };
  std::vector<StepPlace> found;
  for (const StepPlace place : algorithm.steps()) {
    const Step& step = algorithm.step(place);
    const Gpu& gpu = algorithm.gpus[place.gpu];
    if ((reads_source(step.type) && passes(gpu, step.source, step.count)) ||
        (writes_destination(step.type) && passes(gpu, step.destination, step.count))) {
      found.push_back(place);
    }
  }
  return found;
}

namespace {

constexpr std::int64_t kMaxGpus = 65536;
constexpr std::int64_t kMaxChunks = 65536;
constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
constexpr std::array<const char*, 4> kElements = {"algo", "gpu", "tb", "step"};  // by depth

std::uint32_t number(const XmlElement& element, const char* attribute, std::int64_t low,
                     std::int64_t high) {
  return static_cast<std::uint32_t>(element.integer(attribute, low, high));
}

Protocol protocol_of(const XmlElement& element) {
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    if (element.text("proto") == to_string(protocol)) return protocol;
  }
  element.fail(fmt::format("proto=\"{}\", expected LL, LL128 or Simple", element.text("proto")));
}

Algorithm algo_of(const XmlElement& element) {
  Algorithm algorithm;
  if (element.has("name")) algorithm.name = element.text("name");
  algorithm.collective = element.text("coll");
  algorithm.protocol = protocol_of(element);
  algorithm.channels = static_cast<std::uint32_t>(element.integer("nchannels", 1, kMaxNumber, 1));
  algorithm.chunks = number(element, "nchunksperloop", 1, kMaxChunks);
  algorithm.gpus.resize(number(element, "ngpus", 1, kMaxGpus));
  const auto ranks = static_cast<std::int64_t>(algorithm.gpus.size());
  algorithm.root = static_cast<std::uint32_t>(element.integer("root", 0, ranks - 1, 0));
  algorithm.in_place = element.integer("inplace", 0, 1) == 1;
  algorithm.out_of_place = element.integer("outofplace", 0, 1, algorithm.in_place ? 0 : 1) == 1;
  if (!algorithm.in_place && !algorithm.out_of_place) {
    element.fail("inplace=\"0\" and outofplace=\"0\", expected one of them to be 1");
  }
  algorithm.min_bytes = static_cast<std::uint64_t>(element.integer("minBytes", 0, kMaxBytes, 0));
  const std::int64_t max_bytes = element.integer("maxBytes", 0, kMaxBytes, 0);
  if (max_bytes > 0) algorithm.max_bytes = static_cast<std::uint64_t>(max_bytes);
  return algorithm;
}

Gpu gpu_of(const XmlElement& element) {
  return {{number(element, "i_chunks", 0, kMaxChunks), number(element, "o_chunks", 0, kMaxChunks),
           number(element, "s_chunks", 0, kMaxChunks)},
          {}};
}

std::optional<std::uint32_t> peer_of(const XmlElement& element, const char* attribute,
                                     std::size_t ranks) {
  const std::int64_t peer = element.integer(attribute, -1, static_cast<std::int64_t>(ranks) - 1);
  if (peer < 0) return std::nullopt;
  return static_cast<std::uint32_t>(peer);
}

ThreadBlock block_of(const XmlElement& element, std::size_t ranks) {
  return {number(element, "id", 0, kMaxNumber),
          peer_of(element, "send", ranks),
          peer_of(element, "recv", ranks),
          // Local thread blocks have channel -1 in some files.
          static_cast<std::uint32_t>(
              std::max<std::int64_t>(0, element.integer("chan", -1, kMaxNumber))),
          {}};
}

Region region_of(const XmlElement& element, const char* buffer, const char* offset) {
  for (const Buffer each : {Buffer::Input, Buffer::Output, Buffer::Scratch}) {
    const char name = letter(each);
    if (element.text(buffer) == std::string_view(&name, 1)) {
      return {each, element.integer(offset, -kMaxNumber, kMaxNumber)};
    }
  }
  element.fail(fmt::format("{}=\"{}\", expected i, o or s", buffer, element.text(buffer)));
}

Step step_of(const XmlElement& element) {
  const auto type = step_type(element.text("type"));
  if (!type) {
    element.fail(fmt::format("type=\"{}\", expected s, r, rcs, rrc, rrcs, rrs, cpy, re, nop or ra",
                             element.text("type")));
  }
  Step step;
  step.type = *type;
  step.number = number(element, "s", 0, kMaxNumber);
  step.source = region_of(element, "srcbuf", "srcoff");
  step.destination = region_of(element, "dstbuf", "dstoff");
  step.count = number(element, "cnt", *type == StepType::Nop ? 0 : 1, kMaxChunks);
  if (element.integer("depid", -1, kMaxNumber) >= 0) {
    step.waits_for = {number(element, "depid", 0, kMaxNumber),
                      number(element, "deps", 0, kMaxNumber)};
  }
  step.publishes = element.integer("hasdep", 0, 1) == 1 && *type != StepType::Nop;
  step.line = element.line;
  step.column = element.column;
  return step;
}

void require_expected(const XmlElement& element) {
  const char* expected = element.depth < kElements.size() ? kElements[element.depth] : nullptr;
  if (expected == nullptr) {
    element.fail(fmt::format("<{}> inside <step>, expected nothing", element.name));
  }
  if (element.name != expected) {
    element.fail(fmt::format("<{}>, expected <{}>", element.name, expected));
  }
}

/// Builds the algorithm from the elements in the order of the file.
class AlgorithmBuilder {
 public:
  explicit AlgorithmBuilder(const XmlElement& root)
      : algorithm_(algo_of(root)),
        root_{std::string(root.source), root.line, root.column},
        seen_(ranks()) {}

  void add(const XmlElement& element) {
    if (element.depth == 1) add_gpu(element);
    if (element.depth == 2) add_block(element);
    if (element.depth == 3) add_step(element);
  }

  Algorithm finished() {
    const auto missing = std::find(seen_.begin(), seen_.end(), false);
    if (missing != seen_.end()) {
      throw InputError(root_, fmt::format("no <gpu id=\"{}\">, expected one for each of {} GPUs",
                                          missing - seen_.begin(), ranks()));
    }
    return std::move(algorithm_);
  }

 private:
  std::size_t ranks() const { return algorithm_.gpus.size(); }

  void add_gpu(const XmlElement& element) {
    const std::uint32_t id = number(element, "id", 0, static_cast<std::int64_t>(ranks()) - 1);
    if (seen_[id]) element.fail(fmt::format("duplicate GPU {}, expected it once", id));
    seen_[id] = true;
    algorithm_.gpus[id] = gpu_of(element);
    gpu_ = &algorithm_.gpus[id];
    block_ids_.clear();
  }

  void add_block(const XmlElement& element) {
    ThreadBlock block = block_of(element, ranks());
    if (!block_ids_.insert(block.id).second) {
      element.fail(fmt::format("duplicate thread block {}, expected it once", block.id));
    }
    gpu_->blocks.push_back(std::move(block));
  }

  void add_step(const XmlElement& element) {
    Step step = step_of(element);
    std::vector<Step>& steps = gpu_->blocks.back().steps;
    if (!steps.empty() && steps.back().number >= step.number) {
      element.fail(fmt::format("step {} after step {}, expected numbers that increase", step.number,
                               steps.back().number));
    }
    steps.push_back(step);
  }

  Algorithm algorithm_;
  SourcePosition root_;
  std::vector<bool> seen_;
  Gpu* gpu_ = nullptr;
  std::set<std::uint32_t> block_ids_;
};

}  // namespace

bool is_xml(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<';
}

Algorithm read_algorithm(const std::string& source, const std::string& text) {
  std::optional<AlgorithmBuilder> builder;
  read_xml(source, text, "algo", [&](const XmlElement& element) {
    require_expected(element);
    if (element.depth == 0) {
      builder.emplace(element);
    } else {
      builder->add(element);
    }
  });
  return builder->finished();
}

namespace {

/// As an attribute value.
std::string escaped(const std::string& text) {
  std::string value;
  for (const char ch : text) {
    const bool markup = ch == '&' || ch == '<' || ch == '>' || ch == '"';
    value += markup ? fmt::format("&#{};", static_cast<int>(ch)) : std::string(1, ch);
  }
  return value;
}

}  // namespace

std::string to_xml(const Algorithm& algorithm) {
  std::string xml = fmt::format(
      "<?xml version=\"1.0\"?>\n<algo name=\"{}\" coll=\"{}\" proto=\"{}\" nchannels=\"{}\" "
      "nchunksperloop=\"{}\" ngpus=\"{}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"{}\" "
      "maxBytes=\"{}\">\n",
      escaped(algorithm.name), escaped(algorithm.collective), to_string(algorithm.protocol),
      algorithm.channels, algorithm.chunks, algorithm.gpus.size(), int{algorithm.in_place},
      int{algorithm.out_of_place}, algorithm.min_bytes, algorithm.max_bytes.value_or(0));
  const auto peer = [](const auto& each) { return each ? static_cast<int>(*each) : -1; };
  for (std::size_t id = 0; id < algorithm.gpus.size(); ++id) {
    const Gpu& gpu = algorithm.gpus[id];
    xml += fmt::format(" <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", id,
                       gpu.chunks[0], gpu.chunks[1], gpu.chunks[2]);
    for (const ThreadBlock& block : gpu.blocks) {
      xml += fmt::format("  <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", block.id,
                         peer(block.send_peer), peer(block.receive_peer), block.channel);
      for (const Step& step : block.steps) {
        xml += fmt::format(
            "   <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" "
            "cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
            step.number, to_string(step.type), letter(step.source.buffer), step.source.offset,
            letter(step.destination.buffer), step.destination.offset, step.count,
            step.waits_for ? static_cast<int>(step.waits_for->block) : -1,
            step.waits_for ? static_cast<int>(step.waits_for->number) : -1, int{step.publishes});
      }
      xml += "  </tb>\n";
    }
    xml += " </gpu>\n";
  }
  return xml + "</algo>\n";
}

}  // namespace p2::msccl
