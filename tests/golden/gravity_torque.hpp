#include <cmath>

/* 6M 2A, 2 cos, 2 sin */
template <typename T>
inline void gravity_torque(const T q[2], T out[2])
{
    using std::cos;
    using std::sin;
    using std::sqrt;
    const T v0 = q[0];
    const T v1 = q[1];
    const T v2 = cos(v0);
    const T v3 = sin(v0);
    const T v4 = cos(v1);
    const T v5 = sin(v1);
    const T v6 = T(9.81) * v3;
    const T v7 = T(9.81) * v2;
    const T v8 = v5 * v6;
    const T v9 = v4 * v7;
    const T v10 = v9 - v8;
    const T v11 = T(1.5) * v7;
    const T v12 = T(0.5) * v10;
    const T v13 = v11 + v12;
    out[0] = v13;
    out[1] = v12;
}
