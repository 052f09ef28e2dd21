/* The functions of FMI 2.0 for co-simulation. A value reference is the number of a scalar, in the
 * order of the values in model.h.
 */

#include "instance.h"

#ifdef fmi2Functions_h /* the standard's own header was included first */
#define FMI(type, name) type name
#else

#ifdef FMI2_FUNCTION_PREFIX /* for linking several units into one program */
#define JOINED(prefix, name) prefix##name
#define PREFIXED(prefix, name) JOINED(prefix, name)
#define FMI(type, name) EXPORTED type PREFIXED(FMI2_FUNCTION_PREFIX, name)
#else
#define FMI(type, name) EXPORTED type name
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum {
    fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated
} fmi2StatusKind;
typedef void (*fmi2CallbackLogger)(fmi2ComponentEnvironment environment, fmi2String name,
                                   fmi2Status status, fmi2String category, fmi2String message,
                                   ...);
typedef struct {
    fmi2CallbackLogger logger;
    void *(*allocateMemory)(size_t count, size_t size);
    void (*freeMemory)(void *object);
    void (*stepFinished)(fmi2ComponentEnvironment environment, fmi2Status status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

#endif

static void tell(const Instance *instance, const char *message)
{
    const fmi2CallbackLogger logger = (fmi2CallbackLogger)instance->logger;
    if (logger != NULL) {
        logger(instance->environment, instance->name, fmi2Error, "logStatusError", "%s", message);
    }
}

static fmi2Status status(int is_right)
{
    return is_right ? fmi2OK : fmi2Error;
}

/* The variable with a scalar among its entries, and the place of that entry. */
static const Variable *variable_of(const Instance *instance, fmi2ValueReference reference,
                                   size_t *place)
{
    size_t k;
    *place = reference;
    for (k = 0; k < MODEL_VARIABLES; k++) {
        if (*place < model_variables[k].count) {
            return &model_variables[k];
        }
        *place -= model_variables[k].count;
    }
    refuse(instance, "no variable has the value reference %u", reference);
    return NULL;
}

FMI(const char *, fmi2GetTypesPlatform)(void) { return "default"; }

FMI(const char *, fmi2GetVersion)(void) { return "2.0"; }

FMI(fmi2Status, fmi2SetDebugLogging)(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                                     const fmi2String categories[])
{
    (void)c;
    (void)loggingOn;
    (void)nCategories;
    (void)categories;
    return fmi2OK; /* only errors are logged, and these always */
}

FMI(fmi2Component, fmi2Instantiate)(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                                    fmi2String fmuResourceLocation,
                                    const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                                    fmi2Boolean loggingOn)
{
    (void)fmuResourceLocation;
    (void)visible;
    (void)loggingOn;
    if (fmuType != fmi2CoSimulation || functions == NULL) {
        return NULL;
    }
    return created(instanceName, fmuGUID, functions->componentEnvironment,
                   (void (*)(void))functions->logger);
}

FMI(void, fmi2FreeInstance)(fmi2Component c) { free(c); }

FMI(fmi2Status, fmi2SetupExperiment)(fmi2Component c, fmi2Boolean toleranceDefined,
                                     fmi2Real tolerance, fmi2Real startTime,
                                     fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    Instance *instance = c;
    (void)toleranceDefined;
    (void)tolerance;
    (void)stopTimeDefined;
    (void)stopTime;
    instance->state.values.time[0] = startTime;
    return fmi2OK;
}

FMI(fmi2Status, fmi2EnterInitializationMode)(fmi2Component c)
{
    Instance *instance = c;
    return status(begin(instance, instance->state.values.time[0]));
}

FMI(fmi2Status, fmi2ExitInitializationMode)(fmi2Component c) { return status(begin_steps(c)); }

FMI(fmi2Status, fmi2Terminate)(fmi2Component c)
{
    Instance *instance = c;
    instance->state.phase = TERMINATED;
    return fmi2OK;
}

FMI(fmi2Status, fmi2Reset)(fmi2Component c)
{
    reset(c);
    return fmi2OK;
}

FMI(fmi2Status, fmi2GetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                             fmi2Real value[])
{
    int is_right = 1;
    size_t k, place;
    for (k = 0; k < nvr; k++) {
        const Variable *variable = variable_of(c, vr[k], &place);
        is_right &= variable != NULL && get(c, variable, place, 1, &value[k]);
    }
    return status(is_right);
}

FMI(fmi2Status, fmi2SetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                             const fmi2Real value[])
{
    int is_right = 1;
    size_t k, place;
    for (k = 0; k < nvr; k++) {
        const Variable *variable = variable_of(c, vr[k], &place);
        is_right &= variable != NULL && set(c, variable, place, 1, &value[k]);
    }
    return status(is_right);
}

FMI(fmi2Status, fmi2DoStep)(fmi2Component c, fmi2Real currentCommunicationPoint,
                            fmi2Real communicationStepSize,
                            fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    return status(step(c, currentCommunicationPoint, communicationStepSize));
}

/* ------------------------------------------------------------------ the state as a whole */

FMI(fmi2Status, fmi2GetFMUstate)(fmi2Component c, fmi2FMUstate *FMUstate)
{
    Instance *instance = c;
    return status(save(instance, &instance->state, FMUstate));
}

FMI(fmi2Status, fmi2SetFMUstate)(fmi2Component c, fmi2FMUstate FMUstate)
{
    return status(restore(c, FMUstate));
}

FMI(fmi2Status, fmi2FreeFMUstate)(fmi2Component c, fmi2FMUstate *FMUstate)
{
    (void)c;
    discard(FMUstate);
    return fmi2OK;
}

FMI(fmi2Status, fmi2SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate FMUstate, size_t *size)
{
    (void)c;
    (void)FMUstate;
    *size = sizeof(State);
    return fmi2OK;
}

FMI(fmi2Status, fmi2SerializeFMUstate)(fmi2Component c, fmi2FMUstate FMUstate,
                                       fmi2Byte serializedState[], size_t size)
{
    return status(serialize(c, FMUstate, serializedState, size));
}

FMI(fmi2Status, fmi2DeSerializeFMUstate)(fmi2Component c, const fmi2Byte serializedState[],
                                         size_t size, fmi2FMUstate *FMUstate)
{
    return status(deserialize(c, serializedState, size, FMUstate));
}

/* ------------------------------------------------------------------ unsupported functions */

#ifdef __GNUC__ /* arguments of functions that do nothing */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#define ABSENT(name, arguments)                                                                   \
    FMI(fmi2Status, name) arguments                                                               \
    {                                                                                             \
        return status(refuse(c, #name " is not supported"));                                      \
    }
#define ABSENT_TYPE(type)                                                                         \
    FMI(fmi2Status, fmi2Get##type)(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,    \
                                   fmi2##type value[])                                            \
    {                                                                                             \
        return status(nvr == 0 || refuse(c, "there are no variables of type " #type));            \
    }                                                                                             \
    FMI(fmi2Status, fmi2Set##type)(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,    \
                                   const fmi2##type value[])                                      \
    {                                                                                             \
        return status(nvr == 0 || refuse(c, "there are no variables of type " #type));            \
    }

ABSENT_TYPE(Integer)
ABSENT_TYPE(Boolean)
ABSENT_TYPE(String)
ABSENT(fmi2GetDirectionalDerivative,
       (fmi2Component c, const fmi2ValueReference vUnknown_ref[], size_t nUnknown,
        const fmi2ValueReference vKnown_ref[], size_t nKnown, const fmi2Real dvKnown[],
        fmi2Real dvUnknown[]))
ABSENT(fmi2SetRealInputDerivatives,
       (fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Integer order[],
        const fmi2Real value[]))
ABSENT(fmi2GetRealOutputDerivatives,
       (fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Integer order[],
        fmi2Real value[]))
ABSENT(fmi2CancelStep, (fmi2Component c))
ABSENT(fmi2GetStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Status *value))
ABSENT(fmi2GetRealStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Real *value))
ABSENT(fmi2GetIntegerStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Integer *value))
ABSENT(fmi2GetBooleanStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value))
ABSENT(fmi2GetStringStatus, (fmi2Component c, const fmi2StatusKind s, fmi2String *value))
