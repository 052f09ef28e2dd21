// Pinocchio's algorithms in native loops, as a shared library.
//
// open(path) reads the arm (see arm.hpp); then each function goes `count` times through 256
// states, contiguous rows of q, v and a, and leaves the result of the last call in `out`.

#include "arm.hpp"

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <memory>

using namespace pinocchio;
using Row = Eigen::Map<const Eigen::VectorXd>;

static Model model;
static std::unique_ptr<Data> data;

static double *write(const Eigen::MatrixXd &result, double *out) {
  Eigen::Map<Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(out, result.rows(), result.cols()) =
      result;
  return out + result.size();
}

static Eigen::MatrixXd inertia() { return data->M.selfadjointView<Eigen::Upper>(); }

#define LOOP(NAME, CALL, WRITE)                                                                    \
  extern "C" __attribute__((visibility("default"))) void NAME(                                     \
      const double *qs, const double *vs, const double *as, double *out, long count) {             \
    const int n = model.nv;                                                                        \
    for (long i = 0; i < count; ++i) {                                                             \
      const long k = n * (i & 255);                                                                \
      const Row q(qs + k, n), v(vs + k, n), a(as + k, n);                                          \
      CALL;                                                                                        \
    }                                                                                              \
    WRITE;                                                                                         \
  }

extern "C" __attribute__((visibility("default"))) void open_arm(const char *path) {
  model = arm(path);
  data = std::make_unique<Data>(model);
}

LOOP(inverse_dynamics, rnea(model, *data, q, v, a), write(data->tau, out))
LOOP(inertia_matrix, crba(model, *data, q, Convention::LOCAL), write(inertia(), out))
LOOP(bias, nonLinearEffects(model, *data, q, v), write(data->nle, out))
LOOP(gravity_torque, computeGeneralizedGravity(model, *data, q), write(data->g, out))
LOOP(forward_dynamics, aba(model, *data, q, v, a, Convention::LOCAL), write(data->ddq, out))
LOOP(linearization, computeRNEADerivatives(model, *data, q, v, a),
     write(data->dtau_dq, write(data->dtau_dv, write(inertia(), out))))
LOOP(regressor, computeJointTorqueRegressor(model, *data, q, v, a),
     write(data->jointTorqueRegressor, out))
