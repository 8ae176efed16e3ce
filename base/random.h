/* Random numbers as a function of (seed, stream, counter), without a state, so any thread may draw
 * any number. The bits are the same on every device. Philox 4x32-10 of Salmon, Moraes, Dror & Shaw
 * 2011, "Parallel random numbers: as easy as 1, 2, 3". */
#pragma once

#include "base/portable.h"

#include <stdint.h>

/* Ten rounds on a 128-bit counter (four words, the lowest first) with a 64-bit
 * key; the counter is replaced by the result. */
CVTM_HD void cvtm_philox(uint32_t word[4], uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = UINT64_C(0xD2511F53) * word[0];
    const uint64_t product1 = UINT64_C(0xCD9E8D57) * word[2];
    word[0] = (uint32_t)(product1 >> 32) ^ word[1] ^ key0;
    word[1] = (uint32_t)product1;
    word[2] = (uint32_t)(product0 >> 32) ^ word[3] ^ key1;
    word[3] = (uint32_t)product0;
    key0 += UINT32_C(0x9E3779B9);
    key1 += UINT32_C(0xBB67AE85);
  }
}

/* A bijection of 64-bit numbers: the finaliser of splitmix64 (Steele, Lea & Flood 2014). */
CVTM_HD uint64_t cvtm_mix_bits(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* Two independent words of 64 random bits. */
CVTM_HD void cvtm_random_bits(uint64_t seed, uint64_t stream, uint64_t counter, uint64_t bits[2]) {
  uint32_t word[4];
  word[0] = (uint32_t)counter;
  word[1] = (uint32_t)(counter >> 32);
  word[2] = (uint32_t)stream;
  word[3] = (uint32_t)(stream >> 32);
  cvtm_philox(word, (uint32_t)seed, (uint32_t)(seed >> 32));
  bits[0] = (uint64_t)word[1] << 32 | word[0];
  bits[1] = (uint64_t)word[3] << 32 | word[2];
}

/* The upper 53 bits as a multiple of 2^-53 in [0, 1). */
CVTM_HD double cvtm_random_to_unit(uint64_t bits) {
  return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

/* Uniform in [0, 1), all 53 bits random. */
CVTM_HD double cvtm_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter) {
  uint64_t bits[2];
  cvtm_random_bits(seed, stream, counter, bits);
  return cvtm_random_to_unit(bits[0]);
}

/* (cos, sin) of the angle 2 pi turn, 0 <= turn <= 1, with an error of about 1e-16. Only sums,
 * products and quotients are used, so the bits are the same with every C library and on every
 * device; if the starts differed in their last bits, descents would end at different sites. */
CVTM_HD void cvtm_random_direction(double turn, double direction[2]) {
  const int quarter = (int)(4 * turn + 0.5);
  const double x = 6.283185307179586 * (turn - 0.25 * quarter), square = x * x;
  double c = 1, s = 1; /* Taylor's series for |x| <= pi / 4 */
  for (int k = 16; k > 0; k -= 2) {
    c = 1 - square / (k * (k - 1)) * c;
    s = 1 - square / (k * (k + 1)) * s;
  }
  s *= x;
  direction[0] = quarter % 4 == 0 ? c : quarter % 4 == 1 ? -s : quarter % 4 == 2 ? -c : s;
  direction[1] = quarter % 4 == 0 ? s : quarter % 4 == 1 ? c : quarter % 4 == 2 ? -s : -c;
}

/* Two independent numbers, uniform in [0, 1); the first equals the result of
 * cvtm_random_uniform. */
CVTM_HD void cvtm_random_uniform2(uint64_t seed, uint64_t stream, uint64_t counter,
                                  double uniform[2]) {
  uint64_t bits[2];
  cvtm_random_bits(seed, stream, counter, bits);
  uniform[0] = cvtm_random_to_unit(bits[0]);
  uniform[1] = cvtm_random_to_unit(bits[1]);
}
