/* Sine and cosine, off by at most 2 units in the last place; beyond 100000.0 those of libm. */
@qualifier void armlet_sincos(double x, double *sine, double *cosine)
{
    if (!(fabs(x) <= 100000.0)) {
        *sine = sin(x);
        *cosine = cos(x);
        return;
    }
    const double t = fma(x, 0.6366197723675814, 6755399441055744.0);
    const double k = t - 6755399441055744.0;
    const int quadrant = (int)k;
    const double r0 = fma(k, -1.5707963267948966, x);
    const double r1 = fma(k, -6.123233995736765e-17, r0);
    const double r = fma(k, -1.082856673921914e-32, r1);
    const double z = r * r;
    double p = 1.58969099521155e-10;
    p = fma(p, z, -2.5050760253406863e-08);
    p = fma(p, z, 2.7557313707070068e-06);
    p = fma(p, z, -0.0001984126982985795);
    p = fma(p, z, 0.00833333333332249);
    p = fma(p, z, -0.16666666666666632);
    const double odd = r * z;
    const double small = copysign(fma(odd, p, r), r);
    double s = -1.1359647557788195e-11;
    s = fma(s, z, 2.087572321298175e-09);
    s = fma(s, z, -2.7557314351390663e-07);
    s = fma(s, z, 2.480158728947673e-05);
    s = fma(s, z, -0.001388888888887411);
    s = fma(s, z, 0.0416666666666666);
    const double half = z * 0.5;
    const double w = 1.0 - half;
    const double rest = 1.0 - w - half;
    const double square = z * z;
    const double tail = fma(square, s, rest);
    const double large = w + tail;
    const double u = (quadrant & 1) ? large : small;
    const double v = (quadrant & 1) ? small : large;
    *sine = (quadrant & 2) ? -u : u;
    *cosine = ((quadrant + 1) & 2) ? -v : v;
}
