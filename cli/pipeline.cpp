#include "p2/pipeline.h"

#include <algorithm>
#include <charconv>

#include "cli/command.h"
#include "p2/bytes.h"
#include "p2/error.h"

namespace p2 {
namespace {

std::vector<FlagGroup> pipeline_flags() {
  return {
      {"Pipeline",
       {{"schedule", "gpipe|1f1b|eager-1f1b", "order of the stages (default 1f1b)"},
        {"stages", "N", "how many stages, one mesh each"},
        {"microbatches", "N", "how many go through the pipeline"},
        {"forward", "N", "time of one microbatch forward on one stage, a whole number (default 1)"},
        {"backward", "N", "the same backward (default 2)"},
        {"split-backward", "N,N",
         "instead: time of the gradient of activations, which the previous stage waits for, and "
         "of that of weights"},
        {"delay-weights", "N",
         "with --split-backward: gradients of weights come N backwards later (default 0); "
         "least: as few as make the pipeline the fastest"},
        {"latency", "N", "time to send from a stage to its neighbour (default 0)"},
        {"link", "delay|link|blocking",
         "delay (default), link (one transfer at a time) or blocking (the sender waits)"},
        {"activation-bytes", "BYTES",
         "what a stage holds of one microbatch: 4096, 48M, 2G; prints memory"},
        {"weight-bytes", "BYTES",
         "what else a stage holds: weights, gradients, states of the optimizer"},
        {"least-memory", "",
         "search all orders for the fewest activations with which transfers are hidden as well "
         "as can be"},
        {"certify", "DIR",
         "with --least-memory: write a certificate for p2-check that no stage can hold fewer"},
        {"plot", "FILE", "draw the timeline as SVG", Flag::Kind::Output}}}};
}

std::uint32_t required(const CommandLine& line, const std::string& flag, std::uint32_t most) {
  if (!line.has(flag)) {
    throw InputError({"command line"}, "no --" + flag + ", expected how many there are");
  }
  return static_cast<std::uint32_t>(line.integer(flag, 1, most, 1));
}

/// The time at [begin, end) of `A,W`.
std::int64_t split_time(const std::string& text, std::size_t begin, std::size_t end) {
  std::int64_t time = 0;
  const char* const last = text.data() + end;
  const auto [rest, error] = std::from_chars(text.data() + begin, last, time);
  if (error != std::errc() || rest != last || time < 1 || time > kMaxPipelineTime) {
    throw InputError({"--split-backward", 1, begin + 1},
                     "found '" + text.substr(begin, end - begin) +
                         "', expected a whole number from 1 to " +
                         std::to_string(kMaxPipelineTime));
  }
  return time;
}

/// `A,W`: the times of both gradients.
void read_split(const CommandLine& line, PipelineRequest& request) {
  if (line.has("backward")) {
    throw InputError({"--split-backward"}, "given with --backward, expected only one of both");
  }
  const std::string text = *line.text("split-backward");
  const std::size_t comma = std::min(text.find(','), text.size());
  request.times.backward = split_time(text, 0, comma);
  if (comma == text.size()) {
    throw InputError({"--split-backward", 1, comma + 1},
                     "found the end, expected ',' between the times of both gradients");
  }
  request.times.weight = split_time(text, comma + 1, text.size());
}

PipelineRequest pipeline_request(const CommandLine& line) {
  PipelineRequest request;
  request.schedule =
      line.choice<PipelineSchedule>("schedule", {{"1f1b", PipelineSchedule::OneForwardOneBackward},
                                                 {"eager-1f1b", PipelineSchedule::Eager},
                                                 {"gpipe", PipelineSchedule::GPipe}});
  request.size = {required(line, "stages", kMaxPipelineStages),
                  required(line, "microbatches", kMaxMicrobatches)};
  const auto time = [&](const char* flag, std::uint64_t low, std::uint64_t otherwise) {
    return static_cast<std::int64_t>(
        line.integer(flag, low, static_cast<std::uint64_t>(kMaxPipelineTime), otherwise));
  };
  request.times = {time("forward", 1, 1), time("backward", 1, 2), time("latency", 0, 0), 0};
  request.link = line.choice<PipelineLink>("link", {{"delay", PipelineLink::Delay},
                                                    {"link", PipelineLink::Link},
                                                    {"blocking", PipelineLink::Blocking}});
  request.split_backward = line.has("split-backward");
  if (request.split_backward) {
    read_split(line, request);
    request.weight_delay.reset();
    if (line.text("delay-weights") != "least") {
      request.weight_delay =
          static_cast<std::uint32_t>(line.integer("delay-weights", 0, kMaxMicrobatches, 0));
    }
  } else if (line.has("delay-weights")) {
    throw InputError({"--delay-weights"}, "backwards are not split, expected --split-backward");
  }
  if (line.has("weight-bytes") && !line.has("activation-bytes")) {
    throw InputError({"--weight-bytes"}, "given alone, expected --activation-bytes as well");
  }
  if (const auto text = line.text("activation-bytes")) {
    request.activation_bytes = parse_bytes("--activation-bytes", *text);
  }
  if (const auto text = line.text("weight-bytes")) {
    request.weight_bytes = parse_bytes("--weight-bytes", *text);
  }
  request.least_memory = line.has("least-memory");
  if (request.least_memory && line.has("schedule")) {
    throw InputError({"--schedule"},
                     "given with --least-memory, which looks at all orders of forwards and "
                     "backwards, expected only one of both");
  }
  request.certify = line.text("certify");
  request.plot = line.has("plot");
  return request;
}

}  // namespace

int run_pipeline(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify pipeline --schedule NAME --stages N --microbatches N [OPTION…]\n"
      "       p2-verify pipeline --least-memory --stages N --microbatches N [OPTION…]\n"
      "Simulates a synchronous pipeline: how long it takes, and how many activations each stage\n"
      "holds at its peak. Or finds the fewest that it can hold.",
      pipeline_flags(), arguments);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const CommonOptions common = line.common();
  PipelineRequest request = pipeline_request(line);
  request.json = common.format == Format::Json;
  if (common.format == Format::Html && !request.least_memory) request.plot = true;
  const PipelineAnswer answer = pipeline(request, options_of(common, err));
  if (const auto file = line.text("plot")) write_file(*file, answer.plot);
  return print_answer(answer, common, out, err);
}

}  // namespace p2
