// Pages: --format html of every command, without a browser.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;

namespace {

const std::string kPageExamples = std::string(P2_SOURCE_DIR) + "/examples/";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string without(std::string text, const std::string& begin, const std::string& end) {
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin)) {
    text.erase(at, text.find(end, at + begin.size()) + end.size() - at);
  }
  return text;
}

/// The first place where elements do not close in the order in which they were opened, or a
/// character stands for itself that may not; empty if there is none.
std::string not_well_formed(const std::string& page) {
  const std::vector<std::string> no_end = {"meta", "input", "!doctype"};
  const std::string text = without(page, "<script>", "</script>");
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = text.find_first_of("<&", at)) != std::string::npos) {
    const std::string here = text.substr(at, 60);
    if (text[at] == '&') {
      if (text.find(';', at) > at + 8) return "bare &: " + here;
      ++at;
      continue;
    }
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return "no end: " + here;
    const std::string tag = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.empty() || has(tag, "<")) return "no element: " + here;
    const std::string name = tag.substr(0, tag.find_first_of(" /\n", tag[0] == '/' ? 1 : 0));
    if (name[0] == '/') {
      if (open.empty() || "/" + open.back() != name) return "does not close: " + here;
      open.pop_back();
    } else if (tag.back() != '/' && std::ranges::count(no_end, name) == 0) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "open: " + open.back();
}

/// What every page has to be.
void check_page(const std::string& page) {
  CHECK(page.starts_with("<!doctype html>\n<html lang=\"en\">"));
  CHECK(not_well_formed(page) == "");
  // Nothing is loaded; the one address is the name of SVG's namespace.
  const std::string text = without(page, "xmlns=\"", "\"");
  for (const char* const part : {"src=", "http:", "https:", "@import", "url(", "<link", "<base"}) {
    CHECK_MESSAGE(!has(text, part), std::string(part));
  }
  CHECK(has(page, "default-src 'none'"));
  CHECK(has(page, "prefers-color-scheme:dark"));
  CHECK(has(page, "@media print"));
  CHECK(count(page, "<h1>") == 1);
  CHECK(!has(page, "nan\""));
}

}  // namespace

TEST_CASE("every command that answers a question writes a page of its own") {
  const std::string figure = kPageExamples + "programs/valid/figure3b-allreduce-allreduce.p2";
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"place", "--hierarchy", "node=2,gpu=4", "--axes", "data=4,shard=2"}, "Placement [[1 4] [2 1]]"},
      {{"synth", "--hierarchy", "2,4", "--axes", "8", "--reduce", "0", "--size", "2"}, "AllReduce(root"},
      {{"check", figure}, "is valid."},
      {{"define", kPageExamples + "collectives/sound/gather.p2c", "--max-group", "2"}, "satisfiable"},
      {{"cost", "--system", kSystems + "a100-2nodes.json", "--axes", "8,4", "--reduce", "0", "--top", "3"},
       "The fastest program on the hardware"},
      {{"prove", "lemma-b1", "--max-devices", "4"}, "holds everywhere up to 4 devices"},
      {{"run", figure, "--iterations", "1"}, "wrong"},
      {{"pipeline", "--schedule", "1f1b", "--stages", "2", "--microbatches", "3"}, "makespan"},
      {{"reshard", "--shape", "16,16", "--from", "2x2:S0,R", "--to", "2x2:R,S0"},
       "The tensor before and after"},
      {{"parallelize", kPageExamples + "strategy/mlp.json"}, "optimal"}};
  for (const auto& [words, part] : commands) {
    CAPTURE(words[0]);
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--format", "html"});
    const Ran ran = run(all);
    CHECK_MESSAGE(ran.exit == 0, ran.err);
    check_page(ran.out);
    CHECK(has(ran.out, part));
    CHECK(has(ran.out, "<h1>p2-verify " + words[0] + "</h1>"));
  }
}

TEST_CASE("a page of many files has a row and a section for each, with verdict, rule and lines") {
  const Ran ran = run({"check", kPageExamples + "programs/refused/*.p2", kPageExamples + "msccl/**/*.xml",
                       kPageExamples + "onesided/refused/*.plan", kPageExamples + "hlo/all-reduce.hlo",
                       "--format", "html"});
  CHECK(ran.exit == 1);
  check_page(ran.out);
  const std::size_t files = count(ran.out, "<tr data-verdict=");
  CHECK(files == 12);
  CHECK(count(ran.out, "<details id=\"file-") == files);
  CHECK(count(ran.out, "<tr data-verdict=\"invalid\"") == 9);
  CHECK(count(ran.out, "<tr data-verdict=\"valid\"") == 3);
  CHECK(has(ran.out, "12 files: 3 valid, 9 invalid."));
  // Every rule that is named leads to what it means.
  CHECK(has(ran.out, "<a href=\"#rule-msccl-data-race\">data-race</a>"));
  CHECK(has(ran.out, "<dt id=\"rule-msccl-data-race\">"));
  CHECK(has(ran.out, "<dt id=\"rule-program-disjoint\">"));
  // The line at fault, and the others that have part in it.
  CHECK(has(ran.out, "<span class=\"fault\"><b>20</b>      &lt;step s=&quot;1&quot; type=&quot;re&quot;"));
  CHECK(has(ran.out, "<span class=\"other\"><b>16</b>"));
  CHECK(count(ran.out, "What the devices hold after every step") >= 4);
  CHECK(count(ran.out, "A schedule that shows the fault") >= 4);
}

