/* @mark
 * Compares every function with reference values at @states states; returns 0 if all are met.
 */

#include "@include"

#include <math.h>
#include <stdio.h>

/* The error is relative to the largest expected value, but a value below `least` is rounding. */
static int differs(const char *name, int count, const @T *found, const double *expected,
                   double least)
{
    double scale = least;
    double largest = 0.0;
    int failed = 0;
    for (int k = 0; k < count; k++) {
        scale = fmax(scale, fabs(expected[k]));
    }
    for (int k = 0; k < count; k++) {
        const double error = fabs((double)found[k] - expected[k]) / (scale > 0.0 ? scale : 1.0);
        failed |= !(error <= @tolerance);
        largest = error <= largest ? largest : error;
    }
    printf("%s: %s, largest relative error %.1e\n", failed ? "FAILED" : "passed", name, largest);
    return failed;
}

@arguments
@checks
int main(void)
{
    int failed = 0;
@calls
    return failed;
}
