#include "tests/onesided/plans.h"

#include <random>
#include <sstream>

namespace p2::onesided {

std::vector<std::string> small_plans() {
  return {// One-shot all-reduce.
          R"(plan allreduce ranks 2
buffer s 2
counter c per peer
rank all:
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  for p in all: put s@p[r] <- i[0]
  for p in all except r: signal c @p
  for p in all except r: wait c from p
  reduce o[0] <- s[0] + s[1]
)",
          // The same by threads that meet.
          R"(plan allreduce ranks 2
threads
buffer s 2
counter c per peer
rank all:
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  sync
  for p in all: put s@p[r] <- i[0]
  sync
  for p in all except r: signal c @p
  for p in all except r: wait c from p
  sync
  reduce o[0] <- s[0] + s[1]
)",
          // Fences around relaxed signals.
          R"(plan allreduce ranks 2
buffer s 2
counter c per peer
rank all:
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  for p in all: put s@p[r] <- i[0]
  fence release
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  fence acquire
  reduce o[0] <- s[0] + s[1]
)",
          // Packets.
          R"(plan allreduce ranks 2
buffer s 2 packets double
rank all:
  for p in all: put_packets s@p[r] <- i[0]
  reduce o[0] <- s[0] + s[1]
)",
          R"(plan allgather ranks 3 inplace
buffer s 3 packets double
rank all block 0:
  for p in all except r: put_packets s@p[r] <- o[r]
rank all block 1..2:
  poll o[(r+b)%n] <- s[(r+b)%n]
)",
          // The proxy.
          R"(plan alltoall ranks 2
buffer s 2 double
counter n per peer
rank all block 0:
  for p in all except r: async put s@p[r] <- i[p]
  for p in all except r: async signal n @p
  copy o[r] <- i[r]
  flush
rank all block 1:
  wait n from (r+1)%n
  copy o[(r+1)%n] <- s[(r+1)%n]
)",
          // A counter that all ranks share.
          R"(plan allgather ranks 2
counter begun
counter part per peer
rank all:
  for p in all: signal begun @p relaxed
  wait begun += n relaxed
  for p in all: put o@p[r] <- i[0]
  for p in all except r: signal part @p
  for p in all except r: wait part from p
)",
          R"(plan allgather ranks 3
counter begun
counter done
rank all:
  for p in all: signal begun @p relaxed
  wait begun += n relaxed
  for p in all: put o@p[r] <- i[0]
  for p in all: signal done @p
  wait done += n
)",
          // Blocks that share a counter.
          R"(plan sendrecv ranks 2
counter c
rank all:
  signal c @(1-r) relaxed
  wait c += 1 relaxed
  put o@(1-r)[0] <- i[0]
  signal c @(1-r)
  wait c += 1
)",
          R"(plan allreduce ranks 1
buffer t 2
counter c
rank 0 block 0:
  copy t[0] <- i[0]
  signal c @0
rank 0 block 1:
  copy t[1] <- i[1]
  signal c @0
rank 0 block 2:
  wait c += 2
  copy o[0] <- t[0]
  copy o[1] <- t[1]
)",
          R"(plan allreduce ranks 1
buffer t 2
counter c
rank 0 block 0:
  copy t[0] <- i[0]
  signal c @0
  signal c @0
rank 0 block 1:
  wait c
  copy o[0] <- t[0]
rank 0 block 2:
  wait c
  copy o[1] <- i[1]
)",
          // Absolute expectations.
          R"(plan broadcast ranks 3
counter c
counter d
rank 0:
  wait c >= 2*launch+2
  for p in all: put o@p[0] <- i[0]
  for p in 1..2: signal d @p
rank 1..2:
  signal c @0 relaxed
  wait d >= launch+1
)",
          // The switch.
          R"(plan allreduce ranks 2 inplace
buffer t 1
counter c per peer
threads
rank all:
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  sync
  multimem_ld_reduce t[0] <- all i[r]
  sync
  multimem_st all i[r] <- t[0]
  sync
  for p in all except r: signal c @p
  for p in all except r: wait c from p
)",
          // Blocks of one rank that hand over.
          R"(plan sendrecv ranks 2
buffer s 1
counter c per peer
counter own
rank all block 0:
  copy s[0] <- i[0]
  barrier 0..1
rank all block 1:
  signal c @(r+1)%n relaxed
  wait c from (r+1)%n relaxed
  barrier 0..1
  put o@(r+1)%n[0] <- s[0]
  signal c @(r+1)%n
  wait c from (r+1)%n
)",
          R"(plan sendrecv ranks 2
buffer s 1
counter c per peer
counter own init 1
counter full
rank all block 0:
  wait own gpu
  copy s[0] <- i[0]
  signal full @r gpu
rank all block 1:
  signal c @(r+1)%n relaxed
  wait c from (r+1)%n
  wait full
  put o@(r+1)%n[0] <- s[0]
  signal own @r gpu
  signal c @(r+1)%n
  wait c from (r+1)%n
)",
          // Gets.
          R"(plan reducescatter ranks 2
buffer t 1
counter c per peer
rank all:
  for p in all except r: signal c @p
  for p in all except r: wait c from p
  get t[0] <- i@(r+1)%n[r]
  for p in all except r: signal c @p
  reduce o[0] <- i[r] + t[0]
  for p in all except r: wait c from p
)",
          // A ring.
          R"(plan broadcast ranks 3
buffer s 1 double
counter c per peer
rank 0:
  put s@1[0] <- i[0]
  signal c @1
  copy o[0] <- i[0]
  wait c from 2
rank 1..2:
  wait c from r-1
  copy o[0] <- s[0]
  for p in (r+1)%n except 0: put s@p[0] <- s[0]
  signal c @(r+1)%n
)"};
}

std::string mutated(const std::string& plan, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> lines;
  std::istringstream in(plan);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const auto replace = [](std::string& line, const std::string& what, const std::string& by) {
    const std::size_t at = line.find(what);
    if (at != std::string::npos) line.replace(at, what.size(), by);
  };
  const std::uint64_t changes = 1 + random() % 3;
  for (std::uint64_t change = 0; change < changes; ++change) {
    std::vector<std::size_t> statements;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      if (lines[i].starts_with("  ")) statements.push_back(i);
    }
    if (statements.size() < 2) break;
    const std::size_t at = statements[random() % statements.size()];
    switch (random() % 9) {
      case 0:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), lines[at]);
        break;
      case 2:
        if (at + 1 < lines.size() && lines[at + 1].starts_with("  ")) {
          std::swap(lines[at], lines[at + 1]);
        }
        break;
      case 3:
        replace(lines[at], " relaxed", "");
        break;
      case 4:
        if (lines[at].find("signal") != std::string::npos ||
            lines[at].find("wait") != std::string::npos) {
          if (lines[at].find("relaxed") == std::string::npos) lines[at] += " relaxed";
        }
        break;
      case 5:
        for (std::string& line : lines) {
          if (line.starts_with("buffer")) replace(line, " double", "");
        }
        break;
      case 6:
        replace(lines[at], "[0]", "[1]");
        break;
      case 7:
        replace(lines[at], "[r]", "[0]");
        break;
      default:
        replace(lines[0], random() % 2 == 0 ? " inplace" : "ranks 2",
                random() % 2 == 0 ? "" : "ranks 3");
        break;
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace p2::onesided
