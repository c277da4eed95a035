#include "proofs/api/check_journal.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/hlo/module_relation.h"
#include "proofs/api/check_files.h"
#include "proofs/kernel/certificate.h"

namespace p2 {
namespace {

using Record = nlohmann::ordered_json;
using campaign::optional_text;

template <typename Enumeration>
Enumeration enumeration(const Record& value) {
  return static_cast<Enumeration>(value.get<std::uint8_t>());
}

template <typename Enumeration>
int number(Enumeration value) {
  return static_cast<int>(value);
}

Record record_of(const Property& property) {
  return {property.name,    number(property.status), property.rule,
          property.message, property.line,           property.column};
}

Property property_of(const Record& record) {
  return {record.at(0), enumeration<Property::Status>(record.at(1)),
          record.at(2), record.at(3),
          record.at(4), record.at(5)};
}

Record record_of(const SubjectCheck& check) {
  Document text;
  for (const Document::Block& block : check.text) text.add(block);
  const Result& result = check.result;
  Record record{{"json", check.json.dump()},
                {"input", check.input.dump()},
                {"text", write_document(text, DocumentFormat::Text)},
                {"subject", result.subject},
                {"outcome", number(result.outcome)},
                {"model", result.model},
                {"evidence",
                 {number(result.evidence.kind), result.evidence.folder, result.evidence.trouble,
                  result.evidence.claim}},
                {"engines", Record::array()},
                {"file", check.report.file},
                {"format", check.report.format},
                {"properties", Record::array()},
                {"diagnostics", Record::array()}};
  for (const EngineAnswer& each : result.engines) {
    record["engines"].push_back({each.engine, number(each.outcome), each.step, each.rule});
  }
  for (const Property& each : check.report.properties) {
    record["properties"].push_back(record_of(each));
  }
  for (const Diagnostic& each : check.diagnostics) {
    record["diagnostics"].push_back({number(each.kind), each.message});
  }
  return record;
}

SubjectCheck check_of(const Record& record) {
  SubjectCheck check;
  check.json = Json::parse(record.at("json"));
  check.input = Json::parse(record.at("input"));
  check.text = {Preformatted{record.at("text")}};
  Result& result = check.result;
  result.subject = record.at("subject");
  result.outcome = enumeration<Outcome>(record.at("outcome"));
  result.model = record.at("model");
  const Record& evidence = record.at("evidence");
  result.evidence = {enumeration<Evidence::Kind>(evidence.at(0)), evidence.at(1), evidence.at(2),
                     evidence.at(3)};
  for (const Record& each : record.at("engines")) {
    result.engines.push_back(
        {each.at(0), enumeration<Outcome>(each.at(1)), each.at(2), each.at(3)});
  }
  check.report.file = record.at("file");
  check.report.format = record.at("format");
  for (const Record& each : record.at("properties")) {
    check.report.properties.push_back(property_of(each));
  }
  for (const Record& each : record.at("diagnostics")) {
    check.diagnostics.push_back({enumeration<Diagnostic::Kind>(each.at(0)), each.at(1)});
  }
  return check;
}

/// Of the contents of everything that the answers depend on.
std::string digest_of(const CheckRequest& request, std::vector<std::string> files,
                      const hlo::Dump* dump) {
  const InstanceSpec& spec = request.instance;
  for (const auto& file : {request.before, request.after, request.relate, spec.system}) {
    if (file) files.push_back(*file);
  }
  if (request.relate && !request.after) {
    for (const auto& each : hlo::program_files(*request.relate, read_file(*request.relate))) {
      files.push_back(each.file);
    }
  }
  files.insert(files.end(), spec.collectives.begin(), spec.collectives.end());
  if (spec.goal && spec.goal->ends_with(".p2c")) files.push_back(*spec.goal);
  if (dump != nullptr) {
    for (const hlo::DumpModule& module : dump->modules) {
      for (const hlo::DumpFile& version : module.versions) files.push_back(version.path);
    }
  }
  std::string all;
  for (const std::string& file : files) {
    std::error_code failure;
    const bool is_file = std::filesystem::is_regular_file(file, failure);
    all += fmt::format("{} {}\n", is_file ? sha256(read_file(file, 4096)) : "-", file);
  }
  return sha256(all);
}

}  // namespace

std::string journal_text(const FileAnswer& answer) {
  Record record{{"check", nullptr}, {"errors", Record::array()}, {"seconds", answer.seconds}};
  if (answer.check) record["check"] = record_of(*answer.check);
  for (const FileError& each : answer.errors) {
    record["errors"].push_back({number(each.kind), each.where.source, each.where.line,
                                each.where.column, each.message, each.line});
  }
  return record.dump(-1, ' ', false, Record::error_handler_t::replace);
}

FileAnswer journaled_answer(const Record& text) {
  FileAnswer answer;
  if (!text.at("check").is_null()) answer.check = check_of(text.at("check"));
  for (const Record& each : text.at("errors")) {
    answer.errors.push_back({enumeration<Diagnostic::Kind>(each.at(0)),
                             {each.at(1), each.at(2), each.at(3)},
                             each.at(4),
                             each.at(5)});
  }
  answer.seconds = text.at("seconds");
  return answer;
}

Json check_journal_header(const CheckRequest& request, const std::vector<std::string>& files,
                          const hlo::Dump* dump, std::size_t questions) {
  const auto refuse = [](const char* flag) {
    throw InputError({flag}, "given together with --shard or --resume, expected one of the two");
  };
  if (request.baseline) refuse("--baseline");
  if (request.cache) refuse("--cache");
  if (request.repair) refuse("--repair");
  if (request.smt2) refuse("--smt2");
  if (std::ranges::find(files, "-") != files.end()) refuse("-");
  const InstanceSpec& spec = request.instance;
  const auto count = [](const std::optional<std::uint64_t>& value) {
    return value ? Json(*value) : Json();
  };
  Json header = campaign::journal_header("check");
  header.add("files", Json::array_of(files))
      .add("before", optional_text(request.before))
      .add("after", optional_text(request.after))
      .add("relate", optional_text(request.relate))
      .add("dump", optional_text(request.dump))
      .add("ordered", request.ordered)
      .add("numbers", to_string(request.numbers))
      .add("reduces", optional_text(request.reduces))
      .add("replicas", count(request.replicas))
      .add("partitions", count(request.partitions))
      .add("engine", request.engine)
      .add("all_sizes", request.all_sizes)
      .add("explain", request.explain)
      .add("certify", optional_text(request.certify))
      .add("hierarchy", optional_text(spec.hierarchy))
      .add("system", optional_text(spec.system))
      .add("axes", optional_text(spec.axes))
      .add("reduce", optional_text(spec.reduce))
      .add("placement", optional_text(spec.placement))
      .add("synthesis_hierarchy", optional_text(spec.synthesis_hierarchy))
      .add("dialect", optional_text(spec.dialect))
      .add("collectives", Json::array_of(spec.collectives))
      .add("goal", optional_text(spec.goal))
      .add("max_group", spec.max_group)
      .add("sha256", digest_of(request, files, dump));
  return campaign::with_shard(std::move(header), questions, request.shard, request.shards);
}

CheckRequest journaled_check(const Record& header) {
  CheckRequest request;
  for (const Record& file : header.at("files")) request.files.push_back(file);
  request.before = optional_text(header, "before");
  request.after = optional_text(header, "after");
  request.relate = optional_text(header, "relate");
  request.dump = optional_text(header, "dump");
  request.ordered = header.at("ordered");
  request.numbers = float_equality_called(header.at("numbers").get<std::string>());
  request.reduces = optional_text(header, "reduces");
  if (!header.at("replicas").is_null()) request.replicas = header.at("replicas");
  if (!header.at("partitions").is_null()) request.partitions = header.at("partitions");
  request.engine = header.at("engine");
  request.all_sizes = header.at("all_sizes");
  request.explain = header.at("explain");
  request.certify = optional_text(header, "certify");
  InstanceSpec& spec = request.instance;
  spec.hierarchy = optional_text(header, "hierarchy");
  spec.system = optional_text(header, "system");
  spec.axes = optional_text(header, "axes");
  spec.reduce = optional_text(header, "reduce");
  spec.placement = optional_text(header, "placement");
  spec.synthesis_hierarchy = optional_text(header, "synthesis_hierarchy");
  spec.dialect = optional_text(header, "dialect");
  for (const Record& file : header.at("collectives")) spec.collectives.push_back(file);
  spec.goal = optional_text(header, "goal");
  spec.max_group = header.at("max_group");
  return request;
}

}  // namespace p2
