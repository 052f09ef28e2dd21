/* The functions of FMI 3.0 for co-simulation. A value reference is the number of a variable, in
 * the order of the values in model.h.
 */

#include "instance.h"

#ifdef fmi3Functions_h /* the standard's own header was included first */
#define FMI(type, name) type name
#else

#include <stdbool.h>
#include <stdint.h>

#ifdef FMI3_FUNCTION_PREFIX /* for linking several units into one program */
#define JOINED(prefix, name) prefix##name
#define PREFIXED(prefix, name) JOINED(prefix, name)
#define FMI(type, name) EXPORTED type PREFIXED(FMI3_FUNCTION_PREFIX, name)
#else
#define FMI(type, name) EXPORTED type name
#endif

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum {
    fmi3Independent, fmi3Constant, fmi3Fixed, fmi3Tunable, fmi3Discrete, fmi3Dependent
} fmi3DependencyKind;
typedef enum {
    fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged
} fmi3IntervalQualifier;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment environment, fmi3Status status,
                                       fmi3String category, fmi3String message);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment environment);
typedef void (*fmi3IntermediateUpdateCallback)(
    fmi3InstanceEnvironment environment, fmi3Float64 time, fmi3Boolean setRequested,
    fmi3Boolean getAllowed, fmi3Boolean stepFinished, fmi3Boolean canReturnEarly,
    fmi3Boolean *earlyReturnRequested, fmi3Float64 *earlyReturnTime);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

#endif

static void tell(const Instance *instance, const char *message)
{
    const fmi3LogMessageCallback logger = (fmi3LogMessageCallback)instance->logger;
    if (logger != NULL) {
        logger(instance->environment, fmi3Error, "logStatusError", message);
    }
}

static fmi3Status status(int is_right)
{
    return is_right ? fmi3OK : fmi3Error;
}

/* The variable with a value reference; it must have at most `room` values. */
static const Variable *variable_of(const Instance *instance, fmi3ValueReference reference,
                                   size_t room)
{
    if (reference >= MODEL_VARIABLES) {
        refuse(instance, "no variable has the value reference %u", (unsigned)reference);
        return NULL;
    }
    if (room < model_variables[reference].count) {
        refuse(instance, "%s has %u values: %u are left for it", model_variables[reference].name,
               (unsigned)model_variables[reference].count, (unsigned)room);
        return NULL;
    }
    return &model_variables[reference];
}

static int none_left(const Instance *instance, size_t count)
{
    return count == 0 || refuse(instance, "%u values belong to no variable", (unsigned)count);
}

FMI(const char *, fmi3GetVersion)(void) { return "3.0"; }

FMI(fmi3Status, fmi3SetDebugLogging)(fmi3Instance instance, fmi3Boolean loggingOn,
                                     size_t nCategories, const fmi3String categories[])
{
    (void)instance;
    (void)loggingOn;
    (void)nCategories;
    (void)categories;
    return fmi3OK; /* only errors are logged, and these always */
}

FMI(fmi3Instance, fmi3InstantiateCoSimulation)(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
    fmi3Boolean visible, fmi3Boolean loggingOn, fmi3Boolean eventModeUsed,
    fmi3Boolean earlyReturnAllowed, const fmi3ValueReference requiredIntermediateVariables[],
    size_t nRequiredIntermediateVariables, fmi3InstanceEnvironment instanceEnvironment,
    fmi3LogMessageCallback logMessage, fmi3IntermediateUpdateCallback intermediateUpdate)
{
    (void)resourcePath;
    (void)visible;
    (void)loggingOn;
    (void)eventModeUsed;
    (void)earlyReturnAllowed;
    (void)requiredIntermediateVariables;
    (void)nRequiredIntermediateVariables;
    (void)intermediateUpdate;
    return created(instanceName, instantiationToken, instanceEnvironment,
                   (void (*)(void))logMessage);
}

FMI(void, fmi3FreeInstance)(fmi3Instance instance) { free(instance); }

