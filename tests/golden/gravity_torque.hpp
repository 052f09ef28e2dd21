#include <cmath>

/* 2M 2A, 2 cos */
template <typename T>
inline void gravity_torque(const T q[2], T out[2])
{
    using std::cos;
    using std::sin;
    using std::sqrt;
    const T v0 = q[0];
    const T v1 = cos(v0);
    const T v2 = T(14.715) * v1;
    const T v3 = q[1];
    const T v4 = v0 + v3;
    const T v5 = cos(v4);
    const T v6 = T(4.905) * v5;
    const T v7 = v2 + v6;
    out[0] = v7;
    out[1] = v6;
}
