/* Native loops around the C that CasADi prints: as in pinocchio.cpp. CODE names the file. */

#include CODE

#define LOOP(NAME)                                                                                 \
  void NAME##_loop(const double *q, const double *v, const double *a, double *out, long count) {   \
    static double work[1 << 16];                                                                   \
    static casadi_int iwork[1 << 10];                                                              \
    for (long i = 0; i < count; ++i) {                                                             \
      const long k = JOINTS * (i & 255);                                                           \
      const double *arguments[16] = {q + k, v + k, a + k};                                         \
      double *results[16] = {out, out + JOINTS * JOINTS, out + 2 * JOINTS * JOINTS};               \
      NAME(arguments, results, iwork, work, 0);                                                    \
    }                                                                                              \
  }

LOOP(inverse_dynamics)
LOOP(inertia_matrix)
LOOP(gravity_torque)
LOOP(forward_dynamics)
LOOP(linearization)