TEST_CASE("what users write never becomes markup") {
  const std::string hostile = "<img src=x onerror=alert(1)>&\"'</script><script>";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("p2-page-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  // The name of a file, an unreadable one and a refused one with the same in its text.
  const std::string name = (folder / "<b onclick=x>&'.p2").string();
  std::ofstream(name) << "hierarchy node=2\naxes data=2\nreduce data\n# " << hostile
                      << "\nReduce(root, InsideGroup)  # " << hostile << "\n";
  const std::string unread = (folder / "<i>.p2").string();
  std::ofstream(unread) << hostile;
  const std::string xml = (folder / "<u>.xml").string();
  std::ofstream(xml) << "<algo name=\"&lt;img src=x&gt;\" coll=\"&lt;s&gt;\"/>";
  const Ran ran = run({"check", name, unread, xml, "--format", "html"});
  std::filesystem::remove_all(folder);
  CHECK(ran.exit == 2);
  CHECK(not_well_formed(ran.out) == "");
  for (const char* const part : {"<img", "<b onclick", "<i>", "<u>", "<s>"}) {
    CHECK_MESSAGE(!has(ran.out, part), std::string(part));
  }
  CHECK(count(ran.out, "<script>") == 1);
  CHECK(count(ran.out, "</script>") == 1);
  CHECK(has(ran.out, "&lt;b onclick=x&gt;&amp;'.p2"));
  CHECK(has(ran.out, "# &lt;img src=x onerror=alert(1)&gt;&amp;&quot;'&lt;/script&gt;"));
}

TEST_CASE("the same question gives the same page") {
  const std::vector<std::string> words = {"check", kPageExamples + "programs/refused/*.p2", "--format",
                                          "html"};
  CHECK(run(words).out == run(words).out);
}

TEST_CASE("colours are for terminals, or where they are asked for; the words stay") {
  const std::string valid = kPageExamples + "programs/valid/figure3a-allreduce.p2";
  const std::string wrong = kPageExamples + "programs/refused/unfinished.p2";
  const Ran plain = run({"check", valid, wrong});
  CHECK(!has(plain.out, "\x1b"));
  CHECK(run({"check", valid, wrong, "--color", "never"}).out == plain.out);
  const Ran colours = run({"check", valid, wrong, "--color", "always"});
  CHECK(has(colours.out, ": \x1b[32mvalid\x1b[0m ("));
  CHECK(has(colours.out, ": \x1b[1;31minvalid\x1b[0m ("));
  std::string words = colours.out;
  for (const std::string code : {"\x1b[32m", "\x1b[1;31m", "\x1b[0m", "\x1b[1m", "\x1b[33m"}) {
    for (std::size_t at = words.find(code); at != std::string::npos; at = words.find(code)) {
      words.erase(at, code.size());
    }
  }
  CHECK(words == plain.out);
  CHECK(!has(run({"check", valid, "--color", "always", "--format", "json"}).out, "\x1b"));
}

TEST_CASE("--quiet says nothing but what is wrong with the question") {
  const Ran wrong = run({"check", kPageExamples + "programs/refused/unfinished.p2", "--quiet"});
  CHECK(wrong.exit == 1);
  CHECK(wrong.out.empty());
  CHECK(wrong.err.empty());
  const Ran unread = run({"check", "no-such-file.p2", "--quiet"});
  CHECK(unread.exit == 2);
  CHECK(has(unread.err, "no-such-file.p2"));
  // What is asked for as a file or as data is written.
  CHECK(has(run({"check", kPageExamples + "programs/refused/unfinished.p2", "--quiet", "--format", "json"}).out,
            "\"invalid\""));
}

TEST_CASE("of modules that differ a page has the collectives and the line that returns the outputs") {
  const Ran ran = run({"check", "--before", kPageExamples + "hlo/all-reduce.hlo", "--after",
                       kPageExamples + "hlo/refused/crossed-hosts.hlo", "--format", "html"});
  CHECK(ran.exit == 1);
  check_page(ran.out);
  CHECK(count(ran.out, "<span class=\"fault\">") == 1);
  CHECK(has(ran.out, "<span class=\"other\">"));
}
