// Forged certificates of several programs: texts, pieces, numbers and facts of right ones are
// changed. What p2-check accepts is right when it is executed.

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "proofs/kernel/xla/related_programs.h"
#include "tests/hlo/executed_problem.h"
#include "tests/hlo/random_pipelines.h"

namespace p2::hlo::pipelines::forged {
namespace {

using Json = nlohmann::ordered_json;
using kernel::Verdict;

class Choice {
 public:
  explicit Choice(std::uint32_t seed) : random_(seed) {}
  std::size_t below(std::size_t end) { return random_() % end; }
  Json& of(Json& list) { return list.at(below(list.size())); }
  template <typename T>
  const T& of(const std::vector<T>& list) {
    return list.at(below(list.size()));
  }

 private:
  std::mt19937 random_;
};

/// Devices that have rows of x and y each add up what their rows make of xᵀy, w times that.
Json summing_devices(Choice& choice) {
  const int programs = choice.below(2) == 0 ? 1 : 2;
  const int width = programs == 1 ? 2 : 1 + static_cast<int>(choice.below(2));
  const int devices = programs * width, rows = kSide / devices;
  const std::size_t way = choice.below(6);
  const std::string dot = ", lhs_contracting_dims={{{}}}, rhs_contracting_dims={{0}}\n";
  const std::string add =
      "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n";
  const bool is_scaled = way != 4 && choice.below(2) == 0;
  Json json = {{"before",
                "HloModule single\nENTRY main {\n  x = f32[4,4] parameter(0)\n"
                "  y = f32[4,4] parameter(1)\n  w = f32[4,4] parameter(2)\n"
                "  p = f32[4,4] dot(x, y)" +
                    fmt::format(fmt::runtime(dot), 0) +
                    (is_scaled ? "  o = f32[4,4] dot(p, w)" + fmt::format(fmt::runtime(dot), 1)
                               : std::string("  o = f32[4,4] copy(p)\n")) +
                    "  ROOT out = (f32[4,4]) tuple(o)\n}\n"},
               {"devices", devices},
               {"programs", Json::array()}};
  std::string all, pairs;
  for (int k = 0; k < devices; ++k) all += (k == 0 ? "" : ",") + std::to_string(k);
  for (int k = 0; k < width; ++k)
    pairs += fmt::format("{}{{{},{}}}", k == 0 ? "" : ",", k, width + k);
  std::string inside = width == 1 ? "{0},{1}" : programs == 1 ? "{0,1}" : "{0,1},{2,3}";
  const auto collective = [](const std::string& name, int result_rows, const std::string& opcode,
                             const std::string& of, int channel, const std::string& groups,
                             const std::string& rest) {
    return fmt::format(
        "  {} = f32[{},4] {}({}), channel_id={}, use_global_device_ids=true, "
        "replica_groups={{{}}}{}\n",
        name, result_rows, opcode, of, channel, groups, rest);
  };
  const std::string sums = ", to_apply=add";
  std::string ring;
  for (int k = 0; k < devices; ++k)
    ring += fmt::format("{}{{{},{}}}", k == 0 ? "" : ",", k, (k + 1) % devices);
  const std::string permuted =
      "  w = f32[4,4] collective-permute(v), channel_id=7, source_target_pairs={" + ring + "}\n";
  for (int program = 0; program < programs; ++program) {
    std::string text =
        fmt::format("HloModule part, is_scheduled=true, num_partitions={}\n", devices) + add +
        "ENTRY main {\n  token = token[] after-all()\n" +
        fmt::format(
            "  x = f32[{0},4] parameter(0)\n  y = f32[{0},4] parameter(1)\n"
            "  {1} = f32[4,4] parameter(2)\n{2}  p = f32[4,4] dot(x, y)",
            rows, way == 5 ? "v" : "w", way == 5 ? permuted : "") +
        fmt::format(fmt::runtime(dot), 0);
    const std::string everyone = "{" + all + "}";
    if (way == 0 || (way == 3 && programs == 1) || way == 5) {
      text += collective("s", 4, "all-reduce", "p", 1, everyone, sums);
    } else if (way == 1) {
      text += collective("i", 4, "all-reduce", "p", 1, inside, sums) +
              (programs == 1 ? "  s = f32[4,4] copy(i)\n"
                             : collective("s", 4, "all-reduce", "i", 2, pairs, sums));
    } else if (way == 2) {
      text += collective("i", 4 / devices, "reduce-scatter", "p", 1, everyone,
                         ", dimensions={0}" + sums) +
              collective("s", 4, "all-gather", "i", 2, everyone, ", dimensions={0}");
    } else if (way == 3) {
      std::string there, back;
      for (int k = 0; k < width; ++k) {
        there += fmt::format("{}{{{},{}}}", k == 0 ? "" : ",", k, width + k);
        back += fmt::format("{}{{{},{}}}", k == 0 ? "" : ",", width + k, k);
      }
      const auto message = [&](bool sends) {
        const bool is_there = sends == (program == 0);
        return fmt::format(
            ", channel_id={}, frontend_attributes={{_xla_send_recv_source_target_pairs={{{}}}}}\n",
            is_there ? 5 : 6, is_there ? there : back);
      };
      const std::string shape = "(f32[4,4], u32[], token[])";
      if (width == 2) text += collective("i", 4, "all-reduce", "p", 1, inside, sums);
      const std::string own = width == 2 ? "i" : "p";
      text += "  r = " + shape + " recv(token)" + message(false) + "  t = " + shape + " send(" +
              own + ", token)" + message(true) +
              fmt::format("  td = token[] send-done(t), channel_id={}\n", program == 0 ? 5 : 6) +
              fmt::format("  rd = (f32[4,4], token[]) recv-done(r), channel_id={}\n",
                          program == 0 ? 6 : 5) +
              "  q = f32[4,4] get-tuple-element(rd), index=0\n  s = f32[4,4] add(" + own + ", q)\n";
    } else {
      text += "  s = f32[4,4] copy(p)\n";
    }
    text += is_scaled ? "  o = f32[4,4] dot(s, w)" + fmt::format(fmt::runtime(dot), 1)
                      : std::string("  o = f32[4,4] copy(s)\n");
    json["programs"].push_back({{"devices", {{program * width, program * width + width - 1}}},
                                {"module", text + "  ROOT out = (f32[4,4]) tuple(o)\n}\n"}});
  }
  const bool in_parts = way == 4;
  for (const char kind : {'r', 'c', 'p'}) {
    Json pieces = Json::array();
    for (int k = 0; k < devices; ++k)
      pieces.push_back({k, kind == 'p' && in_parts ? k : 0, kind == 'r' ? k * rows : 0, 0, 0, 0,
                        kind == 'r' ? rows : 4, 4});
    json["placements"].push_back({{"parts", kind == 'p' && in_parts ? devices : 1},
                                  {"reducer", kind == 'p' && in_parts ? "add" : ""},
                                  {"pieces", std::move(pieces)}});
  }
  const auto held = [&](int placement, int number) {
    Json numbers = Json::array();
    for (int program = 0; program < programs; ++program) numbers.push_back({program, number});
    return Json{{"placement", placement}, {"numbers", std::move(numbers)}};
  };
  json["inputs"] = {held(0, 0), held(0, 1), held(1, 2)};
  json["outputs"] = Json::array({held(2, 0)});
  return json;
}

/// A word of a text becomes another one: a name, a number, an operation; or a line moves.
void change_text(std::string& text, Choice& choice) {
  const std::size_t entry = text.find("ENTRY");
  std::vector<std::size_t> lines;
  for (std::size_t at = entry; (at = text.find('\n', at + 1)) != std::string::npos;)
    lines.push_back(at);
  if (choice.below(4) == 0 && lines.size() > 4) {
    const std::size_t k = choice.below(lines.size() - 3);
    const std::string line = text.substr(lines[k], lines[k + 1] - lines[k]);
    const std::size_t to = lines[choice.below(lines.size() - 2)];
    text.insert(to, line);
    if (choice.below(4) != 0)
      text.erase(to <= lines[k] ? lines[k] + line.size() : lines[k], line.size());
    return;
  }
  // Digits, names of one letter and of operations.
  struct Word {
    std::size_t at, size;
    std::string other;
  };
  std::vector<Word> words;
  for (std::size_t at = entry; at < text.size(); ++at) {
    const char each = text[at];
    const char before = text[at - 1];
    const bool is_end = at + 1 == text.size() || std::isalnum(text[at + 1]) == 0;
    if (each >= '0' && each <= '9' && is_end)
      words.push_back({at, 1, std::to_string(choice.below(6))});
    if ((before == '(' || before == ' ') && is_end &&
        std::string("xywpisqto").find(each) != std::string::npos)
      words.push_back({at, 1, std::string(1, "xywpisq"[choice.below(7)])});
    for (const char* opcode : {"add(", "multiply(", "copy(", "all-reduce(", "all-gather("}) {
      if (before == ' ' && text.compare(at, std::string(opcode).size(), opcode) == 0)
        words.push_back({at, std::string(opcode).size(),
                         choice.of(std::vector<std::string>{"add(", "multiply(", "copy("})});
    }
  }
  const Word& word = choice.of(words);
  text.replace(word.at, word.size, word.other);
}

void change_problem(Json& json, Choice& choice) {
  const auto number = [&](Json& from) { from = choice.below(5); };
  switch (choice.below(10)) {
    case 0: {
      std::string before = json["before"];
      change_text(before, choice);
      json["before"] = before;
      return;
    }
    case 1: {
      Json& held = choice.of(json[choice.below(3) == 0 ? "outputs" : "inputs"]);
      if (choice.below(2) == 0) return number(held["placement"]);
      return number(choice.of(choice.of(held["numbers"])));
    }
    case 2: {
      Json& placement = choice.of(json["placements"]);
      Json& pieces = placement["pieces"];
      const std::size_t way = choice.below(6);
      if (pieces.empty()) return;
      if (way == 0) placement["reducer"] = choice.below(2) == 0 ? "add" : "";
      if (way == 0) return number(placement["parts"]);
      if (way == 1) return pieces.push_back(choice.of(pieces));
      if (way == 2) return pieces.erase(choice.below(pieces.size()));
      Json& piece = choice.of(pieces);
      if (way == 3) return std::swap(piece[0], choice.of(pieces)[0]);
      if (way == 4) return std::swap(piece[1], choice.of(pieces)[1]);
      return number(choice.of(piece));
    }
    case 3: {
      Json& one = choice.of(json["programs"]);
      if (choice.below(2) == 0)
        return std::swap(one["devices"], choice.of(json["programs"])["devices"]);
      return std::swap(one["module"], choice.of(json["programs"])["module"]);
    }
    case 4: {
      Json& list = json[choice.below(3) == 0 ? "outputs" : "inputs"];
      return std::swap(choice.of(list), choice.of(list));
    }
    default: {
      Json& module = choice.of(json["programs"])["module"];
      std::string text = module;
      change_text(text, choice);
      module = text;
    }
  }
}

void change_evidence(Json& json, Choice& choice) {
  Json& facts = json["facts"];
  const std::size_t way = choice.below(8);
  if (facts.empty() || way == 0) {
    Json& list = choice.of(json["outputs"]);
    if (!list.empty()) choice.of(list) = choice.below(facts.size() + 12);
    return;
  }
  if (way == 1) return facts.push_back(choice.of(facts));
  if (way == 2) return std::swap(choice.of(facts), choice.of(facts));
  Json& line = choice.of(facts);
  if (way == 3) return line.push_back(choice.below(5));
  if (way == 4 && line.size() > 3) return line.erase(line.size() - 1);
  Json& one = choice.of(line);
  const auto old = one.get<std::int64_t>();
  one = std::max<std::int64_t>(0, old + static_cast<std::int64_t>(choice.below(7)) - 3);
}

Verdict verdict_of(const Json& problem, const std::string& evidence) {
  CertificateFiles files = {{"problem.json", problem.dump()}, {"relation.json", evidence}};
  add_manifest("programs-equal", {}, files);
  return check_certificate(files).verdict;
}

std::optional<std::string> evidence_of(const Json& problem) {
  auto made = programs_evidence({{"problem.json", problem.dump()}});
  if (made.index() != 0) return {};
  return std::get<0>(made);
}

TEST_CASE("no forged certificate of several programs is accepted that is wrong") {
  const char* const more = std::getenv("P2_RELATION_TIMES");
  const auto count = static_cast<std::uint32_t>(200 * (more == nullptr ? 1 : std::atoi(more)));
  int right = 0, old = 0, anew = 0, same = 0, refused = 0, wrong = 0;
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    Choice choice(seed);
    const Json problem = seed % 2 == 0 ? summing_devices(choice)
                                       : Json::parse(RandomPipeline(3 * seed, false).problem());
    CAPTURE(problem.dump());
    REQUIRE(is_right(problem, seed));
    const auto evidence = evidence_of(problem);
    if (!evidence) continue;
    REQUIRE(verdict_of(problem, *evidence) == Verdict::Accepted);
    ++right;
    for (int k = 0; k < 30; ++k) {
      Json changed = problem;
      for (std::size_t times = k % 6 == 0 ? 0 : 1 + choice.below(2); times > 0; --times)
        change_problem(changed, choice);
      Json facts = Json::parse(*evidence);
      for (std::size_t times = k % 3 == 0 ? 1 + choice.below(3) : 0; times > 0; --times)
        change_evidence(facts, choice);
      const bool is_so = is_right(changed, seed);
      if (!is_so) ++wrong;
      const auto check = [&](const std::string& other, int& accepted) {
        if (verdict_of(changed, other) != Verdict::Accepted) {
          ++refused;
          return;
        }
        ++accepted;
        CAPTURE(changed.dump(1));
        CAPTURE(other);
        REQUIRE(is_so);
      };
      check(facts.dump(), changed == problem ? same : old);
      if (changed == problem) continue;
      if (const auto other = evidence_of(changed)) check(*other, anew);
    }
  }
  MESSAGE(right, " right, ", wrong, " wrong; accepted with other facts ", same, ", with the old ",
          old, ", with new ones ", anew, "; refused ", refused);
  CHECK(right * 10 > static_cast<int>(count) * 9);
  CHECK(same + old + anew > static_cast<int>(count));
  CHECK(wrong > 5 * static_cast<int>(count));
}

using kernel::xla::Fact;
using kernel::xla::Op;
using kernel::xla::Places;
using kernel::xla::RelatedPrograms;
using ProgramFact = RelatedPrograms::ProgramFact;

/// What a fact has to agree with.
enum class With : std::uint8_t { Nothing, Others, Output };

/// Facts that say another thing than this one.
std::vector<Fact> others_than(const Fact& fact, RelatedPrograms& programs, std::size_t program,
                              With with) {
  Places& places = programs.at(program).places();
  kernel::Budget budget;
  const auto devices = static_cast<std::uint32_t>(places.devices());
  kernel::xla::Numbering alone;
  for (std::uint32_t device = 0; device < devices; ++device) alone.push_back(device);
  std::vector<Fact> all;
  const auto add = [&](const std::function<void(Fact&)>& change) {
    all.push_back(fact);
    change(all.back());
  };
  add([](Fact& each) { each.view.emplace(); });
  if (with == With::Nothing) return all;
  add([](Fact& each) { each.tensor = each.tensor == 0 ? 1 : 0; });
  const auto& place = places.at(fact.places.at(0));
  if (with == With::Output) {
    for (const kernel::xla::Segment& part : {kernel::xla::Segment{0, 1, place.size - 1},
                                             {1, 0, place.size - 1},
                                             {1, 1, place.size - 1},
                                             {0, 0, place.size - 1}})
      add([&](Fact& each) {
        each.places[0] = places.segments(place.size, place.whole,
                                         std::vector<kernel::xla::Segments>(devices, {part}));
      });
    if (fact.share || fact.partial)
      add([&](Fact& each) { each.places[0] = places.free(place.size, place.whole); });
  } else {
    add([](Fact& each) { each.places.pop_back(); });
    for (const std::int64_t more : {0, 1})
      add([&](Fact& each) {
        each.places[0] = places.free(place.size + 1 - more, place.whole + more);
      });
  }
  const auto parted = [&](Fact& each, Op op) { each.partial = places.partial({op, alone, alone}); };
  if (fact.partial) {
    add([](Fact& each) { each.partial.reset(); });
    add([&](Fact& each) { parted(each, Op::Maximum); });
  } else if (!fact.share) {
    add([&](Fact& each) { parted(each, Op::Add); });
  }
  if (!fact.share) return all;
  add([](Fact& each) { each.share.reset(); });
  kernel::xla::Parts parts = places.parts_at(fact.share->parts);
  for (std::int64_t& size : parts.space) ++size;
  const auto number = places.parts(std::move(parts), budget);
  REQUIRE(number);
  add([&](Fact& each) { each.share->parts = *number; });
  add([](Fact& each) { each.share->summand = each.tensor; });
  return all;
}

struct Forged {
  int messages = 0, collectives = 0, outputs = 0, shares = 0;
};

/// Derives the facts that evidence lists; of what programs exchange, and of outputs, with others.
void require_facts(RelatedPrograms& programs,
                   const std::vector<kernel::xla::ProgramsRelation>& outputs, const Json& evidence,
                   Forged& forged) {
  std::vector<ProgramFact> facts;
  const std::size_t count = programs.programs().count();
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t fact = 0; fact < programs.at(k).facts().size(); ++fact)
      facts.emplace_back(k, fact);
  }
  const auto fact_at = [&](const ProgramFact& fact) -> const Fact& {
    return programs.at(fact.first).facts().at(fact.second);
  };
  /// Whether, with another fact in place of one of these, it is still so.
  const auto is_so_otherwise = [&](std::vector<ProgramFact> from, With with, const auto& is_so) {
    for (std::size_t k = 0; k < from.size(); ++k) {
      const ProgramFact own = from[k];
      for (Fact& other : others_than(Fact(fact_at(own)), programs, own.first, with)) {
        from[k].second = programs.at(own.first).add(std::move(other));
        if (is_so(from)) return true;
      }
      from[k] = own;
    }
    return false;
  };
  for (const Json& line : evidence.at("facts")) {
    const RelatedPrograms::ProgramNode node(line[0], line[1]);
    const auto end = line.begin() + 3 + line[2].get<std::ptrdiff_t>();
    std::vector<ProgramFact> from;
    for (auto each = line.begin() + 3; each != end; ++each)
      from.push_back(facts.at(each->get<std::size_t>()));
    const kernel::xla::Index hint(end, line.end());
    const auto follows = [&](const std::vector<ProgramFact>& list) {
      return programs.follows(node, list, hint).has_value();
    };
    if (!programs.origins(node).empty()) {
      const bool is_message = programs.at(node.first)
                                  .local()
                                  .nodes[node.second]
                                  .instruction->opcode.starts_with("recv");
      ++(is_message ? forged.messages : forged.collectives);
      if (fact_at(from.at(0)).share) ++forged.shares;
      CHECK(!is_so_otherwise(from, from.size() == 1 ? With::Nothing : With::Others, follows));
      CHECK(!follows({}));
      std::vector<ProgramFact> list = from;
      list.push_back(from[0]);
      CHECK(!follows(list));
      if (from.size() > 1) {
        CHECK(!follows({from[0]}));
        CHECK(!follows(std::vector<ProgramFact>(from.rbegin(), from.rend())));
      }
      // What only some have anywhere is where the others have it.
      for (std::size_t k = 0; from.size() > 1 && k < from.size(); ++k) {
        Fact free = fact_at(from[k]);
        const auto& place = programs.at(from[k].first).places().at(free.places[0]);
        if (place.size != place.whole || place.devices.empty()) continue;
        free.places[0] = programs.at(from[k].first).places().free(place.size, place.whole);
        list = from;
        list[k].second = programs.at(from[k].first).add(std::move(free));
        const auto result = programs.follows(node, list, hint);
        CHECK((!result || !programs.at(node.first).places().is_free(result->places[0])));
      }
      if (is_message) {
        Fact parts = fact_at(from[0]);
        parts.share.reset();
        const auto devices = programs.at(from[0].first).places().devices();
        const kernel::xla::Numbering one(devices, 0);
        parts.partial = programs.at(from[0].first).places().partial({Op::Add, one, one});
        list.assign(from.size(), {from[0].first, programs.at(from[0].first).add(parts)});
        CHECK(!follows(list));
      }
    } else if (!from.empty()) {
      std::vector<ProgramFact> list = from;
      for (ProgramFact& each : list) each.first = (each.first + 1) % (count + 1);
      CHECK(!follows(list));
    }
    auto fact = programs.follows(node, from, hint);
    REQUIRE(fact);
    facts.emplace_back(node.first, programs.at(node.first).add(std::move(*fact)));
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    std::vector<ProgramFact> from;
    for (const Json& each : evidence.at("outputs")[k])
      from.push_back(facts.at(each.get<std::size_t>()));
    const auto answers = [&](const std::vector<ProgramFact>& list) {
      return programs.answers(list, k, outputs[k]);
    };
    REQUIRE(answers(from));
    CHECK(!answers({}));
    for (std::size_t j = 0; j < from.size(); ++j) {
      std::vector<ProgramFact> fewer = from;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(j));
      CHECK(!answers(fewer));
    }
    ++forged.outputs;
    CHECK(!is_so_otherwise(from, With::Output, answers));
    for (std::size_t fact = 0; fact < from[0].second; ++fact) {
      if (fact_at({from[0].first, fact}).node == fact_at(from[0]).node) continue;
      std::vector<ProgramFact> list = from;
      list[0].second = fact;
      CHECK(!answers(list));
    }
  }
}

TEST_CASE("what programs exchange is one tensor, held as each of them says") {
  Forged forged;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Choice choice(seed);
    const Json problem = seed % 4 != 0 ? summing_devices(choice)
                                       : Json::parse(RandomPipeline(seed, false).problem());
    const auto evidence = evidence_of(problem);
    if (!evidence) continue;
    CAPTURE(problem.dump());
    CAPTURE(*evidence);
    kernel::xla::with_related_programs(
        {{"problem.json", problem.dump()}}, [&](RelatedPrograms& programs, const auto& outputs) {
          require_facts(programs, outputs, Json::parse(*evidence), forged);
        });
  }
  MESSAGE(forged.messages, " messages, ", forged.collectives, " collectives, ", forged.shares,
          " of shares, ", forged.outputs, " outputs");
  CHECK(forged.messages > 100);
  CHECK(forged.collectives > 100);
  CHECK(forged.shares > 50);
}

}  // namespace
}  // namespace p2::hlo::pipelines::forged
