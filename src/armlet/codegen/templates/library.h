@banner
#ifndef @guard
#define @guard

#ifdef __cplusplus
extern "C" {
#endif

@prototypes

#ifdef __cplusplus
}
#endif

#endif
