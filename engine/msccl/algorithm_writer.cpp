#include "engine/msccl/algorithm_writer.h"

#include <fmt/format.h>

namespace p2::msccl {
namespace {

/// As the value of an attribute.
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