FMI(fmi3Status, fmi3EnterInitializationMode)(fmi3Instance instance, fmi3Boolean toleranceDefined,
                                             fmi3Float64 tolerance, fmi3Float64 startTime,
                                             fmi3Boolean stopTimeDefined, fmi3Float64 stopTime)
{
    (void)toleranceDefined;
    (void)tolerance;
    (void)stopTimeDefined;
    (void)stopTime;
    return status(begin(instance, startTime));
}

FMI(fmi3Status, fmi3ExitInitializationMode)(fmi3Instance instance)
{
    return status(begin_steps(instance));
}

FMI(fmi3Status, fmi3Terminate)(fmi3Instance instance)
{
    ((Instance *)instance)->state.phase = TERMINATED;
    return fmi3OK;
}

FMI(fmi3Status, fmi3Reset)(fmi3Instance instance)
{
    reset(instance);
    return fmi3OK;
}

FMI(fmi3Status, fmi3GetFloat64)(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, fmi3Float64 values[], size_t nValues)
{
    int is_right = 1;
    size_t k;
    for (k = 0; k < nValueReferences; k++) {
        const Variable *variable = variable_of(instance, valueReferences[k], nValues);
        if (variable == NULL) {
            return fmi3Error;
        }
        is_right &= get(instance, variable, 0, variable->count, values);
        values += variable->count;
        nValues -= variable->count;
    }
    return status(is_right & none_left(instance, nValues));
}

FMI(fmi3Status, fmi3SetFloat64)(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, const fmi3Float64 values[],
                                size_t nValues)
{
    int is_right = 1;
    size_t k;
    for (k = 0; k < nValueReferences; k++) {
        const Variable *variable = variable_of(instance, valueReferences[k], nValues);
        if (variable == NULL) {
            return fmi3Error;
        }
        is_right &= set(instance, variable, 0, variable->count, values);
        values += variable->count;
        nValues -= variable->count;
    }
    return status(is_right & none_left(instance, nValues));
}

FMI(fmi3Status, fmi3DoStep)(fmi3Instance instance, fmi3Float64 currentCommunicationPoint,
                            fmi3Float64 communicationStepSize,
                            fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                            fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminateSimulation,
                            fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime)
{
    const int is_right = step(instance, currentCommunicationPoint, communicationStepSize);
    (void)noSetFMUStatePriorToCurrentPoint;
    *eventHandlingNeeded = false;
    *terminateSimulation = false;
    *earlyReturn = false;
    *lastSuccessfulTime = ((Instance *)instance)->state.values.time[0];
    return status(is_right);
}

/* ------------------------------------------------------------------ the state as a whole */

FMI(fmi3Status, fmi3GetFMUState)(fmi3Instance instance, fmi3FMUState *FMUState)
{
    return status(save(instance, &((Instance *)instance)->state, FMUState));
}

FMI(fmi3Status, fmi3SetFMUState)(fmi3Instance instance, fmi3FMUState FMUState)
{
    return status(restore(instance, FMUState));
}

FMI(fmi3Status, fmi3FreeFMUState)(fmi3Instance instance, fmi3FMUState *FMUState)
{
    (void)instance;
    discard(FMUState);
    return fmi3OK;
}

FMI(fmi3Status, fmi3SerializedFMUStateSize)(fmi3Instance instance, fmi3FMUState FMUState,
                                            size_t *size)
{
    (void)instance;
    (void)FMUState;
    *size = sizeof(State);
    return fmi3OK;
}

FMI(fmi3Status, fmi3SerializeFMUState)(fmi3Instance instance, fmi3FMUState FMUState,
                                       fmi3Byte serializedState[], size_t size)
{
    return status(serialize(instance, FMUState, serializedState, size));
}

FMI(fmi3Status, fmi3DeserializeFMUState)(fmi3Instance instance, const fmi3Byte serializedState[],
                                         size_t size, fmi3FMUState *FMUState)
{
    return status(deserialize(instance, serializedState, size, FMUState));
}

#include "fmi3_absent.h"
