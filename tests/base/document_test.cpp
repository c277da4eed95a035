#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>

#include "engine/base/document_writers.h"
#include "engine/base/invariant.h"
#include "p2/answer.h"

using namespace p2;

TEST_CASE("a JSON value keeps the order of its members and the spelling of its numbers") {
  Json json;
  json.add("b", 1).add("a", Json::number("0.10")).add("text", "\"\n\xff");
  json.add("list", Json::array({true, nullptr, -3, 2.5}));
  CHECK(json.dump() == "{\"b\":1,\"a\":0.10,\"text\":\"\\\"\\n\xEF\xBF\xBD\",\"list\":[true,null,-3,2.5]}");
  CHECK(nlohmann::json::parse(json.dump())["list"][3] == 2.5);
  REQUIRE(json.find("a") != nullptr);
  CHECK(json.find("c") == nullptr);
  CHECK(Json(18446744073709551615ULL).dump() == "18446744073709551615");
  CHECK(Json(1.0 / 0.0).dump() == "null");
  CHECK_THROWS_AS(Json(1).add("key", 2), InternalError);
  CHECK_THROWS_AS(Json("text").push_back(2), InternalError);
}

TEST_CASE("a JSON document has a line per object of the outer lists") {
  Json json;
  json.add("results", Json::array({Json::object({{"list", Json::array({1, 2})}}), Json::object()}));
  CHECK(json.document() == "{\"results\":[\n{\"list\":[1,2]},\n{}\n]}\n");
}

TEST_CASE("a document is written by one writer per format") {
  Document document{"title <1>", {}, Json::object({{"a", 1}})};
  document.add(Heading{"Heading", 1});
  document.line("A paragraph & more.").line("");
  document.add(Table{{"n", "name"}, {{"1", "a|b"}, {"10", "déjà"}}, 1});
  document.add(Preformatted{"x\n  y\n"});
  document.add(Drawing{"picture", "<svg></svg>"});
  CHECK(write_document(document, DocumentFormat::Text) ==
        "Heading\nA paragraph & more.\n\n n  name\n 1  a|b\n10  déjà\nx\n  y\n");
  CHECK(write_document(document, DocumentFormat::Json) == "{\"a\":1}\n");
  const std::string markdown = write_document(document, DocumentFormat::Markdown);
  CHECK(markdown == "# Heading\n\nA paragraph & more.\n\n| n | name |\n| ---: | --- |\n| 1 | a\\|b |\n"
                    "| 10 | déjà |\n\n```\nx\n  y\n```\n\n");
  const std::string html = write_document(document, DocumentFormat::Html);
  CHECK(html.find("<title>title &lt;1&gt;</title>") != std::string::npos);
  CHECK(html.find("<p>A paragraph &amp; more.</p>") != std::string::npos);
  CHECK(html.find("<td class=\"number\">10</td><td>déjà</td>") != std::string::npos);
  CHECK(html.find("<figure><div role=\"img\" aria-label=\"picture\"><svg></svg></div>") != std::string::npos);
  CHECK(html.find("src=") == std::string::npos);
}

TEST_CASE("no text of a document ends a line, steers a terminal or turns its direction") {
  CHECK(printable("a: b/c-d_α…\\") == "a: b/c-d_α…\\");
  CHECK(printable("x\nvalid\r\t\x1b[2K") == "x\\u{a}valid\\u{d}\\u{9}\\u{1b}[2K");
  CHECK(printable(std::string("\0\x7f", 2)) == "\\u{0}\\u{7f}");
  CHECK(printable("\xc2\x85\xc2\x9b\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf") ==
        "\\u{85}\\u{9b}\\u{2028}\\u{202e}\\u{2066}\\u{feff}");
  // No UTF-8: alone, cut off, longer than needed, a surrogate's escape is that of its character.
  CHECK(printable("\xff\x80 \xe2\x80") == "\\xff\\x80 \\xe2\\x80");
  CHECK(printable("\xc0\x8a\xe0\x80\x8a") == "\\xc0\\x8a\\xe0\\x80\\x8a");
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable(printable("x\n\xff")) == printable("x\n\xff"));
  CHECK(printable_lines("a\n\tb\r\x1b") == "a\n\tb\\u{d}\\u{1b}");
  Document document;
  document.add(Heading{"x\nvalid", 1}).line("y\rvalid").add(Preformatted{"z\n\x1bvalid\n"});
  document.add(Table{{}, {{"1", "t\nvalid"}}, 1});
  CHECK(write_document(document, DocumentFormat::Text) ==
        "x\\u{a}valid\ny\\u{d}valid\nz\n\\u{1b}valid\n1  t\\u{a}valid\n");
  CHECK(write_document(document, DocumentFormat::Markdown).find("# x\\u{a}valid\n") == 0);
}

TEST_CASE("rows of different lengths are a broken invariant, which the caller can catch") {
  CHECK_THROWS_AS(table_text({{"a"}, {"b", "c"}}, 0), InternalError);
  CHECK_THROWS_AS(invariant(false, "broken"), Error);
}

TEST_CASE("engines disagree if two that decided differ in outcome, step or rule") {
  const EngineAnswer valid{"explicit", Outcome::Established};
  const EngineAnswer unknown{"z3", Outcome::Undecided, 2, {}};
  const EngineAnswer refuted{"cnf", Outcome::Refuted, 1, "disjoint"};
  EngineAnswer elsewhere = refuted;
  elsewhere.step = 2;
  CHECK_FALSE(disagree({}));
  CHECK_FALSE(disagree({valid, unknown, valid}));
  CHECK_FALSE(disagree({unknown, refuted, refuted}));
  CHECK(disagree({valid, unknown, refuted}));
  CHECK(disagree({refuted, elsewhere}));
}

TEST_CASE("the worst outcome: disagreement, refuted, undecided, established") {
  CHECK(worst(Outcome::Established, Outcome::Undecided) == Outcome::Undecided);
  CHECK(worst(Outcome::Refuted, Outcome::Undecided) == Outcome::Refuted);
  CHECK(worst(Outcome::Refuted, Outcome::Disagreement) == Outcome::Disagreement);
  CHECK(worst(Outcome::Established, Outcome::Established) == Outcome::Established);
}

TEST_CASE("limits: each one reached is a LimitReached of its kind") {
  const auto kind_of = [](const Limits& limits) {
    try {
      limits.require(100, "test");
    } catch (const LimitReached& reached) {
      return static_cast<int>(reached.kind());
    }
    return -1;
  };
  CHECK(kind_of({}) == -1);
  Limits late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(kind_of(late) ==
        static_cast<int>(LimitReached::Kind::Time));
  Limits memory;
  memory.memory_bytes = 99;
  CHECK(kind_of(memory) == static_cast<int>(LimitReached::Kind::Memory));
  std::atomic<bool> flag = false;
  Limits cancellable;
  cancellable.cancelled = &flag;
  CHECK(kind_of(cancellable) == -1);
  flag = true;
  CHECK(kind_of(cancellable) == static_cast<int>(LimitReached::Kind::Cancelled));
  CHECK(cancellable.exceeded(0));
}
