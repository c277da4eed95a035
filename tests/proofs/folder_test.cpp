#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/cli/run.h"
#include "tests/proofs/certificates.h"

using namespace p2;
using namespace p2::proofs;

namespace {

namespace fs = std::filesystem;

const std::string kExamples = std::string(P2_SOURCE_DIR) + "/examples/programs/";
const std::string kValid = kExamples + "valid/figure3a-allreduce.p2";
const std::string kRefused = kExamples + "refused/unfinished.p2";

/// An empty folder that lives as long as this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int count = 0;
    path_ = fs::temp_directory_path() /
            ("p2-folder-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    fs::create_directory(path_);
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string verdict_of(const fs::path& folder) {
  return word(check_folder(folder.string()).verdict);
}

int p2_check(const std::string& arguments) {
  const int status =
      std::system((std::string(P2_CHECK) + " " + arguments + " > /dev/null").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("check --certify writes one certificate per verdict and says where") {
  const TemporaryFolder folder;
  const std::string all = (folder / "all").string();
  const Ran ran = run({"check", kValid, kRefused, "--certify", all, "--format", "json"});
  CHECK(ran.exit == 1);
  const json results = json::parse(ran.out)["results"];
  CHECK(results[0]["certificate"] == all + "/1-figure3a-allreduce");
  CHECK(results[1]["certificate"] == all + "/2-unfinished");
  for (const json& result : results) CHECK(verdict_of(result["certificate"]) == "accepted");
  const std::string one = (folder / "one").string();
  const Ran text = run({"check", kValid, "--certify", one});
  CHECK(text.out.find("certificate: " + one) != std::string::npos);
  CHECK(verdict_of(one) == "accepted");
  CHECK(json::parse(run({"check", kValid, "--format", "json"}).out)["results"][0]["certificate"] ==
        nullptr);
  // Both programs print the same digest of what is claimed.
  const kernel::Result accepted = check_folder(one);
  const std::string digest = accepted.reason.substr(accepted.reason.size() - 12);
  CHECK(text.out.find("certificate: " + one + ", claim " + digest + "\n") != std::string::npos);
  CHECK(results[0]["claim_digest"] == digest);
  CHECK(p2_check(one) == 0);
  std::ofstream(folder / "question.json") << R"({"claim":"program-valid"})";
  const std::string question = " --problem " + (folder / "question.json").string();
  CHECK(p2_check(one + question) == 0);
  CHECK(p2_check(all + "/2-unfinished" + question) == 1);
  CHECK(p2_check(one + " --problem " + (folder / "none.json").string()) == 2);
  CHECK(p2_check(one + " --problem") == 2);
  CHECK(p2_check(one + " " + all + "/2-unfinished --format json") == 0);
}

TEST_CASE("a certificate replaces a certificate and nothing else, and leaves nothing behind") {
  const TemporaryFolder folder;
  const std::string path = (folder / "certificate").string();
  CHECK(run({"check", kValid, "--certify", path}).exit == 0);
  CHECK(run({"check", kRefused, "--certify", path + "/"}).exit == 1);
  CHECK(verdict_of(path) == "accepted");
  CHECK(fs::exists(path + "/refutation.json"));
  std::ofstream(path + "/notes.txt") << "mine";
  const Ran refused = run({"check", kValid, "--certify", path});
  CHECK(refused.exit == 2);
  CHECK(refused.err.find("no certificate") != std::string::npos);
  CHECK(fs::exists(path + "/notes.txt"));
  CHECK(verdict_of(path) == "not-a-certificate");
  // A manifest that names no files is none of a certificate.
  for (const char* files : {"", R"(,"files":7)"}) {
    std::ofstream(path + "/manifest.json") << R"({"schema":"p2-certificate/1")" << files << "}";
    CHECK(run({"check", kValid, "--certify", path}).exit == 2);
  }
  fs::create_directory_symlink(path, folder / "link");
  CHECK(run({"check", kValid, "--certify", (folder / "link").string()}).exit == 2);
  CHECK(run({"check", kValid, "--certify", path + "/notes.txt/below"}).exit == 2);
  fs::create_directory(folder / "empty");
  CHECK(run({"check", kValid, "--certify", (folder / "empty").string()}).exit == 0);
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 3);
}

TEST_CASE("what is no folder of regular files is no certificate") {
  const TemporaryFolder folder;
  CHECK(verdict_of(folder / "missing") == "not-a-certificate");
  CHECK(verdict_of(folder / "") == "not-a-certificate");
  CHECK(verdict_of(kValid) == "not-a-certificate");
  const fs::path path = folder / "certificate";
  const CertificateFiles files = certify("devices 2\nAllReduce{0,1}");
  write_folder(path, files);
  REQUIRE(verdict_of(path) == "accepted");
  fs::rename(path / "problem.json", folder / "elsewhere.json");
  CHECK(verdict_of(path) == "not-a-certificate");
  fs::create_symlink(folder / "elsewhere.json", path / "problem.json");
  CHECK(verdict_of(path) == "not-a-certificate");
  fs::remove(path / "problem.json");
  REQUIRE(::mkfifo((path / "problem.json").c_str(), 0600) == 0);
  CHECK(verdict_of(path) == "not-a-certificate");
  fs::remove(path / "problem.json");
  std::ofstream(path / "problem.json");
  fs::resize_file(path / "problem.json", std::uintmax_t{1} << 36U);  // a hole, not real bytes
  CHECK(verdict_of(path) == "not-a-certificate");
}

TEST_CASE("the exit code of p2-check is that of the worst certificate: 2, 1, 3, 0") {
  const TemporaryFolder folder;
  CertificateFiles files = certify("devices 2\nAllReduce{0,1}");
  write_folder(folder / "accepted", files);
  CertificateFiles rejected = files;
  rejected["derivation.json"] += " ";
  write_folder(folder / "rejected", rejected);
  std::string everyone = "0";
  for (int d = 1; d < 1 << 18; ++d) everyone += "," + std::to_string(d);
  std::string steps = R"({"collective":"AllReduce","groups":[[0]]})";
  for (int i = 0; i < 4000; ++i) steps += R"(,{"collective":"AllReduce","groups":[[0]]})";
  files["problem.json"] = R"({"devices":262144,"classes":[[)" + everyone +
                          R"(]],"dialect":"printed","steps":[)" + steps + "]}";
  reseal("program-valid", files);
  write_folder(folder / "incomplete", files);
  const auto names = [&](const std::string& list) {
    std::string paths;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const char* all[] = {"accepted", "rejected", "missing", "incomplete"};
      paths += (folder / all[list[i] - '0']).string() + " ";
    }
    return p2_check(paths);
  };
  CHECK(names("0") == 0);
  CHECK(names("1") == 1);
  CHECK(names("2") == 2);
  CHECK(names("3") == 3);
  CHECK(names("03") == 3);
  CHECK(names("301") == 1);
  CHECK(names("3120") == 2);
  CHECK(p2_check("--help") == 0);
  CHECK(p2_check("--version") == 0);
  CHECK(p2_check("--format yaml x 2> /dev/null") == 2);
  CHECK(p2_check("2> /dev/null") == 2);
}
