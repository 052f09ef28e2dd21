// Pinocchio's algorithms run on CasADi's symbols, printed as C: like armlet's kernels, code for
// one arm and one quantity.
//
//   casadi MODEL NAME
//
// Writes NAME.c in the current folder, with a function for each quantity.

#include <pinocchio/autodiff/casadi.hpp>

#include "arm.hpp"

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

using casadi::SX;

template <typename Entries> SX symbols(const Entries &x) {
  SX result(casadi::Sparsity::dense(x.rows(), x.cols()));
  for (int i = 0; i < x.rows(); ++i)
    for (int j = 0; j < x.cols(); ++j) result(i, j) = x(i, j);
  return result;
}

int main(int, char **argv) {
  const auto model = arm(argv[1]).cast<SX>();
  pinocchio::DataTpl<SX> data(model);
  const SX q = SX::sym("q", model.nv), v = SX::sym("v", model.nv), a = SX::sym("a", model.nv);
  using Vector = Eigen::Matrix<SX, Eigen::Dynamic, 1>;
  Vector Q(model.nv), V(model.nv), A(model.nv);
  for (int i = 0; i < model.nv; ++i) Q[i] = q(i), V[i] = v(i), A[i] = a(i);

  casadi::CodeGenerator file(argv[2]);
  const auto add = [&](const char *name, const std::vector<SX> &results) {
    std::vector<SX> dense;
    for (const SX &result : results) dense.push_back(SX::densify(result));
    file.add(casadi::Function(name, {q, v, a}, SX::cse(dense)));
  };

  pinocchio::rnea(model, data, Q, V, A);
  add("inverse_dynamics", {symbols(data.tau)});

  pinocchio::crba(model, data, Q, pinocchio::Convention::LOCAL);
  SX H = symbols(data.M);
  add("inertia_matrix", {SX::triu2symm(SX::triu(H))});

  pinocchio::computeGeneralizedGravity(model, data, Q);
  add("gravity_torque", {symbols(data.g)});

  pinocchio::aba(model, data, Q, V, A, pinocchio::Convention::LOCAL);
  add("forward_dynamics", {symbols(data.ddq)});

  pinocchio::computeRNEADerivatives(model, data, Q, V, A);
  H = symbols(data.M);
  add("linearization", {SX::triu2symm(SX::triu(H)), symbols(data.dtau_dv), symbols(data.dtau_dq)});
  file.generate();
}
