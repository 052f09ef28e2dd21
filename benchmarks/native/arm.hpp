// A Pinocchio model from text, so that no parser has to be linked.
//
// The first line is gravity; then a line a joint: its kind (RX RY RZ PX PY PZ), its parent,
// rotation (9) and translation (3) in it, mass, centre of mass (3), inertia about it (9).

#pragma once

#include <pinocchio/multibody.hpp>

#include <fstream>
#include <string>

inline pinocchio::Model arm(const char *path) {
  using namespace pinocchio;
  std::ifstream file(path);
  const auto vector = [&] {
    Eigen::Vector3d x;
    for (double &entry : x) file >> entry;
    return x;
  };
  const auto matrix = [&] {
    Eigen::Matrix3d x;
    for (double &entry : x.reshaped<Eigen::RowMajor>()) file >> entry;
    return x;
  };
  Model model;
  model.gravity.linear() = vector();
  std::string kind;
  for (JointIndex parent; file >> kind >> parent;) {
    JointModel joint;
    if (kind == "RX") joint = JointModelRX();
    if (kind == "RY") joint = JointModelRY();
    if (kind == "RZ") joint = JointModelRZ();
    if (kind == "PX") joint = JointModelPX();
    if (kind == "PY") joint = JointModelPY();
    if (kind == "PZ") joint = JointModelPZ();
    const Eigen::Matrix3d R = matrix();
    const Eigen::Vector3d r = vector();
    double mass;
    file >> mass;
    const Eigen::Vector3d com = vector();
    const Eigen::Matrix3d I = matrix();
    const auto name = "joint" + std::to_string(model.njoints);
    const JointIndex index = model.addJoint(parent, joint, SE3(R, r), name);
    model.appendBodyToJoint(index, Inertia(mass, com, I), SE3::Identity());
  }
  return model;
}
