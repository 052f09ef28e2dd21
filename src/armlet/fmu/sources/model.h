/* @mark
 * @about
 */

#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>

#define MODEL_TOKEN "@token"
#define MODEL_VARIABLES @count

/* Names of their own, so that several units can be linked into one program. */
#define model_variables @{name}_variables
#define model_reset @{name}_reset
#define model_start @{name}_start
#define model_evaluate @{name}_evaluate
#define model_step @{name}_step

/* The values of all variables, in the order of their value references; matrices row by row. */
typedef struct {
@fields
} Values;

/* A fixed parameter is set before the first step, a tunable one and an input at any time. */
typedef enum { INDEPENDENT, INPUT, FIXED, TUNABLE, OUTPUT } Kind;

typedef struct {
    const char *name;
    size_t offset; /* of its first entry in Values */
    size_t count;
    Kind kind;
} Variable;

extern const Variable model_variables[MODEL_VARIABLES];

/* Give all variables their start values. */
void model_reset(Values *x);

/* Compute the state from parameters, before the first step. */
void model_start(Values *x);

/* Compute the outputs. */
void model_evaluate(Values *x);

/* Advance the state by a duration, inputs held; returns NULL, or what is out of range. */
const char *model_step(Values *x, double duration);

#endif
