// However large a certificate is: the check ends within the work limit of docs/certificates.md.
#include <chrono>

#include <doctest/doctest.h>

#include "proofs/certificate/program_certificate.h"
#include "proofs/kernel/cost.h"
#include "proofs/kernel/input.h"
#include "tests/proofs/examples.h"

using namespace p2;
using namespace p2::proofs;

namespace {

using Judged = kernel::Verdict;

/// The verdict, which takes no more than seconds, on a busy machine without optimisation either.
kernel::Result judge(const std::string& claim, const CertificateFiles& files) {
  const auto start = std::chrono::steady_clock::now();
  const kernel::Result result = check_certificate(sealed(claim, files).files);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(100));
  return result;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string list;
  for (std::size_t i = 0; i < times; ++i) list += (i == 0 ? "" : ",") + text;
  return list;
}

constexpr const char* kFour = R"("devices":4,"classes":[[0,1,2,3]],"dialect":"published")";
constexpr const char* kBest =
    R"("steps":[{"collective":"ReduceScatter","groups":[[0,1],[2,3]]},
                {"collective":"AllReduce","groups":[[0,2],[1,3]]},
                {"collective":"AllGather","groups":[[0,1],[2,3]]}])";

/// Where the bounds alone show that AllReduce is the cheapest.
constexpr const char* kNoPotential =
    R"({"states":[],"ratios":[{"alpha":0,"beta":1,"potential":[]},{"alpha":1,"beta":0,"potential":[]}]})";

/// No program costs less than the best one, which is listed some times, with these uplinks.
kernel::Result cheapest(const std::string& uplinks, std::size_t times = 1) {
  const std::string program = std::string("{") + kFour + "," + kBest + "}";
  const auto problem = [&](std::size_t listed) {
    return std::string("{") + kFour + R"(,"uplinks":[)" + uplinks +
           R"(],"among":"all","programs":[)" + repeated(program, listed) + "]}";
  };
  return judge("cheapest",
               {{"problem.json", problem(times)}, {"potential.json", potential_text(problem(1))}});
}

}  // namespace

TEST_CASE("thousands of uplinks count as the slowest of every span") {
  CHECK(cheapest("[2,10]").verdict == Judged::Accepted);
  CHECK(cheapest(repeated("[2,10]", 50'000)).verdict == Judged::Accepted);
  CHECK(cheapest(repeated("[2,10],[2,3],[4,7],[65535,65535]", 5'000)).verdict == Judged::Accepted);
  CHECK(cheapest("[3,10]").reason == "a potential is above step and potential after it");
  CHECK(cheapest(repeated("[2,1]", 5'000) + ",[3,10]").reason ==
        "a potential is above step and potential after it");
}

TEST_CASE("60,000 listed programs of one cost are one") {
  const kernel::Result result = cheapest("", 60'000);
  CHECK_MESSAGE(result.verdict == Judged::Accepted, result.reason);
}

TEST_CASE("programs of an instance with many levels are a part of the work") {
  std::string levels, row;
  for (int i = 0; i < 64; ++i) {
    levels += (i == 0 ? "" : ",") +
              json({{"name", "l" + std::to_string(i)}, {"size", i == 0 ? 2 : 1}}).dump();
    row += i == 0 ? "2" : ",1";
  }
  const std::string system = R"("devices":2,"classes":[[0,1]],"dialect":"published")";
  const std::string program =
      "{" + system + R"(,"hierarchy":[)" + levels +
      R"(],"axes":[{"name":"a","size":2}],"reduce":[0],"placement":[[)" + row +
      R"(]],"synthesis_hierarchy":"b","steps":[{"collective":"AllReduce","groups":[[0,1]]}]})";
  const auto listed = [&](std::size_t times) {
    return judge("cheapest",
                 {{"problem.json", "{" + system + R"(,"uplinks":[],"among":"all","programs":[)" +
                                       repeated(program, times) + "]}"},
                  {"potential.json", kNoPotential}});
  };
  CHECK(listed(1).verdict == Judged::Accepted);
  CHECK(listed(3'000).verdict == Judged::Incomplete);
}

TEST_CASE("a system of too many devices is not built before that is found") {
  std::string all = "0";
  for (int d = 1; d < 200'000; ++d) all += "," + std::to_string(d);
  const std::string system =
      R"("devices":200000,"classes":[[)" + all + R"(]],"dialect":"published")";
  const kernel::Result result = judge(
      "cheapest", {{"problem.json", "{" + system + R"(,"uplinks":[],"among":"all","programs":[]})"},
                   {"potential.json", kNoPotential}});
  CHECK(result.reason == "the devices are too many");
}

TEST_CASE("a price that is too large ends the check, and does not overflow") {
  using kernel::Amount;
  using kernel::Charge;
  using kernel::Ratio;
  const Amount most = Amount{1} << 60U;
  CHECK(Ratio{most, 1}.price({1, most}) == 2 * most);
  for (const auto& [ratio, charge] :
       {std::pair(Ratio{most, 0}, Charge{2, 0}), std::pair(Ratio{0, most}, Charge{0, 2}),
        std::pair(Ratio{1, most}, Charge{1, most}),
        std::pair(Ratio{INT64_MAX, 1}, Charge{INT64_MAX, 1})}) {
    CHECK_THROWS_AS(ratio.price(charge), kernel::CheckFailure);
  }
}

namespace {

/// Without dimensions a box is one element: device 0 sends it `count` times, receives it once, and
/// then sends what it has received `count` times.
kernel::Result plan_without_dimensions(std::size_t count) {
  const std::string many = repeated("[1,1]", count);
  const std::string steps = repeated("[[0,0]]", count);
  return judge(
      "reshard-plan",
      {{"plan.json", R"({"dimensions":0,"has":[[],[]],"needs":[[],[]],"programs":[[[)" + many +
                         ",[0,1]],[" + repeated("[2,1]", count) + "]],[[[1,0],[0,0]]," + steps +
                         "," + repeated("[[0,0]]", count - 1) + "]]}"}});
}

}  // namespace

TEST_CASE("a plan without dimensions is checked within the limit") {
  const kernel::Result few = plan_without_dimensions(300);
  CHECK_MESSAGE(few.verdict == Judged::Accepted, few.reason);
  CHECK(plan_without_dimensions(100'000).verdict == Judged::Incomplete);
  // Steps without operations are passed over again and again.
  const auto idle = [](std::size_t count) {
    return judge(
        "reshard-plan",
        {{"plan.json", R"({"dimensions":0,"has":[[],[]],"needs":[[],[]],"programs":[[[[0,1]],)" +
                           repeated("[]", count) + ",[" + repeated("[2,1]", count) +
                           "]],[[[1,0]]," + repeated("[[0,0]]", count) + "]]}"}});
  };
  CHECK(idle(300).verdict == Judged::Accepted);
}

TEST_CASE("tasks that have nothing to do with each other are compared within the limit") {
  std::string tasks;
  for (std::size_t i = 0; i < 60'000; ++i) {
    const std::string host = std::to_string(i % 1000);
    tasks +=
        (i == 0 ? "" : ",") + (R"({"size":0,"sender_hosts":[)" + host + R"(],"receiver_hosts":[)" +
                               host + R"(],"sender":)" + host + R"(,"start":0})");
  }
  const kernel::Result result =
      judge("reshard-schedule-clauses",
            {{"schedule.json", R"({"tasks":[)" + tasks + R"(],"makespan":0})"},
             {"problem.cnf", "p cnf 0 0\n"},
             {"proof.lrat", ""}});
  CHECK_MESSAGE(result.verdict == Judged::Incomplete, result.reason);
}
