// problem.cnf and proof.lrat as tools write them: what is sound is accepted, and nothing else.
#include <doctest/doctest.h>

#include "tests/proofs/examples.h"

using namespace p2;
using namespace p2::proofs;

namespace {

const std::string kClaim = "strategy-optimal-clauses";
/// Of the example: 10 clauses, and the 4 steps that refute them.
const std::string kSteps[] = {"-7 0 1 10 0", "-4 -2 0 11 6 0", "-2 0 11 4 12 3 7 0",
                              "0 11 13 2 5 8 9 3 0"};

kernel::Result judge(const std::string& name, const std::string& text) {
  CertificateFiles files = example(kClaim);
  files[name] = text;
  return check_certificate(sealed(kClaim, files).files);
}
kernel::Result judge_proof(const std::string& text) { return judge("proof.lrat", lines(text)); }

/// The clauses of the example, with words in other places.
std::string dimacs(const std::string& header, const std::string& space, const std::string& end) {
  std::string text = header;
  for (const char* clause : {"1", "2 3", "4 5", "-2 6", "-3 6", "-2 -4 7", "-6 -2 -5 7",
                             "-6 -3 -4 7", "-3 -5 7", "-7 -1"}) {
    for (const char* at = clause; *at != '\0'; ++at)
      text += *at == ' ' ? space : std::string(1, *at);
    text += space + "0" + end;
  }
  return text;
}

struct Text {
  std::string text;
  const char* reason;
};

}  // namespace

TEST_CASE("proofs with gaps, deletions, comments and other white space are accepted") {
  const std::string proofs[] = {
      "11 -7 0 1 10 0 | 12 -4 -2 0 11 6 0 | 13 -2 0 11 4 12 3 7 0 | 14 0 11 13 2 5 8 9 3 0",
      // As CaDiCaL numbers them: by clauses that it has learnt, not by those that it keeps.
      "20 -7 0 1 10 0 | 35 -4 -2 0 20 6 0 | 100 -2 0 20 4 35 3 7 0 "
      "| 2000000000 0 20 100 2 5 8 9 3 0",
      "11 -7 0 1 10 0 | 11 d 10 0 | 12 -4 -2 0 11 6 0 | 12 d 6 0 | 13 -2 0 11 4 12 3 7 0 "
      "| 13 d 4 12 7 0 | 14 0 11 13 2 5 8 9 3 0",
      // The number of a deletion says nothing.
      "0 d 0 | 11 -7 0 1 10 0 | 5 d 10 0 | 13 -4 -2 0 11 6 0 | 14 -2 0 11 4 13 3 7 0 "
      "| 99 0 11 14 2 5 8 9 3 0 | 99 d 1 2 99 0",
      "c by hand | c | 11 -7 0 1 10 0 | c 12 7 0 1 0 | 12 -4 -2 0 11 6 0 | 13 -2 0 11 4 12 3 7 0 "
      "| 14 0 11 13 2 5 8 9 3 0 | c end",
      "11 -7 0 1 10 0 12 -4 -2 0 11 6 0\t13 -2 0\r\n11 4 12 3 7 0 \n\n  14\n0  11 13 2 5 8 9 3 0 "
      "\n",
      // What comes after the empty clause has to be right, and changes nothing.
      "11 -7 0 1 10 0 | 12 -4 -2 0 11 6 0 | 13 -2 0 11 4 12 3 7 0 | 14 0 11 13 2 5 8 9 3 0 "
      "| 15 -7 0 1 10 0"};
  for (const std::string& proof : proofs) {
    const kernel::Result result = judge_proof(proof);
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, proof, ": ", result.reason);
  }
}

TEST_CASE("no proof is accepted that uses what is deleted, unknown or numbered twice") {
  const std::string rest = " | 12 -4 -2 0 11 6 0 | 13 -2 0 11 4 12 3 7 0 | 14 0 11 13 2 5 8 9 3 0";
  const std::string whole = "11 -7 0 1 10 0" + rest;
  const std::string to_end = "11 -7 0 1 10 0 | 12 -4 -2 0 11 6 0 | 13 -2 0 11 4 12 3 7 0";
  const Text wrong[] = {
      {"10 d 1 0 | " + whole, "step 11: hint refers to a deleted clause"},
      {"11 -7 0 1 10 0 | 11 d 11 0" + rest, "step 12: hint refers to a deleted clause"},
      {"10 d 10 10 0 | " + whole, "step 10: deletion refers to a deleted clause"},
      {"10 d 6 0 | 10 d 6 0 | " + whole, "step 10: deletion refers to a deleted clause"},
      {"10 d 11 0 | " + whole, "step 10: deletion refers to no earlier clause"},
      {"10 d 0 | 10 d -1 0 | " + whole, "step 10: deletion refers to no earlier clause"},
      {"20 -7 0 1 10 0 | 20 d 15 0", "step 20: deletion refers to no earlier clause"},
      // A number again, a clause's own, a smaller one, and none.
      {"11 -7 0 1 10 0 | 11 -4 -2 0 11 6 0", "step 11: step number is not above"},
      {"10 -7 0 1 10 0" + rest, "step 10: step number is not above"},
      {"1 -7 0 1 10 0" + rest, "step 1: step number is not above"},
      {"20 -7 0 1 10 0 | 19 -4 -2 0 20 6 0", "step 19: step number is not above"},
      {"0 -7 0 1 10 0" + rest, "step 0: step number is not above"},
      {"-11 -7 0 1 10 0" + rest, "step -11: step number is not above"},
      {"11 -7 0 1 10 0 | 11 d 11 0 | 11 -7 0 1 10 0" + rest, "step 11: step number is not above"},
      // Hints into a gap, to the step itself, and forward.
      {"20 -7 0 1 10 0 | 35 -4 -2 0 11 6 0", "step 35: hint refers to no earlier clause"},
      {"20 -7 0 1 10 0 | 35 -4 -2 0 34 6 0", "step 35: hint refers to no earlier clause"},
      {"20 -7 0 20 10 0", "step 20: hint refers to no earlier clause"},
      {"20 -7 0 21 10 0 | 21 -7 0 1 10 0", "step 20: hint refers to no earlier clause"},
      {to_end + " | 14 0 2147483647 0", "step 14: hint refers to no earlier clause"},
      // RAT, and too few hints.
      {"11 -7 0 -10 1 0" + rest, "step 11: hint refers to no earlier clause"},
      {"11 -7 0 0" + rest, "step 11: hints do not end in a conflict"},
      {to_end + " | 14 0 0", "step 14: hints do not end in a conflict"},
      {to_end, "does not derive the empty clause"},
      {"c 14 0 11 13 2 5 8 9 3 0", "does not derive the empty clause"},
      {to_end + " | c 14 0 11 13 2 5 8 9 3 0", "does not derive the empty clause"},
      {"11 d 0", "does not derive the empty clause"}};
  for (const auto& [text, reason] : wrong) {
    const kernel::Result result = judge_proof(text);
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Rejected, text, ": ", result.reason);
    CHECK_MESSAGE(result.reason.find(reason) != std::string::npos, text, ": ", result.reason);
  }
}

