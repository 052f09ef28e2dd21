/* Sine and cosine, off by at most 2 units in the last place; beyond 100000.0 those of libm. */
@qualifier void armlet_sincos(double x, double *sine, double *cosine)
{
    if (!(fabs(x) <= 100000.0)) {
        *sine = sin(x);
        *cosine = cos(x);
        return;
    }
    const double t = x * 0.6366197723675814 + 6755399441055744.0;
    const double k = t - 6755399441055744.0;
    const int quadrant = (int)k;
    const double r0 = k * -1.5707963267341256 + x;
    const double r1 = k * -6.077100506303966e-11 + r0;
    const double lost1 = k * 6.077100506303966e-11 + (r1 - r0);
    const double r = r1 - (k * 2.0222662487959506e-21 + lost1);
    const double z = r * r;
    double p = 1.58969099521155e-10;
    p = p * z + -2.5050760253406863e-08;
    p = p * z + 2.7557313707070068e-06;
    p = p * z + -0.0001984126982985795;
    p = p * z + 0.00833333333332249;
    p = p * z + -0.16666666666666632;
    const double odd = r * z;
    const double small = copysign(odd * p + r, r);
    double s = -1.1359647557788195e-11;
    s = s * z + 2.087572321298175e-09;
    s = s * z + -2.7557314351390663e-07;
    s = s * z + 2.480158728947673e-05;
    s = s * z + -0.001388888888887411;
    s = s * z + 0.0416666666666666;
    const double half = z * 0.5;
    const double w = 1.0 - half;
    const double rest = 1.0 - w - half;
    const double square = z * z;
    const double tail = square * s + rest;
    const double large = w + tail;
    const double u = (quadrant & 1) ? large : small;
    const double v = (quadrant & 1) ? small : large;
    *sine = (quadrant & 2) ? -u : u;
    *cosine = ((quadrant + 1) & 2) ? -v : v;
}
