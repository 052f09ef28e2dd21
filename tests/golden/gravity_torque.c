#include <math.h>

/* 6M 2A, 2 cos, 2 sin */
void gravity_torque(const double q[2], double out[2])
{
    const double v0 = q[0];
    const double v1 = q[1];
    const double v2 = cos(v0);
    const double v3 = sin(v0);
    const double v4 = cos(v1);
    const double v5 = sin(v1);
    const double v6 = 9.81 * v3;
    const double v7 = 9.81 * v2;
    const double v8 = v5 * v6;
    const double v9 = v4 * v7;
    const double v10 = v9 - v8;
    const double v11 = 1.5 * v7;
    const double v12 = 0.5 * v10;
    const double v13 = v11 + v12;
    out[0] = v13;
    out[1] = v12;
}