TEST_CASE("a proof is numbers and white space, with words and comments at their places only") {
  const std::string rest = " | 12 -4 -2 0 11 6 0 | 13 -2 0 11 4 12 3 7 0 | 14 0 11 13 2 5 8 9 3 0";
  for (const std::string start : {"11 -7 -0 1 10 0",
                                  "11 -7 0 1 10 -0",
                                  "011 -7 0 1 10 0",
                                  "11 -07 0 1 10 0",
                                  "11 -7 00 1 10 0",
                                  "+11 -7 0 1 10 0",
                                  "11 - 7 0 1 10 0",
                                  "11 --7 0 1 10 0",
                                  "11 -7 0 1 10 0 c x",
                                  " c x | 11 -7 0 1 10 0",
                                  "cx | 11 -7 0 1 10 0",
                                  "C x | 11 -7 0 1 10 0",
                                  "11 -7 | c x | 0 1 10 0",
                                  "11 -7 0 1 1e1 0",
                                  "11 -7 0 1 0xa 0",
                                  "11 -7.0 0 1 10 0",
                                  "4294967307 -7 0 1 10 0",
                                  "11 -2147483648 0 1 10 0",
                                  "d 10 0 | 11 -7 0 1 10 0",
                                  "11 D 10 0 | 11 -7 0 1 10 0",
                                  "11 dd 10 0",
                                  "11 d d 0",
                                  "a 11 -7 0 1 10 0",
                                  "11\v-7 0 1 10 0",
                                  "11\xc2\xa0-7 0 1 10 0",
                                  "%"}) {
    const kernel::Result result = judge_proof(start + rest);
    CHECK_MESSAGE(word(result.verdict) == "not-a-certificate", start, ": ", result.reason);
  }
  const std::string whole = lines("11 -7 0 1 10 0" + rest);
  for (const std::string& text :
       {whole.substr(0, whole.size() - 1), whole.substr(0, whole.size() - 2), whole + "15",
        whole + "15\n", whole + "15 d 1\n", whole + "c"}) {
    CHECK(word(judge("proof.lrat", text).verdict) == "not-a-certificate");
  }
}

TEST_CASE("problem.cnf is DIMACS: clauses end at 0, wherever lines end") {
  for (const std::string& text :
       {dimacs("p cnf 8 10\n", " ", "\n"), dimacs("p cnf 8 10\n", " ", " ") + "\n",
        dimacs("c by hand\nc\np cnf 8 10\nc then\n", " ", "\nc and then\n"),
        dimacs("p  cnf\t8 10\r\n", "\n", "\r\n"), dimacs("p cnf 8 10 ", "  ", "\t")}) {
    const kernel::Result result = judge("problem.cnf", text);
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, text, result.reason);
  }
  for (const std::string& text :
       {dimacs("p cnf 8 10\n", " ", "\n").replace(11, 3, "1 -0"),
        dimacs("p cnf 8 010\n", " ", "\n"), dimacs("p cnf 8 10\n", " ", "\n") + "%\n0\n",
        dimacs("p dnf 8 10\n", " ", "\n"), dimacs("pcnf 8 10\n", " ", "\n"),
        dimacs("p cnf 8\n", " ", "\n"), dimacs("", " ", "\n"),
        dimacs("p cnf 8 10\n", " ", "\n") + "c", dimacs("p cnf -8 10\n", " ", "\n"),
        dimacs("p cnf 8 10\n", " ", "\n") + "0\n", dimacs("p cnf 8 11\n", " ", "\n"),
        dimacs("p cnf 8 10\np cnf 8 10\n", " ", "\n"), dimacs("p cnf 8 10\n", " ", "x\n")}) {
    const kernel::Result result = judge("problem.cnf", text);
    CHECK_MESSAGE(word(result.verdict) == "not-a-certificate", text, result.reason);
  }
}
