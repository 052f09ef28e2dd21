#include <math.h>

/* 2M 2A, 2 cos */
void gravity_torque(const double q[2], double out[2])
{
    const double v0 = q[0];
    const double v1 = cos(v0);
    const double v2 = 14.715 * v1;
    const double v3 = q[1];
    const double v4 = v0 + v3;
    const double v5 = cos(v4);
    const double v6 = 4.905 * v5;
    const double v7 = v2 + v6;
    out[0] = v7;
    out[1] = v6;
}
