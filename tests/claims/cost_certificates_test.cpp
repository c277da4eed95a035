#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;

TEST_CASE("what is said of costs has certificates, of any length, on up to six devices") {
  std::size_t others = 0;  // certificates
  const auto reasons = [&](const std::vector<std::string>& arguments) {
    const TemporaryFile place("", ".certificates");
    std::filesystem::remove(place.path());
    std::vector<std::string> words = {"prove"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), {"--certify", place.path(), "--format", "json"});
    std::vector<std::string> said;
    const auto results = nlohmann::json::parse(run(words).out);
    for (const auto& result : results["results"]) {
      CHECK(result["evidence"] == "cheapest");
      said.push_back(check_folder(result["certificate"].get<std::string>()).reason);
    }
    others = 0;
    for (const auto& folder : std::filesystem::directory_iterator(place.path())) {
      CHECK(check_folder(folder.path().string()).verdict == kernel::Verdict::Accepted);
      ++others;
    }
    others -= said.size();
    std::filesystem::remove_all(place.path());
    return said;
  };
  const std::string over = "no program over any disjoint groups costs less than the listed ones, ";
  using Reasons = std::vector<std::string>;
  CHECK(reasons({"beyond-dsl", "--hierarchy", "5", "--axes", "5", "--reduce", "0"}) ==
        Reasons{over + "all (5 devices, dialect published)"});
  CHECK(others == 6);  // one for each hierarchy of five devices
  CHECK(reasons({"beyond-dsl", "beyond-dsl-two-level", "--hierarchy", "2,3", "--axes", "6",
                 "--reduce", "0", "--dialect", "printed", "--size", "32"}) ==
        Reasons(2, over + "hierarchies (6 devices, dialect printed)"));
  CHECK(reasons({"lattice-gain-two-level", "--hierarchy", "2,4", "--axes", "8", "--reduce", "0",
                 "--size", "32"}) ==
        Reasons{"no program over lattice costs less than the listed ones, hierarchies (8 devices, "
                "dialect published)"});
}
