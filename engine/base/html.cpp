#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "engine/base/document_writers.h"
#include "p2/answer.h"
#include "p2/version.h"

namespace p2 {
namespace {

using Status = Property::Status;

/// Nothing is loaded from anywhere, whatever the page says.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

// Colours of Okabe and Ito, darker where they are text on a light ground.
constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1b1b;--soft:#5c5c5c;--rule:#cfcfcf;--panel:#f4f4f4;
--valid:#00694d;--invalid:#a83e00;--unknown:#7a4b00;--mark:#ffe9b8;--link:#005a9c}
@media (prefers-color-scheme:dark){:root{--ground:#141414;--ink:#ececec;--soft:#ababab;--rule:#4a4a4a;
--panel:#222;--valid:#3fd1a4;--invalid:#ff9a57;--unknown:#f0b73a;--mark:#5a4300;--link:#7cc4f5}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:72em;
margin:0 auto;padding:1.5em 1em 4em}
h1{font-size:1.4em}h2{font-size:1.15em;margin-top:2em}h3{font-size:1em}a{color:var(--link)}
.verdict{border-left:.5em solid var(--soft);padding:.6em 1em;margin:1em 0;background:var(--panel);
font-size:1.1em;overflow-wrap:anywhere}
.valid{color:var(--valid)}.invalid,.disagreement,.not-judged{color:var(--invalid)}.unknown{color:var(--unknown)}
.verdict.valid{border-color:var(--valid)}.verdict.invalid,.verdict.disagreement,.verdict.not-judged
{border-color:var(--invalid)}.verdict.unknown{border-color:var(--unknown)}.verdict p{margin:.2em 0;color:var(--ink)}
.word{font-weight:700;white-space:nowrap}
details pre{white-space:pre-wrap;overflow-wrap:anywhere}pre,.listing{background:var(--panel);padding:.8em 1em;overflow-x:auto;font:13px/1.45 ui-monospace,monospace}
.listing{padding:.4em 0;display:block;white-space:pre;tab-size:4}.listing span{display:block;padding:0 1em}
.listing .fault{background:var(--mark);font-weight:700}.listing .other{background:var(--mark)}
.listing b{display:inline-block;width:6ch;color:var(--soft);font-weight:400;text-align:right;margin-right:1.5ch}
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:1em 0;font-variant-numeric:tabular-nums}
th,td{border-bottom:1px solid var(--rule);padding:.25em .7em;text-align:left;vertical-align:top}
td{overflow-wrap:anywhere}th{white-space:nowrap}td.number,th.number{text-align:right;white-space:nowrap}
th button{font:inherit;font-weight:700;color:inherit;background:none;border:0;padding:0;cursor:pointer}
th button::after{content:" ↕";color:var(--soft)}th[aria-sort=ascending] button::after{content:" ↑"}
th[aria-sort=descending] button::after{content:" ↓"}
.filter{display:flex;flex-wrap:wrap;gap:.4em 1.2em;align-items:center;margin:1em 0}.filter[hidden]{display:none}
.filter input[type=search]{font:inherit;padding:.2em .5em;width:20em;max-width:100%}
details{border-top:1px solid var(--rule);content-visibility:auto;contain-intrinsic-size:auto 2.2em}
summary{cursor:pointer;padding:.4em 0;overflow-wrap:anywhere}
figure{margin:1em 0}figure svg{max-width:100%;height:auto}figcaption{color:var(--soft)}
figure svg text:not([fill]){fill:var(--ink)}figure svg [fill="white"],figure svg [fill="#ffffff"]{fill:var(--ground)}
figure svg [stroke="#333333"],figure svg [stroke="#000000"]{stroke:var(--ink)}figure svg [stroke="#dddddd"]{stroke:var(--rule)}
figure svg [fill="#000000"],figure svg [fill="#333333"]{fill:var(--ink)}figure svg [fill="#eeeeee"]{fill:var(--panel)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
footer{margin-top:3em;color:var(--soft);font-size:.85em}
@media print{body{max-width:none;padding:0}.filter,th button::after{display:none}details{content-visibility:visible}
pre,figure,tr{break-inside:avoid}}
)";

// Tables are sorted by the column whose head is pressed; the index of files is filtered.
constexpr const char* kScript = R"(
'use strict';
const units={ps:1e-12,ns:1e-9,us:1e-6,'µs':1e-6,ms:1e-3,s:1,K:1024,M:1048576,G:1073741824,T:1099511627776};
const number=text=>{const found=/^([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(\S*)/i.exec(text);
return found?parseFloat(found[1])*(units[found[2]]||1):NaN};
const compare=(a,b)=>isNaN(a.number)||isNaN(b.number)
?isNaN(a.number)-isNaN(b.number)||a.text.localeCompare(b.text):a.number-b.number;
for(const table of document.querySelectorAll('table')){
const body=table.tBodies[0],head=table.tHead&&table.tHead.rows[0];
if(!head||body.rows.length<2)continue;
[...head.cells].forEach((cell,column)=>{
const button=document.createElement('button');
button.type='button';button.textContent=cell.textContent;cell.replaceChildren(button);
button.addEventListener('click',()=>{
const down=cell.getAttribute('aria-sort')==='ascending';
for(const each of head.cells)each.removeAttribute('aria-sort');
cell.setAttribute('aria-sort',down?'descending':'ascending');
const rows=[...body.rows].map(row=>{const text=row.cells[column].textContent;
return{row,text,number:number(text)}});
rows.sort((a,b)=>down?compare(b,a):compare(a,b));
body.append(...rows.map(each=>each.row))})})}
const filter=document.querySelector('form.filter');
if(filter){
const rows=[...document.querySelectorAll('#files tbody tr')].map(row=>({row,text:row.textContent.toLowerCase(),
verdict:row.dataset.verdict,details:document.getElementById(row.dataset.details)}));
const apply=()=>{
const words=filter.elements.words.value.toLowerCase().split(/\s+/);
const verdicts=new Set([...filter.querySelectorAll('[name=verdict]:checked')].map(box=>box.value));
let shown=0;
for(const each of rows){
const hidden=!verdicts.has(each.verdict)||!words.every(word=>each.text.includes(word));
each.row.hidden=hidden;if(each.details)each.details.hidden=hidden;if(!hidden)++shown}
filter.querySelector('output').textContent=shown+' of '+rows.length+' shown'};
filter.addEventListener('input',apply);
filter.addEventListener('submit',event=>event.preventDefault());
filter.hidden=false;apply()}
const open=()=>{const target=document.getElementById(decodeURIComponent(location.hash.slice(1)));
if(target&&target.tagName==='DETAILS'){target.open=true;target.scrollIntoView()}};
addEventListener('hashchange',open);open();
)";

/// How a page shows a verdict: its word, also the name of its class, and a sign.
struct Shown {
  std::string_view word;
  std::string_view sign;
};
constexpr Shown kValid{"valid", "✓"};
constexpr Shown kInvalid{"invalid", "✗"};
constexpr Shown kUnknown{"unknown", "?"};
constexpr Shown kDisagreement{"disagreement", "⚠"};
constexpr Shown kNotJudged{"not judged", "⚠"};

Shown shown(Outcome outcome) {
  switch (outcome) {
    case Outcome::Established:
      return kValid;
    case Outcome::Refuted:
      return kInvalid;
    case Outcome::Undecided:
      return kUnknown;
    case Outcome::Disagreement:
      break;
  }
  return kDisagreement;
}

/// The worst of the properties of a file.
Shown shown(const FileReport& report) {
  const auto has = [&](Status status) {
    return std::ranges::any_of(report.properties,
                               [&](const Property& each) { return each.status == status; });
  };
  if (has(Status::Disagreement)) return kDisagreement;
  if (has(Status::BadInput) || has(Status::ToolFailure)) return kNotJudged;
  if (has(Status::Refuted)) return kInvalid;
  return has(Status::Undecided) ? kUnknown : kValid;
}

std::string class_of(const Shown& verdict) {
  std::string name(verdict.word);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string word_html(const Shown& verdict) {
  return fmt::format("<span class=\"word {}\"><span aria-hidden=\"true\">{}</span> {}</span>",
                     class_of(verdict), verdict.sign, verdict.word);
}

/// The first property that fails; null where there is none.
const Property* failure_of(const FileReport& report) {
  const auto found = std::ranges::find_if(report.properties, fails);
  return found == report.properties.end() ? nullptr : &*found;
}

struct HtmlWriter {
  std::string& out;
  int level = 1;  ///< of the heading that the blocks stand under

  void operator()(const Heading& heading) const {
    out +=
        fmt::format("<h{0}>{1}</h{0}>\n", std::max(heading.level, level), xml_text(heading.text));
  }
  void operator()(const Paragraph& paragraph) const {
    if (!paragraph.text.empty()) out += fmt::format("<p>{}</p>\n", xml_text(paragraph.text));
  }
  void operator()(const Preformatted& text) const {
    // xml_text writes line breaks as references, which a browser shows as line breaks.
    out += "<pre tabindex=\"0\">" + xml_text(text.text) + "</pre>\n";
  }
  void operator()(const Table& table) const {
    out += "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>";
    row(table.header, "th scope=\"col\"", "th", table.right_aligned);
    out += "</thead>\n<tbody>\n";
    for (const auto& cells : table.rows) row(cells, "td", "td", table.right_aligned);
    out += "</tbody>\n</table></div>\n";
  }
  void operator()(const Drawing& drawing) const {
    const std::string title = xml_text(drawing.title);
    out += fmt::format(
        "<figure><div role=\"img\" aria-label=\"{0}\">{1}</div><figcaption>{0}</figcaption>"
        "</figure>\n",
        title, drawing.svg);
  }
  void operator()(const Listing& listing) const {
    out += fmt::format("<figure><figcaption>{}</figcaption><code class=\"listing\" tabindex=\"0\">",
                       xml_text(listing.file));
    for (std::size_t i = 0; i < listing.lines.size(); ++i) {
      const std::size_t number = listing.first + i;
      const bool is_other = std::ranges::binary_search(listing.others, number);
      const char* const mark = number == listing.fault ? " class=\"fault\""
                               : is_other              ? " class=\"other\""
                                                       : "";
      out += fmt::format("<span{}><b>{}</b>{}</span>", mark, number, xml_text(listing.lines[i]));
    }
    out += "</code></figure>\n";
  }

  void row(const std::vector<std::string>& cells, const char* open, const char* close,
           std::size_t numbers) const {
    out += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      out += fmt::format("<{}{}>{}</{}>", open, i < numbers ? " class=\"number\"" : "",
                         xml_text(cells[i]), close);
    }
    out += "</tr>\n";
  }
};

// Reports on files.

/// `rule-msccl-data-race`
std::string rule_anchor(const FileReport& report, const Property& property) {
  std::string anchor = "rule-" + rule_id(report.format, property.rule);
  std::ranges::replace(anchor, '/', '-');
  return anchor;
}

std::string rule_link(const FileReport& report, const Property& property) {
  if (property.rule.empty()) return {};
  return fmt::format("<a href=\"#{}\">{}</a>", xml_text(rule_anchor(report, property)),
                     xml_text(property.rule));
}

std::string_view to_string(Status status) {
  constexpr std::array<std::string_view, 7> kWords = {"established",  "refuted",   "undecided",
                                                      "not examined", "bad input", "tool failure",
                                                      "disagreement"};
  return kWords[static_cast<std::size_t>(status)];
}

void add_filter(const std::vector<FileReport>& reports, std::string& out) {
  std::map<std::string_view, std::size_t> counts;
  for (const FileReport& report : reports) ++counts[shown(report).word];
  out +=
      "<form class=\"filter\" hidden><label>Filter <input type=\"search\" name=\"words\" "
      "placeholder=\"file, verdict or rule\"></label>";
  for (const auto& [word, count] : counts) {
    out += fmt::format(
        "<label><input type=\"checkbox\" name=\"verdict\" value=\"{0}\" checked> {0} ({1})</label>",
        word, count);
  }
  out += "<output aria-live=\"polite\"></output></form>\n";
}

/// A row per file, or per pass of a dump.
void add_index(const std::vector<FileReport>& reports, std::string& out) {
  const bool has_places =
      std::ranges::any_of(reports, [](const FileReport& each) { return !each.place.empty(); });
  add_filter(reports, out);
  out += fmt::format(
      "<div class=\"scroll\" tabindex=\"0\"><table id=\"files\">\n<thead><tr>"
      "<th scope=\"col\" class=\"number\">#</th><th scope=\"col\">verdict</th>"
      "<th scope=\"col\">file</th>{}<th scope=\"col\">rule</th><th scope=\"col\" "
      "class=\"number\">line</th></tr></thead>\n<tbody>\n",
      has_places ? "<th scope=\"col\">pass</th>" : "<th scope=\"col\">format</th>");
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const FileReport& report = reports[i];
    const Shown verdict = shown(report);
    const Property* failure = failure_of(report);
    out += fmt::format(
        "<tr data-verdict=\"{0}\" data-details=\"file-{1}\"><td class=\"number\">{1}</td>"
        "<td>{2}{3}</td><td><a href=\"#file-{1}\">{4}</a></td><td>{5}</td><td>{6}</td>"
        "<td class=\"number\">{7}</td></tr>\n",
        verdict.word, i + 1, word_html(verdict),
        failure != nullptr && failure->known ? " (known)" : "", xml_text(report.file),
        xml_text(has_places ? report.place : report.format),
        failure == nullptr ? "" : rule_link(report, *failure),
        failure == nullptr || failure->line == 0 ? "" : std::to_string(failure->line));
  }
  out += "</tbody>\n</table></div>\n";
}

void add_properties(const FileReport& report, std::string& out) {
  out += "<p>";
  for (const Property& each : report.properties) {
    out += fmt::format("{}{}: {}", &each == &report.properties.front() ? "" : " · ",
                       xml_text(each.name), to_string(each.status));
    if (!each.rule.empty()) out += ", " + rule_link(report, each);
  }
  out += "</p>\n";
}

void add_files(const std::vector<FileReport>& reports, std::string& out) {
  constexpr std::ptrdiff_t kMaxOpen = 20;
  const auto failures = std::ranges::count_if(
      reports, [](const FileReport& each) { return failure_of(each) != nullptr; });
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const FileReport& report = reports[i];
    const bool opened =
        reports.size() == 1 || (failures <= kMaxOpen && failure_of(report) != nullptr);
    out += fmt::format("<details id=\"file-{}\"{}><summary>{} {}{}</summary>\n", i + 1,
                       opened ? " open" : "", word_html(shown(report)), xml_text(report.file),
                       report.place.empty() ? "" : " · " + xml_text(report.place));
    for (const Block& block : report.details) std::visit(HtmlWriter{out, 3}, block);
    // What kept a file from being judged is said nowhere else.
    for (const Property& each : report.properties) {
      const bool unread = each.status == Status::BadInput || each.status == Status::ToolFailure;
      if (unread) out += fmt::format("<p>{}</p>\n", xml_text(each.message));
    }
    add_properties(report, out);
    out += "</details>\n";
  }
}

/// What the rules that are broken somewhere mean.
void add_rules(const std::vector<FileReport>& reports, std::string& out) {
  std::map<std::string, std::string> rules;  // by anchor
  for (const FileReport& report : reports) {
    for (const Property& each : report.properties) {
      if (each.rule.empty()) continue;
      const RuleText text = rule_text(report.format, each.rule);
      rules[rule_anchor(report, each)] = fmt::format(
          "<dt id=\"{}\"><strong>{}</strong></dt><dd><p>{}</p><p>{} See <code>{}</code> of the "
          "documentation.</p></dd>\n",
          xml_text(rule_anchor(report, each)), xml_text(rule_id(report.format, each.rule)),
          xml_text(std::string(text.summary)), xml_text(std::string(text.help)),
          rule_page(report.format));
    }
  }
  if (rules.empty()) return;
  out += "<h2>Rules</h2>\n<dl>\n";
  for (const auto& [anchor, text] : rules) out += text;
  out += "</dl>\n";
}

// The verdict.

std::string_view of_claim(std::string_view word) {
  if (word == kValid.word) return "established";
  if (word == kInvalid.word) return "refuted";
  return word == kUnknown.word ? "undecided" : word;
}

/// `7 files: 5 valid, 2 invalid.`
template <typename Element>
std::string counts_text(std::string_view what, const std::vector<Element>& elements,
                        const auto& verdict, const auto& word) {
  std::string text = fmt::format("{} {}:", elements.size(), what);
  std::string_view separator = " ";
  for (const Shown& each : {kValid, kInvalid, kUnknown, kDisagreement, kNotJudged}) {
    const auto count = std::ranges::count_if(
        elements, [&](const Element& element) { return verdict(element).word == each.word; });
    if (count == 0) continue;
    text += fmt::format("{}{} {}", separator, count, word(each.word));
    separator = ", ";
  }
  return text + ".";
}

/// How many paragraphs a document begins with, two at most: what it says of the question and of the
/// answer as a whole.
std::size_t lead_blocks(const Document& document) {
  std::size_t said = 0;
  std::size_t count = 0;
  for (const Block& block : document.blocks) {
    const Paragraph* const paragraph = std::get_if<Paragraph>(&block);
    if (paragraph == nullptr || said == 2) break;
    if (!paragraph->text.empty()) ++said;
    ++count;
  }
  return count;
}

/// These paragraphs as one; columns of the text become parts of a sentence.
std::string lead_of(const Document& document) {
  std::string lead;
  for (std::size_t i = 0; i < lead_blocks(document); ++i) {
    const std::string& text = std::get<Paragraph>(document.blocks[i]).text;
    if (!lead.empty() && !text.empty()) lead += "; ";
    lead += text;
  }
  for (std::size_t at = lead.find("  "); at != std::string::npos; at = lead.find("  ", at)) {
    const std::size_t end = std::min(lead.find_first_not_of(' ', at), lead.size());
    lead.replace(at, end - at, ", ");
    at += 2;
  }
  return lead;
}

std::string sentence_of(const Answer& answer) {
  const std::vector<FileReport>& reports = answer.document.reports;
  if (reports.size() == 1) {
    const Property* const failure = failure_of(reports[0]);
    const std::string verdict = fmt::format("{} is {}", reports[0].file, shown(reports[0]).word);
    return failure == nullptr ? verdict + "." : fmt::format("{}: {}", verdict, failure->message);
  }
  if (!reports.empty()) {
    return counts_text(
        reports[0].place.empty() ? "files" : "comparisons", reports,
        [](const FileReport& each) { return shown(each); }, std::identity());
  }
  const std::vector<Result>& results = answer.results;
  if (results.size() == 1 && results[0].outcome != Outcome::Established) {
    const Result& result = results[0];
    std::string text =
        fmt::format("{} is {}", result.subject, of_claim(shown(result.outcome).word));
    if (result.counterexample) return text + ": " + result.counterexample->explanation;
    if (result.undecided) return text + ": " + result.undecided->explanation;
    return text + ".";
  }
  if (results.size() > 1) {
    return counts_text(
        "answers", results, [](const Result& each) { return shown(each.outcome); }, of_claim);
  }
  return lead_of(answer.document);
}

/// The worst of all, also of what could not be judged.
Shown verdict_of(const Answer& answer) {
  switch (exit_code_of(answer)) {
    case kBadInput:
    case kToolFailure:
      return kNotJudged;
    case kUndecided:
      return kUnknown;
    default:
      return shown(answer.outcome);
  }
}

std::string verdict_html(const Answer& answer) {
  const std::string sentence = sentence_of(answer);
  if (sentence.empty() && answer.diagnostics.empty()) return {};
  const Shown verdict = verdict_of(answer);
  const bool about_files = !answer.document.reports.empty();
  // A list or a price is neither true nor false.
  const bool is_plain = answer.results.empty() && !about_files && verdict.word == kValid.word;
  const std::string_view word = about_files ? verdict.word
                                : is_plain  ? "answered"
                                            : of_claim(verdict.word);
  std::string out = fmt::format(
      "<div class=\"verdict {}\" role=\"status\"><span class=\"word\"><span "
      "aria-hidden=\"true\">{}</span> {}</span>\n",
      class_of(verdict), verdict.sign, word);
  if (!sentence.empty()) out += fmt::format("<p>{}</p>\n", xml_text(sentence));
  for (const Diagnostic& each : answer.diagnostics) {
    out += fmt::format("<p>{}</p>\n", xml_text(each.message));
  }
  return out + "</div>\n";
}

/// The first `skipped` blocks are in the verdict.
std::string page_of(const Document& document, const std::string& verdict, std::size_t skipped) {
  const auto is_title = [](const Block& block) {
    const Heading* const heading = std::get_if<Heading>(&block);
    return heading != nullptr && heading->level == 1;
  };
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<title>{}</title>\n"
      "<meta name=\"generator\" content=\"p2-verify "
      "{}\">\n<style>{}</style></head>\n<body><main>\n",
      kPolicy, xml_text(document.title), build_info().version, kStyle);
  if (std::ranges::none_of(document.blocks, is_title)) {
    out += fmt::format("<h1>{}</h1>\n", xml_text(document.title));
  }
  out += verdict;
  for (std::size_t i = skipped; i < document.blocks.size(); ++i) {
    std::visit(HtmlWriter{out}, document.blocks[i]);
  }
  const bool has_details = std::ranges::any_of(
      document.reports, [](const FileReport& each) { return !each.details.empty(); });
  if (has_details) {
    if (document.reports.size() > 1) add_index(document.reports, out);
    add_files(document.reports, out);
  }
  add_rules(document.reports, out);
  return out +
         fmt::format("</main><footer>p2-verify {}</footer>\n<script>{}</script></body>\n</html>\n",
                     build_info().version, kScript);
}

}  // namespace

std::string write_html(const Document& document) { return page_of(document, {}, 0); }

std::string write_page(const Answer& answer) {
  const bool has_lead =
      answer.document.reports.empty() && sentence_of(answer) == lead_of(answer.document);
  return page_of(answer.document, verdict_html(answer),
                 has_lead ? lead_blocks(answer.document) : 0);
}

}  // namespace p2
