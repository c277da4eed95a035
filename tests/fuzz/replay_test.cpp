#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/file_bytes.h"
#include "tests/fuzz/definition_property.h"
#include "tests/fuzz/hlo_property.h"
#include "tests/fuzz/msccl_property.h"
#include "tests/fuzz/onesided_property.h"
#include "tests/fuzz/program_property.h"
#include "tests/fuzz/records_property.h"
#include "tests/fuzz/system_property.h"

// The fuzzing corpus under an ordinary compiler: what a file once showed stays checked where no
// libFuzzer is. A file whose name starts with `refused` must be bad input, every other one must
// not.

namespace {

namespace fs = std::filesystem;

template <typename Check>
void replay(const std::string& folder, const std::string& extension, Check check) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(P2_SOURCE_DIR) / folder)) {
    const fs::path& path = entry.path();
    if (!extension.empty() && path.extension() != extension) continue;
    const std::string text = p2::bytes_of(path.string());
    CAPTURE(path.string());
    const bool refused = path.filename().string().rfind("refused", 0) == 0;
    CHECK(check(text) != refused);
    ++files;
  }
  CHECK(files > 0);
}

}  // namespace

TEST_CASE("the system corpus keeps the promises of the system parser") {
  replay("tests/fuzz/corpus/system", "", p2::check_system_text);
}

TEST_CASE("the program corpus keeps the promises of the program reader") {
  replay("tests/fuzz/corpus/program", "", p2::check_program_text);
}

TEST_CASE("the definition corpus and the built-in definitions keep the promises of the parser") {
  replay("tests/fuzz/corpus/definition", "", p2::check_definition_text);
  replay("engine/collective", ".p2c", p2::check_definition_text);
}

TEST_CASE("the MSCCL corpus keeps the promises of the XML reader and the judge") {
  replay("tests/fuzz/corpus/msccl", "", p2::check_msccl_text);
}

TEST_CASE("the corpus of modules keeps the promises of their readers and judges") {
  replay("tests/fuzz/corpus/hlo", "", p2::check_module_text);
}

TEST_CASE("the corpus of one-sided plans keeps the promises of their readers and the judge") {
  replay("tests/fuzz/corpus/onesided", "", p2::check_onesided_text);
  replay("examples/onesided", ".plan", p2::check_onesided_text);
}

TEST_CASE("the corpus of records keeps the promises of their readers and judges") {
  replay("tests/fuzz/corpus/records", "", p2::check_record_text);
}
