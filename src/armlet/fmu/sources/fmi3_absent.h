/* Functions of FMI 3.0 that every unit has to define, unsupported in this one: other types of
 * variables, events, clocks, derivatives, model exchange and scheduled execution.
 *
 * This file is included at the end of fmi3.c.
 */

#ifdef __GNUC__ /* arguments of functions that do nothing */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#define ABSENT(name, arguments)                                                                   \
    FMI(fmi3Status, name) arguments                                                               \
    {                                                                                             \
        return status(refuse(instance, #name " is not supported"));                               \
    }
#define ABSENT_VALUES(name, type, ...)                                                            \
    FMI(fmi3Status, name)(fmi3Instance instance, const fmi3ValueReference valueReferences[],      \
                          size_t nValueReferences, __VA_ARGS__)                                   \
    {                                                                                             \
        return status(nValueReferences == 0                                                       \
                      || refuse(instance, "there are no variables of type " #type));              \
    }
#define ABSENT_TYPE(type)                                                                         \
    ABSENT_VALUES(fmi3Get##type, type, fmi3##type values[], size_t nValues)                       \
    ABSENT_VALUES(fmi3Set##type, type, const fmi3##type values[], size_t nValues)

ABSENT_TYPE(Float32)
ABSENT_TYPE(Int8)
ABSENT_TYPE(UInt8)
ABSENT_TYPE(Int16)
ABSENT_TYPE(UInt16)
ABSENT_TYPE(Int32)
ABSENT_TYPE(UInt32)
ABSENT_TYPE(Int64)
ABSENT_TYPE(UInt64)
ABSENT_TYPE(Boolean)
ABSENT_TYPE(String)
ABSENT_VALUES(fmi3GetBinary, Binary, size_t valueSizes[], fmi3Binary values[], size_t nValues)
ABSENT_VALUES(fmi3SetBinary, Binary, const size_t valueSizes[], const fmi3Binary values[],
              size_t nValues)
ABSENT_VALUES(fmi3GetClock, Clock, fmi3Clock values[])
ABSENT_VALUES(fmi3SetClock, Clock, const fmi3Clock values[])
ABSENT_VALUES(fmi3GetIntervalDecimal, Clock, fmi3Float64 intervals[],
              fmi3IntervalQualifier qualifiers[])
ABSENT_VALUES(fmi3GetIntervalFraction, Clock, fmi3UInt64 counters[], fmi3UInt64 resolutions[],
              fmi3IntervalQualifier qualifiers[])
ABSENT_VALUES(fmi3GetShiftDecimal, Clock, fmi3Float64 shifts[])
ABSENT_VALUES(fmi3GetShiftFraction, Clock, fmi3UInt64 counters[], fmi3UInt64 resolutions[])
ABSENT_VALUES(fmi3SetIntervalDecimal, Clock, const fmi3Float64 intervals[])
ABSENT_VALUES(fmi3SetIntervalFraction, Clock, const fmi3UInt64 counters[],
              const fmi3UInt64 resolutions[])
ABSENT_VALUES(fmi3SetShiftDecimal, Clock, const fmi3Float64 shifts[])
ABSENT_VALUES(fmi3SetShiftFraction, Clock, const fmi3UInt64 counters[],
              const fmi3UInt64 resolutions[])

FMI(fmi3Instance, fmi3InstantiateModelExchange)(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
    fmi3Boolean visible, fmi3Boolean loggingOn, fmi3InstanceEnvironment instanceEnvironment,
    fmi3LogMessageCallback logMessage)
{
    return NULL;
}

FMI(fmi3Instance, fmi3InstantiateScheduledExecution)(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
    fmi3Boolean visible, fmi3Boolean loggingOn, fmi3InstanceEnvironment instanceEnvironment,
    fmi3LogMessageCallback logMessage, fmi3ClockUpdateCallback clockUpdate,
    fmi3LockPreemptionCallback lockPreemption, fmi3UnlockPreemptionCallback unlockPreemption)
{
    return NULL;
}

ABSENT(fmi3EnterEventMode, (fmi3Instance instance))
ABSENT(fmi3GetNumberOfVariableDependencies,
       (fmi3Instance instance, fmi3ValueReference valueReference, size_t *nDependencies))
ABSENT(fmi3GetVariableDependencies,
       (fmi3Instance instance, fmi3ValueReference dependent, size_t elementIndicesOfDependent[],
        fmi3ValueReference independents[], size_t elementIndicesOfIndependents[],
        fmi3DependencyKind dependencyKinds[], size_t nDependencies))
ABSENT(fmi3GetDirectionalDerivative,
       (fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
        const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[], size_t nSeed,
        fmi3Float64 sensitivity[], size_t nSensitivity))
ABSENT(fmi3GetAdjointDerivative,
       (fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
        const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[], size_t nSeed,
        fmi3Float64 sensitivity[], size_t nSensitivity))
ABSENT(fmi3EnterConfigurationMode, (fmi3Instance instance))
ABSENT(fmi3ExitConfigurationMode, (fmi3Instance instance))
ABSENT(fmi3EvaluateDiscreteStates, (fmi3Instance instance))
ABSENT(fmi3UpdateDiscreteStates,
       (fmi3Instance instance, fmi3Boolean *discreteStatesNeedUpdate,
        fmi3Boolean *terminateSimulation, fmi3Boolean *nominalsOfContinuousStatesChanged,
        fmi3Boolean *valuesOfContinuousStatesChanged, fmi3Boolean *nextEventTimeDefined,
        fmi3Float64 *nextEventTime))
ABSENT(fmi3EnterContinuousTimeMode, (fmi3Instance instance))
ABSENT(fmi3CompletedIntegratorStep,
       (fmi3Instance instance, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
        fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation))
ABSENT(fmi3SetTime, (fmi3Instance instance, fmi3Float64 time))
ABSENT(fmi3SetContinuousStates,
       (fmi3Instance instance, const fmi3Float64 continuousStates[], size_t nContinuousStates))
ABSENT(fmi3GetContinuousStateDerivatives,
       (fmi3Instance instance, fmi3Float64 derivatives[], size_t nContinuousStates))
ABSENT(fmi3GetEventIndicators,
       (fmi3Instance instance, fmi3Float64 eventIndicators[], size_t nEventIndicators))
ABSENT(fmi3GetContinuousStates,
       (fmi3Instance instance, fmi3Float64 continuousStates[], size_t nContinuousStates))
ABSENT(fmi3GetNominalsOfContinuousStates,
       (fmi3Instance instance, fmi3Float64 nominals[], size_t nContinuousStates))
ABSENT(fmi3GetNumberOfEventIndicators, (fmi3Instance instance, size_t *nEventIndicators))
ABSENT(fmi3GetNumberOfContinuousStates, (fmi3Instance instance, size_t *nContinuousStates))
ABSENT(fmi3EnterStepMode, (fmi3Instance instance))
ABSENT(fmi3GetOutputDerivatives,
       (fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
        const fmi3Int32 orders[], fmi3Float64 values[], size_t nValues))
ABSENT(fmi3ActivateModelPartition,
       (fmi3Instance instance, fmi3ValueReference clockReference, fmi3Float64 activationTime))
