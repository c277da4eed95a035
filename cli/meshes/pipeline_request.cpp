#include "cli/meshes/pipeline_request.h"

#include <fmt/format.h>

#include "cli/byte_size.h"
#include "p2/error.h"
#include "engine/base/text_cursor.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kMostStages = 1024;
constexpr std::uint64_t kMostMicrobatches = 65536;
constexpr std::uint64_t kMostWork = 4'000'000;         // pieces of work of all stages
constexpr std::uint64_t kMostTriedWork = 100'000;      // where many delays are tried
constexpr std::uint64_t kLongestTime = 1'000'000'000;  // so that no sum of times overflows
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;

std::uint32_t required(const CommandLine& line, const std::string& flag, std::uint64_t most) {
  if (!line.has(flag)) {
    throw InputError({"command line"}, fmt::format("no --{}, expected how many there are", flag));
  }
  return static_cast<std::uint32_t>(line.integer(flag, 1, most, 1));
}

PipelineSize read_size(const CommandLine& line) {
  const PipelineSize size{required(line, "stages", kMostStages),
                          required(line, "microbatches", kMostMicrobatches)};
  if (std::uint64_t{2} * size.stages * size.microbatches > kMostWork) {
    throw InputError({"--microbatches"},
                     fmt::format("{} on {} stages are too many, expected at most {} forwards and "
                                 "backwards of all stages together",
                                 size.microbatches, size.stages, kMostWork));
  }
  return size;
}

/// `A,W`.
void read_split(const CommandLine& line, PipelineTimes& times) {
  if (line.has("backward")) {
    throw InputError({"--split-backward"}, "given with --backward, expected only one of both");
  }
  const std::string text = *line.text("split-backward");
  TextCursor cursor("--split-backward", text);
  times.backward = static_cast<std::int64_t>(cursor.integer("a whole number", 1, kLongestTime));
  cursor.expect(",", "the times of both gradients");
  times.weight = static_cast<std::int64_t>(cursor.integer("a whole number", 1, kLongestTime));
  expect_end(cursor, "the two numbers");
}

std::uint32_t read_delay(const CommandLine& line, const PipelineQuestion& question) {
  const PipelineSize size = question.size;
  if (line.text("delay-weights") != "least") {
    return static_cast<std::uint32_t>(line.integer("delay-weights", 0, kMostMicrobatches, 0));
  }
  if (std::uint64_t{size.stages} * size.microbatches * size.microbatches > kMostTriedWork) {
    throw InputError({"--delay-weights"},
                     "too many stages and microbatches to try all delays, expected a number");
  }
  return least_delay(question.schedule, size, question.times, question.link);
}

void read_memory(const CommandLine& line, PipelineQuestion& question) {
  if (line.has("weight-bytes") && !line.has("activation-bytes")) {
    throw InputError({"--weight-bytes"}, "given alone, expected --activation-bytes as well");
  }
  if (!line.has("activation-bytes")) return;
  question.activation_bytes = parse_bytes("--activation-bytes", *line.text("activation-bytes"));
  if (*question.activation_bytes > kMostBytes / question.size.microbatches) {
    throw InputError({"--activation-bytes"}, "all microbatches together are beyond 2^60 bytes");
  }
  if (const auto text = line.text("weight-bytes")) {
    question.weight_bytes = parse_bytes("--weight-bytes", *text);
  }
}

void check_least_memory(const CommandLine& line, const PipelineQuestion& question) {
  for (const char* flag : {"schedule", "split-backward", "plot"}) {
    if (line.has(flag)) {
      throw InputError({std::string("--") + flag},
                       "given with --least-memory, which looks at all orders of forwards and "
                       "backwards, expected only one of both");
    }
  }
  if (question.link != PipelineLink::Delay) {
    throw InputError({"--link"}, "given with --least-memory, expected delay");
  }
}

}  // namespace

po::options_description pipeline_flags() {
  po::options_description flags("Pipeline");
  flags.add_options()  //
      ("schedule", po::value<std::string>()->value_name("NAME"),
       "gpipe, 1f1b (default) or eager-1f1b")  //
      ("stages", po::value<std::string>()->value_name("N"),
       "how many stages, one mesh each")  //
      ("microbatches", po::value<std::string>()->value_name("M"),
       "how many go through the pipeline")  //
      ("forward", po::value<std::string>()->value_name("F"),
       "time of one microbatch forward on one stage, a whole number (default 1)")  //
      ("backward", po::value<std::string>()->value_name("B"),
       "the same backward (default 2)")  //
      ("split-backward", po::value<std::string>()->value_name("A,W"),
       "instead: time of the gradient of activations, which the stage before waits for, and of "
       "that of weights")  //
      ("delay-weights", po::value<std::string>()->value_name("N"),
       "with --split-backward: gradients of weights come N backwards later (default 0); least: as "
       "few as make the pipeline the fastest")  //
      ("latency", po::value<std::string>()->value_name("C"),
       "time to send from a stage to its neighbour (default 0)")  //
      ("link", po::value<std::string>()->value_name("MODEL"),
       "delay (default), link (one transfer at a time) or blocking (the sender waits)")  //
      ("activation-bytes", po::value<std::string>()->value_name("SIZE"),
       "what a stage holds of one microbatch: 4096, 48M, 2G; prints memory")  //
      ("weight-bytes", po::value<std::string>()->value_name("SIZE"),
       "what a stage holds besides: weights, gradients, states of the optimizer")  //
      ("least-memory",
       "search all orders for the fewest activations with which transfers are hidden as well as "
       "can be")  //
      ("certify", po::value<std::string>()->value_name("DIR"),
       "with --least-memory: write a certificate for p2-check that no stage can hold fewer")  //
      ("plot", po::value<std::string>()->value_name("FILE"), "draw the timeline as SVG");
  return flags;
}

PipelineQuestion pipeline_question(const CommandLine& line) {
  PipelineQuestion question;
  question.schedule =
      line.choice<PipelineSchedule>("schedule", {{"1f1b", PipelineSchedule::OneForwardOneBackward},
                                                 {"eager-1f1b", PipelineSchedule::Eager},
                                                 {"gpipe", PipelineSchedule::GPipe}});
  question.size = read_size(line);
  const auto time = [&](const char* flag, std::uint64_t low, std::uint64_t otherwise) {
    return static_cast<std::int64_t>(line.integer(flag, low, kLongestTime, otherwise));
  };
  question.times = {time("forward", 1, 1), time("backward", 1, 2), time("latency", 0, 0)};
  question.link = line.choice<PipelineLink>("link", {{"delay", PipelineLink::Delay},
                                                     {"link", PipelineLink::Link},
                                                     {"blocking", PipelineLink::Blocking}});
  question.split = line.has("split-backward");
  if (question.split) {
    read_split(line, question.times);
    question.delay = read_delay(line, question);
  } else if (line.has("delay-weights")) {
    throw InputError({"--delay-weights"}, "backwards are not split, expected --split-backward");
  }
  read_memory(line, question);
  question.least_memory = line.has("least-memory");
  question.certify = line.text("certify");
  if (question.least_memory) {
    check_least_memory(line, question);
  } else if (question.certify) {
    throw InputError({"--certify"}, "nothing to certify, expected --least-memory");
  }
  return question;
}

}  // namespace p2
