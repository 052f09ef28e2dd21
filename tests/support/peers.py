"""Pinocchio and MuJoCo with the methods of a robot and its order of joints."""

import mujoco
import numpy as np
import pinocchio as pin


class Pinocchio:
    """A model of Pinocchio, or that of a URDF text, with the joint order and the q of a robot."""

    def __init__(self, source, joint_names, gravity, mimic=False):
        is_text = isinstance(source, str)
        self.model = pin.buildModelFromXML(source, mimic=mimic) if is_text else source
        self.model.gravity.linear[:] = np.asarray(gravity, float)
        self.data = self.model.createData()
        joints = [self.model.joints[self.model.getJointId(name)] for name in joint_names]
        self.joints = joints
        self.v_index = [k for x in joints for k in range(x.idx_v, x.idx_v + x.nv)]

    def velocity(self, qd):
        v = np.zeros(self.model.nv)
        v[self.v_index] = qd
        return v

    def configuration(self, q):
        full, values = np.zeros(self.model.nq), iter(q)
        for joint in self.joints:
            own = [next(values) for _ in range(1 if joint.nq == 2 else joint.nq)]
            full[joint.idx_q : joint.idx_q + joint.nq] = (
                (np.cos(own[0]), np.sin(own[0])) if joint.nq == 2 else own
            )
        return full

    def inverse_dynamics(self, q, qd, qdd):
        state = self.configuration(q), self.velocity(qd), self.velocity(qdd)
        return pin.rnea(self.model, self.data, *state)[self.v_index]

    def forward_dynamics(self, q, qd, tau):
        state = self.configuration(q), self.velocity(qd), self.velocity(tau)
        return pin.aba(self.model, self.data, *state)[self.v_index]

    def linearization(self, q, qd, qdd):
        """The derivatives of the torques by qdd, qd and q."""
        state = self.configuration(q), self.velocity(qd), self.velocity(qdd)
        by_q, by_qd, by_qdd = pin.computeRNEADerivatives(self.model, self.data, *state)
        by_qdd = np.triu(by_qdd) + np.triu(by_qdd, 1).T
        at = np.ix_(self.v_index, self.v_index)
        return by_qdd[at], by_qd[at], by_q[at]

    def forward_linearization(self, q, qd, tau):
        """The derivatives of the accelerations by q, qd and tau."""
        state = self.configuration(q), self.velocity(qd), self.velocity(tau)
        by_q, by_qd, by_tau = pin.computeABADerivatives(self.model, self.data, *state)
        by_tau = np.triu(by_tau) + np.triu(by_tau, 1).T
        at = np.ix_(self.v_index, self.v_index)
        return by_q[at], by_qd[at], by_tau[at]

    def regressor(self, q, qd, qdd):
        """The torques for unit inertial parameters of each joint's body.

        The parameters are Pinocchio's: m, mx, my, mz, Jxx, Jxy, Jyy, Jxz, Jyz, Jzz in the joint's
        axes and about its origin.
        """
        state = self.configuration(q), self.velocity(qd), self.velocity(qdd)
        return pin.computeJointTorqueRegressor(self.model, self.data, *state)[self.v_index]

    def wrench_torque(self, q, frame, wrench):
        """The joint torques at which a frame exerts a wrench (moment, force) on the world."""
        Jq = self._jacobian(q, frame, pin.LOCAL)
        return Jq.T @ wrench

    def inertia_matrix(self, q):
        M = pin.crba(self.model, self.data, self.configuration(q))
        M = np.triu(M) + np.triu(M, 1).T
        return M[np.ix_(self.v_index, self.v_index)]

    def bias(self, q, qd):
        state = self.configuration(q), self.velocity(qd)
        return pin.nonLinearEffects(self.model, self.data, *state)[self.v_index]

    def gravity_torque(self, q):
        g = pin.computeGeneralizedGravity(self.model, self.data, self.configuration(q))
        return g[self.v_index]

    def forward_kinematics(self, q, frame):
        pin.framesForwardKinematics(self.model, self.data, self.configuration(q))
        return self.data.oMf[self.model.getFrameId(frame)].homogeneous

    def jacobian(self, q, frame):
        return self._jacobian(q, frame, pin.LOCAL_WORLD_ALIGNED)

    def _jacobian(self, q, frame, axes):
        Jq = pin.computeFrameJacobian(
            self.model, self.data, self.configuration(q), self.model.getFrameId(frame), axes
        )
        Jq = Jq.reshape(6, -1)  # with a single joint, Pinocchio returns a vector
        return np.vstack([Jq[3:], Jq[:3]])[:, self.v_index]

    def inverse_inertia_matrix(self, q):
        inverse = pin.computeMinverse(self.model, self.data, self.configuration(q))
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        return inverse[np.ix_(self.v_index, self.v_index)]

    def frame_velocity(self, q, qd, frame):
        pin.forwardKinematics(self.model, self.data, self.configuration(q), self.velocity(qd))
        index = self.model.getFrameId(frame)
        found = pin.getFrameVelocity(self.model, self.data, index, pin.LOCAL_WORLD_ALIGNED)
        return np.concatenate([found.angular, found.linear])

    def frame_acceleration(self, q, qd, qdd, frame):
        state = self.configuration(q), self.velocity(qd), self.velocity(qdd)
        pin.forwardKinematics(self.model, self.data, *state)
        found = pin.getFrameClassicalAcceleration(
            self.model, self.data, self.model.getFrameId(frame), pin.LOCAL_WORLD_ALIGNED
        )
        return np.concatenate([found.angular, found.linear])

    def frame_acceleration_bias(self, q, qd, frame):
        return self.frame_acceleration(q, qd, np.zeros(len(qd)), frame)

    def jacobian_rate(self, q, qd, frame):
        state = self.configuration(q), self.velocity(qd)
        pin.computeJointJacobiansTimeVariation(self.model, self.data, *state)
        pin.updateFramePlacements(self.model, self.data)
        rate = pin.getFrameJacobianTimeVariation(
            self.model, self.data, self.model.getFrameId(frame), pin.LOCAL_WORLD_ALIGNED
        ).reshape(6, -1)
        return np.vstack([rate[3:], rate[:3]])[:, self.v_index]

    def centre_of_mass(self, q):
        return pin.centerOfMass(self.model, self.data, self.configuration(q))

    def centre_of_mass_jacobian(self, q):
        Jc = pin.jacobianCenterOfMass(self.model, self.data, self.configuration(q))
        return Jc.reshape(3, -1)[:, self.v_index]

    def momentum(self, q, qd):
        found = pin.computeCentroidalMomentum(
            self.model, self.data, self.configuration(q), self.velocity(qd)
        )
        angular = found.angular + np.cross(self.data.com[0], found.linear)
        return np.concatenate([angular, found.linear])

    def energy(self, q, qd):
        q, v = self.configuration(q), self.velocity(qd)
        kinetic = pin.computeKineticEnergy(self.model, self.data, q, v)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, q)


