#include <chrono>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cli/command.h"
#include "engine/msccl/algorithm.h"
#include "engine/msccl/verdict.h"
#include "tests/base/complaint.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/msccl/schedules.h"

namespace p2::msccl {
namespace {

std::string complaint_about(const std::string& xml) {
  return complaint([&] { read_algorithm("f.xml", xml); });
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

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

TEST_CASE("what is read is what was written") {
  for (const Algorithm& algorithm : {ring_allreduce(3), direct_reduce_scatter(4)}) {
    CHECK(to_xml(read_algorithm("f.xml", to_xml(algorithm))) == to_xml(algorithm));
  }
  const Algorithm read = read_algorithm("f.xml", to_xml(ring_allreduce(3)));
  CHECK(describe(read, {0, 0, 1}) == "gpu 0 tb 0 step 1 (rrs, line 6)");
}

TEST_CASE("XML is recognized by its first character") {
  CHECK(is_xml("\n\xEF\xBB\xBF") == false);
  CHECK(is_xml("\xEF\xBB\xBF <algo/>"));
  CHECK(is_xml("\n  <algo/>"));
  CHECK(!is_xml("{\"devices\": 2}"));
  CHECK(!is_xml("# <algo>\ndevices 2"));
  CHECK(!is_xml(""));
}

TEST_CASE("mistakes are named with line and column") {
  const std::string xml = to_xml(ring_allreduce(2));
  const struct {
    std::string text, complaint;
  } cases[] = {
      {"<algo", "f.xml:1:1: unclosed token, expected well-formed XML"},
      {"<html/>", "f.xml:1:1: <html>, expected <algo>"},
      {"<!DOCTYPE a [<!ENTITY e \"x\">]><algo/>",
       "f.xml:1:1: a document type declaration, expected <algo …>"},
      {"<algo/>", "f.xml:1:1: <algo> without coll, expected coll=\"…\""},
      {replaced(xml, "proto=\"Simple\"", "proto=\"LL64\""),
       "f.xml:2:1: proto=\"LL64\", expected LL, LL128 or Simple"},
      {replaced(xml, "ngpus=\"2\"", "ngpus=\"3\""),
       "f.xml:2:1: no <gpu id=\"2\">, expected one for each of 3 GPUs"},
      {replaced(xml, "<gpu id=\"1\"", "<gpu id=\"0\""),
       "f.xml:10:2: duplicate GPU 0, expected it once"},
      {replaced(xml, "type=\"rrcs\"", "type=\"rrsc\""),
       "f.xml:6:4: type=\"rrsc\", expected s, r, rcs, rrc, rrcs, rrs, cpy, re, nop or ra"},
      {replaced(xml, "cnt=\"1\"", "cnt=\"0\""),
       "f.xml:5:4: cnt=\"0\" of <step>, expected a whole number from 1 to 65536"},
      {replaced(xml, "srcbuf=\"i\"", "srcbuf=\"x\""),
       "f.xml:5:4: srcbuf=\"x\", expected i, o or s"},
      {replaced(xml, "step s=\"1\"", "step s=\"0\""),
       "f.xml:6:4: step 0 after step 0, expected numbers that increase"},
      {replaced(xml, "send=\"1\"", "send=\"2\""),
       "f.xml:4:3: send=\"2\" of <tb>, expected a whole number from -1 to 1"},
      {replaced(xml, "inplace=\"1\" outofplace=\"1\"", "inplace=\"0\" outofplace=\"0\""),
       "f.xml:2:1: inplace=\"0\" and outofplace=\"0\", expected one of them to be 1"},
  };
  for (const auto& each : cases) CHECK(complaint_about(each.text) == each.complaint);
}

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
  CHECK(judge(algorithm, {}).outcome == Outcome::Established);
  Limits limits;
  limits.memory_bytes = 1 << 16;
  const AlgorithmDecision little = judge(algorithm, limits);
  CHECK(little.outcome == Outcome::Undecided);
  CHECK(little.reason == "A limit was met.");
  limits = {};
  limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(judge(algorithm, limits).open == Property::Deadlocks);
}

}  // namespace p2::msccl
