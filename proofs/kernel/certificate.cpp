#include "proofs/kernel/certificate.h"

#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <new>

#include "proofs/kernel/claims.h"

namespace p2 {
namespace {

using Word = std::uint32_t;

constexpr std::array<Word, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void add_block(std::string_view block, std::array<Word, 8>& digest) {
  std::array<Word, 64> w{};
  for (std::size_t i = 0; i < 64; ++i)
    w[i / 4] = w[i / 4] << 8U | static_cast<std::uint8_t>(block[i]);
  for (std::size_t i = 16; i < 64; ++i) {
    const Word a = w[i - 15];
    const Word b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3U) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10U);
  }
  auto [a, b, c, d, e, f, g, h] = digest;
  for (std::size_t i = 0; i < 64; ++i) {
    const Word t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                    ((e & f) ^ (~e & g)) + kRounds[i] + w[i];
    const Word t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<Word, 8> sum = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) digest[i] += sum[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::array<Word, 8> digest = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::size_t whole = bytes.size() / 64 * 64;
  for (std::size_t i = 0; i < whole; i += 64) add_block(bytes.substr(i, 64), digest);
  std::string tail(bytes.substr(whole));
  tail += '\x80';
  tail.append((119 - bytes.size() % 64) % 64, '\0');
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    tail += static_cast<char>(std::uint64_t{bytes.size()} * 8 >> (shift - 8) & 255U);
  }
  for (std::size_t i = 0; i < tail.size(); i += 64) {
    add_block(std::string_view(tail).substr(i, 64), digest);
  }
  std::string hex;
  for (const Word word : digest) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 15U];
  }
  return hex;
}

namespace {

namespace fs = std::filesystem;
using namespace kernel;

constexpr std::size_t kMaxFiles = 8;

Files read_folder(const std::string& path) try {
  Files files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (!fs::is_regular_file(entry.symlink_status())) malformed(name + " is not a regular file");
    if (entry.file_size() > largest_file(name)) malformed(name + " is too large");
    if (files.size() == kMaxFiles) malformed("the folder has too many files");
    std::string bytes(entry.file_size(), '\0');
    std::ifstream file(entry.path(), std::ios::binary);
    if (!file.read(bytes.data(), std::ssize(bytes))) malformed(name + " cannot be read");
    files.emplace(name, std::move(bytes));
  }
  return files;
} catch (const fs::filesystem_error&) {
  malformed("the folder cannot be read");
}

/// All files are text.
void check_bytes(const Files& files) {
  for (const auto& [name, bytes] : files) {
    if (bytes.find('\0') != std::string::npos) malformed(name + ": NUL byte");
    if (bytes.starts_with("\xEF\xBB\xBF")) malformed(name + ": byte order mark");
  }
}

/// The manifest's seal is the hash of its own bytes with the digits of the seal replaced by zeros.
void check_seal(std::string manifest, const std::string& seal) {
  const std::size_t at = manifest.find(seal);
  if (seal.size() != 64 || at == std::string::npos) malformed("manifest.json: malformed seal");
  manifest.replace(at, seal.size(), seal.size(), '0');
  if (sha256(manifest) != seal) reject("manifest.json: seal mismatch");
}

/// Checks form and hashes of the folder; returns its claim and takes the manifest out.
std::string check_manifest(Files& files) {
  if (!files.contains("manifest.json")) malformed("manifest.json is missing");
  const Json root = parse_json(files, "manifest.json");
  expect_keys(root, {"schema", "claim", "tools", "seed", "options", "files", "seal"});
  if (root["schema"] != "p2-certificate/1") malformed("schema is not p2-certificate/1");
  for (const char* key : {"tools", "options", "files"}) {
    if (!root[key].is_object()) malformed(std::string(key) + " is not an object");
    for (const Json& value : root[key]) as_text(value);
  }
  if (!root["seed"].is_number_unsigned()) malformed("seed is not a number");
  check_seal(files.at("manifest.json"), as_text(root["seal"]));
  std::string claim = as_text(root["claim"]);
  const std::vector<std::string> names = kernel::files_of(claim, files);
  expect_keys(root["files"], names);
  if (files.size() != names.size() + 1) malformed("unexpected file in the folder");
  for (const std::string& name : names) {
    if (!files.contains(name)) malformed(name + " is missing");
    if (root["files"][name] != sha256(files.at(name))) reject(name + ": hash mismatch");
  }
  files.erase("manifest.json");
  return claim;
}

/// Checks what `read` returns.
template <typename Read>
Result check(const Read& read, const std::optional<std::string>& question) try {
  Files files = read();
  check_bytes(files);
  const std::string claim = check_manifest(files);
  if (question)
    compare_question(claim, files, parse_json({{"the question", *question}}, "the question"));
  return {Verdict::Accepted, check_claim(claim, files)};
} catch (const CheckFailure& objection) {
  return {objection.verdict, objection.what()};
} catch (const std::bad_alloc&) {
  return {Verdict::Incomplete, "out of memory"};
}

}  // namespace

std::size_t largest_file(std::string_view name) {
  return name.ends_with(".json") ? kLargestJson : std::size_t{512} << 20U;
}

Result check_certificate(const Files& files, const std::optional<std::string>& question) {
  return check([&] { return files; }, question);
}
Result check_folder(const std::string& path, const std::optional<std::string>& question) {
  return check([&] { return read_folder(path); }, question);
}

}  // namespace p2
