/* What FMI 2 and FMI 3 have in common: an instance, its values and the functions on them.
 *
 * This file is included by one source alone. A function returns 1 or, after it has passed a
 * message about an error to the importer, 0.
 */

#ifndef INSTANCE_H
#define INSTANCE_H

#include "model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined _WIN32 || defined __CYGWIN__
#define EXPORTED __declspec(dllexport)
#elif defined __GNUC__
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif

typedef enum { INSTANTIATED, INITIALIZING, STEPPING, TERMINATED } Phase;

/* All that changes with time: a state is saved by copying this structure. */
typedef struct {
    Phase phase;
    int stale; /* whether something was set since the outputs were computed */
    Values values;
} State;

typedef struct {
    State state;
    char name[128];
    void *environment;
    void (*logger)(void); /* its type depends on the version of FMI */
} Instance;

/* Pass a message to the importer; each version of FMI has its own. */
static void tell(const Instance *instance, const char *message);

static int refuse(const Instance *instance, const char *format, ...)
{
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    tell(instance, message);
    return 0;
}

static void reset(Instance *instance)
{
    instance->state.phase = INSTANTIATED;
    instance->state.stale = 1;
    model_reset(&instance->state.values);
}

/* A new instance, or NULL if the importer has read the description of another unit. */
static Instance *created(const char *name, const char *token, void *environment,
                         void (*logger)(void))
{
    Instance *instance = calloc(1, sizeof *instance);
    if (instance == NULL) {
        return NULL;
    }
    snprintf(instance->name, sizeof instance->name, "%s", name == NULL ? "" : name);
    instance->environment = environment;
    instance->logger = logger;
    reset(instance);
    if (token == NULL || strcmp(token, MODEL_TOKEN) != 0) {
        refuse(instance, "the token is %s: expected " MODEL_TOKEN, token == NULL ? "none" : token);
        free(instance);
        return NULL;
    }
    return instance;
}

static double *entries(State *state, const Variable *variable)
{
    return (double *)(void *)((char *)&state->values + variable->offset);
}

static int all_finite(const double *values, size_t count)
{
    size_t k;
    for (k = 0; k < count; k++) {
        if (!isfinite(values[k])) {
            return 0;
        }
    }
    return 1;
}

/* Compute the outputs, if anything was set since they were computed. */
static void refresh(State *state)
{
    if (state->stale) {
        if (state->phase < STEPPING) {
            model_start(&state->values);
        }
        model_evaluate(&state->values);
        state->stale = 0;
    }
}

/* Get some entries of a variable. Values that are not finite are copied, but are an error. */
static int get(Instance *instance, const Variable *variable, size_t first, size_t count,
               double *values)
{
    const double *from = entries(&instance->state, variable) + first;
    refresh(&instance->state);
    memcpy(values, from, count * sizeof *values);
    return all_finite(from, count) || refuse(instance, "%s is not finite", variable->name);
}

static int set(Instance *instance, const Variable *variable, size_t first, size_t count,
               const double *values)
{
    const Phase phase = instance->state.phase;
    const int changes = variable->kind == INPUT || variable->kind == TUNABLE;
    if (!changes && variable->kind != FIXED) {
        return refuse(instance, "%s cannot be set: it is no input and no parameter",
                      variable->name);
    }
    if (phase > (changes ? STEPPING : INITIALIZING)) {
        return refuse(instance, "%s cannot be set any more", variable->name);
    }
    if (!all_finite(values, count)) {
        return refuse(instance, "%s is set to a value that is not finite", variable->name);
    }
    memcpy(entries(&instance->state, variable) + first, values, count * sizeof *values);
    instance->state.stale = 1;
    return 1;
}

static int begin(Instance *instance, double time)
{
    if (instance->state.phase != INSTANTIATED) {
        return refuse(instance, "initialization begins for the second time: reset first");
    }
    if (!isfinite(time)) {
        return refuse(instance, "the start time is not finite");
    }
    instance->state.values.time[0] = time;
    instance->state.phase = INITIALIZING;
    instance->state.stale = 1;
    return 1;
}

static int begin_steps(Instance *instance)
{
    if (instance->state.phase != INITIALIZING) {
        return refuse(instance, "initialization ends that has not begun");
    }
    model_start(&instance->state.values);
    instance->state.phase = STEPPING;
    instance->state.stale = 1;
    return 1;
}

/* Advance the time with constant inputs. After an error the state is that before the step. */
static int step(Instance *instance, double time, double duration)
{
    const State before = instance->state;
    State *state = &instance->state;
    const char *problem;
    size_t k;
    if (state->phase != STEPPING) {
        return refuse(instance, "a step is made before initialization ended, or after the end");
    }
    if (!isfinite(time) || !isfinite(duration) || duration < 0.0) {
        return refuse(instance, "a step from %g s takes %g s: expected a time of 0 or more", time,
                      duration);
    }
    state->values.time[0] = time;
    problem = model_step(&state->values, duration);
    state->values.time[0] = time + duration;
    state->stale = 1;
    refresh(state);
    for (k = 0; k < MODEL_VARIABLES && problem == NULL; k++) {
        if (!all_finite(entries(state, &model_variables[k]), model_variables[k].count)) {
            problem = model_variables[k].name;
        }
    }
    if (problem != NULL) {
        instance->state = before;
        return refuse(instance, "the step from %g s fails: %s is out of range", time, problem);
    }
    return 1;
}

/* Copy the state, to the memory of an earlier copy if there is one. */
static int save(Instance *instance, const State *state, void **copy)
{
    if (*copy == NULL) {
        *copy = malloc(sizeof *state);
    }
    if (*copy == NULL) {
        return refuse(instance, "there is no memory for a copy of the state");
    }
    memcpy(*copy, state, sizeof *state);
    return 1;
}

static int restore(Instance *instance, const void *copy)
{
    if (copy == NULL) {
        return refuse(instance, "no state is given to return to");
    }
    memcpy(&instance->state, copy, sizeof instance->state);
    return 1;
}

static void discard(void **copy)
{
    if (copy != NULL) {
        free(*copy);
        *copy = NULL;
    }
}

static int serialize(Instance *instance, const void *copy, void *bytes, size_t size)
{
    if (copy == NULL || size < sizeof(State)) {
        return refuse(instance, "a state takes %u bytes: %u are given", (unsigned)sizeof(State),
                      (unsigned)size);
    }
    memcpy(bytes, copy, sizeof(State));
    return 1;
}

static int deserialize(Instance *instance, const void *bytes, size_t size, void **copy)
{
    if (size != sizeof(State)) {
        return refuse(instance, "%u bytes are no state of this unit: it has %u", (unsigned)size,
                      (unsigned)sizeof(State));
    }
    return save(instance, bytes, copy);
}

#endif
