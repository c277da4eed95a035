#include <doctest/doctest.h>

#include "../input/complaint.h"
#include "engine/msccl/algorithm_file.h"
#include "schedules.h"

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

}  // namespace

TEST_CASE("what is read is what was written") {
  for (const Algorithm& algorithm : {ring_allreduce(3), direct_reduce_scatter(4)}) {
    CHECK(to_xml(read_algorithm("f.xml", to_xml(algorithm))) == to_xml(algorithm));
  }
  const Algorithm read = read_algorithm("f.xml", to_xml(ring_allreduce(3)));
  CHECK(describe(read, {0, 0, 1}) == "gpu 0 tb 0 step 1 (rrs, line 6)");
}

TEST_CASE("XML is told from the other formats by its first character") {
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
       "f.xml:10:2: GPU 0 a second time, expected it once"},
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

}  // namespace p2::msccl
