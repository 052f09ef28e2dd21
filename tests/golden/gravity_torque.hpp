#include <cmath>

/* 2M 2A, 2 cos */
template <typename T>
inline void gravity_torque(const T q[2], T out[2])
{
    using std::cos;
    using std::sin;
    using std::sqrt;
    const T v0 = q[0];
    const T v1 = q[1];
    const T v2 = v0 + v1;
    const T v3 = cos(v0);
    const T v4 = cos(v2);
    const T v5 = T(4.905) * v4;
    const T v6 = T(14.715) * v3 + v5;
    out[0] = v6;
    out[1] = v5;
}
