#include <math.h>

/* 2M 2A, 2 cos */
void gravity_torque(const double q[2], double out[2])
{
    const double v0 = q[0];
    const double v1 = q[1];
    const double v2 = v0 + v1;
    const double v3 = cos(v0);
    const double v4 = cos(v2);
    const double v5 = 4.905 * v4;
    const double v6 = 14.715 * v3 + v5;
    out[0] = v6;
    out[1] = v5;
}
