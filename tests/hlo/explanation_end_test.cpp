// Wrong modules that are too large to be executed, and with positions, so that blocks of indices do
// not stand for them: where the relation ends, and what would let it go on.

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

/// Two layers with a residual connection, of inputs to which positions are added.
std::string before() {
  return before_text(R"(
  x = f32[4194304,64] parameter(0), sharding={mesh['data'=2,'model'=4], [{}, {}]}
  w1 = f32[64,256] parameter(1), sharding={mesh['data'=2,'model'=4], [{}, {'model'}]}
  w2 = f32[256,64] parameter(2), sharding={mesh['data'=2,'model'=4], [{'model'}, {}]}
  i = f32[4194304,64] iota(), iota_dimension=0
  s = f32[4194304,64] sine(i)
  c = f32[4194304,64] add(x, s)
  h = f32[4194304,256] dot(c, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[4194304,256] tanh(h)
  y = f32[4194304,64] dot(a, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[4194304,64] add(y, c), sharding={mesh['data'=2,'model'=4], [{}, {}]}
)");
}

std::string after() {
  return after_text(R"(
  x = f32[4194304,64] parameter(0)
  w1 = f32[64,64] parameter(1)
  w2 = f32[64,64] parameter(2)
  i = f32[4194304,64] iota(), iota_dimension=0
  s = f32[4194304,64] sine(i)
  c = f32[4194304,64] add(x, s)
  h = f32[4194304,64] dot(c, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[4194304,64] tanh(h)
  p = f32[4194304,64] dot(a, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[4194304,64] all-reduce(p), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, use_global_device_ids=true, to_apply=add
  ROOT r = f32[4194304,64] add(y, c)
)",
                    8);
}

constexpr const char* kReduce =
    "all-reduce(p), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, "
    "use_global_device_ids=true, to_apply=add";

struct Answer {
  std::string text;
  nlohmann::json result;
};

Answer answer_of(const std::string& changed) {
  const TemporaryFile first(before(), ".hlo");
  const TemporaryFile file(changed, ".hlo");
  const std::vector<std::string> asked = {"check", "--before", first.path(), "--after",
                                          file.path()};
  std::vector<std::string> with_json = asked;
  with_json.insert(with_json.end(), {"--format", "json"});
  const std::string json = run(with_json).out;
  CAPTURE(json);
  return {run(asked).out, nlohmann::json::parse(json).at("results").at(0)};
}

}  // namespace

TEST_CASE("the collective is named that a large module lacks") {
  CHECK(answer_of(after()).result.at("verdict") == "valid");
  const Answer answer = answer_of(replaced(after(), kReduce, "copy(p)"));
  CHECK(answer.result.at("verdict") != "valid");
  const auto& explanation = answer.result.at("explanation");
  CHECK(explanation.at("instruction") == "r");
  CHECK(explanation.at("operands").at(0).at("held") == "add");
  CHECK(explanation.at("operands").at(0).at("tensor").at("instruction") == "y");
  CHECK(explanation.at("operands").at(1).at("held") == "whole");
  CHECK(explanation.at("repair").at("text") == "an all-reduce (add) over axis model after p");
  CHECK(explanation.at("repair").at("groups") == nlohmann::json{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(answer.text.find("An all-reduce (add) over axis model after p (line ") !=
        std::string::npos);
  CHECK(answer.text.find("is missing: with it, the modules are equal.") != std::string::npos);
}

TEST_CASE("a collective of a large module that is too much, or over other groups, is named") {
  const auto repair_of = [](const std::string& changed) {
    const auto result = answer_of(changed).result;
    CHECK(result.at("verdict") != "valid");
    return result.at("explanation").at("repair").at("text").get<std::string>();
  };
  CHECK(repair_of(replaced(
            replaced(after(), kReduce,
                     std::string(kReduce) + "\n  z = f32[4194304,64] all-reduce(y), channel_id=2, "
                                            "replica_groups={{0,4},{1,5},{2,6},{3,7}}, "
                                            "use_global_device_ids=true, to_apply=add"),
            "add(y, c)", "add(z, c)")) == "all-reduce without z");
  CHECK(repair_of(replaced(after(), "{{0,1,2,3},{4,5,6,7}}", "{{0,4},{1,5},{2,6},{3,7}}")) ==
        "axis model as the groups of y");
}

TEST_CASE("so it is where both modules are partitioned") {
  const TemporaryFile first(after(), ".hlo");
  const TemporaryFile file(replaced(after(), kReduce, "copy(p)"), ".hlo");
  const Ran ran = run({"check", "--before", first.path(), "--after", file.path()});
  CHECK(ran.exit == kRefuted);
  CHECK(ran.out.find("An all-reduce (add) over {0,1,2,3} {4,5,6,7} after p (line ") !=
        std::string::npos);
}

TEST_CASE("a large module that is wrong otherwise has no repair, but a place where it is") {
  const auto result = answer_of(replaced(after(), "tanh(h)", "cosine(h)")).result;
  CHECK(result.at("verdict") != "valid");
  CHECK(result.at("explanation").at("repair") == nullptr);
}

}  // namespace p2::hlo
