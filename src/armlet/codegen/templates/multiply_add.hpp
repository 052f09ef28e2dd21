#ifndef ARMLET_MULTIPLY_ADD
#define ARMLET_MULTIPLY_ADD
/* a b + c, rounded once; of other numbers than the language's own, as they compute it. */
template <typename T>
inline T multiply_add(const T &a, const T &b, const T &c) { return a * b + c; }
inline float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
inline double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }
inline long double multiply_add(long double a, long double b, long double c)
{
    return std::fma(a, b, c);
}
#endif
