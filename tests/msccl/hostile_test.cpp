#include <chrono>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "../cli/run.h"
#include "../cli/temporary_file.h"
#include "cli/exit_code.h"
#include "engine/msccl/verdict.h"
#include "schedules.h"

namespace p2::msccl {
namespace {

/// How `check` ends, and what it says, for a file with this text.
Ran checked(const std::string& text) {
  const TemporaryFile file(text, ".xml");
  return run({"check", file.path()});
}

void check_refused(const std::string& text) {
  const Ran ran = checked(text);
  CHECK(ran.exit == kBadInput);
  CHECK(ran.out.empty());
  CHECK(ran.err.starts_with("p2-verify: "));
  CHECK(ran.err.find('\n') == ran.err.size() - 1);
  CHECK(ran.err.size() < 1000);
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("entities are not expanded") {
  std::string text = "<!DOCTYPE algo [<!ENTITY a0 \"aaaaaaaaaa\">";
  for (int i = 1; i < 30; ++i) {
    text += fmt::format("<!ENTITY a{} \"{}\">", i, repeated(fmt::format("&a{};", i - 1), 10));
  }
  check_refused(text + "]><algo name=\"&a29;\"/>");
  check_refused("<?xml version=\"1.0\"?>\n<!DOCTYPE algo SYSTEM \"file:///etc/passwd\"><algo/>");
  check_refused("<algo name=\"&none;\"/>");
}

TEST_CASE("depth, width and length are bounded") {
  check_refused(repeated("<algo>", 1000000));
  check_refused(repeated("<", 1000000));
  check_refused("<algo " + std::string(std::size_t{64} << 20, ' '));
  check_refused("<algo name=\"" + std::string(std::size_t{64} << 20, 'x'));
  check_refused("<algo" + repeated(" a=\"1\"", 100000) + "/>");
}

TEST_CASE("numbers are bounded before memory is taken") {
  const std::string xml = to_xml(ring_allreduce(2));
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string text = xml;
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
  };
  check_refused(with("ngpus=\"2\"", "ngpus=\"1000000000\""));
  check_refused(with("ngpus=\"2\"", "ngpus=\"65536\""));  // 65534 of them are missing
  check_refused(with("nchunksperloop=\"2\"", "nchunksperloop=\"1000000000\""));
  check_refused(with("s_chunks=\"0\"", "s_chunks=\"99999999999999999999\""));
  check_refused(with("cnt=\"1\"", "cnt=\"1000000000\""));
  check_refused(with("srcoff=\"0\"", "srcoff=\"-99999999999\""));
  check_refused(with("chan=\"0\"", "chan=\"0x10\""));
}

TEST_CASE("a file that ends anywhere is refused, never judged") {
  const std::string xml = to_xml(direct_reduce_scatter(2));
  for (std::size_t size = 1; size + 2 < xml.size(); size += 37) {
    CAPTURE(size);
    CHECK(checked(xml.substr(0, size)).exit == kBadInput);
  }
}

TEST_CASE("bytes that are no text are refused") {
  check_refused("<algo name=\"\xff\xfe\"/>");
  check_refused(std::string("<algo name=\"\0\"/>", 16));
}

TEST_CASE("limits end every part of the judging in unknown") {
  // Every rank sends to every other, so that all thread blocks of a GPU meet.
  const Algorithm algorithm = direct_reduce_scatter(24);
  CHECK(judge(algorithm, {}).kind == Verdict::Kind::Valid);
  Limits limits;
  limits.memory_bytes = 1 << 16;
  const Verdict little = judge(algorithm, limits);
  CHECK(little.kind == Verdict::Kind::Unknown);
  CHECK(little.open == Question::Races);
  CHECK(little.reason == "A limit was met.");
  Algorithm ring = ring_allreduce(32);  // nothing to race, and as much to add up
  const Verdict less = judge(ring, limits);
  CHECK(less.kind == Verdict::Kind::Unknown);
  CHECK(less.open == Question::Result);
  limits = {};
  limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(judge(algorithm, limits).open == Question::Deadlocks);
}

}  // namespace p2::msccl
