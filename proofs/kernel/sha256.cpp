// The hash that names claims and finds accidents.

#include <array>
#include <bit>
#include <cstdint>

#include "proofs/kernel/certificate.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#define P2_SHA_INSTRUCTIONS
#endif

namespace p2 {
namespace {

using Word = std::uint32_t;
using Digest = std::array<Word, 8>;

constexpr std::array<Word, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using Block = std::array<Word, 16>;

/// One of eight rounds, after which every word has the part that its neighbour had before.
inline void add_round(Word a, Word b, Word c, Word& d, Word e, Word f, Word g, Word& h, Word k) {
  const Word t1 =
      h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + (g ^ (e & (f ^ g))) + k;
  d += t1;
  h = t1 + (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
}

/// Word i of the message schedule, in place of word i - 16.
inline Word scheduled(Block& w, std::size_t i) {
  const Word a = w[(i + 1) % 16];
  const Word b = w[(i + 14) % 16];
  return w[i % 16] += (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3U) + w[(i + 9) % 16] +
                      (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10U);
}

void add_blocks(const char* bytes, std::size_t count, Digest& digest) {
  for (; count > 0; --count, bytes += 64) {
    Block w{};
    for (std::size_t i = 0; i < 64; ++i)
      w[i / 4] = w[i / 4] << 8U | static_cast<std::uint8_t>(bytes[i]);
    auto [a, b, c, d, e, f, g, h] = digest;
    for (std::size_t i = 0; i < 64; i += 8) {
      const auto word = [&](std::size_t k) {
        return kRounds[i + k] + (i < 16 ? w[i + k] : scheduled(w, i + k));
      };
      add_round(a, b, c, d, e, f, g, h, word(0));
      add_round(h, a, b, c, d, e, f, g, word(1));
      add_round(g, h, a, b, c, d, e, f, word(2));
      add_round(f, g, h, a, b, c, d, e, word(3));
      add_round(e, f, g, h, a, b, c, d, word(4));
      add_round(d, e, f, g, h, a, b, c, word(5));
      add_round(c, d, e, f, g, h, a, b, word(6));
      add_round(b, c, d, e, f, g, h, a, word(7));
    }
    const Digest sum = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) digest[i] += sum[i];
  }
}

#ifdef P2_SHA_INSTRUCTIONS

/// The same by the SHA extensions of x86, two rounds an instruction, which want the digest as
/// (f, e, b, a) and (h, g, d, c).
__attribute__((target("sha,sse4.1"))) void add_blocks_by_instructions(const char* bytes,
                                                                      std::size_t count,
                                                                      Digest& digest) {
  const auto set = [](Word a, Word b, Word c, Word d) {
    return _mm_set_epi32(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c),
                         static_cast<int>(d));
  };
  const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i abef = set(digest[0], digest[1], digest[4], digest[5]);
  __m128i cdgh = set(digest[2], digest[3], digest[6], digest[7]);
  for (; count > 0; --count, bytes += 64) {
    const __m128i first = abef;
    const __m128i second = cdgh;
    __m128i w[4];
    for (std::size_t i = 0; i < 16; ++i) {
      __m128i& next = w[i % 4];
      if (i < 4) {
        next =
            _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i), order);
      } else {
        const __m128i& last = w[(i + 3) % 4];
        next = _mm_add_epi32(_mm_sha256msg1_epu32(next, w[(i + 1) % 4]),
                             _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
        next = _mm_sha256msg2_epu32(next, last);
      }
      const __m128i words = _mm_add_epi32(
          next, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kRounds.data()) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
    }
    abef = _mm_add_epi32(abef, first);
    cdgh = _mm_add_epi32(cdgh, second);
  }
  alignas(16) std::array<Word, 8> all{};
  _mm_store_si128(reinterpret_cast<__m128i*>(all.data()), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(all.data() + 4), cdgh);
  digest = {all[3], all[2], all[7], all[6], all[1], all[0], all[5], all[4]};
}

bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_SSE4_1) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

#endif

}  // namespace

std::string sha256(std::string_view bytes, bool is_portable) {
  Digest digest = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  auto* add = add_blocks;
#ifdef P2_SHA_INSTRUCTIONS
  if (!is_portable && has_instructions()) add = add_blocks_by_instructions;
#else
  static_cast<void>(is_portable);
#endif
  const std::size_t whole = bytes.size() / 64 * 64;
  add(bytes.data(), whole / 64, digest);
  std::string tail(bytes.substr(whole));
  tail += '\x80';
  tail.append((119 - bytes.size() % 64) % 64, '\0');
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    tail += static_cast<char>(std::uint64_t{bytes.size()} * 8 >> (shift - 8) & 255U);
  }
  add(tail.data(), tail.size() / 64, digest);
  std::string hex;
  for (const Word word : digest) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 15U];
  }
  return hex;
}

}  // namespace p2
