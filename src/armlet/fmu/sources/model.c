/* @mark */

#include "model.h"

#include "dynamics.h"

#include <math.h>
#include <string.h>

const Variable model_variables[MODEL_VARIABLES] = {
@variables
};

static const Values at_start = {
@starts
};

void model_reset(Values *x) { *x = at_start; }

void model_evaluate(Values *x)
{
@calls
}

@step