BALL, PRISMATIC, REVOLUTE = 1, 2, 3
"""MuJoCo's joint types."""
ORDER_IN_QPOS = {BALL: (1, 2, 3, 0), PRISMATIC: (0,), REVOLUTE: (0,)}
"""Where MuJoCo, whose quaternions are w x y z, has the positions of a joint."""
VELOCITIES = {BALL: 3, PRISMATIC: 1, REVOLUTE: 1}


class Mujoco:
    """MuJoCo's model of a URDF or MJCF text, with the joint order of a robot."""

    def __init__(self, text, joint_names, gravity):
        self.model = mujoco.MjModel.from_xml_string(text)
        self.model.opt.gravity[:] = np.asarray(gravity, float)
        self.data = mujoco.MjData(self.model)
        joints = [self.model.joint(name) for name in joint_names]
        self.q_index = [x.qposadr[0] + k for x in joints for k in ORDER_IN_QPOS[x.type[0]]]
        self.index = [x.dofadr[0] + k for x in joints for k in range(VELOCITIES[x.type[0]])]

    def _set(self, q, qd, qdd):
        self.data.qpos[self.q_index] = q
        self.data.qvel[self.index] = qd
        self.data.qacc[self.index] = qdd
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_crb(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)

    def inverse_dynamics(self, q, qd, qdd):
        self._set(q, qd, qdd)
        tau = np.zeros(self.model.nv)
        mujoco.mj_rne(self.model, self.data, 1, tau)
        return tau[self.index]

    def bias(self, q, qd):
        return self.inverse_dynamics(q, qd, np.zeros(len(qd)))

    def gravity_torque(self, q):
        return self.bias(q, np.zeros(self.model.nv))

    def forward_dynamics(self, q, qd, tau):
        self._set(q, qd, 0)
        self.data.qfrc_applied[self.index] = tau
        mujoco.mj_forward(self.model, self.data)
        return self.data.qacc[self.index]

    def site_pose(self, q, name):
        self._set(q, 0, 0)
        X, at = np.eye(4), self.data.site(name)
        X[:3, :3], X[:3, 3] = at.xmat.reshape(3, 3), at.xpos
        return X

    def inertia_matrix(self, q):
        self._set(q, 0, 0)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return M[np.ix_(self.index, self.index)]
